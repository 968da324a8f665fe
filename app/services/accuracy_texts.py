"""Words of the accuracy page and of its JSON: groups, figures, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.services.language import translations

CONTEXT = "accuracy"


def _n(text: str) -> str:
    """Mark a text for translation."""
    return text


GROUP_NAMES: Mapping[str, str] = {
    "inference_weights": _n("inference: weights"),
    "kv_per_token": _n("inference: KV cache per token"),
    "kv_layout": _n("inference: KV cache as laid out"),
    "engine_buffer": _n("inference: engine buffers"),
    "inference_peak": _n("inference: peak and total"),
    "full_training": _n("training in full"),
    "adapters": _n("LoRA and QLoRA"),
    "encoders": _n("encoders: peak"),
    "encoder_batch": _n("encoders: largest batch"),
    "vision_batch": _n("image models: largest batch"),
    "dense_vision": _n("detection and segmentation"),
    "dense_vision_batch": _n("detection: largest batch"),
    "training_batch": _n("training: largest batch"),
    "generation_inference": _n("diffusion and speech: inference"),
    "generation_training": _n("diffusion and speech: training"),
    "vision_peak": _n("image models: peak"),
}
REASONS: Mapping[str, str] = {
    # Cases that the question of this product cannot say.
    "cards_not_stated": _n("The source does not say how many cards shared the work."),
    "compressed_attention": _n("The model compresses its KV cache in a way that is not modelled."),
    "dp_attention": _n("Attention ran data-parallel beside expert parallelism."),
    "expert_dispatch_buffers": _n("The figure is of buffers for expert dispatch."),
    "image_size_not_stated": _n("The source does not say the image size."),
    "kv_format": _n("A KV format that is not modelled."),
    "layer_sampling": _n("The method trains a few layers at a time."),
    "length_not_stated": _n("The source does not say the sequence length."),
    "micro_batch_not_stated": _n("The source does not say the batch of one card."),
    "mixed_checkpoint_size_not_stated": _n(
        "A checkpoint of mixed formats whose size the source does not say."
    ),
    "model_dimensions_unknown": _n("The dimensions of the model are not published."),
    "model_family": _n("A family of models that is not modelled."),
    "model_not_named": _n("The source does not name the model."),
    "model_size_not_stated": _n("The source does not say the size of the model."),
    "not_a_measurement": _n("An estimate of another tool, not a measurement."),
    "optimizer_in_backward": _n("The optimizer steps inside the backward pass."),
    "parameter_offload": _n("Parameters are kept in host memory during training."),
    "part_of_the_cache_only": _n("The figure covers a part of the KV cache only."),
    "partly_frozen_model": _n("A part of the model is frozen, and which is not stated."),
    "recipe_not_stated": _n("The source does not say the number formats of the training."),
    "recurrent_memory_model": _n("A recurrent memory model, which is not modelled."),
    "zero_stage_not_stated": _n("The source does not say what was sharded."),
    # Figures of expressed cases that mean something else than an estimate.
    "experts_partly_on_cards": _n("An unknown share of the experts lay on the cards."),
    "kv_formats_differ": _n("Keys and values were kept in different formats."),
    "model_inferred": _n("The model was deduced from this very figure."),
    "latent_attention_off": _n("The engine stored full heads in place of the latent."),
    "multimodal_profile": _n("The engine profiled images or sound as well."),
    "parts_missing": _n("The sum leaves out parts of the need."),
    "state_at_failure": _n("Memory held when the run failed, not a need."),
    "pipeline_copies": _n("The engine kept several copies of its buffers for pipelining."),
    "backend_workspace": _n("The attention backend took a workspace of its own."),
    "other_processes": _n("Other processes were on the card."),
    "card_not_stated": _n("The source does not say the card."),
    "includes_context": _n("The figure includes the context of the process."),
    # Faulty sources.
    "custom head; one tensor of 3.3 GiB; larger images had run": _n(
        "Custom head; one tensor of 3.3 GiB; larger images had run."
    ),
    "non-torch memory was inflated by another process on shared memory": _n(
        "Another process on the shared memory inflated the figure."
    ),
    "below 8 bytes a parameter: run with other settings than stated": _n(
        "Below 8 bytes a parameter: run with other settings than stated."
    ),
    "the allocator was squeezed by the 80 GB card: under the line of the smaller batches": _n(
        "The 80 GB card squeezed the allocator: under the line of the smaller batches."
    ),
    "another process may have held the card": _n("Another process may have held the card."),
    "below 8 bytes a parameter and over the card: run with other settings than stated": _n(
        "Below 8 bytes a parameter and over the card: run with other settings than stated."
    ),
    "more memory at 2048 than at 4096 tokens in the source": _n(
        "More memory at 2,048 than at 4,096 tokens in the source."
    ),
}
REFUSED = _n("The question was refused: {code}.")


def group_name(group: str, language: str) -> str:
    """Name of a group of cases."""
    return translations(language).pgettext(CONTEXT, GROUP_NAMES.get(group, group.replace("_", " ")))


def reason(code: str, language: str) -> str:
    """Sentence of a reason; one that has no sentence is shown as it stands."""
    say = translations(language).pgettext
    if code.startswith("refused:"):
        return say(CONTEXT, REFUSED).format(code=code.removeprefix("refused:").replace("_", " "))
    text = REASONS.get(code)
    return code.replace("_", " ") if text is None else say(CONTEXT, text)


def in_words(body: Mapping[str, Any], language: str) -> dict[str, Any]:
    """A copy of `memory_report`'s body with names of groups and sentences of reasons beside the codes."""
    cases = body["cases"]
    return {
        **body,
        "groups": [{**row, "name": group_name(row["group"], language)} for row in body["groups"]],
        "cases": {
            **cases,
            "faulty": [{**row, "text": reason(row["reason"], language)} for row in cases["faulty"]],
            **{
                name: [{**row, "text": reason(row["code"], language)} for row in cases[name]]
                for name in ("unexpressed", "figures_left_out")
            },
        },
    }
