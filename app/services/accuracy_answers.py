"""The accuracy of memory, speed and prices: what /method shows, the API answers and the database keeps."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.accuracy import (
    BracketStatistics,
    ErrorStatistics,
    PeerFigure,
    Target,
    VerdictStatistics,
)
from app.core.answer import Figure, answer
from app.core.decide.backtest import PriceErrors
from app.core.estimates import Interval, Verdict
from app.core.gpu import Source
from app.core.serving.accuracy import ServingErrors
from app.core.speed.accuracy import Errors, Ranks, Scaling
from app.services.results import Versions


@answer()
class GroupAccuracy:
    """One group of cases against its target."""

    group: str
    """Which: inference_weights, inference_peak, full_training, adapters …"""
    name: str
    """The same in words."""
    target: Target
    """Errors that are aimed at."""
    errors: ErrorStatistics | None
    """How far its figures are missed; null where it has none."""
    batches: BracketStatistics | None
    """How its largest batches lie; null where it has none."""


@answer()
class ClassAccuracy:
    """One class of cases: task, family, engine and figure."""

    task: str
    """training, inference, lora or qlora."""
    family: str
    """decoder, encoder, vision, dense vision, diffusion …"""
    engine: str
    """Engine that ran the work."""
    figure: str
    """weights, kv_cache, total, allocated, reserved, process …"""
    group: str
    """The group that it is counted in."""
    errors: ErrorStatistics | None
    """Errors of its figures; null where it has none."""
    batches: BracketStatistics | None
    """Places of its largest batches; null where it has none."""


@answer()
class CaseCount:
    """Cases or figures left out for one reason."""

    code: str
    """The reason, as a word that programs may compare."""
    cases: int
    """How many."""
    text: str
    """The reason in a sentence."""


@answer()
class FaultyCase:
    """A case that is listed and not counted."""

    case: str
    """Name of the case."""
    reason: str
    """Why, as its source was read."""
    text: str
    """The same in a sentence."""


@answer()
class Cases:
    """Which measurements were compared, and why the others were not."""

    total: int
    """Measurements of memory in the catalogue."""
    expressed: int
    """Those that are questions of this product."""
    unexpressed: tuple[CaseCount, ...]
    """Why the others are none."""
    faulty: tuple[FaultyCase, ...]
    """Those whose source is wrong."""
    figures_left_out: tuple[CaseCount, ...]
    """Figures of expressed cases that mean something else than an estimate."""


@answer()
class Peers:
    """Other public tools on the same cases."""

    measured_on: str
    """Month in which they were asked."""
    tools: tuple[PeerFigure, ...]
    """Errors of each."""
    no_tool_for: tuple[str, ...]
    """Groups that none of them can express."""
    worst_kv_factor: Figure
    """The largest factor by which one of them misses a KV cache."""


@answer()
class CaseRow:
    """One measured case."""

    case: str
    """Name of the case."""
    part: str
    """report, or fit: constants may have been calibrated on it."""
    task: str
    """training, inference, lora or qlora."""
    family: str
    """decoder, encoder, vision, dense vision, diffusion …"""
    engine: str
    """Engine that ran the work."""
    figure: str
    """weights, kv_cache, total, allocated, reserved, process …"""
    gpu: str | None
    """Id of the card; null where it is not known."""
    gpu_count: int
    """Cards that shared the work."""
    source: Source
    """Where it was read."""
    faulty: str | None
    """Why it is not counted; null where it is."""


@answer()
class FigureRow(CaseRow):
    """A measured figure beside its prediction."""

    group: str
    """The group that it is counted in."""
    measured: Figure
    """What was measured, in `unit`."""
    predicted: Interval
    """What is predicted, in `unit`."""
    unit: str
    """GiB or B."""
    error: Figure
    """(predicted - measured) / measured."""
    inside: bool | None
    """Whether low..high holds the measured value; null where there is no interval."""


@answer()
class BatchRow(CaseRow):
    """A measured largest batch beside the predicted one."""

    group: str
    """The group that it is counted in."""
    ran: int
    """The largest batch that ran."""
    failed: int | None
    """The next that did not; null where the largest that was tried ran."""
    predicted: int
    """The largest batch that is predicted to fit."""
    in_bracket: bool
    """Whether it lies between what ran and what failed."""
    within_one_step: bool
    """Whether it lies there or one step of the ladder beside."""


@answer()
class RunRow(CaseRow):
    """A run beside its verdict."""

    ran: bool
    """Whether it ran."""
    verdict: Verdict
    """fits, tight or does_not_fit, as predicted."""


@answer(omit=("rows", "batch_rows", "run_rows"))
class MemoryReport:
    """Memory, predicted against measured; errors are fractions of the measured value."""

    part: str
    """report: cases that no constant was calibrated on; fit: the others; all."""
    groups: tuple[GroupAccuracy, ...]
    """By group of cases."""
    classes: tuple[ClassAccuracy, ...]
    """By task, family, engine and figure."""
    verdicts: VerdictStatistics
    """Runs out of memory that are said to fit, and the reverse."""
    cases: Cases
    """How many are expressed, and why the others are not."""
    peers: Peers
    """The same measure for other tools."""
    versions: Versions
    """What it was computed with."""
    rows: tuple[FigureRow, ...] | None = None
    """Each figure beside its prediction; absent where they are not asked for."""
    batch_rows: tuple[BatchRow, ...] | None = None
    """Each largest batch beside its prediction; absent where they are not asked for."""
    run_rows: tuple[RunRow, ...] | None = None
    """Each run beside its verdict; absent where they are not asked for."""


@answer()
class Aim:
    """Errors of speed that are aimed at, |ln(measured / estimated)|."""

    median: Figure
    """At the median."""
    p90: Figure
    """At the 90th percentile."""


@answer()
class BasisErrors(Errors):
    """Errors of speed by what the estimate had seen."""

    basis: str
    """published_same_source, published_other_source, card_unseen, model_unseen, neither_seen …"""
    target: Aim | None
    """What is aimed at; null where nothing was set."""


@answer(renamed={"kind": "class"})
class KindErrors(Errors):
    """Errors of speed by class of work."""

    kind: str
    """cnn_training, encoder_inference, decode, prefill, serving …"""
    target: Aim | None
    """What is aimed at; null where nothing was set."""


@answer()
class Span:
    """A share between two limits."""

    low: Figure
    """Lower limit."""
    high: Figure
    """Upper limit."""


@answer()
class IntervalHolds:
    """How often the stated 80 % interval holds the measured value."""

    basis: str
    """What the estimate had seen; all for all rows."""
    n: int
    """Rows."""
    inside: Figure | None
    """Share of the rows inside."""
    target: Span
    """The share that is aimed at."""


@answer()
class RankAims:
    """Orders of cards that are aimed at."""

    median: Figure
    """Median rank correlation."""
    tenth: Figure
    """Rank correlation that nine groups of ten reach."""
    lost: Figure
    """Greatest mean share of speed lost."""


@answer()
class AimedRanks(Ranks):
    """Order of cards by speed against its target."""

    target: RankAims
    """What is aimed at."""


@answer()
class ScalingAims:
    """Errors of the efficiency of several cards that are aimed at, percentage points."""

    median: Figure
    """At the median."""
    p90: Figure
    """At the 90th percentile."""
    bias: Figure
    """Of the mean."""


@answer()
class AimedScaling(Scaling):
    """Efficiency of several cards against its target."""

    target: ScalingAims
    """What is aimed at."""


@answer()
class SpeedLimits:
    """What every class aims at."""

    signed: Figure
    """Greatest median of ln(measured / estimated)."""
    within: Figure
    """Least share of rows within a factor of 1.5."""


@answer()
class Floor:
    """How far measurements of one question are from each other: median and 90th percentile of |ln|."""

    between_sources: tuple[Figure, Figure]
    """Of different sources."""
    within_a_source: tuple[Figure, Figure]
    """Of one source."""


@answer(renamed={"kind": "class"})
class SpeedPeer:
    """Errors of another public calculator on the same measurements."""

    tool: str
    """Name of the tool."""
    kind: str
    """Class of work."""
    median: Figure
    """Median of |ln(measured / estimated)|."""
    p90: Figure
    """Its 90th percentile."""


@answer(renamed={"kind": "class"})
class Constant:
    """One constant of the speed model, and what is known of it."""

    constant: str
    """Its name."""
    value: Figure
    """Its value, in `unit`."""
    unit: str
    """Its unit; 1 for shares, ln for logarithms of factors."""
    kind: str
    """The first class of work that it is for."""
    valid_for: tuple[str, ...]
    """All classes of work that it is for."""
    rows: int
    """Measurements of the fitted half behind it."""
    spread: Figure | None
    """Standard deviation of ln(row / constant); null where no rows are behind it."""
    method: str
    """fitted, read or assumed."""
    sources: tuple[str, ...]
    """Addresses and remarks on where it was read."""
    read_on: str | None
    """Day on which it was read, ISO 8601."""


@answer()
class SpeedRows:
    """Which measurements were estimated."""

    total: int
    """Measurements in the catalogue."""
    expressed: int
    """Those that state their question."""


@answer()
class SpeedAccuracyReport:
    """Speed, estimated without what was measured, against measured; errors are |ln(measured / estimated)|."""

    part: str
    """report: measurements that no constant was fitted to; fit: the others; all."""
    bases: tuple[BasisErrors, ...]
    """By what the estimate had seen."""
    classes: tuple[KindErrors, ...]
    """By class of work."""
    model_alone: tuple[KindErrors, ...]
    """By class of work, no measurement having corrected the model."""
    intervals: tuple[IntervalHolds, ...]
    """How often the stated interval holds."""
    ranks: AimedRanks
    """Whether the order of cards is right."""
    scaling: AimedScaling
    """Whether several cards are as much faster as measured."""
    limits: SpeedLimits
    """Aims of every class."""
    floor: Floor
    """What no estimate can be better than."""
    peers: tuple[SpeedPeer, ...]
    """The same measure for other calculators."""
    constants: tuple[Constant, ...]
    """Every constant of the model."""
    cases: SpeedRows
    """How many measurements are estimated."""
    versions: Versions
    """What it was computed with."""
    status: str = "ready"
    """ready; or previous: of earlier data, while the new report is worked out."""


@answer()
class OneTable:
    """How much of the back-test rests on the channel that stands behind most of it."""

    channel: str
    """The channel."""
    share_of_targets: Figure
    """Its share of the later prices."""
    share_of_index: Figure
    """Its share of the prices that make the index."""


@answer()
class PriceBand:
    """Half-width of a band: w^2 = s^2 + v^2 x months since the price, at most `months`, in logarithms."""

    s: Figure
    """Half-width on the day of the price."""
    v: Figure
    """What a month adds, in quadrature."""
    months: Figure | None
    """After so many it grows no more; null where it always grows."""


@answer()
class PriceLimits:
    """Limits of the classes and of what is carried."""

    big_gib: Figure
    """GiB from which a GeForce counts as big."""
    new_consumer_days: int
    """Age of a price of a new consumer card, days, up to which it is carried."""
    others_days: int
    """The same of every other price."""
    left_out: str
    """What `split` says where each card is left out in turn."""


@answer()
class PriceAccuracyReport:
    """Prices carried to a later day against what was observed then; errors are logarithms of factors."""

    part: str
    """prices."""
    inside: Figure
    """Share of later prices that the band is to hold."""
    groups: tuple[PriceErrors, ...]
    """By class of card and age, on cards that no constant was fitted to."""
    untested: tuple[str, ...]
    """Classes of too few pairs."""
    one_table: OneTable
    """How much rests on one channel."""
    bands: Mapping[str, PriceBand]
    """Bands by class of card."""
    limits: PriceLimits
    """Limits of the classes."""
    versions: Versions
    """What it was computed with."""
    status: str = "ready"
    """ready; or previous: of earlier data, while the new report is worked out."""


@answer()
class AimedServing(ServingErrors):
    """Errors of serving over a group of published runs, beside what is aimed at."""

    target: Aim | None
    """What is aimed at; null where nothing was set."""


@answer()
class ServingAccuracyReport:
    """Serving under a load against published runs whose site no constant was read from."""

    part: str
    """serving."""
    inside: Figure
    """Share of runs that the band is to hold."""
    signed_target: Figure
    """The most that a signed median is to be off."""
    groups: tuple[AimedServing, ...]
    """By group of runs and figure."""
    runs: int
    """Runs in the file."""
    compared: int
    """Those that are compared: the others are cited by formulas."""
    versions: Versions
    """What it was computed with."""
    status: str = "ready"
    """ready; or previous: of earlier data, while the new report is worked out."""


@answer()
class NotReady:
    """There is no such report yet."""

    status: str
    """computing, or failed."""


@answer()
class AccuracyAnswer:
    """Answer of /accuracy: measured against predicted."""

    memory: MemoryReport
    """Memory."""
    speed: SpeedAccuracyReport | NotReady
    """Speed, worked out once for the data that it rests on."""
    prices: PriceAccuracyReport | NotReady
    """Prices, worked out once for the prices that it rests on."""
    serving: ServingAccuracyReport | NotReady
    """Serving under a load, worked out once for the data that it rests on."""
    versions: Versions
    """What the answer was made with."""
