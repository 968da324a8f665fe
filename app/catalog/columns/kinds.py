"""What a column and a kind of data are: the shape that seed, imports, tables, exports and documents read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import itemgetter
from re import fullmatch
from sys import intern
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlmodel import SQLModel

from app.catalog.names import normalise_name

CellKind = Literal["text", "number", "integer", "boolean", "json"]
Reader = Literal[
    "text",
    "number",
    "count",
    "integer",
    "money",
    "currency",
    "date",
    "boolean",
    "fraction",
    "days",
    "months",
    "gpu",
    "model",
    "region",
    "word",
    "json",
]
T = TypeVar("T")
Row = dict[str, Any]
Complaint = tuple[str, str, dict[str, Any]]
"""Column, code, parameters."""
_KINDS: Mapping[Any, CellKind] = {str: "text", float: "number", int: "integer", bool: "boolean"}
_REFERENCES: Mapping[str, Reader] = {"gpus": "gpu", "models": "model"}
_UNIQUE = frozenset({"id", "supersedes"})
_FILLED_IN = frozenset({"normalised"})
"""Fields of a table that the program writes itself."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Type, default and whether it may be empty are those of its field of the table."""

    name: str
    """Field of the table; of what only an import has, the name there."""
    chinese: str = ""
    """Chinese header of an import; empty: it cannot be imported."""
    about: str = ""
    unit: str = ""
    # What a cell may hold.
    kind: CellKind = "text"
    required: bool = False
    """The seed refuses a row without it."""
    nullable: bool = False
    """An empty cell is None, not the default of the table."""
    default: Any = None
    """A declared default also means that the seed need not state it."""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    low: float | None = None
    high: float | None = None
    dated: bool = False
    refers_to: str = ""
    """Name of the kind whose ids it must be one of."""
    stored: bool = field(default=False, kw_only=True)
    """Whether the table has it. Set by the kind."""
    # How people write it in an import.
    english: str = ""
    """English header, where it is not the name."""
    also: str = ""
    """Further headers that mean the same, parted by spaces."""
    reader: Reader | None = None
    """None: by its words, its dates, what it refers to, or its type in the table."""
    asked: bool = False
    """An import refuses a row without it."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of the choices, for the reader `word`."""
    more_words: tuple[str, ...] = ()
    """Words that an import accepts beside the choices and stores as one of them."""
    example: str = ""
    note: str = ""
    """What an import says beside the column."""
    template: bool = True
    """Whether the template of an import shows it."""
    # Where else it appears.
    in_file: str = ""
    """Name in the seed file, where it is not the name."""
    listed: bool = True
    """Whether lists of the API and their CSV show it as it is stored."""

    @property
    def headers(self) -> tuple[str, ...]:
        """Every header that names the column in an import."""
        return (self.english or self.name, self.chinese, self.name, *self.also.split())

    def header(self, language: str) -> str:
        """The header of an import in a language; the name of a column that cannot be imported."""
        if not self.chinese:
            return self.name
        return self.chinese if language == "zh" else self.english

    @property
    def accepted(self) -> tuple[str, ...]:
        """The words that the reader `word` gives."""
        return (*self.choices, *self.more_words)

    def broken_rule(self, value: Any) -> str:
        """Which rule of the column a value of its type breaks: choices, pattern, low, high; empty: none."""
        if self.kind == "text" and isinstance(value, str):
            if self.choices and value not in self.choices:
                return "choices"
            return "pattern" if self.pattern and not fullmatch(self.pattern, value) else ""
        if isinstance(value, (int, float)):
            if self.low is not None and value < self.low:
                return "low"
            return "high" if self.high is not None and value > self.high else ""
        return ""

    @property
    def file_header(self) -> str:
        """Name of the column in the seed file."""
        return self.in_file or self.name


