"""Memory of diffusion and speech models."""

from __future__ import annotations

from app.core.formats import FORMATS
from app.core.memory import kv, overhead
from app.core.memory.numeric import greater, smaller
from app.core.memory.spread import generation_spread
from app.core.memory.states import state_bytes
from app.core.memory.terms import RESERVED, Reserve, Term
from app.core.memory.weights import model_bytes
from app.core.model.architecture import ModelArchitecture
from app.core.units import GIB, Number
from app.core.workload import Parallelism, Workload

WORKING_SET_GIB, WORKING_SET_GIB_PER_BILLION = 1.4, 0.25
"""Peak minus loaded at 1024 x 1024, whatever the weight format: 2.0 GiB for 2 B, 3.9-4.8 for 12 B (FLUX)."""
UNET_WORKING_SET_GIB = 2.6
CHECKPOINT_SHARE = 0.12
LATENT_STEP_SHARE = 0.12
"""A further image of the batch adds little: the VAE decodes one after another where it can."""
DECODER_TOKENS = 448
"""Text positions of Whisper's decoder."""
TRAIN_GIB_PER_BILLION = {"unet": 0.95, "transformer": 0.55}
"""GiB kept per billion parameters that gradients pass, per image of 64 x 64 latents, at 16 bit, without
checkpointing; twice that in fp32."""
UNET_SCORE_LAYERS = 5
UNET_SCORE_HEADS = 8
"""Self-attention at the full latent size: what eager attention keeps grows with the square of the latents."""
TRAIN_POOL_SHARE = 0.12
WHISPER_ENGINE = {"faster-whisper": (1.0, 0.12), "transformers": (1.1, 0.6), "pytorch": (3.3, 1.0)}
"""(factor on the weights, GiB beside them): openai/whisper loads fp32 and casts (11.1 GiB for 1.55 B)."""
BEAM_BYTES_PER_LAYER = 12 * 2**20
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
    pixels = height * width / (1024.0 * 1024.0)
    loaded = model_bytes(model, work.precision, work.engine, work.weights_gib).total
    trained = _backbone(model)
    unet = trained < 3e9 and not model.layers
    pool: Number = 0.3 * GIB
    if not work.trains:
        batch = kv.replica_sequences(batch, plan)
        base = WORKING_SET_GIB + WORKING_SET_GIB_PER_BILLION * trained / 1e9
        base = UNET_WORKING_SET_GIB if unet else base
        activations: Number = base * GIB * pixels * (1.0 + LATENT_STEP_SHARE * (batch - 1.0))
        found = [Term("weights", loaded, "exact", "memory.weights", 0.03, 0.05)]
    else:
        found = _training_states(work, plan, trained, loaded)
        activations = batch * _training_image_bytes(work, unet, trained, pixels)
        if work.task == "training":
            stage = plan.zero_stage if plan.data > 1 else 0
            step = trained * state_bytes(work, plan).workspace / (plan.data if stage else 1)
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
        adapter = work.trainable_parameters or trained * 4e-4 * work.lora_rank
        return [
            Term("weights", loaded, "exact", "memory.weights", *near),
            Term("adapter", adapter * 16.0, "derived", "memory.adapter", *near),
        ]
    model = work.model
    usual = 4.0 if work.recipe == "fp32" else 2.0
    frozen = usual * max(0.0, model.parameters - trained)
    for part in model.components:
        if part.precision in FORMATS and part.parameters != trained:
            frozen += (FORMATS[part.precision].bytes - usual) * part.parameters
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
    passed = trained + sum(
        c.parameters
        for c in model.components
        if c.parameters != trained and any(word in c.name.lower() for word in ("unet", "transformer", "dit"))
    )
    latents = pixels * (128.0 / max(1, model.latent_downscale // 8) / 64.0) ** 2
    size = 4.0 if work.recipe == "fp32" or work.compute_type in ("fp32", "tf32") else 2.0
    share = CHECKPOINT_SHARE if work.gradient_checkpointing else 1.0
    kind = "unet" if unet else "transformer"
    kept = TRAIN_GIB_PER_BILLION[kind] * GIB * passed / 1e9 * latents * size / 2.0
    if unet and work.attention == "eager":
        positions = 64.0 * 64.0 * latents
        kept += UNET_SCORE_LAYERS * UNET_SCORE_HEADS * positions * positions * (size + 1.0)
    return kept * share


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
    held = model_bytes(model, work.precision, work.engine, work.weights_gib).total
    factor, fixed = WHISPER_ENGINE.get(work.engine, WHISPER_ENGINE["transformers"])
    width = float(model.hidden_size or 1280)
    layers = float(model.layers or 32)
    longest = float(model.max_context or DECODER_TOKENS)
    length: Number = longest
    if work.sequence_length is not None:
        length = smaller(kv.as_number(work.sequence_length), longest)
    beams = 5.0
    size = 2.0 if work.compute_type not in ("fp32", "tf32") else 4.0
    cross = 2.0 * layers * width * 1500.0 * size
    own = 2.0 * layers * width * length * beams * size
    encoder = 1500.0 * width * size * 12.0 + 20.0 * 1500.0 * 1500.0 * size
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
