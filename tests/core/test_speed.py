"""The speed model against published figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.formats import format_of
from app.core.gpu_table import GpuTable, card_class, compute_rate, link_over_pcie
from app.core.resolve import resolve
from app.core.speed import estimate, speed_grid
from app.core.speed.feeding import copy_gb_s
from app.core.speed.inference import read_bytes
from app.core.speed.scaling import all_reduce_s, bubble
from app.core.workload import Parallelism, Workload
from tests.core.cards import BERT_LARGE, BY_ID, GPUS, LLAMA_8B, LLAMA_70B, RESNET_50

ONE = Parallelism()


def speed(model, gpu_id, plan=ONE, **fields) -> float:
    return float(estimate(Workload(model, **fields), plan, BY_ID[gpu_id]).expected)


def rate_of_card(gpu, precision) -> float:
    return float(compute_rate(GpuTable.from_gpus([gpu]), format_of(precision)).tflops[0])


def test_the_rate_that_counts_is_dense_with_fp32_accumulate():
    # Ada whitepaper: 330.3 with fp16 accumulate, 165.2 with fp32 accumulate; NVIDIA: A100 312, 156, 19.5.
    assert rate_of_card(BY_ID["rtx4090"], "fp16") == 165.2
    assert rate_of_card(BY_ID["rtx4090"], "bf16") == 165.2
    for precision in ("awq", "gptq", "nf4", "int4", "gguf-q4_k_m"):
        assert rate_of_card(BY_ID["rtx4090"], precision) == 165.2
    assert rate_of_card(BY_ID["a100-pcie-40gb"], "tf32") == 156.0
    assert rate_of_card(BY_ID["a100-pcie-40gb"], "fp32") == 19.5


def test_a_missing_format_counts_the_16_bit_rate_and_says_so():
    table = GpuTable.from_gpus(GPUS)
    row = [g.id for g in GPUS].index("a100-sxm4-80gb")
    for precision in ("fp8", "nvfp4", "int8"):
        rate = compute_rate(table, format_of(precision))
        assert rate.tflops[row] == 312.0
        assert rate.fallback[row]
    ada = [g.id for g in GPUS].index("rtx4090")
    assert compute_rate(table, format_of("fp8")).tflops[ada] == 330.3
    assert not compute_rate(table, format_of("fp8")).fallback[ada]


def test_bf16_is_missing_before_ampere():
    table = GpuTable.from_gpus(GPUS)
    lacks = {
        g.id for g, no in zip(GPUS, compute_rate(table, format_of("bf16")).lacks_type, strict=True) if no
    }
    assert lacks == {"v100-sxm2-16gb", "p40"}


@pytest.mark.parametrize(
    ("gpu_id", "family"),
    [
        ("rtx3090", "ampere_geforce"),
        ("rtx4090", "ada_geforce"),
        ("a100-sxm4-80gb", "ampere_dc"),
        ("h100-sxm5-80gb", "hopper"),
        ("v100-sxm2-16gb", "volta"),
        ("p40", "pascal"),
    ],
)
def test_card_families(gpu_id, family):
    assert card_class(BY_ID[gpu_id]) == family


def test_resnet_50_training_follows_bandwidth():
    # Lambda raw logs, 25 cards: 0.95 img/s per GB/s with AMP, spread 0.68..1.29; new software 1.5
    # (1.2..1.67).
    for gpu in GPUS:
        if gpu.id in ("rtx3050-8gb", "p40"):
            continue
        usual = speed(RESNET_50, gpu.id, task="training", precision="fp16", batch_size=256)
        assert 0.68 <= usual / gpu.bandwidth_gb_s <= 1.29, gpu.id
    new = speed(
        RESNET_50, "a100-sxm4-80gb", task="training", precision="fp16", batch_size=256, software="new"
    )
    assert 1.2 <= new / 2039 <= 1.67


@pytest.mark.parametrize(("gpu_id", "share"), [("v100-sxm2-16gb", (0.558, 0.677)), ("p40", (0.35, 0.60))])
def test_resnet_50_fp32_is_a_share_of_the_vector_rate(gpu_id, share):
    # speed_factors: V100 0.558..0.677 of 15.7 TFLOPS at 24.6 GFLOP an image; Pascal 0.43.
    rate = speed(RESNET_50, gpu_id, task="training", precision="fp32", batch_size=64)
    achieved = rate * 6 * 4.09e9 / (BY_ID[gpu_id].rates["fp32_tflops"] * 1e12)
    assert share[0] * 0.9 <= achieved <= share[1] * 1.1


@pytest.mark.parametrize(
    ("gpu_id", "low", "high"),
    [("a100-sxm4-80gb", 0.227, 0.378), ("h100-sxm5-80gb", 0.198, 0.274), ("v100-sxm2-16gb", 0.184, 0.357)],
)
def test_bert_large_training_share_of_peak(gpu_id, low, high):
    # speed_factors: BERT-large SQuAD, sequence 384, FP16, all rows; share = 6 x 335 M x 384 x samples/s
    # / peak.
    rate = speed(BERT_LARGE, gpu_id, task="training", precision="fp16", batch_size=16, sequence_length=384)
    share = rate * 6 * 335e6 * 384 / (BY_ID[gpu_id].rates["fp16_tflops"] * 1e12)
    assert low <= share <= high


@pytest.mark.parametrize(
    ("gpu_id", "low", "high"), [("a100-sxm4-80gb", 0.45, 0.55), ("h100-sxm5-80gb", 0.35, 0.46)]
)
def test_decoder_training_utilisation(gpu_id, low, high):
    # llm-foundry: A100 50 % (0.36..0.64), H100 40 % (0.26..0.46) with sharded data parallelism on one node.
    plan = Parallelism(data=8, zero_stage=3)
    rate = speed(LLAMA_8B, gpu_id, plan, task="training", batch_size=4, sequence_length=2048)
    share = rate * 6 * 8.03e9 / (8 * BY_ID[gpu_id].rates["bf16_tflops"] * 1e12)
    assert low <= share <= high


def test_recomputation_costs_a_third_more():
    def rate(checkpoint):
        return speed(
            LLAMA_8B,
            "a100-sxm4-80gb",
            task="training",
            batch_size=4,
            sequence_length=4096,
            gradient_checkpointing=checkpoint,
        )

    assert rate(False) / rate(True) == pytest.approx(4 / 3, rel=1e-6)


def test_adapters_are_faster_than_full_training_and_quantized_ones_slower_than_plain():
    def rate(task, precision):
        return speed(
            LLAMA_8B, "a100-sxm4-80gb", task=task, precision=precision, batch_size=4, sequence_length=2048
        )

    # Qwen README, A100, batch 1: LoRA 29..35 % of peak at 4 x parameters.
    lora = rate("lora", "bf16")
    assert 0.28 <= lora * 4 * 8.03e9 / 312e12 <= 0.42
    assert rate("qlora", "nf4") < lora


@pytest.mark.parametrize(("gpu_id", "low", "high"), [("rtx4090", 0.81, 0.93), ("rtx3090", 0.79, 0.86)])
def test_single_stream_decode_share_of_bandwidth(gpu_id, low, high):
    # XiongjieDai, 8B F16: Ada 87..91 %, GeForce Ampere 81 %, with llama.cpp; within 12 %.
    work = {"engine": "llama.cpp", "precision": "gguf-f16", "load": "single", "sequence_length": 1152}
    found = estimate(Workload(LLAMA_8B, output_length=128, **work), ONE, BY_ID[gpu_id])
    assert found.phase == "decode"
    share = float(found.expected) * 15.0e9 / (BY_ID[gpu_id].bandwidth_gb_s * 1e9)
    assert low * 0.88 <= share <= high * 1.12


def test_mixture_reads_only_the_experts_it_touches():
    moe = replace(
        LLAMA_8B,
        parameters=30.5e9,
        active_parameters=3.3e9,
        experts=128,
        experts_per_token=8,
        expert_intermediate_size=768,
        layers=48,
        hidden_size=2048,
        embedding_parameters=2 * 151936 * 2048.0,
        vocab_size=151936,
    )
    work = resolve(Workload(moe))[0]
    one, many, all_of_them = (float(read_bytes(work, b)) for b in (1, 16, 1e6))
    experts = all_of_them - float(read_bytes(work, 0))
    assert (one - float(read_bytes(work, 0))) / experts == pytest.approx(8 / 128)
    assert (many - float(read_bytes(work, 0))) / experts == pytest.approx(1 - (1 - 8 / 128) ** 16)


def test_a_batch_is_what_its_users_wait_for():
    """Requests per second times the time of one of them are the users: Little's law."""
    asked = Workload(LLAMA_8B, batch_size=16, sequence_length=4096, output_length=512)
    found = estimate(asked, ONE, BY_ID["a100-sxm4-80gb"])
    first, later = (found.detail[f"time_{name}_s"] for name in ("to_first_token", "per_output_token"))
    assert found.unit == "tokens_per_s"
    assert found.expected / 512 * (first + 511 * later) == pytest.approx(16.0, rel=1e-9)
    assert found.whole_run.expected == pytest.approx(found.expected)
    assert found.prefill.low < found.prefill.expected < found.prefill.high


