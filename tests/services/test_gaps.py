"""What the data lack is counted once: the page, the API and the table say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import pytest
from sqlalchemy import Engine

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.services.cards import card_detail, governing
from app.services.data import data_report, report
from app.services.gaps import Gap, gaps, missing_cards, shipped_unjoined, unjoined
from app.web.data_page import COVERAGE, MISSING, UNJOINED, UNJOINED_KIND

DAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = create_engine_from_url(f"sqlite:///{tmp_path_factory.mktemp('gaps') / 'catalog.db'}")
    upgrade(engine)
    load_seed(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def snapshot(shipped: Engine) -> Snapshot:
    return load_snapshot(shipped)


def by_code(found: Iterable[Gap]) -> dict[str, int]:
    return {gap.code: gap.count for gap in found}


def test_page_and_api_count_the_same_gaps(shipped: Engine, snapshot: Snapshot) -> None:
    page = report(snapshot, DAY)
    api = by_code(data_report(shipped, snapshot, DAY, "zh").gaps)
    assert api["no_recent_yuan_price"] == len(page.unpriced)
    assert api["no_recent_yuan_price"] == sum(
        count for code, count in page.coverage.items() if code not in ("fresh", "ageing")
    )
    assert api["no_price"] == page.coverage["none"]
    for part in page.missing:
        assert api.get(f"no_{part.code}", 0) == len(part.cards)


def test_gaps_follow_the_day(snapshot: Snapshot) -> None:
    later = date(2027, 11, 30)
    now = by_code(gaps(snapshot, DAY, snapshot.price_coverage(DAY), 180))
    then = by_code(gaps(snapshot, later, snapshot.price_coverage(later), 180))
    assert then["no_recent_yuan_price"] == len(snapshot.gpus) > now["no_recent_yuan_price"]
    assert then["no_ecc"] == now["no_ecc"]


def test_what_does_not_apply_is_no_gap(snapshot: Snapshot) -> None:
    """A module has no slots and no plug, a consumer card as many coolers as makers, an AMD card no CUDA."""
    missing = {part.code: {card.id for card in part.cards} for part in missing_cards(snapshot)}
    for code in ("slot_width", "power_connector", "cooling"):
        assert {snapshot.gpu(i).form_factor for i in missing[code]} <= {"PCIe card"}
    assert "rtx4090" not in missing["cooling"] and "l40" in missing["cooling"]
    assert {snapshot.gpu(i).vendor for i in missing["driver"]} <= {"NVIDIA"}
    assert "enflame-s60" in missing["sixteen_bit"]


def test_rows_that_do_not_join_are_counted_with_their_reasons(snapshot: Snapshot) -> None:
    found = unjoined(snapshot)
    assert {part.kind for part in found.cards} == set(UNJOINED_KIND)
    for part in found.cards:
        assert part.rows == sum(name.rows for name in part.names)
        counts = [name.rows for name in part.names]
        assert counts == sorted(counts, reverse=True)
    assert found.models.rows == sum(1 for b in snapshot.benchmarks if not b.model_id)
    assert {row["reason"] for row in shipped_unjoined()} <= set(UNJOINED)


def test_every_code_has_words(snapshot: Snapshot) -> None:
    assert {part.code for part in missing_cards(snapshot)} == set(MISSING)
    assert set(snapshot.price_coverage(DAY).values()) <= set(COVERAGE)


def test_remarks_of_a_card(snapshot: Snapshot) -> None:
    remarks = card_detail(snapshot, "rtx4090", DAY, "zh").remarks
    newest = next(r for r in remarks if r.region == "CN")
    assert (newest.kind, newest.from_on, newest.decides) == ("licence required", "2026-01-15", True)
    rule = next(r for r in remarks if r.region == "CN" and r.from_on == "2023-11-16")
    assert rule.kind == "licence required"
    assert "2023-10-17" in rule.text and "规则" in rule.text
    assert rule.source.url.startswith("https://") and rule.read_on == "2026-11-30"
    english = card_detail(snapshot, "rtx4090", DAY, "en").remarks
    assert "total processing performance" in next(r for r in english if r.region == "CN").text.lower()
    decided = governing(snapshot, "rtx4090", "CN", DAY)
    assert decided is not None and decided.status == "licence_required"
    assert governing(snapshot, "rtx4090", "CN", date(2023, 1, 1)) is None


def test_facts_of_a_card(snapshot: Snapshot) -> None:
    facts = card_detail(snapshot, "rtx4090", DAY, "en").facts
    assert facts["driver_min_linux"].value == snapshot.gpu("rtx4090").driver_min_linux == "520.61.05"
    assert facts["driver_min_linux"].basis == "derived" and "CUDA 11.8" in facts["driver_min_linux"].formula
    assert facts["slot_width"].value == "3" and snapshot.gpu("rtx4090").slot_width == 3.0
    assert all(f.source.title and f.as_of for f in facts.values())
