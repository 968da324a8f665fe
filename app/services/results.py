"""The answers of the calculations: what the core found, the question, defaults, warnings and versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app import __version__
from app.core.answer import AnyMap, AnyValue, Figure, answer
from app.core.decide.options import Fit, Option, Rejected, Remedy
from app.core.decide.recommendation import Contender, Inquiry, Recommendation
from app.core.estimates import (
    Assumption,
    MemoryEstimate,
    Message,
    SpeedEstimate,
    Verdict,
    codes_of,
)
from app.core.gpu import GpuRef
from app.core.question import Economics, Filters, PriceRules
from app.core.workload import Parallelism
from app.services.answers import DollarRate


@answer()
class Versions:
    """What an answer was computed with."""

    engine: str
    """Version of the program."""
    catalog: str
    """Version of the catalogue."""

    @classmethod
    def of(cls, catalog: str) -> Versions:
        """This program with a version of the catalogue."""
        return cls(__version__, catalog)


@answer(shown=("why_code",))
class UsedDefault:
    """A default that was used because the question did not say."""

    field: str
    """Field of the request."""
    value: AnyValue
    """The value that was taken."""
    why: Message
    """Why this value, in a sentence."""

    @property
    def why_code(self) -> str:
        """Code of `why`."""
        return self.why.code


def used_defaults(values: Iterable[Assumption]) -> tuple[UsedDefault, ...]:
    """The defaults that were used, each field once: the last word on it counts."""
    unique = {a.field: a for a in values}
    return tuple(UsedDefault(a.field, a.value, Message(a.why, {"value": a.value})) for a in unique.values())


def warnings_of(codes: Sequence[str], more: Iterable[Message] = ()) -> tuple[Message, ...]:
    """Warnings of a model, by their codes, and others."""
    return (*(Message(code) for code in codes), *more)


@answer(shown=("warning_codes",))
class MemoryAnswer:
    """Answer of /memory: the need of a workload on each card of its plan."""

    memory: MemoryEstimate
    """The need of the busiest card."""
    plan: Parallelism
    """The plan asked for, else one card."""
    assumptions: tuple[UsedDefault, ...]
    """Every default that was used."""
    warnings: tuple[Message, ...]
    """What makes the figures doubtful, in sentences."""
    as_of: str
    """Day of the question, ISO 8601."""
    versions: Versions
    """What it was computed with."""

    @property
    def warning_codes(self) -> tuple[str, ...]:
        """Codes of `warnings`, in their order."""
        return codes_of(self.warnings)


@answer()
class Growth:
    """How large a language model the same cards hold."""

    largest_parameters: Figure | None
    """Parameters of the largest usual size that fits; null where none does."""
    next_parameters: Figure | None
    """Parameters of the next usual size above it; null where there is none."""


@answer(omit=("growth",), shown=("label", "warning_codes"))
class FitAnswer:
    """Answer of /fit: whether a workload fits on a number of one card."""

    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    plan: Parallelism
    """The plan asked for, else the best legal one."""
    fit: Fit
    """The verdict, and what would just fit."""
    memory: MemoryEstimate
    """The need of the busiest card."""
    remedies: tuple[Remedy, ...]
    """Changes that make it fit, the cheapest first; empty where it fits or nothing helps."""
    assumptions: tuple[UsedDefault, ...]
    """Every default that was used."""
    warnings: tuple[Message, ...]
    """What makes the figures doubtful, in sentences."""
    as_of: str
    """Day of the question, ISO 8601."""
    versions: Versions
    """What it was computed with."""
    growth: Growth | None = None
    """How large a model would fit; absent for models that are no decoders."""

    @property
    def label(self) -> str:
        """Count and short name: 2 × RTX 4090."""
        return self.gpu.label(self.count)

    @property
    def warning_codes(self) -> tuple[str, ...]:
        """Codes of `warnings`, in their order."""
        return codes_of(self.warnings)


@answer(shown=("label", "warning_codes"))
class SpeedAnswer:
    """Answer of /speed: how fast a workload runs on a number of one card."""

    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    plan: Parallelism
    """The plan asked for, else the best legal one."""
    speed: SpeedEstimate
    """Throughput of all cards together."""
    assumptions: tuple[UsedDefault, ...]
    """Every default that was used."""
    warnings: tuple[Message, ...]
    """What makes the figures doubtful, in sentences."""
    as_of: str
    """Day of the question, ISO 8601."""
    versions: Versions
    """What it was computed with."""

    @property
    def label(self) -> str:
        """Count and short name: 2 × RTX 4090."""
        return self.gpu.label(self.count)

    @property
    def warning_codes(self) -> tuple[str, ...]:
        """Codes of `warnings`, in their order."""
        return codes_of(self.warnings)


@answer()
class ModelAsked:
    """The model of a question."""

    id: str
    """Id of the preset; empty for a model of one's own."""
    name: str
    """Its name."""
    family: str
    """decoder, encoder, encoder-decoder, vision, diffusion or speech."""
    parameters: Figure
    """Parameters in all."""
    active_parameters: Figure
    """Parameters that one token uses."""


