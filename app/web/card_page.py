"""The page of one card: figures with their sources, how it is built, price history, rents, measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from app.catalog.snapshot import Snapshot
from app.charts.prices import Event, Frame, history_chart
from app.charts.theme import THEMES
from app.core.decide.engine_support import ORDER, CardSupport, rows_by_card, support_of
from app.core.engines import all_engines
from app.core.gpu import Figure, Gpu, Source
from app.services.cards import CardDetail, NotInCatalogue, card_detail, first_price
from app.services.lists import rows_of_card
from app.services.measurements import MeasurementRow
from app.services.prices import PriceRow
from app.texts.marking import N_
from app.texts.notes import say_note
from app.texts.words import label
from app.web.answer_tables import Words, price_words
from app.web.answers import open_page, today
from app.web.cards import figure_value, listed_cards, per_1000
from app.web.explain import Explanation, Fact, explain_price
from app.web.links import GpuLinks
from app.web.listing import only
from app.web.own_cards import own_cards
from app.web.wording import AGAINST_BUYING, AVAILABILITY_SHORT, availability_sentence

router = APIRouter()

Gettext = Callable[[str], str]
SCALES = ("linear", "log")
FRESH_DAYS = 180
FIRST_MEASUREMENTS = 8
VALUE_FIGURE = "bf16_tflops"
MAIN_FIGURES = frozenset({VALUE_FIGURE, "usable_gib"})
TURNING_POINTS = frozenset(
    {"licence_required", "not_permitted", "restricted", "licensed", "conditional", "discontinued", "on_sale"}
)
"""Remarks on availability that are drawn into the price history."""
# Figures that answer the reader's first questions come first, whatever the alphabet says.
FIRST_FIGURES = (
    "bf16_tflops",
    "fp16_tflops",
    "fp16_fp16acc_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "int8_tops",
    "fp32_tflops",
    "bandwidth_gb_s",
    "memory_gib",
    "usable_gib",
    "tdp_w",
)
LATER_FIGURES = (
    "fp8_fp16acc_tflops",
    "int4_tops",
    "tf32_tflops",
    "fp16_vector_tflops",
    "fp64_tflops",
    "driver_total_gib",
)
NOT_A_CARD: Mapping[str, str] = {
    "SXM module": N_("A module: it needs its own baseboard and is sold with a server, not as a card."),
    "OAM module": N_("A module: it needs its own baseboard and is sold with a server, not as a card."),
    "superchip module": N_("Soldered together with its processor: sold as a whole machine only."),
    "socket": N_("Sits in a processor socket: sold as a whole machine only."),
    "integrated": N_("Part of a small computer: not sold by itself."),
    "laptop": N_("Part of a laptop: not sold by itself."),
    "cloud only": N_("For rent only."),
}
"""What to know before asking for a quote."""
COOLING: Mapping[str, str] = {
    "passive": N_("passive: the server must blow through it"),
    "blower": N_("blower: out of the back, cards may stand side by side"),
    "open fans": N_("open fans: needs space between cards"),
    "liquid": N_("liquid"),
    "active": N_("fan of its own"),
}
FACT: Mapping[str, str] = {
    "form_factor": N_("Form factor"),
    "slot_width": N_("Slots wide"),
    "socket": N_("Socket"),
    "cooling": N_("Cooling"),
    "power_connector": N_("Power connector"),
    "launch_date": N_("On sale since"),
    "driver_min_linux": N_("First driver, Linux"),
    "driver_min_windows": N_("First driver, Windows"),
}


@dataclass(frozen=True, slots=True)
class Note:
    """What stands beside a figure: words, and a link where the note is only an address."""

    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact, said, with where it was read."""

    title: str
    text: str
    basis: str
    source: Source | None
    as_of: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AvailabilityRow:
    """Where a card may be sold: our sentence, since when, and the source with what it says."""

    title: str
    since: str
    until: str | None
    url: str
    source: str
    read_on: str
    said: str
    decides: bool
    kind: str


@dataclass(frozen=True, slots=True)
class ShownMeasurement:
    """A measurement with the title of its model, and whether that is a preset."""

    row: MeasurementRow
    title: str
    known: bool


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measurements of a card: first a row of each known model, then the others, apart those not used."""

    first: list[ShownMeasurement]
    more: list[ShownMeasurement]
    unused: list[ShownMeasurement]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.first) + len(self.more) + len(self.unused)


def card_of_page(request: Request, name: str) -> CardDetail:
    """The card of an address; a 404 in the reader's language where there is none."""
    page, snapshot, _words = open_page(request)
    try:
        return card_detail(snapshot, name[:200], today(), page.language)
    except NotInCatalogue:
        raise HTTPException(404, page._("There is no card of this name in the catalogue.")) from None


