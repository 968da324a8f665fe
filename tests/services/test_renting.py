"""Renting against buying: which rent counts, and when buying pays off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from app.catalog.snapshot import Snapshot
from app.core.decide.options import Cost, PerUnit, Rent
from app.core.model.architecture import ModelArchitecture
from app.core.question import Economics, ShortlistQuestion
from app.core.workload import Task, Workload
from app.services.calculator import shortlist
from app.services.maintenance import open_catalogue
from app.services.option_evidence import rent_that_counts, renting

DAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


def rent_of_two(
    snapshot: Snapshot, economics: Economics, work_hours: float | None = None, task: Task = "inference"
) -> Rent | None:
    per_unit = PerUnit(1.0, "million_tokens")
    cost = Cost(
        30_000.0, 6_000.0, 3_600.0, 0.0, 39_600.0, 1.0, per_unit, 4_500.0, economics.months, work_hours
    )
    model = ModelArchitecture(name="8B", family="decoder", parameters=8e9, active_parameters=8e9)
    question = ShortlistQuestion(Workload(model=model, task=task), economics=economics)
    return renting("rtx4090", 2, cost, question, snapshot, DAY)


def test_the_newest_hourly_rent_in_yuan_counts(snapshot: Snapshot) -> None:
    found = rent_that_counts(snapshot, "rtx4090", DAY, 180)
    assert found is not None
    row, day = found
    same = [r for r in snapshot.rentals if r.gpu_id == "rtx4090" and not r.held]
    assert (row.currency, row.billing) == ("CNY", "on-demand") and day <= DAY
    rivals = [r for r in same if (r.currency, r.billing) == ("CNY", "on-demand")]
    assert row.observed_on[:7] == max(r.observed_on[:7] for r in rivals)


def test_a_rent_of_the_future_does_not_count(snapshot: Snapshot) -> None:
    found = rent_that_counts(snapshot, "rtx4090", date(2026, 8, 1), 180)
    assert found is not None and found[1] <= date(2026, 8, 1)
    assert rent_that_counts(snapshot, "rtx4090", date(2010, 1, 1), 180) is None
    assert rent_that_counts(snapshot, "no-such-card", DAY, 180) is None


def test_buying_pays_off_when_the_rent_saved_has_paid_for_it(snapshot: Snapshot) -> None:
    economics = Economics(months=36, hours_per_month=730, utilisation=0.5)
    rent = rent_of_two(snapshot, economics)
    assert rent is not None and rent.hours_per_month == pytest.approx(365.0), "half of the hours are rented"
    assert rent.monthly_cny == pytest.approx(2 * 365.0 * rent.per_gpu_hour_cny)
    assert rent.total_cny == pytest.approx(36 * rent.monthly_cny)
    # 30,000 for the cards and 6,000 for the host against the rent less 100 yuan of electricity a month.
    assert rent.break_even_month == pytest.approx(36_000 / (rent.monthly_cny - 100.0))


def test_given_work_says_how_many_hours_are_rented(snapshot: Snapshot) -> None:
    economics = Economics(months=36)
    served = rent_of_two(snapshot, economics, 100.0)
    trained = rent_of_two(snapshot, economics, 360.0, "training")
    assert served is not None and served.hours_per_month == 100.0, "serving: the hours of each month"
    assert trained is not None and trained.hours_per_month == pytest.approx(10.0), (
        "training: once in the term"
    )
    idle = rent_of_two(snapshot, economics, 0.001)
    assert idle is not None and idle.break_even_month is None, "the rent saved does not pay the electricity"


def test_each_option_carries_its_rent(snapshot: Snapshot) -> None:
    workload = {
        "model": {"preset": "qwen3-14b"},
        "precision": "bf16",
        "batch_size": 8,
        "sequence_length": 8192,
    }
    body = {"workload": workload, "filters": {"gpus": ["rtx4090", "rtx3090"]}, "as_of": DAY.isoformat()}
    options = shortlist(body, snapshot, DAY).options
    assert {o.gpu.id for o in options} == {"rtx4090", "rtx3090"}
    for each in options:
        assert each.rental is not None and each.rental.currency == "CNY"
        assert each.rental.source is not None and each.rental.source.title
