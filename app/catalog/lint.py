"""Lint rules: what cannot be right on physical, published or historical grounds, in rows or a database."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any

from sqlalchemy import Connection, Engine, select

from app.catalog import tables
from app.catalog.columns import KINDS
from app.catalog.db import reading
from app.catalog.imports.references import read_rates
from app.catalog.rates import HOME
from app.catalog.records import LAUNCH, PER_CARD, effective_date
from app.catalog.versions import table_of
from app.resources import resource_path

RULES = (
    "dense_ratio",
    "fp8_ratio",
    "fp32_rate",
    "bandwidth",
    "memory_size",
    "price_history",
    "currency",
    "rent_share",
    "known_deviation",
    "export_limits",
    "provenance",
)

# fp16 with fp32 accumulate over fp32 vector, (full-rate parts, GeForce parts with the halved rate): FLOP per
# clock of the vendors' published architectures. A sparse headline in the place of a dense one doubles it.
DENSE_OVER_FP32: Mapping[str, tuple[float, float]] = {
    "Volta": (8, 8),
    "Turing": (8, 4),
    "Ampere GA100": (16, 16),
    "Ampere GA10x": (4, 2),
    "Ada Lovelace": (4, 2),
    "Hopper": (14.8, 14.8),
    "Blackwell (GB20x)": (4, 2),
    "Blackwell (GB100)": (30, 30),
    "Blackwell Ultra (GB300)": (30, 30),
    "CDNA 1": (8, 8),
    "CDNA 2": (8, 8),
    "CDNA 3": (8, 8),
    "CDNA 4": (16, 16),
    "RDNA 2": (2, 2),
    "RDNA 3": (2, 2),
    "RDNA 4": (4, 4),
    "Xe2-HPG": (8, 8),
}
INT8_OVER_FP16: Mapping[str, tuple[float, float]] = {
    "Turing": (2, 4),
    "Ampere GA100": (2, 2),
    "Ampere GA10x": (2, 4),
    "Ada Lovelace": (2, 4),
    "Hopper": (2, 2),
    "Blackwell (GB20x)": (2, 4),
    "Blackwell (GB100)": (2, 2),
    "CDNA 2": (1, 1),
    "CDNA 3": (2, 2),
    "CDNA 4": (2, 2),
    "RDNA 2": (2, 2),
    "RDNA 3": (1, 1),
    "RDNA 4": (2, 2),
    "Xe2-HPG": (2, 2),
}
TF32_OVER_FP16 = 0.5
TF32_ARCHITECTURES = ("Ampere", "Ada", "Hopper", "Blackwell", "CDNA 3")
FP8_ARCHITECTURES = ("Ada", "Hopper", "Blackwell", "RDNA 4", "CDNA 3", "CDNA 4")
FOUR_PER_CLOCK = ("RDNA 3", "RDNA 4", "CDNA 3", "CDNA 4")
"""Dual issue: four operations per shader and clock in place of two."""
NO_SHADER_RULE = ("MLUarch", "Da Vinci", "TPU", "XPU", "Gaudi", "NeuronCore")
RATIO_TOLERANCE = 0.15
FP8_TOLERANCE = 0.03
FP32_TOLERANCE = 0.03
BANDWIDTH_TOLERANCE = 0.02
KNOWN_MEMORY_GIB = frozenset(
    (4, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 40, 48, 64, 72, 80, 94, 96, 128, 141, 144, 180, 192, 256, 288)
)
# The fastest grade of each kind that anybody sells [Gbit/s per pin]; the first prefix that matches counts.
FASTEST_PIN = (
    ("HBM4", 11.0),
    ("HBM3E", 9.8),
    ("HBM3", 6.8),
    ("HBM2E", 3.7),
    ("HBM2", 2.5),
    ("GDDR7", 32.5),
    ("GDDR6X", 24.0),
    ("GDDR6", 20.5),
)
MOST_BANDWIDTH_PER_GIB = 90.0
"""GB/s for one GiB: 76 is the most of any card (RTX 3080, Rubin)."""
LIMITED_MAKERS = ("NVIDIA", "AMD", "Intel")
"""Makers of cards under the export rules of the United States."""
BITS = {
    "fp16_tflops": 16,
    "bf16_tflops": 16,
    "fp8_tflops": 8,
    "int8_tops": 8,
    "fp4_tflops": 4,
}
TOTAL_PERFORMANCE_LIMIT = 4800.0
"""Dense tera-operations x bits: ECCN 3A090 of 2022-10-07, and without its limit on links 2023-10-17."""
BANDWIDTH_LIMIT_GB_S = 1400.0
"""Letters to the makers of 2025-04."""
LIMITED_REGION = "CN"
PRICE_FACTOR = 2.2
RENT_SHARE = 0.55
"""A month's rent above this share of the price of a new card is most likely a year's: the dearest list price
of a cloud reaches a half, bare metal a tenth."""
RENT_FACTOR = 6.0
"""Between a cloud's list price and bare metal lies a factor of five; a slip of unit is twelve and more."""
HOURS_PER_MONTH = 730.0
NEIGHBOURS = 3
"""Observations before and after that a price is compared with."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule objects to."""

    rule: str
    gpu_id: str
    figure: str
    value: float | None
    expected: float | None
    text: str

    def __str__(self) -> str:
        return f"{self.rule} {self.gpu_id} {self.figure}: {self.text}"