def test_a_latency_limit_bounds_the_sequences_in_flight():
    asked = Workload(
        LLAMA_8B,
        sequence_length=8192,
        output_length=512,
        load="saturated",
        latency_limit_ms=20,
    )
    limited = estimate(asked, ONE, BY_ID["h100-sxm5-80gb"])
    free = estimate(replace(asked, latency_limit_ms=None), ONE, BY_ID["h100-sxm5-80gb"])
    assert limited.detail["time_per_output_token_s"] <= 0.0201
    assert limited.expected < free.expected


def test_idle_replicas_earn_nothing():
    single = speed(LLAMA_8B, "a100-sxm4-80gb", batch_size=1, sequence_length=2048)
    eight = speed(LLAMA_8B, "a100-sxm4-80gb", Parallelism(data=8), batch_size=1, sequence_length=2048)
    assert eight == pytest.approx(single)


def test_tensor_parallel_halves_the_bytes_of_a_step():
    one = speed(LLAMA_70B, "h100-sxm5-80gb", Parallelism(tensor=2), batch_size=1, load="single")
    two = speed(LLAMA_70B, "h100-sxm5-80gb", Parallelism(tensor=4), batch_size=1, load="single")
    assert 1.5 < two / one < 2.0


def test_layer_split_reads_a_prompt_faster_and_decodes_no_faster():
    work = {"engine": "llama.cpp", "precision": "gguf-q4_k_m", "load": "single", "sequence_length": 4224}
    asked = Workload(LLAMA_8B, output_length=128, **work)
    one = estimate(asked, ONE, BY_ID["rtx4090"])
    four = estimate(asked, Parallelism(pipeline=4), BY_ID["rtx4090"])
    # Prompt rate = one card x n m / (m + n - 1), m = prompt / 512.
    chunks = 8
    gain = four.prefill.expected / one.prefill.expected
    assert gain == pytest.approx(4 * chunks / (chunks + 3), rel=0.05)
    assert four.expected == pytest.approx(one.expected, rel=0.05)


