"""One price opened: what a supplier wrote beside what counts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app.catalog.snapshot import Snapshot
from app.texts.language import translations
from app.web.answer_tables import Words
from app.web.explain import Explanation, explain_answer
from app.web.formatting import Formats
from app.web.money import Money
from tests.web.sample_payload import sample_answer, sample_body


def words_in(language: str) -> Words:
    text = translations(language).gettext
    # No figure of these names a card.
    return Words(text, Formats(language, text), Money(language), cast("Snapshot", None))


def opened(language: str, **changes: Any) -> Explanation:
    body = sample_body()
    body["options"][0]["price"] |= changes
    found = explain_answer(sample_answer(body), "options.0.price.amount_cny", words_in(language))
    assert found is not None
    return found


MOVED = {
    "amount": 19_436.0,
    "amount_cny": 19_436.0,
    "stated_amount": 17_200.0,
    "stated_tax": "excluded",
    "tax_rate": 0.13,
    "tax_rate_assumed": True,
}


def test_a_quote_on_another_tax_basis_shows_what_was_written() -> None:
    found = opened("en", **MOVED)
    facts = {fact.term: fact.text for fact in found.facts}
    assert facts["As quoted"].startswith("17,200.00 CNY")
    assert facts["Tax rate"].startswith("13") and "assumed" in facts["Tax rate"]
    assert found.basis == "derived"
    chinese = {fact.term: fact.text for fact in opened("zh", **MOVED).facts}
    assert "不含税" in chinese["报价所写"] and "假定" in chinese["税率"]


def test_a_quote_as_written_says_no_more() -> None:
    found = opened("en")
    assert not {"As quoted", "Tax rate"} & {fact.term for fact in found.facts}
    assert found.basis == "exact"


@pytest.mark.parametrize(("kind", "words"), [("quote", "lowest of 3"), ("observation", "median of 3")])
def test_several_quotes_are_no_median(kind: str, words: str) -> None:
    found = opened("en", kind=kind, n=3, high_cny=31_000.0)
    assert any(words in fact.text for fact in found.facts)


def test_the_basis_of_a_sum_is_that_of_its_weakest_part() -> None:
    words = words_in("en")
    for small in ("assumed", "calibrated"):
        body = sample_body()
        parts = body["options"][0]["memory"]["parts"]
        for part in parts:
            part["basis"] = "exact"
        # However little of the whole it is.
        parts[-1] |= {"gib": 0.001, "basis": small}
        found = explain_answer(sample_answer(body), "options.0.memory.per_gpu_gib.expected", words)
        assert found is not None and found.basis == small
        parts[-1]["gib"] = 0.0
        found = explain_answer(sample_answer(body), "options.0.memory.per_gpu_gib.expected", words)
        assert found is not None and found.basis == "exact"
