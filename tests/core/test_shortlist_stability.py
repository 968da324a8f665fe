"""The order does not depend on the order of the input, and small changes do not turn it over."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.decide.shortlist import rank
from app.core.gpu_table import GpuTable
from app.core.question import OBJECTIVES, Filters, ShortlistQuestion
from app.core.workload import Workload
from tests.core.cards import ALL_PRICES, GPUS, LLAMA_8B, RESNET_50, price

WORKS = (
    Workload(RESNET_50, task="training", precision="fp16", batch_size=32),
    Workload(LLAMA_8B, batch_size=4, sequence_length=4096),
)


def places(question, gpus, prices):
    answer = rank(question, GpuTable.from_gpus(gpus), gpus, prices)
    options = [
        (o.gpu.id, o.count, o.condition, o.plan, o.cost.total_cny, o.speed.expected) for o in answer.options
    ]
    return options, [(r.gpu.id, r.count, r.code) for r in answer.rejected], answer.pareto


@settings(max_examples=30, deadline=None)
@given(
    order=st.permutations(range(len(GPUS))),
    counts=st.permutations([1, 2, 4]),
    objective=st.sampled_from(OBJECTIVES),
    work=st.sampled_from(WORKS),
)
def test_permuting_the_input_changes_nothing(order, counts, objective, work):
    plain = ShortlistQuestion(work, counts=(1, 2, 4), objective=objective, limit=50)
    shuffled = replace(plain, counts=tuple(counts))
    gpus = tuple(GPUS[i] for i in order)
    prices = dict(reversed(ALL_PRICES.items()))
    assert places(shuffled, gpus, prices) == places(plain, GPUS, ALL_PRICES)


@settings(max_examples=25, deadline=None)
@given(
    gpu_id=st.sampled_from([g.id for g in GPUS]),
    factor=st.floats(1.01, 5.0),
    objective=st.sampled_from(["total_cost", "purchase", "tflops_per_yuan"]),
)
def test_a_dearer_card_never_climbs(gpu_id, factor, objective):
    question = ShortlistQuestion(WORKS[0], counts=(1, 2), objective=objective, limit=50)
    dearer = dict(ALL_PRICES)
    dearer[gpu_id, "new"] = price(gpu_id, ALL_PRICES[gpu_id, "new"].amount_cny * factor)

    def place(prices):
        options = places(question, GPUS, prices)[0]
        return {(g, n): i for i, (g, n, *_) in enumerate(options) if g == gpu_id}

    before, after = place(ALL_PRICES), place(dearer)
    assert all(after[key] >= before[key] for key in before)


@settings(max_examples=20, deadline=None)
@given(amount=st.integers(1000, 50_000), objective=st.sampled_from(["total_cost", "purchase"]))
def test_equal_offers_stand_by_margin_then_power_then_name(amount, objective):
    twin = replace(GPUS[1], id="a-twin", name="A twin")
    gpus = (GPUS[1], twin)
    prices = {(g.id, "new"): price(g.id, amount) for g in gpus}
    question = ShortlistQuestion(WORKS[0], counts=(1,), objective=objective)
    for order in (gpus, gpus[::-1]):
        assert [o[0] for o in places(question, order, prices)[0]] == ["a-twin", "rtx3090"]
    roomier = replace(twin, id="z-twin", name="Z twin", usable_gib=23.8)
    prices["z-twin", "new"] = price("z-twin", amount)
    found = places(question, (*gpus, roomier), prices)[0]
    assert [o[0] for o in found] == ["z-twin", "a-twin", "rtx3090"]


def test_asking_twice_gives_the_same_answer():
    question = ShortlistQuestion(WORKS[1], limit=5)
    table = GpuTable.from_gpus(GPUS)
    first = rank(question, table, GPUS, ALL_PRICES, seed=7)
    assert first == rank(question, table, GPUS, ALL_PRICES, seed=7)


def test_cards_that_are_not_asked_for_do_not_change_the_rest():
    question = ShortlistQuestion(WORKS[1], filters=Filters(gpus=("rtx4090", "h100-sxm5-80gb")), limit=50)
    alone = tuple(g for g in GPUS if g.id in question.filters.gpus)
    assert places(question, GPUS, ALL_PRICES) == places(question, alone, ALL_PRICES)
