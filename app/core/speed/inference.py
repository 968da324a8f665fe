"""Inference of language models: prefill bound by compute, decode by bandwidth, engines by their launches."""

from __future__ import annotations

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, Floats, GpuTable
from app.core.memory.kv import sequence_bytes
from app.core.memory.weights import model_bytes
from app.core.model import ModelArchitecture
from app.core.plan import LAYER_SPLIT_ENGINES
from app.core.speed import constants as c
from app.core.speed.scaling import all_reduce_s, bubble, message_s
from app.core.speed.terms import Plans, Shape, Terms, power_sum
from app.core.speed.training import attended, attention_width, encoder_share, matmul_parameters
from app.core.units import GB, GIB, TERA, Number
from app.core.workload import MEMORY_FRACTION, Workload

MICRO_BATCH_TOKENS = 512.0
"""Tokens that one pipeline stage takes at a time while it reads a prompt."""

register(
    Formula(
        "speed.prefill",
        "Prefill",
        "t = (2 P_active + 2 L a d s) x tokens / (cards x peak x share) x (m + p - 1) / m, at least one "
        "reading of "
        "the weights",
        "s",
        "calibrated",
        "Share of the fp32-accumulate 16-bit peak by architecture family and engine; m = tokens / 512. "
        "llama.cpp without fused attention: its products take 7 times as long.",
        (
            Reference(
                "XiongjieDai, GPU-Benchmarks-on-LLM-Inference",
                "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference",
            ),
        ),
    ),
    Formula(
        "speed.decode",
        "Decode step",
        "t = max((weights + b x KV) / (share x BW x cards), 2 P_active b / (peak x share)) "
        "+ L x engine constant + all-reduces",
        "s",
        "calibrated",
        "One token of each of b sequences. Weights once per step; KV per sequence; MoE touches "
        "1 - (1 - k/E)^b of its experts. Share of bandwidth 0.82 on HBM, 0.91 to 0.94 on GDDR. Engine "
        "constant per layer: vLLM 40 us, llama.cpp 90 us, Transformers 450 us.",
        (
            Reference(
                "XiongjieDai, GPU-Benchmarks-on-LLM-Inference",
                "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference",
            ),
        ),
    ),
    Formula(
        "speed.whole_run",
        "Whole run",
        "rate = batch x output / (t_prefill + output x t_decode)",
        "tokens/s",
        "derived",
        "Output tokens over all cards; decode at the mean context prompt + output / 2.",
        (Reference("Definition: tokens over the time of both phases"),),
    ),
    Formula(
        "speed.encoder_forward",
        "Encoder forward",
        "t = (2 P + 4 L a d s) x tokens / (peak x share); share = base x (peak / 312)^-0.5 x (BW / 2039)^0.6",
        "s",
        "calibrated",
        "BERT-like models at sequence 128 to 512.",
        (Reference("DeepLearningExamples BERT inference", "https://github.com/NVIDIA/DeepLearningExamples"),),
    ),
)


def reference_kernels(work: Workload) -> bool:
    """Whether the engine runs reference kernels, whose time no roofline tells.

    Notes
    -----
    Generation by Transformers or plain PyTorch with experts (a loop over them) or with quantized weights
    (widened layer by layer); measured 2 to 100 times slower than a serving engine.
    """
    loops = work.engine in ("transformers", "pytorch") and work.model.family == "decoder" and not work.trains
    return loops and bool(work.model.experts or work.format.quantized)


def read_bytes(work: Workload, sequences: Number) -> Number:
    """Bytes of weights that one step reads for `sequences` tokens.

    Notes
    -----
    Dense: all as loaded but the input table. MoE: of the routed experts 1 - (1 - k/E)^b.
    """
    model = work.model
    sizes = model_bytes(model, work.precision, work.engine, work.weights_gib)
    head = sizes.head or sizes.embedding if model.tied_embeddings else sizes.head
    shared = sizes.layers + sizes.replicated + head
    if not model.experts:
        return shared
    chosen = model.experts_per_token / model.experts
    touched = 1.0 - (1.0 - chosen) ** np.asarray(sequences, dtype=np.float64)
    return shared + sizes.experts * touched


def kv_read_bytes(model: ModelArchitecture, context: Number, precision: str, tensor: Floats) -> Floats:
    """Bytes of KV cache that one token of one sequence reads at a context, per tensor rank."""
    found = np.zeros(np.broadcast_shapes(np.shape(context), np.shape(tensor)))
    for degree in np.unique(tensor):
        rank = np.asarray(sequence_bytes(model, context, precision, int(degree)), dtype=np.float64)
        found = np.where(tensor == degree, rank, found)
    return found


