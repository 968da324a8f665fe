"""Inference of language models: prefill bound by compute, decode by bandwidth, engines by their launches."""

from __future__ import annotations

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, Floats, GpuTable
from app.core.memory.kv import sequence_bytes
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture
from app.core.model.parameter_count import expert_layers
from app.core.model.products import attended, attention_width, matmul_parameters
from app.core.resolve import MEMORY_FRACTION
from app.core.speed import constants as c
from app.core.speed.scaling import all_reduce_s, bubble, link_gb_s, message_s
from app.core.speed.terms import Plans, Shape, Terms, multiprocessor_share, power_share, power_sum
from app.core.speed.training import encoder_share
from app.core.tracing import Constant, counted, floats, named, operand, picked
from app.core.units import GB, GIB, TERA, Number
from app.core.workload import Workload

MICRO_BATCH_TOKENS = Constant(512.0, "micro_batch")
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


def weight_parts(work: Workload, sequences: Number | None = None) -> tuple[float, float, Number]:
    """Bytes of weights that one step reads for `sequences` tokens: split, kept whole by a rank, experts.

    Without a number of sequences: all there are.

    Notes
    -----
    Dense: all as loaded but the input table. MoE: of the routed experts 1 - (1 - k/E)^b. The projections
    down to a latent are not split by tensor parallelism.
    """
    model = work.model
    sizes = model_bytes(model, work.precision, work.engine, work.weights_gib)
    head = sizes.head or sizes.embedding if model.tied_embeddings else sizes.head
    split, whole = named(sizes.layers + head, "split_bytes"), named(sizes.replicated, "whole_bytes")
    if not model.experts:
        return split, whole, 0.0
    if sequences is None:
        return split, whole, named(sizes.experts, "expert_bytes")
    chosen = model.experts_per_token / model.experts
    touched = named(1.0 - (1.0 - chosen) ** floats(sequences), "experts_touched")
    return split, whole, named(sizes.experts, "expert_bytes") * touched


def read_bytes(work: Workload, sequences: Number | None = None) -> Number:
    """Bytes of weights that one step reads for `sequences` tokens, all ranks together."""
    split, whole, experts = weight_parts(work, sequences)
    return split + whole + experts


def kv_read_bytes(model: ModelArchitecture, context: Number, precision: str, tensor: Floats) -> Floats:
    """Bytes of KV cache that one token of one sequence reads at a context, per tensor rank."""
    found = np.zeros(np.broadcast_shapes(np.shape(context), np.shape(tensor)))
    for degree in np.unique(tensor):
        rank = floats(sequence_bytes(model, context, precision, int(degree)))
        found = np.where(tensor == degree, rank, found)
    return named(found, "kv_read_bytes")


def bandwidth_share(work: Workload, cards: GpuTable) -> Floats:
    """Share of the memory bandwidth that a decode step reaches."""
    fmt = work.format
    factor = 1.0
    if fmt.quantized and fmt.bits < 16:
        factor = c.QUANTIZED_KERNEL_SHARE[fmt.kernel_form]
    factor = operand(work, factor, "kernel_share")
    if work.engine_record.speed.ggml:
        share = cards.by_class(c.DECODE_BANDWIDTH_SHARE * c.LLAMA_CPP_BANDWIDTH)
        return named(share, "bandwidth_share") * factor
    shared = multiprocessor_share(cards, fmt.multiprocessor_form)
    return named(cards.by_class(c.DECODE_BANDWIDTH_SHARE), "bandwidth_share") * factor * shared


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
    dense_s = operand(work, own.layer_s.of(work.software), "layer_launch_s")
    layer_s = model.layers * dense_s
    if work.engine_record.batches:
        routed = counted(expert_layers, model, name="expert_layers") if model.experts else 0.0
        extra = routed * c.MOE_LAYER_SHARE
        extra += model.layers * c.LATENT_LAYER_SHARE if model.kv_lora_rank else 0.0
        if work.format.compute.narrow:
            extra += model.layers * own.narrow_layer_share
        layer_s += extra * dense_s
    elif reference_kernels(work) and model.experts and work.software != "new":
        # A loop over all experts, chosen or not.
        looped = counted(expert_layers, model, name="expert_layers") * model.experts
        layer_s += looped * c.REFERENCE_EXPERT_S
    factor = named(cards.by_class(c.LAUNCH_FACTOR), "launch_factor")
    if own.eager:
        graph = c.GRAPH_LAUNCH if work.compile else 1.0
        return (
            np.minimum(factor, c.EAGER_LAUNCH_FACTOR_MOST) * layer_s
            + operand(work, own.step_s, "step_host_s")
        ) * graph
    return factor * layer_s + operand(work, own.step_s, "step_host_s")


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
    return np.where(expert > 1.0, 2.0 * counted(expert_layers, model, name="expert_layers") * once_s, 0.0)


def tensor_wait_s(cards: GpuTable, members: Number) -> Floats:
    """Seconds that ranks wait for each other in one all-reduce of a decode step."""
    linked = np.less_equal(members, cards.link_cards) & (cards.link_gb_s > 0)
    return picked(linked, c.TENSOR_WAIT_LINK_S, c.TENSOR_WAIT_PCIE_S)


