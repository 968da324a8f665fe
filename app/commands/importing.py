"""import, export, pull: data in and out.

Other kinds of import join by adding themselves to KINDS.
"""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.output import EXIT_INPUT, CommandFailure, language_of, words_of, write, write_json
from app.services import imports, maintenance
from app.services.answers import as_json
from app.services.imports import IMPORT_KINDS, Author, ImportOptions, ImportRefused, pull_outcome
from app.services.measurements import notes_of
from app.services.store import CatalogStore
from app.texts.marking import N_
from app.texts.say import say_message

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
            report = imports.import_path(engine, kind, options.file, author_of(options), wanted)
        except ImportRefused as error:
            raise CommandFailure(imports.refusal_text(error, language), EXIT_INPUT) from error
        notes = notes_of(report, CatalogStore(engine).snapshot()) if kind == "benchmarks" else []
    if options.json:
        write_json(as_json(imports.import_answer(report, language, notes or None), language))
    else:
        for fault in (*report.faults[:_SHOWN_FAULTS], *report.confirmed[:_SHOWN_FAULTS]):
            where = ":".join(filter(None, (options.file.name, str(fault.line or ""), fault.column)))
            value = f" {fault.value!r}:" if fault.value else ""
            write(f"{where}:{value} {imports.fault_text(fault, language)}")
        for line, note in notes[:_SHOWN_FAULTS]:
            write(f"{options.file.name}:{line}: {say_message(note, language)}")
        write(imports.summary(report, language))
    if not report.ok:
        raise CommandFailure(imports.nothing_stored(report, language), EXIT_INPUT)


def import_catalogue(options: argparse.Namespace) -> None:
    """Import a whole catalogue as `export` writes it."""
    language = language_of(options.lang)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            report = imports.import_catalog(engine, options.file, author_of(options), dry_run=options.dry_run)
        except ImportRefused as error:
            raise CommandFailure(imports.refusal_text(error, language), EXIT_INPUT) from error
    if options.json:
        write_json(as_json(imports.catalog_import(report, language), language))
    else:
        for file, fault in report.faults:
            write(f"{file}:{fault.line}:{fault.column}: {imports.fault_text(fault, language)}")
        said = words_of(options)(
            N_("Catalogue {version}: {new} rows new, {changed} changed, {same} as before.")
        )
        counts = {"new": report.inserted, "changed": report.updated, "same": report.unchanged}
        write(said.format(version=report.version, **{name: f"{n:,}" for name, n in counts.items()}))
    if report.faults:
        raise CommandFailure(words_of(options)(N_("nothing was stored")), EXIT_INPUT)


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
    pull.add_argument("kind", metavar="KIND", choices=imports.PULLED_KINDS, help="rates or rentals")
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
        write_json(as_json(imports.columns_of(options.kind), language_of(options.lang)))
    else:
        write(imports.template(options.kind, language_of(options.lang)).rstrip("\n"))


def _export(options: argparse.Namespace) -> None:
    kind = options.format or ("sqlite" if options.out.suffix in (".db", ".sqlite", ".sqlite3") else "csv")
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            made = imports.export_catalog(engine, options.out, kind)
        except ImportRefused as error:
            raise CommandFailure(
                imports.refusal_text(error, language_of(options.lang)), EXIT_INPUT
            ) from error
        except OSError as error:
            said = words_of(options)(N_("{path} cannot be written: {why}"))
            raise CommandFailure(said.format(path=options.out, why=error.strerror), EXIT_INPUT) from error
    if options.json:
        write_json({"path": str(made.path), "format": kind, "rows": made.rows, "catalog": made.version})
    else:
        said = words_of(options)(N_("{path}: {rows} rows, catalogue {version}."))
        write(said.format(path=made.path, rows=f"{made.rows:,}", version=made.version))


def _pull(options: argparse.Namespace) -> None:
    language = language_of(options.lang)
    wanted = ImportOptions(_today(), dry_run=options.dry_run, confirm=options.confirm)
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        try:
            found = imports.pull_kind(
                engine, options.kind, options.provider, options.folder, author_of(options), wanted
            )
        except imports.ProviderDown as error:
            if options.json:
                write_json({"kind": options.kind, "providers": [], "error": str(error)})
            raise CommandFailure(str(error), EXIT_INPUT) from error
    if options.json:
        write_json(
            {"kind": options.kind, "providers": [as_json(pull_outcome(o, language), language) for o in found]}
        )
    else:
        for outcome in found:
            write(_outcome_line(outcome))
    if not any(outcome.report is not None and outcome.report.ok for outcome in found):
        raise CommandFailure(words_of(options)(N_("no provider gave anything")), EXIT_INPUT)


def _outcome_line(outcome: imports.Outcome) -> str:
    """What one provider gave, in a line."""
    report = outcome.report
    if report is None:
        return f"{outcome.provider}: {outcome.error}"
    left = ", ".join(f"{count} {reason}" for reason, count in outcome.left_out.items())
    tail = f"; left out: {left}" if left else ""
    return (
        f"{outcome.provider}: {report.inserted:,} new, {report.unchanged:,} as before, "
        f"{report.fault_count:,} at fault{tail}"
    )


def _today() -> date:
    return datetime.now(UTC).date()
