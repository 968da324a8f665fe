"""Places for the labels of a scatter chart: none covers a point, a line, another label or the edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MARKER_PX = 7.0
"""Half the width that a point keeps free around its middle."""
LINE_PX = 2.0
"""Half the width that a whisker or a drawn line keeps free."""
LETTER_PX = 6.7
WIDE_LETTER_PX = 12.4
"""Widths of a Latin letter and of a Chinese character in 12 px text."""
TEXT_PX = 16.0
"""Height of a line of text."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in px."""
Segment = tuple[float, float, float, float]
"""From x, y to x, y: shares of the drawing, or px."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the drawing as shares of its width and height, from the left and from the top."""

    x: float
    y: float
    low_y: float
    high_y: float
    """Ends of the whisker; the lower value stands lower on the page and so is the larger share."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a label stands, in px from its point; a far one has a leader back to it."""

    dx: float
    dy: float
    anchor: str
    """left or right: the side of the text that stands at (dx, dy)."""
    leader: bool

    def box(self, x: float, y: float, width: float) -> Box:
        """The room that a text takes when its point is at (x, y) px."""
        start = x + self.dx - (width if self.anchor == "right" else 0.0)
        top = y + self.dy - TEXT_PX / 2
        return start, top, start + width, top + TEXT_PX


def _candidates() -> tuple[Place, ...]:
    near = [
        Place(9, 0, "left", False),
        Place(-9, 0, "right", False),
        Place(8, -13, "left", False),
        Place(8, 13, "left", False),
        Place(-8, -13, "right", False),
        Place(-8, 13, "right", False),
    ]
    far = [
        Place(side * dx, rise * dy, "left" if side > 0 else "right", True)
        for dx, dy in sorted(
            ((dx, dy) for dx in (14, 36, 70) for dy in (26, 44, 64, 88, 116)), key=lambda at: at[0] + at[1]
        )
        for rise in (-1, 1)
        for side in (1, -1)
    ]
    return (*near, *far)


CANDIDATES = _candidates()
"""Places in the order of preference: beside the point, then further off with a leader."""


@dataclass(slots=True)
class Canvas:
    """What is taken already on a plot area of one width."""

    width: float
    height: float
    boxes: list[Box] = field(default_factory=list)
    leaders: list[Segment] = field(default_factory=list)

    def at(self, point: Point) -> tuple[float, float]:
        """A point in px."""
        return point.x * self.width, point.y * self.height

    def is_free(self, point: Point, place: Place, length: float) -> bool:
        """Whether a label of this length may stand there."""
        x, y = self.at(point)
        box = place.box(x, y, length)
        if box[0] < 0 or box[1] < 0 or box[2] > self.width or box[3] > self.height:
            return False
        if any(overlap(box, other) for other in self.boxes):
            return False
        if any(crosses_box(leader, box) for leader in self.leaders):
            return False
        own = (x, y, x + place.dx, y + place.dy)
        return not place.leader or not any(cross(own, other) for other in self.leaders)

    def take(self, point: Point, place: Place, length: float) -> None:
        """Put a label there."""
        x, y = self.at(point)
        self.boxes.append(place.box(x, y, length))
        if place.leader:
            self.leaders.append((x, y, x + place.dx, y + place.dy))


def text_width(text: str) -> float:
    """Width in px of a text at 12 px, from its letters."""
    return sum(WIDE_LETTER_PX if ord(letter) >= 0x2E80 else LETTER_PX for letter in text)


def place_labels(
    points: Sequence[Point],
    texts: Sequence[str],
    widths_px: Sequence[float],
    height_px: float,
    lines: Iterable[Segment] = (),
) -> list[Place | None]:
    """Where each label stands beside its point.

    Parameters
    ----------
    points: all points of the drawing, labelled or not.
    texts: one for each point, the most important first; "" has no label.
    widths_px, height_px: sizes of the plot area that the places must hold for; the widths are those of
        the screens it is drawn on, since shares of a width move while text keeps its size.
    lines: upright or level lines of the drawing, as shares.

    Returns
    -------
    A place for each point; None without a text, and for a text that nowhere stands free (the table names it).

    Notes
    -----
    Greedy in the order given. A label touches no point, whisker, line, leader, other label or edge at any of
    the widths; a leader crosses no other leader.
    """
    drawn = tuple(lines)
    canvases = [_canvas(points, drawn, width, height_px) for width in widths_px]
    chosen: list[Place | None] = []
    for point, text in zip(points, texts, strict=True):
        length = text_width(text)
        place = _first_free(point, length, canvases) if text else None
        if place is not None:
            for canvas in canvases:
                canvas.take(point, place, length)
        chosen.append(place)
    return chosen


def _canvas(points: Sequence[Point], lines: Sequence[Segment], width: float, height: float) -> Canvas:
    canvas = Canvas(width, height)
    for point in points:
        x, y = canvas.at(point)
        canvas.boxes.append((x - MARKER_PX, y - MARKER_PX, x + MARKER_PX, y + MARKER_PX))
        canvas.boxes.append((x - LINE_PX, point.high_y * height, x + LINE_PX, point.low_y * height))
    for x1, y1, x2, y2 in lines:
        left, right = sorted((x1 * width, x2 * width))
        top, bottom = sorted((y1 * height, y2 * height))
        canvas.boxes.append((left - LINE_PX, top - LINE_PX, right + LINE_PX, bottom + LINE_PX))
    return canvas


def _first_free(point: Point, length: float, canvases: Sequence[Canvas]) -> Place | None:
    for place in CANDIDATES:
        if all(canvas.is_free(point, place, length) for canvas in canvases):
            return place
    return None


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share more than an edge."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cross(a: Segment, b: Segment) -> bool:
    """Whether two segments cross."""

    def side(s: Segment, x: float, y: float) -> bool:
        return (s[2] - s[0]) * (y - s[1]) - (s[3] - s[1]) * (x - s[0]) > 0

    apart = side(a, b[0], b[1]) != side(a, b[2], b[3])
    return apart and side(b, a[0], a[1]) != side(b, a[2], a[3])


def crosses_box(segment: Segment, box: Box) -> bool:
    """Whether a segment runs through a box: over one of its diagonals."""
    left, top, right, bottom = box
    return cross(segment, (left, top, right, bottom)) or cross(segment, (left, bottom, right, top))


def annotation(place: Place, x: float, y: float, text: str, colour: str, **more: Any) -> dict[str, Any]:
    """A place as Plotly's annotation at a point of the axes; dy runs downwards there too."""
    note: dict[str, Any] = {
        "x": x,
        "y": y,
        "text": text,
        "xanchor": place.anchor,
        "yanchor": "middle",
        **more,
    }
    if place.leader:
        line = {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": colour, "standoff": 5}
        return note | line | {"ax": place.dx, "ay": place.dy}
    return note | {"xshift": place.dx, "yshift": -place.dy}
