"""Measured beside estimated: list and chart, the calculator's chart, the page of an own card."""

from __future__ import annotations

import copy
import csv
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from fastapi.testclient import TestClient

from app.api.checks import EXAMPLE as PRINTED
from app.charts.measured import OTHERS, SERIES, Point, measured_chart
from app.charts.measured_points import measured_of, measured_trace
from app.core.decide.options import Option
from app.main import create_app
from app.services.access import create_key
from app.services.answers import load
from app.services.measurements import predict_now
from app.settings import Settings
from tests.web.sample_payload import sample_body


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    path = seeded_database.with_name("measured.db")
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        yield client


@pytest.fixture(scope="module")
def ready(site: TestClient) -> TestClient:
    """The same, with the estimates there."""
    app: Any = site.app
    predict_now(app.state.store.snapshot())
    return site


def get(site: TestClient, path: str, language: str = "en") -> str:
    answer = site.get(path, headers={"accept-language": language})
    assert answer.status_code == 200, (path, answer.status_code)
    return unescape(answer.text)


def rows_of(site: TestClient, query: str) -> list[dict[str, str]]:
    text = get(site, f"/benchmarks.csv?{query}").lstrip("\ufeff")
    return list(csv.DictReader(text.splitlines()))


QUERY = "gpu=rtx4090&task=inference&precision=fp16"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_row_stands_beside_its_estimate(ready: TestClient, language: str) -> None:
    page = get(ready, f"/benchmarks?{QUERY}", language)
    rows = rows_of(ready, QUERY)
    shown = re.findall(r'<tr id="b-([^"]+)"', page)
    assert shown == [row["id"] for row in rows][: len(shown)]
    first = next(row for row in rows if row["estimated_expected"])
    assert first["hidden"] == "row"
    assert float(first["estimated_low"]) < float(first["estimated_expected"]) < float(first["estimated_high"])
    assert ("this row hidden" if language == "en" else "不看该行") in page
    assert ("inside" if language == "en" else "区间内") in page
    assert 'data-figure="/charts/benchmarks?' in page and "data table" in page.lower() or "数据表" in page


def test_rows_without_an_estimate_say_why(ready: TestClient) -> None:
    page = get(ready, "/benchmarks?said=none&use=used")
    assert "model without a preset" in page
    assert 'class="dot' not in page
    assert all(not row["estimated_expected"] for row in rows_of(ready, "said=none"))


def test_the_estimate_filters_the_list(ready: TestClient) -> None:
    every, inside, outside, none = (
        {row["id"] for row in rows_of(ready, f"model=resnet-50{said}")}
        for said in ("", "&said=inside", "&said=outside", "&said=none")
    )
    assert inside and outside and none
    assert inside | outside | none == every
    assert len(inside) + len(outside) + len(none) == len(every)
    for row in rows_of(ready, "model=resnet-50&said=outside"):
        low, high = float(row["estimated_low"]), float(row["estimated_high"])
        assert not low <= float(row["value"]) <= high


def test_a_source_filters_the_list(ready: TestClient) -> None:
    source = "github.com/xiongjiedai/gpu-benchmarks-on-llm-inference"
    page = get(ready, f"/benchmarks?source={source}")
    assert f'<option value="{source}" selected>' in page
    rows = rows_of(ready, f"source={source}")
    assert len(rows) > 500 and all(source in row["source"].lower() for row in rows)


def test_the_chart_draws_each_row_that_has_an_estimate(ready: TestClient) -> None:
    drawn = ready.get(f"/charts/benchmarks?{QUERY}&theme=dark").json()
    go.Figure(drawn)
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "log"
    known = [row for row in rows_of(ready, QUERY) if row["estimated_expected"]]
    points = [
        (x, y) for t in drawn["data"] if t.get("yaxis") != "y2" for x, y in zip(t["x"], t["y"], strict=True)
    ]
    wanted = sorted((float(r["estimated_expected"]), float(r["value"])) for r in known)
    assert sorted(points) == [pytest.approx(point) for point in wanted]
    # The table under it holds the same rows.
    page = get(ready, f"/benchmarks?{QUERY}")
    table = page[page.index('id="chart-benchmarks"') :].partition("</details>")[0]
    assert table.count("<tr>") - 1 == len(known)


