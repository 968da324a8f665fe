"""Rent as options of the list: whole instances, hours or months, what ranks and what is recommended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.decide.renting import RentOffer
from app.core.decide.shortlist import rank
from app.core.gpu import PriceChoice
from app.core.gpu_table import GpuTable
from app.core.question import Budget, Economics, Filters, ShortlistQuestion, Work
from app.core.workload import Workload
from tests.core.cards import ALL_PRICES, BY_ID, HOSTS, LLAMA_8B

CARD = BY_ID["rtx4090"]
JOB = Workload(
    LLAMA_8B, task="qlora", precision="nf4", batch_size=1, sequence_length=1024, gradient_checkpointing=True
)
CHAT = Workload(LLAMA_8B, batch_size=8, sequence_length=2048, output_length=256.0)
DAY_RATE = 2.0


def offer(cny_per_hour: float, cards: int = 1) -> RentOffer:
    price = replace(
        ALL_PRICES[CARD.id, "new"],
        condition="rented",
        per="gpu_hour",
        amount=cny_per_hour,
        amount_cny=cny_per_hour,
        low_cny=cny_per_hour,
        expected_cny=cny_per_hour,
        high_cny=cny_per_hour,
        channel="cloud",
        evidence="current",
    )
    assert isinstance(price, PriceChoice)
    return RentOffer(price, cards)


RENTS = {(CARD.id, "rent_on_demand"): offer(DAY_RATE, 4), (CARD.id, "rent_monthly"): offer(1.5)}


def ask(run: Workload, **fields: object):  # type: ignore[no-untyped-def]
    known = {"limit": 50, "filters": Filters(gpus=(CARD.id,)), "counts": (1, 2), **fields}
    return rank(
        ShortlistQuestion(run, **known),  # type: ignore[arg-type]
        GpuTable.from_gpus((CARD,)),
        (CARD,),
        ALL_PRICES,
        hosts=HOSTS,
        rents=RENTS,
    )


def by_way(answer, count: int = 1):  # type: ignore[no-untyped-def]
    return {o.acquisition: o for o in answer.options if o.count == count}


def test_a_service_is_rented_for_its_hours_or_for_whole_months() -> None:
    frame = Economics(months=10, hours_per_month=700, utilisation=0.1)
    found = by_way(ask(CHAT, economics=frame))
    # An instance holds four cards: one of them costs what four do.
    assert found["rent_on_demand"].cost.total_cny == pytest.approx(4 * DAY_RATE * 10 * 700 * 0.1)
    assert found["rent_monthly"].cost.total_cny == pytest.approx(1.5 * 10 * 700)
    for way in ("rent_on_demand", "rent_monthly"):
        cost = found[way].cost
        assert cost.purchase_cny == cost.host_cny == cost.energy_cny == cost.residual_cny == 0
        assert found[way].outlay_cny == 0 and found[way].host is None
        assert found[way].metrics.peak_tflops_per_1000_cny is None
        assert cost.per_hour_cny == pytest.approx(cost.total_cny / 700)


def test_a_job_is_rented_for_its_hours_and_by_the_month_rounded_up() -> None:
    frame = Economics(hours_per_month=700)
    found = by_way(ask(JOB, work=Work(70.0, "hours"), economics=frame))
    assert found["rent_on_demand"].cost.total_cny == pytest.approx(4 * DAY_RATE * 70)
    assert found["rent_monthly"].cost.total_cny == pytest.approx(1.5 * 700)


@pytest.mark.parametrize("ways", [("buy",), ("rent_monthly",), ("buy", "rent_on_demand")])
def test_the_asker_chooses_how_to_acquire(ways: tuple[str, ...]) -> None:
    filters = Filters(gpus=(CARD.id,), acquisition=ways)
    assert {o.acquisition for o in ask(CHAT, filters=filters).options} == set(ways)


def test_a_rent_over_the_term_stays_inside_the_budget() -> None:
    frame = Economics(months=10, hours_per_month=700, utilisation=1.0)
    ways = by_way(ask(CHAT, economics=frame, budget=Budget(20_000.0)))
    assert "rent_monthly" in ways and "rent_on_demand" not in ways


@pytest.mark.parametrize("objective", ["purchase", "tflops_per_yuan", "power"])
def test_what_has_no_purchase_has_no_place_by_it(objective: str) -> None:
    assert {o.acquisition for o in ask(CHAT, objective=objective).options} == {"buy"}


def test_a_limit_on_power_is_not_for_cards_elsewhere() -> None:
    filters = Filters(gpus=(CARD.id,), max_power_w=100.0)
    assert {o.acquisition for o in ask(CHAT, filters=filters).options} == {"rent_on_demand", "rent_monthly"}