@router.get("/gpus/{name}")
def gpu_page(request: Request, name: str) -> Response:
    """One card: figures with their sources, price history, rentals, benchmarks."""
    page, snapshot, words = open_page(request)
    card = card_of_page(request, name)
    rows = rows_of_card(snapshot, card.id, today())
    first, rest = figure_names(card)
    price = first_price(card.prices)
    peers = sorted(
        (v for v in (per_1000(c, VALUE_FIGURE) for c in listed_cards(snapshot, today())) if v), reverse=True
    )
    value = per_1000(card, VALUE_FIGURE)
    scale = only(request.query_params.get("scale", ""), SCALES) or SCALES[0]
    return page.render(
        "gpu.html",
        "/gpus",
        card=card,
        figures=first,
        more_figures=rest,
        notes=lambda figure: figure_notes(figure, page.language),
        say_note=lambda text: say_note(text, page.language),
        main_figures=MAIN_FIGURES,
        price=price,
        price_text=price_words(price, words) if price else "",
        value=value,
        value_rank=peers.index(value) + 1 if value in peers else 0,
        value_peers=len(peers),
        prices=rows.prices,
        in_force={i for choice in card.prices.values() for i in choice.observation_ids},
        rentals=rows.rentals,
        measured=measurements(rows.measurements, snapshot),
        own=own_cards(snapshot, card.id, words),
        availability=availability_rows(card, words),
        software=software_rows(snapshot, card.id),
        card_facts=list(fact_rows(card, snapshot.gpu(card.id), page._)),
        card_warning=page._(NOT_A_CARD[card.form_factor]) if card.form_factor in NOT_A_CARD else "",
        form_factor=form_factor(card.form_factor, page._),
        scale=scale,
        history_url="/charts/prices?"
        + urlencode({"gpu": card.id} | ({"scale": scale} if scale == "log" else {})),
        at=GpuLinks(card.id),
        misreadings=misreadings(card, words),
    )


@dataclass(frozen=True, slots=True)
class Software:
    """How well an engine is known to run on the card in 16 bit."""

    engine: str
    title: str
    support: CardSupport


def software_rows(snapshot: Snapshot, gpu_id: str) -> list[Software]:
    """Engines by how well they are known to run on a card, those of which nobody says anything last."""
    gpu = snapshot.gpu(gpu_id)
    rows = rows_by_card([gpu], snapshot.engine_support)[gpu_id]
    found = [
        Software(one.name, one.title, support_of(gpu, one.name, "fp16", rows, snapshot.framework_support))
        for one in all_engines()
    ]
    return sorted(found, key=lambda row: ORDER.index(row.support.status))


@router.get("/charts/prices")
def price_chart(request: Request) -> Response:
    """Data and layout of the price history of a card."""
    page, snapshot, words = open_page(request)
    card = card_of_page(request, request.query_params.get("gpu", ""))
    theme = only(request.query_params.get("theme", ""), THEMES) or THEMES[0]
    rows = rows_of_card(snapshot, card.id, today()).prices
    frame = history_frame(card, rows, today(), request.query_params.get("scale", ""), snapshot, words)
    figure = history_chart(rows, first_price(card.prices), theme, page.language, page._, frame)
    return JSONResponse(figure)


def figure_names(card: CardDetail) -> tuple[list[str], list[str]]:
    """Names of the figures shown at once, and of those behind a fold."""
    first = [name for name in FIRST_FIGURES if name in card.figures]
    order = {name: place for place, name in enumerate(LATER_FIGURES)}
    rest = sorted(card.figures.keys() - set(first), key=lambda name: (order.get(name, 99), name))
    return first, rest


def figure_notes(figure: Figure, language: str = "en") -> list[Note]:
    """Formula and note of a figure; an address among them becomes a link named by its host."""
    notes = []
    for text in filter(None, (figure.formula, *figure.note.split("; "))):
        host = urlsplit(text).netloc if text.startswith(("https://", "http://")) else ""
        notes.append(Note(host.removeprefix("www."), text) if host else Note(say_note(text, language)[0]))
    return notes


