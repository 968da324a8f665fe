"""The seed files: counts, the figures that decide answers, references, enumerations, names, attributions."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from app.catalog.names import normalise_name
from app.catalog.seed import read_seed
from app.core import formats

SEED = Path(__file__).resolve().parents[2] / "seed_data"
DATE = re.compile(r"(20[0-2]\d|19\d\d)(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
GIB = 2**30


def rows(name: str) -> list[dict[str, Any]]:
    with (SEED / name).open(encoding="utf-8", newline="") as stream:
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in stream]
        return list(csv.DictReader(stream, strict=True))


DATA = {path.name: rows(path.name) for path in sorted(SEED.iterdir()) if path.suffix in (".csv", ".jsonl")}
CHOSEN = {
    (f["gpu_id"], f["figure"]): float(f["value"]) for f in DATA["gpu_figures.csv"] if f["chosen"] == "true"
}
MODELS = {m["id"]: m for m in DATA["models.jsonl"]}
GPU_IDS = {g["id"] for g in DATA["gpus.csv"]}


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("gpus.csv", 180),
        ("gpu_figures.csv", 3_500),
        ("gpu_aliases.csv", 500),
        ("models.jsonl", 600),
        ("model_aliases.csv", 1_300),
        ("prices.csv", 1_500),
        ("rentals.csv", 300),
        ("rates.csv", 50),
        ("benchmarks.csv", 5_500),
        ("framework_support.jsonl", 40),
        ("availability.csv", 80),
        ("gpu_facts.csv", 400),
        ("unjoined.csv", 80),
    ],
)
def test_there_are_enough_rows(name: str, least: int) -> None:
    assert len(DATA[name]) >= least


def test_the_loader_accepts_every_row_of_every_file() -> None:
    for name, found in read_seed(SEED).items():
        assert len(found) == len(DATA[name]), name


@pytest.mark.parametrize(
    ("gpu", "tflops"),
    [("rtx4090", 165.2), ("l40s", 362.0), ("h20-96gb", 148.0), ("rtx3090", 71.0), ("a100-sxm4-80gb", 312.0)],
)
def test_training_rates_are_dense_with_fp32_accumulate(gpu: str, tflops: float) -> None:
    # NVIDIA Ada whitepaper v2.02 app. A (RTX 4090), GA102 whitepaper table 9 (RTX 3090), A100 blog.
    assert CHOSEN[gpu, "fp16_tflops"] == pytest.approx(tflops, rel=1e-3)
    assert CHOSEN[gpu, "bf16_tflops"] == pytest.approx(tflops, rel=1e-3)


@pytest.mark.parametrize(
    ("gpu", "figure", "value"),
    [
        ("rtx4090", "fp8_tflops", 330.3),
        ("rtx5090", "bf16_tflops", 209.5),
        ("rtx5090", "fp4_tflops", 1676.0),
        ("h100-sxm5-80gb", "bf16_tflops", 989.4),
        ("rtx4090d", "fp32_tflops", 73.54),
        ("a10g", "bf16_tflops", 70.0),
        ("l40", "bf16_tflops", 181.05),
        ("mi300x", "fp16_tflops", 1307.4),
        ("gaudi3", "bf16_tflops", 1677.0),
        ("ascend-910b2", "fp16_tflops", 353.9),
        ("h20-96gb", "bandwidth_gb_s", 4000.0),
        ("a100-pcie-40gb", "bandwidth_gb_s", 1555.0),
        ("a800-sxm4-80gb", "link_gb_s", 400.0),
        ("a16-gpu", "tdp_w", 62.5),
    ],
)
def test_traps_of_popular_tables_are_avoided(gpu: str, figure: str, value: float) -> None:
    assert CHOSEN[gpu, figure] == pytest.approx(value, rel=5e-3)


@pytest.mark.parametrize(
    ("gpu", "usable"),
    [
        ("rtx4090", 23.6),
        ("rtx3090", 23.7),
        ("t4", 14.75),
        ("a100-sxm4-80gb", 79.2),
        ("h100-sxm5-80gb", 79.2),
    ],
)
def test_usable_memory_is_the_measured_one(gpu: str, usable: float) -> None:
    assert CHOSEN[gpu, "usable_gib"] == usable
    row = next(f for f in DATA["gpu_figures.csv"] if f["gpu_id"] == gpu and f["figure"] == "usable_gib")
    assert row["basis"] == "measured"


def test_every_card_has_memory_usable_memory_and_no_more_than_it_prints() -> None:
    for gpu in GPU_IDS:
        assert 0 < CHOSEN[gpu, "usable_gib"] <= CHOSEN[gpu, "memory_gib"], gpu


def test_sparse_and_halved_values_are_kept_but_not_chosen() -> None:
    kept = {
        (f["gpu_id"], f["figure"], float(f["value"]))
        for f in DATA["gpu_figures.csv"]
        if f["chosen"] == "false"
    }
    assert {("rtx4090", "fp16_tflops", 330.3), ("h100-sxm5-80gb", "bf16_tflops", 1979.0)} <= kept
    assert all(f["note"] for f in DATA["gpu_figures.csv"] if f["chosen"] == "false")


def test_tensor_cores_are_a_fact_of_their_own() -> None:
    has = {g["id"]: g["has_tensor_cores"] for g in DATA["gpus.csv"]}
    assert [
        has[i] for i in ("gtx1660ti", "gtx1080ti", "rtx2060", "v100-pcie-16gb", "mi300x", "rx7900xtx")
    ] == [
        "false",
        "false",
        "true",
        "true",
        "true",
        "true",
    ]


def test_every_source_exists_and_every_source_is_used() -> None:
    known = {s["id"] for s in DATA["sources.csv"]}
    used = {
        row[column]
        for row in chain.from_iterable(DATA.values())
        for column in ("source_id", "published_source_id")
        if row.get(column)
    }
    assert used == known
    assert all(s["title"] and s["read_on"] for s in DATA["sources.csv"])


def test_every_observation_has_a_source_and_a_date() -> None:
    for name in ("prices.csv", "rentals.csv", "rates.csv", "benchmarks.csv"):
        assert all(row["source_id"] and row["observed_on"] for row in DATA[name]), name


def test_dates_are_iso_and_not_after_the_day_of_reading() -> None:
    for name, column in (
        ("gpus.csv", "launch_date"),
        ("prices.csv", "observed_on"),
        ("rentals.csv", "observed_on"),
        ("rates.csv", "observed_on"),
        ("benchmarks.csv", "observed_on"),
        ("availability.csv", "from"),
        ("availability.csv", "until"),
        ("gpu_facts.csv", "as_of"),
        ("models.jsonl", "as_of"),
    ):
        for row in DATA[name]:
            if text := row[column]:
                assert DATE.fullmatch(text), (name, text)
                assert text <= "2026-12-01", (name, text)
                if len(text) == 10:
                    date.fromisoformat(text)


def test_nothing_stands_twice() -> None:
    assert len(CHOSEN) == sum(f["chosen"] == "true" for f in DATA["gpu_figures.csv"])
    for name, key in (
        ("gpus.csv", ("id",)),
        ("sources.csv", ("id",)),
        ("models.jsonl", ("id",)),
        ("rates.csv", ("base", "quote", "observed_on", "kind")),
        ("framework_support.jsonl", ("framework", "version")),
        ("availability.csv", ("gpu_id", "region", "from", "status")),
        ("gpu_facts.csv", ("gpu_id", "fact")),
        ("unjoined.csv", ("kind", "name_as_written")),
    ):
        counted = Counter(tuple(row[k] for k in key) for row in DATA[name])
        assert [k for k, n in counted.items() if n > 1] == [], name
    for name in ("prices.csv", "rentals.csv", "benchmarks.csv", "gpu_figures.csv"):
        counted = Counter(tuple(row.values()) for row in DATA[name])
        assert [k for k, n in counted.items() if n > 1] == [], name


def test_enumerations() -> None:
    prices = DATA["prices.csv"]
    assert {p["condition"] for p in prices} <= {"new", "used", "refurbished", "modded"}
    assert {p["per"] for p in prices} == {"card", "server-8"}
    assert {p["region"] for p in prices} <= {"CN", "US", "HK", "TW", "EU", "global"}
    assert {p["currency"] for p in prices} == {"CNY", "USD", "TWD", "EUR"}
    channels = {c["as_written"]: c["channel_kind"] for c in DATA["price_channels.csv"]}
    assert all(channels[p["channel"]] == p["channel_kind"] for p in prices)
    assert {b["precision"] for b in DATA["benchmarks.csv"]} <= {"", *formats.names()}
    bases = {f["basis"] for f in DATA["gpu_figures.csv"]}
    assert bases == {"exact", "measured", "derived"}


FACTS = {(f["gpu_id"], f["fact"]): f for f in DATA["gpu_facts.csv"]}


@pytest.mark.parametrize(
    ("gpu", "fact", "value"),
    [
        # Devices listed at the release tags of NVIDIA/open-gpu-kernel-modules, read 2026-11-30.
        ("rtx4090d", "driver_min_linux", "535.154.05"),
        ("h20-96gb", "driver_min_linux", "535.161.07"),
        ("l20", "driver_min_linux", "535.154.05"),
        ("rtx5090", "driver_min_linux", "570.86.16"),
        ("b200-sxm", "driver_min_linux", "570.86.15"),
        ("rtx-pro-6000-bw-server", "driver_min_linux", "575.57.08"),
        # CUDA Toolkit release notes, table of drivers: 11.8 >= 520.61.05, 12.8 >= 570.65 on Windows.
        ("rtx4090", "driver_min_linux", "520.61.05"),
        ("rtx5090", "driver_min_windows", "570.65"),
        ("v100-pcie-16gb", "driver_min_linux", "384.81"),
        ("a100-pcie-80gb", "cooling", "passive"),
        ("h100-sxm5-80gb", "socket", "SXM5"),
        ("l4", "slot_width", "1"),
        ("rtx4090", "slot_width", "3"),
    ],
)
def test_facts_are_those_of_their_sources(gpu: str, fact: str, value: str) -> None:
    assert FACTS[gpu, fact]["value"] == value


def test_every_nvidia_card_has_a_first_driver_and_modules_have_no_slots() -> None:
    form = {g["id"]: g["form_factor"] for g in DATA["gpus.csv"]}
    for g in DATA["gpus.csv"]:
        if g["vendor"] == "NVIDIA" and g["id"] != "rubin":
            assert (g["id"], "driver_min_linux") in FACTS, g["id"]
        if g["form_factor"] in ("SXM module", "OAM module", "superchip module"):
            assert (g["id"], "slot_width") not in FACTS, g["id"]
    assert form["h100-sxm5-80gb"] == "SXM module" and form["mi300x"] == "OAM module"
    assert form["gb10"] == "integrated" and form["tpu-v5e"] == "cloud only"
    # A module by its name is a module by its form, and a card by its name a card.
    for gpu, value in form.items():
        assert ("sxm" not in gpu) or value == "SXM module", gpu
        assert ("pcie" not in gpu) or value == "PCIe card", gpu


def test_derived_facts_have_a_formula_and_no_later_card_an_older_driver() -> None:
    assert all(f["formula"] for f in FACTS.values() if f["basis"] == "derived")
    first = {
        gpu: tuple(int(part) for part in f["value"].split("."))
        for (gpu, fact), f in FACTS.items()
        if fact == "driver_min_linux"
    }
    assert first["gtx1080"] < first["v100-pcie-16gb"] < first["t4"] < first["a100-pcie-40gb"]
    assert first["a100-pcie-40gb"] < first["rtx4090"] < first["l40s"] < first["rtx5090"] < first["gb300"]


@pytest.mark.parametrize(
    ("name", "cards"),
    [
        ("A800", {"a800-pcie-40gb", "a800-pcie-80gb", "a800-sxm4-80gb"}),
        ("Ascend 910B", {"ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4"}),
        ("H200", {"h200-sxm-141gb", "h200-nvl"}),
    ],
)
def test_a_price_of_unknown_form_serves_each_variant_marked(name: str, cards: set[str]) -> None:
    rows = [p for p in DATA["prices.csv"] if p["name_as_written"] == name]
    assert {p["gpu_id"] for p in rows} == cards
    assert {p["variant_assumed"] for p in rows} == {"true"}


def test_names_that_no_card_took_are_listed_with_a_reason_and_are_in_no_file() -> None:
    taken = {
        "prices": {p["name_as_written"] for p in DATA["prices.csv"]},
        "rentals": {r["name_as_written"] for r in DATA["rentals.csv"]},
        "benchmarks": {b["gpu_as_written"] for b in DATA["benchmarks.csv"]},
    }
    for row in DATA["unjoined.csv"]:
        assert int(row["rows"]) > 0 and row["reason"]
        assert row["name_as_written"] not in taken[row["kind"]], row


def test_benchmark_spellings_come_from_the_tables() -> None:
    units = {u["as_written"]: u["normalised"] for u in DATA["benchmark_units.csv"]}
    precisions = {p["as_written"]: p["normalised"] for p in DATA["benchmark_precisions.csv"]}
    for b in DATA["benchmarks.csv"]:
        assert b["unit"] == units[b["unit_as_written"]] or (
            units[b["unit_as_written"]] == "samples_per_s"
            and (b["unit"] == "images_per_s" or "relabelled" in b["note"])
        )
        normal = precisions[b["precision_as_written"]]
        assert b["precision"] in (normal, {"nvfp4": "mxfp4"}.get(normal)) or "relabelled" in b["note"]
    # "per card" values are multiplied by the number of cards.
    row = next(b for b in DATA["benchmarks.csv"] if b["unit_as_written"] == "tokens/s/GPU")
    written = re.search(r"as written ([\d.]+) per card", row["note"])
    assert written and float(row["value"]) == pytest.approx(float(written[1]) * int(row["gpu_count"]))


@pytest.mark.parametrize("name", ["gpu_aliases.csv", "model_aliases.csv"])
def test_aliases_are_unambiguous_or_say_so(name: str) -> None:
    ids = GPU_IDS if name.startswith("gpu") else set(MODELS)
    counted = Counter(normalise_name(a["name"]) for a in DATA[name])
    assert [k for k, n in counted.items() if n > 1] == []
    for alias in DATA[name]:
        candidates = [c for c in alias["candidates"].split("|") if c]
        assert set(candidates) <= ids
        assert (alias["target_id"] in ids) != (len(candidates) >= 2), alias
        # An id always means itself.
        assert normalise_name(alias["name"]) not in ids


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("RTX 4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("4090D", "rtx4090d"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("H20", "h20-96gb"),
        ("昇腾910B3", "ascend-910b3"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("4090 48G", "rtx4090-48gb-mod"),
        ("A100 80G", ""),
        ("RTX 3080", ""),
        ("910B", ""),
        ("RTX PRO 6000", ""),
    ],
)
def test_names_as_people_write_them(name: str, target: str) -> None:
    found = {normalise_name(a["name"]): a for a in DATA["gpu_aliases.csv"]}[normalise_name(name)]
    assert found["target_id"] == target


def test_hugging_face_names() -> None:
    names = {normalise_name(a["name"]): a["target_id"] for a in DATA["model_aliases.csv"]}
    assert names[normalise_name("Qwen/Qwen3-8B")] == "qwen3-8b"
    assert names[normalise_name("meta-llama/Llama-3.1-8B-Instruct")] == "llama-3.1-8b"


def kv_bytes_per_token(architecture: dict[str, Any]) -> int:
    """16-bit cache of one token over all layers: keys and values, or the latent of MLA."""
    if rank := architecture.get("kv_lora_rank"):
        return int(architecture["layers"] * (rank + architecture["qk_rope_head_dim"]) * 2)
    return int(2 * architecture["layers"] * architecture["kv_heads"] * architecture["head_dim"] * 2)


@pytest.mark.parametrize(
    ("model", "tokens", "gib"),
    [
        # 32 layers x 8 KV heads x 128: 128 KiB a token.
        ("llama-3.1-8b", 8192 * 16, 16.0),
        ("llama-2-7b", 4096, 2.0),
        # 61 layers x 576 latent elements: 70,272 bytes a token.
        ("deepseek-v3-671b", 1_000_000, 70_272e6 / GIB),
    ],
)
def test_kv_cache_from_the_dimensions(model: str, tokens: int, gib: float) -> None:
    assert kv_bytes_per_token(MODELS[model]["architecture"]) * tokens / GIB == pytest.approx(gib, rel=1e-6)


def test_parameter_counts() -> None:
    # Published to the parameter by keras-hub and torchvision.
    assert MODELS["llama-3.1-8b"]["parameters"] == 8_030_261_248
    assert MODELS["qwen3-8b"]["parameters"] == 8_190_735_360
    assert MODELS["resnet-50"]["parameters"] == 25_557_032
    assert MODELS["bert-large-uncased"]["parameters"] == 335_141_888
    for m in MODELS.values():
        assert 0 < m["active_parameters"] <= m["parameters"], m["id"]
        if m["parameters_published"]:
            # The widest stated difference is Mistral Nemo, 12.25 billion sold as 12 billion.
            assert m["parameters"] == pytest.approx(m["parameters_published"], rel=0.021) or m["id"] in (
                "inception-v3",
            ), m["id"]


def test_linear_state_of_qwen3_next() -> None:
    # 36 layers x (32 x 128 x 128 x 4 state + 3 x 8192 x 2 columns of the convolution) bytes.
    assert MODELS["qwen3-next-80b-a3b"]["architecture"]["linear_state_bytes"] == 36 * (2_097_152 + 49_152)


def test_servers_are_never_divided_and_flagged_prices_stay_out() -> None:
    servers = [p for p in DATA["prices.csv"] if p["per"] == "server-8"]
    assert servers
    # A maker's own name of an eight-card machine may come first.
    named = re.compile(r"8x|\bserver\b")
    assert all(named.search(p["name_as_written"]) and float(p["amount"]) > 150_000 for p in servers)
    cards = [p for p in DATA["prices.csv"] if p["per"] == "card"]
    assert not any(p["name_as_written"].startswith("8x") for p in cards)
    taiwan = [p for p in DATA["prices.csv"] if p["region"] == "TW"]
    assert taiwan
    assert {p["currency"] for p in taiwan} == {"TWD"}


def test_price_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    used = [p for p in DATA["prices.csv"] if not p["held"] and p["per"] == "card"]
    yuan = {p["gpu_id"] for p in used if p["currency"] == "CNY" and p["channel_kind"] != "launch"}
    fresh = {
        p["gpu_id"]
        for p in used
        if p["currency"] == "CNY" and p["channel_kind"] != "launch" and p["observed_on"] >= "2026-06-03"
    }
    foreign = {p["gpu_id"] for p in used if p["channel_kind"] != "launch"} - yuan
    launch = {p["gpu_id"] for p in used} - yuan - foreign
    with capsys.disabled():
        print(
            f"\nprice coverage: {len(yuan)} in yuan ({len(fresh)} fresh), {len(foreign)} foreign only, "
            f"{len(launch)} launch only, {len(GPU_IDS - yuan - foreign - launch)} none"
        )
    assert len(yuan) >= 50
    assert len(fresh) >= 20
    assert len(yuan | foreign) >= 85


def test_attributions_and_hygiene() -> None:
    licences = {s["id"]: s["licence"] for s in DATA["sources.csv"]}
    assert licences["frocloud-gpu-prices"] == "CC BY 4.0"
    readme = (SEED / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in readme
    hosts = ("py" + "pi.org", "python" + "hosted", "registry." + "npmjs", "deb." + "debian")
    for path in SEED.iterdir():
        assert f"{path.name}" in readme or path.name == "README.md", path.name
        text = path.read_text(encoding="utf-8")
        assert "\r" not in text, path.name
        assert not [host for host in hosts if host in text], path.name
        assert not re.search(r"(?<![\w/.])/(root|home|work|tmp)/", text), path.name
