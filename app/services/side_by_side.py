"""Chosen cards side by side: every figure with its provenance, and what 1000 yuan buy of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from app.catalog.snapshot import Snapshot
from app.core.faults import InputFault
from app.core.gpu import Gpu, PriceChoice, Source
from app.core.gpu_table import link_over_pcie
from app.services.cards import first_price, price_choices

MOST_CARDS = 6
MAX_NAME = 100
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
class Cell:
    """What one card has in one row: a number with its provenance, or words."""

    value: float | None = None
    basis: str = ""
    source: Source | None = None
    text: str = ""
    note: str = ""
    absent: bool = False
    """Whether the card is known not to have what the row asks for."""
    one_way: float | None = None
    """Of a link: GB/s in one direction."""
    over_pcie: float | None = None
    """Of a link: how many times as fast as the card's PCIe."""
    share: float | None = None
    """Length of the value on the row's scale from 0."""


@dataclass(frozen=True, slots=True)
class ComparedCard:
    """One column: a card and the price that it is compared at."""

    gpu: Gpu
    price: PriceChoice | None


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One line with a cell for each card, in their order."""

    row: Row
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Some cards in comparison."""

    cards: tuple[ComparedCard, ...]
    rows: tuple[ComparedRow, ...]
    condition: str

    def row(self, row_id: str) -> ComparedRow | None:
        """The line of an id, where it is shown."""
        return next((found for found in self.rows if found.row.id == row_id), None)


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


def side_by_side(snapshot: Snapshot, ids: Sequence[str], as_of: date, condition: str = "") -> SideBySide:
    """The comparison of some cards.

    Parameters
    ----------
    ids: ids of cards, in the order of the columns.
    as_of: the day whose prices count.
    condition: new, refurbished, used or modded; empty: for each card the one that counts first.

    Notes
    -----
    per 1000 yuan = 1000 x figure / yuan per card. Rates are dense, with fp32 accumulate. Prices of whole
    servers take no part. A card without a price has no such figure.
    """
    cards = tuple(
        ComparedCard(snapshot.gpu(gpu_id), price_of(snapshot, gpu_id, as_of, condition)) for gpu_id in ids
    )
    rows = []
    for row in ROWS:
        cells = [_cell(snapshot, card, row) for card in cards]
        known = [cell.value for cell in cells if cell.value is not None]
        if known or row.always or any(cell.text for cell in cells):
            top = max(known, default=0.0)
            shares = [cell.value / top if cell.value is not None and top > 0 else None for cell in cells]
            shown = tuple(replace(cell, share=part) for cell, part in zip(cells, shares, strict=True))
            rows.append(ComparedRow(row, shown))
    return SideBySide(cards, tuple(rows), condition)


def price_of(snapshot: Snapshot, gpu_id: str, as_of: date, condition: str = "") -> PriceChoice | None:
    """The price of a card that the comparison uses."""
    choices = price_choices(snapshot, gpu_id, as_of)
    return choices.get(condition) if condition else first_price(choices)


def _cell(snapshot: Snapshot, card: ComparedCard, row: Row) -> Cell:
    gpu, price = card.gpu, card.price
    if row.kind == "figure":
        return _figure(snapshot, gpu, row.id)
    if row.kind == "price":
        return Cell() if price is None else Cell(price.expected_cny, price.basis, price.source)
    if row.kind == "per_1000":
        name = row.id.removesuffix("_per_1000")
        figure = snapshot.figures(gpu.id).get(name)
        if figure is None or price is None or not price.expected_cny:
            return Cell(absent=figure is None and _is_absent(gpu, name))
        return Cell(1000 * figure.value / price.expected_cny, "derived")
    return _FACTS[row.id](snapshot, gpu)


def _figure(snapshot: Snapshot, gpu: Gpu, name: str) -> Cell:
    figure = snapshot.figures(gpu.id).get(name)
    if figure is None:
        return Cell(absent=_is_absent(gpu, name))
    found = Cell(figure.value, figure.basis, figure.source)
    if name == "link_gb_s":
        return replace(found, one_way=figure.value / 2, over_pcie=link_over_pcie(gpu))
    return found


def _is_absent(gpu: Gpu, name: str) -> bool:
    """Whether a missing figure means that the card does not have it, not that nobody stated it."""
    if name == "link_gb_s":
        return gpu.link.startswith("none")
    since = FORMAT_SINCE.get(name)
    try:
        return since is not None and gpu.vendor == "NVIDIA" and float(gpu.compute_capability) < since
    except ValueError:
        return False


def _words(gpu: Gpu, text: str, note: str = "") -> Cell:
    """Words of the card's own row, with where that was read."""
    return Cell(text=text, note=note, source=gpu.attributes.get("source"))


def _ecc(snapshot: Snapshot, gpu: Gpu) -> Cell:
    del snapshot
    found = _STATE.fullmatch(gpu.ecc)
    return _words(gpu, found[1], found[2] or "") if found else _words(gpu, gpu.ecc)


def _mig(snapshot: Snapshot, gpu: Gpu) -> Cell:
    figure = snapshot.figures(gpu.id).get("mig_instances")
    if figure is None:
        # The catalogue lists every card that has it, and only NVIDIA's may.
        return _words(gpu, "no")
    return Cell(text=str(int(figure.value)), source=figure.source, basis=figure.basis)


def _pcie(snapshot: Snapshot, gpu: Gpu) -> Cell:
    figure = snapshot.figures(gpu.id).get("pcie_gen")
    if figure is None:
        return Cell()
    lanes = f" × {gpu.pcie_lanes}" if gpu.pcie_lanes else ""
    return Cell(text=f"{figure.value:.1f}{lanes}", source=figure.source, basis=figure.basis)


_FACTS: Mapping[str, Callable[[Snapshot, Gpu], Cell]] = {
    "ecc": _ecc,
    "mig": _mig,
    "pcie": _pcie,
    "link": lambda _, gpu: _words(gpu, gpu.link),
    "memory_type": lambda _, gpu: _words(gpu, gpu.memory_type),
    "form_factor": lambda _, gpu: _words(gpu, gpu.form_factor),
    "launch_date": lambda _, gpu: _words(gpu, gpu.launch_date),
}
