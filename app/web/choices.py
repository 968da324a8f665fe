"""The choices of the form's select boxes and segmented controls, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from app.core import engines, formats
from app.services.contract import (
    ENGINE_CHOICES,
    OPTIMIZERS,
    REGIONS,
)
from app.texts.marking import N_
from app.texts.words import CONDITION, FAMILY, OPTIMIZER_NAMES, WORK_UNIT, label, precision_name, proper_name
from app.web.form import CHINESE_VENDORS, MILLIONS, FormState
from app.web.formatting import close_up

Pairs = list[tuple[str, str]]
Gettext = Callable[[str], str]

_NAMES = {
    "model": N_("Model, or its size"),
    "family": N_("Kind of model (for a bare size)"),
    "config": N_("config.json, pasted"),
    "task": N_("Task"),
    "precision": N_("Precision"),
    "batch_size": N_("Batch size"),
    "sequence_length": N_("Sequence length"),
    "output_length": N_("Output"),
    "source_length": N_("Source length"),
    "image_size": N_("Image size"),
    "engine": N_("Engine"),
    "kv_precision": N_("KV precision"),
    "attention": N_("Attention"),
    "used_gib": N_("Already used"),
    "memory_fraction": N_("Engine's share"),
    "weights_gib": N_("Checkpoint size"),
    "load": N_("Load"),
    "latency_limit_ms": N_("Latency limit"),
    "optimizer": N_("Optimizer"),
    "recipe": N_("Recipe"),
    "gradient_checkpointing": N_("Checkpointing"),
    "gradient_accumulation": N_("Accumulation"),
    "logits": N_("Logits"),
    "lora_rank": N_("LoRA rank"),
    "lora_targets": N_("LoRA targets"),
    "padding": N_("Padding"),
    "compile": N_("torch.compile"),
    "software": N_("Software"),
    "data": N_("Data"),
    "tensor": N_("Tensor"),
    "pipeline": N_("Pipeline"),
    "zero_stage": N_("ZeRO / FSDP"),
    "objective": N_("Objective"),
    "work": N_("Monthly work"),
    "work_unit": N_("Unit of the work"),
    "deadline_hours": N_("Deadline"),
    "months": N_("Term"),
    "hours_per_month": N_("Powered on"),
    "utilisation": N_("Utilisation"),
    "electricity": N_("Electricity"),
    "pue": N_("PUE"),
    "residual": N_("Residual value"),
    "host": N_("Host per card"),
    "budget": N_("Budget"),
    "max_age_days": N_("Prices up to"),
    "tax": N_("Tax basis"),
    "price_region": N_("Price region"),
    "refuse_stale": N_("Refuse stale prices"),
    "counts": N_("Cards together"),
    "vendor": N_("Vendor"),
    "conditions": N_("Condition"),
    "needs": N_("Must have"),
    "region": N_("Allowed in"),
    "framework": N_("Framework"),
    "framework_version": N_("Version"),
    "os": N_("System"),
    "max_power_w": N_("Power together"),
    "gpus": N_("Only these cards"),
    "prices": N_("My own prices, ¥ per card"),
    "run_over_24h": N_("Runs over 24 h"),
    "tenants": N_("Several tenants"),
    "strict_sla": N_("Strict SLA"),
    "as_of": N_("As of"),
}


def field_label(name: str, gettext: Gettext) -> str:
    """The label of a field, for the summary of faults."""
    return gettext(_NAMES[name]) if name in _NAMES else name


def _words(kind: str, codes: Iterable[str], gettext: Gettext) -> Pairs:
    return [(code, label(kind, code, gettext)) for code in codes]


def choices(state: FormState, vendors: Iterable[str], gettext: Gettext) -> dict[str, Any]:
    """Every list of options that the form shows, by its name in the template."""
    _ = gettext
    auto = ("", _("auto"))
    any_ = ("", _("any"))
    trains = state.one("task") != "inference"
    precisions = list(formats.form_names(trains))
    if state.one("precision") not in precisions:
        precisions.append(state.one("precision"))
    return {
        "task_options": [
            ("inference", _("Inference")),
            ("lora", "LoRA"),
            ("qlora", "QLoRA"),
            ("training", _("Full")),
        ],
        "precision_options": [(p, precision_name(p)) for p in precisions],
        "family_options": _words("family", FAMILY, _),
        "engine_options": [(e, _("auto") if e == "auto" else proper_name(e)) for e in ENGINE_CHOICES],
        "kv_options": [
            auto,
            *((p, precision_name(p)) for p in formats.kv_names()),
        ],
        "attention_options": [auto, ("flash", "flash"), ("sdpa", "sdpa"), ("eager", "eager")],
        "load_options": [
            ("batch", _("batch")),
            ("single", _("one at a time")),
            ("saturated", _("saturated")),
        ],
        "optimizer_options": [auto, *((o, OPTIMIZER_NAMES.get(o, o)) for o in OPTIMIZERS)],
        "recipe_options": [
            auto,
            ("mixed", _("mixed precision")),
            ("pure", _("pure 16 bit")),
            ("fp32", "FP32"),
        ],
        "checkpoint_options": [("no", _("off")), ("yes", _("full")), ("selective", _("selective"))],
        "target_options": [("all-linear", _("all linear layers")), ("attention", _("attention only"))],
        "logits_options": [("full", _("in full")), ("chunked", _("chunked"))],
        "padding_options": [("padded", _("padded")), ("packed", _("packed"))],
        "software_options": [("new", _("newest")), ("usual", _("usual")), ("old", _("old"))],
        "zero_options": [auto, ("0", _("none")), ("1", "1"), ("2", "2"), ("3", "3 / FSDP")],
        "objective_options": [
            ("total_cost", _("Total cost")),
            ("tflops_per_yuan", _("TFLOPS/¥")),
            ("speed", _("Fastest")),
            ("purchase", _("Price")),
            ("power", _("Power")),
        ],
        "work_unit_options": [
            (unit, close_up(_("million %(unit)s") % {"unit": word}) if unit in MILLIONS else word)
            for unit, word in _words("work_unit", WORK_UNIT, _)
        ],
        "tax_options": [any_, ("included", _("tax included")), ("excluded", _("tax excluded"))],
        "price_region_options": _words("region", REGIONS, _),
        "region_options": [any_, *_words("region", REGIONS, _)],
        "vendor_options": [
            ("", _("all")),
            (CHINESE_VENDORS, _("Chinese makers")),
            *((v, v) for v in vendors),
        ],
        "condition_options": _words("condition", CONDITION, _),
        "framework_options": [any_, *((f, proper_name(f)) for f in engines.framework_names())],
        "os_options": [
            any_,
            ("linux", "Linux"),
            ("windows", "Windows"),
            ("wsl2", "WSL2"),
            ("macos", "macOS"),
        ],
        "answer_options": [("", _("not said")), ("yes", _("yes")), ("no", _("no"))],
    }


def summaries(state: FormState, assumed: dict[str, Any], gettext: Gettext) -> dict[str, list[str]]:
    """The values in force behind each "more", so that no default is hidden."""
    _ = gettext
    one = state.one

    def chosen(name: str) -> str:
        value = one(name)
        return str(assumed.get(name, "")) if value in ("", "auto") else value

    trains = one("task") != "inference"
    engine = chosen("engine")
    run = [proper_name(engine) if engine else _("engine auto")]
    if trains:
        optimizer = chosen("optimizer")
        run += [OPTIMIZER_NAMES.get(optimizer, optimizer) or _("optimizer auto")]
        run += [
            {"no": _("no checkpointing"), "yes": _("checkpointing")}.get(
                one("gradient_checkpointing"), _("selective checkpointing")
            )
        ]
        if one("task") in ("lora", "qlora"):
            run += [_("rank %(rank)s") % {"rank": one("lora_rank")}]
    elif chosen("kv_precision"):
        run += [f"KV {precision_name(chosen('kv_precision'))}"]
    run += [_("used %(gib)s GiB") % {"gib": one("used_gib")}]
    if chosen("attention"):
        run += [chosen("attention")]
    plan = [
        f"{word} {one(name)}"
        for name, word in (("data", "DP"), ("tensor", "TP"), ("pipeline", "PP"))
        if one(name)
    ]
    run += plan or [_("plan auto")]
    money = [
        f"{one('electricity')} ¥/kWh",
        f"PUE {one('pue')}",
        _("utilisation %(percent)s %%") % {"percent": one("utilisation")},
        _("residual %(percent)s %%") % {"percent": one("residual")},
        _("host ¥%(amount)s") % {"amount": one("host")} if one("host") else _("host ¥500 + 20\u00a0%"),
        _("prices ≤ %(days)s days") % {"days": one("max_age_days")},
    ]
    if one("prices"):
        money += [_("own prices")]
    cards = [need.upper() if need != "nvlink" else "NVLink" for need in state.many("needs")]
    cards += [proper_name(one("framework"))] if one("framework") else []
    cards += [one("os")] if one("os") else []
    cards += [one("gpus")] if one("gpus") else []
    return {"run": run, "money": money, "cards": cards or [_("no further wishes")]}
