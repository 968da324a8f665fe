"""Imports for all askers: files, items, single edits and providers in, a report of every cell out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.columns import IMPORT_KINDS
from app.catalog.columns.cells import BASES, FIGURE_UNITS
from app.catalog.exporting import CatalogReport, Exported, export_catalog, import_catalog
from app.catalog.importing import (
    ImportOptions,
    ImportReport,
    import_file,
    import_items,
    template,
)
from app.catalog.imports.values import ImportRefused, RowFault
from app.catalog.pulling import (
    KINDS as PULLED_KINDS,
)
from app.catalog.pulling import (
    MonthlyMeans,
    Outcome,
    Provider,
    ProviderDown,
    ReferenceRates,
    gpuhunt_providers,
    pull,
)
from app.catalog.records import CHANNEL_KINDS, LAUNCH, PER, TAXES
from app.catalog.snapshot import Snapshot
from app.core.answer import answer, parts_of
from app.core.estimates import Message
from app.services.own_cards import CheckAnswer
from app.services.results import Versions
from app.texts.language import translations
from app.texts.notes import say_note
from app.texts.say import say_code

__all__ = [
    "BASES",
    "FIGURE_UNITS",
    "IMPORT_KINDS",
    "PER",
    "PULLED_KINDS",
    "TAXES",
    "Author",
    "CatalogReport",
    "Exported",
    "ImportOptions",
    "ImportRefused",
    "ImportReport",
    "Outcome",
    "ProviderDown",
    "RowFault",
    "export_catalog",
    "import_catalog",
    "import_file",
    "import_items",
    "template",
]
MAX_SHOWN_ROWS = 1_000
CHANNELS = tuple(kind for kind in CHANNEL_KINDS if kind != LAUNCH)


def import_path(
    engine: Engine, kind: str, path: Path, author: Author, options: ImportOptions
) -> ImportReport:
    """Import a file of this machine.

    Errors
    ------
    ImportRefused, also for a file that is not there; DatabaseProblem.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportRefused("file_missing", value=path.name) from error
    return import_file(engine, kind, content, author, options)


def refusal_text(refused: ImportRefused, language: str) -> str:
    """Why a file as a whole cannot be imported."""
    return say_code(refused.code, refused.params, language)


def fault_text(fault: RowFault, language: str) -> str:
    """What is wrong with one cell."""
    params = {"value": fault.value, **fault.params}
    if "said" in params:
        params["said"] = say_note(str(params["said"]), language)[0]
    return say_code(fault.code, params, language)


@answer()
class Fault:
    """One cell at fault."""

    line: int
    """Line of the file, or place of the item in a list from 0; 0 for the file as a whole."""
    column: str
    """Header as written."""
    field: str
    """Name of the column in the catalogue."""
    value: str
    """The cell as written."""
    code: str
    """What is wrong, as a word that programs may compare."""
    text: str
    """What is wrong, in a sentence."""
    confirmable: bool
    """Whether it is readable, but far from what is known: `confirm` accepts it."""


@answer()
class CatalogFault(Fault):
    """One cell at fault in a file of a whole catalogue."""

    file: str
    """Name of the file."""


@answer()
class ImportedRow:
    """What became of one row."""

    line: int
    """Line of the file, or place of the item in a list from 0."""
    status: str
    """new, changed, same, fault or ok."""
    id: str | None
    """Id under which it is kept."""


@answer(omit=("line",), shown=("code",))
class RowNote:
    """What was taken for granted in a row, or why estimates cannot use it."""

    text: Message
    """What is to be said, in a sentence."""
    line: int | None = None
    """Line of the file, or place of the item in a list from 0; absent for the whole."""

    @property
    def code(self) -> str:
        """Code of `text`."""
        return self.text.code


