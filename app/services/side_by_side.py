"""Chosen cards side by side: every figure with its provenance, and what 1000 yuan buy of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.gpu import Gpu, PriceChoice
from app.core.gpu_table import link_over_pcie
from app.core.question import CONDITIONS, PriceRules
from app.services import payload
from app.services.payload import Payload, gpu_label, number
from app.services.provenance import price_provenance

MOST_CARDS = 6
MAX_NAME = 100
# Fresh before stale, then in this order: the same price as the card list shows.
CONDITION_ORDER = ("new", "refurbished", "used", "modded")
_STATE = re.compile(r"(yes|no|optional)(?: \((.+)\))?")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison."""

    id: str
    group: str
    """memory, compute, board, price, value."""
    kind: str
    """figure: a number of the catalogue; fact: its words; price; per_1000: a figure over the price."""
    unit: str = ""
    always: bool = False
    """Whether it stays when no card has it: that nobody has it is an answer too."""


RATE_ROWS = (
    ("fp64_tflops", "TFLOPS"),
    ("fp32_tflops", "TFLOPS"),
    ("tf32_tflops", "TFLOPS"),
    ("fp16_tflops", "TFLOPS"),
    ("bf16_tflops", "TFLOPS"),
    ("fp8_tflops", "TFLOPS"),
    ("fp4_tflops", "TFLOPS"),
    ("int8_tops", "TOPS"),
    ("int4_tops", "TOPS"),
)
VALUE_RATES = (
    "fp32_tflops",
    "tf32_tflops",
    "fp16_tflops",
    "bf16_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "int8_tops",
)
"""Rates of which people buy: those of training and inference."""
FORMAT_SINCE = {"tf32_tflops": 8.0, "bf16_tflops": 8.0, "fp8_tflops": 8.9, "fp4_tflops": 10.0}
"""Compute capability of NVIDIA's first cards with the format in hardware."""
ROWS: tuple[Row, ...] = (
    Row("memory_gib", "memory", "figure", "GiB", True),
    Row("usable_gib", "memory", "figure", "GiB", True),
    Row("bandwidth_gb_s", "memory", "figure", "GB/s", True),
    Row("memory_type", "memory", "fact"),
    Row("ecc", "memory", "fact", always=True),
    *(Row(name, "compute", "figure", unit) for name, unit in RATE_ROWS),
    Row("link", "board", "fact", always=True),
    Row("link_gb_s", "board", "figure", "GB/s"),
    Row("pcie", "board", "fact"),
    Row("mig", "board", "fact", always=True),
    Row("tdp_w", "board", "figure", "W", True),
    Row("form_factor", "board", "fact"),
    Row("launch_date", "board", "fact"),
    Row("price", "price", "price", always=True),
    *(Row(f"{name}_per_1000", "value", "per_1000", unit) for name, unit in RATE_ROWS if name in VALUE_RATES),
    Row("memory_gib_per_1000", "value", "per_1000", "GiB", True),
    Row("bandwidth_gb_s_per_1000", "value", "per_1000", "GB/s", True),
)
ROW_BY_ID: Mapping[str, Row] = {row.id: row for row in ROWS}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The cards of an address, and the names in it that lead to none."""

    ids: tuple[str, ...]
    faults: tuple[InputFault, ...]
    too_many: int
    """How many were left out."""


def choose(snapshot: Snapshot, names: Sequence[str]) -> Chosen:
    """Cards by any known name, each once, six at most."""
    ids: list[str] = []
    faults = []
    wanted = [name.strip()[:MAX_NAME] for name in names if name.strip()]
    for name in wanted[: 4 * MOST_CARDS]:
        try:
            found = snapshot.resolve_gpu(name, "/gpus")
        except InputFault as fault:
            faults.append(fault)
        else:
            if found not in ids:
                ids.append(found)
    return Chosen(tuple(ids[:MOST_CARDS]), tuple(faults), max(0, len(ids) - MOST_CARDS))


def side_by_side(snapshot: Snapshot, ids: Sequence[str], as_of: date, condition: str = "") -> Payload:
    """The comparison of some cards.

    Parameters
    ----------
    ids: ids of cards, in the order of the columns.
    as_of: the day whose prices count.
    condition: new, refurbished, used or modded; empty: for each card the one that counts first.

    Returns
    -------
    {cards, rows, as_of, condition, versions}; a row has one cell for each card, in the order of the cards:
    {value, basis, source, text, note, share, absent}; `share` is the length of its value on the row's scale
    from 0, `absent` is true where the card is known not to have what the row asks for.

    Notes
    -----
    per 1000 yuan = 1000 x figure / yuan per card. Rates are dense, with fp32 accumulate. Prices of whole
    servers take no part. A card without a price has no such figure.
    """
    gpus = [snapshot.gpu(gpu_id) for gpu_id in ids]
    prices = {gpu.id: price_of(snapshot, gpu.id, as_of, condition) for gpu in gpus}
    rows = []
    for row in ROWS:
        cells = [_cell(snapshot, gpu, row, prices[gpu.id]) for gpu in gpus]
        known = [cell["value"] for cell in cells if cell["value"] is not None]
        if not known and not row.always and not any(cell["text"] for cell in cells):
            continue
        top = max(known, default=0.0)
        for cell in cells:
            cell["share"] = cell["value"] / top if cell["value"] is not None and top > 0 else None
        rows.append({"id": row.id, "group": row.group, "kind": row.kind, "unit": row.unit, "cells": cells})
    return {
        "cards": [
            {
                "id": gpu.id,
                "label": gpu_label(gpu),
                "vendor": gpu.vendor,
                "architecture": gpu.architecture,
                "price": payload.price(choice) if (choice := prices[gpu.id]) else None,
            }
            for gpu in gpus
        ],
        "rows": rows,
        "as_of": as_of.isoformat(),
        "condition": condition,
        "versions": payload.versions(snapshot.version),
    }


def price_of(snapshot: Snapshot, gpu_id: str, as_of: date, condition: str = "") -> PriceChoice | None:
    """The price of a card that the comparison uses."""
    choices = snapshot.price_choices(as_of, PriceRules(), CONDITIONS)
    if condition:
        return choices.get((gpu_id, condition))
    found = [choices[gpu_id, c] for c in CONDITION_ORDER if (gpu_id, c) in choices]
    return min(found, key=lambda choice: choice.stale, default=None)


def _cell(snapshot: Snapshot, gpu: Gpu, row: Row, price: PriceChoice | None) -> Payload:
    if row.kind == "figure":
        return _figure(snapshot, gpu, row.id)
    if row.kind == "price":
        return _body(
            None if price is None else price.amount_cny,
            basis="" if price is None else price_provenance(price)["basis"],
            source=None if price is None else payload.source(price.source),
        )
    if row.kind == "per_1000":
        figure = snapshot.figures(gpu.id).get(row.id.removesuffix("_per_1000"))
        if figure is None or price is None or not price.amount_cny:
            return _body(None, absent=figure is None and _is_absent(gpu, row.id.removesuffix("_per_1000")))
        return _body(1000 * figure.value / price.amount_cny, basis="derived")
    return _FACTS[row.id](snapshot, gpu)


def _body(value: float | None, **more: Any) -> Payload:
    empty = {"basis": "", "source": None, "text": "", "note": "", "absent": False}
    return {"value": number(value), **empty, **more}


def _figure(snapshot: Snapshot, gpu: Gpu, name: str) -> Payload:
    figure = snapshot.figures(gpu.id).get(name)
    if figure is None:
        return _body(None, absent=_is_absent(gpu, name))
    more: Payload = {"basis": figure.basis, "source": payload.source(figure.source)}
    if name == "link_gb_s":
        more["one_way"] = number(figure.value / 2)
        more["over_pcie"] = number(link_over_pcie(gpu))
    return _body(figure.value, **more)


def _is_absent(gpu: Gpu, name: str) -> bool:
    """Whether a missing figure means that the card does not have it, not that nobody stated it."""
    if name == "link_gb_s":
        return gpu.link.startswith("none")
    since = FORMAT_SINCE.get(name)
    try:
        return since is not None and gpu.vendor == "NVIDIA" and float(gpu.compute_capability) < since
    except ValueError:
        return False


def _said(gpu: Gpu, text: str, note: str = "") -> Payload:
    """Words of the card's own row, with where that was read."""
    return _body(None, text=text, note=note, source=payload.source(gpu.attributes.get("source")))