def bandwidth_share(work: Workload, cards: GpuTable) -> Floats:
    """Share of the memory bandwidth that a decode step reaches."""
    fmt = work.format
    factor = 1.0
    if fmt.quantized and fmt.bits < 16:
        form = "gguf" if fmt.gguf else "weight_only" if fmt.weight_only else "native"
        factor = c.QUANTIZED_KERNEL_SHARE[form]
    if work.engine == "llama.cpp":
        return cards.by_class(c.DECODE_BANDWIDTH_SHARE * c.LLAMA_CPP_BANDWIDTH) * factor
    return cards.by_class(c.DECODE_BANDWIDTH_SHARE) * factor


def prefill_share(work: Workload, cards: GpuTable, rate: ComputeRate) -> Floats:
    """Share of peak while a prompt is read."""
    if work.engine == "llama.cpp":
        share = cards.by_class(c.PREFILL_LLAMA_CPP)
        return share * (c.PREFILL_GGUF_SHARE if work.format.quantized and work.format.bits < 16 else 1.0)
    share = cards.by_class(c.PREFILL_SHARE) * c.ENGINE_PREFILL.get(work.engine, 1.0)
    if work.compute_type in ("fp8", "fp4", "int8"):
        share = np.where(rate.fallback, share, share * c.PREFILL_NARROW_SHARE)
    return share * min(1.0, c.SOFTWARE_SHARE[work.software])


