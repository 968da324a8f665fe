"""What the catalogue adds to an option: measurements, where usable memory was read, rent, advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache

from app.catalog.rates import HOME
from app.catalog.records import Rental, effective_date
from app.catalog.snapshot import Snapshot
from app.core.decide.cost import break_even_month
from app.core.decide.guidance import availability_note, power_advice, tensorflow_snippet, used_card_checks
from app.core.decide.options import Cost, Fit, Option, Rent
from app.core.decide.renting import PER_HOUR, RENTED, Offers, RentOffer
from app.core.estimates import Measurement, Message
from app.core.gpu import Benchmark, PriceChoice
from app.core.question import RENTS, SeedQuestions, ShortlistQuestion
from app.core.workload import Workload

BY_THE_HOUR = "on-demand"
BILLINGS = (BY_THE_HOUR, "monthly", "yearly")
"""In the order of preference. Spot is left out: it may be taken away in the middle of the work."""
SECOND_HAND = ("used", "refurbished", "modded")
STRICT_SLA_PERCENT = 99.9
"""What the question about a strict service level means."""


def with_evidence(
    option: Option, work: Workload, question: ShortlistQuestion, snapshot: Snapshot, as_of: date
) -> Option:
    """An option with all that the catalogue knows of it; `work` is resolved."""
    advice, setup = advice_on(option, work, question.questions, snapshot, as_of)
    return replace(
        option,
        fit=with_usable_source(option.fit, option.gpu.id, snapshot),
        speed=replace(option.speed, measurements=measurements(option.speed.sources, snapshot)),
        rental=own_rent(option, question)
        if option.acquisition in RENTS
        else renting(option.gpu.id, option.count, option.cost, question, snapshot, as_of),
        advice=advice,
        setup=setup,
    )


def with_usable_source(fit: Fit, gpu_id: str, snapshot: Snapshot) -> Fit:
    """A verdict that says how the usable memory of the card is known."""
    figure = snapshot.figures(gpu_id).get("usable_gib")
    if figure is None:
        return replace(fit, usable_basis=snapshot.gpu(gpu_id).usable_basis)
    return replace(fit, usable_basis=figure.basis, usable_source=figure.source)


def measurements(ids: Iterable[str], snapshot: Snapshot) -> tuple[Measurement, ...]:
    """The rows of some ids, in their order, each with its value and source; unknown ids are left out."""
    rows = _by_id(snapshot)
    return tuple(_measurement(rows[i]) for i in ids if i in rows)


@lru_cache(maxsize=2)
def _by_id(snapshot: Snapshot) -> Mapping[str, Benchmark]:
    return {row.id: row for row in snapshot.benchmarks}


def _measurement(row: Benchmark) -> Measurement:
    return Measurement(
        id=row.id,
        gpu_id=row.gpu_id,
        gpu_count=row.gpu_count,
        model=row.model_id or row.model_name,
        value=row.value,
        unit=row.unit,
        batch_per_gpu=row.batch_per_gpu,
        software=f"{row.framework} {row.framework_version}".strip(),
        observed_on=row.observed_on,
        own=row.own,
        title=row.source.title if row.source else "",
        url=row.source.url if row.source else "",
    )


def advice_on(
    option: Option, work: Workload, questions: SeedQuestions, snapshot: Snapshot, as_of: date
) -> tuple[tuple[Message, ...], str | None]:
    """What to do about an option before it is bought and when it is set up.

    Parameters
    ----------
    work: resolved. questions: the four of the first story. as_of: day of the question, for the card's age.

    Returns
    -------
    The advice; where the engine is TensorFlow, the Python text that its message `tensorflow_setup` speaks of.
    """
    found: list[Message] = []
    if option.condition in SECOND_HAND:
        found += used_card_checks(snapshot.gpu(option.gpu.id).launch_date, as_of)
    note = availability_note(STRICT_SLA_PERCENT) if questions.strict_sla else None
    if option.host is not None and option.host.spare:
        found.append(Message("sla_spare_is_counted", {"spare": option.host.spare}))
    elif note is not None:
        found.append(note)
    if option.acquisition not in RENTS:
        found += power_advice(snapshot.gpu(option.gpu.id), option.count)
    if not work.engine_record.setup_text:
        return tuple(found), None
    found.append(Message("tensorflow_setup"))
    return tuple(found), tensorflow_snippet(work.recipe != "fp32", option.count)


@lru_cache(maxsize=2)
def _rentals_by_card(snapshot: Snapshot) -> Mapping[str, Sequence[Rental]]:
    found: dict[str, list[Rental]] = {}
    for row in snapshot.rentals:
        if not row.held and row.billing in BILLINGS:
            found.setdefault(row.gpu_id, []).append(row)
    return found


def rent_that_counts(
    snapshot: Snapshot, gpu_id: str, as_of: date, max_age_days: int
) -> tuple[Rental, date] | None:
    """The rent of a card that a comparison takes, and its day.

    Notes
    -----
    In yuan before a foreign currency; inside the age limit before older; by the hour before the month and
    the year; then the newest day, then the lowest. Channels are not averaged.
    """
    rows = []
    for row in _rentals_by_card(snapshot).get(gpu_id, ()):
        day = effective_date(row.observed_on, as_of)
        if day is not None and day <= as_of and snapshot.rates.to_cny(row.currency, as_of) is not None:
            rows.append((row, day))
    if not rows:
        return None

    def order(at: tuple[Rental, date]) -> tuple[bool, bool, int, int, float, str]:
        row, day = at
        old = (as_of - day).days > max_age_days
        terms = BILLINGS.index(row.billing)
        return row.currency != HOME, old, terms, -day.toordinal(), row.per_gpu_hour, row.id

    return min(rows, key=order)


@lru_cache(maxsize=4)
def rent_offers(snapshot: Snapshot, as_of: date, max_age_days: int, region: str) -> Offers:
    """The rents that may stand in a ranking, by card and way: the least of the newest of each provider.

    Notes
    -----
    A provider's own page with an address, in yuan, inside the age limit, of this very card. Everything else
    is no price that one can rent at.
    """
    found: dict[tuple[str, str], RentOffer] = {}
    for gpu_id, rows in _rentals_by_card(snapshot).items():
        newest: dict[tuple[str, str, int], tuple[date, float, Rental]] = {}
        for row in rows:
            day = effective_date(row.observed_on, as_of)
            way = _WAYS.get(row.billing)
            if way is None or day is None or not _may_rank(row, day, as_of, max_age_days, region):
                continue
            key = row.provider, way, row.gpu_count
            at = newest.get(key)
            if at is None or (day, -row.per_gpu_hour) > (at[0], -at[1]):
                newest[key] = day, row.per_gpu_hour, row
        for (_, way, _), (day, _, row) in newest.items():
            offer = RentOffer(_rent_price(row, as_of, day), row.gpu_count)
            held = found.get((gpu_id, way))
            if held is None or offer.price.amount < held.price.amount:
                found[gpu_id, way] = offer
    return found


_WAYS = {BY_THE_HOUR: RENTS[0], "monthly": RENTS[1]}
_NAMELESS = ("", "(not named)")


def _may_rank(row: Rental, day: date, as_of: date, max_age_days: int, region: str) -> bool:
    age = (as_of - day).days
    sure = row.currency == HOME and row.region == region and not row.variant_assumed and bool(row.source.url)
    return sure and row.provider not in _NAMELESS and 0 <= age <= max_age_days


def _rent_price(row: Rental, as_of: date, day: date) -> PriceChoice:
    return PriceChoice(
        gpu_id=row.gpu_id,
        condition=RENTED,
        amount=row.per_gpu_hour,
        currency=row.currency,
        amount_cny=row.per_gpu_hour,
        per=PER_HOUR,
        tax="unknown",
        region=row.region,
        channel=row.provider,
        channel_kind="provider",
        observed_on=row.observed_on,
        age_days=(as_of - day).days,
        ageing=False,
        stale=False,
        converted=False,
        n=1,
        evidence="current",
        rests_on="own",
        low_cny=row.per_gpu_hour,
        expected_cny=row.per_gpu_hour,
        high_cny=row.per_gpu_hour,
        source=row.source,
        kind="rental",
        note=row.note,
        observation_ids=(row.id,),
    )


def own_rent(option: Option, question: ShortlistQuestion) -> Rent:
    """The rent of an option that is rented."""
    months, price = question.economics.months, option.price
    by_hour = option.acquisition == RENTS[0]
    total = option.cost.total_cny
    paid = total / (price.amount_cny * option.count) / months if price.amount_cny else 0.0
    return Rent(
        per_gpu_hour_cny=price.amount_cny,
        hours_per_month=paid,
        monthly_cny=total / months,
        total_cny=total,
        break_even_month=None,
        provider=price.channel,
        billing=BY_THE_HOUR if by_hour else "monthly",
        amount=price.amount,
        currency=price.currency,
        converted=False,
        observed_on=price.observed_on,
        age_days=price.age_days or 0,
        stale=price.stale,
        source=price.source,
    )


def renting(
    gpu_id: str, count: int, cost: Cost, question: ShortlistQuestion, snapshot: Snapshot, as_of: date
) -> Rent | None:
    """What the same cards cost to rent for the same work; None where no rent of the card is known.

    Parameters
    ----------
    gpu_id, count, cost: of the option. question: says whether given work is done once in the term (training)
    or every month, term and hours, and the age after which a rent is stale.

    Returns
    -------
    Rent per card-hour and month in yuan, the month from which buying is cheaper (None: never), its source.

    Notes
    -----
    By the hour: the hours in which the cards work are paid. By the month or year: every hour is. Buying pays
    off after (cards + host) / (rent - electricity) months; the residual value is left out, as in
    `cost.break_even_month`.
    """
    economics, max_age_days = question.economics, question.price_rules.max_age_days
    found = rent_that_counts(snapshot, gpu_id, as_of, max_age_days)
    if found is None:
        return None
    row, day = found
    use = snapshot.rates.to_cny(row.currency, as_of)
    if use is None:
        return None
    months = economics.months
    busy = economics.hours_per_month * economics.utilisation
    if cost.work_hours is not None:
        busy = cost.work_hours / months if question.workload.trains else cost.work_hours
    hours = busy if row.billing == BY_THE_HOUR else economics.hours_per_month
    per_gpu_hour = row.per_gpu_hour * use.rate
    monthly = per_gpu_hour * count * hours
    age = (as_of - day).days
    return Rent(
        per_gpu_hour_cny=per_gpu_hour,
        hours_per_month=hours,
        monthly_cny=monthly,
        total_cny=monthly * months,
        break_even_month=break_even_month(
            cost.purchase_cny + cost.host_cny, cost.energy_cny / months, monthly
        ),
        provider=row.provider,
        billing=row.billing,
        amount=row.per_gpu_hour,
        currency=row.currency,
        converted=row.currency != HOME,
        observed_on=row.observed_on,
        age_days=age,
        stale=age > max_age_days,
        source=row.source,
    )
