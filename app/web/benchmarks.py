"""Measurements: browsed by card and model, each with source, software, date and the estimate without it."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app.catalog.snapshot import Snapshot
from app.charts.measured import measured_chart
from app.charts.theme import THEMES
from app.core.answer import number
from app.core.faults import InputFault
from app.core.gpu import Benchmark
from app.services.measurements import (
    ORDERS,
    USES,
    Measurement,
    Measurements,
    WantedMeasurements,
    matching,
    measurements,
)
from app.texts.marking import N_
from app.texts.say import say_fault
from app.web.answer_tables import Words
from app.web.answers import open_page
from app.web.listing import address, asked, only, part_of
from app.web.predicted import SAID, Beside, Known, beside, points, raw_cells, sentence, table_rows, why_word
from app.web.render import Page
from app.web.tables import csv_response

router = APIRouter()

PATH = "/benchmarks"
ROWS_PER_PART = 50
FILTERS = ("gpu", "model", "q", "task", "precision", "framework", "source", "use", "said", "cards", "sort")
USE = {"used": N_("used to predict"), "flagged": N_("not used, with the reason"), "own": N_("your own")}
ORDER = {
    "date": N_("newest first"),
    "gpu": N_("by card"),
    "model": N_("by model"),
    "speed": N_("fastest first"),
}
PHASE = {"saturated": N_("saturated"), "server": N_("server load"), "interactive": N_("interactive")}
CSV_HEADS = (
    "id gpu gpu_count model task phase precision batch_per_gpu sequence_length image_size input_length "
    "output_length value unit framework framework_version interconnect observed_on source note flag "
    "estimated_low estimated_expected estimated_high hidden"
).split()


def _wanted(
    values: dict[str, str], known: Measurements, snapshot: Snapshot, language: str
) -> tuple[WantedMeasurements, list[str]]:
    """The filters of the address; what it names and nobody knows is said."""
    faults = []
    for name, resolve in (("gpu", snapshot.resolve_gpu), ("model", snapshot.resolve_model)):
        if values[name]:
            try:
                values[name] = resolve(values[name], f"/{name}")
            except InputFault as fault:
                faults.append(say_fault(fault.errors[0], language))
                values[name] = ""
    values["task"] = only(values["task"], known.tasks)
    values["precision"] = only(values["precision"], known.precisions)
    values["framework"] = only(values["framework"], known.frameworks)
    values["use"] = only(values["use"], USES)
    values["sort"] = only(values["sort"], ORDERS[1:])
    values["source"] = only(values["source"], [name for name, _ in known.sources])
    values["said"] = only(values["said"], tuple(SAID))
    values["cards"] = only(values["cards"], [str(count) for count in known.counts])
    return (
        WantedMeasurements(
            values["gpu"],
            values["model"],
            values["q"],
            values["task"],
            values["precision"],
            values["framework"],
            values["use"],
            int(values["cards"] or 0),
            values["source"],
        ),
        faults,
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows that an address asks for, with the estimates as far as they are."""

    page: Page
    snapshot: Snapshot
    words: Words
    all: Measurements
    values: dict[str, str]
    faults: list[str]
    rows: list[Measurement]
    estimates: Known


def _listed(request: Request) -> Listed:
    page, snapshot, words = open_page(request)
    known = measurements(snapshot)
    values = asked(request, *FILTERS)
    wanted, faults = _wanted(values, known, snapshot, page.language)
    estimates = Known.of(snapshot)
    found = [] if faults else matching(known, wanted, values["sort"] or "date")
    # Before the estimates are there, nothing can be said of them: the list stays whole.
    said = "" if estimates.waiting else values["said"]
    return Listed(page, snapshot, words, known, values, faults, estimates.chosen(found, said), estimates)


