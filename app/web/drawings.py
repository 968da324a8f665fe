"""The charts of an answer with the tables that stand under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.charts.measured_points import measured_name, measured_of
from app.charts.shortlist import card_label, value_rows
from app.charts.theme import condition_suffix
from app.texts.words import precision_name
from app.web.links import QuestionLinks
from app.web.view import Words


@dataclass(frozen=True, slots=True)
class Drawing:
    """One chart: where its data are, and its table."""

    id: str
    title: str
    sub: str
    url: str
    heads: list[str]
    rows: list[list[str]]
    csv: str = ""
    full: bool = False


def drawings(answer: Mapping[str, Any], words: Words, links: QuestionLinks, trains: bool) -> list[Drawing]:
    """Compute per 1000 yuan, memory parts against usable memory, cost against speed."""
    del trains
    _, f, money = words.gettext, words.formats, words.money
    options = answer["options"]
    precision = precision_name(options[0]["metrics"]["precision"])
    unit = f.label(options[0]["speed"]["unit"], "speed_unit")
    value = Drawing(
        "value",
        _("%(precision)s compute per 1000 yuan") % {"precision": precision},
        _("TFLOPS per 1000 yuan; dense, FP32 accumulate, no sparsity"),
        links.chart("value"),
        [_("Card"), "TFLOPS", money.sign, _("TFLOPS/k¥")],
        [
            [
                card_label(o, _),
                "—"
                if o["metrics"]["peak_tflops"] is None
                else f.plain_number(o["metrics"]["peak_tflops"] / o["count"]),
                money.bare(o["cost"]["purchase_cny"] / o["count"]),
                f.number(o["metrics"]["peak_tflops_per_1000_cny"], 2),
            ]
            for o in value_rows(options)
        ],
        links.csv(),
    )
    memory = Drawing(
        "memory",
        _("Memory parts against usable memory"),
        _("GiB per GPU; wall is usable memory, whisker is low to high"),
        links.chart("memory"),
        [_("Option"), _("low"), _("expected"), _("high"), _("usable")],
        [
            [
                o["label"] + condition_suffix(o, options, _),
                *(f.gib(o["memory"]["per_gpu_gib"][k]) for k in ("low", "expected", "high")),
                f.gib(o["fit"]["usable_gib"]),
            ]
            for o in options
        ],
        links.csv(),
    )
    measured = [measured_of(option) for option in options]
    pareto = Drawing(
        "pareto",
        _("Cost against speed"),
        _("Dashed: Pareto front, nothing lies better to its upper left. Bars: speed interval")
        + (" · " + _("crosses: measured") if any(measured) else ""),
        links.chart("pareto"),
        [_("Option"), money.sign, unit, _("low"), _("high")],
        [
            row
            for o, marks in zip(options, measured, strict=True)
            for row in (
                [
                    o["label"] + condition_suffix(o, options, _),
                    money.bare(o["cost"]["total_cny"]),
                    *(f.speed(o["speed"][k]) for k in ("expected", "low", "high")),
                ],
                *(_measured_row(o, mark, words) for mark in marks),
            )
        ],
        links.csv(),
        True,
    )
    return [value, memory, pareto]


def _measured_row(option: Mapping[str, Any], mark: Mapping[str, Any], words: Words) -> list[str]:
    """One measured point of an option, with software, day and source."""
    _, f = words.gettext, words.formats
    name = _("%(option)s, measured: %(row)s") % {"option": option["label"], "row": measured_name(mark, _)}
    return [name, words.money.bare(option["cost"]["total_cny"]), f.speed(mark["value"]), "", ""]
