"""Images from diffusion models and text from speech."""

from __future__ import annotations

import numpy as np

from app.core.estimates import Assumption
from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import ComputeRate, GpuTable
from app.core.model.architecture import ModelArchitecture
from app.core.speed import constants as c
from app.core.speed.inference import bandwidth_share, reference_kernels
from app.core.speed.scaling import exposed_gradient_s
from app.core.speed.terms import Plans, Shape, Terms
from app.core.speed.vision import counts_at_asked_size
from app.core.tracing import Constant, counted, floats, named, operand
from app.core.units import GB, TERA, Number
from app.core.workload import Workload

UNET_POSITIONS_PER_TOKEN = Constant(
    12.0, "positions_per_token", "", "latent positions that share one pass over the parameters"
)
"""A U-Net applies its parameters at falling resolutions: 2 P x latent positions / 12 (SD 1.5: 339 GMAC)."""
TRANSFORMER_PATCH = Constant(4.0, "positions_per_token")
"""Latent positions per token of a diffusion transformer (2 x 2 patches)."""
TRANSFORMER_TEXT_TOKENS = Constant(512.0, "text_tokens", "", "tokens of the text beside the image")
GUIDANCE_PASSES = 2.0
AUDIO_POSITIONS = Constant(1500.0, "audio_positions")
SCHEDULES: dict[str, tuple[float, float]] = {
    "flux.1-dev": (28.0, 1.0),
    "flux.1-schnell": (4.0, 1.0),
}
"""Denoising steps and passes per step of distilled models, by id; others take the default and guidance."""
SPEECH_SHARE = Constant(0.35, "compute_share")
LONGEST_WINDOW = Constant(
    0.06, "longest_window", "", "share that a doubling of the windows adds to the tokens of the longest"
)
"""A batch writes until its longest window is done: tokens x (1 + 0.06 log2 windows)."""
WINDOW_HOST_S = Constant(0.02, "window_host_s", "s", "work of the host for one window")
"""Mel spectrogram and text of one window on the host, seconds."""

register(
    Formula(
        "speed.diffusion",
        "Diffusion",
        "t = steps x passes x 2 MACs / (peak x share) per image; U-Net MACs = P x latent positions / "
        "12; share = "
        "that of the class x (MACs / 340 G)^0.18, at most 0.85; at least 32 ms of launches a step (SDXL 2.6 "
        "times, FLUX 1.5 times that), compiled 0.4 of it",
        "s",
        "calibrated",
        "30 steps with guidance (two passes) unless the model is guidance-distilled; text encoder and VAE "
        "within the "
        "width.",
        (
            Reference(
                "diffusers: torch 2 benchmarks",
                "https://github.com/huggingface/diffusers/blob/main/docs/source/en/optimization",
            ),
            Reference(
                "PyTorch: SDXL on an A100, 30 steps: 3.3 s with fused attention, 2.5 s compiled",
                "https://pytorch.org/blog/accelerating-generative-ai-3/",
            ),
        ),
    ),
    Formula(
        "speed.speech",
        "Speech recognition",
        "realtime factor = windows x 30 s / (encoder FLOPs / (peak x 0.35) + 110 x decode step + 0.02 s)",
        "1",
        "calibrated",
        "Whisper-like models, windows of 30 s, about 110 tokens written per window. Step: layers x 0.45 ms "
        "(faster-whisper), 1.0 ms (Transformers), 1.4 ms (others), weights once, the window once per beam: "
        "faster-whisper keeps 5. Silence that is cut out is not counted.",
        (
            Reference(
                "faster-whisper, large-v2 on 13 minutes: V100S 54 s; RTX 3070 Ti 63 s, eight "
                "windows at a time "
                ""
                "17 s",
                "https://github.com/SYSTRAN/faster-whisper",
            ),
            Reference("Radford et al. 2022, windows of 30 s", "https://arxiv.org/abs/2212.04356"),
        ),
    ),
)