@answer(omit=("amount_cny",))
class BudgetAsked:
    """The budget of a question."""

    amount: Figure
    """Upper bound on purchase with host, in `currency`."""
    currency: str = "CNY"
    """ISO 4217 code."""
    amount_cny: Figure | None = None
    """The same in yuan, at the rate of the day."""


@answer(omit=("budget", "work", "deadline_hours", "price_overrides", "questions"))
class QuestionAsked:
    """The question as it was understood: what was sent, and the frame that was used."""

    workload: AnyMap
    """The workload as it was sent (see the request), with the task, precision, batch size, sequence length,
    image size, KV precision and engine that were used."""
    model: ModelAsked
    """The model that it names."""
    counts: tuple[int, ...]
    """Numbers of cards that were tried."""
    objective: str
    """total_cost, purchase, tflops_per_yuan, speed or power."""
    limit: int
    """Most options of the answer."""
    filters: Filters
    """Which cards count."""
    economics: Economics
    """Term, hours, electricity and residual value that were used."""
    price_rules: PriceRules
    """Which prices count."""
    as_of: str
    """Day of prices, rates and ages, ISO 8601."""
    budget: BudgetAsked | None = None
    """The budget; absent where none was given."""
    work: AnyMap | None = None
    """Amount of work and its unit, as sent; absent where none was given."""
    work_per: str = ""
    """What an amount of work is of: `month` in inference, `all` of it in training; empty in old answers."""
    deadline_hours: Figure | None = None
    """Hours in which the work has to be done; absent where none were given."""
    price_overrides: AnyMap | None = None
    """Yuan per card by id of the card, as sent; absent where none were given."""
    questions: AnyMap | None = None
    """The four questions on the class of card, as sent; absent where none was answered."""


@answer()
class Rank:
    """A place on the Pareto front."""

    rank: int
    """Rank of the option."""


@answer(omit=("rate", "version", "recommendation"), shown=("advice_codes", "warning_codes"))
class ShortlistAnswer:
    """Answer of /shortlist: every way to buy that passes, ranked; the other cards, and why not."""

    options: tuple[Option, ...]
    """Ways to buy, the best first."""
    rejected: tuple[Rejected, ...]
    """Cards without any option, by name."""
    pareto: tuple[Rank, ...]
    """Options that no other beats in both total cost and speed."""
    feasible: int
    """Options that passed, before the limit."""
    assumptions: tuple[UsedDefault, ...]
    """Every default that was used."""
    advice: tuple[Message, ...]
    """What to mind about the class of card and the frame, in sentences."""
    warnings: tuple[Message, ...]
    """What makes the figures doubtful, in sentences."""
    question: QuestionAsked
    """The question as it was understood."""
    as_of: str
    """Day of prices, rates and ages, ISO 8601."""
    versions: Versions
    """What it was computed with."""
    recommendation: Recommendation | None = None
    """What to do; absent only in comparisons that were frozen before there was one."""
    contenders: tuple[Contender, ...] = ()
    """The few options that a person compares."""
    inquire: tuple[Inquiry, ...] = ()
    """Cards that would be first at an estimate of their price: ask for a quote; the nearest first."""
    currency: str = "CNY"
    """USD: dollars stand beside every amount in yuan."""
    rate: DollarRate | None = None
    """Rate of these dollars; absent without them."""
    version: int | None = None
    """Version of the stored shape; only in frozen comparisons."""

    @property
    def advice_codes(self) -> tuple[str, ...]:
        """Codes of `advice`, in their order."""
        return codes_of(self.advice)

    @property
    def warning_codes(self) -> tuple[str, ...]:
        """Codes of `warnings`, in their order."""
        return codes_of(self.warnings)

    def without_formulas(self) -> ShortlistAnswer:
        """The same without the formulas of its options, which are long."""
        return replace(self, options=tuple(replace(option, formulas=None) for option in self.options))


@answer()
class Created:
    """A comparison just frozen; whoever holds the link may read it."""

    id: str
    """Its token, part of its addresses."""
    url: str
    """Path of its page."""
    manage_token: str
    """What deletes it; it is shown this once."""


