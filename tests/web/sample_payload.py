"""An answer in the shape of the contract, with figures of the design's mock-up, for templates and charts."""

from __future__ import annotations

from typing import Any

from app.services.answers import load
from app.services.results import ShortlistAnswer

PARTS = (
    ("weights", 27.51, "exact", "memory.weights"),
    ("kv_cache", 10.0, "exact", "memory.kv_cache"),
    ("activations", 1.3, "calibrated", "memory.activations"),
    ("engine", 0.8, "calibrated", "memory.engine"),
    ("context", 0.5, "measured", "memory.context"),
    ("fragmentation", 0.4, "assumed", "memory.fragmentation"),
)
# id, name, count, condition, usable, speed, price, kind of price, age, total, TFLOPS
ROWS = (
    ("l20", "L20", 1, "new", 45.0, 127.0, 29800.0, "quote", 3, 36908.0, 119.5),
    ("rtx4090d", "RTX 4090 D", 2, "new", 23.5, 264.0, 17959.0, "listing", None, 46546.0, 147.1),
    ("rtx4090", "RTX 4090", 2, "used", 23.5, 272.0, 19620.0, "asking", 112, 49438.0, 165.2),
    ("rtx5090dv2", "RTX 5090 D V2", 2, "used", 23.4, 331.0, 22395.0, "asking", 112, 54593.0, None),
    ("rtx5090", "RTX 5090", 2, "used", 31.8, 427.0, 32378.0, "asking", 112, 69271.0, 209.5),
    ("a100-pcie-80gb", "A100 PCIe 80 GB", 1, "new", 79.3, 215.0, 89000.0, "article", 560, 86033.0, 312.0),
    ("h20", "H20", 1, "new", 95.6, 365.0, 136250.0, "retail", 139, 111511.0, 148.0),
)


def sample_option(rank: int, row: tuple[Any, ...]) -> dict[str, Any]:
    """One option of the sample."""
    gpu, name, count, condition, usable, speed, price, kind, age, total, tflops = row
    parts = [
        {
            "part": part,
            "gib": gib / count if part in ("weights", "kv_cache") else gib,
            "basis": basis,
            "formula": formula,
        }
        for part, gib, basis, formula in PARTS
    ]
    expected = sum(float(str(part["gib"])) for part in parts)
    need = {"low": expected - 1.5, "expected": expected, "high": expected + 2.2}
    margin = usable - expected
    verdict = "fits" if need["high"] <= usable else "tight" if margin >= 0 else "does_not_fit"
    per_1000 = None if tflops is None else round(1000 * tflops / price, 4)
    return {
        "rank": rank,
        "label": f"{count}\u00a0\u00d7\u00a0{name}",
        "gpu": {"id": gpu, "name": name, "vendor": "NVIDIA"},
        "count": count,
        "condition": condition,
        "plan": {"data": 1, "tensor": count, "pipeline": 1, "expert": 1, "zero_stage": 0},
        "fit": {
            "verdict": verdict,
            "usable_gib": usable,
            "margin_gib": margin,
            "max_batch_size": 11,
            "max_sequence_length": 11800,
        },
        "memory": {
            "per_gpu_gib": need,
            "allocated_gib": need,
            "reserved_gib": need,
            "kv_reserved_gib": 10.0,
            "kv_bytes_per_token": 163840,
            "parts": parts,
            "interval": "5th, 50th and 95th percentile",
        },
        "speed": {
            "low": speed * 0.88,
            "expected": speed,
            "high": speed * 1.12,
            "unit": "tokens_per_s",
            "basis": "calibrated",
            "bound": "bandwidth",
            "phase": "decode",
            "steps_per_s": speed / 8,
            "detail": {"bandwidth_gb_s": 864.0, "factor": 0.74},
            "sources": [],
            "interval": "10th, 50th and 90th percentile",
        },
        "price": {
            "amount": price,
            "currency": "CNY",
            "amount_cny": price,
            "per": "card",
            "condition": condition,
            "tax": "included",
            "region": "CN",
            "channel": "Xianyu",
            "channel_kind": kind,
            "observed_on": "2026-11-27" if age == 3 else "2026-08-10" if age else "2025",
            "age_days": age,
            "ageing": bool(age and 91 <= age <= 180),
            "stale": age is None or age > 180,
            "converted": False,
            "n": 1,
            "low_cny": price,
            "high_cny": price,
            "source": {"id": "xianyu", "url": "https://example.org/x", "title": "Xianyu listings"},
            "kind": "quote" if kind == "quote" else "observation",
            "variant_assumed": False,
            "rate": None,
            "rate_on": "",
            "rate_old": False,
            "note": "",
            "observation_ids": ["abc"],
        },
        "cost": {
            "purchase_cny": price * count,
            "host_cny": 9000.0 * count,
            "energy_cny": 4068.0,
            "residual_cny": price * count * 0.2,
            "total_cny": total,
            "per_hour_cny": total / 15768,
            "per_unit": {"amount_cny": total / 7194, "unit": "million_tokens"},
            "energy_kwh": 5085.0,
            "months": 36.0,
            "work_hours": None,
        },
        "metrics": {
            "precision": "bf16",
            "peak_tflops": None if tflops is None else tflops * count,
            "sustained_tflops": None if tflops is None else tflops * count * 0.3,
            "peak_tflops_per_1000_cny": per_1000,
            "sustained_tflops_per_1000_cny": None if per_1000 is None else per_1000 * 0.3,
            "gib_per_1000_cny": 1000 * usable / price,
            "gb_s_per_1000_cny": 28.9,
        },
        "reasons": [{"code": "on_pareto_front", "params": {}}],
        "flags": [] if verdict == "fits" else [{"code": "tight", "params": {}}],
        "robustness": {
            "share_first": 0.88 if rank == 1 else 0.02,
            "draws": 10000,
            "seed": 1,
            "flips": [
                {
                    "factor": "price",
                    "now": 29800.0,
                    "at": 41800.0,
                    "distance": 0.4027,
                    "winner": "2 \u00d7 RTX 4090 D",
                },
                {
                    "factor": "context",
                    "now": 8192.0,
                    "at": 11800.0,
                    "distance": 0.44,
                    "winner": "2 \u00d7 RTX 5090",
                },
                {
                    "factor": "rival_price",
                    "now": 17959.0,
                    "at": 11900.0,
                    "distance": -0.337,
                    "winner": "2 \u00d7 RTX 4090 D",
                },
                {"factor": "electricity", "now": 0.8, "at": None, "distance": None, "winner": ""},
            ]
            if rank == 1
            else [],
        },
    }