def denoiser_macs(model: ModelArchitecture, pixels: Number) -> Number:
    """Multiply-accumulates of one pass of the denoiser over one image."""
    if model.forward_macs:
        size = model.image_size or (512, 512)
        return named(model.forward_macs * np.divide(pixels, 1.0 * size[0] * size[1]), "denoiser_macs")
    positions = named(np.divide(pixels, 1.0 * model.latent_downscale**2), "latent_positions")
    parameters = counted(_denoiser_parameters, model, name="denoiser_parameters")
    if "unet" in model.backbone.lower():
        return named(parameters * positions / UNET_POSITIONS_PER_TOKEN, "denoiser_macs")
    return named(parameters * (positions / TRANSFORMER_PATCH + TRANSFORMER_TEXT_TOKENS), "denoiser_macs")


def schedule(work: Workload) -> tuple[float, float]:
    """Denoising steps of an image, as asked or the usual ones, and passes of the denoiser per step."""
    steps, passes = SCHEDULES.get(work.model.id, (c.DIFFUSION_STEPS, GUIDANCE_PASSES))
    return float(work.denoising_steps or steps), passes


def speed_assumptions(work: Workload) -> tuple[Assumption, ...]:
    """Defaults that only the speed uses."""
    full: tuple[Assumption, ...] = ()
    if work.fills_engine and work.model.family == "decoder":
        full = (Assumption("batch_size", float(np.mean(Shape.of(work).batch)), "saturated_up_to"),)
    return (*full, *_other_assumptions(work))


def _other_assumptions(work: Workload) -> tuple[Assumption, ...]:
    if work.model.family == "diffusion" and not work.trains:
        if work.denoising_steps:
            return ()
        return (Assumption("denoising_steps", schedule(work)[0], "default_denoising_steps"),)
    if reference_kernels(work):
        return (Assumption("engine", work.engine, "reference_kernels"),)
    if work.model.family == "speech":
        return (Assumption("tokens_per_window", c.TOKENS_PER_WINDOW, "default_tokens_per_window"),)
    if counts_at_asked_size(work.model):
        return (Assumption("image_size", work.image_size, "counts_at_asked_size"),)
    return ()


