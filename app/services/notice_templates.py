"""English source texts of notices: tax of quotes, systems and drivers, fields that do not apply, by code."""

from __future__ import annotations

from app.services.marking import N_

NOTICE_TEMPLATES: dict[str, str] = {
    # Tax of a quote
    "price_put_on_tax_basis": N_("Quoted at {stated} {currency}, {tax}; set at {tax_percent} tax."),
    "price_tax_rate_assumed": N_("The quote states no tax rate; {tax_percent} is assumed."),
    "price_of_unknown_tax": N_("The quote does not say whether tax is included; it counts as written."),
    # Fields that do nothing for a question
    "ignored_in_inference": N_("Ignored: only training has it."),
    "ignored_in_training": N_("Ignored: only inference has it."),
    "ignored_in_full_training": N_(
        "Ignored: full training holds all weights on the card, in its own formats."
    ),
    "ignored_without_adapter": N_("Ignored: only LoRA and QLoRA have an adapter."),
    "ignored_for_adapters": N_("Ignored: an adapter's states are counted as AdamW's."),
    "ignored_by_family": N_("Ignored: models of this kind have no such thing."),
    "ignored_by_engine": N_("Ignored: the engine sets it by itself."),
    "ignored_without_experts": N_("Ignored: the model has no experts."),
    "ignored_without_checkpointing": N_("Ignored: only the checkpoints of activations can be offloaded."),
    "ignored_with_one_replica": N_("Ignored: one replica has nothing to shard its states with."),
    "ignored_under_single_load": N_("Ignored: one request at a time has no batch to limit."),
    "ignored_not_modelled": N_("Ignored: its effect is not modelled for this question."),
    "work_hours_of_audio": N_("Hours of a speech model are hours of audio, not of running."),
    "kv_heads_do_not_divide": N_("{heads} attention heads cannot share {kv_heads} KV heads evenly."),
    "vision_tower_estimated": N_("The vision tower is of an unknown type; it is counted as a plain one."),
    "audio_tower_not_counted": N_("The audio tower is not in the parameter count."),
    "engine_cannot_train": N_("The stated engine only runs models; training is computed with PyTorch."),
    # Systems and drivers
    "no_driver_on_macos": N_("{gpu} has no driver for macOS."),
    "engine_not_on_windows": N_("{framework} has no build for native Windows; use WSL2 or Linux."),
    "card_not_on_system": N_("{framework} does not use {gpu} under {os}; its stack is made for Linux."),
    "rocm_in_part_on_windows": N_("Under {os}, of ROCm only a part runs on {gpu}: PyTorch, as a preview."),
    "driver_too_old_for_card": N_(
        "Driver {driver} is older than the first one that knows {gpu} ({needed}), "
        "whatever the framework accepts."
    ),
    "driver_of_card_unknown": N_("Which driver first knew {gpu} is not recorded; {driver} is not checked."),
    "remedy_driver": N_("Install driver {driver} or newer."),
    "framework_no_release_compiled": N_(
        "No {framework} package has compiled code for {gpu} (compute capability {capability}): "
        "it is compiled at start, and failures are reported."
    ),
}
