"""What the answer says to do: buy, rent, or ask for quotes first; what to compare; which quotes to ask for.

An amount that is only estimated never recommends anything: sorting such amounts by size picks the one that
is most wrong. It says instead below which price a card would be first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from app.core.answer import Figure, answer
from app.core.decide.candidates import PASSES
from app.core.decide.engine_support import GOOD
from app.core.decide.grid import VERDICTS
from app.core.decide.options import Option, pareto_front
from app.core.decide.pricing import LEVELS
from app.core.decide.renting import buys
from app.core.decide.robustness import Field, field_of, price_factors_to_lead
from app.core.decide.tried import certain_after
from app.core.estimates import Message
from app.core.gpu import GpuRef
from app.core.gpu_table import Flags, Floats, Index
from app.core.question import BUY, RENTS

if TYPE_CHECKING:
    from app.core.decide.shortlist import Cell, Ranking

Kind = Literal["buy", "rent", "inquire", "none"]
HOLDS = ("", "assumed", "split", "spread", "tight", "support", "estimate")
"""Why an option on the list is not recommended; the later counts first."""
UNSURE = frozenset({"framework_support_unknown", "framework_capability_unknown"})
"""Flags of a stack of which nobody says that it runs."""
CONSUMER = "consumer"
SPLIT_SAVES = 1.5
"""One user's work is not split over more cards where fewer do it for less than so many times the money."""
CONTENDERS_SHOWN = 4
PRICED = ("total_cost", "purchase", "tflops_per_yuan")
"""Objectives in which the price plays a part."""
MOST_ASKED = 5
QUOTES_THAT_DECIDE = 3
FIRM_SHARE = 0.5
"""An option that is first in fewer draws is recommended with that said."""


@answer()
class Recommendation:
    """What to do, why, and what to mind."""

    kind: Kind
    """buy, rent, inquire (ask for quotes first) or none."""
    rank: int | None
    """Rank of the option; null where none is recommended."""
    text: Message
    """The answer in one sentence."""
    because: tuple[Message, ...]
    """What it rests on, in sentences."""
    caveats: tuple[Message, ...]
    """What to mind before acting on it, in sentences."""


@answer(hide=("shown",))
class Contender:
    """One of the few options that a person compares."""

    names: tuple[str, ...]
    """What it is among the options that may be recommended: cheapest, cheapest_new, rent, fastest_for_money
    (most speed for its total cost), least_outlay."""
    rank: int
    """Rank of the option."""
    label: str
    """Count and short name: 2 × RTX 4090."""
    condition: str
    """new, used, refurbished or modded."""
    total_cny: Figure
    """Total cost over the term, yuan."""
    outlay_cny: Figure
    """What is paid on the day, yuan."""
    speed: Figure
    """Of all cards together, in the unit of the options."""
    speed_unit: str
    """Unit of the speed."""
    acquisition: str = "buy"
    """buy, rent_on_demand or rent_monthly."""
    text: Message | None = None
    """Of a rent: from how much use on buying costs less; null where that is not known."""

    @property
    def shown(self) -> bool:
        """Whether a page shows it: what is only the least outlay stands in the JSON alone."""
        return self.names != ("least_outlay",)


@answer()
class Band:
    """What one card costs today where that is an estimate, yuan."""

    low: Figure
    """10th percentile."""
    expected: Figure
    """What is expected."""
    high: Figure
    """90th percentile."""


@answer()
class Seen:
    """What was observed of a price that an estimate rests on."""

    amount: Figure
    """As it was observed, in `currency`."""
    currency: str
    """ISO 4217 code."""
    per: str
    """card, or server-8."""
    observed_on: str
    """Day, month or year, ISO 8601."""
    channel: str
    """Who sold."""
    channel_kind: str
    """What kind of seller."""
    region: str
    """Where it held."""


