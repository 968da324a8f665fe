"""accuracy: how far the estimates are from published measurements."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.commands.accuracy_prices import prices
from app.commands.accuracy_serving import serving
from app.commands.accuracy_speed import speed
from app.commands.database import read_settings, trouble
from app.commands.output import language_of, table, write, write_json
from app.core.accuracy import BracketStatistics, ErrorStatistics, Target, VerdictStatistics
from app.services import maintenance
from app.services.accuracy import memory_report
from app.services.accuracy_answers import (
    Cases,
    ClassAccuracy,
    GroupAccuracy,
    MemoryReport,
    PriceAccuracyReport,
    ServingAccuracyReport,
    SpeedAccuracyReport,
)
from app.services.accuracy_prices import PART as PRICES
from app.services.accuracy_serving import PART as SERVING
from app.services.answers import as_json
from app.services.speed_reports import report_now
from app.services.store import CatalogStore
from app.texts.language import translations

Gettext = Callable[[str], str]

NO_DATA = "–"
PART_CHOICES = ("report", "fit", "all")


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "measured against predicted, by class"
    parser = commands.add_parser("accuracy", help=text, description=text)
    parser.add_argument(
        "subject", choices=("memory", "speed", "prices", "serving"), help="what was predicted"
    )
    parser.add_argument(
        "--part",
        choices=PART_CHOICES,
        default="report",
        help="report: cases that no constant was calibrated on (default); fit: the others",
    )
    parser.add_argument("--classes", action="store_true", help="task x family x engine x figure")
    parser.add_argument(
        "--worst", type=int, default=0, metavar="N", help="the N largest errors of each group"
    )
    parser.add_argument(
        "--json", action="store_true", help="print as JSON what the API answers under `memory`"
    )
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    language = language_of(options.lang)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        snapshot = CatalogStore(engine).snapshot()
        found: SpeedAccuracyReport | PriceAccuracyReport | ServingAccuracyReport | MemoryReport
        if options.subject in (PRICES, SERVING):
            found = report_now(engine, snapshot, options.subject)
        elif options.subject == "speed":
            found = report_now(engine, snapshot, options.part)
        else:
            found = memory_report(
                snapshot, None if options.part == "all" else options.part, language=language
            )
    if options.json:
        write_json(as_json(found, language))
        return
    _ = translations(language).gettext
    if isinstance(found, SpeedAccuracyReport):
        lines = speed(found, _)
    elif isinstance(found, PriceAccuracyReport):
        lines = prices(found, _)
    elif isinstance(found, ServingAccuracyReport):
        lines = serving(found, _)
    else:
        lines = memory(found, _, classes=options.classes, worst=options.worst)
    for line in lines:
        write(line)


def memory(answer: MemoryReport, _: Gettext, classes: bool = False, worst: int = 0) -> list[str]:
    """Tables of the memory accuracy."""
    part = {"report": _("report part"), "fit": _("fit part"), "all": _("all cases")}[answer.part]
    lines = [f"{_('Memory, predicted against measured')} ({part})", ""]
    rows = (
        [_of_class(row) for row in answer.classes] if classes else [_of_group(row) for row in answer.groups]
    )
    lines += _errors(rows, _)
    if any(row.batches for row in rows):
        lines += ["", *_batches(rows, _)]
    lines += ["", *_verdicts(answer.verdicts, _), "", *_cases(answer.cases, _)]
    if worst:
        lines += _worst(answer, worst, _)
    versions = answer.versions
    return [*lines, "", f"{_('engine')} {versions.engine}   {_('catalogue')} {versions.catalog}"]


@dataclass(frozen=True, slots=True)
class Row:
    """What was missed of one group or class of cases."""

    label: str
    errors: ErrorStatistics | None
    batches: BracketStatistics | None
    target: Target


def _of_group(row: GroupAccuracy) -> Row:
    return Row(row.name, row.errors, row.batches, row.target)


def _of_class(row: ClassAccuracy) -> Row:
    label = f"{row.task} · {row.family} · {row.engine} · {row.figure}"
    return Row(label, row.errors, row.batches, Target())


def _errors(rows: list[Row], _: Gettext) -> list[str]:
    head = ["", "n", _("median"), _("|median|"), _("|90th pct|"), _("in low–high"), _("target")]
    cells = [head]
    for row in rows:
        found = row.errors
        if found is None:
            continue
        cells.append(
            [
                row.label,
                str(found.n),
                f"{found.median_signed:+.1%}",
                f"{found.median:.1%}",
                f"{found.percentile_90:.1%}",
                _share(found.inside_share),
                _target(row.target),
            ]
        )
    return table(cells)


def _batches(rows: list[Row], _: Gettext) -> list[str]:
    head = ["", "n", _("in bracket"), _("within one step"), _("false fits"), _("false refusals"), _("target")]
    cells = [head]
    for row in rows:
        found = row.batches
        if found is None:
            continue
        aims = [row.target.in_bracket, row.target.within_one_step]
        cells.append(
            [
                row.label,
                str(found.n),
                _share(found.in_bracket),
                _share(found.within_one_step),
                _share(found.false_fits),
                _share(found.false_refusals),
                " / ".join(NO_DATA if aim is None else f"{aim:.0%}" for aim in aims) if any(aims) else "",
            ]
        )
    return table(cells)


def _target(target: Target) -> str:
    if target.median is None or target.percentile_90 is None:
        return ""
    return f"{target.median:.1%} / {target.percentile_90:.0%}"


def _verdicts(found: VerdictStatistics, _: Gettext) -> list[str]:
    return table(
        [
            ["", "n", _("wrongly said"), _("target")],
            [
                _("ran out of memory, said to fit"),
                str(found.failed_n),
                _share(found.false_fits),
                f"{found.limit:.0%}",
            ],
            [
                _("ran, said not to fit"),
                str(found.ran_n),
                _share(found.false_refusals),
                f"{found.limit:.0%}",
            ],
        ]
    )


def _cases(found: Cases, _: Gettext) -> list[str]:
    share = found.expressed / found.total if found.total else 0.0
    lines = [f"{_('cases expressed')}  {found.expressed:,} / {found.total:,} ({share:.0%})"]
    for title, rows in (
        (_("not expressed"), found.unexpressed),
        (_("figures left out"), found.figures_left_out),
    ):
        if rows:
            cells = [[title, "n"], *([row.text, str(row.cases)] for row in rows)]
            lines += ["", *table(cells)]
    if found.faulty:
        cells = [[_("faulty, not counted"), _("why")]]
        cells += [[row.case, row.text] for row in found.faulty]
        lines += ["", *table(cells, left=frozenset({0, 1}))]
    return lines


def _worst(answer: MemoryReport, count: int, _: Gettext) -> list[str]:
    lines: list[str] = []
    for group in answer.groups:
        rows = [row for row in answer.rows or () if row.group == group.group and not row.faulty]
        rows = sorted(rows, key=lambda row: (-abs(row.error), row.case))[:count]
        if rows:
            cells = [[group.name, _("figure"), _("measured"), _("predicted"), _("error")]]
            cells += [
                [
                    row.case,
                    row.figure,
                    _amount(row.measured, row.unit),
                    _amount(float(row.predicted.expected), row.unit),
                    f"{row.error:+.1%}",
                ]
                for row in rows
            ]
            lines += ["", *table(cells, left=frozenset({0, 1}))]
    return lines


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"


def _share(value: float | None) -> str:
    return NO_DATA if value is None else f"{value:.0%}"
