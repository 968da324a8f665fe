"""Estimating the speed of every published measurement that it has not seen, and saying how far off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app import __version__
from app.catalog.snapshot import Snapshot
from app.core.calibration import installed
from app.core.speed.accuracy import Errors, SpeedAccuracy, speed_accuracy

Payload = dict[str, Any]
PARTS = ("report", "fit", "all")

BASIS_TARGETS: Mapping[str, tuple[float, float]] = {
    "published_same_source": (0.05, 0.20),
    "published_other_source": (0.12, 0.45),
    "card_unseen": (0.13, 0.40),
    "model_unseen": (0.20, 0.80),
    "neither_seen": (0.22, 0.90),
}
"""|ln(measured / estimated)| at the median and the 90th percentile that is aimed at."""
CLASS_TARGETS: Mapping[str, tuple[float, float]] = {
    "cnn_training": (0.13, 0.35),
    "cnn_inference_classifiers": (0.15, 0.45),
    "encoder_training": (0.15, 0.45),
    "encoder_inference": (0.12, 0.30),
    "decoder_training": (0.09, 0.30),
    "moe_training": (0.40, 1.00),
    "decode": (0.10, 0.35),
    "decode_moe": (0.35, 0.90),
    "prefill": (0.10, 0.35),
    "serving": (0.10, 0.55),
    "diffusion": (0.12, 0.35),
}
SIGNED_TARGET = 0.08
WITHIN_TARGET = 0.80
INTERVAL_TARGET = {"all": (0.75, 0.88), "each": (0.70, 0.92)}
SCALING_TARGET = {"median": 5.0, "p90": 17.0, "bias": 3.0}
RANK_TARGET = {"median": 0.97, "tenth": 0.90, "lost": 0.05}
FLOOR = {"between_sources": (0.11, 0.40), "within_a_source": (0.035, 0.18)}
"""How far measurements of one key are from each other."""
PEERS: tuple[Mapping[str, Any], ...] = (
    {"tool": "gpu_poor", "class": "decode", "median": 0.62, "p90": 1.98},
    {"tool": "llm-analysis", "class": "decode", "median": 0.85, "p90": 1.58},
    {"tool": "ridgepoint", "class": "decode", "median": 0.29, "p90": 2.12},
    {"tool": "gpu_poor", "class": "prefill", "median": 1.63, "p90": 3.80},
    {"tool": "llm-analysis", "class": "prefill", "median": 1.71, "p90": 4.34},
    {"tool": "ridgepoint", "class": "prefill", "median": 0.56, "p90": 1.28},
    {"tool": "gpu_poor", "class": "decoder_training", "median": 0.52, "p90": 4.43},
    {"tool": "llm-analysis", "class": "decoder_training", "median": 1.11, "p90": 2.51},
)
"""The same measure for other calculators, on the same measurements."""


def speed_report(snapshot: Snapshot, part: str = "report") -> Payload:
    """The accuracy of the speed estimates as /method shows it and the API answers; half a minute of work.

    Parameters
    ----------
    snapshot: the catalogue, whose benchmarks are estimated.
    part: "report" is what may be quoted, "fit" what constants were read from; "all": both together.

    Returns
    -------
    Errors by basis and by class, intervals, ranks of cards, scaling, targets, peers, and every constant with
    the fitted rows behind it. Errors are |ln(measured / estimated)|; 0.10 is about 10 %.
    """
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    found = speed_accuracy(snapshot.benchmarks, models, snapshot.gpus, part)
    return {
        "part": part,
        "bases": _rows(found.by_basis, "basis", BASIS_TARGETS),
        "classes": _rows(found.by_class, "class", CLASS_TARGETS),
        "model_alone": _rows(found.model_alone, "class", {}),
        "intervals": _intervals(found),
        "ranks": {**_finite(asdict(found.ranks)), "target": RANK_TARGET},
        "scaling": {**_finite(asdict(found.scaling)), "target": SCALING_TARGET},
        "limits": {"signed": SIGNED_TARGET, "within": WITHIN_TARGET},
        "floor": FLOOR,
        "peers": [dict(peer) for peer in PEERS],
        "constants": _constants(),
        "cases": {"total": found.rows, "expressed": found.expressed},
        "versions": {"engine": __version__, "catalog": snapshot.version},
    }


def _rows(
    found: Mapping[str, Errors], name: str, targets: Mapping[str, tuple[float, float]]
) -> list[Payload]:
    rows = []
    for key, errors in found.items():
        target = targets.get(key)
        aim = {"median": target[0], "p90": target[1]} if target else None
        rows.append({name: key, **asdict(errors), "target": aim})
    return rows


def _constants() -> list[Payload]:
    """Every constant of the table, with what is known of it; `rows` count those of the fitted half."""
    return [
        {
            "constant": entry.label,
            "value": entry.value,
            "unit": entry.unit,
            "class": entry.valid_for[0],
            "valid_for": list(entry.valid_for),
            "rows": entry.n,
            "spread": entry.spread,
            "method": entry.kind,
            "sources": list(entry.sources),
            "read_on": entry.read_on or None,
        }
        for entry in installed().entries.values()
    ]


def _intervals(found: SpeedAccuracy) -> list[Payload]:
    rows = []
    for basis, errors in found.intervals.items():
        low, high = INTERVAL_TARGET["all" if basis == "all" else "each"]
        rows.append(
            {"basis": basis, "n": errors.n, "inside": errors.inside, "target": {"low": low, "high": high}}
        )
    return rows


def _finite(values: Mapping[str, Any]) -> Payload:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
