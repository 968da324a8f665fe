"""Imports for all askers: files and items in, a report out whose faults are said in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.columns import IMPORT_KINDS
from app.catalog.exporting import CatalogReport, Exported, export_catalog, import_catalog
from app.catalog.importing import (
    ImportOptions,
    ImportReport,
    import_file,
    import_items,
    template,
)
from app.catalog.imports.values import ImportRefused, RowFault
from app.services.payload import Payload
from app.texts.language import translations
from app.texts.notes import say_note
from app.texts.say import say_code

__all__ = [
    "IMPORT_KINDS",
    "Author",
    "CatalogReport",
    "Exported",
    "ImportOptions",
    "ImportRefused",
    "ImportReport",
    "RowFault",
    "catalog_report_body",
    "columns_of",
    "export_catalog",
    "fault_text",
    "import_catalog",
    "import_file",
    "import_items",
    "import_path",
    "nothing_stored",
    "refusal_text",
    "report_body",
    "summary",
    "template",
]
MAX_SHOWN_ROWS = 1_000


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


def report_body(report: ImportReport, language: str) -> Payload:
    """The report as JSON, row by row; of very long tables the first thousand rows."""
    return {
        "kind": report.kind,
        "dry_run": report.dry_run,
        "stored": report.stored,
        "rows": len(report.rows),
        "inserted": report.inserted,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "fault_count": report.fault_count,
        "faults": [_fault_body(fault, language) for fault in report.faults],
        "confirmed": [_fault_body(fault, language) for fault in report.confirmed],
        "columns": dict(report.mapping),
        "ignored_columns": list(report.ignored),
        "items": [
            {"line": row.line, "status": row.status, "id": row.id or None}
            for row in report.rows[:MAX_SHOWN_ROWS]
        ],
        "versions": {"catalog": report.version},
    }


def catalog_report_body(report: CatalogReport, language: str) -> Payload:
    """The same for a whole catalogue."""
    return {
        "kind": "catalog",
        "stored": report.stored,
        "inserted": report.inserted,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "faults": [{"file": file, **_fault_body(fault, language)} for file, fault in report.faults],
        "versions": {"catalog": report.version},
    }


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


def columns_of(kind: str) -> list[Payload]:
    """The columns of a kind for its documentation: names, how they are read, whether they are needed."""
    return [
        {
            "field": column.name,
            "headers": list(dict.fromkeys(column.headers)),
            "reader": column.reader,
            "required": column.asked,
            "allowed": list(column.accepted) if column.reader == "word" else [],
            "example": column.example,
            "note": column.note,
        }
        for column in IMPORT_KINDS[kind].in_template
    ]


def pointer_of(fault: RowFault, items: Sequence[Any] | None) -> str:
    """JSON pointer of a fault: /items/3/amount in a batch, /amount of a single object."""
    column = fault.column.replace("~", "~0").replace("/", "~1")
    head = "" if items is None else f"/items/{fault.line}"
    return f"{head}/{column}" if column else head


def _fault_body(fault: RowFault, language: str) -> Payload:
    return {
        "line": fault.line,
        "column": fault.column,
        "field": fault.field,
        "value": fault.value,
        "code": fault.code,
        "text": fault_text(fault, language),
        "confirmable": fault.confirmable,
    }
