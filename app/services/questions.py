"""From a JSON object to the core's questions: the one reader for the API, the pages and the command line.

Pydantic reads the body by the models of `services.bodies`; every fault of it, and of what names and
combinations mean, is collected with its JSON pointer. A later step never sees a half-read question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any, TypeVar

from pydantic import ValidationError

from app.catalog.snapshot import Snapshot
from app.core.defaults import STRICT_SLA_SPARES, epoch_samples, usual_values, waits
from app.core.defaults import work as usual_work_of
from app.core.engines import framework_named, framework_names, is_engine
from app.core.estimates import Assumption
from app.core.faults import FieldError, InputFault, shown
from app.core.gpu import Gpu
from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.model.config_reader import read_config
from app.core.question import (
    COUNT,
    Budget,
    Economics,
    Filters,
    PriceRules,
    SeedQuestions,
    Service,
    ShortlistQuestion,
    Work,
)
from app.core.question_fields import BY_PLACE, FIELDS, ignored
from app.core.resolve import resolve
from app.core.workload import Offload, Parallelism, Workload
from app.services.answers import to_cny
from app.services.bodies import BODIES, Route, open_bodies
from app.services.body_faults import Loc, faults_of, field_at, pointer_of, rest_of
from app.services.body_values import refuse_wide, storable_body, values_of, without_nulls

T = TypeVar("T")
_FRAMEWORK = re.compile(r"([a-z0-9.\-]+?)(?:==(\d{1,4}(?:\.\d{1,4}){0,3}))?")


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """What /memory asks: a workload, and the day it is asked for."""

    workload: Workload
    as_of: date
    defaults: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What /fit and /speed ask: a workload on a number of one card."""

    workload: Workload
    gpu: Gpu
    count: int
    as_of: date
    defaults: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class ShortlistRequest:
    """What /shortlist and /comparisons ask."""

    question: ShortlistQuestion
    as_of: date
    title: str = ""
    budget_given: Budget | None = None
    """The budget in the currency it was stated in; the question holds yuan."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """The body as it was sent, without its title: enough to ask again."""
    defaults: tuple[Assumption, ...] = ()


def parse_memory(data: object, snapshot: Snapshot, today: date) -> MemoryRequest:
    """Read the body of /memory; raises InputFault with every fault."""
    body = _Body(data, "memory", snapshot)
    workload = body.workload()
    body.raise_faults()
    work = _certain(workload)
    return MemoryRequest(work, body.top("as_of", today), body.defaults(work))


def parse_workload(data: object, snapshot: Snapshot) -> Workload:
    """Read {"workload": {…}} alone; raises InputFault with every fault."""
    return parse_memory(data, snapshot, date.min).workload


def parse_fit(data: object, snapshot: Snapshot, today: date) -> FitRequest:
    """Read the body of /fit and /speed; raises InputFault with every fault."""
    body = _Body(data, "fit", snapshot)
    workload = body.workload()
    name = body.top("gpu", None)
    gpu = body.card(name, ("gpu",)) if name is not None else None
    count: int | None = body.top("count", None)
    if workload is not None and workload.parallelism is not None:
        if _states_no_degree(body.clean):
            workload = _spread(workload, count or 1)
        cards = _certain(workload.parallelism).cards
        if count is None:
            count = cards
        elif cards != count:
            body.fault(("count",), "plan_does_not_match_count", count=count, cards=cards)
    body.raise_faults()
    work = _certain(workload)
    used = body.defaults(work)
    if count is None:
        used = (*used, Assumption("count", 1, "default_count"))
    return FitRequest(work, _certain(gpu), count or 1, body.top("as_of", today), used)


def parse_shortlist(
    data: object, snapshot: Snapshot, today: date, titled: bool = False, assumed: Collection[str] = ()
) -> ShortlistRequest:
    """Read the body of /shortlist, or of /comparisons when `titled`; raises InputFault with every fault.

    `assumed`: places that the body names though nobody stated them, such as those a form has filled.
    """
    body = _Body(data, "comparison" if titled else "shortlist", snapshot, frozenset(assumed))
    as_of = body.top("as_of", today)
    open_counts = () if "counts" in body.clean else BY_PLACE["counts"].default
    counts = tuple(sorted(set(body.top("counts", open_counts))))
    workload = body.planned(body.workload(), counts)
    if workload is not None and workload.parallelism is not None and "counts" not in body.clean:
        counts = (workload.parallelism.cards,)
    filters, overrides = body.filters(), body.overrides()
    given, budget = body.budget(as_of)
    body.raise_faults()
    by_framework, engine_said = _by_framework(_certain(workload), filters)
    work, usual_work = body.work(by_framework)
    service, usual_service = body.service(by_framework)
    rules, region_said = body.price_rules(filters)
    question = ShortlistQuestion(
        workload=by_framework,
        counts=counts,
        filters=filters,
        budget=budget,
        economics=body.part("economics", Economics) or Economics(),
        price_rules=rules,
        price_overrides=overrides,
        work=work,
        service=service,
        questions=body.part("questions", SeedQuestions) or SeedQuestions(),
        **{name: body.top(name, BY_PLACE[name].default) for name in _TOPS},
    )
    echo = {k: v for k, v in body.data.items() if k != "title"}
    used = (
        *body.defaults(by_framework),
        *engine_said,
        *usual_work,
        *usual_service,
        *region_said,
        *(a for a in _frame_defaults(body.clean, question) if not region_said or a.field != _PRICE_REGION),
    )
    return ShortlistRequest(question, as_of, body.top("title", ""), given, echo, used)


def _by_framework(workload: Workload, filters: Filters) -> tuple[Workload, tuple[Assumption, ...]]:
    """A framework that must run is the engine of a question that names none."""
    named = {wanted.partition("==")[0] for wanted in filters.frameworks}
    engines = [name for name in named if is_engine(name)]
    if is_engine(workload.engine) or len(engines) != 1:
        return workload, ()
    said = Assumption("engine", engines[0], "engine_of_framework")
    return replace(workload, engine=engines[0]), (said,)


HINTED_NAMES = 5
"""Unknown names of a body for which close ones are looked up: that takes milliseconds each."""


def _by_own_name(value: str) -> str:
    """torch==2.6 as pytorch==2.6."""
    name, sign, version = value.strip().partition("==")
    return framework_named(name.lower()) + sign + version


_PRICE_REGION = "price_rules.region"
_APART = frozenset({"counts", "price_overrides"})
_TOPS = tuple(
    one.name for one in fields(ShortlistQuestion) if one.name in BY_PLACE and one.name not in _APART
)


def _certain(value: T | None) -> T:
    # Faults have been raised by now; this says it to the type checker.
    if value is None:
        raise InputFault.at("", "not_an_object")
    return value


def _states_no_degree(clean: Mapping[str, Any]) -> bool:
    """Whether a plan says how to share (experts, ZeRO) without saying over how many cards."""
    plan = clean["workload"]["parallelism"]
    return not any(plan.get(name) for name in ("data", "tensor", "pipeline"))


def _spread(workload: Workload, cards: int) -> Workload:
    return replace(workload, parallelism=replace(_certain(workload.parallelism), data=cards))


class _Body:
    """One body while it is read: what it states, validated, and the faults found so far."""

    def __init__(
        self, data: object, route: Route, snapshot: Snapshot, assumed: frozenset[str] = frozenset()
    ) -> None:
        if not isinstance(data, Mapping):
            raise InputFault.at("", "not_an_object")
        refuse_wide(data)
        self.data: Mapping[str, Any] = storable_body(data)
        self.buys = route in ("shortlist", "comparison")
        """A purchase is decided: what is left open follows task and model."""
        self.assumed = assumed
        self.clean = without_nulls(self.data)
        self.snapshot = snapshot
        self.errors: list[FieldError] = []
        self._hints = HINTED_NAMES
        try:
            self.model: Any = BODIES.of(route).model_validate(self.clean)
        except ValidationError as error:
            vendors = sorted({gpu.vendor for gpu in snapshot.gpus})
            self.errors += faults_of(error, self.clean, vendors)
            # What is right is read all the same, for the faults of its meaning.
            self.model = rest_of(self.clean, error, open_bodies().of(route))

    def fault(self, at: Loc, code: str, **params: Any) -> None:
        """Note one fault."""
        self.errors.append(FieldError(pointer_of(at), code, params))

    def raise_faults(self) -> None:
        """Raise what was noted, in the order of the fields."""
        if self.errors:
            raise InputFault(sorted(self.errors, key=_position))

    def top(self, name: str, default: Any) -> Any:
        """A field of the body itself."""
        value = getattr(self.model, name, None)
        return default if value is None or name not in self.clean else value

    def _attempt(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except InputFault as fault:
            self.errors.extend(fault.errors)
            return None

    def part(self, place: str, kind: type[T]) -> T | None:
        """An object of the body as the core's dataclass; None where it was not given."""
        at: Any = self.model
        for name in place.split("."):
            at = getattr(at, name, None)
        return None if at is None else kind(**values_of(at, place))

    def workload(self) -> Workload | None:
        """The workload; None when anything of it is at fault."""
        work: Any = self.model.workload
        if work is None:
            return None
        model = self._architecture(work.model)
        values = values_of(work, "workload")
        offload = self.part("workload.offload", Offload) or Offload()
        plan = self.part("workload.parallelism", Parallelism)
        if plan is not None and plan.cards > COUNT.high:
            at = ("workload", "parallelism", "data")
            self.fault(at, "too_many_cards", cards=plan.cards, limit=int(COUNT.high))
        given = self.clean["workload"]
        for one in FIELDS:
            # A batch of one would be a guess that decides the answer, and so would the number format.
            if values.get("task", "inference") in one.required_for and one.key not in given:
                self.fault(("workload", one.key), f"{one.key}_required")
        if model is None or any(e.pointer.startswith("/workload") for e in self.errors):
            return None
        usual = self._usual(model, values) | self._users(values)
        workload = Workload(
            model,
            batch_stated="batch_size" in given,
            offload=offload,
            parallelism=plan,
            **_open(given, values) | usual,
        )
        self._attempt(lambda: resolve(workload))
        return workload

    def _users(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Users are the sequences that run together, where nobody says otherwise."""
        users = getattr(getattr(self.model, "service", None), "users", None)
        task, open_batch = values.get("task", "inference"), "batch_size" not in self.clean["workload"]
        return {"batch_size": users} if self.buys and users and open_batch and task == "inference" else {}

    def _usual(self, model: ModelArchitecture, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a purchase question takes where it says nothing, by task and model."""
        task = values.get("task", "inference")
        given = {f"workload.{name}" for name in self.clean["workload"]}
        if not self.buys:
            return {}
        if task == "inference" and values.get("load") == "saturated":
            # As many sequences as the engine holds.
            given.add("workload.batch_size")
        given |= {one.place for one in _USUAL if task in one.required_for}
        if task != "inference":
            given.add("workload.sequence_length")
        found = usual_values(_USUAL, task, model, given)
        return {place.removeprefix("workload."): value for place, value in found.items()}

    def work(self, workload: Workload) -> tuple[Work | None, tuple[Assumption, ...]]:
        """The amount of work, with what was assumed of it.

        Nothing is assumed where the load is stated otherwise: by the share of the hours that the cards work,
        or by a deadline, which asks for its work.
        """
        stated = self.part("work", Work)
        task, model = workload.task, workload.model
        when = "all" if workload.trains else "month"
        if stated is not None:
            samples = epoch_samples(task, model) if stated.unit == "epochs" else None
            if samples is None or stated.samples_per_epoch is not None:
                return stated, ()
            note = Assumption("work.samples_per_epoch", samples, "usual_samples_per_epoch")
            return replace(stated, samples_per_epoch=samples), (note,)
        share = (self.part("economics", Economics) or Economics()).utilisation
        if share != Economics().utilisation or "deadline_hours" in self.clean:
            return None, ()
        usual = usual_work_of(task, model)
        notes = [
            Assumption("work.amount", usual.amount, f"usual_work_{when}"),
            Assumption("work.unit", usual.unit, f"usual_work_{when}"),
        ]
        if usual.samples is not None:
            notes.append(Assumption("work.samples_per_epoch", usual.samples, "usual_samples_per_epoch"))
        return Work(usual.amount, usual.unit, usual.samples, assumed=True), tuple(notes)

    def service(self, workload: Workload) -> tuple[Service | None, tuple[Assumption, ...]]:
        """What users are to get, with what was assumed of it; None where nobody waits or nothing is asked.

        Of language models that write, each user reads along unless the question says that nobody does.
        """
        said = self.data.get("service", {})
        found, notes = self._spare(workload, said)
        if said is None or not waits(workload):
            return (Service(None, 0.0, 0.0, found.spare_hosts) if found.spare_hosts else None), notes
        goals = ("tokens_per_s_per_user", "first_token_s")
        usual = (
            Assumption(f"service.{name}", getattr(found, name), "usual_service")
            for name in goals
            if said.get(name) is None
        )
        return found, (*usual, *notes)

    def _spare(self, workload: Workload, said: Any) -> tuple[Service, tuple[Assumption, ...]]:
        """The service as stated; a strict level takes a spare machine unless the question says how many."""
        found = self.part("service", Service) or Service()
        asked = self.part("questions", SeedQuestions) or SeedQuestions()
        stated = isinstance(said, Mapping) and said.get("spare_hosts") is not None
        if stated or workload.trains or not asked.strict_sla:
            return found, ()
        note = Assumption("service.spare_hosts", STRICT_SLA_SPARES, "strict_sla_spare")
        return replace(found, spare_hosts=STRICT_SLA_SPARES), (note,)

    def _architecture(self, model: Any) -> ModelArchitecture | None:
        if model is None or any(e.pointer.startswith("/workload/model") for e in self.errors):
            return None
        said = self.clean["workload"]["model"]
        if "preset" in said:
            at = "/workload/model/preset"
            return self._attempt(
                lambda: self.snapshot.models[self.snapshot.resolve_model(model.preset, at)].architecture
            )
        if "config" in said:
            # As it was sent: its nulls mean something.
            config = self.data["workload"]["model"]["config"]
            size = None if model.parameters is None else float(model.parameters)
            return self._attempt(
                lambda: read_config(config, model.name or "", size, "/workload/model/config")
            )
        return self._attempt(lambda: architecture_from_fields(said))

    def planned(self, workload: Workload | None, counts: tuple[int, ...]) -> Workload | None:
        """The workload with its plan set against the counts that were asked for."""
        if workload is None or workload.parallelism is None:
            return workload
        if _states_no_degree(self.clean):
            if len(counts) != 1:
                self.fault(("counts",), "plan_needs_one_count")
                return workload
            return _spread(workload, counts[0])
        cards = workload.parallelism.cards
        if "counts" in self.clean and counts and cards not in counts:
            self.fault(("counts",), "plan_does_not_match_count", count=list(counts), cards=cards)
        return workload

    def card(self, name: str, at: Loc) -> Gpu | None:
        """The card of a name; an unknown or ambiguous one is a fault of the field."""
        try:
            return self.snapshot.gpu(self.snapshot.gpu_names.resolve(name, "/gpu", hinting=self._hints > 0))
        except InputFault as fault:
            self._hints -= 1
            for error in fault.errors:
                self.fault(at, error.code, **error.params)
            return None

    def filters(self) -> Filters:
        """`filters`, its names looked up."""
        part = self.model.filters
        if part is None:
            return Filters()
        values = values_of(part, "filters")
        known = {gpu.vendor.casefold(): gpu.vendor for gpu in self.snapshot.gpus}
        vendors = []
        for index, value in enumerate(values.get("vendors", ())):
            vendor = known.get(value.strip().casefold())
            if vendor is None:
                params = {"value": shown(value), "allowed": sorted(set(known.values()))}
                self.fault(("filters", "vendors", index), "unknown_value", **params)
            else:
                vendors.append(vendor)
        asked = [_by_own_name(value) for value in values.get("frameworks", ())]
        for index, value in enumerate(asked):
            match = _FRAMEWORK.fullmatch(value) if len(value) < 80 else None
            if match is None or match[1] not in framework_names():
                params = {"value": shown(value), "allowed": list(framework_names())}
                self.fault(("filters", "frameworks", index), "unknown_value", **params)
        cards = [self.card(name, ("filters", "gpus", i)) for i, name in enumerate(values.get("gpus", ()))]
        values |= {
            "vendors": tuple(dict.fromkeys(vendors)),
            "frameworks": tuple(dict.fromkeys(asked)),
            "gpus": tuple(dict.fromkeys(card.id for card in cards if card is not None)),
            "conditions": values.get("conditions") or Filters().conditions,
        }
        return Filters(**values)

    def price_rules(self, filters: Filters) -> tuple[PriceRules, tuple[Assumption, ...]]:
        """Which prices count: where only other regions are allowed, those of the first of them."""
        found = self.part("price_rules", PriceRules) or PriceRules()
        stated = "region" in self.clean.get("price_rules", {})
        if stated or not filters.regions or found.region in filters.regions:
            return found, ()
        region = filters.regions[0]
        return replace(found, region=region), (Assumption(_PRICE_REGION, region, "region_of_filter"),)

    def overrides(self) -> dict[str, float]:
        """`price_overrides`: the asker's own price per card, in yuan."""
        prices: dict[str, float] = {}
        given = self.clean.get("price_overrides")
        right = self.model.price_overrides or {}
        # Of more than the field takes none is looked up: that there are too many has been noted.
        names = tuple(given) if isinstance(given, Mapping) else ()
        for name in names if len(names) <= BY_PLACE["price_overrides"].longest else ():
            gpu = self.card(name, ("price_overrides", name))
            if gpu is None or name not in right:
                continue
            if gpu.id in prices:
                self.fault(("price_overrides", name), "named_twice", value=gpu.name)
            prices[gpu.id] = right[name]
        return prices

    def budget(self, as_of: date) -> tuple[Budget | None, Budget | None]:
        """`budget` as stated, and in yuan at the rate of the day."""
        part = self.model.budget
        if part is None or "amount" not in part.model_fields_set:
            return None, None
        given = Budget(**values_of(part, "budget"))
        if given.currency == "CNY":
            return given, given
        yuan = to_cny(given.amount, given.currency, self.snapshot, as_of)
        if yuan is None:
            params = {"currency": given.currency, "day": as_of.isoformat()}
            self.fault(("budget", "currency"), "no_exchange_rate", **params)
            return given, None
        return given, Budget(yuan)

    def defaults(self, workload: Workload) -> tuple[Assumption, ...]:
        """Defaults of a workload that the core does not fill itself, and stated fields that do nothing."""
        given = self.clean["workload"]
        usual = self._usual(workload.model, {"task": workload.task, "load": workload.load})
        usual |= {one.key: given[one.key] for one in _USUAL if one.place in self.assumed and one.key in given}
        used = (
            Assumption(one.key, getattr(workload, one.key), f"default_{one.key}")
            for one in _TOLD
            if one.key not in given and one.told is not None and one.told(workload)
        )
        by_rule = (Assumption(key, value, f"usual_{key}") for key, value in usual.items())
        return (*used, *by_rule, *_ignored(given, workload))


_USUAL = tuple(one for one in FIELDS if one.usual and one.place.startswith("workload."))
_TOLD = tuple(one for one in FIELDS if one.told and one.place.rpartition(".")[0] == "workload")
_FRAME = tuple(
    one
    for part in ("", "filters", "price_rules", "economics")
    for one in FIELDS
    if one.told and one.place.rpartition(".")[0] == part
)


def _frame_defaults(clean: Mapping[str, Any], question: ShortlistQuestion) -> tuple[Assumption, ...]:
    """Defaults of the frame around a workload: counts, objective, prices, economics."""
    used: list[Assumption] = []
    for one in _FRAME:
        part, _, key = one.place.rpartition(".")
        value = getattr(getattr(question, part) if part else question, key)
        if key not in (clean.get(part, {}) if part else clean) and value != "":
            used.append(Assumption(one.place, value, f"default_{key}"))
    if question.work is not None and question.workload.model.family == "speech":
        used.append(Assumption("work.unit", question.work.unit, "work_hours_of_audio"))
    return tuple(used)


def _ignored(given: Mapping[str, Any], workload: Workload) -> tuple[Assumption, ...]:
    """Stated fields that do nothing for the question, each with the reason."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            values |= {f"{name}.{part}": inner for part, inner in value.items()}
        else:
            values[name] = value
    # What is switched off does nothing anyway.
    said = {f"workload.{name}": value for name, value in values.items() if value is not False}
    resolved, _ = resolve(workload)
    return tuple(
        Assumption(place.removeprefix("workload."), said[place], code)
        for place, code in ignored(said, resolved).items()
    )


def _open(given: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A format that was not stated is left to the model's own."""
    return values if "precision" in given else values | {"precision": ""}


def _position(error: FieldError) -> int:
    """Where the field at fault stands in the table; what is no field of it comes last."""
    found = field_at(tuple(error.pointer.strip("/").split("/")))
    return _ORDER[found.place] if found is not None and error.code != "unknown_field" else len(_ORDER)


_ORDER = {one.place: index for index, one in enumerate(FIELDS)}
