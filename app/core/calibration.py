"""Calibrated constants as data: what each is worth, how it is known, and which measurements speak of it.

The core reads no file: whoever starts the application hands the rows in (`install`), before the modules that
declare constants are imported. Such a module annotates each name with its quantity and calls `fill`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

from app.core.symbols import SYMBOLS, Symbol
from app.core.tracing import Constant

Kind = Literal["fitted", "published", "counted", "assumed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Estimator = Literal["", "ratio", "width", "coverage", "likelihood", "joint"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
"""How a fitted constant is made again; see `core/speed/fitting.py`, of "joint" `core/serving/fitting.py`."""
COLUMNS = (
    "part",
    "name",
    "key",
    "value",
    "unit",
    "kind",
    "estimator",
    "rows",
    "n",
    "spread",
    "valid_for",
    "source",
    "read_on",
    "prior",
    "prior_spread",
)
DEFAULT = "default"
"""Key of the value that card classes without their own take."""
ENOUGH_ROWS = 5
"""A constant read from fewer is no surer than its class in general, and the interval says so."""


class CalibrationFault(ValueError):
    """A fault in the table of constants, with file and line."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a declared constant may be."""

    unit: str
    least: float
    most: float
    keys: tuple[str, ...] = ()
    """Of a table: all that it must name, and no other; empty: as the file has it."""
    by_class: bool = False
    """A vector over card classes."""


Factor = Annotated[float, Quantity("1", 1e-4, 1000.0)]
FactorBy = Annotated[Mapping[str, float], Quantity("1", 1e-4, 1000.0)]
Lengthening = Annotated[float, Quantity("1", 0.0, 10.0)]
Spread = Annotated[float, Quantity("ln", 0.0, 2.0)]
SpreadBy = Annotated[Mapping[str, float], Quantity("ln", 0.0, 2.0)]
Exponent = Annotated[float, Quantity("1", -4.0, 8.0)]
ExponentBy = Annotated[Mapping[str, float], Quantity("1", -4.0, 8.0)]
Count = Annotated[float, Quantity("1", 1.0, 1e9)]
CountBy = Annotated[Mapping[str, float], Quantity("1", 1.0, 1e9)]
PerMac = Annotated[float, Quantity("1/MAC", 1e-5, 1.0)]
PerMacBy = Annotated[Mapping[str, float], Quantity("1/MAC", 1e-5, 1.0)]
Macs = Annotated[float, Quantity("MAC", 1e6, 1e15)]
Bytes = Annotated[float, Quantity("B", 0.1, 1000.0)]
BytesBy = Annotated[Mapping[str, float], Quantity("B", 0.1, 1000.0)]
Seconds = Annotated[float, Quantity("s", 1e-7, 1.0)]
SecondsBy = Annotated[Mapping[str, float], Quantity("s", 1e-7, 1.0)]
LongSeconds = Annotated[float, Quantity("s", 1.0, 3600.0)]
MillisecondsBy = Annotated[Mapping[str, float], Quantity("ms", 1.0, 100_000.0)]
GibBy = Annotated[Mapping[str, float], Quantity("GiB", 0.01, 80.0)]
GbPerS = Annotated[float, Quantity("GB/s", 0.1, 10_000.0)]
Watts = Annotated[float, Quantity("W/TFLOPS", 0.01, 100.0)]

_ROW_WORDS = {
    "class": "classes",
    "engine": "engines",
    "precision": "precisions",
    "card_class": "card_classes",
    "kind": "kinds",
    "card": "cards",
    "model": "models",
}


