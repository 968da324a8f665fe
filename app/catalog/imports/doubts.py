"""Rows that can be read but are most likely wrong: held back until a person confirms them.

The history of a card judges its new observations, as stored alone and together with the file, so that neither
one slip in a good file nor a whole file in the wrong unit gets through.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any

from sqlalchemy import Connection, select

from app.catalog import tables
from app.catalog.imports.complete import Rows
from app.catalog.imports.references import day_of, read_rates
from app.catalog.lint import HOURS_PER_MONTH, RENT_FACTOR, RENT_SHARE, Finding, LintCard, unexplained
from app.catalog.prices import HISTORY_DAYS, SANITY_FACTOR, SANITY_MIN_HISTORY, SERVER_RATIO
from app.catalog.rates import HOME, Rates
from app.catalog.records import LAUNCH, PER_CARD, UNDATED
from app.catalog.versions import table_of
from app.core.quotes import rough_ratio

Measured = Mapping[str, Any]
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


def measurement_doubts(connection: Connection, rows: Sequence[Measured]) -> dict[int, Said]:
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


def work_flop(row: Measured, model: Measured | None) -> float | None:
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


def _above_roof(row: Measured, model: Measured | None, best_tflops: float | None) -> Said | None:
    flop = work_flop(row, model)
    if flop is None or not best_tflops:
        return None
    ratio = row["value"] * flop / (best_tflops * 1e12 * row["gpu_count"])
    if ratio <= ROOF_FACTOR:
        return None
    return "value", "above_roofline", {"ratio": round(ratio, 1), "peak_tflops": round(best_tflops, 1)}


def _far_from(row: Measured, others: Sequence[float]) -> Said | None:
    if not row["model_id"] or len(others) < MIN_NEIGHBOURS:
        return None
    value, low, high = row["value"] / row["gpu_count"], min(others), max(others)
    if low / NEIGHBOUR_FACTOR <= value <= high * NEIGHBOUR_FACTOR:
        return None
    usual = low if value < low else high
    return "value", "far_from_history", {"ratio": rough_ratio(value / usual), "usual": round(usual, 2)}


def _series(row: Measured) -> tuple[str, ...]:
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


Row = dict[str, Any]
RATE_CHANGE = 0.20
FIGURE_FACTOR = 1.5
"""A value this many times the one in force, or less than its share, is more often a slip than news."""
REGION_OF_TAIWAN = "TW"


@dataclass(frozen=True, slots=True)
class Doubt:
    """What speaks against a row."""

    field: str
    code: str
    params: Mapping[str, Any]


class _History:
    """Amounts of one series by day; the usual amount near a month, worked out once for each month."""

    def __init__(self, points: Iterable[tuple[int, float]]) -> None:
        self.points = sorted(points)
        self._usual: dict[int, tuple[int, float]] = {}

    def usual(self, day: int) -> tuple[int, float]:
        """How many amounts there are within a year of the month of a day (else in all), and their median."""
        month = day // 30
        if month not in self._usual:
            low, high = month * 30 - HISTORY_DAYS, month * 30 + 30 + HISTORY_DAYS
            near = [amount for at, amount in self.points if low <= at <= high]
            if len(near) <= SANITY_MIN_HISTORY:
                near = [amount for _, amount in self.points]
            self._usual[month] = (len(near), median(near) if near else 0.0)
        return self._usual[month]


def doubts_of(connection: Connection, kind: str, rows: Sequence[Rows]) -> dict[int, Doubt]:
    """Doubts by position of the row; rows that are stored already are not doubted again."""
    if kind == "prices":
        return _prices(connection, [r[tables.PriceRow][0] for r in rows])
    if kind == "rentals":
        return _rentals(connection, [r[tables.RentalRow][0] for r in rows])
    if kind == "rates":
        return _rates(connection, [r[tables.ExchangeRateRow][0] for r in rows])
    if kind in ("gpus", "figures"):
        return _cards(connection, rows, kind)
    if kind == "benchmarks":
        measured = measurement_doubts(connection, [r[tables.BenchmarkRow][0] for r in rows])
        return {at: Doubt(*said) for at, said in measured.items()}
    return {}


def _prices(connection: Connection, rows: Sequence[Row]) -> dict[int, Doubt]:
    stored: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    known: set[str] = set()
    for r in _of_cards(connection, table_of(tables.PriceRow), sorted({row["gpu_id"] for row in rows})):
        known.add(r.id)
        if not r.held and r.channel_kind != LAUNCH and day_of(r.observed_on) != UNDATED:
            stored.setdefault(_price_key(r._mapping), []).append((day_of(r.observed_on), r.amount))
    new = [(at, row) for at, row in enumerate(rows) if row["id"] not in known and not row.get("held")]
    sent: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for _, row in new:
        sent.setdefault(_price_key(row), []).append((day_of(row["observed_on"]), row["amount"]))
    before = {key: _History(points) for key, points in stored.items()}
    together = {key: _History([*stored.get(key, ()), *points]) for key, points in sent.items()}
    found = {
        at: _doubt_of_price(row, before.get(_price_key(row)), together[_price_key(row)]) for at, row in new
    }
    return {at: doubt for at, doubt in found.items() if doubt is not None}


def _price_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (row["gpu_id"], row["condition"], row["currency"], row["per"])


def _doubt_of_price(row: Row, before: _History | None, together: _History) -> Doubt | None:
    """What speaks against a price, by what is stored alone, then by that and the file together."""
    if row["channel_kind"] == LAUNCH:
        return None
    if row["region"] == REGION_OF_TAIWAN and row["currency"] == HOME:
        return Doubt("currency", "likely_twd", {"amount_stated": row["amount"]})
    day = day_of(row["observed_on"])
    # The price itself is one of those of the file.
    for history, own in ((before, 0), (together, 1)):
        count, usual = history.usual(day) if history else (0, 0.0)
        doubt = _far_price(row, count - own, usual)
        if doubt:
            return doubt
    return None


def _far_price(row: Row, others: int, usual: float) -> Doubt | None:
    if others < 1 or usual <= 0:
        return None
    ratio = row["amount"] / usual
    params = {"ratio": rough_ratio(ratio), "usual": round(usual, 2)}
    if SERVER_RATIO[0] <= ratio <= SERVER_RATIO[1] and row["per"] == PER_CARD:
        return Doubt("amount", "likely_server_price", params)
    if others >= SANITY_MIN_HISTORY and not 1 / SANITY_FACTOR <= ratio <= SANITY_FACTOR:
        return Doubt("amount", "far_from_history", params)
    return None


def _rentals(connection: Connection, rows: Sequence[Row]) -> dict[int, Doubt]:
    cards = sorted({row["gpu_id"] for row in rows})
    known: set[str] = set()
    stored: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for r in _of_cards(connection, table_of(tables.RentalRow), cards):
        known.add(r.id)
        if not r.held:
            stored.setdefault((r.gpu_id, r.currency), []).append((day_of(r.observed_on), r.per_gpu_hour))
    histories = {key: _History(points) for key, points in stored.items()}
    bought = _usual_purchase(connection, cards)
    rates = read_rates(connection)
    found: dict[int, Doubt] = {}
    for at, row in enumerate(rows):
        if row["id"] in known or row.get("held"):
            continue
        doubt = _yearly_rent(row, bought.get(row["gpu_id"]), rates)
        doubt = doubt or _far_rent(row, histories.get((row["gpu_id"], row["currency"])))
        if doubt:
            found[at] = doubt
    return found


def _yearly_rent(row: Row, price_cny: float | None, rates: Rates) -> Doubt | None:
    """A month of it costs more than any month of a card that is sold at that price."""
    day = day_of(row["observed_on"])
    use = rates.to_cny(row["currency"], date.fromordinal(day)) if day else None
    if use is None or not price_cny:
        return None
    share = row["per_gpu_hour"] * HOURS_PER_MONTH * use.rate / price_cny
    if share <= RENT_SHARE:
        return None
    return Doubt("per_gpu_hour", "likely_yearly_rent", {"share_percent": round(share * 100)})


def _far_rent(row: Row, history: _History | None) -> Doubt | None:
    count, usual = history.usual(day_of(row["observed_on"])) if history else (0, 0.0)
    ratio = row["per_gpu_hour"] / usual if usual else 1.0
    if count < SANITY_MIN_HISTORY or 1 / RENT_FACTOR <= ratio <= RENT_FACTOR:
        return None
    return Doubt("per_gpu_hour", "far_from_history", {"ratio": rough_ratio(ratio), "usual": round(usual, 3)})


def _usual_purchase(connection: Connection, cards: Sequence[str]) -> dict[str, float]:
    """Median of the yuan prices of a new card: good enough to tell a year's rent from a month's."""
    amounts: dict[str, list[float]] = {}
    for r in _of_cards(connection, table_of(tables.PriceRow), cards):
        if r.condition == "new" and r.currency == HOME and r.per == PER_CARD and not r.held:
            amounts.setdefault(r.gpu_id, []).append(r.amount)
    return {gpu_id: median(found) for gpu_id, found in amounts.items()}


def _rates(connection: Connection, rows: Sequence[Row]) -> dict[int, Doubt]:
    rates = read_rates(connection)
    known = {rate.id: rate.rate for rate in rates.rows}
    last: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for rate in rates.rows:
        last.setdefault((rate.base, rate.quote), []).append((day_of(rate.observed_on), rate.rate))
    found: dict[int, Doubt] = {}
    for at, row in enumerate(rows):
        series = last.get((row["base"], row["quote"]))
        if series is None or known.get(row["id"]) == row["rate"]:
            continue
        day = day_of(row["observed_on"])
        _, usual = min(series, key=lambda point: abs(point[0] - day))
        if abs(row["rate"] / usual - 1) > RATE_CHANGE:
            params = {"ratio": rough_ratio(row["rate"] / usual), "usual": usual}
            found[at] = Doubt("rate", "far_from_history", params)
    return found


@dataclass(slots=True)
class _Cards:
    """Cards that an import touches: as they are, and as they would be."""

    facts: dict[str, Row]
    now: dict[str, dict[str, float]]
    then: dict[str, dict[str, float]]
    known: set[str]
    """Ids of the figures that are stored."""
    where: dict[tuple[str, str], int]
    """Row of the file that brings a figure of a card."""
    first: dict[str, int]
    """First row of the file that speaks of a card."""

    @classmethod
    def read(cls, connection: Connection, touched: set[str]) -> _Cards:
        """The cards as they are stored."""
        stored = connection.execute(select(table_of(tables.GpuRow)))
        found = cls({r.id: dict(r._mapping) for r in stored if r.id in touched}, {}, {}, set(), {}, {})
        for r in _of_cards(connection, table_of(tables.GpuFigureRow), sorted(touched)):
            found.known.add(r.id)
            if r.chosen:
                found.now.setdefault(r.gpu_id, {})[r.figure] = r.value
        found.then = {gpu_id: dict(found.now.get(gpu_id, {})) for gpu_id in touched}
        return found

    def add(self, at: int, made: Rows) -> None:
        """What a row of the file changes."""
        for card in made.get(tables.GpuRow, ()):
            self.facts[card["id"]] = self.facts.get(card["id"], {}) | card
        for figure in made.get(tables.GpuFigureRow, ()):
            if figure.get("chosen", True):
                self.then[figure["gpu_id"]][figure["figure"]] = figure["value"]
            self.where[figure["gpu_id"], figure["figure"]] = at
            self.first.setdefault(figure["gpu_id"], at)

    def objections(self) -> list[Finding]:
        """What the rules object to in the cards as they would be, and not in them as they are."""
        before = {str(finding) for finding in _lint(self.facts, self.now, self.then)}
        after = _lint(self.facts, self.then, self.then)
        return [f for f in after if str(f) not in before and f.gpu_id in self.first]


def _cards(connection: Connection, rows: Sequence[Rows], kind: str) -> dict[int, Doubt]:
    """What the lint rules say of the cards as they would be, beyond what they say of them now.

    The doubt names a column of the file: that of the figure, if the row has one, else what the row has.
    """
    touched = {f["gpu_id"] for r in rows for f in r.get(tables.GpuFigureRow, ())}
    cards = _Cards.read(connection, touched)
    for at, made in enumerate(rows):
        cards.add(at, made)
    found: dict[int, Doubt] = {}
    for finding in cards.objections():
        at = cards.where.get((finding.gpu_id, finding.figure), cards.first[finding.gpu_id])
        params = {"rule": finding.rule, "figure": finding.figure, "said": finding.text}
        written = [figure["figure"] for figure in rows[at].get(tables.GpuFigureRow, ())]
        named = finding.figure if finding.figure in written else written[0]
        found.setdefault(at, Doubt("value" if kind == "figures" else named, "lint", params))
    for at, name, doubt in _moved(rows, cards.now, cards.known):
        found.setdefault(at, Doubt("value" if kind == "figures" else name, *doubt))
    return found


def _moved(
    rows: Sequence[Rows], now: Mapping[str, Mapping[str, float]], known: Container[str]
) -> Iterator[tuple[int, str, tuple[str, Mapping[str, Any]]]]:
    """Values to be in force that are far from those in force: position of the row, figure, what to say."""
    for at, made in enumerate(rows):
        for figure in made.get(tables.GpuFigureRow, ()):
            present = now.get(figure["gpu_id"], {}).get(figure["figure"], 0.0)
            if figure["id"] in known or not figure.get("chosen", True) or present <= 0:
                continue
            ratio = figure["value"] / present
            if not 1 / FIGURE_FACTOR <= ratio <= FIGURE_FACTOR:
                params = {"ratio": rough_ratio(ratio), "present": present}
                yield at, figure["figure"], ("far_from_present", params)


def _lint(
    facts: Mapping[str, Row], figures: Mapping[str, Mapping[str, float]], touched: Iterable[str]
) -> list[Finding]:
    cards = [
        LintCard(
            gpu_id,
            facts[gpu_id].get("architecture", ""),
            facts[gpu_id].get("half_rate_fp32_accumulate", False),
            facts[gpu_id].get("gpus_per_board", 1),
            figures.get(gpu_id, {}),
            facts[gpu_id].get("memory_type", ""),
        )
        for gpu_id in sorted(touched)
        if gpu_id in facts
    ]
    return unexplained(cards)


def _of_cards(connection: Connection, table: Any, cards: Sequence[str]) -> Iterable[Any]:
    for at in range(0, len(cards), 500):
        yield from connection.execute(select(table).where(table.c.gpu_id.in_(cards[at : at + 500])))
