"""The team's own cards on the page of their kind: each figure as a length beside what such cards do."""

from __future__ import annotations

from dataclasses import dataclass

from app.catalog.snapshot import Snapshot
from app.services.measurements import Prediction
from app.services.own_cards import CheckAnswer, CheckedFigure, Expectation, said_checks
from app.texts.marking import N_
from app.texts.words import precision_name
from app.web.answer_tables import Words
from app.web.formatting import share
from app.web.predicted import Beside, beside

FIGURE = {
    "name": N_("Name, as the driver gives it"),
    "multiprocessors": N_("Multiprocessors"),
    "compute_capability": N_("Compute capability"),
    "memory_gib": N_("Memory, as the driver shows it"),
    "intact_gib": N_("Memory that kept what was written"),
    "copy_gb_s": N_("Copy inside the card"),
    "ecc_errors": N_("Uncorrected memory errors"),
    "power_limit_w": N_("Power limit"),
    "throttle": N_("Clocks held down under load"),
    "speed": N_("Speed of the workload"),
    "prefill": N_("Prefill"),
    "peak_memory": N_("Peak memory of the workload"),
}
LENGTHS = frozenset(
    {"memory_gib", "intact_gib", "copy_gb_s", "power_limit_w"}
    | {f"{kind}_tflops" for kind in ("fp32", "tf32", "fp16", "bf16")}
)
"""Figures that are drawn; the others are equal or not."""
SCALE = 1.25
"""Right end of the drawing, in parts of the expected value."""
NOTICE = {"card_as_sold": "info", "card_doubtful": "warn", "card_not_as_sold": "bad"}
THROTTLE = {"heat": N_("heat"), "hardware": N_("hardware"), "power_brake": N_("power supply")}


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a card."""

    label: str
    measured: str
    expected: str
    unit: str
    state: str
    """fits, tight (worth a look) or does_not_fit."""
    text: str
    length: str = ""
    expected_at: str = ""
    least_at: str = ""
    off: str = ""


@dataclass(frozen=True, slots=True)
class Estimated:
    """A figure of the workload beside the estimate that has not seen it."""

    label: str
    measured: str
    unit: str
    expected: str
    interval: str
    beside: Beside


@dataclass(frozen=True, slots=True)
class OwnCard:
    """One answer of the check script, as the page shows it."""

    id: str
    notice: str
    text: str
    measured_on: str
    lines: list[Line]
    workload: list[Estimated]
    waiting: bool


def own_cards(snapshot: Snapshot, gpu_id: str, words: Words) -> list[OwnCard]:
    """What was measured on the team's cards of one kind; the newest first."""
    found = said_checks(snapshot, gpu_id, words.formats.language)
    return [_card(check, words) for check in found.items if check.figures]


def _card(check: CheckAnswer, words: Words) -> OwnCard:
    said: set[str] = set()
    lines = []
    for figure in check.figures:
        # What one row says, the next need not repeat.
        lines.append(_line(figure, "" if figure.code in said else figure.text, words))
        said.add(figure.code)
    return OwnCard(
        check.id,
        NOTICE[check.code],
        check.text,
        check.measured_on,
        lines,
        [_estimated(row, words) for row in check.workload],
        check.waiting,
    )


def _line(figure: CheckedFigure, text: str, words: Words) -> Line:
    _, f = words.gettext, words.formats
    name, measured, expected = figure.figure, figure.measured, figure.expected
    state = "fits" if figure.ok else "does_not_fit" if figure.fault else "tight"
    label = _(FIGURE[name]) if name in FIGURE else _matrix(name, words)
    if name == "name":
        return Line(label, figure.reported, "", "", state, text)
    if name == "throttle":
        reasons = [_(THROTTLE[word]) for word in figure.reported.split(", ") if word in THROTTLE]
        return Line(label, (" · ".join(reasons)) or _("no"), _("no"), "", state, text)
    if name not in LENGTHS or measured is None or not expected:
        return Line(label, f.plain_number(measured), f.plain_number(expected), "", state, text)
    return Line(
        label,
        f.figure(round(measured, 1)),
        f.figure(round(expected, 1)),
        figure.unit,
        state,
        text,
        share(measured / expected, SCALE),
        share(1.0, SCALE),
        share((figure.least or 0.0) / expected, SCALE),
        f.signed_percent(measured / expected - 1.0),
    )


def _matrix(name: str, words: Words) -> str:
    return words.gettext("Matrix products, %(precision)s") % {"precision": precision_name(name.split("_")[0])}


def _estimated(row: Expectation, words: Words) -> Estimated:
    f = words.formats
    memory = row.figure == "peak_memory"
    show = f.gib if memory else f.speed
    ratio = row.measured / row.expected
    found = Prediction(row.low, row.expected, row.high, "calibrated", "", ratio)
    return Estimated(
        words.gettext(FIGURE[row.figure]),
        show(row.measured),
        row.unit if memory else f.label(row.unit, "speed_unit"),
        show(row.expected),
        f"{show(row.low)}\u2013{show(row.high)}",
        beside(found, words),
    )