@dataclass(frozen=True, slots=True)
class RowsOf:
    """Which measurements speak of a constant: every stated condition must hold."""

    classes: tuple[str, ...] = ()
    """Classes of work whose evidence is shared: serving, decode …"""
    engines: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    card_classes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Special cases of a class: decode_moe, moe_training …"""
    cards: tuple[str, ...] = ()
    """Beginnings of card ids."""
    models: tuple[str, ...] = ()
    """Beginnings of model ids."""
    several: bool = False
    """Measurements of several cards alone."""
    text: str = ""
    """As the table writes it."""

    @property
    def narrow(self) -> bool:
        """More is asked of a row than its class of work."""
        return any((self.engines, self.precisions, self.card_classes, self.kinds, self.models))

    def asks(self, group: str, kind: str, engine: str, precision: str, model: str) -> bool:
        """Whether a question with these labels is one of those that its rows answer, the card apart."""
        stated = (
            (self.classes, group),
            (self.kinds, kind),
            (self.engines, engine),
            (self.precisions, precision),
        )
        return all(not values or label in values for values, label in stated) and (
            not self.models or model.startswith(self.models)
        )

    @classmethod
    def of(cls, text: str) -> RowsOf:
        """Read "class=serving engine=vllm|sglang several".

        Errors
        ------
        ValueError for an unknown word.
        """
        found: dict[str, Any] = {}
        for word in text.split():
            name, equals, values = word.partition("=")
            if word == "several":
                found["several"] = True
            elif name in _ROW_WORDS and equals and values:
                found[_ROW_WORDS[name]] = tuple(values.split("|"))
            else:
                raise ValueError(f"no such condition: {word}")
        return cls(**found, text=text)


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of the table, with what is known of it."""

    part: str
    """The module that declares it: speed, memory …"""
    name: str
    key: str
    """Key of a table; empty for a single value."""
    value: float
    unit: str
    kind: Kind
    estimator: Estimator
    rows: RowsOf | None
    n: int
    """Measurements of the fitted half that speak of it."""
    spread: float | None
    """Standard deviation of the values that they would each have, natural logarithms; None below two."""
    valid_for: tuple[str, ...]
    sources: tuple[str, ...]
    read_on: str
    prior: float | None
    """What is taken for it before a measurement is seen, of those that are fitted together."""
    prior_spread: float | None
    """How sure that is: standard deviation, natural logarithm."""
    line: int

    @property
    def label(self) -> str:
        """Name with the key of a table after a dot."""
        return f"{self.name}.{self.key}" if self.key else self.name

    @property
    def thin(self) -> bool:
        """Read from too few measurements to be sure of."""
        return self.kind == "fitted" and self.n < ENOUGH_ROWS


