"""What is called ignored changes no figure; what is not, does somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from app.core import memory, speed
from app.core.decide.fit import judge
from app.core.faults import InputFault
from app.core.fields import TASKS, TOKEN_FAMILIES
from app.core.gpu_table import GpuTable
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.question_fields import BY_PLACE, ignored, why_ignored
from app.core.resolve import resolve
from app.core.workload import Offload, Parallelism, Task, Workload
from app.texts.say import TEMPLATES
from tests.core.cards import BY_ID

GPU = BY_ID["a100-sxm4-80gb"]
TABLE = GpuTable.from_gpus([GPU])
DENSE = {"layers": 8, "hidden_size": 1024, "intermediate_size": 4096, "attention_heads": 16}
LANGUAGE = {"family": "decoder", "kv_heads": 4, "vocab_size": 32_000, **DENSE}
MODELS: dict[str, ModelArchitecture] = {
    name: architecture_from_fields(fields)
    for name, fields in {
        "decoder": LANGUAGE,
        "experts": {**LANGUAGE, "experts": 8, "experts_per_token": 2},
        "windowed": {**LANGUAGE, "sliding_window": 512, "full_attention_layers": 2},
        "encoder": {"family": "encoder", "vocab_size": 30_522, **DENSE},
        "encoder-decoder": {"family": "encoder-decoder", "vocab_size": 32_128, "encoder_layers": 8, **DENSE},
        "convolutional": {"family": "vision", "parameters": 25.6e6, "name": "resnet50"},
        "vision transformer": {"family": "vision", "name": "vit", **DENSE},
        "diffusion": {"family": "diffusion", "parameters": 2.6e9, "name": "sdxl"},
        "speech": {"family": "speech", "vocab_size": 51_866, "encoder_layers": 8, **DENSE},
    }.items()
}
ENGINES = {
    "decoder": ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"),
    "encoder": ("pytorch", "tensorflow"),
    "encoder-decoder": ("pytorch", "transformers"),
    "vision": ("pytorch", "tensorflow"),
    "diffusion": ("diffusers",),
    "speech": ("faster-whisper", "pytorch"),
}
STATED: dict[str, tuple[Any, ...]] = {
    "sequence_length": (512, 4096),
    "output_length": (16, 100),
    "source_length": (77, 700),
    "image_size": ((448, 448), (1536, 1536)),
    "denoising_steps": (7, 100),
    "kv_precision": ("fp8", "fp32"),
    "engine_version": ("0.0.1", "99.0"),
    "max_batched_tokens": (1024, 16_384),
    "max_num_seqs": (2, 1024),
    "memory_fraction": (0.5, 0.95),
    "weights_gib": (3.3,),
    "optimizer": ("sgd", "adamw-8bit", "adafactor"),
    "recipe": ("pure", "fp32"),
    "gradient_checkpointing": (True, "selective"),
    "gradient_accumulation": (8,),
    "compile": (True,),
    "attention": ("eager", "sdpa"),
    "logits": ("chunked",),
    "lora_rank": (128,),
    "lora_targets": ("attention",),
    "trainable_parameters": (1e6,),
    "load": ("single", "saturated"),
    "software": ("new", "old"),
    "latency_limit_ms": (0.01,),
    "padding": ("packed",),
    "used_gib": (7.0,),
    "offload.experts": (True,),
    "offload.optimizer": (True,),
    "offload.activations": (True,),
    "offload.layers_on_gpu": (2,),
}
# What these change depends on figures, not on the kind of question: a limit that binds only for some cards, a
# kernel that only long sequences tell apart. They are not called ignored.
WITHOUT_EFFECT_HERE = {
    "attention",
    "compile",
    "engine_version",
    "software",
    "gradient_checkpointing",
    # It rejects options of a shortlist; the figures are those of the load that was asked for.
    "latency_limit_ms",
}


def questions(model: ModelArchitecture) -> Iterator[Workload]:
    for task in TASKS:
        if task in ("lora", "qlora") and model.family == "vision" and not model.layers:
            continue
        engines = ENGINES[model.family] if task == "inference" else ("pytorch",)
        if task == "training" and model.family in ("encoder", "vision"):
            engines = ("pytorch", "tensorflow")
        for engine in engines:
            yield Workload(
                model,
                task=cast("Task", task),
                engine=engine,
                precision="nf4" if task == "qlora" else "gguf-q4_k_m" if engine == "llama.cpp" else "bf16",
                batch_size=8,
                sequence_length=2048 if model.family in TOKEN_FAMILIES else None,
            )


def variants(work: Workload) -> Iterator[tuple[Workload, tuple[str, ...]]]:
    """A question in the states that decide, each with the fields that they decide about."""
    yield work, tuple(STATED)
    if work.trains:
        yield replace(work, gradient_checkpointing=True), ("offload.activations",)
        yield replace(work, trainable_parameters=5e6), ("weights_gib", "lora_rank", "lora_targets")
    else:
        yield replace(work, load="single"), ("latency_limit_ms",)
        yield replace(work, load="saturated"), ("memory_fraction", "max_num_seqs")


def figures(work: Workload) -> list[str] | None:
    """Everything that is said of a question on one card and on two; None where it is refused."""
    try:
        resolved, _ = resolve(work)
        plans = [Parallelism(), Parallelism(data=2, zero_stage=2 if work.trains else 0)]
        if work.model.family == "decoder":
            plans.append(Parallelism(pipeline=2))
        said = []
        for plan in plans:
            need = memory.estimate(resolved, plan, GPU)
            pace = speed.estimate(resolved, plan, GPU, (), [GPU], TABLE)
            said.append(repr((need.per_gpu_gib, need.allocated_gib, need.reserved_gib, need.kv_reserved_gib)))
            said.append(repr([(p.part, p.gib) for p in need.parts]))
            said.append(
                repr((pace.low, pace.expected, pace.high, pace.unit, judge(need, 79.2, resolved.used_gib)))
            )
        return said
    except InputFault:
        return None


def stated(work: Workload, field: str, value: Any) -> Workload:
    if field.startswith("offload."):
        return replace(work, offload=Offload(**{field.removeprefix("offload."): value}))
    return replace(work, **{field: value})


@pytest.mark.parametrize("model", MODELS)
def test_what_is_called_ignored_changes_no_figure_and_the_rest_does(model: str) -> None:
    for work in questions(MODELS[model]):
        for base, fields in variants(work):
            usual = figures(base)
            resolved, _ = resolve(base)
            for field in fields:
                outcomes = [figures(stated(base, field, value)) for value in STATED[field]]
                changes = any(found and found != usual for found in outcomes)
                code = why_ignored(f"workload.{field}", resolved)
                where = f"{field} in {base.task} on {base.engine}"
                if code:
                    assert not changes, f"{where} is called {code} and changes figures"
                elif field not in WITHOUT_EFFECT_HERE and base is work:
                    assert changes or not any(outcomes), f"{where} changes nothing and is not called ignored"


def test_every_field_of_the_question_is_swept_or_always_counts() -> None:
    always = {"model", "task", "precision", "batch_size", "engine", "parallelism", "offload", "resolved"} | {
        "batch_stated"
    }
    # Whether the batch was stated is said with the batch itself.
    always.add("batch_stated")
    fields = {name for name in Workload.__dataclass_fields__ if name not in always}
    fields |= {f"offload.{name}" for name in Offload.__dataclass_fields__}
    assert fields == set(STATED)
    declared = {
        place.removeprefix("workload.")
        for place, one in BY_PLACE.items()
        if one.counts and place.startswith("workload.")
    }
    assert declared <= fields | {"parallelism.zero_stage"}


def test_sharding_needs_training_and_replicas() -> None:
    work, _ = resolve(Workload(MODELS["decoder"], parallelism=Parallelism(zero_stage=2)))
    assert ignored(["workload.parallelism.zero_stage", "workload.used_gib"], work) == {
        "workload.parallelism.zero_stage": "ignored_in_inference"
    }
    training = Workload(MODELS["decoder"], task="training", sequence_length=512)
    one, _ = resolve(replace(training, parallelism=Parallelism(zero_stage=2)))
    two, _ = resolve(replace(training, parallelism=Parallelism(data=2, zero_stage=2)))
    assert why_ignored("workload.parallelism.zero_stage", one) == "ignored_with_one_replica"
    assert why_ignored("workload.parallelism.zero_stage", two) == ""


def test_every_reason_has_a_sentence() -> None:
    codes = {condition.code for one in BY_PLACE.values() for condition in one.counts}
    assert codes <= set(TEMPLATES)
    said = {code for code in TEMPLATES if code.startswith("ignored_")}
    assert codes == said
