"""The measured accuracy on the method page: figures of the report, drawn and listed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import pytest
from fastapi.testclient import TestClient

from app.charts.accuracy import STRIP, accuracy_chart
from app.core.estimates import Interval
from app.main import create_app
from app.services.accuracy import memory_report
from app.settings import Settings


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Any:
    """A client that only reads."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{seeded_database}"))) as client:
        yield client


def row(measured: float, error: float, task: str = "inference", cards: int = 1) -> Any:
    expected = measured * (1 + error)
    return SimpleNamespace(
        case="a",
        unit="GiB",
        measured=measured,
        predicted=Interval(expected, expected, expected),
        error=error,
        task=task,
        gpu_count=cards,
    )


def test_errors_beyond_the_strip_stand_at_its_edge_as_triangles() -> None:
    rows = [row(4, 0.05), row(8, 0.9), row(16, -0.5, "lora"), row(32, 0.0, cards=2)]
    figure = go.Figure(accuracy_chart(rows, "light", str))
    strip = [trace for trace in figure.data if trace.yaxis == "y2"]
    assert sorted(y for trace in strip for y in trace.y) == [-100 * STRIP, 0, 5, 100 * STRIP]
    assert [list(trace.marker.symbol) for trace in strip] == [
        ["circle", "triangle-up"],
        ["circle"],
        ["triangle-down"],
    ]
    upper = [trace for trace in figure.data if trace.yaxis is None]
    assert [list(trace.x) for trace in upper] == [[4, 8], [32], [16]]


def test_the_method_page_loads_the_accuracy_by_itself_and_by_a_link(site: TestClient) -> None:
    page = site.get("/method").text
    assert 'hx-get="/method/accuracy"' in page and 'href="/method/accuracy"' in page
    part = site.get("/method/accuracy", headers={"hx-request": "true", "accept-language": "en"}).text
    assert "<html" not in part and 'data-figure="/charts/accuracy"' in part
    whole = site.get("/method/accuracy", headers={"accept-language": "zh"}).text
    assert "<h1>估得有多准</h1>" in whole


def test_the_table_prints_the_figures_of_the_report(site: TestClient) -> None:
    snapshot = site.app.state.store.snapshot()  # type: ignore[attr-defined]
    report = memory_report(snapshot, "report", True)
    page = site.get("/method/accuracy", headers={"accept-language": "en"}).text.replace("\u00a0", " ")
    for group in report.groups:
        if group.errors:
            assert f"{100 * group.errors.median:.1f}%" in page or (
                f"{100 * group.errors.median:.1f} %" in page
            ), group.group
    data = site.get("/charts/accuracy").json()
    drawn = sum(len(t["x"]) for t in data["data"] if "yaxis" not in t)
    assert drawn == sum(1 for r in report.rows or () if r.unit == "GiB" and not r.faulty)
    for peer in report.peers.tools:
        assert peer.tool in page