def test_classes_differ_in_colour_and_in_shape() -> None:
    series = (*SERIES, OTHERS)
    assert len({s.symbol for s in series}) == len(series)
    # The two that share a colour differ in shape and in filling.
    assert len({(s.part, s.symbol) for s in series}) == len(series)
    far = Point("x", "token/s", "decode", 300.0, 90.0, 100.0, 110.0)
    drawn = measured_chart([far], "light", lambda text: text)
    strip = next(t for t in drawn["data"] if t.get("yaxis") == "y2")
    # Three times the estimate lies beyond the strip: a triangle at its edge.
    assert (strip["y"], strip["marker"]["symbol"]) == ([1.0], ["triangle-up"])
    go.Figure(measured_chart([], "dark", lambda text: text))


def measured_option(phase: str = "") -> Option:
    body = sample_body()["options"][0]
    rows = [
        {
            "id": f"row-{count}",
            "gpu_id": body["gpu"]["id"],
            "model": "resnet-50",
            "gpu_count": count,
            "unit": "images_per_s",
            "value": 1300.0 * count,
            "own": False,
            "software": "PyTorch 2.1",
            "batch_per_gpu": 64,
            "observed_on": "2024-03-01",
            "title": "a benchmark",
        }
        for count in (1, 2)
    ]
    body["cost"]["total_cny"] = 20_000.0
    body["speed"] |= {"phase": phase, "unit": "images_per_s", "measurements": rows}
    return load(Option, body)


def test_measured_points_of_the_same_figure_are_marked() -> None:
    (trace,) = measured_trace([measured_option()], "light", lambda text: text, "images/s")
    assert (trace["x"], trace["y"]) == ([20_000.0], [1300.0])
    said = trace["customdata"][0][1]
    assert said == "PyTorch 2.1 · batch 64 · 2024-03-01 · a benchmark"
    whole = measured_option("whole_run")
    assert measured_of(whole) == [] and measured_trace([whole], "dark", lambda text: text, "x") == []


def test_the_calculators_chart_and_its_table_show_measured_points(site: TestClient) -> None:
    # What is measured is an old card, whose price of today is an estimate.
    work = "model=resnet-50&task=training&precision=fp16&batch_size=64"
    query = f"{work}&gpus=rtx4090,v100-sxm2-16gb&evidence=any&acquisition=buy"
    drawn = site.get(f"/charts/pareto?{query}").json()
    crosses = [t for t in drawn["data"] if t.get("marker", {}).get("symbol") == "x-thin"]
    answer = site.get(f"/result.json?{query}").json()
    wanted = [
        row["value"]
        for option in answer["options"]
        for row in option["speed"]["measurements"]
        if (row["gpu_count"], row["unit"]) == (option["count"], option["speed"]["unit"])
    ]
    assert wanted, "no option of the question has a measured row"
    assert crosses and crosses[0]["y"] == wanted
    page = get(site, f"/?{query}")
    assert "crosses: measured" in page
    table = page[page.index('id="chart-pareto"') :].partition("</details>")[0]
    assert table.count(", measured: ") == len(wanted)
    assert answer["options"][0]["speed"]["measurements"][0]["software"]


def test_the_page_of_a_card_judges_own_measurements(ready: TestClient) -> None:
    before = get(ready, "/gpus/rtx3090")
    assert "Nothing has been measured on a card of yours" in before
    app: Any = ready.app
    key = {"x-api-key": create_key(app.state.engine, "bench", ("write",)).secret}
    fake = copy.deepcopy(PRINTED)
    fake["device"]["multiprocessors"] = 114
    fake["rates_tflops"] = {"fp16": 90.0}
    fake["under_load"] = {"clocks_throttle_reasons.active": "0x20"}
    answer = ready.post("/api/v1/benchmarks", json=fake, headers=key)
    assert (answer.status_code, answer.json()["card"]["as_sold"]) == (201, False)
    # What another card does says nothing of the kind: kept, and not used.
    assert [note["code"] for note in answer.json()["notes"]] == ["measurement_not_used"]
    assert rows_of(ready, "gpu=rtx4090&use=flagged")
    english = get(ready, "/gpus/rtx4090")
    own = english[english.index('id="own"') :].partition("</section>")[0]
    assert "this is not what it is sold as" in own and "114" in own
    assert own.count("not sound") == 2 and own.count("worth a look") == 1
    assert 'class="need x"' in own and 'class="wall"' in own
    chinese = get(ready, "/gpus/rtx4090", "zh")
    assert "这不是所售的型号" in chinese and "SM 数" in chinese
