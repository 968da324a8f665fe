"""Charts: valid Plotly, the figures of the answer, the tokens of the stylesheet."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import pytest

from app.charts.cost_speed import PLOT_WIDTHS_PX, pareto_chart
from app.charts.memory_groups import memory_groups
from app.charts.placement import Place, Point, cross, crosses_box, overlap, place_labels, text_width
from app.charts.prices import history_chart
from app.charts.shortlist import memory_chart, value_chart
from app.charts.theme import even_ticks, money_label, roles, span_ticks, template
from tests.conftest import ROOT
from tests.web.sample_payload import sample_answer, sample_body


def text(message: str) -> str:
    return message


def valid(figure: dict[str, Any]) -> go.Figure:
    """Plotly itself refuses unknown or ill-typed properties."""
    return go.Figure(figure)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_the_value_chart_shows_what_the_answer_says(theme: str) -> None:
    options = sample_answer().options
    bar = valid(value_chart(options, theme, text)).data[0]
    assert list(bar.x)[:2] == pytest.approx([8.4200, 8.1909], abs=1e-3), "RTX 4090 and 4090 D lead at BF16"
    assert bar.y[-1] == "RTX 5090 D V2 (used)" and bar.text[-1] == "no trusted peak, not drawn"
    first = list(bar.y).index("L20")
    assert bar.marker.color[first] == roles(theme)["recommended"]


def test_memory_parts_sum_to_the_need_and_the_wall_is_usable_memory() -> None:
    options = sample_answer().options
    figure = valid(memory_chart(options, "light", text, trains=False))
    bars = [t for t in figure.data if t.type == "bar" and t.base is not None]
    ends = [sum(values) for values in zip(*(bar.x for bar in bars), strict=True)]
    assert ends == pytest.approx([o.memory.per_gpu_gib.expected for o in options])
    assert list(figure.data[-1].x) == [o.fit.usable_gib for o in options]


def test_the_front_is_drawn_through_the_options_it_names() -> None:
    body = sample_body()
    body["options"][3]["speed"] |= {"expected": None, "low": None, "high": None}
    options = sample_answer(body).options
    figure = valid(pareto_chart(options, [1, 2, 3, 5], "dark", "zh", text, unit="token/s"))
    costs = [o.cost.total_cny for o in options if o.rank in (1, 2, 3, 5)]
    assert list(figure.data[0].x) == sorted(costs)
    assert figure.layout.xaxis.ticktext[1].endswith("万")


def test_only_the_front_and_the_first_are_labelled() -> None:
    options = sample_answer().options
    figure = valid(pareto_chart(options, [1, 2], "light", "zh", text, unit="token/s"))
    named = {note.text for note in figure.layout.annotations if note.visible is not False}
    first, second = options[0].label, options[1].label
    assert len(named) == 2 and first in named and any(second in name for name in named)
    assert {note.name for note in figure.layout.annotations} == {"first", "front", "phone"}


CROWDED = [Point(0.5 + 0.004 * i, 0.4 + 0.01 * (i % 4), 0.6, 0.2) for i in range(9)]


def test_labels_cover_no_point_no_whisker_and_no_label() -> None:
    texts = [f"{i} × RTX 4070 Super（二手）" if i % 2 else "" for i in range(9)]
    places = place_labels(CROWDED, texts, PLOT_WIDTHS_PX, 284.0)
    assert [place is None for place in places] == [not t for t in texts], "each of the four finds a place"
    for width in PLOT_WIDTHS_PX:
        boxes = [
            place.box(p.x * width, p.y * 284.0, text_width(t))
            for p, t, place in zip(CROWDED, texts, places, strict=True)
            if isinstance(place, Place)
        ]
        assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
        assert all(a[0] >= 0 and a[1] >= 0 and a[2] <= width and a[3] <= 284.0 for a in boxes)
        points = [(p.x * width - 7, p.y * 284 - 7, p.x * width + 7, p.y * 284 + 7) for p in CROWDED]
        assert not any(overlap(box, point) for box in boxes for point in points)


def test_labels_keep_off_the_stair_and_leaders_apart() -> None:
    stair = [(0.5, 0.4, 0.9, 0.4)]
    place = place_labels([Point(0.5, 0.4, 0.5, 0.3)], ["1 × L20"], PLOT_WIDTHS_PX, 284.0, stair)[0]
    assert place is not None and place.anchor == "right", "the line leaves to the right"
    assert cross((0, 0, 10, 10), (0, 10, 10, 0)) and not cross((0, 0, 10, 10), (20, 10, 30, 0))
    assert crosses_box((0, 0, 10, 10), (4, 4, 6, 6)) and not crosses_box((0, 0, 10, 10), (8, 0, 9, 2))


def test_a_label_without_room_is_left_to_the_table() -> None:
    wide = ["1 × " + "H20 " * 60]
    assert place_labels([Point(0.5, 0.5, 0.6, 0.4)], wide, PLOT_WIDTHS_PX, 284.0) == [None]


def test_the_axis_of_a_span_leaves_out_what_is_empty() -> None:
    assert span_ticks(24_730, 31_620, 6)[0] == 24_000, "not from 0: a third of the drawing would be empty"
    assert span_ticks(5_000, 31_620, 6)[0] == 0.0
    assert span_ticks(7.0, 7.0)[0] < 7.0 < span_ticks(7.0, 7.0)[-1]
    assert span_ticks(0.0, 0.0) == [0.0, 1.0]


def test_a_price_history_keeps_channels_apart() -> None:
    def price(day: str, amount: float, currency: str, channel: str) -> Any:
        return SimpleNamespace(
            amount_cny=amount,
            observed_on=day,
            per="card",
            currency=currency,
            condition="new",
            channel=channel,
            unused_code=None,
        )

    rows = [
        price("2025-01", 15000, "USD", "A"),
        price("2025-02", 16000, "USD", "A"),
        price("2025-01", 11000, "USD", "B"),
        price("2025", 12000, "CNY", "C"),
    ]
    figure = valid(history_chart(rows, None, "light", "en", text))
    assert [list(t.y) for t in figure.data] == [[15000, 16000], [11000], [12000]]
    assert list(figure.data[0].x) == ["2025-01-15", "2025-02-15"]


def test_groups_of_training_and_inference_hold_every_part() -> None:
    memory = sample_answer().options[0].memory
    for trains in (False, True):
        groups = memory_groups(memory, trains, text)
        assert sum(g.gib for g in groups) == pytest.approx(memory.per_gpu_gib.expected)
        assert [g.css for g in groups] == sorted(g.css for g in groups)


@pytest.mark.parametrize(("largest", "last"), [(8.42, 10), (0.9, 1), (119.7, 125), (69271, 80000), (0, 1)])
def test_ticks_are_round_and_hold_the_largest(largest: float, last: float) -> None:
    ticks = even_ticks(largest)
    assert ticks[0] == 0 and ticks[-1] == pytest.approx(last)


def test_money_on_axes() -> None:
    assert [money_label(v, "zh") for v in (0, 50000, 2e8)] == ["0", "5 万", "2 亿"]
    assert [money_label(v, "en") for v in (0, 50000, 2e6)] == ["0", "50k", "2m"]


def tokens(theme: str) -> dict[str, str]:
    """Custom properties of a theme in app.css."""
    css = (ROOT / "static" / "app.css").read_text(encoding="utf-8")
    start = {"light": r":root \{", "dark": r':root\[data-theme="dark"\] \{'}[theme]
    block = re.search(start + r"(.*?)\n\}", css, re.DOTALL)
    assert block
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", block[1]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_repeats_the_tokens_of_the_stylesheet(theme: str) -> None:
    css, layout, role = tokens(theme), template(theme)["layout"], roles(theme)
    assert layout["font"]["color"] == css["ink-2"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == css["paper"]
    assert layout["colorway"] == [css[f"s{i}"] for i in range(1, 6)]
    assert layout["xaxis"]["gridcolor"] == css["grid"] and layout["xaxis"]["linecolor"] == css["line-2"]
    assert layout["xaxis"]["tickfont"]["color"] == css["ink-3"]
    assert layout["hoverlabel"]["font"]["color"] == css["ink"]
    assert list(role["memory_parts"].values()) == [css[f"s{i}"] for i in range(1, 6)]
    assert role["recommended"] == css["accent"] and role["other"] == css["mute"]
    assert (role["trough"], role["wall"]) == (css["trough"], css["wall"])
    assert (role["fits"], role["tight"], role["does_not_fit"]) == (
        css["fits-fill"],
        css["tight-fill"],
        css["nofit-fill"],
    )