def test_ring_all_reduce_of_a_7b_gradient():
    # 13.5 GB over four A100 at 300 GB/s one way: 67 ms (formulas.md §8); the ring reaches 80 % of the link.
    table = GpuTable.from_gpus([BY_ID["a100-sxm4-80gb"]])
    assert float(all_reduce_s(table, 13.5e9, 4)[0]) == pytest.approx(0.067 / 0.8, rel=0.02)
    assert float(all_reduce_s(table, 13.5e9, 1)[0]) == 0.0


def test_a_bridge_joins_two_cards_only():
    table = GpuTable.from_gpus([BY_ID["rtx3090"]])
    two, four = (float(all_reduce_s(table, 1e9, n)[0]) for n in (2, 4))
    assert four / two > 4


def test_geforce_has_no_peer_access():
    table = GpuTable.from_gpus([BY_ID["rtx4090"], BY_ID["a100-pcie-40gb"]])
    assert table.pcie_gb_s[0] == table.pcie_gb_s[1] / 2


def test_nvlink_3_over_pcie_4_is_nine_and_a_half_times_not_twenty():
    assert link_over_pcie(BY_ID["a100-sxm4-80gb"]) == pytest.approx(9.4, abs=0.05)
    assert link_over_pcie(BY_ID["rtx4090"]) is None


