"""Inference of language models: prefill bound by compute, decode by bandwidth, engines by their launches."""

from __future__ import annotations

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, Floats, GpuTable
from app.core.memory.kv import sequence_bytes
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture
from app.core.model.parameter_count import expert_layers
from app.core.speed import constants as c
from app.core.speed.hopper import multiprocessor_share, power_share
from app.core.speed.scaling import all_reduce_s, bubble, link_gb_s, message_s
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
        "Share of the fp32-accumulate 16-bit peak by architecture family and engine, x (width / 4096)^0.35, "
        "of the FP8 peak 0.72 and of the FP4 peak 0.45 of that, experts 0.6, weights widened on the way 0.8; "
        "m = tokens / 512. llama.cpp without fused attention: its products take 7 times as long.",
        (
            Reference("TensorRT-LLM and MLPerf v5.1 rows of this catalogue, saturated"),
            Reference(
                "XiongjieDai, GPU-Benchmarks-on-LLM-Inference",
                "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference",
            ),
        ),
    ),
    Formula(
        "speed.decode",
        "Decode step",
        "t = (((weights + b x KV) / (share x BW x cards))^1.5 + (2 P_active b / (peak x share))^1.5)^(2/3) "
        "+ L x engine constant + b x sequence constant + all-reduces, all-to-alls",
        "s",
        "calibrated",
        "One token of each of b sequences. Weights once per step; KV per sequence; MoE touches "
        "1 - (1 - k/E)^b of its experts. Share of bandwidth 0.82 on HBM, 0.91 to 0.94 on GDDR; on Hopper "
        "cards with fewer multiprocessors per byte less (H200 0.71, H20 0.36). Engine constant per layer: "
        "vLLM 30 us (old, without graphs: 300 us), TensorRT-LLM 40 us, llama.cpp 90 us (since 2025: 40 us), "
        "Transformers 450 us, compiled 0.15 of it; 2.5 times "
        "that more for experts, 3 times for latent attention, half for FP8 in vLLM and SGLang; 12 times on "
        "Ascend, 4 times of eager engines.",
        (
            Reference(
                "GPUStack performance lab: vLLM, SGLang, TensorRT-LLM on four cards (2026-11-30)",
                "https://github.com/gpustack/gpustack/tree/main/docs/performance-lab",
            ),
            Reference(
                "vLLM performance benchmark, H200, batch 8 (2026-11-30)",
                "https://buildkite.com/vllm/performance-benchmark/builds/9515",
            ),
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
        "speed.serving",
        "Saturated serving",
        "rate = b x output / t; t = (products^2 + traffic^2)^(1/2) + output x launches + all-reduces, "
        "x p^0.25 / engine; products = prefill + output x b x 2 P_active / (peak x share)",
        "tokens/s",
        "calibrated",
        "As many sequences as the KV cache holds beside 3 GiB (experts 4) of the engine, or as are asked "
        "for. Prompts are read while others write; never less than reading and writing in turns. Engine 1.2 "
        "for TensorRT-LLM with tuned fixed lengths, 0.85 for vLLM and SGLang "
        "as they come; chat traffic with large mixtures has been measured at half of this.",
        (
            Reference("TensorRT-LLM and MLPerf v5.1 rows of this catalogue, saturated"),
            Reference(
                "GPUStack performance lab (2026-11-30)",
                "https://github.com/gpustack/gpustack/tree/main/docs/performance-lab",
            ),
        ),
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
    (widened layer by layer); measured 2 to 100 times slower than a serving engine. Compiled graphs fuse both.
    """
    loops = work.engine_record.speed.eager and work.model.family == "decoder" and not work.trains
    return loops and not work.compile and bool(work.model.experts or work.format.quantized)


def weight_parts(work: Workload, sequences: Number) -> tuple[float, float, Number]:
    """Bytes of weights that one step reads for `sequences` tokens: split, kept whole by a rank, experts.

    Notes
    -----
    Dense: all as loaded but the input table. MoE: of the routed experts 1 - (1 - k/E)^b. The projections
    down to a latent are not split by tensor parallelism.
    """
    model = work.model
    sizes = model_bytes(model, work.precision, work.engine, work.weights_gib)
    head = sizes.head or sizes.embedding if model.tied_embeddings else sizes.head
    if not model.experts:
        return sizes.layers + head, sizes.replicated, 0.0
    chosen = model.experts_per_token / model.experts
    touched = 1.0 - (1.0 - chosen) ** np.asarray(sequences, dtype=np.float64)
    return sizes.layers + head, sizes.replicated, sizes.experts * touched


def read_bytes(work: Workload, sequences: Number) -> Number:
    """Bytes of weights that one step reads for `sequences` tokens, all ranks together."""
    split, whole, experts = weight_parts(work, sequences)
    return split + whole + experts


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
        factor = c.QUANTIZED_KERNEL_SHARE[fmt.kernel_form]
    if work.engine_record.speed.ggml:
        return cards.by_class(c.DECODE_BANDWIDTH_SHARE * c.LLAMA_CPP_BANDWIDTH) * factor
    shared = multiprocessor_share(cards, fmt.multiprocessor_form)
    return cards.by_class(c.DECODE_BANDWIDTH_SHARE) * factor * shared


def engine_step_s(work: Workload, cards: GpuTable) -> Floats:
    """Seconds of launches and host work in one decode step: per layer by its kind, and per step.

    Notes
    -----
    A routed layer adds router, sort and grouped products, a latent-attention layer its extra projections;
    both grow with what the engine needs for a dense layer. Compiled graphs replay what eager engines launch
    one by one. Ascend launches take about twelve times as long, of eager engines four times.
    """
    model = work.model
    own = work.engine_record.speed
    dense_s = own.layer_s.of(work.software)
    layer_s = model.layers * dense_s
    if work.engine_record.batches:
        extra = expert_layers(model) * c.MOE_LAYER_SHARE if model.experts else 0.0
        extra += model.layers * c.LATENT_LAYER_SHARE if model.kv_lora_rank else 0.0
        if work.format.compute.narrow:
            extra += model.layers * own.narrow_layer_share
        layer_s += extra * dense_s
    elif reference_kernels(work) and model.experts and work.software != "new":
        # A loop over all experts, chosen or not.
        layer_s += expert_layers(model) * model.experts * c.REFERENCE_EXPERT_S
    factor = cards.by_class(c.LAUNCH_FACTOR)
    if own.eager:
        graph = c.GRAPH_LAUNCH if work.compile else 1.0
        return (np.minimum(factor, c.EAGER_LAUNCH_FACTOR_MOST) * layer_s + own.step_s) * graph
    return factor * layer_s + own.step_s


def all_to_all_s(model: ModelArchitecture, cards: GpuTable, tokens: Number, expert: Floats) -> Floats:
    """Seconds in which one rank's tokens travel to their experts and back in all routed layers.

    Notes
    -----
    2 L_moe (tokens x k x hidden x 2 B x (e - 1) / e / link + message + wait); 0 where experts are not spread.
    """
    if not model.experts:
        return np.zeros_like(expert)
    sent = np.multiply(tokens, model.experts_per_token * model.hidden_size * 2.0) * (expert - 1.0) / expert
    once_s = sent / (link_gb_s(cards, expert) * GB) + message_s(cards, expert) + tensor_wait_s(cards, expert)
    return np.where(expert > 1.0, 2.0 * expert_layers(model) * once_s, 0.0)


def tensor_wait_s(cards: GpuTable, members: Number) -> Floats:
    """Seconds that ranks wait for each other in one all-reduce of a decode step."""
    linked = np.less_equal(members, cards.link_cards) & (cards.link_gb_s > 0)
    return np.where(linked, c.TENSOR_WAIT_LINK_S, c.TENSOR_WAIT_PCIE_S)


def prefill_share(work: Workload, cards: GpuTable, rate: ComputeRate) -> Floats:
    """Share of peak while a prompt is read."""
    own = work.engine_record.speed
    if own.ggml:
        share = cards.by_class(c.PREFILL_LLAMA_CPP) * (c.MOE_PREFILL_SHARE if work.model.experts else 1.0)
        return share * (c.PREFILL_GGUF_SHARE if work.format.quantized and work.format.bits < 16 else 1.0)
    width = (max(work.model.hidden_size, 256) / c.PREFILL_WIDTH) ** c.PREFILL_WIDTH_EXPONENT
    share = cards.by_class(c.PREFILL_SHARE) * own.prefill * width * power_share(cards)
    if work.model.experts:
        share = share * c.MOE_PREFILL_SHARE
    if work.format.weight_only:
        share = share * c.WIDENED_PREFILL_SHARE
    narrow = c.PREFILL_NARROW_SHARE[work.format.compute.group]
    share = np.where(rate.fallback, share, share * narrow)
    share = share * min(1.0, c.SOFTWARE_SHARE[work.software])
    return np.asarray(np.minimum(share, c.PREFILL_MOST), dtype=np.float64)


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
    saturated = work.load == "saturated"
    if work.fills_engine:
        # Nobody said how many sequences: every replica is full.
        total = total * plans.data
    # Engines with continuous batching keep every stage busy with its own share of the sequences.
    engine = work.engine_record
    stages = plans.pipeline if engine.plans.stages_overlap else np.ones_like(plans.pipeline)
    # Under a standing load replicas and stages hold a mean number; a batch ends with its fullest replica.
    replica = np.maximum(total / plans.data, 1.0) if saturated else np.ceil(total / plans.data)
    together = np.maximum(replica / stages, 1.0) if saturated else np.ceil(replica / stages)
    context = shape.prompt + np.multiply(shape.output, 0.5)
    bandwidth = cards.bandwidth_gb_s * GB * bandwidth_share(work, cards)
    spread = np.maximum(plans.tensor, plans.expert)

    def read_weights_s(sequences: Floats) -> Floats:
        in_step = np.where(plans.expert > 1, sequences * plans.data, sequences)
        split_bytes, whole_bytes, expert_bytes = weight_parts(work, in_step)
        return np.asarray((split_bytes / plans.tensor + whole_bytes + expert_bytes / spread) / bandwidth)

    weights_s = read_weights_s(together)
    kv_s = kv_read_bytes(model, context, work.kv_precision or "bf16", plans.tensor) / bandwidth
    share = prefill_share(work, cards, rate)
    width = attention_width(model)
    flops_token = 2.0 * matmul_parameters(model)
    decode_flops = flops_token + 4.0 * width * attended(model, context)
    token_s = decode_flops / (plans.tensor * rate.tflops * TERA * share)
    engine_s, sequence_s = engine_step_s(work, cards), engine.speed.sequence_s
    wait_s = np.where(plans.tensor > 1.0, tensor_wait_s(cards, plans.tensor), 0.0)

    def reduce_s(tokens: Number) -> Floats:
        ring_s = all_reduce_s(cards, np.multiply(tokens, model.hidden_size * 2.0), plans.tensor)
        return np.asarray(2.0 * layers * (ring_s + wait_s))

    def exchange_s(tokens: Number) -> Floats:
        return all_to_all_s(model, cards, tokens, plans.expert)

    hops_s = (plans.pipeline - 1.0) * message_s(cards, plans.cards)
    limited = saturated
    if limited:
        # More sequences than the KV cache holds wait for their turn.
        reserved = c.SERVING_RESERVED_GIB["experts" if model.experts else "dense"]
        room = (cards.usable_gib * (work.memory_fraction or MEMORY_FRACTION) - reserved) * GIB
        full = weight_parts(work, np.inf)
        loaded = (full[0] / plans.tensor + full[1] + full[2] / spread) / plans.pipeline
        held = np.floor((room - loaded) * stages / np.maximum(kv_s * bandwidth, 1.0))
        together = np.minimum(together, np.maximum(np.nan_to_num(held, nan=np.inf), 1.0))
    if work.latency_limit_ms and work.load != "single":
        limited = True
        limit_s = work.latency_limit_ms / 1000.0 if shape.token_limit_s is None else shape.token_limit_s
        # Traffic between cards is a line over the sequences too.
        link_each_s = reduce_s(2.0) + exchange_s(2.0) - reduce_s(1.0) - exchange_s(1.0)
        fixed = weights_s + engine_s + hops_s + reduce_s(1.0) + exchange_s(1.0) - link_each_s
        each = np.maximum(kv_s, token_s) + sequence_s + link_each_s
        allowed = np.floor((limit_s - fixed) / each)
        # Not even one keeps a limit below its own step: `SpeedGrid.token_ms` shows it.
        together = np.clip(np.minimum(together, allowed), 1.0, None)
    if limited:
        total = np.minimum(total, together * stages * plans.data)
        replica = together * stages
        weights_s = read_weights_s(together)
    engine_s = engine_s + together * sequence_s
    memory_s = weights_s + together * kv_s
    link_s = reduce_s(together) + exchange_s(together) + hops_s
    step_s = power_sum(memory_s, together * token_s, c.BATCH_ORDER) + engine_s + link_s
    # Prompts of all sequences of a replica.
    prompt_tokens = replica * shape.prompt
    # New llama.cpp has fused attention too.
    attention = engine.speed.attention_cost if work.software != "new" else 1.0
    prompt_flops = flops_token + 2.0 * width * attended(model, shape.prompt)
    prompt_work = flops_token + 2.0 * width * attended(model, shape.prompt) * attention
    split = plans.tensor * plans.pipeline
    flow = bubble(plans.pipeline, np.ceil(prompt_tokens / MICRO_BATCH_TOKENS))
    read_s = prompt_work * prompt_tokens / (split * rate.tflops * TERA * share) * flow
    prompt_link_s = (reduce_s(prompt_tokens) + exchange_s(prompt_tokens)) / plans.pipeline
    prefill_s = np.maximum(read_s, weights_s) + engine_s + prompt_link_s
    output = np.asarray(shape.output, dtype=np.float64)
    generates = output > 0
    whole_s = prefill_s + output * step_s
    if saturated:
        # Continuous batching reads prompts while other sequences write: products and traffic overlap.
        products = read_s + output * together * token_s
        busy_s = power_sum(products, output * memory_s, c.SERVING_ORDER)
        idle = stages**c.PIPELINE_LOSS / engine.speed.serving_share
        whole_s = (busy_s + output * (engine_s + link_s) + prompt_link_s) * idle
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
    phase = "decode" if headline_decode else "saturated" if saturated else "whole_run"
    if not np.any(generates):
        phase = "prefill"
    kind = "serving" if saturated else "decode_moe" if model.experts else "decode"
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
            "communication": zero + output * link_s + prompt_link_s,
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
    share = encoder_share(work, cards, rate, c.ENCODER_FORWARD_SHARE) * c.SOFTWARE_SHARE[work.software]
    share = share * (c.ENCODER_GRAPH if work.compile else 1.0)
    local = np.ceil(np.divide(shape.batch, plans.data))
    compute_s = local * flops / (rate.tflops * TERA * share)
    layers = float(model.layers + model.encoder_layers)
    launch = c.ENCODER_LAUNCH_FORWARD_S * (c.GRAPH_LAUNCH if work.compile else 1.0)
    launch_s = layers * launch / c.SOFTWARE_SHARE[work.software] + np.zeros_like(compute_s)
    written_s = np.zeros_like(compute_s)
    if model.family == "encoder-decoder" and np.any(shape.output):
        step = read_bytes(work, local) / (cards.bandwidth_gb_s * GB * bandwidth_share(work, cards))
        launched_s = model.layers * work.engine_record.speed.layer_s.usual
        written_s = np.multiply(shape.output, step + launched_s)
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
