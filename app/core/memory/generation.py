"""Memory of diffusion and speech models."""

from __future__ import annotations

from app.core.formats import format_of, is_format
from app.core.memory import kv, overhead, weights
from app.core.memory.numeric import greater, smaller
from app.core.memory.spread import generation_spread
from app.core.memory.states import ADAPTER_BYTES, state_bytes
from app.core.memory.terms import RESERVED, Reserve, Term
from app.core.memory.training import AUDIO_POSITIONS
from app.core.model.architecture import ModelArchitecture
from app.core.tracing import Constant, constants, counted, named, operand
from app.core.units import GIB, Number
from app.core.workload import Parallelism, Workload

WORKING_SET_GIB = Constant(1.4, "working_set_gib", "GiB", "working set beside the weights at 1024 x 1024")
WORKING_SET_GIB_PER_BILLION = Constant(
    0.25, "working_set_gib_per_billion", "GiB", "more of it per billion parameters of the denoiser"
)
"""Peak minus loaded at 1024 x 1024, whatever the weight format: 2.0 GiB for 2 B, 3.9-4.8 for 12 B (FLUX)."""
UNET_WORKING_SET_GIB = Constant(2.6, "working_set_gib")
CHECKPOINT_SHARE = Constant(0.12, "checkpoint_share")
LATENT_STEP_SHARE = Constant(
    0.12, "further_image_share", "", "share of the working set that a further image of the batch adds"
)
"""A further image of the batch adds little: the VAE decodes one after another where it can."""
ADAPTER_SHARE_PER_RANK = Constant(
    4e-4, "adapter_share", "", "trained parameters over those of the denoiser, per rank of the adapters"
)
AUDIO_HEADS = Constant(20.0, "audio_heads", "", "heads of the encoder that scores are kept of")
DECODER_TOKENS = Constant(448, "decoder_tokens", "", "longest text of one window of audio")
"""Text positions of Whisper's decoder."""
TRAIN_GIB_PER_BILLION = constants(
    {"unet": 0.95, "transformer": 0.55},
    "train_gib_per_billion",
    "GiB",
    "GiB kept per billion parameters that gradients pass, per image of 64 x 64 latents at 16 bit",
)
"""GiB kept per billion parameters that gradients pass, per image of 64 x 64 latents, at 16 bit, without
checkpointing; twice that in fp32."""
UNET_SCORE_LAYERS = Constant(5, "score_layers", "", "layers of attention at the full size of the latents")
UNET_SCORE_HEADS = Constant(8, "score_heads", "", "their heads")
"""Self-attention at the full latent size: what eager attention keeps grows with the square of the latents."""
TRAIN_POOL_SHARE = Constant(
    0.12, "pool_share", "", "share of the activations that the allocator keeps beside them"
)
POOL_GIB = Constant(0.3, "workspace_gib")
BEAMS = Constant(5.0, "beams", "", "beams of the search, each with its cache")
BEAM_BYTES_PER_LAYER = Constant(12 * 2**20, "beam_bytes", "B", "buffers of beam search in a decoder layer")
"""Beam search buffers of a decoder layer: turbo has 4 and needs 0.4 GiB less than its weights tell."""


