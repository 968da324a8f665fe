"""Cards and model presets as everybody asks for them: figures with their sources, prices, remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date

from app.catalog.records import Availability, Fact, ModelPreset, deciding
from app.catalog.snapshot import Snapshot
from app.core.answer import AnyMap, answer, parts_of, plain
from app.core.answer import Figure as Amount
from app.core.decide.pricing import LEVELS
from app.core.estimates import Basis
from app.core.faults import FieldError, InputFault
from app.core.gpu import Figure, Gpu, PriceChoice, Source
from app.core.model.architecture import ModelArchitecture
from app.core.question import CONDITIONS, PriceRules
from app.services.answers import DollarRate
from app.services.results import Versions
from app.services.store import availability


class NotInCatalogue(LookupError):
    """The address names a card or model that is not in the catalogue."""


class AmbiguousName(NotInCatalogue):
    """The address names more than one card or model; the fault lists the candidates."""

    def __init__(self, name: str, errors: Sequence[FieldError]) -> None:
        super().__init__(name)
        self.errors = tuple(errors)


def not_one(name: str, fault: InputFault) -> NotInCatalogue:
    """What a name is that the catalogue refused: unknown, or of several."""
    if any(error.code == "ambiguous_name" for error in fault.errors):
        return AmbiguousName(name, fault.errors)
    return NotInCatalogue(name)


@answer()
class Card:
    """A card with every figure's provenance."""

    id: str
    """Id of the card."""
    name: str
    """Its whole name."""
    label: str
    """Its short name, as tables have it: RTX 4090."""
    vendor: str
    """Who makes it."""
    aliases: tuple[str, ...]
    """Other names that mean this card alone."""
    family: str
    """Family of chips, such as GeForce RTX 40."""
    architecture: str
    """Architecture of the chip, such as Ada Lovelace."""
    segment: str
    """consumer, workstation, data-centre …"""
    launch_date: str
    """First day of sale, ISO 8601; empty where it is not known."""
    form_factor: str
    """PCIe card, SXM module, OAM module …: a module needs its own baseboard."""
    memory_type: str
    """Kind of memory, such as GDDR6X."""
    ecc: str
    """Whether its memory corrects errors: yes, no or optional, with a remark in brackets."""
    link: str
    """Link between cards: NVLink 4, Infinity Fabric, none (PCIe only) …"""
    compute_capability: str
    """Of NVIDIA cards, such as 8.9."""
    gpus_per_board: int
    """Chips on one board, each a GPU of its own to software."""
    facts: Mapping[str, Fact]
    """Facts with a source of their own, by name: cooling, slot width, drivers …"""
    attributes: AnyMap
    """Other texts of the row by name: die, power connector, and `source`, where the row was read."""
    figures: Mapping[str, Figure]
    """The figures in force by name: memory_gib, bandwidth_gb_s, bf16_tflops … Rates are dense, with fp32
    accumulate (int32 for integers)."""


@answer()
class OtherValue:
    """A value that disagrees with the figure in force."""

    figure: str
    """Name of the figure."""
    value: Amount
    """The other value, in `unit`."""
    unit: str
    """Unit of the figure."""
    basis: Basis
    """How it is known."""
    source: Source
    """Where it was read."""
    as_of: str
    """Day of the value, ISO 8601."""
    note: str
    """Why it is not in force, or what its source says beside."""


@answer()
class Statement:
    """Whether the card may or can be bought in a region, as a source states it."""

    region: str
    """CN, US, HK, TW, EU or global."""
    status: str
    """What is stated: licence_required, not_permitted, discontinued, on_sale …"""
    text: str
    """The statement in the words of its source."""
    from_on: str
    """Since when, ISO 8601."""
    source: Source
    """Where it was read."""


@answer(renamed={"from_on": "from"})
class Remark:
    """A remark on buying the card in a region."""

    region: str
    """CN, US, HK, TW, EU or global."""
    kind: str
    """restricted, licence required, discontinued, not sold, sold or announced."""
    status: str
    """The same in more detail: licence_required, case_by_case, reported_stop …"""
    from_on: str
    """Since when, ISO 8601."""
    until: str | None
    """Until when, ISO 8601; null where it still holds."""
    decides: bool
    """Whether it is the newest of its question on that day."""
    text: str
    """The remark in the language of the answer where it is translated."""
    source: Source
    """Where it was read."""
    read_on: str
    """Day on which it was read, ISO 8601."""


