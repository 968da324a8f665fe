"""One figure opened: name and basis, value and interval, the formula with numbers put in, source, date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.decide.options import Option, Rent
from app.core.estimates import MemoryPart
from app.core.formulas import Operand, named_in
from app.core.gpu import PriceChoice
from app.services.results import ShortlistAnswer
from app.texts.words import precision_name
from app.web.answer_tables import Words, used_gib

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line under the formula; `url` leads to where it was read."""

    term: str
    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the popover and the page of one figure show."""

    title: str
    value: str
    unit: str = ""
    interval: str = ""
    basis: str = ""
    formula: str = ""
    facts: tuple[Fact, ...] = field(default=())
    expression: str = ""
    """The formula as it was computed; with `operands` it gives the figure."""
    operands: tuple[Operand, ...] = field(default=())


_WEAKEST = ("exact", "measured", "calibrated", "derived", "assumed")


def figure_at(answer: object, path: str) -> float | None:
    """The number at a dotted path of an answer, by its names in the JSON; None where there is none."""
    at: Any = answer
    for part in path.split(".")[:12]:
        if isinstance(at, tuple):
            place = int(part) if part.isascii() and part.isdigit() and len(part) < 6 else len(at)
            at = at[place] if place < len(at) else None
        elif part.startswith("_"):
            return None
        else:
            at = getattr(at, part, None)
    return at if isinstance(at, int | float) and not isinstance(at, bool) else None


def explain_answer(answer: ShortlistAnswer, path: str, words: Words) -> Explanation | None:
    """A figure of an option; None when the answer has no such figure."""
    parts = path.split(".")
    value = figure_at(answer, path)
    if len(parts) < 4 or parts[0] != "options" or value is None:
        return None
    option = answer.options[int(parts[1])]
    group, name = parts[2], ".".join(parts[3:])
    if group == "memory":
        found = _memory(option, parts[3:], value, words)
    elif group == "fit":
        found = _fit(option, name, value, answer, words)
    else:
        explain = _GROUPS.get(group)
        found = explain(option, name, value, words) if explain else None
    if found is None:
        return None
    _ = words.gettext
    stated = {"engine": answer.versions.engine, "catalog": answer.versions.catalog}
    version = Fact(_("Version"), _("engine %(engine)s, catalog %(catalog)s") % stated)
    opened = option.formulas
    expression = opened.expressions.get(".".join(parts[2:]), "") if opened else ""
    return replace(
        found,
        facts=(*found.facts, version),
        expression=expression,
        operands=named_in(expression, opened.operands) if opened and expression else (),
    )


def _weakest(parts: Iterable[MemoryPart]) -> str:
    """The basis of a sum: the weakest of its parts, however small."""
    bases: list[str] = [p.basis for p in parts if p.gib]
    return max(bases or ["derived"], key=_WEAKEST.index)


def _memory(option: Option, path: list[str], value: float, words: Words) -> Explanation | None:
    _, f = words.gettext, words.formats
    memory = option.memory
    low, expected, high = memory.per_gpu_gib.spread
    if path[0] == "parts":
        part = memory.parts[int(path[1])]
        return Explanation(
            _("%(part)s, per GPU") % {"part": f.label(part.part, "part")},
            f.number(value, 2),
            "GiB",
            basis=part.basis,
            formula=words.gettext(formula_text(part.formula)),
            facts=(Fact(_("Formula"), part.formula, f"/method#{part.formula}"),),
        )
    if path[0] != "per_gpu_gib":
        return None
    sizes = [p for p in memory.parts if p.gib]
    facts = tuple(
        Fact(
            f.label(p.part, "part"),
            f"{f.number(float(p.gib), 2)} GiB · {f.label(p.basis, 'basis')}",
            f"/method#{p.formula}",
        )
        for p in sizes
    )
    return Explanation(
        _("Memory per GPU, %(which)s")
        % {"which": {"low": _("low"), "high": _("high")}.get(path[1], _("expected"))},
        f.gib(value),
        "GiB",
        _("%(low)s–%(high)s (5th to 95th percentile)") % {"low": f.gib(low), "high": f.gib(high)},
        _weakest(sizes),
        " + ".join(f.number(float(p.gib), 2) for p in sizes) + f" = {f.number(expected, 2)}",
        facts,
    )


def _fit(
    option: Option, name: str, value: float, answer: ShortlistAnswer, words: Words
) -> Explanation | None:
    _, f = words.gettext, words.formats
    fit, (_low, need, _high) = option.fit, option.memory.per_gpu_gib.spread
    used = used_gib(answer.question)
    gpu = Fact(_("Card"), option.gpu.name, f"/gpus/{option.gpu.id}")
    if name == "usable_gib":
        source = fit.usable_source
        facts = (gpu, *((Fact(_("Source"), source.title, source.url),) if source else ()))
        return Explanation(_("Usable memory"), f.gib(value), "GiB", basis=fit.usable_basis or "", facts=facts)
    if name == "margin_gib":
        formula = f"{f.gib(fit.usable_gib)} − {f.gib(used)} − {f.gib(need)} = {f.gib(value)}"
        return Explanation(
            _("Memory margin: usable less what is taken less what is needed"),
            f.gib(value),
            "GiB",
            basis="derived",
            formula=formula,
            facts=(gpu,),
        )
    if name == "max_batch_size":
        return Explanation(_("Largest batch that fits"), f.number(value), basis="derived", facts=(gpu,))
    if name == "max_sequence_length":
        return Explanation(_("Longest sequence that fits"), f.number(value), basis="derived", facts=(gpu,))
    return None


def _speed(option: Option, name: str, value: float, words: Words) -> Explanation | None:
    _, f = words.gettext, words.formats
    speed = option.speed
    if name not in ("expected", "low", "high", "steps_per_s"):
        return None
    facts = [
        Fact(_("Bound"), f.label(speed.bound, "bound")),
        Fact(_("Phase"), f.label(speed.phase, "phase")),
    ]
    for key, detail in speed.detail.items():
        # The terms of the formula, in seconds; those that are nothing say nothing.
        if isinstance(detail, int | float) and not isinstance(detail, bool) and detail:
            unit = " s" if key.endswith("_s") else ""
            facts.append(Fact(f.label(key, "detail"), f.plain_number(float(detail)) + unit))
    # Comparisons frozen before measurements were opened have their ids only.
    known = {row.id: Fact(_("Measurement"), row.title, row.url) for row in speed.measurements}
    facts += [known.get(row) or Fact(_("Measurement"), row) for row in speed.sources[:5]]
    return Explanation(
        _("Speed, all cards together"),
        f.speed(value),
        f.label(speed.unit, "speed_unit"),
        _("%(low)s–%(high)s (10th to 90th percentile)")
        % {"low": f.speed(speed.spread[0]), "high": f.speed(speed.spread[2])},
        speed.basis,
        facts=tuple(facts[:12]),
    )


def explain_price(price: PriceChoice, label: str, words: Words, name: str = "amount_cny") -> Explanation:
    """A price with where it was seen, when, and how it was chosen; `name` is the amount that is explained."""
    _, f, money = words.gettext, words.formats, words.money
    source = price.source
    facts = []
    if source:
        facts.append(Fact(_("Source"), source.title or source.id, source.url))
    if price.channel:
        facts.append(Fact(_("Channel"), _(price.channel)))
    age = price.age_days
    date = price.observed_on or "—"
    facts.append(
        Fact(
            _("Date"),
            date if age is None else _("%(date)s (%(days)s days old)") % {"date": date, "days": age},
        )
    )
    facts.append(Fact(_("Condition"), f.label(price.condition, "condition")))
    if price.tax:
        facts.append(Fact(_("Tax"), f.label(price.tax, "tax")))
    if price.stated_amount is not None:
        stated = f"{price.stated_amount:,.2f} {price.currency} · {f.label(price.stated_tax, 'tax')}"
        rate = f.percent(price.tax_rate) + (" · " + _("assumed") if price.tax_rate_assumed else "")
        facts += [Fact(_("As quoted"), stated), Fact(_("Tax rate"), rate)]
    if price.per != "card":
        facts.append(Fact(_("Unit"), f.label(price.per, "price_per")))
    if price.n > 1:
        said = _("lowest of %(n)s valid quotes") if price.kind == "quote" else _("median of %(n)s")
        facts.append(Fact(_("Observations"), said % {"n": price.n}))
    facts += _price_today(price, words)
    if price.variant_assumed:
        facts.append(Fact(_("Note"), _("the form factor was not stated; the price serves each variant")))
    if price.note:
        facts.append(Fact(_("Note"), price.note))
    formula = ""
    if price.converted and price.rate:
        formula = f"{price.amount:,.2f} {price.currency} × {price.rate:.4f}"
        when = price.rate_on + (" · " + _("older than 45 days") if price.rate_old else "")
        facts.append(Fact(_("Exchange rate"), when))
    return Explanation(
        _("Unit price, %(label)s") % {"label": label.split("×", 1)[-1].strip()},
        money.amount(figure_at(price, name if name.endswith("_cny") else "") or price.amount_cny),
        f.label(price.tax, "tax") if price.tax else "",
        basis=price.basis,
        formula=formula,
        facts=tuple(facts),
    )


def _price_today(price: PriceChoice, words: Words) -> list[Fact]:
    """What it costs today with its band, and what that rests on."""
    _, f, money = words.gettext, words.formats, words.money
    facts = []
    if price.expected_cny is not None:
        band = money.amount(price.expected_cny)
        if price.evidence != "firm":
            band += f" ({money.bare(price.low_cny)}–{money.bare(price.high_cny)})"
        facts.append(Fact(_("Today, 80 % band"), band, "/method#prices"))
    if price.evidence:
        facts.append(Fact(_("Evidence"), f.label(price.evidence, "evidence")))
    return facts


def _cost(option: Option, name: str, value: float, words: Words) -> Explanation | None:
    _, f, money = words.gettext, words.formats, words.money
    cost, price = option.cost, option.price
    months = f.plain_number(cost.months)
    if name == "total_cny":
        terms = [cost.purchase_cny, cost.host_cny, cost.energy_cny]
        formula = (
            " + ".join(money.bare(v) for v in terms)
            + f" − {money.bare(cost.residual_cny)} = {money.bare(value)}"
        )
        facts = (
            Fact(_("Cards"), money.amount(cost.purchase_cny)),
            Fact(_("Host"), money.amount(cost.host_cny)),
            Fact(_("Electricity"), f"{f.number(cost.energy_kwh)} kWh · {money.amount(cost.energy_cny)}"),
            Fact(_("Residual value"), money.amount(cost.residual_cny)),
            Fact(_("Formula"), "cost.total", "/method#cost.total"),
        )
        return Explanation(
            _("Total cost, %(months)s months") % {"months": months},
            money.amount(value),
            basis="derived",
            formula=formula,
            facts=facts,
        )
    if name == "outlay_cny":
        formula = f"{money.bare(cost.purchase_cny)} + {money.bare(cost.host_cny)} = {money.bare(value)}"
        return Explanation(_("Paid on the day"), money.amount(value), basis="derived", formula=formula)
    if name == "purchase_cny":
        formula = f"{option.count} × {money.bare(price.today_cny)}" if price.per == "card" else ""
        return Explanation(
            _("Purchase"),
            money.amount(value),
            basis="derived",
            formula=formula,
            facts=explain_price(price, option.label, words).facts,
        )
    if name == "energy_cny":
        rate = cost.energy_cny / cost.energy_kwh if cost.energy_kwh else 0.0
        formula = f"{f.number(cost.energy_kwh)} kWh × {money.amount(rate, 2)}/kWh"
        return Explanation(
            _("Electricity over the term"),
            money.amount(value),
            basis="derived",
            formula=formula,
            facts=(Fact(_("Formula"), "cost.energy", "/method#cost.energy"),),
        )
    if name == "host_cny":
        return _machines(option, words)
    if name == "residual_cny":
        fraction = value / cost.purchase_cny if cost.purchase_cny else 0.0
        formula = f"{money.bare(cost.purchase_cny)} × {f.percent(fraction)}"
        return Explanation(
            _("What the cards are still worth at the end"),
            money.amount(value),
            basis="assumed",
            formula=formula,
        )
    if name == "per_hour_cny":
        hours = cost.total_cny / value if value else 0.0
        formula = f"{money.bare(cost.total_cny)} ÷ {f.number(hours)} h"
        return Explanation(
            _("Cost per working hour"), money.amount(value, 2), basis="derived", formula=formula
        )
    if name == "per_unit.amount_cny" and cost.per_unit:
        units = cost.total_cny / value if value else 0.0
        unit = f.label(cost.per_unit.unit, "per_unit")
        formula = f"{money.bare(cost.total_cny)} ÷ {f.number(units)}"
        return Explanation(
            _("Unit cost"),
            money.unit(value),
            f"/{unit}",
            basis="derived",
            formula=formula,
            facts=(
                Fact(
                    _("Speed"),
                    f"{f.speed(option.speed.spread[1])} {f.label(option.speed.unit, 'speed_unit')}",
                ),
            ),
        )
    return None


def _machines(option: Option, words: Words) -> Explanation:
    """Machines around the cards and the network between them."""
    _, money, f, cost, host = words.gettext, words.money, words.formats, option.cost, option.host
    value, formula = cost.host_cny, ""
    if host is None or (value and not host.bought):
        formula = f"{option.count} × {money.bare(value / option.count)}"
    elif host.bought:
        each = (host.cny - host.network_cny) / host.bought
        formula = f"{host.bought} × {money.bare(each)}"
        if host.network_cny:
            further = host.count - 1
            formula += f" + {further} × {money.bare(host.network_cny / further)}"
    facts = []
    if host is not None:
        facts.append(Fact(_("Machine"), f"{host.count} × {f.label(host.kind, 'host_class')}"))
        facts.append(Fact(_("Power without cards"), f"{f.number(host.power_w)} W"))
    title = _("Machines and network")
    return Explanation(title, money.amount(value), basis="assumed", formula=formula, facts=tuple(facts))


def _metric(option: Option, name: str, value: float, words: Words) -> Explanation | None:
    _, f, money = words.gettext, words.formats, words.money
    metrics, purchase = option.metrics, option.cost.purchase_cny
    precision = precision_name(metrics.precision)
    card = Fact(_("Card"), option.gpu.name, f"/gpus/{option.gpu.id}")
    meaning = Fact(_("Precision"), _("%(precision)s, dense, FP32 accumulate") % {"precision": precision})
    if name == "peak_tflops":
        formula = f"{option.count} × {f.plain_number(value / option.count)}"
        return Explanation(
            _("Peak of all cards"),
            f.plain_number(value),
            "TFLOPS",
            basis="exact",
            formula=formula,
            facts=(meaning, card),
        )
    if name == "sustained_tflops":
        return Explanation(
            _("Sustained in this work"),
            f.plain_number(value),
            "TFLOPS",
            basis=option.speed.basis,
            facts=(meaning, card),
        )
    titles = {
        "peak_tflops_per_1000_cny": (_("Peak TFLOPS per 1000 yuan"), "TFLOPS", metrics.peak_tflops),
        "sustained_tflops_per_1000_cny": (
            _("Sustained TFLOPS per 1000 yuan"),
            "TFLOPS",
            metrics.sustained_tflops,
        ),
        "gib_per_1000_cny": (_("Memory per 1000 yuan"), "GiB", value * purchase / 1000),
        "gb_s_per_1000_cny": (_("Bandwidth per 1000 yuan"), "GB/s", value * purchase / 1000),
    }
    if name not in titles:
        return None
    title, unit, amount = titles[name]
    facts = (meaning, card) if unit == "TFLOPS" else (card,)
    formula = f"{f.plain_number(amount)} ÷ {money.bare(purchase)} × 1000"
    return Explanation(title, f.number(value, 2), unit, basis="derived", formula=formula, facts=facts)


def _robustness(option: Option, name: str, value: float, words: Words) -> Explanation | None:
    _, f = words.gettext, words.formats
    robustness = option.robustness
    if robustness is None or name != "share_first":
        return None
    return Explanation(
        _("Share of draws in which it stays first"),
        f.percent(value),
        basis="derived",
        facts=(
            Fact(_("Draws"), f.number(robustness.draws)),
            Fact(_("Seed"), str(robustness.seed)),
        ),
    )


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


_GROUPS: Mapping[str, Callable[[Option, str, float, Words], Explanation | None]] = {
    "speed": _speed,
    "price": lambda option, name, _value, words: explain_price(option.price, option.label, words, name),
    "cost": _cost,
    "metrics": _metric,
    "robustness": _robustness,
    "rental": lambda option, name, value, words: (
        explain_rent(option, option.rental, name, value, words) if option.rental else None
    ),
}
"""What explains a figure below an option, by the group it is in."""


def formula_text(formula_id: str) -> str:
    """The expression of a registered formula."""
    from app.core.formulas import FORMULAS

    formula = FORMULAS.get(formula_id)
    return formula.expression if formula else ""
