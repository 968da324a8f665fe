"""The calculations: a snapshot and a JSON body become an answer. One entry for all askers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from app.caching import Cache, canonical
from app.catalog.snapshot import Snapshot
from app.core import memory as core_memory
from app.core import speed as core_speed
from app.core.decide.fit import fit as core_fit
from app.core.decide.grid import best_plans, build_grid
from app.core.decide.guidance import growth
from app.core.decide.options import Rejected, Shortlist, latency_unreachable
from app.core.decide.reasons import mismatches, precision_on
from app.core.decide.remedies import remedies
from app.core.decide.shortlist import rank
from app.core.decide.support import engine_runs
from app.core.estimates import Message
from app.core.faults import InputFault
from app.core.plan import check_plan
from app.core.question import Budget
from app.core.resolve import resolve
from app.core.workload import Parallelism, Workload
from app.services.option_evidence import measurements, rent_offers, with_evidence, with_usable_source
from app.services.questions import (
    FitRequest,
    ShortlistRequest,
    parse_fit,
    parse_memory,
    parse_shortlist,
)
from app.services.results import (
    BudgetAsked,
    FitAnswer,
    Growth,
    MemoryAnswer,
    ModelAsked,
    QuestionAsked,
    Rank,
    ShortlistAnswer,
    SpeedAnswer,
    Versions,
    used_defaults,
    warnings_of,
)
from app.services.store import availability, prepared

KEPT_RESULTS = 128
_shortlists: Cache[ShortlistAnswer] = Cache(KEPT_RESULTS)


class StalePrice(Exception):
    """The question refuses stale prices, and what it asks for has no other."""

    def __init__(self, message: Message, gpus: Sequence[str]) -> None:
        super().__init__(message.code)
        self.message = message
        self.gpus = tuple(gpus)


def memory(data: object, snapshot: Snapshot, today: date) -> MemoryAnswer:
    """The need on each card of a plan, or on one card; InputFault when the body is at fault."""
    request = parse_memory(data, snapshot, today)
    work, notes = resolve(request.workload)
    if work.parallelism is not None:
        check_plan(work, work.parallelism)
    estimate = core_memory.estimate(work, work.parallelism)
    return MemoryAnswer(
        memory=core_memory.explained(estimate, work, work.parallelism),
        plan=work.parallelism or Parallelism(),
        assumptions=used_defaults((*request.defaults, *notes, *estimate.assumptions)),
        warnings=warnings_of(work.model.warnings, (*work.model.notes, *mismatches(request.workload, work))),
        as_of=request.as_of.isoformat(),
        versions=Versions.of(snapshot.version),
    )


def fit(data: object, snapshot: Snapshot, today: date) -> FitAnswer:
    """Verdict on a card, what would just fit, and the remedies; InputFault when the body is at fault."""
    request = parse_fit(data, snapshot, today)
    work, notes = resolve(request.workload)
    plan = _best_plan(request, snapshot)
    estimate = core_memory.estimate(work, plan, request.gpu)
    return FitAnswer(
        gpu=request.gpu.ref,
        count=request.count,
        plan=plan,
        fit=with_usable_source(core_fit(work, plan, request.gpu), request.gpu.id, snapshot),
        memory=core_memory.explained(estimate, work, plan),
        remedies=remedies(work, plan, request.gpu),
        assumptions=used_defaults((*request.defaults, *notes, *estimate.assumptions)),
        warnings=_on_card(request, work),
        as_of=request.as_of.isoformat(),
        versions=Versions.of(snapshot.version),
        growth=Growth(*growth(work, request.gpu, plan)) if work.model.family == "decoder" else None,
    )


def speed(data: object, snapshot: Snapshot, today: date) -> SpeedAnswer:
    """Throughput of all cards of a plan together; InputFault when the body is at fault."""
    request = parse_fit(data, snapshot, today)
    work, notes = resolve(request.workload)
    plan = _best_plan(request, snapshot)
    _must_run(request, work, plan)
    ready = prepared(snapshot)
    estimate = core_speed.estimate(
        work, plan, request.gpu, ready.benchmarks, snapshot.gpus, ready.table, with_formulas=True
    )
    if not math.isfinite(float(estimate.expected)):
        raise InputFault.at("/gpu", "speed_unknown", gpu=request.gpu.name, precision=work.precision)
    late = latency_unreachable(work, estimate)
    return SpeedAnswer(
        gpu=request.gpu.ref,
        count=request.count,
        plan=plan,
        speed=replace(estimate, measurements=measurements(estimate.sources, snapshot)),
        assumptions=used_defaults((*request.defaults, *notes, *estimate.assumptions)),
        warnings=(*_on_card(request, work), *((late,) if late else ())),
        as_of=request.as_of.isoformat(),
        versions=Versions.of(snapshot.version),
    )


def shortlist(
    data: object,
    snapshot: Snapshot,
    today: date,
    titled: bool = False,
    with_formulas: bool = False,
    assumed: Collection[str] = (),
) -> ShortlistAnswer:
    """The ranked answer with its question; kept for the next asker of the same.

    `with_formulas`: options say how each of their figures was computed. `assumed`: places that the body names
    though nobody stated them.

    Errors
    ------
    InputFault when the body is at fault; StalePrice when a stale price is refused and no other is left.
    """
    open_places = tuple(sorted(assumed))
    key = (snapshot.digest, today.isoformat(), titled, with_formulas, open_places, canonical(data))
    return _shortlists.get(
        key,
        lambda: _rank(parse_shortlist(data, snapshot, today, titled, open_places), snapshot, with_formulas),
    )


def _rank(request: ShortlistRequest, snapshot: Snapshot, with_formulas: bool) -> ShortlistAnswer:
    question, as_of = request.question, request.as_of
    ready = prepared(snapshot)
    conditions = question.filters.conditions
    result = rank(
        question,
        ready.table,
        snapshot.gpus,
        snapshot.price_choices(as_of, question.price_rules, conditions, question.price_overrides),
        snapshot.server_choices(as_of, question.price_rules, conditions),
        ready.benchmarks,
        snapshot.framework_support,
        availability(snapshot, as_of),
        snapshot.engine_support,
        snapshot.host_classes,
        rent_offers(snapshot, as_of, question.price_rules.max_age_days, question.price_rules.region),
        with_formulas=with_formulas,
    )
    _refuse_stale(request, result)
    work, _ = resolve(question.workload)
    options = tuple(with_evidence(o, work, question, snapshot, as_of) for o in result.options)
    outcome = result.outcome
    return ShortlistAnswer(
        options=options,
        rejected=tuple(_budget_in_yuan(item, request.budget_given) for item in result.rejected),
        pareto=tuple(Rank(rank) for rank in result.pareto),
        feasible=result.feasible,
        assumptions=used_defaults((*request.defaults, *result.assumptions)),
        advice=result.advice,
        recommendation=outcome.recommendation if outcome else None,
        contenders=outcome.contenders if outcome else (),
        inquire=outcome.inquire if outcome else (),
        warnings=warnings_of(work.model.warnings, (*work.model.notes, *mismatches(question.workload, work))),
        question=question_asked(request, work),
        as_of=as_of.isoformat(),
        versions=Versions.of(snapshot.version),
    )


def _budget_in_yuan(item: Rejected, given: Budget | None) -> Rejected:
    """A remedy's budget is in yuan: where the asker stated another currency, the change says so."""
    remedy = item.remedy
    if given is None or given.currency == "CNY" or remedy is None or "budget.amount" not in remedy.change:
        return item
    change = {**remedy.change, "budget.currency": "CNY"}
    return replace(item, remedy=replace(remedy, change=change))


