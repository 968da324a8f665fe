"""The one adapter: names, figures and texts of an answer as JSON, stored and read again."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from app.core.answer import AnyMap, Figure, OptionLabel, answer
from app.core.estimates import Interval, Message, MessageWithCode
from app.services import answers


@answer(omit=("more_gib",), hide=("inside",), shown=("reason_codes",))
class Example:
    """An answer made for this test."""

    total_cny: Figure
    """Money in all, yuan."""
    need: Interval
    """Memory, GiB."""
    reasons: tuple[Message, ...] = ()
    """Why."""
    flags: tuple[MessageWithCode, ...] = ()
    """What to mind."""
    winner: OptionLabel = ""
    """Label of an option."""
    change: AnyMap | None = None
    """Fields of the request, dotted paths."""
    more_gib: Figure | None = None
    """Memory that may not be known, GiB."""
    inside: int = 0
    """Never shown."""
    currency: str = "CNY"
    """Currency of the answer."""
    rate: answers.DollarRate | None = None
    """Rate of the dollars."""

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """Codes of `reasons`."""
        return tuple(message.code for message in self.reasons)


STALE = Message("stale_price_needed", {"gpus": ["RTX 4090"], "days": 30})
ONE = Example(
    1234.0,
    Interval(1.23456789012, np.float64(2.0), math.inf),
    (STALE,),
    (STALE,),
    "2 × GeForce RTX 4090 (used)",
    {"workload.image_size": (224, np.int64(224)), "budget.amount": 1e6 / 3},
)


def test_an_answer_is_written_with_its_names_whole_numbers_and_nine_digits() -> None:
    body = answers.as_json(ONE, "en")
    assert body["total_cny"] == 1234
    assert isinstance(body["total_cny"], int)
    assert body["need"] == {"low": 1.23456789, "expected": 2, "high": None}
    assert body["change"] == {"workload.image_size": [224, 224], "budget.amount": 333333.333}
    assert "more_gib" not in body
    assert "inside" not in body


def test_the_bytes_are_the_same_answer() -> None:
    assert json.loads(answers.encode(ONE, "zh")) == answers.as_json(ONE, "zh")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_texts_are_said_in_the_language_of_the_reader_and_their_codes_stay_beside_them(language: str) -> None:
    body = answers.as_json(ONE, language)
    said = answers.ReaderIn(language).say(STALE.code, STALE.params)
    assert body["reasons"] == [said]
    assert body["reason_codes"] == ["stale_price_needed"]
    assert body["flags"] == [{"code": "stale_price_needed", "text": said}]
    assert body["winner"] == {"zh": "2 × RTX 4090（二手）", "en": "2 × RTX 4090 (used)"}[language]


def test_what_is_stored_has_codes_and_is_read_again_as_the_same_answer() -> None:
    stored = json.loads(json.dumps(answers.canonical(ONE)))
    assert stored["reasons"] == [{"code": "stale_price_needed", "params": dict(STALE.params)}]
    again = answers.load(Example, stored)
    assert again.reasons == ONE.reasons
    for language in ("zh", "en"):
        assert answers.as_json(again, language) == answers.as_json(ONE, language)
    with pytest.raises(answers.NotAnAnswer):
        answers.load(Example, {"total_cny": 1})


def test_dollars_stand_beside_yuan_at_the_rate_of_the_answer() -> None:

    body = answers.as_json(
        replace(ONE, currency="USD", rate=answers.DollarRate(7.0, "2026-11-30", False)), "en"
    )
    assert body["total_usd"] == pytest.approx(1234 / 7)
    assert "total_usd" not in answers.as_json(ONE, "en")


def test_the_schema_says_what_each_field_means() -> None:
    schema = answers.adapter(Example).json_schema(mode="serialization")
    fields = schema["properties"]
    assert fields["total_cny"]["description"] == "Money in all, yuan."
    assert fields["total_usd"]["description"].startswith("`total_cny` in US dollars")
    assert fields["reason_codes"]["description"] == "Codes of `reasons`."
    assert "inside" not in fields
    assert all(field.get("description") for field in fields.values())
