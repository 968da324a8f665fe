"""Models as people look for them: any name, either language, the newest and most used first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.services.maintenance import open_catalogue
from app.services.model_list import found, ordered


@pytest.fixture(scope="module")
def snapshot(seeded_database: Path) -> Iterator[Snapshot]:
    with open_catalogue(f"sqlite:///{seeded_database}") as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "among"),
    [
        ("千问", "qwen3-8b"),
        ("通义千问", "qwen3-vl-8b"),
        ("sdxl", "sdxl-base-1.0"),
        ("r1", "deepseek-r1-671b"),
        ("R1", "deepseek-r1-671b"),
        ("qwen3 8b", "qwen3-8b"),
        ("Qwen3-8B", "qwen3-8b"),
        ("deepseek v3.2", "deepseek-v3.2"),
        ("智谱", "glm-4.6-355b-a32b"),
        ("混元", "hunyuan-a13b"),
        ("文心", "ernie-4.5-300b-a47b"),
        ("万相", "wan2.2-t2v-a14b"),
        ("llama 3.1 70b", "llama-3.1-70b"),
        ("bge m3", "bge-m3"),
        ("paraformer", "paraformer-zh"),
        ("YOLOv12", "yolo12n"),
        ("moonshotai", "kimi-k2.5-1t-a32b"),
    ],
)
def test_a_model_is_found_by_any_of_its_names(snapshot: Snapshot, query: str, among: str) -> None:
    assert among in [model.id for model in found(snapshot, query)]


@pytest.mark.parametrize(
    ("query", "first"), [("sdxl", "sdxl-base-1.0"), ("qwen3-8b", "qwen3-8b"), ("bge-m3", "bge-m3")]
)
def test_the_one_that_is_named_whole_comes_first(snapshot: Snapshot, query: str, first: str) -> None:
    assert found(snapshot, query)[0].id == first


def test_the_newest_and_most_used_come_first(snapshot: Snapshot) -> None:
    ids = [model.id for model in ordered(snapshot)]
    assert len(ids) == len(set(ids)) == len(snapshot.models) >= 300
    for newer, older in (
        ("qwen3.5-27b", "qwen2.5-7b"),
        ("llama-3.1-8b", "llama-1-13b"),
        ("deepseek-v4-flash-284b-a13b", "deepseek-v2-236b"),
        ("glm-5.1-744b-a40b", "glm-4.6-355b-a32b"),
    ):
        assert ids.index(newer) < ids.index(older)
    llamas = [model.id for model in found(snapshot, "llama")]
    assert not llamas[0].startswith("llama-1")


ASKED = """
Qwen3-VL|Qwen3-VL-8B|Qwen3-VL-30B-A3B|Qwen3-VL-235B-A22B|Qwen3-Coder|Qwen3-Coder-480B-A35B|Qwen3-Coder-30B-A3B
Qwen3-Coder-Next|DeepSeek-V3.1|DeepSeek-V3.2|DeepSeek-V4-Flash|DeepSeek-V4-Pro|DeepSeek-R1|DeepSeek R1|GLM-4.6
GLM-4.7|GLM-4.7-Flash|GLM-4.5-Air|GLM-5|GLM-5.1|Kimi-K2-0905|Kimi-K2-Thinking|Kimi-K2.5|Kimi K2|ERNIE-4.5
ERNIE-4.5-300B-A47B|ERNIE-4.5-21B-A3B|Hunyuan-A13B|Wan2.2|Wan2.2-T2V-A14B|Qwen-Image|Qwen-Image-Edit|FLUX.2
FLUX.2-dev|FLUX.1-dev|BGE-M3|bge-large-zh|bge-reranker-v2-m3|Qwen3-Embedding|Qwen3-Embedding-8B
Qwen3-Reranker-8B|Paraformer|SenseVoice|SenseVoiceSmall|YOLO12|YOLO12n|YOLO26|SAM2|千问|sdxl|r1|QwQ-32B
Qwen2.5-VL-7B|MiniMax-M2|MiniMax-M2.5|Step-3.5-Flash|gpt-oss-120b|Llama-4-Scout|Gemma-3-27b|Gemma 4
HunyuanVideo|CosyVoice2|Whisper-large-v3|DeepSeek-OCR|PaddleOCR-VL|Seed-OSS-36B|SD3.5-Large|jina-embeddings-v3
Qwen3-Next-80B-A3B|Qwen3.5-27B|Qwen3.6-35B-A3B|Nemotron-3-Nano-30B-A3B|Kimi-Linear-48B-A3B|LFM2-8B-A1B
"""


@pytest.mark.parametrize("name", [n for line in ASKED.split("\n") for n in line.split("|") if n])
def test_a_name_that_teams_use_resolves_or_asks_which(snapshot: Snapshot, name: str) -> None:
    try:
        assert snapshot.resolve_model(name) in snapshot.models
    except InputFault as fault:
        (error,) = fault.errors
        assert error.code == "ambiguous_name"
        assert len(error.params["candidates"]) > 1


def test_presets_of_experts_read_no_token_table(snapshot: Snapshot) -> None:
    # Published: 3.6 B, 32 B, 10 B.
    for model, active in (
        ("gpt-oss-20b", 3.61e9),
        ("glm-4.5-355b-a32b", 32.86e9),
        ("minimax-m2-230b-a10b", 10.42e9),
    ):
        assert snapshot.models[model].architecture.active_parameters == pytest.approx(active, rel=0.002)
