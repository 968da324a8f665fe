"""What the four questions demand: data-centre cards, and no card that tenants share without a partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.decide.asked_needs import parts_tenants
from app.core.decide.options import Shortlist
from app.core.decide.shortlist import rank
from app.core.gpu_table import GpuTable
from app.core.question import SeedQuestions, ShortlistQuestion, Work
from app.core.workload import Parallelism, Workload
from tests.core.cards import ALL_PRICES, BY_ID, HOSTS, LLAMA_8B, RESNET_50

CARDS = (
    replace(BY_ID["a100-pcie-40gb"], mig_instances=7),
    replace(BY_ID["rtx3090"], mig_instances=0),
)
CHAT = Workload(LLAMA_8B, batch_size=4, sequence_length=4096)
P = Parallelism


def ask(asked: Workload = CHAT, **fields: object) -> Shortlist:
    question = ShortlistQuestion(asked, limit=50, **fields)  # type: ignore[arg-type]
    return rank(question, GpuTable.from_gpus(CARDS), CARDS, ALL_PRICES, hosts=HOSTS)


def test_one_card_serves_tenants_only_with_partitions():
    shared = {(o.gpu.id, o.count) for o in ask().options}
    parted = ask(questions=SeedQuestions(tenants=True))
    assert ("rtx3090", 1) in shared and ("a100-pcie-40gb", 1) in shared
    found = {(o.gpu.id, o.count) for o in parted.options}
    assert ("rtx3090", 1) not in found
    assert ("a100-pcie-40gb", 1) in found and ("rtx3090", 2) in found
    for option in parted.options:
        assert option.count == 1 or option.plan.data >= 2, "each tenant has cards of its own"


def test_a_card_without_partitions_says_so_and_offers_no_change():
    answer = ask(counts=(1,), questions=SeedQuestions(tenants=True))
    (refused,) = answer.rejected
    # An empty field is no answer.
    assert (refused.gpu.id, refused.code, refused.text.code) == (
        "rtx3090",
        "feature",
        "rejected_shared_unknown",
    )
    assert refused.remedy is None


@pytest.mark.parametrize(
    ("plan", "task", "parts"),
    [
        (P(1, 2, 1), "inference", False),
        (P(2, 1, 1), "inference", True),
        (P(2, 2, 1), "inference", True),
        (P(1, 1, 1), "inference", True),
        (P(1, 2, 1), "training", True),
    ],
)
def test_a_service_stands_once_for_each_tenant(plan, task, parts):
    assert parts_tenants(plan, replace(CHAT, task=task)) is parts


def test_three_answers_leave_data_centre_cards_alone():
    answer = ask(questions=SeedQuestions(run_over_24h=True, tenants=True, strict_sla=True))
    assert "class_data_centre" in {m.code for m in answer.advice}
    assert {o.gpu.id for o in answer.options} == {"a100-pcie-40gb"}
    (refused,) = answer.rejected
    assert (refused.code, refused.text.code, refused.remedy) == ("feature", "rejected_class", None)


@pytest.mark.parametrize(("epochs", "long"), [(0.1, False), (900, True)])
def test_the_computed_time_answers_for_the_class(epochs, long):
    work = Work(1.28e6 * epochs, "images")
    training = Workload(RESNET_50, task="training", precision="fp16", batch_size=32)
    answer = ask(training, counts=(2,), work=work, questions=SeedQuestions(True, None, True, None))
    assert ("class_data_centre" in {m.code for m in answer.advice}) is long
    assert ("rtx3090" in {o.gpu.id for o in answer.options}) is not long