@dataclass(frozen=True, slots=True)
class LintCard:
    """What the rules need of a card."""

    id: str
    architecture: str = ""
    half_rate: bool = False
    """Halved fp32 accumulate, as on GeForce."""
    gpus_per_board: int = 1
    """A process sees the memory of one of them."""
    figures: Mapping[str, float] = field(default_factory=dict)
    memory_type: str = ""
    vendor: str = ""


@dataclass(frozen=True, slots=True)
class LintPrice:
    """What the rules need of a price."""

    id: str
    gpu_id: str
    condition: str
    currency: str
    amount: float
    observed_on: str
    per: str = "card"
    channel_kind: str = ""
    held: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class LintRent:
    """What the rules need of a rent."""

    id: str
    gpu_id: str
    provider: str
    currency: str
    """As it was paid: rents of several markets are not compared with each other."""
    cny_per_gpu_hour: float
    observed_on: str


@dataclass(frozen=True, slots=True)
class LintReport:
    """Findings that no exception explains, and exceptions that explain nothing any more."""

    unexplained: tuple[Finding, ...]
    explained: tuple[Finding, ...]
    idle_exceptions: tuple[tuple[str, str, str], ...]


def dense_ratio(card: LintCard) -> Iterator[Finding]:
    """Tensor rates stand in the architecture's ratio; a sparse headline doubles it, a vector rate cuts it."""
    f = card.figures
    name, fp16 = _sixteen_bit(card)
    if not fp16:
        return
    fp32, tf32, int8 = f.get("fp32_tflops"), f.get("tf32_tflops"), f.get("int8_tops")
    if fp32 and (ratios := DENSE_OVER_FP32.get(card.architecture)):
        expected = fp32 * ratios[card.half_rate]
        yield from _ratio(card, "dense_ratio", name, fp16, expected, RATIO_TOLERANCE)
    yield from _one_hardware(card, fp16)
    if tf32 and card.architecture.startswith(TF32_ARCHITECTURES):
        yield from _ratio(card, "dense_ratio", "tf32_tflops", tf32, fp16 * TF32_OVER_FP16, RATIO_TOLERANCE)
    if int8 and (ratios := INT8_OVER_FP16.get(card.architecture)):
        expected = fp16 * ratios[card.half_rate]
        # Less is a choice of the vendor (Blackwell Ultra gave int8 up); more is a sparse figure.
        if int8 > expected * (1 + RATIO_TOLERANCE):
            yield from _ratio(card, "dense_ratio", "int8_tops", int8, expected, RATIO_TOLERANCE)


