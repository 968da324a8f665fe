"""Measurements: browsed by card and model, each with source, software, date and the estimate without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from app.catalog.snapshot import Snapshot
from app.charts.measured import measured_chart
from app.charts.theme import THEMES
from app.core.faults import InputFault
from app.services.measurements import (
    ORDERS,
    USES,
    Measurement,
    Measurements,
    Wanted,
    body,
    matching,
    measurements,
)
from app.texts.marking import N_
from app.texts.say import say_fault
from app.web.answers import open_page
from app.web.listing import address, asked, only, part_of
from app.web.predicted import SAID, Known, beside, points, raw_cells, sentence, table_rows, why_word
from app.web.render import Page
from app.web.tables import csv_response
from app.web.view import Words

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
) -> tuple[Wanted, list[str]]:
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
        Wanted(
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
    rows = ([*_csv_row(body(m)), *raw_cells(m.row.id, listed.estimates)] for m in listed.rows)
    return csv_response("benchmarks", CSV_HEADS, rows)


def _row(measurement: Measurement, listed: Listed) -> dict[str, Any]:
    """A row with the words that the page shows."""
    item, words = body(measurement), listed.words
    _, f = words.gettext, words.formats
    found = listed.estimates.rows.get(item["id"])
    sizes = []
    if item["batch_per_gpu"]:
        sizes.append(_("batch %(size)s") % {"size": f.plain_number(item["batch_per_gpu"])})
    if item["image_size"]:
        sizes.append(_("image %(size)s") % {"size": f.plain_number(item["image_size"])})
    if item["input_length"] or item["output_length"]:
        lengths = [f.plain_number(item[k]) if item[k] else "—" for k in ("input_length", "output_length")]
        sizes.append(_("%(prompt)s in, %(answer)s out") % {"prompt": lengths[0], "answer": lengths[1]})
    elif item["sequence_length"]:
        sizes.append(_("length %(size)s") % {"size": f.plain_number(item["sequence_length"])})
    phase = item["phase"]
    said = _(PHASE[phase]) if phase in PHASE else f.label(phase, "phase") if phase else ""
    count = item["gpu_count"]
    return {
        **item,
        "sizes": " · ".join(sizes),
        "phase_words": said,
        "per_card": item["value"] / count if count > 1 else None,
        "software": f"{item['framework']} {item['framework_version']}".strip(),
        "why": flag_parts(item["flag"]),
        "beside": beside(found, words) if found else None,
        "unpredicted": ""
        if found or listed.estimates.waiting
        else why_word(measurement, listed.snapshot, words),
    }


def flag_parts(flag: str) -> list[str]:
    """The reasons in a flag, each once; a check may have written several behind one another."""
    parts = [part.strip() for part in flag.split(" | ")]
    return list(dict.fromkeys(part for part in parts if part))


def _csv_row(item: Mapping[str, Any]) -> list[Any]:
    source = item["source"]
    return [
        item["id"],
        item["gpu"]["id"],
        item["gpu_count"],
        item["model"]["id"] or item["model"]["as_written"],
        *(item[name] for name in CSV_HEADS[4:18]),
        source["url"] or source["title"] if source else "",
        item["note"],
        item["flag"],
    ]