def sample_answer(body: dict[str, Any] | None = None) -> ShortlistAnswer:
    """The sample, or a changed copy of it, as it is read from the store."""
    return load(ShortlistAnswer, body or sample_body())


def sample_body() -> dict[str, Any]:
    """A fresh copy of the sample as the first version of the program stored it."""
    return {
        "question": {
            "workload": {"model": {"preset": "qwen3-14b"}, "task": "inference"},
            "model": {
                "id": "qwen3-14b",
                "name": "Qwen3 14B",
                "family": "decoder",
                "parameters": 14.8e9,
                "active_parameters": 14.8e9,
            },
            "counts": [1, 2],
            "objective": "total_cost",
            "limit": 10,
            "filters": {"conditions": ["new", "used", "refurbished"], "max_cards_per_host": 8},
            "economics": {"months": 36},
            "price_rules": {"max_age_days": 180},
            "as_of": "2026-11-30",
        },
        "options": [sample_option(rank, row) for rank, row in enumerate(ROWS, 1)],
        "rejected": [
            {
                "gpu": {"id": "rtx4090", "name": "GeForce RTX 4090", "vendor": "NVIDIA"},
                "label": "1\u00a0\u00d7\u00a0RTX 4090",
                "count": 1,
                "code": "memory",
                "text": {
                    "code": "rejected_memory_unknown",
                    "params": {"gpu": "GeForce RTX 4090", "count": 1},
                },
                "shortfall_gib": 17.0,
                "remedy": {
                    "code": "weights_awq",
                    "text": {"code": "remedy_weights_awq", "params": {"cards": 1}},
                    "change": {"workload.precision": "awq", "workload.kv_precision": "fp8"},
                },
            },
            {
                "gpu": {"id": "rtx3090", "name": "GeForce RTX 3090", "vendor": "NVIDIA"},
                "label": "2\u00a0\u00d7\u00a0RTX 3090",
                "count": 2,
                "code": "unpriced",
                "text": {"code": "rejected_unpriced", "params": {}},
            },
        ],
        "pareto": [{"rank": 1}, {"rank": 2}, {"rank": 3}, {"rank": 4}, {"rank": 5}],
        "feasible": 7,
        "assumptions": [
            {"field": "months", "value": 36, "why": {"code": "default_months", "params": {"value": 36}}},
            {"field": "residual", "value": 0.2, "why": {"code": "default_residual", "params": {}}},
        ],
        "advice": [],
        "warnings": [],
        "as_of": "2026-11-30",
        "versions": {"engine": "0.1.0", "catalog": "2026.11.3"},
    }
