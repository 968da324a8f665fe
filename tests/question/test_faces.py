"""Each field of the table stands in the body, OpenAPI, form, address, command line, labels and documents."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from app.commands import question as flags
from app.core import question
from app.core.fields import Field, declared, fields_of
from app.core.question import Filters
from app.core.question_fields import BY_PLACE, FIELDS
from app.services.bodies import bodies_of
from app.texts.language import translations
from app.texts.words import label
from app.web import fields as shown
from app.web import form
from tests.conftest import ROOT
from tests.question.faces import documented, example, with_table

DOCUMENT = ROOT / "docs" / "api.md"
MODEL = "workload.model."
LLAMA = {"preset": "llama-3.1-8b"}


def body_with(one: Field, value: Any) -> dict[str, Any]:
    """The smallest body that states a field."""
    body: dict[str, Any] = {"workload": {"model": LLAMA}}
    if one.place.startswith("budget."):
        body["budget"] = {"amount": 5}
    if one.place.startswith("work."):
        body["work"] = {"amount": 5}
    at = body
    *parents, last = one.place.split(".")
    for part in parents:
        at = at.setdefault(part, {})
    at[last] = value
    return body


def route_of(one: Field) -> str:
    return {"gpu": "fit", "count": "fit", "title": "comparison"}.get(one.place, "shortlist")


def missing_in_bodies(fields: Sequence[Field]) -> Iterator[str]:
    made = bodies_of(fields)
    for one in fields:
        if one.place.startswith(MODEL):
            continue
        body = body_with(one, example(one)) | ({"gpu": "l20"} if one.place == "count" else {})
        model: Any = made.of(route_of(one)).model_validate(body)  # type: ignore[arg-type]
        schema = made.of(route_of(one)).model_json_schema()  # type: ignore[arg-type]
        at = model
        for part in one.place.split("."):
            at = getattr(at, part)
            schema = _inside(schema, part)
        if at is None or schema.get("description") != one.help:
            yield one.place


def _inside(schema: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"][name]
    for option in (found, *found.get("anyOf", ())):
        if "$ref" in option:
            definitions = schema["$defs"]
            return {**definitions[option["$ref"].rsplit("/", 1)[1]], "$defs": definitions}
    return {**found, "$defs": schema.get("$defs", {})}


def missing_in_form(fields: Sequence[Field]) -> Iterator[str]:
    state = form.read_form([])
    groups = shown.controls(state, "", ("NVIDIA",), {}, str, fields)
    drawn = {control.name for group in groups.values() for control in group} | {"model"}
    for one in fields:
        if one.group not in ("", "table") and one.name not in drawn:
            yield one.place


def missing_in_address(fields: Sequence[Field]) -> Iterator[str]:
    for one in fields:
        if one.group in ("", "table") or one.place.startswith(MODEL) or one.kind == "day":
            continue
        task = one.tasks[-1]
        body = body_with(one, example(one))
        body["workload"].setdefault("task", task)
        query = form.form_query(body)
        again, faults = form.build_request(form.read_form(_pairs(query)))
        at: Any = again
        for part in one.place.split("."):
            at = at.get(part) if isinstance(at, dict) else None
        if faults or at != example(one):
            yield f"{one.place}: {query}"


def _pairs(query: str) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl

    return parse_qsl(query, keep_blank_values=True)


def missing_in_flags(fields: Sequence[Field]) -> Iterator[str]:
    parser = argparse.ArgumentParser()
    flags.add_workload(parser, fields)
    flags.add_card(parser, fields)
    flags.add_shortlist(parser, fields)
    said = parser.format_help()
    for one in fields:
        if one.place == "title":
            continue
        if not re.search(rf"(^|\s){re.escape(flags.option_of(one))}\b", said):
            yield one.place


FACES = (missing_in_bodies, missing_in_form, missing_in_address, missing_in_flags)


@pytest.mark.parametrize("missing", FACES, ids=lambda face: face.__name__.removeprefix("missing_in_"))
def test_every_field_has_this_face(missing: Any) -> None:
    assert list(missing(FIELDS)) == []


def test_every_field_is_in_the_documents() -> None:
    """Renew with: python -m tests.question.test_faces"""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_table(text, FIELDS) == text


def test_every_field_has_label_and_help_in_both_languages() -> None:
    chinese = translations("zh").gettext
    for one in FIELDS:
        assert one.label and one.help.endswith("."), one.place
        assert chinese(one.help) != one.help, one.place
        if one.told:
            assert label("assumed_field", one.key, str) == (one.title or one.label)


def test_names_of_form_and_flags_are_their_own() -> None:
    names = [one.name for one in FIELDS if one.group]
    options = [flags.option_of(one) for one in FIELDS]
    assert len(names) == len(set(names)) and len(options) == len(set(options))
    wanted = {"model", "gpus", "batch_size", "sequence_length", "latency_limit_ms", "budget", "work"}
    assert wanted <= set(names)


@dataclass(frozen=True)
class WithChiller(Filters):
    """The filters with a made-up field: this one declaration is all that its faces need."""

    chiller_kw: float | None = declared(
        None,
        "number",
        "Chiller",
        "Heat that the room can carry away.",
        limits=question.Range(1, 500, integer=False),
        unit="kW",
        group="cards_more",
        hint="any",
    )


@pytest.fixture
def with_made_up_field(monkeypatch: pytest.MonkeyPatch) -> tuple[Field, ...]:
    """The table with one field more."""
    (made_up,) = (one for one in fields_of(WithChiller, "filters") if one.key == "chiller_kw")
    fields = (*FIELDS, made_up)
    shown_fields = (*form.FORM, made_up)
    monkeypatch.setattr(form, "FORM", shown_fields)
    monkeypatch.setattr(form, "BY_NAME", {one.name: one for one in shown_fields})
    monkeypatch.setattr(form, "NAMES", form.NAMES | {made_up.name})
    monkeypatch.setattr(form, "BY_PLACE", {**BY_PLACE, made_up.place: made_up})
    return fields


def test_a_made_up_field_has_every_face(with_made_up_field: tuple[Field, ...]) -> None:
    fields = with_made_up_field
    for missing in FACES:
        assert list(missing(fields)) == []
    control = shown.controls(form.read_form([]), "", (), {}, str, fields)["cards_more"][-1]
    assert (control.name, control.label, control.unit) == ("chiller_kw", "Chiller", "kW")
    body, _ = form.build_request(form.read_form([("chiller_kw", "12.5")]))
    assert body["filters"] == {"chiller_kw": 12.5}
    parser = argparse.ArgumentParser()
    flags.add_workload(parser, fields)
    flags.add_shortlist(parser, fields)
    assert flags.body_of(parser.parse_args(["--chiller-kw", "12.5"]), fields)["filters"] == body["filters"]
    assert "| `filters.chiller_kw` | 1 to 500 kW |" in documented(fields)


def test_a_face_that_lacks_a_field_is_found(with_made_up_field: tuple[Field, ...]) -> None:
    parser = argparse.ArgumentParser()
    flags.add_workload(parser, FIELDS)
    flags.add_card(parser, FIELDS)
    flags.add_shortlist(parser, FIELDS)
    assert "--chiller-kw" not in parser.format_help()
    made = bodies_of(FIELDS).shortlist
    with pytest.raises(ValueError, match="chiller_kw"):
        made.model_validate(body_with(with_made_up_field[-1], 3))


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8"), FIELDS), encoding="utf-8")