@answer()
class Inquiry:
    """A card that would be first at an estimate: what to ask a supplier for."""

    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    condition: str
    """new, used, refurbished or modded."""
    estimate_cny: Band
    """Per card."""
    observed: Seen
    """What the estimate rests on."""
    wins_below_cny: Figure | None
    """Price per card, yuan, below which it would be first and inside the budget; null where every price
    does: nothing else passes, or price plays no part and no budget is set."""
    text: Message
    """The same in a sentence."""

    @property
    def label(self) -> str:
        """Count and short name: 2 × RTX 4090."""
        return self.gpu.label(self.count)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a ranking in words and what to compare."""

    recommendation: Recommendation
    contenders: tuple[Contender, ...]
    inquire: tuple[Inquiry, ...]
    sound: frozenset[int] = frozenset()
    """Ranks that nothing holds back."""


def headline(option: Option) -> Message:
    """The sentence that an answer begins with, wherever it is said: page, API, command line."""
    params = {
        "option": option_name(option.count, option.gpu.name, option.condition),
        "need_gib": option.memory.per_gpu_gib.spread[1],
        "speed": option.speed.spread[1],
        "speed_unit": option.speed.unit,
        "outlay_cny": option.cost.outlay_cny,
        "total_cny": option.cost.total_cny,
        "months": option.cost.months,
    }
    code = "recommend_buy_one" if option.count == 1 else "recommend_buy_several"
    if option.service is None:
        return Message(code, params)
    served = option.service
    params |= {
        "users": served.users,
        "user_speed": served.tokens_per_s_per_user,
        "first_token": served.first_token_s,
    }
    return Message(f"{code}_to_serve", params)


def option_name(count: int, name: str, condition: str) -> str:
    """How sentences name an option."""
    return f"{count} × {name} ({condition})"


# ---- what may be recommended


@dataclass(frozen=True, slots=True)
class Held:
    """What keeps options from being recommended, (cards, counts, conditions)."""

    by: Index
    """Index into HOLDS, prices apart; 0 where nothing does."""
    weak: Flags
    """Whether the price is only an estimate."""

    @property
    def code(self) -> Index:
        """Index into HOLDS."""
        return np.where(self.weak, HOLDS.index("estimate"), self.by)


def holds(ranking: Ranking) -> Held:
    """Why options are not recommended."""
    found = np.zeros(ranking.candidates.score.shape, dtype=np.intp)
    flags = ranking.asked.filter.flags
    support = ranking.asked.support
    unsure = [
        support[row].status not in GOOD or any(f.code in UNSURE for f in flags.get(row, ()))
        for row in ranking.rows.tolist()
    ]
    if ranking.question.load_assumed and buys(ranking.question):
        # Nobody rents for work that nobody has.
        found[..., _rented(ranking)] = HOLDS.index("assumed")
    found[_needlessly_split(ranking)] = HOLDS.index("split")
    found[_spread(ranking)] = HOLDS.index("spread")
    found[ranking.best.level != VERDICTS.index("fits")] = HOLDS.index("tight")
    found[np.array(unsure, dtype=bool)] = HOLDS.index("support")
    return Held(found, ranking.prices.evidence < LEVELS.index("current"))


def _spread(ranking: Ranking) -> Flags:
    """Consumer cards over several machines: nobody builds a network for cards that cannot use it."""
    consumer = np.array([gpu.segment == CONSUMER for gpu in ranking.gpus], dtype=bool)
    many = np.asarray(ranking.best.counts) > ranking.question.filters.max_cards_per_host
    return np.asarray(consumer[:, np.newaxis] & many[np.newaxis, :], dtype=bool)


def _rented(ranking: Ranking) -> Flags:
    """Which of the conditions are ways to rent."""
    return np.array([kind in RENTS for kind in ranking.prices.conditions], dtype=bool)


def _needlessly_split(ranking: Ranking) -> Flags:
    """Options that split one user's work, or an adapter's training, where fewer cards do it as well."""
    work, candidates = ranking.question.workload, ranking.candidates
    held = np.zeros(candidates.score.shape, dtype=bool)
    alone = work.model.family == "decoder" and float(np.max(work.batch_size or 1)) <= 1
    if not (work.task in ("lora", "qlora") if work.trains else alone):
        return held
    parts = [p.tensor * p.pipeline * (p.data if p.zero_stage else 1) for p in ranking.grid.plans]
    degree = np.array(parts)[ranking.best.plan][..., np.newaxis]
    total = np.broadcast_to(candidates.costs.total_cny, held.shape)
    fits = (ranking.best.level == VERDICTS.index("fits"))[..., np.newaxis]
    weak = ranking.prices.evidence < LEVELS.index("current")
    known = candidates.passes & fits & ~weak
    # Nobody is sent for quotes of a split either: what it saves is not known.
    saved = np.where(weak, np.inf, total * SPLIT_SAVES)
    least = np.inf
    for parts_of_one in np.unique(degree):
        same = np.broadcast_to(degree == parts_of_one, held.shape)
        held |= same & ~(saved < least) & np.isfinite(least)
        least = min(least, float(np.min(total, where=same & known, initial=np.inf)))
    return held


# ---- contenders


def contenders(
    total_cny: Floats, outlay_cny: Floats, speed: Floats, new: Flags, rented: Flags
) -> list[tuple[tuple[str, ...], int]]:
    """The few that a person compares, each by its names and its position.

    Parameters
    ----------
    total_cny, outlay_cny, speed: of the options that may be recommended, the best first. new: condition.
    rented: not bought.

    Returns
    -------
    Names and position; an option of two names stands once, in the order of its first name.
    """
    found: dict[int, list[str]] = {}

    def name(which: str, value: Floats, among: Flags) -> None:
        at = np.flatnonzero(among & np.isfinite(value))
        if at.size:
            found.setdefault(int(at[np.argmin(value[at])]), []).append(which)

    bought = ~rented
    front = np.zeros(len(total_cny), dtype=bool)
    front[pareto_front(total_cny, speed)] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        cost_of_speed = total_cny / speed
    name("cheapest", total_cny, bought)
    name("cheapest_new", total_cny, bought & new)
    name("rent", total_cny, rented)
    name("fastest_for_money", cost_of_speed, front)
    name("least_outlay", outlay_cny, bought)
    return [(tuple(names), place) for place, names in found.items()]


# ---- quotes


def factor_in_budget(field: Field, budget_cny: float | None) -> Floats:
    """Factor on its own price up to which purchase and host of each option stay inside a budget."""
    if budget_cny is None:
        return np.full(field.price_cny.shape, np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray((budget_cny - field.host_cny) / field.price_cny)


def waiting(ranking: Ranking, held: Held, first: int | None) -> list[int]:
    """Flat positions of what would be first at its estimate, one for each card, the best first.

    Parameters
    ----------
    ranking: the arrays. held: of `holds`. first: flat position of what is recommended; None: nothing is.
    """
    candidates = ranking.candidates
    # What holds a card back beside its price, no quote will mend.
    could = (candidates.at_estimate == PASSES) & held.weak & (held.by == 0) & np.isfinite(candidates.score)
    flat = np.flatnonzero(could)
    score = candidates.score.ravel()[flat]
    if first is not None:
        flat = flat[score < candidates.score.ravel()[first]]
        score = candidates.score.ravel()[flat]
    row, count, _ = np.unravel_index(flat, candidates.score.shape)
    ordered = np.lexsort((flat, -ranking.best.speed[row, count], score))
    found: dict[int, int] = {}
    for i in ordered.tolist():
        found.setdefault(int(row[i]), int(flat[i]))
        if len(found) == MOST_ASKED:
            break
    return list(found.values())


def wins_below(field: Field, budget_cny: float | None) -> list[float | None]:
    """Factor on its own price below which each of the others is first.

    Parameters
    ----------
    field: what is to be beaten, then the others. budget_cny: of the question.

    Returns
    -------
    Factors of the others; None where the price plays no part and no budget bounds it.

    Notes
    -----
    Closed form: total cost, purchase and TFLOPS per yuan are linear in the price or in its inverse. Under
    speed and power the price is bounded by the budget alone.
    """
    lead, inside = price_factors_to_lead(field), factor_in_budget(field, budget_cny)
    priced = field.objective in PRICED
    factors = np.where(np.isnan(lead), 0.0, np.minimum(lead, inside)) if priced else inside
    return [float(f) if np.isfinite(f) and f > 0 else None for f in factors[1:]]


def inquiries(ranking: Ranking, held: Held, first: int | None) -> tuple[Inquiry, ...]:
    """Which quotes to ask for, the one nearest to the first place first."""
    flats = waiting(ranking, held, first)
    if not flats:
        return ()
    budget = ranking.question.budget.amount if ranking.question.budget else None
    cells = ranking.cells(np.array(flats))
    if first is not None:
        field = field_of(ranking, [*ranking.cells(np.array([first])), *cells])
        factors = wins_below(field, budget)
    else:
        # Nothing can be bought at a known price: each is measured against the best of the others, and what
        # would not be the best as a gift is not asked for.
        leads = ~np.isnan(price_factors_to_lead(field_of(ranking, cells)))
        if ranking.question.objective in PRICED:
            cells = [cell for cell, can in zip(cells, leads.tolist(), strict=True) if can]
        factors = wins_below(field_of(ranking, cells), budget)
        best = cells[:2][::-1]
        alone = len(cells) == 1
        inside = factor_in_budget(field_of(ranking, cells[:1]), budget)
        bounded = float(inside[0]) if np.isfinite(inside[0]) else None
        factors = [bounded if alone else wins_below(field_of(ranking, best), budget)[0], *factors]
    return tuple(_inquiry(ranking, cell, factor) for cell, factor in zip(cells, factors, strict=True))


def _inquiry(ranking: Ranking, cell: Cell, factor: float | None) -> Inquiry:
    row, n, k = cell
    price, gpu, count = ranking.prices.choice(row, n, k), ranking.gpus[row], ranking.best.counts[n]
    bought = count * ranking.prices.machines(row, n, k).with_spares
    each = float(ranking.prices.purchase_cny[row, n, k]) / bought
    expected = price.expected_cny or price.amount_cny
    low, high = (each * (bound or expected) / expected for bound in (price.low_cny, price.high_cny))
    limit = None if factor is None else each * factor
    condition = ranking.prices.condition(k)
    params = {
        "option": option_name(count, gpu.name, condition),
        "low_cny": low,
        "expected_cny": each,
        "high_cny": high,
        "observed_on": price.observed_on,
    }
    code = "ask_quote"
    if limit is not None:
        params["wins_below_cny"] = limit
        code = "ask_quote_below"
        if price.per != "card":
            params["server_cny"] = limit * count
            code = "ask_quote_of_server_below"
    return Inquiry(
        gpu=gpu.ref,
        count=count,
        condition=condition,
        estimate_cny=Band(low, each, high),
        observed=Seen(
            price.amount,
            price.currency,
            price.per,
            price.observed_on,
            price.channel,
            price.channel_kind,
            price.region,
        ),
        wins_below_cny=limit,
        text=Message(code, params),
    )


# ---- the answer


def recommend(
    option: Option | None,
    above: Sequence[Message],
    asks: Sequence[Inquiry],
    objective: str = "total_cost",
    compared: Sequence[Contender] = (),
) -> Recommendation:
    """The sentence, what it rests on, what to mind.

    Parameters
    ----------
    option: the first that nothing holds back; None: there is none.
    above: why the first of the list is not recommended, where that is another.
    asks: quotes that would change it, the nearest first. objective: of the question. compared: contenders.
    """
    held = list(above)
    deciding = asks[:QUOTES_THAT_DECIDE]
    quotes = [_short(ask) for ask in deciding]
    if option is None and asks:
        text = Message("recommend_inquire", {"quotes": quotes})
        because = (Message("nothing_at_a_price_of_today"), *held)
        return Recommendation("inquire", None, text, because, tuple(_basis(ask) for ask in deciding))
    if option is None:
        return Recommendation("none", None, Message("recommend_none"), tuple(held), ())
    caveats = [flag for flag in option.flags if flag.code != "tight"]
    if option.acquisition != BUY:
        return _rent(option, compared, caveats)
    # Among what the list holds, options count that are not recommended: their share says nothing of this one.
    share = option.robustness.share_first if option.robustness and not above else None
    if share is not None and share < FIRM_SHARE:
        caveats.insert(0, Message("caveat_not_firm", {"first_fraction": share}))
    if quotes:
        caveats.insert(0, Message("caveat_quotes", {"quotes": quotes}))
    why = (Message(f"best_of_sound_by_{objective}"), *held) if above else option.reasons
    return Recommendation("buy", option.rank, headline(option), (_evidence(option), *why), tuple(caveats))


def _rent(option: Option, compared: Sequence[Contender], caveats: Sequence[Message]) -> Recommendation:
    """To rent: what it costs, against what it costs on cards of one's own."""
    own = next((c.total_cny for c in compared if "cheapest" in c.names), None)
    params = {
        "option": f"{option.count} × {option.gpu.name}",
        "provider": option.price.channel,
        "rent_cny": option.cost.total_cny,
    }
    code = "recommend_rent_only" if own is None else "recommend_rent"
    text = Message(code, params if own is None else params | {"total_cny": own})
    seen = {"rent_cny": option.price.amount_cny, "seen": option.price.observed_on}
    because = [Message("rent_is_current", seen)]
    because += [c.text for c in compared if c.rank == option.rank and c.text is not None]
    return Recommendation("rent", option.rank, text, tuple(because), tuple(caveats))


