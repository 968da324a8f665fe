"""import, export, pull: data in and out.

Other kinds of import join by adding themselves to KINDS.
"""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.output import EXIT_INPUT, CommandFailure, language_of, write, write_json
from app.services import importing, maintenance, pulling
from app.services.importing import IMPORT_KINDS, Author, ImportOptions, ImportRefused
from app.services.measurement_notes import notes_body, notes_of
from app.services.store import CatalogStore

_SHOWN_FAULTS = 50


@dataclass(frozen=True, slots=True)
class ImportCommand:
    """One kind of import on the command line."""

    help: str
    run: Callable[[argparse.Namespace], None]


def import_table(kind: str, options: argparse.Namespace) -> None:
    """Import a table of a kind; the report goes to standard output, faults make exit code 2."""
    language = language_of(options.lang)
    wanted = ImportOptions(
        _today(),
        dry_run=options.dry_run,
        confirm=options.confirm,
        source=options.source or "",
        source_url=options.source_url or "",
        defaults={"supplier": options.supplier} if options.supplier and kind == "quotes" else None,
    )
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            report = importing.import_path(engine, kind, options.file, author_of(options), wanted)
        except ImportRefused as error:
            raise CommandFailure(importing.refusal_text(error, language), EXIT_INPUT) from error
        notes: list[Any] = []
        if kind == "benchmarks":
            notes = notes_body(notes_of(report, CatalogStore(engine).snapshot()), language)
    if options.json:
        write_json(importing.report_body(report, language) | ({"notes": notes} if notes else {}))
    else:
        for fault in (*report.faults[:_SHOWN_FAULTS], *report.confirmed[:_SHOWN_FAULTS]):
            where = ":".join(filter(None, (options.file.name, str(fault.line or ""), fault.column)))
            value = f" {fault.value!r}:" if fault.value else ""
            write(f"{where}:{value} {importing.fault_text(fault, language)}")
        for note in notes[:_SHOWN_FAULTS]:
            write(f"{options.file.name}:{note['line']}: {note['text']}")
        write(importing.summary(report, language))
    if not report.ok:
        raise CommandFailure(importing.nothing_stored(report, language), EXIT_INPUT)


def import_catalogue(options: argparse.Namespace) -> None:
    """Import a whole catalogue as `export` writes it."""
    language = language_of(options.lang)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            report = importing.import_catalog(
                engine, options.file, author_of(options), dry_run=options.dry_run
            )
        except ImportRefused as error:
            raise CommandFailure(importing.refusal_text(error, language), EXIT_INPUT) from error
    if options.json:
        write_json(importing.catalog_report_body(report, language))
    else:
        for file, fault in report.faults:
            write(f"{file}:{fault.line}:{fault.column}: {importing.fault_text(fault, language)}")
        write(
            f"{report.inserted:,} rows new, {report.updated:,} changed, {report.unchanged:,} as before. "
            f"Catalogue {report.version}."
        )
    if report.faults:
        raise CommandFailure("nothing was stored", EXIT_INPUT)


def author_of(options: argparse.Namespace) -> Author:
    """Who sits at this terminal, for the change log."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return Author(f"command line: {user}", options.why or "")


KINDS: dict[str, ImportCommand] = {
    **{kind: ImportCommand(f"a table of {kind}", partial(import_table, kind)) for kind in IMPORT_KINDS},
    "catalog": ImportCommand("a whole catalogue, as export writes it", import_catalogue),
}


def add_commands(commands: Any) -> None:
    """Register the commands."""
    parser = commands.add_parser(
        "import",
        help="import a CSV, XLSX or JSON file, all of it or nothing",
        description="Kinds: " + "; ".join(f"{name}: {kind.help}" for name, kind in KINDS.items()) + ".",
    )
    parser.add_argument("kind", metavar="KIND", choices=sorted(KINDS), help=", ".join(sorted(KINDS)))
    parser.add_argument("file", metavar="FILE", type=Path, help="the file")
    parser.add_argument("--dry-run", action="store_true", help="check and report only")
    parser.add_argument("--confirm", action="store_true", help="accept rows that are far from the known")
    parser.add_argument("--source", help="source of rows that state none: id or title")
    parser.add_argument("--source-url", help="its address")
    parser.add_argument("--supplier", help="supplier of quotes that name none")
    _common(parser, _import)
    export = commands.add_parser(
        "export", help="write the whole catalogue", description="Write the whole catalogue."
    )
    export.add_argument("--format", choices=("csv", "sqlite"), help="csv, unless OUT ends in .db or .sqlite")
    export.add_argument("out", metavar="OUT", type=Path, help="folder, .zip archive or SQLite file")
    _common(export, _export)
    template = commands.add_parser(
        "template", help="print an empty table to fill in", description="An empty table as CSV."
    )
    template.add_argument("kind", metavar="KIND", choices=sorted(IMPORT_KINDS))
    _common(template, _template)
    pull = commands.add_parser("pull", help="fetch rents or exchange rates", description="Fetch data.")
    pull.add_argument("kind", metavar="KIND", choices=pulling.KINDS, help="rates or rentals")
    pull.add_argument("--provider", action="append", default=[], help="only this one; may be repeated")
    pull.add_argument("--folder", type=Path, help="rentals: catalogue files already at hand")
    pull.add_argument("--dry-run", action="store_true", help="check and report only")
    pull.add_argument("--confirm", action="store_true", help="use rows that are far from the known")
    _common(pull, _pull)


def _common(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]) -> None:
    parser.add_argument("--why", help="why, for the change log")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def _import(options: argparse.Namespace) -> None:
    KINDS[options.kind].run(options)


def _template(options: argparse.Namespace) -> None:
    if options.json:
        write_json({"kind": options.kind, "columns": importing.columns_of(options.kind)})
    else:
        write(importing.template(options.kind, language_of(options.lang)).rstrip("\n"))


def _export(options: argparse.Namespace) -> None:
    kind = options.format or ("sqlite" if options.out.suffix in (".db", ".sqlite", ".sqlite3") else "csv")
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            made = importing.export_catalog(engine, options.out, kind)
        except ImportRefused as error:
            raise CommandFailure(
                importing.refusal_text(error, language_of(options.lang)), EXIT_INPUT
            ) from error
        except OSError as error:
            raise CommandFailure(f"{options.out} cannot be written: {error.strerror}", EXIT_INPUT) from error
    if options.json:
        write_json({"path": str(made.path), "format": kind, "rows": made.rows, "catalog": made.version})
    else:
        write(f"{made.path}: {made.rows:,} rows, catalogue {made.version}.")


def _pull(options: argparse.Namespace) -> None:
    language = language_of(options.lang)
    wanted = ImportOptions(_today(), dry_run=options.dry_run, confirm=options.confirm)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            found = pulling.pull_kind(
                engine, options.kind, options.provider, options.folder, author_of(options), wanted
            )
        except pulling.ProviderDown as error:
            if options.json:
                write_json({"kind": options.kind, "providers": [], "error": str(error)})
            raise CommandFailure(str(error), EXIT_INPUT) from error
    if options.json:
        write_json({"kind": options.kind, "providers": [pulling.outcome_body(o, language) for o in found]})
    else:
        for outcome in found:
            write(pulling.outcome_line(outcome))
    if not any(pulling.answered(outcome) for outcome in found):
        raise CommandFailure("no provider gave anything", EXIT_INPUT)


def _today() -> Any:
    return datetime.now(UTC).date()