def _ecc(snapshot: Snapshot, gpu: Gpu) -> Payload:
    del snapshot
    found = _STATE.fullmatch(gpu.ecc)
    return _said(gpu, found[1], found[2] or "") if found else _said(gpu, gpu.ecc)


def _mig(snapshot: Snapshot, gpu: Gpu) -> Payload:
    figure = snapshot.figures(gpu.id).get("mig_instances")
    if figure is None:
        # The catalogue lists every card that has it, and only NVIDIA's may.
        return _said(gpu, "no")
    return _body(None, text=str(int(figure.value)), source=payload.source(figure.source), basis=figure.basis)


def _pcie(snapshot: Snapshot, gpu: Gpu) -> Payload:
    figure = snapshot.figures(gpu.id).get("pcie_gen")
    if figure is None:
        return _body(None)
    lanes = f" × {gpu.pcie_lanes}" if gpu.pcie_lanes else ""
    source = payload.source(figure.source)
    return _body(None, text=f"{figure.value:.1f}{lanes}", source=source, basis=figure.basis)


_FACTS: Mapping[str, Callable[[Snapshot, Gpu], Payload]] = {
    "ecc": _ecc,
    "mig": _mig,
    "pcie": _pcie,
    "link": lambda _, gpu: _said(gpu, gpu.link),
    "memory_type": lambda _, gpu: _said(gpu, gpu.memory_type),
    "form_factor": lambda _, gpu: _said(gpu, gpu.form_factor),
    "launch_date": lambda _, gpu: _said(gpu, gpu.launch_date),
}