def _short(ask: Inquiry) -> Message:
    name = option_name(ask.count, ask.gpu.name, ask.condition)
    if ask.wins_below_cny is None:
        band = ask.estimate_cny
        return Message("quote_of", {"option": name, "low_cny": band.low, "high_cny": band.high})
    return Message("quote_below", {"option": name, "wins_below_cny": ask.wins_below_cny})


def _basis(ask: Inquiry) -> Message:
    band, seen = ask.estimate_cny, ask.observed
    params = {
        "gpu": ask.gpu.name,
        "low_cny": band.low,
        "high_cny": band.high,
        "observed_on": seen.observed_on,
    }
    return Message("estimate_rests_on", params)


def _evidence(option: Option) -> Message:
    price = option.price
    if price.evidence == "firm":
        return Message("price_is_own" if price.kind == "override" else "price_is_quote", {})
    params = {"amount_cny": price.amount_cny, "observed_on": price.observed_on, "channel": price.channel}
    return Message("price_is_current", params)


def outcome(ranking: Ranking, options: Sequence[Option], first: int | None, held: Held) -> Outcome:
    """Recommendation, contenders and quotes of a ranking.

    Parameters
    ----------
    ranking: the arrays. options: those written out, what is recommended among them.
    first: flat position of what is recommended. held: of `holds`.
    """
    asks = inquiries(ranking, held, first)
    codes = held.code.ravel()[ranking.order]
    place = None if first is None else int(np.flatnonzero(ranking.order == first)[0])
    # A rent that stands higher for work that was assumed holds nothing back: it is a contender.
    ahead = [i for i, code in enumerate(codes[:place].tolist()) if code != HOLDS.index("assumed")]
    cells = ranking.cells(ranking.order[ahead[:1]])
    above = [_held(ranking, cell, HOLDS[int(codes[ahead[0]])]) for cell in cells]
    chosen = None if place is None else next((o for o in options if o.rank == place + 1), None)
    sound = frozenset((np.flatnonzero(codes == 0) + 1).tolist())
    compared = _contenders(ranking, codes <= HOLDS.index("assumed"))
    advised = recommend(chosen, above, asks, ranking.question.objective, compared)
    return Outcome(advised, compared, asks, sound)


