"""Measurements beside the estimates that have not seen them: words, lengths and the sentence over a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log, log2
from statistics import median

from app.catalog.snapshot import Snapshot
from app.charts.measured import Point
from app.services.later import COMPUTING, READY
from app.services.measurements import Measurement, Prediction, predictions, why_unpredicted
from app.texts.marking import N_
from app.texts.words import precision_name, proper_name
from app.web.answer_tables import Words
from app.web.formatting import share

WHY = {
    "flagged": N_("not used"),
    "model": N_("model without a preset"),
    "precision": N_("precision not stated"),
    "software": N_("software not known"),
    "cards": N_("too many cards"),
    "unit": N_("another unit"),
    "load": N_("load with a time limit"),
    "method": N_("method not stated"),
    "lengths": N_("lengths not stated"),
    "card": N_("a figure of the card is missing"),
    "stated": N_("batch or length not stated"),
}
SAID = {
    "inside": N_("inside the interval"),
    "outside": N_("outside the interval"),
    "none": N_("without an estimate"),
}
REACH_OCTAVES = 1.0
"""The strip of a row runs from half to twice the estimate."""
MOST_POINTS = 4_000
MOST_TABLE_ROWS = 200


@dataclass(frozen=True, slots=True)
class Beside:
    """The estimate of one row, as the page prints it."""

    low: float
    expected: float
    high: float
    miss: str
    """Measured over estimated, as a signed share."""
    inside: bool
    basis: str
    band_from: str
    band_width: str
    dot: str
    beyond: bool
    """The dot stands at the edge because it lies further out."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the estimates of a catalogue version."""

    rows: Mapping[str, Prediction]
    waiting: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> Known:
        """As far as they are; the first reader starts the work and sees the page without them."""
        pending = predictions(snapshot)
        ready = pending.status == READY and pending.value is not None
        return cls((pending.value or {}) if ready else {}, pending.status == COMPUTING)

    def chosen(self, rows: Sequence[Measurement], said: str) -> list[Measurement]:
        """The rows whose estimate holds, misses, or is not there."""
        if not said:
            return list(rows)
        return [m for m in rows if self.said(m) == said]

    def said(self, measurement: Measurement) -> str:
        """inside, outside or none."""
        found = self.rows.get(measurement.row.id)
        return "none" if found is None else "inside" if found.inside else "outside"


def beside(found: Prediction, words: Words) -> Beside:
    """One estimate as figures and lengths."""
    left, right = _place(found.low / found.expected), _place(found.high / found.expected)
    return Beside(
        found.low,
        found.expected,
        found.high,
        words.formats.signed_percent(found.ratio - 1.0),
        found.inside,
        found.basis,
        share(left, 1.0),
        share(right - left, 1.0),
        share(_place(found.ratio), 1.0),
        abs(log2(found.ratio)) > REACH_OCTAVES,
    )


def why_word(measurement: Measurement, snapshot: Snapshot, words: Words) -> str:
    """Why a row has no estimate, in a word or two."""
    return words.gettext(WHY[why_unpredicted(measurement.row, snapshot)])


def sentence(rows: Sequence[Measurement], known: Known, words: Words) -> str:
    """How the listed measurements lie to their estimates; empty where none has one."""
    _, f = words.gettext, words.formats
    found = [known.rows[m.row.id] for m in rows if m.row.id in known.rows]
    if not found:
        return ""
    miss = expm1(median(abs(log(p.ratio)) for p in found))
    inside = sum(p.inside for p in found) / len(found)
    return _(
        "%(known)s of %(count)s rows state their question: half of them lie within %(miss)s of the estimate "
        "made without them, %(inside)s inside its interval (80 %% is the aim)."
    ) % {
        "known": f.number(len(found)),
        "count": f.number(len(rows)),
        "miss": f.percent(miss, 1 if miss < 0.1 else 0),
        "inside": f.percent(inside),
    }


def points(rows: Sequence[Measurement], known: Known, words: Words) -> list[Point]:
    """What the chart draws: the listed rows that have an estimate."""
    found: list[Point] = []
    for m in rows:
        prediction = known.rows.get(m.row.id)
        if prediction is not None and len(found) < MOST_POINTS:
            unit = words.formats.label(m.row.unit, "speed_unit")
            found.append(
                Point(
                    point_name(m),
                    unit,
                    prediction.kind,
                    m.row.value,
                    prediction.low,
                    prediction.expected,
                    prediction.high,
                )
            )
    return found


def point_name(m: Measurement) -> str:
    """Card, model, precision and software of a measurement, on one line."""
    count = f"{m.row.gpu_count} × " if m.row.gpu_count > 1 else ""
    precision = precision_name(m.row.precision)
    return f"{count}{m.label} · {m.model} · {precision} · {proper_name(m.row.framework)}"


def table_rows(rows: Sequence[Measurement], known: Known, words: Words) -> list[list[str]]:
    """The table under the chart: what its points stand for."""
    f = words.formats
    found: list[list[str]] = []
    for m in rows:
        p = known.rows.get(m.row.id)
        if p is None:
            continue
        if len(found) >= MOST_TABLE_ROWS:
            break
        interval = f"{f.speed(p.low)}–{f.speed(p.high)}"
        unit = f.label(m.row.unit, "speed_unit")
        found.append(
            [
                point_name(m),
                f.speed(m.row.value),
                unit,
                f.speed(p.expected),
                interval,
                f.signed_percent(p.ratio - 1.0),
            ]
        )
    return found


def raw_cells(row_id: str, known: Known) -> list[str | float]:
    """Low, expected, high and what was hidden, for the CSV; empty without an estimate."""
    p = known.rows.get(row_id)
    return ["", "", "", ""] if p is None else [p.low, p.expected, p.high, "row"]


def _place(ratio: float) -> float:
    """Where a ratio lies on the strip, 0 to 1."""
    return min(max(0.5 + log2(ratio) / (2.0 * REACH_OCTAVES), 0.0), 1.0)
