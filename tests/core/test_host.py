"""Machines around the cards: which class, how many, what of it is bought, network, energy; by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.decide.host import host_grid, host_need
from app.core.decide.shortlist import rank
from app.core.gpu_table import GpuTable
from app.core.question import Economics, Filters, ShortlistQuestion
from app.core.workload import Workload
from tests.core.cards import ALL_PRICES, BY_ID, HOSTS, LLAMA_8B

DEFAULT = Economics()


@pytest.mark.parametrize(
    ("count", "kind", "bought", "cny"),
    [
        (1, "desktop-1", 0, 0),
        (2, "desktop-2", 0, 0),
        (3, "workstation-4", 1, 99_150),
        (4, "workstation-4", 1, 99_150),
        (8, "pcie-server-8", 1, 143_000),
        # Two servers and the network of the second.
        (16, "pcie-server-8", 2, 2 * 143_000 + 175_000),
        (64, "pcie-server-8", 8, 8 * 143_000 + 7 * 175_000),
    ],
)
def test_pcie_cards_go_into_the_cheapest_machines_that_hold_them(
    count: int, kind: str, bought: int, cny: float
) -> None:
    need = host_need(HOSTS, DEFAULT, count, 8, module=False)
    assert need.host is not None
    assert (need.host.code, need.bought, need.cny) == (kind, bought, cny)


def test_a_new_machine_is_bought_for_one_card_where_that_is_asked() -> None:
    assert host_need(HOSTS, Economics(host="new"), 1, 8, module=False).cny == 13_284
    assert host_need(HOSTS, Economics(host="own"), 8, 8, module=False).cny == 0
    assert host_need(HOSTS, Economics(host="own"), 16, 8, module=False).cny == 0


def test_what_is_stated_per_card_counts_for_every_card() -> None:
    need = host_need(HOSTS, Economics(host_cny_per_gpu=3000.0), 4, 8, module=False)
    assert (need.cny, need.bought) == (12_000, 0)


def test_a_server_of_modules_has_its_machine_in_its_price_and_pays_for_the_network() -> None:
    assert host_need(HOSTS, DEFAULT, 8, 8, module=True, included=True).cny == 0
    assert host_need(HOSTS, DEFAULT, 32, 8, module=True, included=True).cny == 3 * 300_000
    stated = Economics(host_cny_per_gpu=5000.0)
    assert host_need(HOSTS, stated, 16, 8, module=True, included=True).cny == 300_000


def test_a_whole_server_with_slots_is_none_with_a_baseboard() -> None:
    need = host_need(HOSTS, DEFAULT, 16, 8, module=False, included=True)
    assert need.host is not None
    assert (need.host.code, need.load_w, need.cny) == ("pcie-server-8", 2 * 1200, 175_000)


def test_fewer_cards_a_machine_take_more_machines() -> None:
    need = host_need(HOSTS, DEFAULT, 8, 4, module=False)
    assert need.host is not None
    # Of workstations no network is priced: two of them are not joined for nothing.
    assert (need.host.code, need.nodes, need.cny) == ("pcie-server-8", 2, 2 * 143_000 + 175_000)


def test_no_machine_holds_more_than_the_largest_class() -> None:
    need = host_need(HOSTS, DEFAULT, 16, 16, module=False)
    assert (need.nodes, need.cny) == (2, 2 * 143_000 + 175_000)


def test_cards_that_no_class_holds_are_said() -> None:
    need = host_need((), DEFAULT, 4, 8, module=False)
    assert (need.host, need.cny, need.use().kind) == (None, 0, "")
    assert host_grid((), DEFAULT, (8,), 8).server_cny == 0


def ask(economics: Economics, count: int = 4, **more: object):  # type: ignore[no-untyped-def]
    gpus = (BY_ID["rtx3090"],)
    question = ShortlistQuestion(
        Workload(LLAMA_8B, batch_size=1, sequence_length=2048),
        counts=(count,),
        filters=Filters(gpus=("rtx3090",)),
        economics=economics,
        **more,  # type: ignore[arg-type]
    )
    (option,) = rank(question, GpuTable.from_gpus(gpus), gpus, ALL_PRICES, hosts=HOSTS).options
    return option


def test_an_option_says_its_machines_and_pays_for_their_power() -> None:
    economics = replace(DEFAULT, months=10, hours_per_month=100, utilisation=0.5, pue=1.0)
    option = ask(economics)
    assert (option.host.kind, option.host.count, option.host.cny) == ("workstation-4", 1, 99_150)
    assert option.outlay_cny == option.cost.purchase_cny + 99_150 == option.cost.outlay_cny
    # 4 x 350 W of cards and 500 W of the machine for 500 h, 180 W for the 500 h in which nothing runs.
    assert option.cost.energy_kwh == pytest.approx((4 * 350 + 500) * 0.5 + 180 * 0.5)


def test_a_machine_that_is_there_costs_nothing_but_its_power() -> None:
    option = ask(replace(DEFAULT, pue=1.0), count=1)
    assert (option.host.kind, option.host.bought, option.cost.host_cny) == ("desktop-1", 0, 0)
    busy, on = 36 * 730 * 0.6, 36 * 730
    assert option.cost.energy_kwh == pytest.approx(((350 + 180) * busy + 70 * (on - busy)) / 1000)
