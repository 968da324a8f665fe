"""accuracy prices: the table of the price accuracy."""

from __future__ import annotations

from collections.abc import Callable

from app.commands.output import table
from app.services.accuracy_answers import PriceAccuracyReport
from app.texts.accuracy import PRICE_GROUPS, SPLITS


def prices(answer: PriceAccuracyReport, _: Callable[[str], str]) -> list[str]:
    """Errors of carried prices by class and age, and how much of it rests on one table."""
    head = ["", _("days"), "n", _("cards"), _("|median|"), _("|90th pct|"), _("median"), _("in low–high")]
    cells = [[*head, _("as it is"), _("errors of")]]
    for row in answer.groups:
        cells.append(
            [
                _(PRICE_GROUPS[row.group]),
                f"{row.first_day}–{row.last_day}",
                str(row.pairs),
                str(row.cards),
                f"{row.median:.1%}",
                f"{row.p90:.1%}",
                f"{row.signed_median:+.1%}",
                f"{row.inside:.0%}",
                f"{row.as_it_is_median:.1%} / {row.as_it_is_p90:.1%}",
                _(SPLITS[row.split]),
            ]
        )
    one, versions = answer.one_table, answer.versions
    lines = [_("Prices, carried against observed later"), "", *table(cells), ""]
    if answer.untested:
        lines.append(f"{_('not to be tested')}  {', '.join(_(PRICE_GROUPS[g]) for g in answer.untested)}")
    lines.append(
        f"{_('one table')}  {one.channel}: {one.share_of_targets:.0%} {_('of the targets')}, "
        f"{one.share_of_index:.0%} {_('of the index')}"
    )
    return [*lines, "", f"{_('engine')} {versions.engine}   {_('catalogue')} {versions.catalog}"]
