"""Remedies that were tried: the change is made, and the card is then among the options.

A change of the workload is evaluated again, for the cards and counts that it is meant for; changes of limits
are read off the stages at which an option would stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from app.core.decide.candidates import bit, hours_limit
from app.core.decide.fit import judge
from app.core.decide.grid import Only
from app.core.decide.guidance import answers, calls_for_data_centre
from app.core.decide.options import Fit, Remedy
from app.core.decide.pricing import PriceGrid
from app.core.decide.reasons import limit_change
from app.core.decide.remedies import Step, grid_steps
from app.core.decide.service import serves
from app.core.estimates import Message
from app.core.gpu_table import Floats, Index
from app.core.kept import Same
from app.core.memory import estimate
from app.core.question import ShortlistQuestion
from app.core.resolve import resolve

if TYPE_CHECKING:
    from app.core.decide.shortlist import Cell, Ranking

LIMITS = ("count", "power", "stale_price", "availability", "evidence", "budget", "deadline")
"""Stages that a stated limit makes: moving it lets the option pass."""
_BITS = tuple((name, bit(name)) for name in LIMITS)
ALL_LIMITS = sum(own for _, own in _BITS)
MOST_TOGETHER = 2
"""Changes that one remedy asks for at most, beside those that belong together."""
TRIES = 4
"""Changes of the workload that are evaluated for one question at most."""
_SHARED = {"evidence": "remedy_estimates_count"}
"""Sentences of changes that stand beside others, where they name no card."""


def apply(question: ShortlistQuestion, change: Mapping[str, Any]) -> ShortlistQuestion:
    """The question with a remedy's change made, places as in the body: `workload.precision`.

    Parameters
    ----------
    question: as it was asked, open fields open. change: values by place; lists stand for choices.
    """
    for place, value in change.items():
        part, _, key = place.rpartition(".")
        put: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value}
        if part:
            put = {part: replace(getattr(question, part), **put)}
        question = replace(question, **put)
    return question


def limit_remedy(ranking: Ranking, cell: Cell, mended: int = 0, most: int = MOST_TOGETHER) -> Remedy | None:
    """The limits to move so that an option passes; None where something else stands in its way too.

    Parameters
    ----------
    mended: bits of the stages that another change mends. most: limits that may be moved, estimates of prices
    apart.
    """
    if ranking.prices.rent_cny_h[cell] > 0:
        # A rejected card is let in as it would be bought.
        return None
    fails = int(ranking.candidates.fails[cell]) & ~mended
    if not fails or fails & ~ALL_LIMITS:
        return None
    stages = [name for name, own in _BITS if fails & own]
    if stages == ["availability", "evidence"]:
        change = {"filters.availability": "any", "price_rules.evidence": "any"}
        return Remedy("change_availability", Message("remedy_availability", {}), change)
    if len(stages) - ("evidence" in stages) > most:
        return None
    found = [limit for stage in stages if (limit := _limit(ranking, cell, stage)) is not None]
    if len(found) < len(stages):
        return None
    return found[0] if len(found) == 1 else together([_beside(limit) for limit in found])


def together(remedies: Sequence[Remedy]) -> Remedy:
    """Several changes as one; the estimate is that of the first, which is of the workload."""
    change = {place: value for remedy in remedies for place, value in remedy.change.items()}
    parts: list[Message] = []
    for remedy in remedies:
        # A change of several parts says each of them itself.
        parts += remedy.text.params.get("changes") or [remedy.text]
    text = Message("remedy_combined", {**remedies[0].text.params, "changes": parts})
    return replace(remedies[0], code="combined", text=text, change=change)


def _limit(ranking: Ranking, cell: Cell, stage: str) -> Remedy | None:
    """The move of one limit."""
    row, n, _ = cell
    question, candidates, gpu = ranking.question, ranking.candidates, ranking.gpus[row]
    params: dict[str, Any] = {"gpu": gpu.name, "gpu_id": gpu.id, "count": ranking.best.counts[n]}
    if stage == "availability":
        text = Message("remedy_availability", {})
        return Remedy("change_availability", text, {"filters.availability": "any"})
    if stage == "power":
        params["power_w"] = float(candidates.power_w[row, n])
    elif stage == "budget":
        params["needed"] = float(ranking.prices.purchase_cny[cell] + ranking.prices.host_cny[cell])
    elif stage == "deadline":
        if question.deadline_hours is None or candidates.hours is None:
            return None
        hours = float(np.broadcast_to(candidates.hours, candidates.score.shape)[cell])
        if hours > hours_limit(replace(question, deadline_hours=None)):
            # A deadline only tightens: there are no more hours in a month, or in the whole term.
            return None
        params["work_hours"] = hours
    return limit_change(stage, params)


def _beside(limit: Remedy) -> Remedy:
    """The move of a limit as it is said beside another change."""
    code = _SHARED.get(limit.code.removeprefix("change_"))
    return limit if code is None else replace(limit, text=Message(code, {}))


def certain_after(ranking: Ranking, cell: Cell) -> Message | None:
    """The cheapest single change after which a tight option fits for certain; None where none does.

    Only memory and software are looked at: the option passes everything else as it is.
    """
    row, n, _ = cell
    plan = ranking.grid.plans[int(ranking.best.plan[row, n])]
    usable = float(ranking.usable_gib[row])
    for code, fields, parts in grid_steps(ranking.question.workload):
        if parts:
            return None
        change = {f"workload.{name}": value for name, value in fields.items()}
        work, _notes = resolve(apply(ranking.asked_question, change).workload)
        if judge(estimate(work, plan), usable, work.used_gib)[0] != "fits":
            continue
        if int(ranking.rows[row]) not in ranking.screen(work).filter.stage:
            return Message(f"remedy_{code}", {"cards": plan.cards, **fields})
    return None


@dataclass(frozen=True)
class Trials:
    """Changes of one question that are made and evaluated."""

    ranking: Ranking
    joined: dict[tuple[Same, str], Remedy] = field(default_factory=dict)
    """Of two changes, one object for all cards of which they say the same."""

    def of_memory(self, cells: Iterable[Cell]) -> dict[int, Remedy]:
        """One remedy for each card that lacks memory: the cheapest change after which it is an option.

        Parameters
        ----------
        cells: of the cards, at their nearest count.

        Returns
        -------
        Remedies by row, each with its own estimate; cards that no change brings in are left out.
        """
        found: dict[int, Remedy] = {}
        waiting = {row: n for row, n, _ in cells if _known(self._bought(self.ranking.prices)[row])}
        steps, tries = list(grid_steps(self.ranking.question.workload)), 0
        if not steps or not waiting or self.open_class:
            return found
        # What all changes together do not bring in, none of them will.
        waiting = {row: waiting[row] for row in self._fitting(steps[-1], waiting)}
        for step in steps:
            if not waiting or tries >= TRIES:
                break
            fits = self._fitting(step, waiting)
            if not fits:
                continue
            if self.speed_decides:
                tries += 1
                passed = self._evaluated(fits, waiting)
            else:
                passed = self._unlimited(fits, waiting)
            for row, more in passed:
                found[row] = self._with(fits[row], more)
                del waiting[row]
        return found

    def of_limits(self, cell: Cell) -> Remedy | None:
        """The limits to move so that an option passes."""
        return None if self.open_class else limit_remedy(self.ranking, cell)

    def beside(self, cell: Cell, own: Remedy | None, mended: int) -> Remedy | None:
        """A change that mends one stage, with the limit to move where another stops the option too.

        Parameters
        ----------
        mended: the bit of that stage.
        """
        if own is None or self.open_class:
            return None
        if int(self.ranking.candidates.fails[cell]) == mended:
            return own
        limit = limit_remedy(self.ranking, cell, mended, most=1)
        return None if limit is None else together((own, _beside(limit)))

    @staticmethod
    def _bought(prices: PriceGrid) -> Floats:
        """Purchases alone: a rejected card is let in as it would be bought."""
        return prices.purchase_cny[..., prices.bought]

    @property
    def speed_decides(self) -> bool:
        """Whether something is asked that a change of speed could break: then all is evaluated again."""
        question = self.ranking.question
        stated = question.work is not None and not question.work.assumed
        served = question.service is not None and serves(question.workload)
        return stated or served or question.workload.latency_limit_ms is not None

    @cached_property
    def open_class(self) -> bool:
        """Whether the hours of the work decide which class of cards is asked for: any change may turn it."""
        question = self.ranking.question
        shorter, longer = (answers(question.questions, question.workload, hours) for hours in (0.0, np.inf))
        return calls_for_data_centre(longer) and not calls_for_data_centre(shorter)

    def _evaluated(
        self, fits: Mapping[int, Remedy], waiting: Mapping[int, int]
    ) -> list[tuple[int, Remedy | None]]:
        """Of cards that hold what a change leaves, those that are options after it, by evaluating it."""
        ranking = self.ranking
        at = {int(ranking.rows[row]): row for row in fits}
        change = next(iter(fits.values())).change
        counts = {asked: ranking.best.counts[waiting[row]] for asked, row in at.items()}
        return [(at[asked], more) for asked, more in self._passing(change, counts)]

    def _unlimited(
        self, fits: Mapping[int, Remedy], waiting: Mapping[int, int]
    ) -> list[tuple[int, Remedy | None]]:
        """The same where speed decides nothing: what stops an option beside its memory stays as it is."""
        ranking, found = self.ranking, []
        change = next(iter(fits.values())).change
        work, _ = resolve(apply(ranking.asked_question, change).workload)
        stopped = ranking.screen(work).filter.stage
        for row in fits:
            if int(ranking.rows[row]) not in stopped:
                bought = ranking.candidates.fails[row, waiting[row], ranking.prices.bought]
                fails = bought & ~bit("memory")
                found += [(row, more) for more in self._moves(ranking, row, waiting[row], fails)]
        return found

    def _moves(self, ranking: Ranking, row: int, n: int, fails: Index) -> Iterator[Remedy | None]:
        """The limit to move so that one of the conditions passes, None where it does."""
        moves = [len(LIMITS) + 1 if fail & ~ALL_LIMITS else fail.bit_count() for fail in fails.tolist()]
        k = moves.index(min(moves))
        if not moves[k]:
            yield None
            return
        limit = limit_remedy(ranking, (row, n, k), bit("memory"), most=1)
        if limit is not None:
            yield _beside(limit)

    def of_filters(self, rows: Sequence[int], proposed: Sequence[Remedy | None]) -> dict[int, Remedy]:
        """What a filter names is changed, and the card is an option.

        Parameters
        ----------
        rows: of the cards asked about. proposed: the change that the filter of each names.
        """
        among: dict[str, dict[int, Remedy]] = {}
        for row, remedy in zip(rows, proposed, strict=True):
            if remedy is not None and _known(self._bought(self.ranking.asked.prices)[row]):
                among.setdefault(repr(remedy.change), {})[row] = remedy
        found: dict[int, Remedy] = {}
        for remedies in among.values():
            at = {row: count for row in remedies if (count := self._least_count(row)) is not None}
            change = next(iter(remedies.values())).change
            for row, more in self._passing(change, at):
                found[row] = self._with(remedies[row], more)
        return found

    def _fitting(self, step: Step, waiting: Mapping[int, int]) -> dict[int, Remedy]:
        """Remedies of a step by row, for the cards that hold what it needs; one object for equal cards."""
        code, fields, parts = step
        best, usable = self.ranking.best, self.ranking.usable_gib
        change = {f"workload.{name}": value for name, value in fields.items()}
        changed, _ = resolve(apply(self.ranking.asked_question, change).workload)
        cells = {row: (int(best.plan[row, n]), float(usable[row])) for row, n in waiting.items()}
        plans = {plan: self.ranking.grid.plans[plan] for plan in {plan for plan, _ in cells.values()}}
        needs = {plan: estimate(changed, cards) for plan, cards in plans.items()}
        made: dict[tuple[int, float], Remedy] = {}
        for plan, room in set(cells.values()):
            verdict, margin = judge(needs[plan], room, changed.used_gib)
            if verdict != "does_not_fit":
                params = {"cards": plans[plan].cards, **fields} | ({"changes": parts} if parts else {})
                text = Message(f"remedy_{code}", params)
                made[plan, room] = Remedy(code, text, change, needs[plan], Fit(verdict, room, margin))
        return {row: made[cell] for row, cell in cells.items() if cell in made}

    def _passing(
        self, change: Mapping[str, Any], counts: Mapping[int, int]
    ) -> Iterator[tuple[int, Remedy | None]]:
        """Cards that are options after a change, with the limit to move beside it where one is in the way.

        Parameters
        ----------
        change: values by place. counts: at which each card is tried, by row of the cards asked about.
        """
        if not counts or self.open_class:
            return
        only = Only(frozenset(counts), tuple(sorted(set(counts.values()))))
        after = self.ranking.again(apply(self.ranking.asked_question, change), only)
        for row, asked in enumerate(after.rows.tolist()):
            n = after.best.counts.index(counts[asked])
            for more in self._moves(after, row, n, after.candidates.fails[row, n]):
                yield asked, more

    def _with(self, own: Remedy, more: Remedy | None) -> Remedy:
        if more is None:
            return own
        key = (Same(own), repr(more.change))
        if key not in self.joined:
            self.joined[key] = together((own, more))
        return self.joined[key]

    def _least_count(self, row: int) -> int | None:
        """The smallest number of cards of which each holds its part of the question as it is."""
        grid = self.ranking.grid
        holds = grid.expected_gib <= float(self.ranking.asked.table.usable_gib[row])
        return int(grid.cards[holds].min()) if holds.any() else None


def _known(amounts: Floats) -> bool:
    """Whether any amount is known: what has none is no option whatever is changed."""
    return bool(np.isfinite(amounts).any())
