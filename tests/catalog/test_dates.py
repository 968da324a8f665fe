"""The day that an observation counts from."""

from __future__ import annotations

from datetime import date

import pytest

from app.catalog.records import effective_date


@pytest.mark.parametrize(
    ("text", "as_of", "expected"),
    [
        ("2026", None, date(2026, 12, 31)),
        ("2026", date(2026, 3, 1), date(2026, 3, 1)),
        ("2026", date(2026, 1, 1), date(2026, 1, 1)),
        ("2026", date(2025, 12, 31), date(2026, 12, 31)),
        ("2026", date(2027, 6, 1), date(2026, 12, 31)),
        ("2026-02", date(2026, 2, 10), date(2026, 2, 28)),
        ("2026-02-03", date(2026, 1, 10), date(2026, 2, 3)),
        ("", date(2026, 1, 10), None),
    ],
)
def test_a_running_year_counts_from_the_day_asked(
    text: str, as_of: date | None, expected: date | None
) -> None:
    assert effective_date(text, as_of) == expected