def _one_hardware(card: LintCard, fp16: float) -> Iterator[Finding]:
    """fp16 and bf16 run on the same hardware at the same rate."""
    bf16 = card.figures.get("bf16_tflops")
    if not bf16:
        return
    if card.architecture in DENSE_OVER_FP32:
        yield from _ratio(card, "dense_ratio", "bf16_tflops", bf16, fp16, FP8_TOLERANCE)
    elif _is_doubled(bf16 / fp16) or _is_doubled(fp16 / bf16):
        # Of an architecture without rules: one of the two is dense, the other sparse.
        doubled, value = ("bf16_tflops", bf16) if bf16 > fp16 else ("fp16_tflops", fp16)
        yield from _ratio(card, "dense_ratio", doubled, value, min(fp16, bf16), FP8_TOLERANCE)


def fp8_ratio(card: LintCard) -> Iterator[Finding]:
    """fp8 is twice fp16 on every architecture that has it, both with fp32 accumulate."""
    fp16, fp8 = _sixteen_bit(card)[1], card.figures.get("fp8_tflops")
    # Whatever the architecture, four times the 16-bit rate is a sparse figure beside a dense one.
    ruled = card.architecture.startswith(FP8_ARCHITECTURES)
    if fp16 and fp8 and (ruled or abs(fp8 / (4 * fp16) - 1) <= FP8_TOLERANCE):
        yield from _ratio(card, "fp8_ratio", "fp8_tflops", fp8, 2 * fp16, FP8_TOLERANCE)


def fp32_rate(card: LintCard) -> Iterator[Finding]:
    """fp32 = 2 (4 with dual issue) x shaders x boost clock."""
    f = card.figures
    fp32, cores, boost = f.get("fp32_tflops"), f.get("shader_cores"), f.get("boost_clock_mhz")
    if fp32 and cores and boost and not card.architecture.startswith(NO_SHADER_RULE):
        per_clock = 4 if card.architecture.startswith(FOUR_PER_CLOCK) else 2
        yield from _ratio(
            card, "fp32_rate", "fp32_tflops", fp32, per_clock * cores * boost / 1e6, FP32_TOLERANCE
        )


def bandwidth(card: LintCard) -> Iterator[Finding]:
    """Bandwidth = bus width x rate per pin / 8; without a rate, no pin is faster than its kind of memory."""
    f = card.figures
    value, bus, rate = f.get("bandwidth_gb_s"), f.get("memory_bus_bits"), f.get("memory_rate_gbps")
    if value and bus and rate:
        yield from _ratio(card, "bandwidth", "bandwidth_gb_s", value, bus * rate / 8, BANDWIDTH_TOLERANCE)
    elif value and bus:
        kind = card.memory_type.upper()
        fastest = next((limit for name, limit in FASTEST_PIN if kind.startswith(name)), None)
        if fastest and value * 8 / bus > fastest:
            pin = value * 8 / bus
            text = f"{value:g} GB/s over {bus:g} bits is {pin:.1f} Gbit/s a pin; {kind} has {fastest:g}"
            yield Finding("bandwidth", card.id, "bandwidth_gb_s", value, fastest * bus / 8, text)
    size = f.get("memory_gib")
    if value and size and value / size > MOST_BANDWIDTH_PER_GIB:
        text = f"{value:g} GB/s for {size:g} GiB: a decimal point may have slipped"
        yield Finding("bandwidth", card.id, "bandwidth_gb_s", value, MOST_BANDWIDTH_PER_GIB * size, text)


def memory_size(card: LintCard) -> Iterator[Finding]:
    """Memory comes in known sizes, and no process sees more of it than there is."""
    size = card.figures.get("memory_gib")
    if size is None:
        yield Finding("memory_size", card.id, "memory_gib", None, None, "the card has no memory size")
        return
    if size not in KNOWN_MEMORY_GIB:
        yield Finding("memory_size", card.id, "memory_gib", size, None, f"{size:g} GiB is no usual size")
    for name in ("driver_total_gib", "usable_gib"):
        value = card.figures.get(name)
        limit = card.figures.get("driver_total_gib", size) if name == "usable_gib" else size
        if value is not None and not size / card.gpus_per_board * 0.88 <= value <= limit * 1.001:
            text = f"{value:g} GiB of a card of {size:g} GiB (driver total {limit:g})"
            yield Finding("memory_size", card.id, name, value, limit, text)