def diffusion_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Images per second of generation or of training steps.

    Parameters
    ----------
    work: resolved question. shape: images and their pixels. plans, cards, rate: broadcast.

    Returns
    -------
    Terms; a generated image takes `DIFFUSION_STEPS` denoising steps.
    """
    macs = denoiser_macs(work.model, shape.pixels)
    # Larger denoisers are larger matrix products.
    size = np.maximum(floats(macs) / c.DIFFUSION_MACS, 1e-3) ** c.DIFFUSION_MACS_EXPONENT
    base = named(cards.by_class(c.DIFFUSION_SHARE), "diffusion_share")
    share = np.minimum(base * named(size, "size_factor"), c.DIFFUSION_MOST)
    share = share * operand(work, c.DIFFUSION_SOFTWARE[work.software], "software_share")
    if work.format.compute.narrow:
        share = np.where(rate.fallback, share, share * c.DIFFUSION_NARROW)
    if work.format.compute.group == "fp32":
        share = np.maximum(share, 0.5)
    if work.trains:
        dense = 6.0 if work.task == "training" else 4.0
        flops: Number = dense * macs
        local: Number = shape.batch
        images = np.multiply(shape.batch, plans.data)
        steps = 1.0
    else:
        steps, passes = schedule(work)
        steps, passes = operand(work, steps, "denoising_steps"), operand(work, passes, "passes")
        flops = 2.0 * macs * passes * steps
        local = named(np.ceil(np.divide(shape.batch, plans.data)), "local_batch")
        images = floats(shape.batch)
    flops = named(flops, "image_flops")
    share = named(share, "compute_share")
    compute_s = named(local * flops / (rate.tflops * TERA * share), "products_s")
    step_launch_s = operand(work, _step_launch_s(work), "step_launch_s")
    launch_s = named(steps * step_launch_s + np.zeros_like(compute_s), "launch_s")
    busy = named(np.maximum(compute_s, launch_s), "busy_s")
    link = np.zeros_like(busy)
    kind = "diffusion"
    if work.trains:
        kind = "diffusion_training"
        gradient = counted(_denoiser_parameters, work.model, name="denoiser_parameters")
        each = operand(work, 4.0 if work.task == "training" else 0.04, "gradient_bytes")
        gradient = named(gradient * each, "reduced_bytes")
        link = exposed_gradient_s(cards, gradient, plans.data, plans.zero_stage, busy, kind)
    return Terms(
        kind=kind,
        phase="training" if work.trains else "forward",
        unit="images_per_s",
        units_per_step=images,
        flops_per_unit=flops,
        seconds=busy + link,
        parts={
            "compute": np.where(launch_s > compute_s, 0.0, compute_s),
            "launch": np.where(launch_s > compute_s, launch_s, 0.0),
            "communication": link,
        },
    )


def speech_terms(work: Workload, shape: Shape, plans: Plans, cards: GpuTable, rate: ComputeRate) -> Terms:
    """Seconds of audio per second; `batch_size` counts windows of 30 s."""
    model = work.model
    width = model.hidden_size or 1
    encoder_layers = model.encoder_layers or model.layers
    encoder = named(min(encoder_layers * 12.0 * width**2, 0.9 * model.parameters), "encoder_parameters")
    decoder = named(model.parameters - encoder, "decoder_parameters")
    attention = encoder_layers * 4.0 * AUDIO_POSITIONS * width
    window = (2.0 * encoder + attention) * AUDIO_POSITIONS
    written = 2.0 * decoder * operand(work, c.TOKENS_PER_WINDOW, "tokens_per_window")
    flops = named((window + written) * (3.0 if work.trains else 1.0), "window_flops")
    local = shape.batch if work.trains else named(np.ceil(np.divide(shape.batch, plans.data)), "local_batch")
    compute_s = named(local * flops / (rate.tflops * TERA * SPEECH_SHARE), "products_s")
    link = np.zeros_like(compute_s * plans.data)
    step_s = link
    windows: Number = shape.batch
    if work.trains:
        link = exposed_gradient_s(
            cards, model.parameters * 4.0, plans.data, plans.zero_stage, compute_s + link, "encoder_training"
        )
        link = named(link, "gradient_link_s")
        windows = np.multiply(shape.batch, plans.data)
    else:
        own = work.engine_record.speed
        beams = operand(work, own.speech_beams, "beams")
        cross = 4.0 * width * AUDIO_POSITIONS * model.layers * beams
        step = (decoder * work.format.bytes + local * named(cross, "cross_cache_bytes")) / (
            cards.bandwidth_gb_s * GB * bandwidth_share(work, cards)
        )
        step = named(step, "traffic_s")
        layer_s = operand(work, own.speech_layer_s / c.SOFTWARE_SHARE[work.software], "layer_launch_s")
        tokens: Number = operand(work, c.TOKENS_PER_WINDOW, "tokens_per_window")
        tokens = named(tokens * (1.0 + LONGEST_WINDOW * np.log2(np.maximum(local, 1.0))), "tokens_written")
        step_s = named(tokens * (step + model.layers * layer_s), "written_s")
        step_s = step_s + named(local * WINDOW_HOST_S, "host_s") + link
    return Terms(
        kind="speech",
        phase="training" if work.trains else "forward",
        unit="realtime_factor",
        units_per_step=np.multiply(windows, c.WINDOW_S),
        flops_per_unit=flops / c.WINDOW_S,
        seconds=compute_s + step_s + link,
        parts={"compute": compute_s + 0.0 * link, "bandwidth": step_s, "communication": link},
    )


def _step_launch_s(work: Workload) -> float:
    """Seconds in which one denoising step, or one training step, is launched."""
    kernels = next((k for name, k in c.DIFFUSION_KERNELS.items() if work.model.id.startswith(name)), 1.0)
    step_s = c.DIFFUSION_LAUNCH_S * kernels * (c.DIFFUSION_GRAPH_LAUNCH if work.compile else 1.0)
    if work.trains:
        step_s *= c.DIFFUSION_TRAIN_PASSES * (1.0 if work.task == "training" else c.DIFFUSION_ADAPTER_LAUNCH)
    return step_s


def _denoiser_parameters(model: ModelArchitecture) -> float:
    for part in model.components:
        if part.name in ("backbone", "unet", "dit", "transformer", "denoiser", "mmdit"):
            return part.parameters
    return model.parameters