@answer(omit=("rate",))
class CardDetail(Card):
    """One card: its figures, values that disagree, prices that count, and where it may be bought."""

    disagreeing: tuple[OtherValue, ...]
    """Values of other sources that are not in force."""
    prices: Mapping[str, PriceChoice]
    """The price that counts by condition: new, refurbished, used, modded."""
    benchmarks: int
    """Measurements of the card in /benchmarks."""
    availability: tuple[Statement, ...]
    """What sources state about buying it, by region."""
    remarks: tuple[Remark, ...]
    """The same in the reader's language, with what decides on the day."""
    as_of: str
    """Day whose prices count, ISO 8601."""
    versions: Versions
    """What the answer was made with."""
    currency: str = "CNY"
    """CNY, or USD where the amounts stand in dollars too."""
    rate: DollarRate | None = None
    """The rate behind the dollars; only with `currency=USD`."""


def find_gpu(snapshot: Snapshot, name: str) -> Gpu:
    """The card of an address; NotInCatalogue when there is none, AmbiguousName when more than one."""
    try:
        return snapshot.gpu(snapshot.resolve_gpu(name, "/gpu_id"))
    except InputFault as fault:
        raise not_one(name, fault) from fault


def card_of(snapshot: Snapshot, gpu: Gpu) -> Card:
    """A card with every figure's provenance."""
    return Card(
        gpu.id,
        gpu.name,
        gpu.label,
        gpu.vendor,
        gpu.aliases,
        gpu.family,
        gpu.architecture,
        gpu.segment,
        gpu.launch_date,
        gpu.form_factor,
        gpu.memory_type,
        gpu.ecc,
        gpu.link,
        gpu.compute_capability,
        gpu.gpus_per_board,
        dict(sorted(snapshot.facts.get(gpu.id, {}).items())),
        {name: plain_source(value) for name, value in gpu.attributes.items()},
        dict(sorted(snapshot.figures(gpu.id).items())),
    )


def plain_source(value: object) -> object:
    """A source as answers have it; any other value of a row as it is."""
    if not isinstance(value, Source):
        return plain(value)
    return {"id": value.id, "url": value.url, "title": value.title, "publisher": value.publisher}


def card_detail(snapshot: Snapshot, name: str, as_of: date, language: str) -> CardDetail:
    """One card by any known name; NotInCatalogue or AmbiguousName where that is not one."""
    gpu = find_gpu(snapshot, name)
    known = [facts for (gpu_id, _), facts in sorted(snapshot.available.items()) if gpu_id == gpu.id]
    return CardDetail(
        **parts_of(card_of(snapshot, gpu)),
        disagreeing=tuple(
            OtherValue(
                e.name,
                e.figure.value,
                e.figure.unit,
                e.figure.basis,
                e.figure.source,
                e.figure.as_of,
                e.figure.note,
            )
            for e in snapshot.all_figures(gpu.id)
            if not e.chosen
        ),
        prices=price_choices(snapshot, gpu.id, as_of),
        benchmarks=len(snapshot.benchmarks_of_gpu(gpu.id)),
        availability=tuple(
            Statement(fact.region, fact.status, fact.text, fact.from_on, fact.source)
            for facts in known
            for fact in facts
        ),
        remarks=tuple(_remarks(known, as_of, language)),
        as_of=as_of.isoformat(),
        versions=Versions.of(snapshot.version),
    )


def price_choices(snapshot: Snapshot, gpu_id: str, as_of: date) -> Mapping[str, PriceChoice]:
    """The price that counts in each condition that has one."""
    choices = snapshot.price_choices(as_of, PriceRules(), CONDITIONS)
    return {c: choices[gpu_id, c] for c in CONDITIONS if (gpu_id, c) in choices}


