"""The data of a snapshot as JSON: cards, models, observations, each with its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import date

from app.catalog.rates import ExchangeRate
from app.catalog.records import ModelPreset, PriceObservation, Rental, effective_date, is_bare_year
from app.catalog.snapshot import Snapshot
from app.core.faults import FieldError, InputFault
from app.core.gpu import Benchmark, Gpu, Source
from app.core.model.architecture import ModelArchitecture
from app.core.question import CONDITIONS, PriceRules
from app.services import payload
from app.services.payload import Payload, gpu_label, number, plain
from app.services.provenance import MEASURED, OBSERVED
from app.services.remarks import facts_body, remark_bodies
from app.texts.say import say


class NotInCatalogue(LookupError):
    """The address names a card or model that is not in the catalogue."""


class AmbiguousName(NotInCatalogue):
    """The address names more than one card or model; the fault lists the candidates."""

    def __init__(self, name: str, errors: Sequence[FieldError]) -> None:
        super().__init__(name)
        self.errors = tuple(errors)


def _not_one(name: str, fault: InputFault) -> NotInCatalogue:
    if any(error.code == "ambiguous_name" for error in fault.errors):
        return AmbiguousName(name, fault.errors)
    return NotInCatalogue(name)


def find_gpu(snapshot: Snapshot, name: str) -> Gpu:
    """The card of an address; NotInCatalogue when there is none, AmbiguousName when more than one."""
    try:
        return snapshot.gpu(snapshot.resolve_gpu(name, "/gpu_id"))
    except InputFault as fault:
        raise _not_one(name, fault) from fault


def find_model(snapshot: Snapshot, name: str) -> ModelPreset:
    """The preset of an address; NotInCatalogue when there is none, AmbiguousName when more than one."""
    try:
        return snapshot.models[snapshot.resolve_model(name, "/model_id")]
    except InputFault as fault:
        raise _not_one(name, fault) from fault


def gpu_body(snapshot: Snapshot, gpu: Gpu) -> Payload:
    """A card with every figure's provenance; values that disagree with the chosen ones stand beside them."""
    return {
        "id": gpu.id,
        "name": gpu.name,
        "label": gpu_label(gpu),
        "vendor": gpu.vendor,
        "aliases": list(gpu.aliases),
        "family": gpu.family,
        "architecture": gpu.architecture,
        "segment": gpu.segment,
        "launch_date": gpu.launch_date,
        "form_factor": gpu.form_factor,
        "memory_type": gpu.memory_type,
        "ecc": gpu.ecc,
        "link": gpu.link,
        "compute_capability": gpu.compute_capability,
        "gpus_per_board": gpu.gpus_per_board,
        "facts": facts_body(snapshot, gpu),
        "attributes": plain(gpu.attributes),
        "figures": {
            name: {
                "value": number(figure.value),
                "unit": figure.unit,
                "basis": figure.basis,
                "source": payload.source(figure.source),
                "as_of": figure.as_of,
                **({"formula": figure.formula} if figure.formula else {}),
                **({"note": figure.note} if figure.note else {}),
            }
            for name, figure in sorted(snapshot.figures(gpu.id).items())
        },
    }


def gpu_detail(snapshot: Snapshot, name: str, as_of: date, language: str) -> Payload:
    """One card, the values that disagree, its prices that count, and where it may be bought."""
    gpu = find_gpu(snapshot, name)
    body = gpu_body(snapshot, gpu)
    body["disagreeing"] = [
        {
            "figure": entry.name,
            "value": number(entry.figure.value),
            "unit": entry.figure.unit,
            "basis": entry.figure.basis,
            "source": payload.source(entry.figure.source),
            "as_of": entry.figure.as_of,
            "note": entry.figure.note,
        }
        for entry in snapshot.all_figures(gpu.id)
        if not entry.chosen
    ]
    body["prices"] = price_choices(snapshot, gpu.id, as_of)
    body["benchmarks"] = len(snapshot.benchmarks_of_gpu(gpu.id))
    body["availability"] = [
        {
            "region": region,
            "status": fact.status,
            "text": fact.text,
            "from_on": fact.from_on,
            "source": payload.source(fact.source),
        }
        for (gpu_id, region), facts in sorted(snapshot.available.items())
        if gpu_id == gpu.id
        for fact in facts
    ]
    body["remarks"] = remark_bodies(snapshot, gpu.id, as_of, language)
    body["as_of"] = as_of.isoformat()
    body["versions"] = payload.versions(snapshot.version)
    said: Payload = say(body, language)
    return said


def price_choices(snapshot: Snapshot, gpu_id: str, as_of: date) -> Payload:
    """The price that counts in each condition that has one."""
    choices = snapshot.price_choices(as_of, PriceRules(), CONDITIONS)
    return {c: payload.price(choices[gpu_id, c]) for c in CONDITIONS if (gpu_id, c) in choices}


