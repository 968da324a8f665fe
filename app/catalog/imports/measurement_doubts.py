"""Measurements that no card can reach, or far from the others of the same model on the same card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.versions import table_of
from app.core.quotes import rough_ratio

Row = Mapping[str, Any]
Said = tuple[str, str, dict[str, Any]]
"""Field, code, parameters."""
ROOF_FACTOR = 2.0
"""Boost clocks, sparse kernels and shared prefixes explain less than twice the dense peak."""
NEIGHBOUR_FACTOR = 10.0
MIN_NEIGHBOURS = 3
FORWARD_FLOP_PER_PARAMETER = 2.0
TRAINING_FLOP_PER_PARAMETER = 4.0
"""The least that training can do: a forward pass, and a backward one through frozen weights."""
TRAINING_PASSES = 3.0
TOKENS, SAMPLES, IMAGES = "tokens_per_s", "samples_per_s", "images_per_s"


def measurement_doubts(connection: Connection, rows: Sequence[Row]) -> dict[int, Said]:
    """What speaks against measurements, by position; rows stored already are not doubted again.

    Notes
    -----
    Work of a token: 2 FLOP for each parameter it uses, at least 4 in training; of an image: 2 FLOP for each
    multiply-add, thrice in training. More of it than twice the best dense rate of all cards together is no
    throughput of this unit. Where the work is unknown, only the others of the same card, model, task, phase
    and unit judge: outside a tenth of their least and ten times their most, per card.
    """
    cards = sorted({row["gpu_id"] for row in rows})
    rates = _best_rates(connection, cards)
    models = {
        r.id: r._mapping
        for r in _where_in(connection, tables.ModelRow, "id", sorted({str(row["model_id"]) for row in rows}))
    }
    known: set[str] = set()
    stored: dict[tuple[str, ...], list[float]] = {}
    for r in _where_in(connection, tables.BenchmarkRow, "gpu_id", cards):
        known.add(r.id)
        if not r.flag and r.model_id:
            stored.setdefault(_series(r._mapping), []).append(r.value / r.gpu_count)
    found: dict[int, Said] = {}
    for at, row in enumerate(rows):
        if row["id"] in known or row.get("flag"):
            continue
        doubt = _above_roof(row, models.get(row["model_id"]), rates.get(row["gpu_id"]))
        doubt = doubt or _far_from(row, stored.get(_series(row), ()))
        if doubt:
            found[at] = doubt
    return found


def work_flop(row: Row, model: Row | None) -> float | None:
    """FLOP of one unit of a measurement at the least; None where the model or the unit does not say."""
    if model is None:
        return None
    training = row["task"] != "inference"
    architecture = model["architecture"]
    if row["unit"] == IMAGES and architecture.get("forward_macs"):
        passes = TRAINING_PASSES if training else 1.0
        size, reference = row.get("image_size"), architecture.get("image_size")
        area = (size / reference) ** 2 if size and isinstance(reference, (int, float)) else 1.0
        return float(2.0 * architecture["forward_macs"] * passes * area)
    per_parameter = TRAINING_FLOP_PER_PARAMETER if training else FORWARD_FLOP_PER_PARAMETER
    per_token = per_parameter * float(model["active_parameters"] or 0)
    if row["unit"] == TOKENS and model["family"] == "decoder":
        # A prompt that is stated makes a token of the answer no cheaper; it is left out on purpose.
        return per_token or None
    if row["unit"] == SAMPLES and model["family"] == "encoder" and row.get("sequence_length"):
        return per_token * float(row["sequence_length"]) or None
    return None


def _above_roof(row: Row, model: Row | None, best_tflops: float | None) -> Said | None:
    flop = work_flop(row, model)
    if flop is None or not best_tflops:
        return None
    ratio = row["value"] * flop / (best_tflops * 1e12 * row["gpu_count"])
    if ratio <= ROOF_FACTOR:
        return None
    return "value", "above_roofline", {"ratio": round(ratio, 1), "peak_tflops": round(best_tflops, 1)}


def _far_from(row: Row, others: Sequence[float]) -> Said | None:
    if not row["model_id"] or len(others) < MIN_NEIGHBOURS:
        return None
    value, low, high = row["value"] / row["gpu_count"], min(others), max(others)
    if low / NEIGHBOUR_FACTOR <= value <= high * NEIGHBOUR_FACTOR:
        return None
    usual = low if value < low else high
    return "value", "far_from_history", {"ratio": rough_ratio(value / usual), "usual": round(usual, 2)}


def _series(row: Row) -> tuple[str, ...]:
    return (row["gpu_id"], row["model_id"], row["task"], row["phase"], row["unit"])


def _best_rates(connection: Connection, cards: Sequence[str]) -> dict[str, float]:
    best: dict[str, float] = {}
    for r in _where_in(connection, tables.GpuFigureRow, "gpu_id", cards):
        if r.chosen and r.unit in ("TFLOPS", "TOPS"):
            best[r.gpu_id] = max(best.get(r.gpu_id, 0.0), r.value)
    return best


def _where_in(connection: Connection, row_class: Any, column: str, values: Sequence[str]) -> Iterable[Any]:
    table = table_of(row_class)
    for at in range(0, len(values), 500):
        yield from connection.execute(select(table).where(table.c[column].in_(values[at : at + 500])))
