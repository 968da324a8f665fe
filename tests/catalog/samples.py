"""Small rows and a small, complete seed that tests change where they need to."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from app.catalog.rates import ExchangeRate, Rates
from app.catalog.records import PriceObservation, Quote
from app.core.gpu import Source

SOURCE = Source("shop", "https://example.org/shop", "A shop", kind="listing", read_on="2026-11-30")


def price(amount: float, observed_on: str, **changes: Any) -> PriceObservation:
    """One observation of one card; its id says what it is."""
    values: dict[str, Any] = {
        "id": f"{amount:g}@{observed_on}",
        "gpu_id": "rtx4090",
        "condition": "new",
        "currency": "CNY",
        "region": "CN",
        "channel": "JD",
        "channel_kind": "retail",
        "source": SOURCE,
    }
    return PriceObservation(amount=amount, observed_on=observed_on, **(values | changes))


def quote(unit_price: float, quoted_on: str, valid_until: str, **changes: Any) -> Quote:
    """One supplier's quote for the same card."""
    values: dict[str, Any] = {"id": f"q{unit_price:g}", "gpu_id": "rtx4090", "supplier": "Supplier"}
    return Quote(unit_price=unit_price, quoted_on=quoted_on, valid_until=valid_until, **(values | changes))


def dollar_rates(*rows: tuple[str, float]) -> Rates:
    """Rates of the dollar in yuan by day."""
    return Rates(ExchangeRate("USD", "CNY", rate, day, id=day) for day, rate in rows)