def diffusion_terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of an image generator: every component resident, working set by the pixels.

    Notes
    -----
    Weights of backbone, text encoders and VAE; the backbone takes the asked format, the others theirs or 16
    bit. Training: the backbone's state, frozen companions at 16 bit, activations by its size and the latents.
    """
    near = generation_spread()
    model = work.model
    batch = kv.as_number(work.batch_size)
    height, width = work.image_size or (1024, 1024)
    pixels = named(height * width / (1024.0 * 1024.0), "megapixels")
    loaded = weights.whole_bytes(work)
    trained = counted(_backbone, model, name="denoiser_parameters")
    unet = trained < 3e9 and not model.layers
    pool: Number = operand(work, POOL_GIB) * GIB
    if not work.trains:
        batch = kv.replica_sequences(batch, plan)
        base = trained / 1e9 * WORKING_SET_GIB_PER_BILLION + WORKING_SET_GIB
        base = UNET_WORKING_SET_GIB if unet else base
        activations: Number = pixels * base * GIB * (1.0 + LATENT_STEP_SHARE * (batch - 1.0))
        found = [Term("weights", loaded, "exact", "memory.weights", 0.03, 0.05)]
    else:
        found = _training_states(work, plan, trained, loaded)
        activations = named(batch * _training_image_bytes(work, unet, trained, pixels), "activation_bytes")
        if work.task == "training":
            stage = plan.zero_stage if plan.data > 1 else 0
            step = trained * state_bytes(work, plan).workspace / (plan.data if stage else 1)
            step = named(step, "step_buffer_bytes")
            idle = greater(step - activations, 0.0)
            found.append(Term("engine", idle, "derived", "memory.optimizer_step", *near["states"]))
        pool = pool + TRAIN_POOL_SHARE * activations
    found.append(
        Term("activations", activations, "calibrated", "memory.diffusion_activations", *near["activations"])
    )
    found.append(Term("engine", pool, "assumed", "memory.vision_workspace", 0.5, 1.0, RESERVED))
    return _finish(found, work, plan)


def _backbone(model: ModelArchitecture) -> float:
    """Parameters of the part that denoises."""
    biggest = max((c.parameters for c in model.components), default=model.parameters)
    return next((c.parameters for c in model.components if c.name == "backbone"), biggest)


def _training_states(work: Workload, plan: Parallelism, trained: float, loaded: float) -> list[Term]:
    """Trained backbone with its states; the companions are frozen, in the type that the run computes in."""
    near = generation_spread()["states"]
    if work.task != "training":
        adapter = work.trainable_parameters or trained * ADAPTER_SHARE_PER_RANK * work.lora_rank
        return [
            Term("weights", loaded, "exact", "memory.weights", *near),
            Term("adapter", adapter * ADAPTER_BYTES, "derived", "memory.adapter", *near),
        ]
    model = work.model
    usual = 4.0 if work.recipe == "fp32" else 2.0
    frozen = usual * max(0.0, model.parameters - trained)
    for part in model.components:
        if is_format(part.precision) and part.parameters != trained:
            frozen += (format_of(part.precision).bytes - usual) * part.parameters
    frozen = operand(work, float(frozen), "companion_bytes")
    state = state_bytes(work, plan)
    stage = plan.zero_stage if plan.data > 1 else 0
    weight = trained * (state.weights + state.autocast_copy) / (plan.data if stage == 3 else 1)
    gradient = trained * state.gradients / (plan.data if stage >= 2 else 1)
    optimizer = trained * state.optimizer / (plan.data if stage else 1)
    return [
        Term("weights", frozen + weight, "exact", "memory.weights", *near),
        Term("gradients", gradient, "exact", "memory.gradients", *near),
        Term("optimizer", optimizer, "exact", "memory.optimizer", *near),
    ]


def _training_image_bytes(work: Workload, unet: bool, trained: float, pixels: float) -> float:
    """Bytes that one image keeps for the backward pass.

    Notes
    -----
    Gradients pass the frozen U-Net of a ControlNet too. Eager attention keeps the scores of the layers at the
    full latent size: 5 layers x 8 heads x (64^2)^2 x (w + 1) bytes at 512 x 512.
    """
    model = work.model
    passed = operand(work, float(trained) + _passed(model, trained), "passed_parameters")
    latents = named(pixels * (128.0 / max(1, model.latent_downscale // 8) / 64.0) ** 2, "latents")
    size = 4.0 if work.recipe == "fp32" or work.format.compute.wide else 2.0
    share = CHECKPOINT_SHARE if work.gradient_checkpointing else 1.0
    kind = "unet" if unet else "transformer"
    kept = passed / 1e9 * TRAIN_GIB_PER_BILLION[kind] * GIB * latents * size / 2.0
    if unet and work.attention == "eager":
        positions = named(latents * 64.0 * 64.0, "latent_positions")
        kept = kept + positions * positions * UNET_SCORE_LAYERS * UNET_SCORE_HEADS * (size + 1.0)
    return kept * share


def _passed(model: ModelArchitecture, trained: float) -> float:
    """Parameters of the frozen denoisers that gradients pass beside the trained one."""
    words = ("unet", "transformer", "dit")
    return sum(
        c.parameters
        for c in model.components
        if c.parameters != trained and any(word in c.name.lower() for word in words)
    )


def speech_terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of a speech recogniser that serves: the engine decides more than the parameters.

    Notes
    -----
    faster-whisper: weights + 0.12 GiB + 12 MiB a decoder layer + caches of five beams + context;
    openai/whisper: 3.3 x the 16-bit weights (fp32 load, cast, five beams). Each concurrent stream adds
    cross-attention and beam caches.

    References
    ----------
    [1] faster-whisper README (large-v2: 4,755 MB fp16, 3,091 MB int8; openai/whisper 11,325 MB),
    read 2026-11-30.
    """
    near = generation_spread()
    model = work.model
    batch = kv.replica_sequences(kv.as_number(work.batch_size), plan)
    held = weights.whole_bytes(work)
    engine = work.engine_record.memory
    factor = operand(work, engine.speech_weights, "engine_factor")
    fixed = operand(work, engine.speech_gib, "engine_gib")
    width = model.hidden_size or 1280.0
    layers = model.layers or 32.0
    longest = model.max_context or DECODER_TOKENS
    length: Number = longest
    if work.sequence_length is not None:
        length = smaller(kv.as_number(work.sequence_length), longest)
    beams = BEAMS
    size = work.format.compute.activation_bytes
    cross = named(2.0 * layers * width * AUDIO_POSITIONS * size, "cross_cache_bytes")
    own = named(2.0 * layers * width * length * beams * size, "own_cache_bytes")
    positions = operand(work, AUDIO_POSITIONS)
    encoder = width * positions * size * 12.0 + size * positions * positions * AUDIO_HEADS
    encoder = named(encoder, "window_bytes")
    own_buffers = held * (factor - 1.0) + fixed * GIB + layers * BEAM_BYTES_PER_LAYER
    found = [
        Term("weights", held, "exact", "memory.weights", 0.05, 0.1),
        Term("kv_cache", batch * (cross + own), "derived", "memory.kv_cache", 0.2, 0.3),
        Term("activations", batch * encoder, "calibrated", "memory.speech_engine", *near["activations"]),
        Term("engine", own_buffers, "calibrated", "memory.speech_engine", *near["engine"], RESERVED),
    ]  # fmt: skip
    return _finish(found, work, plan)


def _finish(found: list[Term], work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    found.append(overhead.context_term(work))
    collective = overhead.collective_term(plan)
    if collective is not None:
        found.append(collective)
    return found, Reserve()
