"""Memory of diffusion and speech models."""

from __future__ import annotations

from app.core.memory import kv, overhead
from app.core.memory.numeric import smaller
from app.core.memory.spread import generation_spread
from app.core.memory.states import state_bytes
from app.core.memory.terms import RESERVED, Reserve, Term
from app.core.memory.weights import model_bytes
from app.core.units import GIB, Number
from app.core.workload import Parallelism, Workload

WORKING_SET_GIB = 4.0
"""Peak minus loaded at 1024 x 1024: 3.9-4.8 GiB for FLUX whatever the weight format (VAE decoding)."""
UNET_WORKING_SET_GIB = 2.6
LATENT_STEP_SHARE = 0.12
"""A further image of the batch adds little: the VAE decodes one after another where it can."""
DECODER_TOKENS = 448
"""Text positions of Whisper's decoder."""
TRAIN_BYTES_PER_LATENT = {"unet": 0.95, "transformer": 0.55}
"""GiB kept per billion backbone parameters and image of 64 x 64 latents, 16 bit, without checkpointing."""
WHISPER_ENGINE = {"faster-whisper": (1.0, 0.27), "transformers": (1.1, 0.6), "pytorch": (3.3, 1.0)}
"""(factor on the weights, GiB beside them): openai/whisper loads fp32 and casts (11.1 GiB for 1.55 B)."""


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
    if not work.trains:
        batch = kv.replica_sequences(batch, plan)
        unet = model.parameters < 4.5e9 and not model.layers
        base = UNET_WORKING_SET_GIB if unet else WORKING_SET_GIB
        activations: Number = base * GIB * pixels * (1.0 + LATENT_STEP_SHARE * (batch - 1.0))
        found = [Term("weights", loaded, "exact", "memory.weights", 0.03, 0.05)]
    else:
        biggest = max((c.parameters for c in model.components), default=model.parameters)
        backbone = next((c.parameters for c in model.components if c.name == "backbone"), biggest)
        others = 2.0 * max(0.0, model.parameters - backbone)
        if work.task == "training":
            state = state_bytes(work, plan)
            stage = plan.zero_stage if plan.data > 1 else 0
            found = [
                Term("weights", others + backbone * (state.weights + state.autocast_copy)
                     / (plan.data if stage == 3 else 1), "exact", "memory.weights", *near["states"]),
                Term("gradients", backbone * state.gradients / (plan.data if stage >= 2 else 1), "exact",
                     "memory.gradients", *near["states"]),
                Term("optimizer", backbone * state.optimizer / (plan.data if stage else 1), "exact",
                     "memory.optimizer", *near["states"]),
            ]  # fmt: skip
        else:
            trained = work.trainable_parameters or backbone * 4e-4 * work.lora_rank
            found = [
                Term("weights", loaded, "exact", "memory.weights", *near["states"]),
                Term("adapter", trained * 16.0, "derived", "memory.adapter", *near["states"]),
            ]
        latents = pixels * (128.0 / max(1, model.latent_downscale // 8) / 64.0) ** 2
        kind = "unet" if backbone < 3e9 else "transformer"
        share = 0.12 if work.gradient_checkpointing else 1.0
        per_image = TRAIN_BYTES_PER_LATENT[kind] * GIB * backbone / 1e9 * latents * share
        activations = batch * per_image
    found.append(
        Term("activations", activations, "calibrated", "memory.diffusion_activations", *near["activations"])
    )
    found.append(Term("engine", 0.3 * GIB, "assumed", "memory.vision_workspace", 0.5, 1.0, RESERVED))
    return _finish(found, work, plan)


def speech_terms(work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    """Terms of a speech recogniser that serves: the engine decides more than the parameters.

    Notes
    -----
    faster-whisper: weights + 0.27 GiB + caches of five beams + context; openai/whisper: 3.3 x the
    16-bit weights (fp32 load, cast, five beams). Each concurrent stream adds cross-attention and beam caches.

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
    encoder = 1500.0 * width * size * 12.0 + 20.0 * 1500.0 * 1500.0 * 4.0
    found = [
        Term("weights", held, "exact", "memory.weights", 0.05, 0.1),
        Term("kv_cache", batch * (cross + own), "derived", "memory.kv_cache", 0.2, 0.3),
        Term("activations", batch * encoder, "calibrated", "memory.speech_engine", *near["activations"]),
        Term("engine", held * (factor - 1.0) + fixed * GIB, "calibrated", "memory.speech_engine",
             *near["engine"], RESERVED),
    ]  # fmt: skip
    return _finish(found, work, plan)


def _finish(found: list[Term], work: Workload, plan: Parallelism) -> tuple[list[Term], Reserve]:
    found.append(overhead.context_term(work))
    collective = overhead.collective_term(plan)
    if collective is not None:
        found.append(collective)
    return found, Reserve()