@answer(omit=("card", "notes"))
class ImportAnswer:
    """What an import found and did: all of it is stored, or nothing."""

    kind: str
    """prices, rentals, rates, benchmarks, quotes, gpus, figures, models …"""
    dry_run: bool
    """Whether it was asked to check only."""
    stored: bool
    """Whether anything was stored."""
    rows: int
    """Rows that were read."""
    inserted: int = 0
    """Rows that are new."""
    updated: int = 0
    """Rows that change a known one."""
    unchanged: int = 0
    """Rows that are there already."""
    fault_count: int = 0
    """Faults in all; of very many not all are listed."""
    faults: tuple[Fault, ...] = ()
    """What is wrong, cell by cell."""
    confirmed: tuple[Fault, ...] = ()
    """What is far from the known and was accepted because it was confirmed."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Header as written -> name of the column in the catalogue."""
    ignored_columns: tuple[str, ...] = ()
    """Headers that mean nothing here."""
    items: tuple[ImportedRow, ...] = ()
    """What became of each row, of the first thousand."""
    versions: Versions | None = None
    """Version of the catalogue after it; null where nothing was imported."""
    notes: tuple[RowNote, ...] | None = None
    """Of measurements: what was taken for granted, and which rows estimates cannot use."""
    card: CheckAnswer | None = None
    """Of what the check script printed: whether the card is what it is sold as."""


@answer()
class CatalogImport:
    """What the import of a whole catalogue found and did: all of it is stored, or nothing."""

    kind: str
    """catalog."""
    stored: bool
    """Whether anything was stored."""
    inserted: int
    """Rows that are new."""
    updated: int
    """Rows that change a known one."""
    unchanged: int
    """Rows that are there already."""
    faults: tuple[CatalogFault, ...]
    """What is wrong, cell by cell."""
    versions: Versions
    """Version of the catalogue after it."""


@answer()
class ImportColumn:
    """A column that can be imported."""

    field: str
    """Name of the column in the catalogue."""
    headers: tuple[str, ...]
    """Headers that mean it, in English and Chinese."""
    reader: str | None
    """How its cells are read: text, number, money, date, word …"""
    required: bool
    """Whether each row needs it."""
    allowed: tuple[str, ...]
    """Words that it takes; empty where it takes any."""
    example: str
    """A cell as it may be written."""
    note: str
    """What is to be said of it."""


@answer()
class ImportColumns:
    """The columns of a kind of import."""

    kind: str
    """prices, rentals, rates, benchmarks, quotes, gpus, figures, models …"""
    columns: tuple[ImportColumn, ...]
    """Its columns, in the order of the template."""


@answer()
class PullOutcome:
    """What one provider of rents or rates gave."""

    provider: str
    """Name of the provider."""
    error: str | None
    """Why it gave nothing; null where it gave."""
    left_out: Mapping[str, int]
    """Reason -> rows that were left out."""
    report: ImportAnswer | None
    """The import of its rows; null where it gave nothing."""


def import_answer(
    report: ImportReport,
    language: str,
    notes: Sequence[tuple[int, Message]] | None = None,
) -> ImportAnswer:
    """The report of an import, row by row; `notes` by line, of measurements."""
    return ImportAnswer(
        report.kind,
        report.dry_run,
        report.stored,
        len(report.rows),
        report.inserted,
        report.updated,
        report.unchanged,
        report.fault_count,
        tuple(_fault(fault, language) for fault in report.faults),
        tuple(_fault(fault, language) for fault in report.confirmed),
        dict(report.mapping),
        report.ignored,
        tuple(ImportedRow(row.line, row.status, row.id or None) for row in report.rows[:MAX_SHOWN_ROWS]),
        Versions.of(report.version),
        None if notes is None else tuple(RowNote(message, line) for line, message in notes),
    )


def catalog_import(report: CatalogReport, language: str) -> CatalogImport:
    """The same for a whole catalogue."""
    faults = (_fault(fault, language) for _, fault in report.faults)
    return CatalogImport(
        "catalog",
        report.stored,
        report.inserted,
        report.updated,
        report.unchanged,
        tuple(
            CatalogFault(**parts_of(fault), file=file)
            for fault, (file, _) in zip(faults, report.faults, strict=True)
        ),
        Versions.of(report.version),
    )


def add_price(
    engine: Engine, gpu_id: str, cells: Mapping[str, str], author: Author, today: date, *, confirm: bool
) -> ImportReport:
    """Add one price of a card by the way of an import: its checks, its doubts, its entry in the change log.

    Parameters
    ----------
    cells: fields of a price as they were typed; empty ones are left out.
    confirm: accept a price that is far from what is known.
    """
    item = {"gpu_id": gpu_id} | {name: text for name, text in cells.items() if text}
    return import_items(engine, "prices", [item], author, ImportOptions(today, confirm=confirm))