def _held(ranking: Ranking, cell: Cell, hold: str) -> Message:
    """Why an option is not recommended, and what would mend it."""
    params: dict[str, Any] = {"option": ranking.label(cell)}
    change = certain_after(ranking, cell) if hold == "tight" else None
    if change is None:
        return Message(f"held_{hold}", params)
    return Message("held_tight_fits_after", {**params, "changes": [change]})


def _contenders(ranking: Ranking, sound: Flags) -> tuple[Contender, ...]:
    flats = ranking.order[sound]
    if not len(flats):
        return ()
    candidates = ranking.candidates
    shape = candidates.score.shape

    def at(values: Floats) -> Floats:
        return np.asarray(np.broadcast_to(values, shape).ravel()[flats])

    costs = candidates.costs
    total, speed = at(costs.total_cny), at(candidates.speed)
    outlay = at(costs.purchase_cny) + at(costs.host_cny)
    rows, counts, conditions = np.unravel_index(flats, shape)
    kinds = ranking.prices.conditions
    new = np.array([kind == "new" for kind in kinds])[conditions]
    rented = _rented(ranking)[conditions]
    own = float(np.min(total, where=~rented, initial=np.inf))
    places = np.flatnonzero(sound)
    found = []
    for names, i in contenders(total, outlay, speed, new, rented):
        row, n, k = int(rows[i]), int(counts[i]), int(conditions[i])
        found.append(
            Contender(
                names=names,
                rank=int(places[i]) + 1,
                label=ranking.gpus[row].ref.label(ranking.best.counts[n]),
                condition=ranking.prices.condition(k),
                acquisition=ranking.prices.acquisition(k),
                total_cny=float(total[i]),
                outlay_cny=float(outlay[i]),
                speed=float(speed[i]),
                speed_unit=ranking.grid.speed.terms.unit,
                text=_when_to_buy(ranking, k, float(total[i]), own) if rented[i] else None,
            )
        )
    return tuple(found)


def _when_to_buy(ranking: Ranking, condition: int, rent_cny: float, own_cny: float) -> Message | None:
    """From how much use on buying costs less than a rent that grows with it; None where it does not."""
    economics, question = ranking.question.economics, ranking.question
    if not np.isfinite(own_cny) or not rent_cny or ranking.prices.acquisition(condition) != RENTS[0]:
        return None
    more = own_cny / rent_cny
    if question.workload.trains:
        return Message("buying_pays_from_jobs", {"jobs": math.ceil(more)})
    busy = float(np.ravel(ranking.candidates.costs.busy_hours)[0]) / economics.months
    if ranking.candidates.hours is not None:
        return Message("buying_pays_from_times", {"times": more})
    hours = busy * more
    if hours > economics.hours_per_month:
        return Message("buying_never_pays", {})
    return Message("buying_pays_from_hours", {"hours": hours})