def decoder_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Output tokens per second of a decoder, with its prefill and decode rates.

    Parameters
    ----------
    work: resolved question. shape: concurrent sequences over all cards, tokens held, tokens generated.
    plans, cards, rate: broadcast against each other.

    Returns
    -------
    Terms; `detail` holds prefill, decode and whole_run in tokens/s and the seconds of both phases. Without
    output tokens the rate is that of prefill.
    """
    model = work.model
    layers = float(model.layers)
    total = np.asarray(shape.batch, dtype=np.float64)
    replica = np.ceil(total / plans.data)
    # Engines with continuous batching keep every stage busy with its own share of the sequences.
    stages = np.ones_like(plans.pipeline) if work.engine in LAYER_SPLIT_ENGINES else plans.pipeline
    together = np.ceil(replica / stages)
    context = shape.prompt + np.multiply(shape.output, 0.5)
    bandwidth = cards.bandwidth_gb_s * GB * bandwidth_share(work, cards)
    per_step_batch = np.where(plans.expert > 1, total, together)
    weights_s = read_bytes(work, per_step_batch) / plans.tensor / bandwidth
    kv_s = kv_read_bytes(model, context, work.kv_precision or "bf16", plans.tensor) / bandwidth
    share = prefill_share(work, cards, rate)
    width = attention_width(model)
    flops_token = 2.0 * matmul_parameters(model)
    decode_flops = flops_token + 4.0 * width * attended(model, context)
    token_s = decode_flops / (plans.tensor * rate.tflops * TERA * share)
    engine_s = layers * c.ENGINE_LAYER_S.get(work.engine, 70e-6) + c.ENGINE_STEP_S.get(
        work.engine, c.ENGINE_STEP_DEFAULT_S
    )

    def reduce_s(tokens: Number) -> Floats:
        return 2.0 * layers * all_reduce_s(cards, np.multiply(tokens, model.hidden_size * 2.0), plans.tensor)

    hops_s = (plans.pipeline - 1.0) * message_s(cards, plans.cards)
    limited = work.load == "saturated"
    if limited:
        # More sequences than the KV cache holds wait for their turn.
        room = cards.usable_gib * GIB * (work.memory_fraction or MEMORY_FRACTION)
        loaded = read_bytes(work, np.inf) / (plans.tensor * plans.pipeline)
        held = np.floor((room - loaded) * stages / np.maximum(kv_s * bandwidth, 1.0))
        together = np.minimum(together, np.maximum(np.nan_to_num(held, nan=np.inf), 1.0))
    if work.latency_limit_ms and work.load != "single":
        limited = True
        fixed = weights_s + engine_s + hops_s
        allowed = np.floor((work.latency_limit_ms / 1000.0 - fixed) / np.maximum(kv_s, token_s))
        together = np.clip(np.minimum(together, allowed), 1.0, None)
    if limited:
        total = np.minimum(total, together * stages * plans.data)
        replica = together * stages
    memory_s = weights_s + together * kv_s
    link_s = reduce_s(together) + hops_s
    step_s = np.maximum(memory_s, together * token_s) + engine_s + link_s
    # Prompts of all sequences of a replica.
    prompt_tokens = replica * shape.prompt
    # New llama.cpp has fused attention too.
    attention = c.ATTENTION_COST.get(work.engine, 1.0) if work.software != "new" else 1.0
    prompt_flops = flops_token + 2.0 * width * attended(model, shape.prompt)
    prompt_work = flops_token + 2.0 * width * attended(model, shape.prompt) * attention
    split = plans.tensor * plans.pipeline
    flow = bubble(plans.pipeline, np.ceil(prompt_tokens / MICRO_BATCH_TOKENS))
    read_s = prompt_work * prompt_tokens / (split * rate.tflops * TERA * share) * flow
    prefill_s = np.maximum(read_s, weights_s) + engine_s + reduce_s(prompt_tokens) / plans.pipeline
    output = np.asarray(shape.output, dtype=np.float64)
    generates = output > 0
    serving = c.SERVING_SHARE.get(work.engine, c.SERVING_SHARE_DEFAULT) if work.load == "saturated" else 1.0
    whole_s = (prefill_s + output * step_s) / serving
    prefill = total * shape.prompt / prefill_s
    decode = total / step_s
    headline_decode = work.load == "single"
    seconds = np.where(generates, output * step_s if headline_decode else whole_s, prefill_s)
    units = np.where(generates, total * output, total * shape.prompt)
    flops = prompt_flops * shape.prompt + decode_flops * output
    per_unit = np.where(
        generates, decode_flops if headline_decode else flops / np.maximum(output, 1.0), prompt_flops
    )
    one_prompt = prompt_work * shape.prompt / (split * rate.tflops * TERA * share)
    phase = "decode" if headline_decode else "saturated" if work.load == "saturated" else "whole_run"
    if not np.any(generates):
        phase = "prefill"
    kind = "serving" if work.load == "saturated" else "decode_moe" if model.experts else "decode"
    zero = np.zeros_like(seconds)
    compute_wins = together * token_s > memory_s
    return Terms(
        kind="prefill" if phase == "prefill" else kind,
        phase=phase,
        unit="tokens_per_s",
        units_per_step=units,
        flops_per_unit=per_unit,
        seconds=seconds,
        parts={
            "compute": zero
            + (0.0 if headline_decode else read_s)
            + np.where(compute_wins, output * together * token_s, 0.0),
            "bandwidth": zero + np.where(compute_wins, 0.0, output * memory_s),
            "communication": zero + output * link_s + reduce_s(prompt_tokens) / plans.pipeline,
            "launch": zero + output * engine_s,
        },
        detail={
            "prefill": zero + prefill,
            "decode": zero + decode,
            "whole_run": zero + total * output / whole_s,
            "prefill_s": zero + prefill_s,
            "decode_s": zero + output * step_s,
            "time_to_first_token_s": zero + np.maximum(one_prompt, weights_s) + engine_s,
            "time_per_output_token_s": zero + step_s,
            "concurrent_sequences": zero + total,
        },
    )


def encoder_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Sequences per second of an encoder (or encoder-decoder) forward pass."""
    model = work.model
    flops_token = 2.0 * matmul_parameters(model) + 4.0 * attention_width(model) * attended(
        model, shape.sequence
    )
    flops = flops_token * shape.sequence
    share = encoder_share(work, cards, rate, dict(c.ENCODER_FORWARD_SHARE)) * c.SOFTWARE_SHARE[work.software]
    local = np.ceil(np.divide(shape.batch, plans.data))
    compute_s = local * flops / (rate.tflops * TERA * share)
    layers = float(model.layers + model.encoder_layers)
    launch_s = layers * c.ENCODER_LAUNCH_FORWARD_S / c.SOFTWARE_SHARE[work.software] + np.zeros_like(
        compute_s
    )
    written_s = np.zeros_like(compute_s)
    if model.family == "encoder-decoder" and np.any(shape.output):
        step = read_bytes(work, local) / (cards.bandwidth_gb_s * GB * bandwidth_share(work, cards))
        written_s = np.multiply(shape.output, step + model.layers * c.ENGINE_LAYER_S.get(work.engine, 450e-6))
        written_s = written_s + np.zeros_like(compute_s)
    return Terms(
        kind="encoder_inference",
        phase="forward",
        unit="samples_per_s",
        units_per_step=shape.batch,
        flops_per_unit=flops,
        seconds=power_sum(compute_s, launch_s, c.LAUNCH_ORDER) + written_s,
        parts={
            "compute": np.where(launch_s > compute_s, 0.0, compute_s),
            "launch": np.where(launch_s > compute_s, launch_s, 0.0),
            "bandwidth": written_s,
        },
    )