def first_price(prices: Mapping[str, PriceChoice]) -> PriceChoice | None:
    """The price that stands for a card: the better evidence, then new, refurbished, used and modified."""
    return min(
        prices.values(),
        key=lambda price: (-LEVELS.index(price.evidence), PREFERRED.index(price.condition)),
        default=None,
    )


PREFERRED = ("new", "refurbished", "used", "modded")


def governing(snapshot: Snapshot, gpu_id: str, region: str, as_of: date) -> Availability | None:
    """The remark that decides for a buyer in a region; what holds everywhere for the trade included."""
    known = availability(snapshot, as_of).get((gpu_id, region), ())
    return known[0] if known else None


def _remarks(known: Sequence[Sequence[Availability]], as_of: date, language: str) -> list[Remark]:
    """Remarks on buying a card, by region, each with whether it decides."""
    found = []
    for facts in known:
        heads = deciding(fact for fact in facts if fact.holds_on(as_of.isoformat()))
        for fact in facts:
            text = (language == "zh" and fact.text_zh) or fact.text
            found.append(
                Remark(
                    fact.region,
                    fact.kind,
                    fact.status,
                    fact.from_on,
                    fact.until_on or None,
                    fact in heads,
                    text,
                    fact.source,
                    fact.source.read_on,
                )
            )
    return found


_NOT_DIMENSIONS = frozenset(
    "id name family parameters active_parameters components attributes warnings modules stored notes".split()
)


@answer(omit=("formula", "more"))
class Model:
    """A preset with those of its dimensions that are known."""

    id: str
    """Id of the preset."""
    name: str
    """Its name."""
    family: str
    """decoder, encoder, encoder-decoder, vision, diffusion or speech."""
    series: str
    """Series of models, such as Llama 3."""
    hf_repo: str
    """Its id on Hugging Face; empty where it has none."""
    parameters: Amount
    """Parameters that are computed with."""
    active_parameters: Amount | None
    """Parameters that one token passes, of a mixture of experts."""
    parameters_published: Amount | None
    """Parameters as its makers state them; null where they do not."""
    architecture: AnyMap
    """Dimensions by name, as a `model` of a workload takes them: layers, hidden_size, kv_heads …"""
    basis: str
    """How the dimensions are known."""
    source: Source
    """Where they were read."""
    published_source: Source | None
    """Where the published parameters were read."""
    released_on: str
    """Day of the release, ISO 8601; empty where it was not read."""
    checkpoint_gib: Amount | None
    """The published files, GiB; null where their size was not read."""
    as_of: str
    """Day of the source, ISO 8601."""
    note: str
    """What is to be said of it."""
    formula: str
    """How a dimension was worked out; absent where all were read."""
    more: AnyMap | None
    """Further columns of the row by name, which nothing is calculated with; absent where it has none."""


@answer(omit=("formula", "more"))
class ModelDetail(Model):
    """One preset, with the versions."""

    versions: Versions
    """What the answer was made with."""


def find_model(snapshot: Snapshot, name: str) -> ModelPreset:
    """The preset of an address; NotInCatalogue when there is none, AmbiguousName when more than one."""
    try:
        return snapshot.models[snapshot.resolve_model(name, "/model_id")]
    except InputFault as fault:
        raise not_one(name, fault) from fault


def model_of(preset: ModelPreset) -> Model:
    """A preset with those of its dimensions that are known."""
    architecture = preset.architecture
    return Model(
        preset.id,
        preset.name,
        preset.family,
        preset.series,
        preset.hf_repo,
        architecture.parameters,
        architecture.active_parameters,
        preset.parameters_published,
        {
            field.name: getattr(architecture, field.name)
            for field in fields(ModelArchitecture)
            if field.name not in _NOT_DIMENSIONS
            and getattr(architecture, field.name) not in (None, 0, "", (), False)
        },
        preset.basis,
        preset.source,
        preset.published_source,
        preset.released_on,
        preset.checkpoint_gib,
        preset.as_of,
        preset.note,
        preset.formula,
        dict(preset.more) or None,
    )


def model_detail(snapshot: Snapshot, name: str) -> ModelDetail:
    """One preset by id, alias or Hugging Face id."""
    model = model_of(find_model(snapshot, name))
    return ModelDetail(**parts_of(model), versions=Versions.of(snapshot.version))
