"""The one reader of bodies: kinds and ranges of every field, faults by place, nothing that fails."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.fields import Field, Range
from app.core.question_fields import FIELDS
from app.services import maintenance
from app.services.body_faults import number_fault
from app.services.questions import parse_fit, parse_shortlist
from tests.question.faces import example
from tests.question.test_faces import body_with, route_of

DAY = date(2026, 11, 30)
LLAMA = {"model": {"preset": "llama-3.1-8b"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
READ = [one for one in FIELDS if not one.place.startswith("workload.model.")]


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Any:
    with maintenance.open_catalogue(f"sqlite:///{seeded_database}") as found:
        yield found


def read(body: Any, route: str, snapshot: Snapshot) -> Any:
    if route == "fit":
        return parse_fit(body, snapshot, DAY)
    return parse_shortlist(body, snapshot, DAY, titled=route == "comparison")


def faults(body: Any, snapshot: Snapshot, route: str = "shortlist") -> dict[str, str]:
    try:
        read(body, route, snapshot)
    except InputFault as fault:
        return {error.pointer: error.code for error in fault.errors}
    return {}


def wrong(one: Field) -> list[tuple[Any, str]]:
    """Values that a field refuses, and the codes of their faults."""
    found: list[tuple[Any, str]] = []
    if one.kind in ("integer", "number", "fraction"):
        assert one.limits is not None
        found += [("5", "not_a_number"), (True, "not_a_number"), (one.limits.high * 10 + 1, "out_of_range")]
        found += [(math.nan, "not_finite"), (10**400, "out_of_range")]
        if one.limits.integer and one.limits.high > one.limits.low + 1:
            found.append((one.limits.low + 0.5, "not_an_integer"))
    if one.kind in ("choice", "level"):
        found += [("no such word", "unknown_value"), (7, "unknown_value"), ([], "unknown_value")]
    if one.kind in ("flag", "answer"):
        found += [("true", "not_a_boolean"), (1, "not_a_boolean")]
    if one.kind in ("choices", "counts", "cards", "vendors", "frameworks"):
        found += [("rtx4090", "not_a_list"), ([1] * 501, "too_many")]
    if one.kind in ("text", "version", "day", "card"):
        found += [(7, "not_a_text"), ("x" * 300, "too_long"), ("a\x00b", "not_plain_text")]
    if one.kind == "prices":
        found.append(([], "not_an_object"))
    return found


@pytest.mark.parametrize("one", READ, ids=lambda one: one.place)
def test_each_field_is_read_and_what_is_wrong_with_it_is_named(one: Field, snapshot: Snapshot) -> None:
    route = route_of(one)
    card = {"gpu": "rtx4090"} if route == "fit" and one.place != "gpu" else {}
    right = body_with(one, example(one)) | card
    told = faults(right, snapshot, route)
    assert one.pointer not in told, told
    assert one.pointer not in faults(body_with(one, None) | card, snapshot, route) or one.required
    for value, code in wrong(one):
        found = faults(body_with(one, value) | card, snapshot, route)
        assert found.get(one.pointer) == code, (value, found)


@pytest.mark.parametrize(
    ("value", "code"),
    [(5.5, "not_an_integer"), (True, "not_a_number"), ("５", "full_width_digits"), (math.inf, "not_finite")],
)
def test_what_is_wrong_with_a_number(value: Any, code: str) -> None:
    assert number_fault(value, Range(1, 10))[0] == code


def test_what_is_right_beside_a_fault_is_still_read(snapshot: Snapshot) -> None:
    body = {
        "workload": {**LLAMA, "batch_size": 0, "model": {"preset": "no such model"}},
        "counts": [1, "two"],
        "filters": {"gpus": ["rtx4090", "no such card"], "max_power_w": "much", "colour": "red"},
        "budget": {"currency": "USD"},
        "price_overrides": {"no such card either": 5, "rtx4090": -1},
        "wrokload": {},
    }
    assert faults(body, snapshot) == {
        "/workload/model/preset": "unknown_model",
        "/workload/batch_size": "out_of_range",
        "/counts/1": "not_a_number",
        "/filters/max_power_w": "not_a_number",
        "/filters/gpus/1": "unknown_gpu",
        "/filters/colour": "unknown_field",
        "/budget/amount": "required",
        "/price_overrides/no such card either": "unknown_gpu",
        "/price_overrides/rtx4090": "out_of_range",
        "/wrokload": "unknown_field",
    }


def test_null_is_as_good_as_nothing_but_in_a_config(snapshot: Snapshot) -> None:
    nulls = {one.place: body_with(one, None) for one in READ if route_of(one) == "shortlist"}
    plain = parse_shortlist({"workload": LLAMA}, snapshot, DAY).question
    for place, body in nulls.items():
        if not place.startswith(("budget.", "work.", "workload.parallelism")):
            assert parse_shortlist(body, snapshot, DAY).question == plain, place
    config = {"model_type": "llama", "hidden_size": None}
    found = faults({"workload": {"model": {"config": config}}}, snapshot)
    assert found and all(pointer.startswith("/workload/model/config") for pointer in found)


def test_whole_numbers_may_be_written_as_floats(snapshot: Snapshot) -> None:
    body = {"workload": {**LLAMA, "batch_size": 16.0, "max_num_seqs": 64.0}, "counts": [2.0], "limit": 5.0}
    question = parse_shortlist(body, snapshot, DAY).question
    assert (question.workload.batch_size, question.counts, question.limit) == (16, (2,), 5)
    assert type(question.workload.max_num_seqs) is int


def test_whatever_is_sent_is_read_or_refused_and_never_fails(snapshot: Snapshot) -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(one=st.sampled_from(FIELDS), value=JSON, whole=JSON)
    def holds(one: Field, value: Any, whole: Any) -> None:
        for body in (body_with(one, value), whole, {"workload": whole}, {"workload": {"model": whole}}):
            for pointer in faults(body, snapshot, route_of(one)):
                assert pointer == "" or pointer.startswith("/")

    holds()


def test_a_body_is_not_changed_by_reading_it(snapshot: Snapshot) -> None:
    body = {"workload": {**LLAMA, "offload": {"experts": None}}, "filters": {"vendors": ["nvidia"]}}
    before = json.dumps(body)
    parse_shortlist(body, snapshot, DAY)
    assert json.dumps(body) == before