def _refuse_stale(request: ShortlistRequest, result: Shortlist) -> None:
    """Raise when a card asked for by name, or all that is left, has only a stale price."""
    if not request.question.price_rules.refuse_stale:
        return
    stale = [r.gpu for r in result.rejected if r.code == "stale_price"]
    if stale and (request.question.filters.gpus or not result.options):
        params = {"gpus": [g.name for g in stale], "days": request.question.price_rules.max_age_days}
        raise StalePrice(Message("stale_price_needed", params), [g.id for g in stale])


def question_asked(request: ShortlistRequest, work: Workload) -> QuestionAsked:
    """The question as it was understood: what was sent, and the frame that was used; `work` is resolved."""
    question, sent = request.question, request.echo
    model, budget = work.model, request.budget_given
    used = {
        "task": work.task,
        "precision": work.precision,
        "batch_size": work.batch_size,
        "sequence_length": work.sequence_length,
        "image_size": work.image_size,
        "kv_precision": work.kv_precision or None,
        "engine": work.engine,
    }
    return QuestionAsked(
        workload={**sent["workload"], **used},
        model=ModelAsked(model.id, model.name, model.family, model.parameters, model.active_parameters),
        counts=question.counts,
        objective=question.objective,
        limit=question.limit,
        filters=question.filters,
        economics=question.economics,
        price_rules=question.price_rules,
        as_of=request.as_of.isoformat(),
        budget=BudgetAsked(
            budget.amount, budget.currency, question.budget.amount if question.budget else None
        )
        if budget
        else None,
        work=sent.get("work"),
        work_per="all" if question.workload.trains else "month",
        deadline_hours=question.deadline_hours,
        price_overrides=sent.get("price_overrides"),
        questions=sent.get("questions"),
    )


def _best_plan(request: FitRequest, snapshot: Snapshot) -> Parallelism:
    """The plan that was named, else the one that the shortlist would take for this card and count."""
    work, _ = resolve(request.workload)
    ready = prepared(snapshot)
    rows = np.array([i for i, gpu in enumerate(snapshot.gpus) if gpu.id == request.gpu.id], dtype=np.intp)
    counts = (request.count,)
    grid = build_grid(work, ready.table, snapshot.gpus, counts, ready.benchmarks, rows=rows)
    return grid.plans[int(best_plans(grid, counts).plan[0, 0])]


def _must_run(request: FitRequest, work: Workload, plan: Parallelism) -> None:
    """No speed is stated for what cannot run; InputFault says why."""
    if not engine_runs(request.gpu, work.engine, work.precision).runs:
        raise InputFault.at("/gpu", "engine_cannot_run_there", engine=work.engine, gpu=request.gpu.name)
    if precision_on(request.gpu, work).lacks:
        unlike = {"gpu": request.gpu.name, "precision": work.precision}
        raise InputFault.at("/workload/precision", "precision", **unlike)
    # A full engine queues what its cache does not hold: it runs where one sequence of each replica does.
    queues = work.load == "saturated" and work.model.family == "decoder"
    held = replace(work, batch_size=plan.data) if queues else work
    found = core_fit(held, plan, request.gpu)
    least = float(core_memory.estimate(held, plan).per_gpu_gib.low)
    # Published runs have worked at need's lower end: only what even that rules out gets no speed.
    if least > found.usable_gib - work.used_gib:
        params = {"gpu": request.gpu.name, "count": request.count, "margin_gib": round(-found.margin_gib, 1)}
        raise InputFault.at("/gpu", "cannot_run_there", **params)


def _on_card(request: FitRequest, work: Workload) -> tuple[Message, ...]:
    note = precision_on(request.gpu, work).note
    more = (*work.model.notes, *mismatches(request.workload, work), *((note,) if note else ()))
    return warnings_of(work.model.warnings, more)