def price_history(prices: Iterable[LintPrice]) -> Iterator[Finding]:
    """A price is within a factor of 2.2 of its neighbours in time, of that condition, currency and unit."""
    series: dict[tuple[str, str, str, str], list[LintPrice]] = {}
    for p in prices:
        if not p.held and p.channel_kind != LAUNCH and effective_date(p.observed_on):
            series.setdefault((p.gpu_id, p.condition, p.currency, p.per), []).append(p)
    for rows in series.values():
        rows.sort(key=lambda p: (effective_date(p.observed_on), p.id))
        for at, p in enumerate(rows):
            near = rows[max(0, at - NEIGHBOURS) : at] + rows[at + 1 : at + 1 + NEIGHBOURS]
            if len(near) < NEIGHBOURS:
                continue
            middle = median(n.amount for n in near)
            if not 1 / PRICE_FACTOR <= p.amount / middle <= PRICE_FACTOR:
                text = (
                    f"{p.condition} {p.amount:g} {p.currency} on {p.observed_on} is "
                    f"{p.amount / middle:.2f} x the median {middle:g} of its {len(near)} neighbours"
                )
                figure = f"{p.condition} {p.currency} {p.observed_on} {p.amount:g}"
                yield Finding("price_history", p.gpu_id, figure, p.amount, middle, text)


def currency(prices: Iterable[LintPrice]) -> Iterator[Finding]:
    """A price of Taiwan in yuan: its dollar is written with the character of the yuan."""
    for p in prices:
        if p.region == "TW" and p.currency == "CNY" and not p.held:
            figure = f"{p.condition} {p.currency} {p.observed_on} {p.amount:g}"
            text = f"{p.amount:g} CNY in Taiwan is most likely {p.amount:g} TWD"
            yield Finding("currency", p.gpu_id, figure, p.amount, None, text)


def rent_share(rents: Iterable[LintRent], purchase_cny: Mapping[str, float]) -> Iterator[Finding]:
    """A rent that fits neither the price of the card nor its other rents: a year taken for a month."""
    rows = list(rents)
    by_card: dict[tuple[str, str], list[float]] = {}
    for r in rows:
        by_card.setdefault((r.gpu_id, r.currency), []).append(r.cny_per_gpu_hour)
    for r in rows:
        price = purchase_cny.get(r.gpu_id)
        month = r.cny_per_gpu_hour * HOURS_PER_MONTH
        figure = f"{r.provider} {r.observed_on} {r.cny_per_gpu_hour:g}"
        if price and month > RENT_SHARE * price:
            text = f"{month:,.0f} CNY a month is {month / price:.0%} of the card's {price:,.0f} CNY"
            yield Finding("rent_share", r.gpu_id, figure, month, RENT_SHARE * price, text)
            continue
        others = list(by_card[r.gpu_id, r.currency])
        others.remove(r.cny_per_gpu_hour)
        usual = median(others) if len(others) >= NEIGHBOURS else 0.0
        if usual and not 1 / RENT_FACTOR <= r.cny_per_gpu_hour / usual <= RENT_FACTOR:
            ratio = r.cny_per_gpu_hour / usual
            text = f"{r.cny_per_gpu_hour:.3g} CNY an hour is {ratio:.2f} x the usual {usual:.3g}"
            yield Finding("rent_share", r.gpu_id, figure, r.cny_per_gpu_hour, usual, text)


def export_limits(cards: Iterable[LintCard], remarked: Collection[str]) -> Iterator[Finding]:
    """Cards over the limits of 2022, 2023 or 2025 of which no remark on their sale is known.

    Notes
    -----
    The limits on performance by die area are left out: few areas are known.
    """
    for card in cards:
        if card.vendor not in LIMITED_MAKERS or card.id in remarked:
            continue
        total = max((card.figures.get(name, 0.0) * bits for name, bits in BITS.items()), default=0.0)
        bandwidth = card.figures.get("bandwidth_gb_s", 0.0)
        if total >= TOTAL_PERFORMANCE_LIMIT:
            said = f"total performance {total:.0f}, over the limit, and no remark on its sale"
            yield Finding("export_limits", card.id, "total", total, TOTAL_PERFORMANCE_LIMIT, said)
        elif bandwidth >= BANDWIDTH_LIMIT_GB_S:
            said = f"{bandwidth:.0f} GB/s, over the limit, and no remark on its sale"
            yield Finding("export_limits", card.id, "bandwidth_gb_s", bandwidth, BANDWIDTH_LIMIT_GB_S, said)