@dataclass(frozen=True, slots=True)
class DataKind:
    """One kind of data: its table, its seed file, its columns, what makes a row the same row."""

    name: str
    row: type[SQLModel]
    about: str
    columns: tuple[Column, ...]
    """In the order of an import's template."""
    file: str = ""
    """Of the seed; empty: the seed has none."""
    key: str = ""
    """Fields that make a row the same row, parted by spaces; empty: rows come with their ids."""
    dated_by: str = ""
    """Column with the date of a row; empty: the day its source was read."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What the rows of the seed have in common, not in its file."""
    check: Callable[[Row], Iterator[Complaint]] | None = None
    """The rules that take several columns."""
    retired: Mapping[str, Any] = field(default_factory=dict)
    """What marks a row as taken back; empty: such a row goes."""
    source_kind: str = "listing"
    """Kind of a source that an import brings."""
    optional: bool = False
    """Whether a seed may lack the file."""
    stored: bool = True
    """Whether the rows go into a table."""
    key_fields: tuple[str, ...] = field(init=False)
    by_name: Mapping[str, Column] = field(init=False)
    in_file: Mapping[str, Column] = field(init=False)
    """Columns that the seed file may have."""
    by_header: Mapping[str, Column] = field(init=False)
    """Importable columns by header as `header_key` writes it."""

    def __post_init__(self) -> None:
        hints = get_type_hints(self.row)
        columns = tuple(_of_table(self.row, hints, column) for column in self.columns)
        undeclared = self.row.model_fields.keys() - {c.name for c in columns} - _FILLED_IN
        if self.key:
            undeclared -= {"id"}
        if undeclared:
            raise LookupError(f"{self.name}: no column declares {', '.join(sorted(undeclared))}")
        headers = {header_key(h): c for c in columns if c.chinese for h in c.headers}
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "key_fields", tuple(self.key.split()))
        object.__setattr__(self, "by_name", {c.name: c for c in columns})
        object.__setattr__(
            self, "in_file", {c.name: c for c in columns if c.stored and c.name not in self.fixed}
        )
        object.__setattr__(self, "by_header", headers)

    @property
    def json_lines(self) -> bool:
        """Whether each line of the file is a JSON object."""
        return self.file.endswith(".jsonl")

    @property
    def imported(self) -> tuple[Column, ...]:
        """Columns that an import may have; none: the kind cannot be imported."""
        return tuple(c for c in self.columns if c.chinese)

    @property
    def in_template(self) -> tuple[Column, ...]:
        """Columns that the template of an import shows."""
        return tuple(c for c in self.imported if c.template)

    def field_of(self, header: str) -> str:
        """Field behind a column name of the seed file."""
        return next((c.name for c in self.in_file.values() if c.in_file == header), header)

    def header_of(self, name: str) -> str:
        """Column name in the seed file of a field."""
        return self.by_name[name].file_header if name in self.by_name else name

    def maker(
        self, record: type[T], made: Mapping[str, Callable[[Any], Any]], **columns: str
    ) -> Callable[[Any], T]:
        """How a stored row, all columns of the table in their order, becomes a record.

        Parameters
        ----------
        record: a dataclass whose fields are named as the columns; a field `more` gets those listed columns
            that no other field has, by name and value.
        made: fields that are no column of the row, and what they are of it.
        columns: columns of fields that have another name.
        """
        stored = SQLModel.metadata.tables[str(self.row.__tablename__)].columns.keys()
        names = [f.name for f in fields(record) if f.init and f.name not in made and f.name != "more"]  # type: ignore[arg-type]
        sources = [columns.get(name, name) for name in names]
        take = itemgetter(*map(stored.index, sources))
        more = [c.name for c in self.columns if c.stored and c.listed and c.name not in (*sources, *made)]
        others = [(name, stored.index(name)) for name in more]
        has_more = any(f.name == "more" for f in fields(record))  # type: ignore[arg-type]
        shared = [name not in _UNIQUE for name in names]

        def make(row: Any) -> T:
            values = take(row)
            given = {
                # Texts come back thousands of times; one object each is enough.
                name: intern(value) if often and value.__class__ is str else value
                for name, value, often in zip(names, values, shared, strict=True)
            }
            for name, of in made.items():
                given[name] = of(row)
            if has_more and others:
                given["more"] = tuple((name, row[at]) for name, at in others)
            return record(**given)

        return make


def header_key(text: str) -> str:
    """A header without differences of width, case and spacing, nor a star for required."""
    return "".join(c for c in normalise_name(text) if c not in " _-*:.")


def _of_table(row: type[SQLModel], hints: Mapping[str, Any], column: Column) -> Column:
    """The column with what the field of its table says; one that no table has only gets its reader."""
    info = row.model_fields.get(column.name)
    if info is None:
        return replace(
            column, english=column.english or column.name, reader=column.reader or _reader_of(column)
        )
    hint, nullable = hints[column.name], False
    if get_origin(hint) in (Union, UnionType):
        nullable, hint = True, next(a for a in get_args(hint) if a is not type(None))
    needed, default = info.is_required() and column.default is None, column.default
    if default is None and not info.is_required():
        default = info.get_default(call_default_factory=True)
    found = replace(
        column,
        english=column.english or column.name,
        kind=_KINDS.get(hint, "json"),
        required=column.required or needed,
        nullable=nullable,
        default=default,
        listed=column.listed and not column.refers_to,
        stored=True,
    )
    return replace(found, reader=column.reader or _reader_of(found))


def _reader_of(column: Column) -> Reader:
    if column.words:
        return "word"
    if column.dated:
        return "date"
    return _REFERENCES.get(column.refers_to, column.kind)
