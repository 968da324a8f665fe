"""Words of the accuracy page and of its JSON: groups, figures, reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.core.engines import title
from app.texts.language import translations
from app.texts.marking import N_

GROUP_NAMES: Mapping[str, str] = {
    "inference_weights": N_("inference: weights"),
    "kv_per_token": N_("inference: KV cache per token"),
    "kv_layout": N_("inference: KV cache as laid out"),
    "engine_buffer": N_("inference: engine buffers"),
    "inference_peak": N_("inference: peak and total"),
    "full_training": N_("training in full"),
    "adapters": N_("LoRA and QLoRA"),
    "encoders": N_("encoders: peak"),
    "encoder_batch": N_("encoders: largest batch"),
    "vision_batch": N_("image models: largest batch"),
    "dense_vision": N_("detection and segmentation"),
    "dense_vision_batch": N_("detection: largest batch"),
    "training_batch": N_("training: largest batch"),
    "generation_inference": N_("diffusion and speech: inference"),
    "generation_training": N_("diffusion and speech: training"),
    "vision_peak": N_("image models: peak"),
}
PRICE_GROUPS: Mapping[str, str] = {
    "small": N_("new GeForce under 24 GB, Radeon, Arc"),
    "big": N_("new GeForce from 24 GB up"),
    "thin": N_("used, modified, professional, data centre"),
    "chinese": N_("Chinese cards"),
    "server": N_("whole servers of eight"),
}
"""Classes of the back-test of prices."""
SPLITS: Mapping[str, str] = {
    "halves": N_("the other half of the cards"),
    "card left out": N_("each card left out"),
}
"""How errors are kept apart from what the constants were fitted to."""
SERVING_GROUPS: Mapping[str, str] = {
    "all": N_("all runs"),
    "amd": N_("AMD cards"),
    "ascend": N_("Ascend cards"),
    "consumer": N_("consumer cards"),
    "nvidia_data_centre": N_("NVIDIA data centre cards"),
    "experts": N_("mixtures of experts"),
    "dense": N_("dense models"),
    "one_user": N_("one user"),
    "many_users": N_("more than 128 users"),
}
"""Groups of runs of servers; others are named as their engine."""
SERVING_FIGURES: Mapping[str, str] = {
    "total": N_("tokens/s of all"),
    "token": N_("time per output token"),
    "first_alone": N_("first token, one request"),
    "first_load": N_("first token under load"),
}
SERVING_SPLITS: Mapping[str, str] = {
    "site": N_("each site"),
    "report": N_("the other half of the pages"),
}
"""What the constants were not read from."""
REASONS: Mapping[str, str] = {
    # Cases that the question of this product cannot say.
    "cards_not_stated": N_("The source does not say how many cards shared the work."),
    "compressed_attention": N_("The model compresses its KV cache in a way that is not modelled."),
    "dp_attention": N_("Attention ran data-parallel beside expert parallelism."),
    "expert_dispatch_buffers": N_("The figure is of buffers for expert dispatch."),
    "image_size_not_stated": N_("The source does not say the image size."),
    "kv_format": N_("A KV format that is not modelled."),
    "layer_sampling": N_("The method trains a few layers at a time."),
    "length_not_stated": N_("The source does not say the sequence length."),
    "micro_batch_not_stated": N_("The source does not say the batch of one card."),
    "mixed_checkpoint_size_not_stated": N_(
        "A checkpoint of mixed formats whose size the source does not say."
    ),
    "model_dimensions_unknown": N_("The dimensions of the model are not published."),
    "model_family": N_("A family of models that is not modelled."),
    "model_not_named": N_("The source does not name the model."),
    "model_size_not_stated": N_("The source does not say the size of the model."),
    "not_a_measurement": N_("An estimate of another tool, not a measurement."),
    "optimizer_in_backward": N_("The optimizer steps inside the backward pass."),
    "parameter_offload": N_("Parameters are kept in host memory during training."),
    "part_of_the_cache_only": N_("The figure covers a part of the KV cache only."),
    "partly_frozen_model": N_("A part of the model is frozen, and which is not stated."),
    "recipe_not_stated": N_("The source does not say the number formats of the training."),
    "recurrent_memory_model": N_("A recurrent memory model, which is not modelled."),
    "zero_stage_not_stated": N_("The source does not say what was sharded."),
    # Figures of expressed cases that mean something else than an estimate.
    "experts_partly_on_cards": N_("An unknown share of the experts lay on the cards."),
    "kv_formats_differ": N_("Keys and values were kept in different formats."),
    "model_inferred": N_("The model was deduced from this very figure."),
    "latent_attention_off": N_("The engine stored full heads in place of the latent."),
    "multimodal_profile": N_("The engine profiled images or sound as well."),
    "parts_missing": N_("The sum leaves out parts of the need."),
    "state_at_failure": N_("Memory held when the run failed, not a need."),
    "pipeline_copies": N_("The engine kept several copies of its buffers for pipelining."),
    "backend_workspace": N_("The attention backend took a workspace of its own."),
    "other_processes": N_("Other processes were on the card."),
    "card_not_stated": N_("The source does not say the card."),
    "includes_context": N_("The figure includes the context of the process."),
    # Faulty sources.
    "custom head; one tensor of 3.3 GiB; larger images had run": N_(
        "Custom head; one tensor of 3.3 GiB; larger images had run."
    ),
    "non-torch memory was inflated by another process on shared memory": N_(
        "Another process on the shared memory inflated the figure."
    ),
    "below 8 bytes a parameter: run with other settings than stated": N_(
        "Below 8 bytes a parameter: run with other settings than stated."
    ),
    "the allocator was squeezed by the 80 GB card: under the line of the smaller batches": N_(
        "The 80 GB card squeezed the allocator: under the line of the smaller batches."
    ),
    "another process may have held the card": N_("Another process may have held the card."),
    "below 8 bytes a parameter and over the card: run with other settings than stated": N_(
        "Below 8 bytes a parameter and over the card: run with other settings than stated."
    ),
    "more memory at 2048 than at 4096 tokens in the source": N_(
        "More memory at 2,048 than at 4,096 tokens in the source."
    ),
}
REFUSED = N_("The question was refused: {code}.")


def group_name(group: str, language: str) -> str:
    """Name of a group of cases."""
    return translations(language).gettext(GROUP_NAMES.get(group, group.replace("_", " ")))


def reason(code: str, language: str) -> str:
    """Sentence of a reason; one that has no sentence is shown as it stands."""
    say = translations(language).gettext
    if code.startswith("refused:"):
        return say(REFUSED).format(code=code.removeprefix("refused:").replace("_", " "))
    text = REASONS.get(code)
    return code.replace("_", " ") if text is None else say(text)


def serving_group(group: str, gettext: Callable[[str], str]) -> str:
    """A group of runs in words: an engine by its name."""
    return gettext(SERVING_GROUPS[group]) if group in SERVING_GROUPS else title(group)
