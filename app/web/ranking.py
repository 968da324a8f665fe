"""What the ranked table shows: its columns, its rows, how it is sorted; all of it in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.core.decide.options import Option
from app.texts.marking import N_
from app.web.form import FormState, canonical_query
from app.web.links import QuestionLinks

FIRST_ROWS = 10
MORE_ROWS = 50
MOST_ROWS = 200
MAX_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One optional column: `path` of its figure below the option, how it is written, where it is left out."""

    id: str
    title: str
    path: str
    kind: str
    objective: str = ""
    """The objective that sorts by it."""


COLUMNS: tuple[Column, ...] = (
    Column("unit", N_("Unit cost"), "cost.per_unit.amount_cny", "unit"),
    Column("tflops", N_("TFLOPS/k¥"), "metrics.peak_tflops_per_1000_cny", "ratio", "tflops_per_yuan"),
    Column("first", N_("Stays first"), "robustness.share_first", "share"),
    Column("sustained", N_("Sustained/k¥"), "metrics.sustained_tflops_per_1000_cny", "ratio"),
    Column("hour", N_("Per hour"), "cost.per_hour_cny", "hour"),
    Column("purchase", N_("Purchase"), "cost.purchase_cny", "money"),
    Column("energy", N_("Electricity"), "cost.energy_cny", "money"),
    Column("gib", N_("GiB/k¥"), "metrics.gib_per_1000_cny", "ratio"),
    Column("margin", N_("Margin"), "fit.margin_gib", "gib"),
    Column("batch", N_("Largest batch"), "fit.max_batch_size", "count"),
)
DEFAULT = ("unit", "tflops", "first")
_BY_ID = {column.id: column for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class Choice:
    """One link of the column chooser."""

    title: str
    shown: bool
    url: str


@dataclass(frozen=True, slots=True)
class TableView:
    """Columns and number of rows as the address has them."""

    columns: tuple[str, ...] = DEFAULT
    rows: int = FIRST_ROWS

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> TableView:
        """The view of an address; what it does not know is left out."""
        text = parameters.get("cols")
        columns: tuple[str, ...] = DEFAULT
        if text is not None:
            wanted = text[:200].split(",")
            columns = tuple(c.id for c in COLUMNS if c.id in wanted)[:MAX_COLUMNS]
        rows = parameters.get("rows", "")
        known = rows.isascii() and rows.isdigit() and len(rows) < 4
        return cls(columns, min(max(int(rows), FIRST_ROWS), MOST_ROWS) if known else FIRST_ROWS)

    def pairs(self) -> dict[str, str]:
        """The parameters that say it; none for the usual view."""
        said = {}
        if self.columns != DEFAULT:
            said["cols"] = ",".join(self.columns) or "none"
        if self.rows != FIRST_ROWS:
            said["rows"] = str(self.rows)
        return said

    def put(self, query: str) -> str:
        """A question's query string with the view behind it."""
        return "&".join(part for part in (query, urlencode(self.pairs(), safe=",")) if part)

    def shown(self, options: Sequence[Option]) -> list[Column]:
        """The columns that this answer can fill."""
        robust = bool(options) and options[0].robustness is not None
        return [_BY_ID[name] for name in self.columns if robust or name != "first"]

    def choices(self, query: str, gettext: Callable[[str], str]) -> list[Choice]:
        """Links that add or remove one column each."""
        found = []
        for column in COLUMNS:
            on = column.id in self.columns
            names = tuple(c.id for c in COLUMNS if (c.id in self.columns) != (c is column))
            url = QuestionLinks(TableView(names, self.rows).put(query)).page() + "#ranking"
            found.append(Choice(gettext(column.title), on, url))
        return found

    def more_url(self, query: str, feasible: int) -> str:
        """The same table with more rows; empty when all are shown."""
        if self.rows >= min(feasible, MOST_ROWS):
            return ""
        rows = MORE_ROWS if self.rows < MORE_ROWS < feasible else min(feasible, MOST_ROWS)
        return QuestionLinks(TableView(self.columns, rows).put(query)).page() + "#ranking"


def sort_urls(state: FormState, family: str, view: TableView) -> dict[str, str]:
    """The same question under each objective that a column's head stands for."""
    urls = {}
    for objective in ("total_cost", "purchase", "speed", "tflops_per_yuan"):
        values = dict(state.values) | {"objective": (objective,)}
        query = canonical_query(FormState(values, state.given), family=family)
        urls[objective] = QuestionLinks(view.put(query)).page() + "#ranking"
    return urls