@dataclass(frozen=True)
class Calibration:
    """The table of constants, as read."""

    entries: Mapping[str, Entry]
    """By label, in the order of the file."""
    file: str

    @classmethod
    def read(cls, rows: Iterable[tuple[int, Mapping[str, str | None]]], file: str) -> Calibration:
        """Check the rows of a table.

        Parameters
        ----------
        rows: (line, cell by column). file: its name, for faults.

        Errors
        ------
        CalibrationFault that names file, line and column.
        """
        found: dict[str, Entry] = {}
        for line, cells in rows:
            entry = _entry(line, cells, file)
            if entry.label in found:
                earlier = found[entry.label].line
                raise CalibrationFault(f"{file}, line {line}: {entry.label} is in line {earlier} already")
            found[entry.label] = entry
        return cls(found, file)

    def of_part(self, part: str) -> dict[str, list[Entry]]:
        """Entries of one part by name."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            if entry.part == part:
                found.setdefault(entry.name, []).append(entry)
        return found


def _entry(line: int, cells: Mapping[str, str | None], file: str) -> Entry:
    def wrong(column: str, why: str) -> CalibrationFault:
        return CalibrationFault(f"{file}, line {line}, column {column}: {why}")

    def cell(column: str) -> str:
        found = cells.get(column)
        if found is None:
            raise wrong(column, "missing")
        return found.strip()

    def number(column: str) -> float:
        try:
            found = float(cell(column))
        except ValueError:
            raise wrong(column, f"{cell(column)!r} is no number") from None
        if not math.isfinite(found):
            raise wrong(column, "not finite")
        return found

    def one_of(column: str, known: tuple[Any, ...]) -> Any:
        if cell(column) not in known:
            raise wrong(column, f"{cell(column)!r} is none of {', '.join(filter(None, known))}")
        return cell(column)

    try:
        rows = RowsOf.of(cell("rows")) if cell("rows") else None
    except ValueError as error:
        raise wrong("rows", str(error)) from None
    kind, estimator = one_of("kind", KINDS), one_of("estimator", ESTIMATORS)
    n = number("n")
    if n < 0 or n != int(n):
        raise wrong("n", "not a count")
    if kind == "fitted" and not (estimator and rows):
        raise wrong("kind", "a fitted constant names its estimator and its rows")
    sources = tuple(part.strip() for part in cell("source").split("|") if part.strip())
    if not sources:
        raise wrong("source", "every constant says where it is from")
    return Entry(
        part=cell("part"),
        name=cell("name"),
        key=cell("key"),
        value=number("value"),
        unit=cell("unit"),
        kind=kind,
        estimator=estimator,
        rows=rows,
        n=int(n),
        spread=number("spread") if cell("spread") else None,
        valid_for=tuple(cell("valid_for").split()),
        sources=sources,
        read_on=cell("read_on"),
        prior=number("prior") if cell("prior") else None,
        prior_spread=number("prior_spread") if cell("prior_spread") else None,
        line=line,
    )


class _Filled(NamedTuple):
    """A module that has its values."""

    module: Any
    declared: Mapping[str, Any]
    classes: tuple[str, ...]
    vector: Callable[[list[float]], Any]
    refresh: Callable[[Entry], None] | None


_installed: Calibration | None = None
_filled: dict[str, _Filled] = {}


def install(calibration: Calibration) -> None:
    """Hand the table in, once, before a module that declares constants is imported."""
    global _installed
    _installed = calibration


def installed() -> Calibration:
    """The table that was handed in."""
    if _installed is None:
        raise RuntimeError("the calibrated constants were not read")
    return _installed


def fill(
    part: str,
    module: Any,
    classes: Sequence[str] = (),
    vector: Callable[[list[float]], Any] = list,
    refresh: Callable[[Entry], None] | None = None,
) -> None:
    """Give every annotated name of a module its value.

    Parameters
    ----------
    part: of the table. module: its annotations are `Annotated` with a `Quantity` over float, a mapping of
    floats, or a vector. classes, vector: card classes in the order of such vectors, and what makes one.
    refresh: called when `tried` has changed an entry, where its value was copied elsewhere.

    Errors
    ------
    CalibrationFault where a name is missing or unknown, of another unit or out of its range.
    """
    table = installed()
    hints = get_type_hints(module, include_extras=True)
    declared = {name: hint for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    entries = table.of_part(part)
    missing, unknown = declared.keys() - entries.keys(), entries.keys() - declared.keys()
    if missing:
        raise CalibrationFault(f"{table.file}: no row for {', '.join(sorted(missing))}")
    if unknown:
        first = min((entries[name][0] for name in unknown), key=lambda entry: entry.line)
        raise CalibrationFault(f"{table.file}, line {first.line}: no constant is called {first.name}")
    filled = _Filled(module, declared, tuple(classes), vector, refresh)
    for name, hint in declared.items():
        for entry in entries[name]:
            _check(entry, hint.__metadata__[0], table.file)
        setattr(module, name, _value(entries[name], filled, table.file))
    _filled[part] = filled


def _check(entry: Entry, quantity: Quantity, file: str) -> None:
    if entry.unit != quantity.unit:
        raise CalibrationFault(
            f"{file}, line {entry.line}, column unit: {entry.label} is in {quantity.unit}, not {entry.unit}"
        )
    if not quantity.least <= entry.value <= quantity.most:
        raise CalibrationFault(
            f"{file}, line {entry.line}, column value: {entry.label} is {entry.value:g}, "
            f"not within {quantity.least:g} to {quantity.most:g}"
        )


def _value(entries: Sequence[Entry], filled: _Filled, file: str) -> Any:
    first, classes = entries[0], filled.classes
    hint = filled.declared[first.name]
    quantity: Quantity = hint.__metadata__[0]
    keys = quantity.keys
    if hint.__origin__ is float:
        if len(entries) > 1 or first.key:
            raise CalibrationFault(f"{file}, line {first.line}: {first.name} is a single value")
        return _named(first)
    by_key = {entry.key: _named(entry) for entry in entries}
    if "" in by_key:
        raise CalibrationFault(f"{file}, line {first.line}, column key: {first.name} is a table")
    if keys and by_key.keys() != set(keys):
        odd = ", ".join(sorted(by_key.keys() ^ set(keys)))
        raise CalibrationFault(
            f"{file}, line {first.line}: {first.name} names just {', '.join(keys)}; not so: {odd}"
        )
    if not quantity.by_class:
        return by_key
    unknown = by_key.keys() - {*classes, DEFAULT}
    if unknown or DEFAULT not in by_key:
        raise CalibrationFault(
            f"{file}, line {first.line}: {first.name} goes by card class and {DEFAULT}; "
            f"not so: {', '.join(sorted(unknown)) or 'no default'}"
        )
    return filled.vector([by_key.get(name, by_key[DEFAULT]) for name in classes])


def _named(entry: Entry) -> float:
    """The value under its name, so that printed formulas say which constant it is."""
    name = entry.name.lower()
    SYMBOLS.setdefault(name, Symbol(entry.unit if entry.unit != "1" else "", CALIBRATED))
    return Constant(entry.value, name)


CALIBRATED = Symbol("", "calibrated constant, listed on /method").text


@contextmanager
def tried(label: str, value: float) -> Iterator[None]:
    """Let one constant have another value for a while: for fitting, in a process of its own.

    Parameters
    ----------
    label: of the entry. value: in its unit.
    """
    table = installed()
    entry, part = table.entries[label], _filled[table.entries[label].part]
    kept = getattr(part.module, entry.name)
    entries = [
        replace(other, value=value) if other.label == label else other
        for other in table.of_part(entry.part)[entry.name]
    ]
    setattr(part.module, entry.name, _value(entries, part, table.file))
    if part.refresh:
        part.refresh(entry)
    try:
        yield
    finally:
        setattr(part.module, entry.name, kept)
        if part.refresh:
            part.refresh(entry)