@answer()
class FrozenAnswer:
    """A frozen comparison with its full result."""

    id: str
    """Its token."""
    url: str
    """Path of its page."""
    title: str
    """Title given when it was frozen; may be empty."""
    created_at: str
    """When it was frozen, ISO 8601 in UTC."""
    expires_at: str | None
    """When it will be deleted, ISO 8601 in UTC; null: never."""
    as_of: str
    """Day of its prices, ISO 8601."""
    digest: str
    """SHA-256 of question and result as stored."""
    question: AnyMap
    """The request that was sent, with its day: it can be asked again as it is."""
    result: ShortlistAnswer
    """The answer as it was computed; only its sentences follow the reader's language."""
    versions: Versions
    """What it was computed with."""

    @property
    def currency(self) -> str:
        """Currency of the result."""
        return self.result.currency

    @property
    def rate(self) -> DollarRate | None:
        """Rate of its dollars."""
        return self.result.rate


@answer()
class Moment:
    """A day with the versions that answered on it."""

    as_of: str
    """Day of the prices, ISO 8601."""
    catalog: str
    """Version of the catalogue."""
    engine: str
    """Version of the program."""


@answer()
class BothVersions:
    """Versions of the frozen answer and of the one of today."""

    then: Versions
    """When it was frozen."""
    now: Versions
    """Today."""


@answer()
class PriceFacts:
    """What makes a price another one: a later day alone can make it stale."""

    amount: Figure
    """The price in `currency`."""
    currency: str
    """ISO 4217 code."""
    amount_cny: Figure
    """The price in yuan."""
    observed_on: str
    """Day, month or year of the observation."""
    stale: bool
    """Whether it was older than the question allows."""
    kind: str
    """observation, quote, launch or override."""


@answer()
class OptionNamed:
    """An option by what makes it the same on another day."""

    label: str
    """Count and short name: 2 × RTX 4090."""
    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    condition: str
    """new, used, refurbished or modded."""
    rank: int
    """Its place: today, or when it was frozen where it has left the list."""


@answer()
class PriceChange:
    """A price that moved, of an option that is on both lists."""

    label: str
    """Count and short name: 2 × RTX 4090."""
    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    condition: str
    """new, used, refurbished or modded."""
    rank: int
    """Its place today."""
    then: PriceFacts
    """When it was frozen."""
    now: PriceFacts
    """Today."""
    change_fraction: Figure | None
    """now / then - 1 in yuan; null where there was no amount."""


@answer()
class RankThenNow:
    """A rank when it was frozen and today."""

    then: int
    """When it was frozen."""
    now: int
    """Today."""


@answer()
class FigureThenNow:
    """A figure when it was frozen and today."""

    then: Figure
    """When it was frozen."""
    now: Figure
    """Today."""


@answer()
class VerdictThenNow:
    """A verdict when it was frozen and today."""

    then: Verdict
    """When it was frozen."""
    now: Verdict
    """Today."""


@answer()
class OptionChange:
    """An option that is on both lists, then and now."""

    label: str
    """Count and short name: 2 × RTX 4090."""
    gpu: GpuRef
    """The card."""
    count: int
    """How many of it."""
    condition: str
    """new, used, refurbished or modded."""
    rank: RankThenNow
    """Its place."""
    total_cny: FigureThenNow
    """Its total cost, yuan."""
    speed: FigureThenNow
    """Its expected speed, in the unit of the option."""
    verdict: VerdictThenNow
    """Whether it fits."""


@answer(omit=("rate",), shown=("cannot_repeat_codes",))
class ChangesAnswer:
    """The frozen question asked again on a later day: what moved, and whether the order is another one."""

    id: str
    """Token of the comparison."""
    then: Moment
    """When it was frozen."""
    now: Moment
    """Today, or the day asked for."""
    versions: BothVersions
    """The same without their days."""
    prices: tuple[PriceChange, ...] = ()
    """Prices that moved."""
    options: tuple[OptionChange, ...] = ()
    """Options that are on both lists."""
    entered: tuple[OptionNamed, ...] = ()
    """Options that are new on the list."""
    left: tuple[OptionNamed, ...] = ()
    """Options that are no longer on it."""
    order_changed: bool = False
    """Whether the order of the options is another one."""
    first_changed: bool = False
    """Whether another option is first."""
    cannot_repeat: tuple[Message, ...] = ()
    """Why the question cannot be asked again, in sentences; empty where it could."""
    currency: str = "CNY"
    """USD: dollars stand beside every amount in yuan."""
    rate: DollarRate | None = None
    """Rate of these dollars; absent without them."""

    @property
    def cannot_repeat_codes(self) -> tuple[str, ...]:
        """Codes of `cannot_repeat`, in their order."""
        return codes_of(self.cannot_repeat)
