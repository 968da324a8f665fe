"""How the form shows each field of the question: its control, label, choices and what is under "more"."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.core import formats
from app.core.fields import ADAPTER_TASKS, IMAGE_FAMILIES, TASKS, TRAINING_TASKS, Field
from app.texts.marking import N_
from app.texts.words import label, precision_name, proper_name
from app.web.form import CHINESE_VENDORS, FORM, MILLIONS, VERSION_OF_FRAMEWORK, FormState, is_many
from app.web.formatting import close_up

Pairs = tuple[tuple[str, str], ...]
Gettext = Callable[[str], str]
GROUPS = ("run", "run_more", "plan", "offload", "cost", "cost_more", "cards", "cards_more")
MORE = {"run": ("run_more", "plan", "offload"), "money": ("cost_more",), "cards": ("cards_more",)}
"""What is folded away under "more", by the fold."""
_SHORT: Mapping[tuple[str, str], str] = {
    ("task", "training"): N_("Full"),
    ("objective", "purchase"): N_("Price"),
    ("needs", "ecc"): "ECC",
    ("zero_stage", "0"): N_("none"),
    ("zero_stage", "3"): "3 / FSDP",
    ("gradient_checkpointing", "no"): N_("off"),
    ("gradient_checkpointing", "yes"): N_("full"),
    ("gradient_checkpointing", "selective"): N_("selective"),
}
"""Choices that the form says in fewer words than a sentence does."""
_OF_INFERENCE = {"precision": N_("Weights"), "sequence_length": N_("Context each")}
_SEGMENTED = frozenset({"task", "objective"})
_WIDE = frozenset({"family", "gpus"})


@dataclass(frozen=True, slots=True)
class Control:
    """One control of the form; `kind` is the macro that draws it."""

    kind: str
    name: str
    label: str
    help: str
    unit: str = ""
    placeholder: str = ""
    options: Pairs = ()
    only: str = ""
    wide: bool = False
    inputmode: str = "decimal"


def field_label(name: str, gettext: Gettext) -> str:
    """The label of a field, for the summary of faults."""
    found = next((one.label for one in FORM if one.name == name), None)
    if name == VERSION_OF_FRAMEWORK:
        found = N_("Version")
    return gettext(found) if found else name


def controls(
    state: FormState,
    family: str,
    vendors: Collection[str],
    assumed: Mapping[str, Any],
    gettext: Gettext,
    fields: Collection[Field] = FORM,
) -> dict[str, list[Control]]:
    """The controls of each group, in the order of the table.

    Parameters
    ----------
    state: what the form holds.
    family: family of the model, where it is known.
    vendors: makers of the catalogue's cards.
    assumed: the defaults that the answer used, by field: open fields show them in grey.
    gettext: the reader's language.
    fields: the table.
    """
    view = _View(state, family, tuple(vendors), assumed, gettext)
    found: dict[str, list[Control]] = {group: [] for group in GROUPS}
    for one in fields:
        if one.group in found:
            found[one.group].append(view.control(one))
            if one.kind == "frameworks":
                found[one.group].append(
                    Control("text", VERSION_OF_FRAMEWORK, gettext("Version"), "", placeholder=gettext("any"))
                )
    return found


@dataclass(frozen=True, slots=True)
class _View:
    state: FormState
    family: str
    vendors: tuple[str, ...]
    assumed: Mapping[str, Any]
    gettext: Gettext

    @property
    def infers(self) -> bool:
        return self.state.one("task") == "inference"

    def control(self, one: Field) -> Control:
        """The control of a field."""
        _ = self.gettext
        options = self.options(one)
        kind = _kind(one, options)
        return Control(
            kind,
            one.name,
            self.label(one),
            _(one.help),
            self.unit(one),
            "" if kind in ("select", "checks", "segmented") else self.placeholder(one),
            options,
            _only(one),
            one.name in _WIDE,
            "numeric" if one.kind == "integer" else "decimal",
        )

    def label(self, one: Field) -> str:
        """Its label, which may depend on the task."""
        _ = self.gettext
        if one.name == "batch_size":
            images = self.family in IMAGE_FAMILIES
            return _("Batch per GPU") if not self.infers else _("Batch") if images else _("Concurrent")
        if one.name == "work":
            return _("Monthly work") if self.infers else _("Work in all")
        if one.name == "work_unit":
            return _("of")
        return _(_OF_INFERENCE[one.name] if self.infers and one.name in _OF_INFERENCE else one.label)

    def unit(self, one: Field) -> str:
        """Its unit, as the form says it."""
        _ = self.gettext
        if one.name == "budget" and self.state.one("budget_currency") == "USD":
            return "$"
        if one.name == "batch_size":
            return _("images") if self.family in IMAGE_FAMILIES else _("seqs")
        return _(one.unit) if one.unit and one.unit[0].isalpha() else one.unit

    def placeholder(self, one: Field) -> str:
        """What stands in grey in an open field: the default that was used, where it is known."""
        used = self.assumed.get(one.key)
        if one.usual is not None and one.name in self.state.usual:
            return self.state.usual[one.name]
        if one.kind == "day":
            return str(used or "")
        if one.name == "image_size" and used:
            return " × ".join(str(v) for v in used)
        if one.kind in ("integer", "number") and isinstance(used, int | float) and not one.shown:
            return f"{used:g}" if abs(used) < 1e6 else str(int(used))
        if one.kind in ("cards", "prices", "long"):
            return one.hint
        return self.gettext(one.hint) if one.kind not in ("flag", "model") and not one.shown else ""

    def options(self, one: Field) -> Pairs:
        """The choices of a field with their words; what was typed beside them is kept."""
        _ = self.gettext
        if one.kind == "vendors":
            found = [(CHINESE_VENDORS, _("Chinese makers")), *((v, v) for v in self.vendors)]
        elif one.name == "precision":
            found = [(p, precision_name(p)) for p in formats.form_names(not self.infers)]
        elif one.kind == "answer":
            found = [("yes", _("yes")), ("no", _("no"))]
        elif one.kind == "level":
            texts = ("no", "yes", *(w for w in one.choices if isinstance(w, str)))
            found = [(text, self.word(one, text)) for text in texts]
        elif one.choices:
            found = [(str(choice), self.word(one, str(choice))) for choice in one.choices]
        else:
            return ()
        if not one.shown and not is_many(one):
            usual = dict(found).get(self.state.usual.get(one.name, ""))
            found.insert(0, ("", _("%(choice)s (default)") % {"choice": usual} if usual else _(one.hint)))
        current = self.state.one(one.name)
        if not is_many(one) and current not in (value for value, _word in found):
            found.append((current, current))
        return tuple(found)

    def word(self, one: Field, code: str) -> str:
        """The word of a choice."""
        _ = self.gettext
        if (one.name, code) in _SHORT:
            return _(_SHORT[one.name, code])
        if code == "auto":
            return _("auto")
        word = label(one.words, code, _) if one.words else code
        if one.name == "work_unit" and code in MILLIONS:
            return close_up(_("million %(unit)s") % {"unit": word})
        return word


def _kind(one: Field, options: Pairs) -> str:
    if one.name in _SEGMENTED:
        return "segmented"
    if is_many(one):
        return "checks"
    if options:
        return "select"
    if one.kind == "flag":
        return "check"
    if one.kind in ("long", "prices"):
        return "area"
    return "number" if one.kind in ("integer", "number", "fraction") else "text"


def _only(one: Field) -> str:
    """The classes that hide a field where the task or the family of the question has none."""
    by_task = {
        TASKS: "",
        ("inference",): "only-run",
        TRAINING_TASKS: "only-train",
        ADAPTER_TASKS: "only-lora",
    }
    by_family = "" if not one.families else "only-image" if one.families == IMAGE_FAMILIES else "only-token"
    classes = [by_task.get(one.tasks, ""), by_family, "only-size" if one.name == "family" else ""]
    return " ".join(name for name in classes if name)


def summaries(state: FormState, assumed: Mapping[str, Any], gettext: Gettext) -> dict[str, list[str]]:
    """The values in force behind each "more", so that no default is hidden."""
    _ = gettext
    one = state.said

    def chosen(name: str) -> str:
        value = one(name)
        return str(assumed.get(name, "")) if value in ("", "auto") else value

    trains = one("task") != "inference"
    engine = chosen("engine")
    run = [proper_name(engine) if engine else _("engine auto")]
    if trains:
        optimizer = chosen("optimizer")
        run += [label("optimizer", optimizer, _) or _("optimizer auto")]
        run += [
            {"no": _("no checkpointing"), "yes": _("checkpointing")}.get(
                one("gradient_checkpointing"), _("selective checkpointing")
            )
        ]
        if one("task") in ADAPTER_TASKS:
            run += [_("rank %(rank)s") % {"rank": one("lora_rank")}]
    elif chosen("kv_precision"):
        run += [f"KV {precision_name(chosen('kv_precision'))}"]
    run += [_("used %(gib)s GiB") % {"gib": one("used_gib")}]
    if chosen("attention"):
        run += [chosen("attention")]
    degrees = (("data", "DP"), ("tensor", "TP"), ("pipeline", "PP"), ("expert", "EP"))
    run += [f"{word} {one(name)}" for name, word in degrees if one(name)] or [_("plan auto")]
    money = [
        f"{one('electricity')} ¥/kWh",
        f"PUE {one('pue')}",
        _("utilisation %(percent)s %%") % {"percent": one("utilisation")},
        _("residual %(percent)s %%") % {"percent": one("residual")},
        _("host ¥%(amount)s") % {"amount": one("host")} if one("host") else _("machine by class"),
        _("prices ≤ %(days)s days") % {"days": one("max_age_days")},
    ]
    if one("prices"):
        money += [_("own prices")]
    cards = [need.upper() if need != "nvlink" else "NVLink" for need in state.many("needs")]
    cards += [proper_name(one("framework"))] if one("framework") else []
    cards += [one("os")] if one("os") else []
    cards += [one("gpus")] if one("gpus") else []
    return {
        "run": run + _also(state, "run", _),
        "money": money + _also(state, "money", _),
        "cards": cards + _also(state, "cards", _) or [_("no further wishes")],
    }


_SUMMED = frozenset(
    "engine optimizer kv_precision attention used_gib data tensor pipeline expert electricity pue "
    "utilisation residual host max_age_days prices needs framework os gpus".split()
)
"""What a summary says in its own words."""


def _also(state: FormState, fold: str, gettext: Gettext) -> list[str]:
    """The other fields of a fold that the question states, by their labels."""
    found = []
    for one in FORM:
        current = state.many(one.name)
        if one.group in MORE[fold] and one.name not in _SUMMED and current != one.shown and current:
            found.append(gettext(one.label))
    return found


def faulty_folds(state: FormState) -> dict[str, bool]:
    """The folds that are to be open, because a field inside is at fault."""
    inside = {one.name: one.group for one in FORM} | {VERSION_OF_FRAMEWORK: "cards_more"}
    inside |= {"family": "run_more", "config": "run_more"}
    groups = {inside.get(name, "") for name in state.errors}
    return {fold: bool(groups & set(more)) for fold, more in MORE.items()}