def provenance(
    file: str, rows: Iterable[Mapping[str, Any]], sources: Mapping[str, Mapping[str, Any]], date_field: str
) -> Iterator[Finding]:
    """Every row names a source that is there, and has a date of its own or at least that of the reading."""
    for row in rows:
        source = sources.get(row["source_id"])
        subject = f"{file} {row.get('figure') or row.get('id', '')}"
        gpu_id = str(row.get("gpu_id", ""))
        if source is None or not source["title"]:
            yield Finding("provenance", gpu_id, subject, None, None, "has no source")
        elif not (row.get(date_field) or source["read_on"]):
            yield Finding("provenance", gpu_id, subject, None, None, "has no date")


def lint_cards(cards: Iterable[LintCard]) -> list[Finding]:
    """All rules that look at one card at a time."""
    rules = (dense_ratio, fp8_ratio, fp32_rate, bandwidth, memory_size)
    return [finding for card in cards for rule in rules for finding in rule(card)]


def explain(found: Iterable[Finding], exceptions: Iterable[Mapping[str, Any]]) -> LintReport:
    """Findings parted into those that an exception explains and those that none does."""
    open_exceptions = {(e["rule"], e["gpu_id"], e["figure"]): False for e in exceptions}
    explained: list[Finding] = []
    unexplained: list[Finding] = []
    for finding in found:
        # An exception without a figure speaks of every figure of the card under that rule.
        keys = [(finding.rule, finding.gpu_id, figure) for figure in (finding.figure, "")]
        known = [key for key in keys if key in open_exceptions]
        for key in known:
            open_exceptions[key] = True
        (explained if known else unexplained).append(finding)
    idle = tuple(key for key, used in open_exceptions.items() if not used)
    return LintReport(tuple(unexplained), tuple(explained), idle)


def deviations_gone(report: LintReport, cards: Iterable[str]) -> list[Finding]:
    """Cards known to stand apart from their architecture's rule that suddenly obey it.

    The A10G has half of the rate that its architecture gives; A10 figures in its row break no rule, but the
    exception that explains the true ones then explains nothing.
    """
    known = set(cards)
    return [
        Finding(
            "known_deviation",
            gpu_id,
            figure,
            None,
            None,
            f"the card is known to break {rule}; its figures no longer do: those of another card?",
        )
        for rule, gpu_id, figure in report.idle_exceptions
        if gpu_id in known
    ]


def _ratio(
    card: LintCard, rule: str, figure: str, value: float, expected: float, tolerance: float
) -> Iterator[Finding]:
    ratio = value / expected
    if abs(ratio - 1) > tolerance:
        hint = _hint_at_double(card, figure) if _is_doubled(ratio) else ""
        text = f"{value:g} is {ratio:.3f} x the expected {expected:.4g}{hint}"
        yield Finding(rule, card.id, figure, value, expected, text)


def _sixteen_bit(card: LintCard) -> tuple[str, float | None]:
    """The 16-bit rate that a card states: fp16, else bf16, which runs on the same hardware."""
    for name in ("fp16_tflops", "bf16_tflops"):
        if value := card.figures.get(name):
            return name, value
    return "fp16_tflops", None


def _is_doubled(ratio: float) -> bool:
    return 1.8 <= ratio <= 2.2


def _hint_at_double(card: LintCard, figure: str) -> str:
    """What twice the right value most likely is."""
    if figure == "bandwidth_gb_s":
        return "; looks like a data rate counted twice"
    if card.half_rate and figure in ("fp16_tflops", "bf16_tflops", "fp8_tflops"):
        return "; looks like the rate with fp16 accumulate, or a sparse figure"
    tensor = figure.endswith(("_tflops", "_tops")) and figure != "fp32_tflops"
    return "; looks like a sparse figure" if tensor else ""