def sample_seed() -> dict[str, list[dict[str, Any]]]:
    """Rows of a seed with two cards and one model, by file name."""
    figures = [
        ("rtx4090", "memory_gib", "24", "GiB", "exact", ""),
        ("rtx4090", "driver_total_gib", "23.99", "GiB", "measured", ""),
        ("rtx4090", "usable_gib", "23.6", "GiB", "measured", ""),
        ("rtx4090", "bandwidth_gb_s", "1008", "GB/s", "exact", ""),
        ("rtx4090", "memory_bus_bits", "384", "bit", "exact", ""),
        ("rtx4090", "memory_rate_gbps", "21", "Gbit/s", "exact", ""),
        ("rtx4090", "shader_cores", "16384", "1", "exact", ""),
        ("rtx4090", "boost_clock_mhz", "2520", "MHz", "exact", ""),
        ("rtx4090", "fp32_tflops", "82.6", "TFLOPS", "derived", "2 x cores x boost"),
        ("rtx4090", "fp16_tflops", "165.2", "TFLOPS", "exact", ""),
        ("rtx4090", "bf16_tflops", "165.2", "TFLOPS", "exact", ""),
        ("rtx4090", "fp8_tflops", "330.3", "TFLOPS", "exact", ""),
        ("rtx4090", "tdp_w", "450", "W", "exact", ""),
        ("rtx4090", "pcie_gen", "4", "1", "exact", ""),
        ("rtx4090", "pcie_lanes", "16", "1", "exact", ""),
        ("t4", "memory_gib", "16", "GiB", "exact", ""),
        ("t4", "driver_total_gib", "15", "GiB", "measured", ""),
        ("t4", "fp16_tflops", "65.1", "TFLOPS", "exact", ""),
        ("t4", "link_gb_s", "32", "GB/s", "exact", ""),
        ("t4", "mig_instances", "7", "1", "exact", ""),
    ]
    names = ("gpu_id", "figure", "value", "unit", "basis", "formula")
    rate = {"base": "USD", "quote": "CNY", "source_id": "shop"}
    money = {
        "source_id": "shop",
        "condition": "new",
        "channel": "JD",
        "channel_kind": "retail",
        "region": "CN",
    }
    bench = {"gpu_count": "1", "task": "training", "unit": "images_per_s", "source_id": "shop"}
    return {
        "sources.csv": [
            {
                "id": "shop",
                "url": "https://example.org/shop",
                "title": "A shop",
                "kind": "listing",
                "read_on": "2026-11-30",
            }
        ],
        "gpus.csv": [
            {
                "id": "rtx4090",
                "name": "GeForce RTX 4090",
                "vendor": "NVIDIA",
                "architecture": "Ada Lovelace",
                "has_tensor_cores": "true",
                "half_rate_fp32_accumulate": "true",
                "die": "AD102",
                "launch_date": "2022-10-12",
                "source_id": "shop",
            },
            {"id": "t4", "name": "T4", "vendor": "NVIDIA", "architecture": "Turing", "source_id": "shop"},
        ],
        "gpu_figures.csv": [
            dict(zip(names, row, strict=True))
            | {"source_id": "shop", "as_of": "2026-11-30", "chosen": "true"}
            for row in figures
        ],
        "gpu_aliases.csv": [
            {"name": "RTX 4090", "target_id": "rtx4090", "candidates": ""},
            {"name": "GeForce", "target_id": "", "candidates": "rtx4090|t4"},
        ],
        "models.jsonl": [
            {
                "id": "llama-3.1-8b",
                "name": "Llama 3.1 8B",
                "family": "decoder",
                "series": "Llama",
                "hf_repo": "meta-llama/Llama-3.1-8B",
                "parameters": 8030261248,
                "active_parameters": 8030261248,
                "architecture": {"layers": 32, "hidden_size": 4096, "attention_heads": 32, "kv_heads": 8},
                "source_id": "shop",
                "as_of": "2026-11-30",
            }
        ],
        "model_aliases.csv": [{"name": "Llama 8B", "target_id": "llama-3.1-8b", "candidates": ""}],
        "prices.csv": [
            money | {"gpu_id": "rtx4090", "amount": "14999", "currency": "CNY", "observed_on": "2026-11-01"},
            money | {"gpu_id": "t4", "amount": "700", "currency": "USD", "observed_on": "2026-10"},
        ],
        "rentals.csv": [
            {
                "gpu_id": "rtx4090",
                "provider": "Cloud",
                "gpu_count": "8",
                "currency": "CNY",
                "per_hour": "16",
                "per_gpu_hour": "2",
                "region": "CN",
                "observed_on": "2026-11-02",
                "source_id": "shop",
            }
        ],
        "rates.csv": [rate | {"rate": "7.1", "observed_on": "2026-10-31"}],
        "benchmarks.csv": [
            bench | {"gpu_id": "rtx4090", "value": "950", "model_as_written": "resnet50"},
            bench
            | {
                "gpu_id": "t4",
                "value": "12.5",
                "unit": "tokens_per_s",
                "task": "inference",
                "model_id": "llama-3.1-8b",
                "precision": "fp16",
            },
        ],
        "framework_support.jsonl": [
            {
                "framework": "tensorflow",
                "version": "2.15.0",
                "support": {"sm_89": "native"},
                "source_id": "shop",
            }
        ],
        "availability.csv": [
            {
                "gpu_id": "rtx4090",
                "region": "CN",
                "from": "2023-11-17",
                "until": "",
                "status": "restricted",
                "text": "export rule",
                "text_zh": "出口规则",
                "source_id": "shop",
            }
        ],
        "gpu_facts.csv": [
            {
                "gpu_id": "rtx4090",
                "fact": "driver_min_linux",
                "value": "520.61.05",
                "basis": "derived",
                "source_id": "shop",
                "as_of": "2026-11-30",
                "formula": "driver of CUDA 11.8",
                "note": "",
            },
            {
                "gpu_id": "t4",
                "fact": "cooling",
                "value": "passive",
                "basis": "exact",
                "source_id": "shop",
                "as_of": "2026-11-30",
                "formula": "",
                "note": "",
            },
        ],
        "lint_exceptions.csv": [],
    }


def write_seed(folder: Path, rows: dict[str, list[dict[str, Any]]] | None = None) -> Path:
    """Write a seed folder; the sample where no rows are given."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (rows or sample_seed()).items():
        if name.endswith(".jsonl"):
            text = "".join(json.dumps(record) + "\n" for record in records)
            (folder / name).write_text(text, encoding="utf-8")
            continue
        headers = list(dict.fromkeys(key for record in records for key in record))
        if name == "lint_exceptions.csv" and not headers:
            headers = ["rule", "gpu_id", "figure", "reason"]
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, headers, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
    return folder
