"""The method: formulas with their validity, and how far the estimates are from published measurements."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app.charts.accuracy import accuracy_chart
from app.charts.theme import THEMES
from app.core.formulas import FORMULAS, Formula
from app.services.accuracy import memory_report
from app.services.accuracy_answers import (
    BasisErrors,
    FigureRow,
    KindErrors,
    MemoryReport,
    PriceAccuracyReport,
    ServingAccuracyReport,
    SpeedAccuracyReport,
)
from app.services.accuracy_prices import PART as PRICES
from app.services.accuracy_serving import PART as SERVING
from app.services.speed_reports import SpeedReports
from app.texts.accuracy import PRICE_GROUPS, SPLITS, group_name
from app.texts.words import BASIS, BASIS_MEANING
from app.web.answer_tables import Words
from app.web.answers import open_page
from app.web.method_serving import serving_rows
from app.web.render import is_fragment

router = APIRouter()
INTERVAL = 0.90
"""Memory intervals run from the 5th to the 95th percentile."""
SPEED_INTERVAL = 0.80
"""Speed intervals run from the 10th to the 90th."""
SLACK = 0.05


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """One constant, and the measurements it was read from."""

    name: str
    value: str
    rows: int
    spread: str
    """Relative standard deviation of the rows about it."""
    method: str
    valid_for: str
    """Classes of work beside that of its group."""
    links: tuple[str, ...]
    sources: str
    """Those that are no address."""
    read_on: str


@dataclass(frozen=True, slots=True)
class ConstantGroup:
    """The constants of one class of work."""

    title: str
    rows: tuple[ConstantRow, ...]


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Errors of one class of measurements, as the page prints them."""

    name: str
    count: int
    bias: str
    median: str
    worst: str
    inside: str
    verdict: str
    """fits, tight or does_not_fit, by the share of values inside the interval; empty without one."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """How often the largest batch is right."""

    name: str
    count: int
    exact: str
    near: str
    false_fits: str
    false_refusals: str


@dataclass(frozen=True, slots=True)
class PeerRow:
    """Another tool's errors beside ours."""

    name: str
    tool: str
    theirs: str
    ours: str
    asked: str


@router.get("/method")
def method(request: Request) -> Response:
    """The formulas with their validity and references, and what the bases mean."""
    page, _snapshot, _words = open_page(request)
    groups: dict[str, list[Formula]] = {}
    for formula in sorted(FORMULAS.values(), key=lambda f: f.id):
        groups.setdefault(formula.id.split(".", 1)[0], []).append(formula)
    bases = [(code, page._(BASIS[code]), page._(BASIS_MEANING[code])) for code in BASIS]
    return page.render(
        "method.html", "/method", groups=groups, bases=bases, say=lambda text: page._(text) if text else ""
    )


@router.get("/method/accuracy")
def accuracy(request: Request) -> Response:
    """Predicted against measured memory, by class: a part of /method, a page of its own without script."""
    page, snapshot, words = open_page(request)
    report = memory_report(snapshot, "report", True, page.language)
    named = [row for row in class_rows(report, words) if row.count]
    narrow = [row.name for row in named if row.verdict not in ("", "fits")]
    template = "accuracy_fragment.html" if is_fragment(request) else "accuracy.html"
    return page.render(
        template,
        "/method",
        rows=named,
        batches=batch_rows(report, words),
        narrow=narrow,
        peers=peer_rows(memory_report(snapshot, None, False), words),
        peers_month=report.peers.measured_on,
        peers_none=("、" if page.language == "zh" else ", ").join(
            group_name(group, page.language) for group in report.peers.no_tool_for
        ),
        verdicts=report.verdicts,
        cases=report.cases,
        drawn=[_drawn(row, words) for row in report.rows or () if row.unit == "GiB" and not row.faulty],
        inside=words.formats.percent(INTERVAL),
    )


@router.get("/method/speed")
def speed(request: Request) -> Response:
    """Estimated against measured speed, as far as it is worked out: of earlier data until then."""
    page, snapshot, words = open_page(request)
    reports: SpeedReports = request.app.state.speed_reports
    report = reports.get(snapshot).read(SpeedAccuracyReport)
    template = "speed_fragment.html" if is_fragment(request) else "speed.html"
    return page.render(template, "/method", shown=speed_tables(report, words) if report else None)