@lru_cache(maxsize=1)
def shipped_exceptions() -> tuple[Mapping[str, str], ...]:
    """What the rules object to and is right as it stands, with the reason beside it."""
    path = resource_path("seed_data") / "lint_exceptions.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream))


def unexplained(cards: Sequence[LintCard]) -> list[Finding]:
    """What the rules for cards object to in these, known deviations that are gone included."""
    ids = {card.id for card in cards}
    exceptions = [e for e in shipped_exceptions() if e["gpu_id"] in ids]
    report = explain(lint_cards(cards), exceptions)
    return [*report.unexplained, *deviations_gone(report, ids)]


def lint_database(engine: Engine) -> LintReport:
    """Every rule over the rows of a database.

    Errors
    ------
    DatabaseProblem when the database cannot be read.
    """
    with reading(engine) as connection:
        found = [
            *lint_cards(cards := _cards(connection)),
            *price_history(prices := _prices(connection)),
            *currency(prices),
            *rent_share(_rents(connection), _purchase(prices)),
            *export_limits(cards, _remarked(connection)),
            *_provenance(connection),
        ]
    ids = {card.id for card in cards}
    exceptions = [e for e in shipped_exceptions() if e["gpu_id"] in ids]
    report = explain(found, exceptions)
    gone = tuple(deviations_gone(report, ids))
    return LintReport((*report.unexplained, *gone), report.explained, report.idle_exceptions)


def _cards(connection: Connection) -> list[LintCard]:
    figures: dict[str, dict[str, float]] = {}
    figure = table_of(tables.GpuFigureRow)
    for r in connection.execute(select(figure).where(figure.c.chosen)):
        figures.setdefault(r.gpu_id, {})[r.figure] = r.value
    return [
        LintCard(
            r.id,
            r.architecture,
            r.half_rate_fp32_accumulate,
            r.gpus_per_board,
            figures.get(r.id, {}),
            r.memory_type,
            r.vendor,
        )
        for r in connection.execute(select(table_of(tables.GpuRow)))
    ]


def _remarked(connection: Connection) -> frozenset[str]:
    row = table_of(tables.AvailabilityRow)
    return frozenset(connection.scalars(select(row.c.gpu_id).where(row.c.region == LIMITED_REGION)))


def _prices(connection: Connection) -> list[LintPrice]:
    rows = connection.execute(select(table_of(tables.PriceRow))).all()
    replaced = {r.supersedes for r in rows if r.supersedes}
    names = LintPrice.__dataclass_fields__
    return [
        LintPrice(**{name: getattr(r, name) for name in names})
        for r in rows
        # What a person has confirmed is no finding any more.
        if r.id not in replaced and r.quality != "confirmed"
    ]


def _purchase(prices: Iterable[LintPrice]) -> dict[str, float]:
    amounts: dict[str, list[float]] = {}
    for p in prices:
        # Old cards are sold used for less than a month's rent.
        if p.condition == "new" and p.currency == HOME and p.per == PER_CARD and not p.held:
            amounts.setdefault(p.gpu_id, []).append(p.amount)
    return {gpu_id: median(found) for gpu_id, found in amounts.items()}


def _rents(connection: Connection) -> list[LintRent]:
    rates = read_rates(connection)
    found = []
    for r in connection.execute(select(table_of(tables.RentalRow))):
        day = effective_date(r.observed_on)
        use = rates.to_cny(r.currency, day) if day else None
        if use and not r.held:
            cny = r.per_gpu_hour * use.rate
            found.append(LintRent(r.id, r.gpu_id, r.provider, r.currency, cny, r.observed_on))
    return found


def _provenance(connection: Connection) -> list[Finding]:
    sources: dict[str, dict[str, Any]] = {
        r.id: {"title": r.title, "read_on": r.read_on}
        for r in connection.execute(select(table_of(tables.SourceRow)))
    }
    found: list[Finding] = []
    for kind in KINDS.values():
        if not kind.stored or "source_id" not in kind.by_name:
            continue
        table = table_of(kind.row)
        rows = [dict(r._mapping) for r in connection.execute(select(table))]
        found.extend(provenance(table.name, rows, sources, kind.dated_by))
    return found