@pytest.mark.parametrize(("count", "published"), [(2, 1.936), (4, 3.740)])
def test_resnet_50_on_several_4090(count, published):
    # server-gear.com, TensorFlow, fp16, batch 512 per card, without NVLink; within 5 %.
    work = {"task": "training", "precision": "fp16", "batch_size": 512}
    one = speed(RESNET_50, "rtx4090", **work)
    several = speed(RESNET_50, "rtx4090", Parallelism(data=count), **work)
    assert several / one == pytest.approx(published, rel=0.05)


def test_bert_large_without_overlap_scales_badly_over_pcie():
    # Lambda: two 4090 keep 66..74 % of one card each; NVSwitch A100 keep 88..95 % at eight.
    work = {"task": "training", "precision": "fp16", "batch_size": 16, "sequence_length": 384}
    two = speed(BERT_LARGE, "rtx4090", Parallelism(data=2), **work) / speed(BERT_LARGE, "rtx4090", **work) / 2
    assert 0.6 <= two <= 0.78
    a100 = "a100-sxm4-80gb"
    eight = speed(BERT_LARGE, a100, Parallelism(data=8), **work) / speed(BERT_LARGE, a100, **work) / 8
    assert 0.85 <= eight <= 0.97


def test_pipeline_bubble():
    assert float(bubble(4, 8)) == pytest.approx(11 / 8)
    assert float(bubble(1, 1)) == 1.0


def test_resnet_50_input_is_far_below_pcie_3():
    # 1761 img/s of 224 x 224 uint8: 0.27 GB/s; fp32: 1.06 GB/s.
    assert float(copy_gb_s(1761, 224 * 224)) == pytest.approx(0.27, abs=0.006)
    assert float(copy_gb_s(1761, 224 * 224, 12)) == pytest.approx(1.06, abs=0.01)
    found = estimate(
        Workload(RESNET_50, task="training", precision="fp16", batch_size=256), ONE, BY_ID["v100-sxm2-16gb"]
    )
    assert found.bound == "bandwidth"


@pytest.mark.parametrize(
    "fields",
    [
        {"model": LLAMA_8B, "batch_size": 8, "sequence_length": 4096},
        {"model": LLAMA_8B, "task": "training", "batch_size": 1, "sequence_length": 2048},
        {"model": BERT_LARGE, "precision": "fp16", "batch_size": 8, "sequence_length": 384},
        {"model": RESNET_50, "task": "training", "precision": "fp16", "batch_size": 64},
    ],
)
def test_the_grid_and_one_card_give_the_same_numbers(fields):
    work = resolve(Workload(**fields))[0]
    plans = (ONE, Parallelism(data=2), Parallelism(data=8))
    grid = speed_grid(work, plans, GpuTable.from_gpus(GPUS), GPUS)
    assert grid.expected.shape == (len(GPUS), len(plans))
    for row, gpu in enumerate(GPUS):
        for column, plan in enumerate(plans):
            single = estimate(work, plan, gpu)
            cell = grid.estimate(row, column)
            assert (single.low, single.expected, single.high) == (cell.low, cell.expected, cell.high)
            assert single.bound == cell.bound
            assert cell.low < cell.expected < cell.high


def test_an_unknown_rate_gives_no_number():
    bare = replace(BY_ID["a100-sxm4-80gb"], rates={}, id="unknown")
    grid = speed_grid(resolve(Workload(LLAMA_8B))[0], (ONE,), GpuTable.from_gpus([bare]), [bare])
    assert np.isnan(grid.expected[0, 0])


def test_mixed_precision_gain_depends_on_the_generation():
    # Lambda 3090, TF32 to FP16: ResNet-50 1.64 x, BERT 2.0 x; V100 FP32 to AMP, BERT-large 3.5..4.9 x.
    def gain(model, gpu_id, base, **fields):
        return speed(model, gpu_id, precision="fp16", **fields) / speed(
            model, gpu_id, precision=base, **fields
        )

    vision = {"task": "training", "batch_size": 64}
    assert gain(RESNET_50, "rtx3090", "tf32", **vision) == pytest.approx(1.64, rel=0.15)
    tokens = {"task": "training", "batch_size": 16, "sequence_length": 384}
    assert gain(BERT_LARGE, "v100-sxm2-16gb", "fp32", **tokens) >= 2.5
