"""The charts of an answer with the tables that stand under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.charts.measured_points import measured_name, measured_of
from app.charts.shortlist import card_label, value_rows
from app.charts.theme import condition_suffix
from app.core.decide.options import Option
from app.core.estimates import Measurement
from app.texts.words import precision_name
from app.web.answer_tables import Words
from app.web.links import QuestionLinks


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


def drawings(options: Sequence[Option], words: Words, links: QuestionLinks) -> list[Drawing]:
    """Compute per 1000 yuan, memory parts against usable memory, cost against speed."""
    _, f, money = words.gettext, words.formats, words.money
    precision = precision_name(options[0].metrics.precision)
    unit = f.label(options[0].speed.unit, "speed_unit")
    value = Drawing(
        "value",
        _("%(precision)s compute per 1000 yuan") % {"precision": precision},
        _("TFLOPS per 1000 yuan; dense, FP32 accumulate, no sparsity"),
        links.chart("value"),
        [_("Card"), "TFLOPS", money.sign, _("TFLOPS/k¥")],
        [
            [
                card_label(o, _),
                "—" if o.metrics.peak_tflops is None else f.plain_number(o.metrics.peak_tflops / o.count),
                money.bare(o.cost.purchase_cny / o.count),
                f.number(o.metrics.peak_tflops_per_1000_cny, 2),
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
                o.label + condition_suffix(o, options, _),
                *map(f.gib, o.memory.per_gpu_gib.spread),
                f.gib(o.fit.usable_gib),
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
                    o.label + condition_suffix(o, options, _),
                    money.bare(o.cost.total_cny),
                    *(f.speed(o.speed.spread[i]) for i in (1, 0, 2)),
                ],
                *(_measured_row(o, mark, words) for mark in marks),
            )
        ],
        links.csv(),
        True,
    )
    return [value, memory, pareto]


def _measured_row(option: Option, mark: Measurement, words: Words) -> list[str]:
    """One measured point of an option, with software, day and source."""
    _, f = words.gettext, words.formats
    name = _("%(option)s, measured: %(row)s") % {"option": option.label, "row": measured_name(mark, _)}
    return [name, words.money.bare(option.cost.total_cny), f.speed(mark.value), "", ""]
