"""Which remark on availability decides: rules and trade are two questions, each answered by its newest."""

from __future__ import annotations

from datetime import date

import pytest

from app.catalog.columns.cells import FACTS, FORM_FACTORS
from app.catalog.records import REMARKS, Availability, deciding, governing_first, remarks_for
from app.catalog.seed import read_seed
from app.catalog.snapshot import Snapshot
from app.core.decide.availability import CONDITIONAL, NOT_ON_SALE, OPEN, RESTRICTED, barred
from app.core.gpu_table import GpuTable
from app.resources import resource_path
from app.services.store import availability
from app.texts.words import FORM_FACTOR as FORM
from app.web.card_page import COOLING, FACT, NOT_A_CARD
from app.web.wording import AVAILABILITY, AVAILABILITY_SHORT
from tests.catalog.samples import SOURCE


def remark(status: str, from_on: str, until_on: str = "", region: str = "CN") -> Availability:
    return Availability("rtx4090", region, from_on, status, "said", SOURCE, until_on)


def test_that_a_card_has_left_the_shops_does_not_lift_its_export_rule() -> None:
    rule, end = remark("licence_required", "2023-11-16"), remark("discontinued", "2024-10")
    assert governing_first([end, rule]) == (rule, end)
    assert governing_first([rule, end]) == (rule, end)


def test_a_newer_rule_replaces_an_older_one_but_not_the_word_on_the_trade() -> None:
    asked, given = remark("licence_required", "2025-04-09"), remark("licensed", "2025-07-14")
    end = remark("discontinued", "2025-08-22")
    assert deciding([asked, given, end]) == (end, given)
    assert governing_first([asked, given, end]) == (end, given, asked)


def test_what_speaks_against_buying_stands_before_what_does_not() -> None:
    sold, stop = remark("on_sale", "2025-08-12"), remark("restricted", "2025-05-08")
    assert governing_first([sold, stop])[0] is stop


@pytest.mark.parametrize(
    ("from_on", "until_on", "day", "holds"),
    [
        ("2025-04-09", "", "2025-04-08", False),
        ("2025-04-09", "", "2025-04-09", True),
        ("2025-04", "2025-07", "2025-07-31", True),
        ("2025-04", "2025-07", "2025-08-01", False),
        ("2024", "2024", "2024-12-31", True),
        ("", "", "2020-01-01", True),
    ],
)
def test_months_and_years_hold_from_their_first_to_their_last_day(
    from_on: str, until_on: str, day: str, holds: bool
) -> None:
    assert remark("restricted", from_on, until_on).holds_on(day) is holds


def test_what_ends_the_trade_everywhere_ends_it_in_each_region_and_a_rule_does_not_travel() -> None:
    end, rule = (
        remark("discontinued", "2024-10", region="global"),
        remark("restricted", "2024", region="global"),
    )
    available = {("rtx4090", "global"): (rule, end)}
    assert remarks_for(available, "rtx4090", "US") == (end,)
    assert remarks_for(available, "rtx4090", "global") == (rule, end)


def rejected_in_china(snapshot: Snapshot, day: date) -> set[str]:
    table = GpuTable.from_gpus(snapshot.gpus)
    found = barred(table, snapshot.gpus, "CN", availability(snapshot, day))
    return {gpu.id for gpu, what in zip(snapshot.gpus, found.tolist(), strict=True) if what != OPEN}


def test_the_filter_follows_the_dates(shipped_snapshot: Snapshot) -> None:
    """The RTX 4090 could be sold to China until 2023-11-16, the RTX 5090 D until 2025-05-08."""
    before = rejected_in_china(shipped_snapshot, date(2023, 11, 15))
    today = rejected_in_china(shipped_snapshot, date(2026, 11, 30))
    assert "a100-sxm4-80gb" in before and not {"rtx4090", "a800-sxm4-80gb", "rtx5090d"} & before
    assert {"rtx4090", "a800-sxm4-80gb", "h800-sxm5-80gb", "l40s", "b200-sxm", "rtx5090d"} <= today
    assert not {"l20", "rtx4090d", "rtx3090", "ascend-910b3", "metax-c500-pcie", "rtx5080"} & today
    assert "h20-96gb" in rejected_in_china(shipped_snapshot, date(2025, 5, 1))
    assert "h20-96gb" not in rejected_in_china(shipped_snapshot, date(2025, 7, 20))


def test_what_was_worked_out_from_thresholds_never_rejects(shipped_snapshot: Snapshot) -> None:
    today = rejected_in_china(shipped_snapshot, date(2026, 11, 30))
    known = availability(shipped_snapshot, date(2026, 11, 30))
    derived = {
        gpu_id
        for (gpu_id, region), facts in known.items()
        if region == "CN" and all(f.basis == "derived" for f in facts if f.region == "CN")
    }
    assert {"mi300x", "gh200-96gb", "rtx-pro-6000-bw-ws"} <= derived and not derived & today


def test_the_newest_that_was_read_wins(shipped_snapshot: Snapshot) -> None:
    """The RTX 5090 was restricted in January 2025 and stood in the shops again in September 2026."""
    assert "rtx5090" in rejected_in_china(shipped_snapshot, date(2026, 3, 1))
    assert "rtx5090" not in rejected_in_china(shipped_snapshot, date(2026, 11, 30))


def test_every_status_has_a_kind_and_words() -> None:
    assert set(REMARKS) == set(AVAILABILITY) == set(AVAILABILITY_SHORT)
    assert set(REMARKS.values()) == {
        "restricted",
        "licence required",
        "discontinued",
        "not sold",
        "sold",
        "announced",
        "support ends",
    }
    assert set(RESTRICTED) & set(REMARKS) == {"licence_required", "not_permitted", "restricted"}
    assert {*CONDITIONAL, *NOT_ON_SALE} <= set(REMARKS)


def test_every_fact_and_form_has_words() -> None:
    assert set(FACTS) == set(FACT)
    assert set(FORM_FACTORS) == set(FORM) and set(NOT_A_CARD) < set(FORM)
    assert set(FACTS["cooling"].split("|")) == set(COOLING)


def test_remarks_are_dated_sourced_and_in_two_languages() -> None:
    data = read_seed(resource_path("seed_data"))
    rows = data["availability.csv"]
    assert len(rows) >= 80
    assert all(row["from_on"] and row["text"] and row["text_zh"] and row["source_id"] for row in rows)
    assert {row["region"] for row in rows} >= {"CN", "HK", "US", "EU", "global"}
    # A translation that says another date or number is no translation.
    for row in rows:
        digits = [{c for c in text if c.isdigit()} for text in (row["text"], row["text_zh"])]
        assert bool(digits[0]) == bool(digits[1]), row["text"]