@router.get("/method/prices")
def prices(request: Request) -> Response:
    """Carried prices against later ones, as far as it is worked out."""
    page, snapshot, words = open_page(request)
    reports: SpeedReports = request.app.state.speed_reports
    report = reports.get(snapshot, PRICES).read(PriceAccuracyReport)
    template = "price_accuracy_fragment.html" if is_fragment(request) else "price_accuracy.html"
    return page.render(
        template,
        "/method",
        ready=report is not None,
        rows=price_rows(report, words) if report else [],
        untested=[page._(PRICE_GROUPS[name]) for name in report.untested] if report else [],
        one=report.one_table if report else None,
        inside=words.formats.percent(SPEED_INTERVAL),
    )


@router.get("/method/serving")
def serving(request: Request) -> Response:
    """Serving under a load against published runs, as far as it is worked out."""
    page, snapshot, words = open_page(request)
    reports: SpeedReports = request.app.state.speed_reports
    report = reports.get(snapshot, SERVING).read(ServingAccuracyReport)
    template = "serving_accuracy_fragment.html" if is_fragment(request) else "serving_accuracy.html"
    return page.render(
        template,
        "/method",
        ready=report is not None,
        rows=serving_rows(report, words) if report else [],
        compared=report.compared if report else 0,
        inside=words.formats.percent(SPEED_INTERVAL),
    )


@router.get("/charts/accuracy")
def accuracy_data(request: Request) -> Response:
    """Data of the chart of predicted and measured memory."""
    page, snapshot, _words = open_page(request)
    theme = request.query_params.get("theme", "light")
    rows = memory_report(snapshot, "report", True).rows or ()
    return JSONResponse(
        accuracy_chart([row for row in rows if not row.faulty], theme if theme in THEMES else "light", page._)
    )


def _drawn(row: FigureRow, words: Words) -> list[str]:
    f = words.formats
    return [
        row.case,
        f.number(row.measured, 2),
        f.number(float(row.predicted.expected), 2),
        f.signed_percent(row.error),
    ]


def class_rows(report: MemoryReport, words: Words) -> list[ClassRow]:
    """One row for each group that has figures."""
    f = words.formats
    rows = []
    for group in report.groups:
        errors = group.errors
        if not errors:
            continue
        share = errors.inside_share
        rows.append(
            ClassRow(
                group.name,
                errors.n,
                f.signed_percent(errors.median_signed)
                if abs(errors.median_signed) >= 0.0005
                else f.percent(0, 1),
                f.percent(errors.median, 1),
                f.percent(errors.percentile_90, 1),
                "—" if share is None else f.percent(share),
                _judged(share),
            )
        )
    return rows


def _judged(share: float | None) -> str:
    if share is None:
        return ""
    if share >= INTERVAL - SLACK:
        return "fits"
    return "tight" if share >= 0.5 else "does_not_fit"


def batch_rows(report: MemoryReport, words: Words) -> list[BatchRow]:
    """One row for each group that has largest batches."""
    f = words.formats
    return [
        BatchRow(
            group.name,
            batches.n,
            f.percent(batches.in_bracket),
            f.percent(batches.within_one_step),
            f.percent(batches.false_fits, 1),
            f.percent(batches.false_refusals, 1),
        )
        for group in report.groups
        if (batches := group.batches)
    ]


def peer_rows(report: MemoryReport, words: Words) -> list[PeerRow]:
    """Other tools beside this one, over all cases: theirs were measured over all of them too."""
    f = words.formats
    ours = {group.group: group.errors for group in report.groups}
    return [
        PeerRow(
            group_name(peer.group, f.language),
            peer.tool,
            f"{f.percent(peer.median, 1)} / {f.percent(peer.percentile_90, 1)}",
            f"{f.percent(errors.median, 1)} / {f.percent(errors.percentile_90, 1)}",
            f"{peer.expressed} / {peer.of}" if peer.expressed else "—",
        )
        for peer in report.peers.tools
        if (errors := ours.get(peer.group))
    ]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """Errors of one class and age of prices, as the page prints them."""

    name: str
    days: str
    count: int
    cards: int
    bias: str
    median: str
    worst: str
    inside: str
    plain: str
    """The same read as it is."""
    split: str
    verdict: str
    """fits where the band holds what it promises, else tight."""