@router.get(PATH)
def benchmarks(request: Request) -> Response:
    """One part of the measurements that the address asks for, each beside the estimate made without it."""
    listed = _listed(request)
    page, values, known, words = listed.page, listed.values, listed.all, listed.words
    part = part_of(listed.rows, request.query_params.get("page", ""), ROWS_PER_PART)
    drawn = sum(1 for m in listed.rows if m.row.id in listed.estimates.rows)
    return page.render(
        "benchmarks.html",
        PATH,
        422 if listed.faults else 200,
        part=part,
        rows=[_row(m, listed) for m in part.rows],
        known=known,
        total=len(known.rows),
        asked=values,
        filtered=any(values[name] for name in FILTERS if name != "sort"),
        faults=listed.faults,
        uses=USE,
        said=SAID,
        orders=ORDER,
        waiting=listed.estimates.waiting,
        sentence=sentence(listed.rows, listed.estimates, words),
        drawn=drawn,
        table=table_rows(listed.rows, listed.estimates, words),
        chart_url=address("/charts/benchmarks", values),
        page_url=lambda number: address(PATH, values, page="" if number == 1 else number),
        with_url=lambda **changes: address(PATH, values, **changes),
        csv_url=address("/benchmarks.csv", values),
        gpu_label=next((label for i, label, _ in known.gpus if i == values["gpu"]), ""),
        model_name=next((name for i, name, _ in known.models if i == values["model"]), ""),
    )


@router.get("/charts/benchmarks")
def benchmarks_chart(request: Request) -> Response:
    """Data and layout of the chart over the rows that the address asks for."""
    listed = _listed(request)
    theme = only(request.query_params.get("theme", ""), THEMES) or THEMES[0]
    drawn = points(listed.rows, listed.estimates, listed.words)
    figure = measured_chart(drawn, theme, listed.page._)
    return JSONResponse(figure, headers={"cache-control": "no-store"})


@router.get("/benchmarks.csv")
def benchmarks_csv(request: Request) -> Response:
    """All rows that the address asks for, with raw values; estimates once they are there."""
    listed = _listed(request)
    heads = (*CSV_HEADS, *(name for m in listed.rows[:1] for name, _ in m.row.more))
    rows = ([*_csv_row(m.row), *raw_cells(m.row.id, listed.estimates), *_further(m.row)] for m in listed.rows)
    return csv_response("benchmarks", heads, rows)


def _further(row: Benchmark) -> list[object]:
    """Columns of the row that nothing is calculated with."""
    return [value for _, value in row.more]


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A measurement with the words that the page shows."""

    m: Measurement
    sizes: str
    phase: str
    per_card: float | None
    why: list[str]
    """Why it is not used to predict, each reason once."""
    beside: Beside | None
    unpredicted: str


def _row(measurement: Measurement, listed: Listed) -> ShownRow:
    row, words = measurement.row, listed.words
    found = listed.estimates.rows.get(row.id)
    told = found is not None or listed.estimates.waiting
    return ShownRow(
        measurement,
        _sizes(row, words),
        words.gettext(PHASE[row.phase])
        if row.phase in PHASE
        else words.formats.label(row.phase, "phase")
        if row.phase
        else "",
        row.value / row.gpu_count if row.gpu_count > 1 else None,
        flag_parts(row.flag),
        beside(found, words) if found else None,
        "" if told else why_word(measurement, listed.snapshot, words),
    )


def _sizes(row: Benchmark, words: Words) -> str:
    """Batch, image and lengths of a measurement."""
    _, f = words.gettext, words.formats
    sizes = []
    if row.batch_per_gpu:
        sizes.append(_("batch %(size)s") % {"size": f.plain_number(row.batch_per_gpu)})
    if row.image_size:
        sizes.append(_("image %(size)s") % {"size": f.plain_number(row.image_size)})
    if row.input_length or row.output_length:
        prompt, written = (f.plain_number(n or None) for n in (row.input_length, row.output_length))
        sizes.append(_("%(prompt)s in, %(answer)s out") % {"prompt": prompt, "answer": written})
    elif row.sequence_length:
        sizes.append(_("length %(size)s") % {"size": f.plain_number(row.sequence_length)})
    return " · ".join(sizes)


def flag_parts(flag: str) -> list[str]:
    """The reasons in a flag, each once; a check may have written several behind one another."""
    parts = [part.strip() for part in flag.split(" | ")]
    return list(dict.fromkeys(part for part in parts if part))


def _csv_row(row: Benchmark) -> list[object]:
    return [
        row.id,
        row.gpu_id,
        row.gpu_count,
        row.model_id or row.model_name,
        row.task,
        row.phase,
        row.precision,
        *map(number, (row.batch_per_gpu, row.sequence_length, row.image_size)),
        *map(number, (row.input_length, row.output_length)),
        number(row.value),
        row.unit,
        row.framework,
        row.framework_version,
        row.interconnect,
        row.observed_on,
        (row.source.url or row.source.title) if row.source else "",
        row.note,
        row.flag,
    ]