def measurements(rows: Sequence[MeasurementRow], snapshot: Snapshot) -> Measurements:
    """Order measurements so that usable ones of models with a preset lead, one of each before a second."""
    usable: list[ShownMeasurement] = []
    unused: list[ShownMeasurement] = []
    for row in rows:
        preset = snapshot.models.get(row.model.id or "")
        title = (preset.name or preset.id) if preset else row.model.name
        (unused if row.flag else usable).append(ShownMeasurement(row, title, preset is not None))
    usable.sort(key=lambda m: (m.row.gpu_count != 1, _newest_first(m.row.observed_on), m.title, m.row.id))
    seen: Counter[str] = Counter()
    places: list[tuple[bool, int, int]] = []
    for shown in usable:
        places.append((not shown.known, seen[shown.title], len(places)))
        seen[shown.title] += 1
    ordered = [usable[place] for _, _, place in sorted(places)]
    return Measurements(ordered[:FIRST_MEASUREMENTS], ordered[FIRST_MEASUREMENTS:], unused)


def _newest_first(observed_on: str) -> tuple[int, ...]:
    return tuple(-int(part) for part in (observed_on or "0").split("-") if part.isdigit())


def form_factor(code: str, gettext: Gettext) -> str:
    """A form factor in the reader's words; one that a team wrote itself stays as it is."""
    return label("form_factor", code, gettext)


def fact_rows(card: CardDetail, gpu: Gpu, gettext: Gettext) -> Iterator[FactRow]:
    """What is known of how a card is built, in a fixed order; nothing for what is unknown.

    Notes
    -----
    Facts without a source of their own were read where the card was: in the source of its row.
    """
    source = gpu.attributes["source"]
    of_row = {
        "form_factor": card.form_factor,
        "power_connector": gpu.attributes.get("power_connector", ""),
        "launch_date": card.launch_date,
    }
    for name, title in FACT.items():
        fact = card.facts.get(name)
        if fact and fact.value:
            notes = tuple(t for t in (fact.formula, fact.note) if t and not t.startswith("https://"))
            said = _said(name, fact.value, gettext)
            yield FactRow(gettext(title), said, fact.basis, fact.source, fact.as_of, notes)
        elif not fact and of_row.get(name):
            yield FactRow(gettext(title), _said(name, of_row[name], gettext), "exact", source, source.read_on)


def _said(name: str, value: str, gettext: Gettext) -> str:
    if name == "form_factor":
        return form_factor(value, gettext)
    if name == "cooling" and value in COOLING:
        return gettext(COOLING[value])
    if name == "power_connector" and value == "none":
        return gettext(N_("none: fed through the slot or socket"))
    return value.removesuffix(".0") if name == "slot_width" else value


def availability_rows(card: CardDetail, words: Words) -> list[AvailabilityRow]:
    """Where a card may be sold; what decides first."""

    def region(code: str) -> str:
        return words.formats.label(code, "region")

    rows = []
    for remark in sorted(card.remarks, key=lambda remark: not remark.decides):
        sentence = availability_sentence(remark.status, remark.region, region, words.gettext)
        rows.append(
            AvailabilityRow(
                sentence or remark.text,
                remark.from_on,
                remark.until,
                remark.source.url,
                remark.source.title or remark.source.id,
                remark.read_on,
                remark.text if sentence else "",
                remark.decides,
                "warn" if remark.status in AGAINST_BUYING else "info",
            )
        )
    return rows


def history_frame(
    card: CardDetail, rows: Sequence[PriceRow], today: date, scale: str, snapshot: Snapshot, words: Words
) -> Frame:
    """Currency, scale, band, launch price and events of a card's price chart."""
    _, money = words.gettext, words.money
    events = []
    if card.launch_date:
        events.append(Event(card.launch_date, _("launch")))
    seen = set()
    for remark in card.remarks:
        # Only what moves a market, once: a chart with every notice in it cannot be read.
        key = (remark.status, remark.from_on[:7])
        if remark.status in TURNING_POINTS and key not in seen:
            seen.add(key)
            events.append(Event(remark.from_on, _(AVAILABILITY_SHORT[remark.status])))
    launched = [row.amount for row in rows if row.channel_kind == "launch" and row.currency == "CNY"]
    launch, unit = figure_value(card, "launch_msrp_cny") or min(launched, default=None), ""
    if launch is None:
        dollars = figure_value(card, "launch_msrp_usd")
        day = _whole_day(card.launch_date) or today
        use = snapshot.rates.to_cny("USD", day) or snapshot.rates.to_cny("USD", today)
        if dollars is not None and use is not None:
            launch, unit = dollars * use.rate, f" (US${dollars:,.0f})"
    return Frame(
        sign="US$" if money.currency == "USD" else "¥",
        cny_per_unit=money.cny_per_unit,
        log=scale == "log",
        fresh_from=(today - timedelta(days=FRESH_DAYS)).isoformat(),
        today=today.isoformat(),
        launch_cny=launch,
        launch_note=unit,
        events=tuple(events),
    )