def model_body(model: ModelPreset) -> Payload:
    """A preset with those of its dimensions that are known."""
    architecture = model.architecture
    dimensions = {
        f.name: plain(getattr(architecture, f.name))
        for f in fields(ModelArchitecture)
        if f.name not in _NOT_DIMENSIONS and getattr(architecture, f.name) not in (None, 0, "", (), False)
    }
    return {
        "id": model.id,
        "name": model.name,
        "family": model.family,
        "series": model.series,
        "hf_repo": model.hf_repo,
        "parameters": plain(architecture.parameters),
        "active_parameters": plain(architecture.active_parameters),
        "parameters_published": number(model.parameters_published),
        "architecture": dimensions,
        "basis": model.basis,
        **({"formula": model.formula} if model.formula else {}),
        "source": payload.source(model.source),
        "published_source": payload.source(model.published_source),
        "as_of": model.as_of,
        "note": model.note,
    }


_NOT_DIMENSIONS = frozenset(
    {"id", "name", "family", "parameters", "active_parameters", "components", "attributes", "warnings"}
)


def model_detail(snapshot: Snapshot, name: str) -> Payload:
    """One preset by id, alias or Hugging Face id."""
    model = find_model(snapshot, name)
    return {**model_body(model), "versions": payload.versions(snapshot.version)}


def _age(observed_on: str, as_of: date) -> int | None:
    """Days since an observation; one that knows only the running year is counted from its first day."""
    if observed_on == f"{as_of.year:04d}":
        return (as_of - as_of.replace(month=1, day=1)).days
    day = effective_date(observed_on)
    return None if day is None else (as_of - day).days


def price_row(snapshot: Snapshot, row: PriceObservation, as_of: date, unused: str) -> Payload:
    """One observation; `unused` is the code of why it cannot count, empty when it can."""
    day = effective_date(row.observed_on, as_of)
    use = snapshot.rates.to_cny(row.currency, day) if day else None
    age = _age(row.observed_on, as_of)
    rules = PriceRules()
    body: Payload = {
        "id": row.id,
        "gpu": {"id": row.gpu_id, "name": snapshot.gpu(row.gpu_id).name},
        "name_as_written": row.name_as_written,
        "amount": number(row.amount),
        "currency": row.currency,
        "amount_cny": number(row.amount * use.rate) if use else None,
        "per": row.per,
        "condition": row.condition,
        "tax": row.tax,
        "region": row.region,
        "channel": row.channel,
        "channel_kind": row.channel_kind,
        "observed_on": row.observed_on,
        "age_days": age,
        "stale": age is None or age > rules.max_age_days or is_bare_year(row.observed_on),
        "converted": row.currency != "CNY",
        "n": row.n,
        "basis": OBSERVED,
        "source": payload.source(row.source),
        "quality": row.quality,
        "variant_assumed": row.variant_assumed,
        "note": row.note,
        "unused": {"code": f"price_{unused}", "params": {}} if unused else None,
        "unused_code": f"price_{unused}" if unused else None,
    }
    return body


def rental_body(snapshot: Snapshot, row: Rental, as_of: date) -> Payload:
    day = effective_date(row.observed_on, as_of)
    use = snapshot.rates.to_cny(row.currency, day) if day else None
    return {
        "id": row.id,
        "gpu": {"id": row.gpu_id, "name": snapshot.gpu(row.gpu_id).name},
        "name_as_written": row.name_as_written,
        "provider": row.provider,
        "instance": row.instance,
        "gpu_count": row.gpu_count,
        "currency": row.currency,
        "per_hour": number(row.per_hour),
        "per_gpu_hour": number(row.per_gpu_hour),
        "per_gpu_hour_cny": number(row.per_gpu_hour * use.rate) if use else None,
        "billing": row.billing,
        "region": row.region,
        "observed_on": row.observed_on,
        "age_days": _age(row.observed_on, as_of),
        "basis": OBSERVED,
        "source": payload.source(row.source),
        "variant_assumed": row.variant_assumed,
        "held": row.held,
        "note": row.note,
    }


def benchmark_body(snapshot: Snapshot, row: Benchmark) -> Payload:
    """One measurement as it was normalised."""
    return {
        "id": row.id,
        "gpu": {"id": row.gpu_id, "name": snapshot.gpu(row.gpu_id).name},
        "gpu_count": row.gpu_count,
        "model": {"id": row.model_id or None, "name": row.model_name},
        "task": row.task,
        "phase": row.phase,
        "precision": row.precision,
        "value": number(row.value),
        "unit": row.unit,
        "batch_per_gpu": number(row.batch_per_gpu),
        "sequence_length": number(row.sequence_length),
        "image_size": number(row.image_size),
        "input_length": number(row.input_length),
        "output_length": number(row.output_length),
        "framework": row.framework,
        "framework_version": row.framework_version,
        "interconnect": row.interconnect,
        "observed_on": row.observed_on,
        "basis": MEASURED,
        "source": payload.source(row.source),
        "note": row.note,
        "flag": row.flag,
        "own": row.own,
    }


def rate_body(snapshot: Snapshot, row: ExchangeRate) -> Payload:
    return {
        "id": row.id,
        "base": row.base,
        "quote": row.quote,
        "rate": number(row.rate),
        "observed_on": row.observed_on,
        "kind": row.kind,
        "basis": OBSERVED,
        "source": payload.source(snapshot.sources.get(row.source_id)),
    }


def source_body(source: Source) -> Payload:
    return {
        "id": source.id,
        "url": source.url,
        "title": source.title,
        "publisher": source.publisher,
        "kind": source.kind,
        "licence": source.licence,
        "read_on": source.read_on,
    }
