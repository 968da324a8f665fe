"""Addresses inside the site: the question is in them, so every link can be opened anew and shared."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from app.web.fields import FIELDS, field_of
from app.web.form import FormState, canonical_query


@dataclass(frozen=True, slots=True)
class QuestionLinks:
    """Links of a live answer, or of a frozen one when `comparison` is given."""

    query: str = ""
    comparison: str = ""

    def _with(self, path: str, **extra: Any) -> str:
        own = urlencode({"comparison": self.comparison}) if self.comparison else self.query
        more = urlencode({k: v for k, v in extra.items() if v not in ("", None)})
        joined = "&".join(part for part in (own, more) if part)
        return f"{path}?{joined}" if joined else path

    def explain(self, path: str) -> str:
        """One figure of the answer, opened."""
        # Paths are letters, digits, dots and underscores: nothing to escape, and a page has hundreds of them.
        own = urlencode({"comparison": self.comparison}) if self.comparison else self.query
        return f"/explain?{own}&figure={path}" if own else f"/explain?figure={path}"

    def chart(self, kind: str) -> str:
        """Data of a chart."""
        return self._with(f"/charts/{kind}")

    def panel(self, rank: int) -> str:
        """One option in full."""
        return self._with("/option", rank=rank)

    def csv(self) -> str:
        """The ranking as a table."""
        return self._with("/ranking.csv")

    def page(self, **extra: Any) -> str:
        """The page itself, shown otherwise."""
        if self.comparison:
            more = urlencode({k: v for k, v in extra.items() if v not in ("", None)})
            return f"/c/{self.comparison}" + (f"?{more}" if more else "")
        return self._with("/", **extra)


@dataclass(frozen=True, slots=True)
class GpuLinks:
    """Links of a card's page."""

    gpu: str

    def explain(self, path: str) -> str:
        """One figure of the card, opened."""
        return "/explain?" + urlencode({"gpu": self.gpu, "figure": path})


_WORDS = {True: "yes", False: "no"}


def changed_query(state: FormState, change: dict[str, Any], family: str) -> str | None:
    """The question with a remedy's change put in; None when the form has no field for it."""
    values = dict(state.values)
    for dotted, value in change.items():
        pointer = "/" + dotted.strip("/").replace(".", "/")
        if pointer == "/workload/model":
            return None
        if pointer in ("/count", "/counts"):
            values["counts"] = (str(value),)
            continue
        if pointer == "/workload/parallelism" and isinstance(value, dict):
            for name in ("data", "tensor", "pipeline", "zero_stage"):
                if value.get(name):
                    values[name] = (str(value[name]),)
            continue
        name = field_of(pointer)
        if not name or FIELDS[name].pointer != pointer:
            return None
        if isinstance(value, bool):
            text = _WORDS[value]
            values[name] = (text,) if FIELDS[name].kind != "flag" else (("1",) if value else ())
        elif isinstance(value, list):
            values[name] = tuple(str(v) for v in value)
        else:
            values[name] = (f"{value:g}" if isinstance(value, float) else str(value),)
    return canonical_query(replace(state, values=values), family=family)


def form_query(question: dict[str, Any]) -> str:
    """The form's address for a request body, as far as the form can ask it."""
    work = dict(question.get("workload", {}))
    model = work.pop("model", {})
    values: dict[str, tuple[str, ...]] = {field.name: field.default for field in FIELDS.values()}
    if "preset" in model:
        values["model"] = (str(model["preset"]),)
    elif "config" in model:
        values["config"] = (json.dumps(model["config"], ensure_ascii=False),)
    elif "parameters" in model:
        values["model"] = (f"{float(model['parameters']) / 1e6:g}M",)
        values["family"] = (str(model.get("family", "decoder")),)
    for spec in FIELDS.values():
        at: Any = {**question, "workload": work}
        for part in spec.pointer.strip("/").split("/"):
            at = at.get(part) if isinstance(at, dict) else None
        if at is None or spec.name in ("model", "family", "config", "as_of"):
            continue
        if spec.name == "framework_version":
            continue
        values[spec.name] = _texts(spec.name, spec.kind, at)
    return canonical_query(FormState(values, frozenset()))


def _texts(name: str, kind: str, value: Any) -> tuple[str, ...]:
    if name == "prices":
        return ("\n".join(f"{gpu} = {price:g}" for gpu, price in value.items()),)
    if name == "counts":
        return (", ".join(str(count) for count in value),)
    if name == "image_size":
        return ("x".join(f"{side:g}" for side in (value if isinstance(value, list) else [value])),)
    if kind == "percent":
        return (f"{100 * value:g}",)
    if kind == "flag":
        return ("1",) if value else ()
    if isinstance(value, bool):
        return (_WORDS[value],)
    if isinstance(value, list):
        return tuple(str(v) for v in value) if kind == "many" else (str(value[0]) if value else "",)
    return (f"{value:.12g}" if isinstance(value, float) else str(value),)
