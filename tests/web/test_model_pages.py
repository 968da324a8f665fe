"""The page that reads a model from its files, and the form that shows what a pasted config comes to."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.core.test_model_files import CONFIGS, LLAMA
from tests.core.test_model_headers import INDEX, llama_file

NEMOTRON = CONFIGS["nemotron_NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"]


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Any:
    with TestClient(
        create_app(Settings(database_url=f"sqlite:///{seeded_database}")), headers={"accept-language": "en"}
    ) as client:
        yield client


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ").split())


def test_the_page_has_a_form_in_both_languages(site: TestClient) -> None:
    assert "Read a model" in site.get("/models/read").text
    assert "读取" in site.get("/models/read", headers={"accept-language": "zh"}).text
    assert "/models/read" in site.get("/models").text


def test_a_pasted_config_shows_its_figures_and_the_way_on(site: TestClient) -> None:
    answer = site.post("/models/read", data={"table": json.dumps(NEMOTRON), "name": "Nemotron"})
    assert answer.status_code == 200
    shown = text_of(answer.text)
    assert "121 B" in shown
    assert "8,192 B" in shown
    assert "170,229,760 B" in shown
    (link,) = re.findall(r'href="(/\?config=[^"]+)"', answer.text)
    calculator = site.get(unescape(link))
    assert calculator.status_code == 200
    assert "121 B parameters" in text_of(calculator.text)


def test_uploaded_files_are_read_together(site: TestClient) -> None:
    files = [
        ("file", ("config.json", json.dumps(LLAMA), "application/json")),
        ("file", ("model.safetensors.index.json", json.dumps(INDEX), "application/json")),
    ]
    shown = text_of(site.post("/models/read", files=files).text)
    assert "8.03 B" in shown
    assert "15.0 GiB" in shown
    gguf = site.post("/models/read", files=[("file", ("a.gguf", llama_file(), "application/octet-stream"))])
    assert "Small" in text_of(gguf.text)
    (link,) = re.findall(r'href="(/\?config=[^"]+)"', gguf.text)
    asked = parse_qs(urlsplit(unescape(link)).query)
    assert json.loads(asked["config"][0])["kv_heads"] == 4
    assert asked["precision"] == ["gguf-q4_k_m"]
    assert site.get(unescape(link)).status_code == 200


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"model_type": "llama"}'])
def test_what_cannot_be_read_is_said(site: TestClient, content: str) -> None:
    answer = site.post("/models/read", data={"table": content})
    assert answer.status_code == 422
    assert 'class="note bad"' in answer.text


def test_the_form_shows_what_a_config_comes_to(site: TestClient) -> None:
    page = site.get("/?" + urlencode({"config": json.dumps(NEMOTRON | {"time_step_limit": [0.0, 1.0]})}))
    shown = text_of(page.text)
    for part in (
        "12.2 B active",
        "KV 8,192 B a token",
        "state 170.2 MB a sequence",
        "weights 224.8 GiB in BF16",
    ):
        assert part in shown


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "model",
    ["qwen3-8b", "deepseek-v4-flash-284b-a13b", "resnet-50", "sdxl-base-1.0", "whisper-large-v3", "bge-m3"],
)
def test_a_model_has_a_page_of_its_own(site: TestClient, model: str, language: str) -> None:
    page = site.get(f"/models/{model}", headers={"accept-language": language})
    assert page.status_code == 200
    assert f'href="/?model={model}"' in page.text
    assert "None" not in text_of(page.text)


def test_a_model_page_says_what_it_needs_and_what_was_measured(site: TestClient) -> None:
    shown = text_of(site.get("/models/Qwen/Qwen3-8B").text)
    for part in ("147,456 B", "15.3 GiB", "Calculate with it"):
        assert part in shown
    assert "Measured runs" in text_of(site.get("/models/llama-3.1-8b").text)
    assert site.get("/models/no-such-model").status_code == 404
    assert 'href="/models/qwen3-8b"' in site.get("/models?q=qwen3-8b").text