def prefill_share(work: Workload, cards: GpuTable, rate: ComputeRate) -> Floats:
    """Share of peak while a prompt is read."""
    own = work.engine_record.speed
    if own.ggml:
        share = named(cards.by_class(c.PREFILL_LLAMA_CPP), "prefill_share")
        share = share * (c.MOE_PREFILL_SHARE if work.model.experts else 1.0)
        return share * (c.PREFILL_GGUF_SHARE if work.format.quantized and work.format.bits < 16 else 1.0)
    width = (max(work.model.hidden_size, 256) / c.PREFILL_WIDTH) ** c.PREFILL_WIDTH_EXPONENT
    base = named(cards.by_class(c.PREFILL_SHARE), "prefill_share")
    engine = operand(work, own.prefill, "engine_prefill")
    share = base * engine * named(width, "width_factor") * power_share(cards)
    if work.model.experts:
        share = share * c.MOE_PREFILL_SHARE
    if work.format.weight_only:
        share = share * c.WIDENED_PREFILL_SHARE
    narrow = c.PREFILL_NARROW_SHARE[work.format.compute.group]
    share = np.where(rate.fallback, share, share * narrow)
    share = share * min(1.0, c.SOFTWARE_SHARE[work.software])
    return floats(np.minimum(share, c.PREFILL_MOST))


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
    layers = model.layers
    total = floats(shape.batch)
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
    replica, together = named(replica, "replica_sequences"), named(together, "sequences_together")
    context = named(shape.prompt + np.multiply(shape.output, 0.5), "mean_context")
    bandwidth = named(cards.bandwidth_gb_s * GB * bandwidth_share(work, cards), "bandwidth_b_s")
    spread = np.maximum(plans.tensor, plans.expert)

    def read_weights_s(sequences: Floats) -> Floats:
        in_step = np.where(plans.expert > 1, sequences * plans.data, sequences)
        split_bytes, whole_bytes, expert_bytes = weight_parts(work, in_step)
        return floats((split_bytes / plans.tensor + whole_bytes + expert_bytes / spread) / bandwidth)

    weights_s = named(read_weights_s(together), "weights_s")
    kv_s = kv_read_bytes(model, context, work.kv_precision or "bf16", plans.tensor) / bandwidth
    share = named(prefill_share(work, cards, rate), "compute_share")
    width = named(attention_width(model), "attention_width")
    flops_token = 2.0 * matmul_parameters(model)
    decode_flops = named(flops_token + 4.0 * width * attended(model, context), "token_flops")
    token_s = decode_flops / (plans.tensor * rate.tflops * TERA * share)
    engine_s = named(engine_step_s(work, cards), "launch_s")
    sequence_s = operand(work, engine.speed.sequence_s, "sequence_s")
    wait_s = picked(plans.tensor > 1.0, tensor_wait_s(cards, plans.tensor), 0.0)

    def reduce_s(tokens: Number) -> Floats:
        ring_s = all_reduce_s(cards, np.multiply(tokens, model.hidden_size * 2.0), plans.tensor)
        return floats(2.0 * layers * (ring_s + wait_s))

    def exchange_s(tokens: Number) -> Floats:
        return all_to_all_s(model, cards, tokens, plans.expert)

    hops_s = (plans.pipeline - 1.0) * message_s(cards, plans.cards)
    limited = saturated
    if limited:
        # More sequences than the KV cache holds wait for their turn.
        reserved = operand(
            work, c.SERVING_RESERVED_GIB["experts" if model.experts else "dense"], "engine_reserve_gib"
        )
        fraction = operand(work, work.memory_fraction or MEMORY_FRACTION, "memory_fraction")
        room = named((cards.usable_gib * fraction - reserved) * GIB, "room_bytes")
        full = weight_parts(work)
        loaded = (full[0] / plans.tensor + full[1] + full[2] / spread) / plans.pipeline
        loaded = named(loaded, "loaded_bytes")
        held = np.floor((room - loaded) * stages / np.maximum(kv_s * bandwidth, 1.0))
        together = np.minimum(together, np.maximum(np.nan_to_num(held, nan=np.inf), 1.0))
        together = named(together, "sequences_held")
    if work.latency_limit_ms and work.fills_engine:
        # Nobody said how many users: as many as keep the limit. Where they are said, all of them are served.
        limited = True
        limit_s = work.latency_limit_ms / 1000.0 if shape.token_limit_s is None else shape.token_limit_s
        # Traffic between cards is a line over the sequences too.
        link_each_s = reduce_s(2.0) + exchange_s(2.0) - reduce_s(1.0) - exchange_s(1.0)
        fixed = weights_s + engine_s + hops_s + reduce_s(1.0) + exchange_s(1.0) - link_each_s
        # Traffic and products add at most: what is let in keeps the limit.
        each = kv_s + token_s + sequence_s + link_each_s
        allowed = np.floor((limit_s - fixed) / each)
        # Not even one keeps a limit below its own step: `SpeedGrid.token_ms` shows it.
        together = named(np.clip(np.minimum(together, allowed), 1.0, None), "sequences_in_limit")
    if limited:
        total = named(np.minimum(total, together * stages * plans.data), "sequences")
        replica = together * stages
        weights_s = named(read_weights_s(together), "weights_s")
    engine_s = named(engine_s + together * sequence_s, "engine_s")
    memory_s = named(weights_s + together * kv_s, "traffic_s")
    link_s = named(reduce_s(together) + exchange_s(together) + hops_s, "link_s")
    products_s = named(together * token_s, "products_s")
    step_s = named(power_sum(memory_s, products_s, c.BATCH_ORDER) + engine_s + link_s, "step_s")
    # Prompts of all sequences of a replica.
    prompt_tokens = named(replica * shape.prompt, "tokens_to_read")
    # New llama.cpp has fused attention too.
    attention = engine.speed.attention_cost if work.software != "new" else 1.0
    prompt_flops = flops_token + 2.0 * width * attended(model, shape.prompt)
    attention = operand(work, attention, "attention_cost")
    prompt_work = named(
        flops_token + 2.0 * width * attended(model, shape.prompt) * attention, "prompt_token_flops"
    )
    split = plans.tensor * plans.pipeline
    flow = bubble(plans.pipeline, np.ceil(prompt_tokens / MICRO_BATCH_TOKENS))
    read_s = named(prompt_work * prompt_tokens / (split * rate.tflops * TERA * share) * flow, "read_s")
    prompt_link_s = (reduce_s(prompt_tokens) + exchange_s(prompt_tokens)) / plans.pipeline
    prompt_link_s = named(prompt_link_s, "prompt_link_s")
    prefill_s = named(np.maximum(read_s, weights_s) + engine_s + prompt_link_s, "prefill_s")
    output = floats(shape.output)
    generates = output > 0
    decode_s = named(output * step_s, "decode_s")
    whole_s = prefill_s + decode_s
    if saturated:
        # Continuous batching reads prompts while other sequences write: products and traffic overlap.
        products = named(read_s + output * products_s, "all_products_s")
        busy_s = named(power_sum(products, output * memory_s, c.SERVING_ORDER), "busy_s")
        idle = stages**c.PIPELINE_LOSS / operand(work, engine.speed.serving_share, "serving_share")
        idle = named(idle, "idle_factor")
        whole_s = named(busy_s * idle, "products_and_traffic_s")
        whole_s = whole_s + named(output * engine_s * idle, "all_launches_s")
        whole_s = whole_s + named((output * link_s + prompt_link_s) * idle, "all_links_s")
    prefill = total * shape.prompt / prefill_s
    decode = total / step_s
    headline_decode = work.load == "single"
    seconds = np.where(generates, decode_s if headline_decode else whole_s, prefill_s)
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
    compute_wins = products_s > memory_s
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
            + np.where(compute_wins, output * products_s, 0.0),
            "bandwidth": zero + np.where(compute_wins, 0.0, output * memory_s),
            "communication": zero + output * link_s + prompt_link_s,
            "launch": zero + output * engine_s,
        },
        detail={
            "prefill": zero + prefill,
            "decode": zero + decode,
            "whole_run": zero + total * output / whole_s,
            "prefill_s": zero + prefill_s,
            "decode_s": zero + decode_s,
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
    flops = named(flops_token * shape.sequence, "sample_flops")
    share = encoder_share(work, cards, rate, c.ENCODER_FORWARD_SHARE) * c.SOFTWARE_SHARE[work.software]
    share = share * (c.ENCODER_GRAPH if work.compile else 1.0)
    local = named(np.ceil(np.divide(shape.batch, plans.data)), "local_batch")
    share = named(share, "compute_share")
    compute_s = named(local * flops / (rate.tflops * TERA * share), "products_s")
    layers = model.layers + model.encoder_layers
    launch = c.ENCODER_LAUNCH_FORWARD_S * (c.GRAPH_LAUNCH if work.compile else 1.0)
    launch = operand(work, launch / c.SOFTWARE_SHARE[work.software], "layer_launch_s")
    launch_s = named(layers * launch + np.zeros_like(compute_s), "launch_s")
    written_s = np.zeros_like(compute_s)
    if model.family == "encoder-decoder" and np.any(shape.output):
        step = read_bytes(work, local) / (cards.bandwidth_gb_s * GB * bandwidth_share(work, cards))
        launched_s = model.layers * operand(work, work.engine_record.speed.layer_s.usual, "layer_launch_s")
        written_s = np.multiply(shape.output, step + launched_s)
        written_s = named(written_s + np.zeros_like(compute_s), "written_s")
    return Terms(
        kind="encoder_inference",
        phase="forward",
        unit="samples_per_s",
        units_per_step=shape.batch,
        flops_per_unit=flops,
        seconds=named(power_sum(compute_s, launch_s, c.LAUNCH_ORDER), "forward_s") + written_s,
        parts={
            "compute": np.where(launch_s > compute_s, 0.0, compute_s),
            "launch": np.where(launch_s > compute_s, launch_s, 0.0),
            "bandwidth": written_s,
        },
    )
