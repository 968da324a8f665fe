"""Rent or buy: the rows of the table, the sentence above it, and a figure of it opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.decide.options import Option, Rent
from app.web.explanation import Explanation, Fact
from app.web.view import Words

ROWS = 5


@dataclass(frozen=True, slots=True)
class RentRow:
    """One option, rented."""

    option: Option
    rent: Rent
    index: int
    pays: str
    """When buying pays off, in words."""


def rent_rows(options: Sequence[Option], words: Words) -> list[RentRow]:
    """The first options whose cards are let, in their order."""
    rows = [
        RentRow(option, option.rental, index, pays_off(option.rental, option.cost.months, words))
        for index, option in enumerate(options)
        if option.rental
    ]
    return rows[:ROWS]


def pays_off(rent: Rent, months: float, words: Words) -> str:
    """From which month buying is cheaper."""
    _, f = words.gettext, words.formats
    month = rent.break_even_month
    if month is None:
        return _("never: the rent is below the electricity")
    if month > months:
        return _("not within %(months)s months") % {"months": f.plain_number(months)}
    return _("from month %(month)s") % {"month": f.number(month)}


def rent_sentence(options: Sequence[Option], words: Words) -> str:
    """Rent of the first option's cards and when buying pays off; empty where nobody lets them."""
    _, f, money = words.gettext, words.formats, words.money
    rental = options[0].rental if options else None
    if not rental:
        return ""
    named = {
        "monthly": money.amount(rental.monthly_cny),
        "months": f.plain_number(options[0].cost.months),
    }
    month = rental.break_even_month
    if month is None or month > options[0].cost.months:
        return (
            _("Rented, the same cards cost %(monthly)s a month: over %(months)s months renting is cheaper.")
            % named
        )
    return _("Rented, the same cards cost %(monthly)s a month: buying pays off from month %(month)s.") % {
        **named,
        "month": f.number(month),
    }


def explain_rent(option: Option, rental: Rent, name: str, value: float, words: Words) -> Explanation | None:
    """A figure of the rent with the observation it rests on."""
    _, f, money = words.gettext, words.formats, words.money
    count = option.count
    hours, each = f.number(rental.hours_per_month), money.amount(rental.per_gpu_hour_cny, 2)
    date = _("%(date)s (%(days)s days old)") % {"date": rental.observed_on, "days": rental.age_days}
    source = rental.source
    facts = (
        Fact(_("Provider"), f"{rental.provider} · {f.label(rental.billing, 'billing')}"),
        Fact(_("Date"), date),
        *((Fact(_("Source"), source.title or source.id, source.url),) if source else ()),
        Fact(_("Card"), option.gpu.name, f"/gpus/{option.gpu.id}"),
    )
    if name == "per_gpu_hour_cny":
        formula = f"{rental.amount:,.2f} {rental.currency}" if rental.converted else ""
        basis = "derived" if rental.converted else "exact"
        return Explanation(_("Rent per card-hour"), each, basis=basis, formula=formula, facts=facts)
    if name == "monthly_cny":
        formula = f"{count} × {each} × {hours} h"
        return Explanation(
            _("Rent per month"), money.amount(value), basis="derived", formula=formula, facts=facts
        )
    if name == "total_cny":
        months = f.plain_number(option.cost.months)
        formula = f"{months} × {money.amount(rental.monthly_cny)}"
        title = _("Rent over %(months)s months") % {"months": months}
        return Explanation(title, money.amount(value), basis="derived", formula=formula, facts=facts)
    if name == "break_even_month":
        cost = option.cost
        outlay = money.bare(cost.purchase_cny + cost.host_cny)
        power = money.bare(cost.energy_cny / cost.months)
        formula = f"{outlay} ÷ ({money.bare(rental.monthly_cny)} − {power})"
        return Explanation(
            _("Month from which buying is cheaper than renting"),
            f.number(value),
            basis="derived",
            formula=formula,
            facts=facts,
        )
    return None
