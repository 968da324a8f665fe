"""Language-model speeds of the shipped catalogue against published pages that no row of it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pytest

from app.core.faults import InputFault
from app.core.gpu_table import GpuTable
from app.core.speed import BenchmarkIndex, estimate
from app.core.workload import Parallelism, Workload
from app.services.calculator import speed
from app.services.maintenance import open_catalogue

ONE = Parallelism()
TENSOR_8 = Parallelism(tensor=8)


@dataclass
class Shipped:
    """The catalogue as estimates take it."""

    snapshot: object
    index: BenchmarkIndex
    table: GpuTable

    def ask(self, model, gpu, plan=ONE, **work):
        """One estimate."""
        card = next(g for g in self.snapshot.gpus if g.id == gpu)
        question = Workload(self.snapshot.models[model].architecture, **work)
        return estimate(question, plan, card, self.index, self.snapshot.gpus, self.table)


@pytest.fixture(scope="module")
def shipped(seeded_database):
    with open_catalogue(f"sqlite:///{seeded_database}") as snapshot:
        models = {key: preset.architecture for key, preset in snapshot.models.items()}
        index = BenchmarkIndex(snapshot.benchmarks, models)
        yield Shipped(snapshot, index, GpuTable.from_gpus(snapshot.gpus))


STEPS = [
    # GPUStack performance lab, read 2026-11-30: mean time per output token in ms.
    ("qwen3-8b", "h100-sxm5-80gb", ONE, "bf16", "vllm", 232, 220, 1, 7.3),
    ("qwen3-8b", "h100-sxm5-80gb", ONE, "bf16", "vllm", 232, 220, 8, 7.7),
    ("qwen3-8b", "h100-sxm5-80gb", ONE, "bf16", "sglang", 232, 220, 4, 7.2),
    ("qwen3-8b", "h100-sxm5-80gb", ONE, "bf16", "tensorrt-llm", 232, 220, 4, 7.7),
    ("qwen3-8b", "h100-sxm5-80gb", ONE, "fp8", "sglang", 232, 220, 4, 5.65),
    ("deepseek-r1-671b", "h200-sxm-141gb", TENSOR_8, "fp8", "vllm", 228, 213, 4, 19.4),
    ("gpt-oss-120b", "a100-sxm4-80gb", ONE, "mxfp4", "vllm", 229, 216, 4, 11.7),
    ("gpt-oss-120b", "h100-sxm5-80gb", ONE, "mxfp4", "vllm", 229, 216, 4, 8.3),
    # buildkite.com/vllm/performance-benchmark/builds/9515: H200, 32 in, 128 out, batch 8.
    ("llama-3.1-8b", "h200-sxm-141gb", ONE, "bf16", "vllm", 32, 128, 8, 6.5),
    ("llama-3-70b", "h200-sxm-141gb", Parallelism(tensor=4), "bf16", "vllm", 32, 128, 8, 16.2),
    ("mixtral-8x7b", "h200-sxm-141gb", Parallelism(tensor=2), "bf16", "vllm", 32, 128, 8, 15.0),
    # docs.nvidia.com/nim/benchmarking: Llama 3.3 70B, FP8, two H100, 500 in, 2,000 out.
    ("llama-3.3-70b", "h100-sxm5-80gb", Parallelism(tensor=2), "fp8", "tensorrt-llm", 500, 2000, 1, 18.9),
    # johnmusgrave.com: Llama 3.1 8B, A100 40 GB, 1,024 in, 128 out: 75 tok/s.
    ("llama-3.1-8b", "a100-sxm4-40gb", ONE, "bf16", "vllm", 1024, 128, 1, 12.7),
]


@pytest.mark.parametrize(
    ("model", "gpu", "plan", "precision", "engine", "prompt", "output", "batch", "ms"), STEPS
)
def test_time_per_output_token(shipped, model, gpu, plan, precision, engine, prompt, output, batch, ms):
    lengths = {"sequence_length": prompt + output, "output_length": float(output), "batch_size": batch}
    found = shipped.ask(model, gpu, plan, precision=precision, engine=engine, **lengths)
    assert found.detail["time_per_output_token_s"] * 1000 == pytest.approx(ms, rel=0.20)


FULL = [
    # GPUStack, ShareGPT (217 in, 201 out) or 4,000 in, 200 out: output tokens/s, all requests at once.
    ("qwen3-32b", "a100-sxm4-80gb", ONE, "bf16", "vllm", 217, 201, 832),
    ("qwen3-32b", "a100-sxm4-80gb", ONE, "bf16", "vllm", 3995, 199, 87),
    ("qwen3-32b", "a100-sxm4-80gb", ONE, "awq", "vllm", 217, 201, 851),
    ("qwen3-32b", "h100-sxm5-80gb", ONE, "bf16", "vllm", 217, 201, 1132),
    ("qwen3-32b", "h100-sxm5-80gb", ONE, "bf16", "vllm", 3995, 199, 102),
    ("qwen3-32b", "h100-sxm5-80gb", ONE, "fp8", "sglang", 217, 201, 1926),
    ("gpt-oss-120b", "h100-sxm5-80gb", ONE, "mxfp4", "vllm", 215, 195, 2901),
    ("gpt-oss-20b", "h100-sxm5-80gb", ONE, "mxfp4", "vllm", 215, 195, 7817),
    ("deepseek-r1-671b", "h200-sxm-141gb", TENSOR_8, "fp8", "vllm", 3995, 200, 754),
    ("qwen3-235b-a22b", "h100-sxm5-80gb", TENSOR_8, "bf16", "vllm", 3995, 184, 931),
]


@pytest.mark.parametrize(("model", "gpu", "plan", "precision", "engine", "prompt", "output", "rate"), FULL)
def test_saturated_serving_lies_in_its_interval(
    shipped, model, gpu, plan, precision, engine, prompt, output, rate
):
    lengths = {"sequence_length": prompt + output, "output_length": float(output), "batch_size": 1000}
    found = shipped.ask(model, gpu, plan, precision=precision, engine=engine, load="saturated", **lengths)
    assert found.low <= rate <= found.high
    assert found.high / found.low < 8.0


@pytest.mark.parametrize(
    ("model", "precision", "rate"),
    # Qwen3 speed benchmark, SGLang on one H20, one request: BF16 reaches 27..35 % of 4.0 TB/s, AWQ 10..20 %.
    [
        ("qwen3-4b", "bf16", 133.07),
        ("qwen3-4b", "fp8", 200.51),
        ("qwen3-4b", "awq", 199.61),
        ("qwen3-8b", "bf16", 81.69),
        ("qwen3-8b", "fp8", 150.18),
        ("qwen3-8b", "awq", 144.04),
        ("qwen3-14b", "bf16", 47.08),
        ("qwen3-14b", "fp8", 97.06),
        ("qwen3-14b", "awq", 96.44),
        ("qwen3-32b", "bf16", 20.71),
        ("qwen3-32b", "fp8", 46.15),
        ("qwen3-32b", "awq", 47.65),
    ],
)
def test_tokens_per_second_of_an_h20(shipped, model, precision, rate):
    work = {"precision": precision, "engine": "sglang", "load": "single", "sequence_length": 2049}
    found = shipped.ask(model, "h20-96gb", output_length=2048.0, **work)
    assert found.expected == pytest.approx(rate, rel=0.15)


@pytest.mark.parametrize(
    ("model", "gpu", "plan", "precision"),
    [
        ("llama-3.1-8b", "rtx4090", ONE, "fp16"),
        ("llama-3.1-8b", "rtx4090", ONE, "awq"),
        ("llama-3.1-8b", "h20-96gb", ONE, "fp16"),
        ("llama-3.1-8b", "ascend-910b3", ONE, "fp16"),
        ("qwen2.5-72b", "rtx4090", TENSOR_8, "bf16"),
        ("qwen3-30b-a3b", "h100-sxm5-80gb", ONE, "bf16"),
        ("deepseek-v3-671b", "h200-sxm-141gb", TENSOR_8, "fp8"),
    ],
)
def test_more_sequences_give_more_tokens_and_longer_steps(shipped, model, gpu, plan, precision):
    rates, steps = [], []
    for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        lengths = {"sequence_length": 1280, "output_length": 256.0, "batch_size": batch}
        found = shipped.ask(model, gpu, plan, precision=precision, **lengths)
        rates.append(found.decode.expected)
        steps.append(found.detail["time_per_output_token_s"])
    assert rates == sorted(rates)
    assert steps == sorted(steps)
    assert rates[3] > 2.0 * rates[0]


def test_every_replica_of_a_saturated_system_is_full(shipped):
    lengths = {"sequence_length": 1280, "output_length": 256.0, "load": "saturated", "precision": "fp8"}
    one = shipped.ask("llama-3.1-8b", "h100-sxm5-80gb", **lengths)
    eight = shipped.ask("llama-3.1-8b", "h100-sxm5-80gb", Parallelism(data=8), **lengths)
    # Measured systems of eight correct the sum of eight a little.
    assert 6.5 <= eight.expected / one.expected <= 9.0
    assert eight.detail["concurrent_sequences"] == 8 * one.detail["concurrent_sequences"]


def test_a_latency_limit_holds_and_costs(shipped):
    def ask(limit):
        lengths = {"sequence_length": 1280, "output_length": 256.0}
        limits = {"load": "saturated", "latency_limit_ms": limit}
        return shipped.ask("llama-3.1-8b", "a100-sxm4-80gb", precision="fp16", **limits, **lengths)

    free, loose, tight = ask(None), ask(40.0), ask(15.0)
    assert free.expected >= loose.expected > tight.expected
    assert tight.detail["concurrent_sequences"] < loose.detail["concurrent_sequences"]
    # The limit binds the model's own step; what was measured may correct it afterwards.
    assert tight.detail["time_per_output_token_s"] <= 0.015 * 1.25


def test_single_stream_figures_that_reviewers_know(shipped):
    lengths = {"sequence_length": 1280, "output_length": 256.0, "load": "single"}
    # SGLang and vLLM, eight cards, without speculation: 26..80 tok/s over 2025 (sglang pull 2643, GPUStack).
    deepseek = shipped.ask("deepseek-v3-671b", "h200-sxm-141gb", TENSOR_8, precision="fp8", **lengths)
    assert 30.0 <= deepseek.expected <= 80.0
    # AutoAWQ, Mistral 7B on a 4090: 153..185 tok/s (AutoAWQ pull 365); an 8B model has a larger head.
    awq = shipped.ask("llama-3.1-8b", "rtx4090", precision="awq", **lengths)
    assert 125.0 <= awq.expected <= 190.0


WRITES = [
    # gpt-fast README, Llama 2 7B compiled on one and two A100 80 GB, 200 tokens: 104.9, int8 155.6; 168.8.
    ("llama-2-7b", "a100-sxm4-80gb", 1, "bf16", "pytorch", "new", True, 5, 200, 104.9, 0.2),
    ("llama-2-7b", "a100-sxm4-80gb", 1, "int8", "pytorch", "new", True, 5, 200, 155.6, 0.2),
    ("llama-2-7b", "a100-sxm4-80gb", 2, "bf16", "pytorch", "new", True, 5, 200, 168.8, 0.35),
    # sh1ng/llm-perf-bench, vLLM of 2023 without graphs, two and four A100 PCIe.
    ("llama-2-70b", "a100-pcie-80gb", 2, "fp16", "vllm", "old", False, 8, 256, 15.3, 0.2),
    ("llama-2-70b", "a100-pcie-80gb", 4, "fp16", "vllm", "old", False, 8, 256, 17.6, 0.2),
    # Transformers on an Ascend 910B (csdn.net), 64 in, 128 out.
    ("llama-2-7b", "ascend-910b3", 1, "fp16", "transformers", "usual", False, 64, 128, 16.6, 0.25),
]


@pytest.mark.parametrize(
    (
        "model",
        "gpu",
        "cards",
        "precision",
        "engine",
        "software",
        "compiled",
        "prompt",
        "output",
        "rate",
        "by",
    ),
    WRITES,
)
def test_tokens_per_second_of_one_stream(
    shipped, model, gpu, cards, precision, engine, software, compiled, prompt, output, rate, by
):
    found = shipped.ask(
        model,
        gpu,
        Parallelism(tensor=cards),
        precision=precision,
        engine=engine,
        software=software,
        compile=compiled,
        sequence_length=prompt + output,
        output_length=float(output),
        load="single",
    )
    assert found.expected == pytest.approx(rate, rel=by)


def test_pretraining_stays_below_the_best_published_share_of_peak(shipped):
    def per_card(precision):
        plan = Parallelism(data=8, zero_stage=3)
        work = {"task": "training", "precision": precision, "batch_size": 2, "sequence_length": 8192}
        return shipped.ask("llama-3.1-8b", "h100-sxm5-80gb", plan, **work).expected / 8

    # llm-foundry, FlagPerf: 36 to 47 % of 989 TFLOPS in BF16, at 58.2 GFLOP per token of this length.
    assert 0.34 <= per_card("bf16") * 58.2e9 / 989e12 <= 0.47
    # Megatron-Bridge, Llama 3 8B in FP8 with its own kernels: 14,451 tokens/s per card.
    assert per_card("bf16") < per_card("fp8") < 14_451


def test_figures_over_dense_peak_predict_nothing(shipped):
    # torchtune README: LoRA of 8B at 4,699 tokens/s would take 161 of the card's 154.8 TFLOPS.
    rows = [r for r in shipped.snapshot.benchmarks if r.gpu_id == "rtx-a6000" and "torchtune" in r.framework]
    assert len(rows) == 2
    assert all("over dense peak" in row.flag for row in rows)


@pytest.mark.parametrize(
    ("model", "compiled", "rate"),
    # timm, RTX 4090, AMP, batch 1024: benchmark-infer-amp-nchw-pt291-cu128-4090-dynamo.csv and the eager one.
    [("resnet-50", False, 4172.0), ("resnet-50", True, 8039.0), ("vit-b-16", True, 3376.0)],
)
def test_compiled_image_inference(shipped, model, compiled, rate):
    work = {"precision": "fp16", "batch_size": 1024, "engine": "pytorch", "compile": compiled}
    assert shipped.ask(model, "rtx4090", **work).expected == pytest.approx(rate, rel=0.2)


def test_detectors_are_asked_at_the_size_of_their_measurements(shipped):
    def rate(**work):
        work = {"precision": "tf32", "engine": "pytorch", **work}
        return shipped.ask("mask-rcnn-r50-fpn", "a100-sxm4-80gb", task="inference", **work).expected

    assert rate(batch_size=1) == rate(batch_size=1, image_size=(800, 1333))
    assert rate(batch_size=1, image_size=(800, 800)) > rate(batch_size=1)
    # DeepLearningExamples: 25 images per second alone, 30 eight at a time: boxes are sorted image by image.
    assert rate(batch_size=1) == pytest.approx(25.0, rel=0.15)
    assert rate(batch_size=8) == pytest.approx(30.0, rel=0.15)


def test_a_full_engine_queues_what_its_cache_does_not_hold(shipped):
    def ask(load, batch):
        workload = {"model": {"preset": "llama-2-7b"}, "task": "inference", "precision": "fp16", "load": load}
        workload |= {"engine": "vllm", "batch_size": batch, "sequence_length": 768, "output_length": 256}
        body = {"workload": workload, "gpu": "a10g", "count": 1}
        return speed(body, shipped.snapshot, date(2026, 11, 30)).speed

    held = ask("saturated", 64).detail["concurrent_sequences"]
    assert 1 <= held < 64
    with pytest.raises(InputFault):
        ask("batch", 64)


def test_experts_read_prompts_slower_in_llama_cpp_too(shipped):
    def prefill(model):
        work = {"precision": "gguf-q4_0", "engine": "llama.cpp", "software": "new", "load": "single"}
        found = shipped.ask(model, "rx7900xtx", sequence_length=513, output_length=1.0, **work)
        return found.prefill.expected

    # Mozilla, RX 7900 XTX: 3,239 tokens/s of Mistral 7B in FP16; 3 B active of 35 B: 2,105.
    assert prefill("qwen3.5-35b-a3b") < 7.0 / 3.0 * prefill("mistral-7b-v0.3")
