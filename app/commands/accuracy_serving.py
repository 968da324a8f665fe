"""accuracy serving: the table of the accuracy of serving."""

from __future__ import annotations

from collections.abc import Callable

from app.commands.output import table
from app.services.accuracy_answers import Aim, ServingAccuracyReport
from app.texts.accuracy import SERVING_FIGURES, SERVING_SPLITS, serving_group


def serving(answer: ServingAccuracyReport, _: Callable[[str], str]) -> list[str]:
    """Errors of total, time per token and first token by group of runs."""
    head = ["", _("figure"), "n", _("pages"), _("|median|"), _("|90th pct|"), _("median"), _("by page")]
    cells = [[*head, _("in low–high"), _("high/low"), _("target"), _("left out")]]
    for row in answer.groups:
        cells.append(
            [
                serving_group(row.group, _),
                _(SERVING_FIGURES[row.figure]),
                str(row.runs),
                str(row.pages),
                f"{row.median:.2f}",
                f"{row.p90:.2f}",
                f"{row.signed_median:+.2f}",
                f"{row.page_median:.2f}",
                f"{row.inside:.0%}",
                f"{row.band:.1f}",
                _target(row.target),
                _(SERVING_SPLITS[row.split]),
            ]
        )
    versions = answer.versions
    return [
        _("Serving, predicted against measured: ln(predicted / measured)"),
        "",
        *table(cells, left=frozenset({0, 1})),
        "",
        f"{_('runs compared')}  {answer.compared} / {answer.runs}",
        f"{_('engine')} {versions.engine}   {_('catalogue')} {versions.catalog}",
    ]


def _target(target: Aim | None) -> str:
    return "" if target is None else f"{target.median:.2f} / {target.p90:.2f}"