def _whole_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def misreadings(card: CardDetail, words: Words) -> list[tuple[str, str]]:
    """Figures of a card that are often read as something else."""
    _, f = words.gettext, words.formats
    found = []
    half, full = figure_value(card, "fp16_tflops"), figure_value(card, "fp16_fp16acc_tflops")
    if half and full and full > 1.5 * half:
        found.append(
            (
                _("“%(tflops)s TFLOPS” is not a training rate.") % {"tflops": f.number(full)},
                _("With FP32 accumulate, as training needs it, this card runs at half: %(tflops)s.")
                % {"tflops": f.plain_number(half)},
            )
        )
    int8 = figure_value(card, "int8_tops")
    if int8 and card.vendor == "NVIDIA" and (figure_value(card, "bf16_tflops") or 0) > 60:
        found.append(
            (
                _("“%(tops)s AI TOPS” assumes 2:4 sparsity.") % {"tops": f.number(2 * int8)},
                _("Dense INT8 is %(tops)s.") % {"tops": f.plain_number(int8)},
            )
        )
    nominal, usable = figure_value(card, "memory_gib"), figure_value(card, "usable_gib")
    if nominal and usable and usable < nominal:
        found.append(
            (
                _("“%(gib)s GB” is not what a process gets.") % {"gib": f.plain_number(nominal)},
                _("A process sees %(gib)s GiB before it starts; estimates use this figure.")
                % {"gib": f.gib(usable)},
            )
        )
    return found


def explain_card(card: CardDetail, path: str, words: Words) -> Explanation | None:
    """A figure or a price of a card's own page."""
    _, f = words.gettext, words.formats
    parts = path.split(".")
    if parts[0] == "prices" and len(parts) >= 2 and parts[1] in card.prices:
        return explain_price(card.prices[parts[1]], card.name, words, *parts[2:3])
    if parts[0] == "per_1000" and len(parts) == 2:
        return _per_1000(card, parts[1], words)
    if parts[0] != "figures" or len(parts) < 2:
        return None
    figure = card.figures.get(parts[1])
    if figure is None:
        return None
    source = figure.source
    facts = [Fact(_("Source"), source.title or source.id, source.url), Fact(_("Date"), figure.as_of or "—")]
    if figure.note:
        facts.append(Fact(_("Note"), figure.note))
    for other in card.disagreeing:
        if other.figure == parts[1]:
            unit = "" if other.unit == "1" else other.unit
            shown = f"{f.figure(other.value)} {unit}".rstrip()
            text = " · ".join((shown, other.source.title))
            facts.append(Fact(_("Another source says"), text, other.source.url))
    return Explanation(
        f.label(parts[1], "figure"),
        f.figure(figure.value),
        figure.unit,
        basis=figure.basis,
        formula=figure.formula,
        facts=tuple(facts),
    )


def _per_1000(card: CardDetail, name: str, words: Words) -> Explanation | None:
    """A card's figure per 1000 yuan of the price that counts."""
    _, f = words.gettext, words.formats
    figure, price, value = card.figures.get(name), first_price(card.prices), per_1000(card, name)
    if figure is None or price is None or value is None:
        return None
    links = f"/explain?gpu={card.id}&figure="
    return Explanation(
        _("%(figure)s, per 1000 yuan") % {"figure": f.label(name, "figure")},
        f.number(value, 2),
        figure.unit,
        basis="derived",
        formula=f"{f.figure(figure.value)} ÷ {f.number(price.today_cny)} × 1000",
        facts=(
            Fact(f.label(name, "figure"), f.figure(figure.value), f"{links}figures.{name}.value"),
            Fact(
                _("Price today"),
                f"¥{f.number(price.today_cny)} · {f.label(price.condition, 'condition')}",
                f"{links}prices.{price.condition}.amount_cny",
            ),
            Fact(_("Price as observed"), f"¥{f.number(price.amount_cny)} · {price.observed_on}"),
        ),
    )