def correct_figure(
    engine: Engine,
    snapshot: Snapshot,
    gpu_id: str,
    cells: Mapping[str, str],
    author: Author,
    today: date,
    *,
    confirm: bool,
) -> ImportReport:
    """Put another value of a figure in force; the one it supersedes is kept beside it, not chosen.

    Parameters
    ----------
    cells: figure, value, basis, as_of, source, source_url, formula, as they were typed.

    Notes
    -----
    The unit is the one in which the figure is kept. Why the value is chosen stands beside it as its note.
    """
    item = {"gpu_id": gpu_id, "note": author.why} | {name: text for name, text in cells.items() if text}
    before = next(
        (e.id for e in snapshot.all_figures(gpu_id) if e.chosen and e.name == cells.get("figure")), ""
    )
    # A value that is worked out when the catalogue is read is no row that could be superseded.
    if before and ":" not in before:
        item["supersedes"] = before
    return import_items(engine, "figures", [item], author, ImportOptions(today, confirm=confirm))


def pull_kind(
    engine: Engine,
    kind: str,
    names: Sequence[str],
    folder: Path | None,
    author: Author,
    options: ImportOptions,
) -> list[Outcome]:
    """Ask the providers of rates or rentals; one that is down is named in its outcome.

    Parameters
    ----------
    kind: rates or rentals.
    names: only these providers; empty for all.
    folder: catalogue files of rents already at hand.

    Errors
    ------
    ProviderDown when there is nobody to ask; DatabaseProblem.
    """
    providers: list[Provider]
    if kind == "rentals":
        providers = gpuhunt_providers(names, folder)
    else:
        known: tuple[Provider, ...] = (MonthlyMeans(), ReferenceRates())
        providers = [p for p in known if not names or p.name in names]
    if not providers and not names:
        raise ProviderDown(f"{folder} holds no catalogue file, such as runpod.csv")
    if not providers:
        raise ProviderDown(f"no provider of {kind} is named {', '.join(names)}")
    return pull(engine, providers, author, options)


def pull_outcome(outcome: Outcome, language: str) -> PullOutcome:
    """What one provider gave."""
    report = import_answer(outcome.report, language) if outcome.report else None
    return PullOutcome(outcome.provider, outcome.error or None, dict(outcome.left_out), report)


def summary(report: ImportReport, language: str) -> str:
    """The report in one sentence, for a terminal."""
    _ = translations(language).gettext
    pattern = (
        _("{rows} rows: {new} would be new, {changed} would be changed, {same} as before, {bad} at fault.")
        if report.dry_run
        else _("{rows} rows: {new} new, {changed} changed, {same} as before, {bad} at fault.")
    )
    said = pattern.format(
        rows=f"{len(report.rows):,}",
        new=f"{report.inserted:,}",
        changed=f"{report.updated:,}",
        same=f"{report.unchanged:,}",
        bad=f"{report.rows_at_fault:,}",
    )
    return f"{said} {_('Catalogue {version}.').format(version=report.version)}"


def nothing_stored(report: ImportReport, language: str) -> str:
    """Why nothing was stored: rows at fault, and faults."""
    _ = translations(language).gettext
    pattern = _("nothing was stored: {rows} rows at fault, {faults} faults")
    return pattern.format(rows=f"{report.rows_at_fault:,}", faults=f"{report.fault_count:,}")


def columns_of(kind: str) -> ImportColumns:
    """The columns of a kind for its documentation: names, how they are read, whether they are needed."""
    return ImportColumns(
        kind,
        tuple(
            ImportColumn(
                column.name,
                tuple(dict.fromkeys(column.headers)),
                column.reader,
                column.asked,
                tuple(column.accepted) if column.reader == "word" else (),
                column.example,
                column.note,
            )
            for column in IMPORT_KINDS[kind].in_template
        ),
    )


def pointer_of(fault: RowFault, items: Sequence[Any] | None) -> str:
    """JSON pointer of a fault: /items/3/amount in a batch, /amount of a single object."""
    column = fault.column.replace("~", "~0").replace("/", "~1")
    head = "" if items is None else f"/items/{fault.line}"
    return f"{head}/{column}" if column else head


def _fault(fault: RowFault, language: str) -> Fault:
    text = fault_text(fault, language)
    return Fault(fault.line, fault.column, fault.field, fault.value, fault.code, text, fault.confirmable)
