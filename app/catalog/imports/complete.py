"""From typed cells to rows of the tables: what one kind of file needs beside its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from app.catalog import tables
from app.catalog.columns.cells import ADAPTERS, FIGURE_UNITS
from app.catalog.columns.kinds import DataKind, Row
from app.catalog.columns.subjects import DIMENSIONS, FIGURES
from app.catalog.imports.recipes import recipe_of
from app.catalog.imports.references import References
from app.catalog.imports.rows import Parsed, check_cell
from app.catalog.imports.values import DOLLAR, CellFault, Money, shown
from app.catalog.seed import natural_id
from app.core.estimates import Message
from app.core.formats import USUAL, format_of, is_format
from app.core.resolve import default_engine

OWN_SOURCE = "Own measurements"
"""Source of own rows that name none."""
UNITS = ("images_per_s", "samples_per_s", "tokens_per_s", "realtime_factor", "steps_per_s")
"""Units of the estimates: known whether or not a row of the catalogue has them."""
UNSUPPORTED = "unsupported"
_WEB = ("https://", "http://")
_ADAPTER_NAMES = {"lora": "LoRA", "qlora": "QLoRA"}


def is_public(source: str, url: str, references: References) -> bool:
    """Whether a source can be looked up: an address, or a source of the catalogue that has one."""
    if url or source.startswith(_WEB):
        return True
    return bool(references.sources.get(source, {}).get("url"))


def complete(given: Row, source: str, url: str, references: References) -> tuple[Row, list[Message]]:
    """A measurement as it is stored, with what was taken for granted.

    Parameters
    ----------
    given: typed values of the row. source, url: of the row, else of the whole import.

    Returns
    -------
    The values, `own` and for own rows `framework` among them; one message for each default taken.

    Notes
    -----
    Own unless a source that others can look up is named: what a team's key sends is the team's. A stated
    `own` always counts. The engine is the one that a question without an engine is answered for.
    """
    row, notes = dict(given), []
    if "own" not in row:
        row["own"] = not is_public(source, url, references)
        notes.append(Message("own_by_default" if row["own"] else "published_by_source"))
    adapter = row["task"] if row["task"] in ADAPTERS else ""
    if adapter:
        row["task"] = "finetune"
        name = _ADAPTER_NAMES[adapter]
        # Beside the method in the model's text, which tells rows apart.
        row["method"] = adapter
        if adapter not in row["model_as_written"].lower():
            row["model_as_written"] = f"{row['model_as_written']} ({name})"
        notes.append(Message("measurement_task_stored", {"adapter": name}))
    family = _family(row, references)
    if row["own"] and not row.get("framework") and family:
        precision = row.get("precision", "")
        fmt = format_of(precision if is_format(precision) else USUAL)
        row["framework"] = default_engine(family, row["task"] != "inference", fmt).name
        notes.append(Message("measured_engine_assumed", {"engine": row["framework"]}))
    address = url or str(references.sources.get(source, {}).get("url") or "")
    return row | recipe_of(row, address), notes


def _family(row: Row, references: References) -> str:
    found = references.model_families.get(row.get("model_id", ""), "")
    if not found and row.get("model_parameters") and row["unit"] == "tokens_per_s":
        return "decoder"
    return found


Rows = dict[type[Any], list[Row]]
HOURS: Mapping[str, float] = {"hour": 1.0, "day": 24.0, "month": 730.0, "year": 8760.0}


class Incomplete(ValueError):
    """A row lacks something or contradicts itself: the field and the fault."""

    def __init__(self, name: str, code: str, **params: Any) -> None:
        super().__init__(code)
        self.name = name
        self.code = code
        self.params = params


class Completer:
    """Makes table rows of one kind; the default source is that of the whole import."""

    def __init__(
        self, kind: DataKind, references: References, source: str, source_url: str, today: date
    ) -> None:
        self.kind = kind
        self.references = references
        self.source = source
        self.source_url = source_url
        self.today = today

    def rows(self, parsed: Parsed) -> Rows:
        """Rows by table.

        Errors
        ------
        Incomplete with the field at fault.
        """
        return _MAKERS[self.kind.name](self, parsed)

    def stated_source(self, given: Row) -> tuple[str, str]:
        """Source and address of a row, else of the whole import."""
        found = given.get("source", ""), given.get("source_url", "")
        return found if any(found) else (self.source, self.source_url)

    def take_source(self, given: Row) -> str:
        """Id of the source of a row; taken out of the values."""
        text, url = self.stated_source(given)
        given.pop("source", None)
        given.pop("source_url", None)
        try:
            return self.references.source(text, url, self.kind.source_kind, self.today.isoformat())
        except CellFault as fault:
            raise Incomplete(
                "source" if fault.code == "source_missing" else "source_url", fault.code
            ) from fault


def finish(kind: DataKind, given: Row) -> Row:
    """A whole row of a table: defaults, the checks of its file, its id."""
    row = dict(kind.fixed)
    for name, column in kind.in_file.items():
        row[name] = given.get(name, None if column.nullable else column.default)
    row |= {name: value for name, value in given.items() if name not in row}
    if kind.check:
        for name, code, params in kind.check(row):
            raise Incomplete(name, code, **params)
    if kind.key:
        row["id"] = natural_id(kind, row)
    return row


def take_money(given: Row, name: str, default: str = "") -> float:
    """The amount of a cell; its currency and that of the row must agree, and one must be there."""
    money: Money = given.pop(name)
    stated = given.get("currency", "")
    found = money.currency
    if found == DOLLAR:
        if stated and stated not in ("USD", "TWD", "HKD", "SGD", "CAD", "AUD"):
            raise Incomplete(name, "currency_conflict", currency=stated)
        if not stated:
            raise Incomplete(name, "ambiguous_currency")
        found = stated
    # ¥ is written for yen too.
    if found and stated and found != stated and not (found == "CNY" and stated == "JPY"):
        raise Incomplete(name, "currency_conflict", currency=stated)
    given["currency"] = stated or found or default
    if not given["currency"]:
        raise Incomplete("currency", "currency_missing")
    return money.amount


def _as_written(parsed: Parsed, name: str, gpu_id: str) -> str:
    cell = parsed.record.cells.get(name)
    text = str(cell[1]).strip()[:200] if cell else ""
    return "" if text == gpu_id else text


def _price(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    given["amount"] = take_money(given, "amount")
    given["source_id"] = maker.take_source(given)
    given.setdefault("name_as_written", _as_written(parsed, "gpu_id", given["gpu_id"]))
    channel = given.get("channel", "").casefold()
    given.setdefault("channel_kind", maker.references.channel_kinds.get(channel, "asking"))
    return {tables.PriceRow: [finish(maker.kind, given)]}


def _rental(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    count = given.setdefault("gpu_count", 1)
    stated = [name for name in ("per_hour", "per_gpu_hour", "amount") if name in given]
    if not stated:
        raise Incomplete("per_hour", "required")
    found = {name: take_money(given, name) for name in stated}
    if "amount" in found:
        period = given.pop("period", "")
        if not period:
            raise Incomplete("period", "required")
        found.setdefault("per_hour", found.pop("amount") / HOURS[period])
    given.pop("period", None)
    given["per_hour"] = found.get("per_hour", found.get("per_gpu_hour", 0.0) * count)
    given["per_gpu_hour"] = found.get("per_gpu_hour", given["per_hour"] / count)
    given["source_id"] = maker.take_source(given)
    given.setdefault("name_as_written", _as_written(parsed, "gpu_id", given["gpu_id"]))
    return {tables.RentalRow: [finish(maker.kind, given)]}


def _rate(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    if given["base"] == given["quote"]:
        raise Incomplete("quote", "same_currency")
    given["source_id"] = maker.take_source(given)
    return {tables.ExchangeRateRow: [finish(maker.kind, given)]}


def _engine_support(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    given.setdefault("formats", "any")
    given.setdefault("hardware_as_written", given["hardware"])
    # Only what is stated outright keeps a card from the list.
    given["refuses"] = bool(given.get("refuses")) and given["status"] == UNSUPPORTED
    given["source_id"] = maker.take_source(given)
    return {tables.EngineSupportRow: [finish(maker.kind, given)]}


def _figure(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    given.setdefault("unit", FIGURE_UNITS.get(given["figure"], ""))
    given["source_id"] = maker.take_source(given)
    return {tables.GpuFigureRow: [finish(maker.kind, given)]}


def _gpu(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    as_of, basis = given.pop("as_of"), given.pop("basis", "exact")
    formula, note = given.pop("formula", ""), given.get("note", "")
    figures = {name: given.pop(name) for name in FIGURE_UNITS if name in given}
    source_id = maker.take_source(given)
    card = given
    if given["id"] not in maker.references.gpu_ids:
        for name in ("name", "vendor"):
            if name not in given:
                raise Incomplete(name, "required")
        if "memory_gib" not in figures:
            raise Incomplete("memory_gib", "required")
        card = finish(maker.kind, given | {"source_id": source_id})
        maker.references.gpu_ids.add(given["id"])
        maker.references.gpus.add([(given["id"], given["id"])])
    rows = []
    for name, value in figures.items():
        figure = {
            "gpu_id": given["id"],
            "figure": name,
            "value": value,
            "unit": FIGURE_UNITS[name],
            "basis": basis,
            "source_id": source_id,
            "as_of": as_of,
            "formula": formula,
            "note": note,
        }
        rows.append(_checked_figure(figure))
    return {tables.GpuRow: [card], tables.GpuFigureRow: rows}


def _checked_figure(figure: Row) -> Row:
    """A figure by the rules of its own table; a fault of its value stands under the name of the figure."""
    name = "value"
    try:
        for name in ("value", "basis", "as_of"):
            check_cell(FIGURES.by_name[name], figure[name])
        return finish(FIGURES, figure)
    except CellFault as fault:
        params = {"value": shown(figure[name])} | fault.params
        raise Incomplete(figure["figure"] if name == "value" else name, fault.code, **params) from fault
    except Incomplete as fault:
        if fault.name != "value":
            raise
        raise Incomplete(figure["figure"], fault.code, **fault.params) from fault


def _benchmark(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    given.setdefault("gpu_count", 1)
    written = given.get("model_as_written", "")
    if not written and "model_id" not in given:
        raise Incomplete("model_id", "required")
    if not written:
        cell = parsed.record.cells["model_id"]
        given["model_as_written"] = str(cell[1]).strip()
    units = {*maker.references.benchmark_units, *UNITS}
    if given["unit"] not in units:
        raise Incomplete("unit", "unknown_value", value=given["unit"], allowed=sorted(units))
    source, url = maker.stated_source(given)
    given, parsed.notes = complete(given, source, url, maker.references)
    own = given.pop("own")
    if own and not source and not url:
        given["source"] = OWN_SOURCE
    given["source_id"] = maker.take_source(given)
    return {tables.BenchmarkRow: [finish(maker.kind, given) | {"own": own}]}


def _model(maker: Completer, parsed: Parsed) -> Rows:
    given = dict(parsed.values)
    architecture = dict(given.pop("architecture", {}))
    architecture |= {name: given.pop(name) for name in DIMENSIONS if name in given}
    given["architecture"] = architecture
    given.setdefault("active_parameters", given["parameters"])
    given["source_id"] = maker.take_source(given)
    published = given.get("published_source_id")
    if published and published not in maker.references.sources:
        raise Incomplete("published_source_id", "unknown_source", value=published)
    return {tables.ModelRow: [finish(maker.kind, given)]}


_MAKERS: dict[str, Callable[[Completer, Parsed], Rows]] = {
    "prices": _price,
    "rentals": _rental,
    "rates": _rate,
    "gpus": _gpu,
    "figures": _figure,
    "benchmarks": _benchmark,
    "models": _model,
    "engine_support": _engine_support,
}


def register(kind: str, maker: Callable[[Completer, Parsed], Rows]) -> None:
    """Add the maker of a kind that lives in a module of its own."""
    _MAKERS[kind] = maker