PRICE_BAND = (0.72, 0.92)
"""Share of later prices inside an 80 % band that is neither too narrow nor too wide."""


def price_rows(report: PriceAccuracyReport, words: Words) -> list[PriceRow]:
    """One row for each class and age of the back-test."""
    f = words.formats
    return [
        PriceRow(
            words.gettext(PRICE_GROUPS[row.group]),
            f"{row.first_day}–{row.last_day}",
            row.pairs,
            row.cards,
            f.signed_percent(row.signed_median),
            f.percent(row.median, 1),
            f.percent(row.p90, 1),
            f.percent(row.inside),
            f"{f.percent(row.as_it_is_median, 1)} / {f.percent(row.as_it_is_p90, 1)}",
            words.gettext(SPLITS[row.split]),
            "fits" if PRICE_BAND[0] <= row.inside <= PRICE_BAND[1] else "tight",
        )
        for row in report.groups
    ]


@dataclass(frozen=True, slots=True)
class SpeedTables:
    """Tables of the speed report: by class, by what was known, the constants, other tools beside ours."""

    classes: list[ClassRow]
    seen: list[ClassRow]
    inside: str
    constants: list[ConstantGroup]
    peers: list[PeerRow]


def speed_tables(report: SpeedAccuracyReport, words: Words) -> SpeedTables:
    """The report as the page prints it."""
    f = words.formats
    by_class = {row.kind: row for row in report.classes}

    def row(item: BasisErrors | KindErrors, name: str) -> ClassRow:
        share = item.inside
        return ClassRow(
            name,
            item.n,
            f.signed_percent(_relative(item.signed_median)),
            f.percent(_relative(item.median), 1),
            f.percent(_relative(item.p90)),
            "—" if share is None else f.percent(share),
            "" if share is None else "fits" if share >= SPEED_INTERVAL - 2 * SLACK else "tight",
        )

    return SpeedTables(
        [row(item, f.label(item.kind, "speed_class")) for item in report.classes],
        [row(item, f.label(item.basis, "speed_seen")) for item in report.bases],
        f.percent(SPEED_INTERVAL),
        constant_groups(report, words),
        [
            PeerRow(
                f.label(peer.kind, "speed_class"),
                peer.tool,
                f"{f.percent(_relative(peer.median))} / {f.percent(_relative(peer.p90))}",
                f"{f.percent(_relative(mine.median), 1)} / {f.percent(_relative(mine.p90))}",
                "",
            )
            for peer in report.peers
            if (mine := by_class.get(peer.kind))
        ],
    )


def constant_groups(report: SpeedAccuracyReport, words: Words) -> list[ConstantGroup]:
    """Every constant of the speed model by the first class of work that it is for."""
    f = words.formats
    groups: dict[str, list[ConstantRow]] = {}
    for item in report.constants:
        others = [f.label(name, "speed_class") for name in item.valid_for[1:]]
        sources = [text for text in item.sources if not text.startswith("https://")]
        groups.setdefault(item.kind, []).append(
            ConstantRow(
                item.constant,
                # Constants span seconds per launch to shares; three digits say what a fit can.
                f"{item.value:.3g}" + ("" if item.unit in ("1", "ln") else f" {item.unit}"),
                item.rows,
                "—" if item.spread is None else f.percent(_relative(item.spread)),
                f.label(item.method, "constant_method"),
                ", ".join(others),
                tuple(text for text in item.sources if text.startswith("https://")),
                # What is fitted says so in the column before.
                "" if item.method == "fitted" else "; ".join(sources).removeprefix("assumed: "),
                item.read_on or "",
            )
        )
    return [ConstantGroup(f.label(name, "speed_class"), tuple(rows)) for name, rows in groups.items()]


def _relative(logarithm: float) -> float:
    """A difference of logarithms as the fraction that it stands for: 0.10 is 10.5 %."""
    return expm1(logarithm)
