"""The strict reader of JSON objects."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.faults import InputFault
from app.core.workload import Range
from app.services.fields import Fields

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(value: Any, kind: str, **options: Any) -> tuple[Any, list[str]]:
    fields = Fields.root({"x": value})
    found = getattr(fields, kind)("x", **options)
    return found, [e.code for e in fields.errors]


@pytest.mark.parametrize(
    ("value", "found", "codes"),
    [
        (5, 5.0, []),
        (5.0, 5.0, []),
        (7e0, 7.0, []),
        (5.5, None, ["not_an_integer"]),
        (True, None, ["not_a_number"]),
        ("5", None, ["not_a_number"]),
        (math.nan, None, ["not_finite"]),
        (math.inf, None, ["not_finite"]),
        (11, None, ["out_of_range"]),
        (10**500, None, ["out_of_range"]),
        (None, None, []),
    ],
)
def test_numbers(value: Any, found: float | None, codes: list[str]) -> None:
    assert read(value, "number", limits=Range(1, 10)) == (found, codes)


def test_required_and_unknown_fields_are_both_named() -> None:
    fields = Fields.root({"a": 1, "b": None, "c~/d": 2})
    fields.text("b", required=True)
    with pytest.raises(InputFault) as caught:
        fields.finish()
    assert [(e.pointer, e.code) for e in caught.value.errors] == [
        ("/b", "required"),
        ("/a", "unknown_field"),
        ("/c~0~1d", "unknown_field"),
    ]


@given(JSON)
def test_whatever_is_sent_is_read_or_noted_and_never_fails(value: Any) -> None:
    for kind, options in (
        ("number", {"limits": Range(0, 10, integer=False)}),
        ("integer", {"limits": Range(0, 10)}),
        ("boolean", {}),
        ("text", {}),
        ("day", {}),
        ("choice", {"allowed": ("a", "b")}),
        ("choices", {"allowed": ("a", "b")}),
        ("object", {}),
    ):
        found, codes = read(value, kind, **options)
        assert found is None or not codes or kind == "choices"
        for code in codes:
            assert code
