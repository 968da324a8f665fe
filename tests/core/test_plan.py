"""Which plans are legal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.faults import InputFault
from app.core.plan import counts_to_try, legal_plans
from app.core.resolve import resolve
from app.core.workload import Parallelism, Workload
from tests.core.cards import BERT_LARGE, LLAMA_8B, RESNET_50


def work(model=LLAMA_8B, **fields) -> Workload:
    return resolve(Workload(model, **fields))[0]


def test_degrees_multiply_to_the_count():
    for count in (1, 2, 3, 4, 6, 8, 16):
        for task in ("inference", "training"):
            plans = legal_plans(work(task=task, sequence_length=1024), count)
            assert plans
            assert {p.cards for p in plans} == {count}
            assert len(set(plans)) == len(plans)


def test_tensor_divides_attention_heads():
    # vLLM refuses 3 cards for 32 heads: https://github.com/vllm-project/vllm/issues/5003
    assert {p.tensor for p in legal_plans(work(), 3)} == {1}
    assert {p.tensor for p in legal_plans(work(), 8)} == {1, 2, 4, 8}


def test_tensor_stays_inside_a_host():
    assert max(p.tensor for p in legal_plans(work(), 16)) == 8
    assert max(p.tensor for p in legal_plans(work(), 8, max_cards_per_host=4)) == 4


def test_key_value_heads_do_not_limit_tensor():
    assert Parallelism(1, 16, 1) in legal_plans(work(), 16, max_cards_per_host=16)


def test_images_and_encoders_are_copied_not_split():
    for model in (RESNET_50, BERT_LARGE):
        plans = legal_plans(work(model, task="training", sequence_length=128), 4)
        assert {(p.data, p.tensor, p.pipeline) for p in plans} == {(4, 1, 1)}
        assert {p.zero_stage for p in plans} == {0, 1, 2, 3}


def test_stages_of_sharding_belong_to_data_parallel_training():
    assert all(p.zero_stage == 0 for p in legal_plans(work(), 8))
    training = legal_plans(work(task="training", sequence_length=1024), 8)
    assert all(p.zero_stage == 0 for p in training if p.data == 1)
    assert all(p.zero_stage < 2 for p in training if p.pipeline > 1)


def test_tensorflow_has_no_sharded_optimizer():
    plans = legal_plans(work(RESNET_50, task="training", engine="tensorflow"), 4)
    assert plans == (Parallelism(data=4),)


def test_pipeline_is_at_most_the_layers():
    shallow = replace(LLAMA_8B, layers=2)
    assert max(p.pipeline for p in legal_plans(work(shallow), 8)) == 2


def test_llama_cpp_puts_layers_on_cards():
    plans = legal_plans(work(engine="llama.cpp", precision="gguf-q4_k_m"), 4)
    assert {p.tensor for p in plans} == {1}
    assert Parallelism(pipeline=4) in plans


def test_experts_spread_over_replicas():
    experts = replace(LLAMA_8B, experts=64, experts_per_token=8)
    assert {p.expert for p in legal_plans(work(experts), 8) if p.data == 8} == {1, 8}


def test_a_named_plan_must_occupy_the_count():
    asked = work(parallelism=Parallelism(data=2, tensor=2))
    assert legal_plans(asked, 4) == (Parallelism(data=2, tensor=2),)
    with pytest.raises(InputFault) as fault:
        legal_plans(asked, 8)
    assert [(e.pointer, e.code) for e in fault.value.errors] == [
        ("/workload/parallelism", "plan_does_not_match_count")
    ]


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (Parallelism(tensor=3), "tensor_does_not_divide_heads"),
        (Parallelism(pipeline=64), "pipeline_exceeds_layers"),
        (Parallelism(data=2, expert=4), "expert_exceeds_experts"),
    ],
)
def test_a_named_plan_must_be_legal(plan, code):
    with pytest.raises(InputFault) as fault:
        legal_plans(work(parallelism=plan), plan.cards)
    assert fault.value.errors[0].code == code


def test_counts_follow_a_named_plan():
    asked = work(parallelism=Parallelism(tensor=4))
    assert counts_to_try(asked, (1, 2, 4, 8)) == (4,)
    assert counts_to_try(work(), (8, 1, 8)) == (1, 8)
    with pytest.raises(InputFault, match="plan_does_not_match_count"):
        counts_to_try(asked, (1, 2))
