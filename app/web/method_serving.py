"""Rows of the accuracy of serving as the page of the method prints them."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

from app.services.accuracy_answers import ServingAccuracyReport
from app.texts.accuracy import SERVING_FIGURES, SERVING_SPLITS, serving_group
from app.web.answer_tables import Words

BAND = (0.75, 0.88)
"""Share of runs inside an 80 % band that is neither too narrow nor too wide."""


@dataclass(frozen=True, slots=True)
class ServingRowShown:
    """Errors of one figure over one group of runs."""

    name: str
    figure: str
    count: int
    pages: int
    bias: str
    median: str
    worst: str
    by_page: str
    inside: str
    band: str
    split: str
    verdict: str
    """fits where the band holds what it promises, else tight."""


def serving_rows(report: ServingAccuracyReport, words: Words) -> list[ServingRowShown]:
    """One row for each group and figure."""
    f = words.formats
    return [
        ServingRowShown(
            serving_group(row.group, words.gettext),
            words.gettext(SERVING_FIGURES[row.figure]),
            row.runs,
            row.pages,
            f.signed_percent(expm1(row.signed_median)),
            f.percent(expm1(row.median)),
            f.percent(expm1(row.p90)),
            f.percent(expm1(row.page_median)),
            f.percent(row.inside),
            f"× {row.band:.1f}",
            words.gettext(SERVING_SPLITS[row.split]),
            "fits" if BAND[0] <= row.inside else "tight",
        )
        for row in report.groups
    ]
