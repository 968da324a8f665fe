"""verify: a script that measures a card; import measurement: its answer, kept; cards: what it says."""

from __future__ import annotations

import argparse
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from app.commands import importing as commands_of_import
from app.commands import question
from app.commands.database import read_settings, trouble
from app.commands.output import EXIT_INPUT, CommandFailure, language_of, write, write_json
from app.core.faults import InputFault
from app.services import imports, maintenance, own_cards, verification
from app.services.answers import as_json
from app.services.cards import NotInCatalogue, find_gpu
from app.services.imports import ImportOptions, ImportRefused
from app.services.measurements import predict_now
from app.services.store import CatalogStore
from app.texts.language import translations
from app.texts.say import say_fault, say_message, term

STANDARD_OUTPUT = "-"


def add_commands(commands: Any) -> None:
    """Register `verify`, and `import measurement` with the kinds of import."""
    text = "write a script that measures a card, to be run where the card is"
    parser = commands.add_parser("verify", help=text, description=text)
    question.add_workload(parser)
    question.add_card(parser)
    parser.add_argument("--out", help="file for the script; - for standard output")
    parser.add_argument("--json", action="store_true", help="print name and text of the script as JSON")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.set_defaults(run=_verify)
    text = "own cards as measured, beside what such cards should do"
    parser = commands.add_parser("cards", help=text, description=text)
    parser.add_argument("--gpu", help="only this card: id or alias")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.set_defaults(run=_cards)


def _verify(options: argparse.Namespace) -> None:
    language = language_of(options.lang)
    body = question.body_of(options)
    with trouble(), maintenance.open_catalogue(read_settings().database_url) as snapshot:
        try:
            name, text = verification.verify_script(body, snapshot, _today())
        except InputFault as fault:
            raise _said(fault, language) from fault
    if options.json:
        write_json({"name": name, "script": text})
    elif options.out == STANDARD_OUTPUT:
        write(text.rstrip("\n"))
    else:
        path = Path(options.out or name)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandFailure(f"{path} cannot be written: {error.strerror}", EXIT_INPUT) from error
        write(f"{path}: run it with `python {path.name} --out measurement.json` where the card is, then")
        write("`cardworth import measurement measurement.json`.")


def import_measurement(options: argparse.Namespace) -> None:
    """Compare a measurement with its card and store it as the team's own benchmark."""
    language = language_of(options.lang)
    wanted = ImportOptions(
        _today(),
        dry_run=options.dry_run,
        confirm=options.confirm,
        source=options.source or "",
        source_url=options.source_url or "",
    )
    try:
        with options.file.open("rb") as file:
            content = file.read(verification.MAX_BYTES + 1)
    except OSError as error:
        raise CommandFailure(f"{options.file}: {error.strerror}", EXIT_INPUT) from error
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        snapshot = CatalogStore(engine).snapshot()
        try:
            stored = verification.import_measurement(
                engine, snapshot, content, commands_of_import.author_of(options), wanted
            )
        except InputFault as fault:
            raise _said(fault, language) from fault
        except ImportRefused as error:
            raise CommandFailure(imports.refusal_text(error, language), EXIT_INPUT) from error
    report = stored.report
    card = own_cards.said_check(stored.own, language)
    said = [say_message(note, language) for note in stored.notes]
    if options.json:
        rows = as_json(imports.import_answer(report, language), language) if report else None
        write_json({"card": as_json(card, language), "import": rows, "kept": stored.kept, "notes": said})
    else:
        _write_card(card, language)
        for line in said:
            write(line)
        if report is not None:
            for cell in report.faults:
                write(f"{options.file.name}: {cell.column}: {imports.fault_text(cell, language)}")
            write(imports.summary(report, language))
    if report is not None and not report.ok:
        raise CommandFailure(imports.nothing_stored(report, language), EXIT_INPUT)


def _cards(options: argparse.Namespace) -> None:
    """What was measured on the team's own cards, each figure beside what such a card should do."""
    language = language_of(options.lang)
    with trouble(), maintenance.open_catalogue(read_settings().database_url) as snapshot:
        try:
            gpu_id = find_gpu(snapshot, options.gpu).id if options.gpu else ""
        except NotInCatalogue as missing:
            raise CommandFailure(f"{options.gpu} names no card of the catalogue", EXIT_INPUT) from missing
        predict_now(snapshot)
        found = own_cards.said_checks(snapshot, gpu_id, language)
    if options.json:
        write_json(as_json(found, language))
        return
    for card in found.items:
        write(f"{card.measured_on}  {card.reported_name}".rstrip())
        _write_card(card, language)
    if not found.items:
        write("No measurement of an own card is stored: see `cardworth verify`.")


def _write_card(card: own_cards.CheckAnswer, language: str) -> None:
    _ = translations(language).gettext
    write(card.text)
    for figure in card.figures:
        mark = "ok" if figure.ok else figure.text
        if figure.reported:
            write(f"  {figure.figure}: {figure.reported}  {mark}")
        else:
            numbers = f"{figure.measured:.4g} / {figure.expected:.4g} {figure.unit}".rstrip()
            write(f"  {figure.figure}: {numbers}  {mark}")
    for row in card.workload:
        said = _("{measured}, estimated without it {low} to {high}, most likely {expected}: {inside}").format(
            measured=f"{row.measured:.4g} {term('unit', row.unit, language)}",
            inside=_("inside") if row.inside else _("outside"),
            low=f"{row.low:.4g}",
            expected=f"{row.expected:.4g}",
            high=f"{row.high:.4g}",
        )
        write(f"  {_(row.figure)}: {said}")


def _said(fault: InputFault, language: str) -> CommandFailure:
    lines = [f"{e.pointer or '/'}: {say_fault(e, language)}" for e in fault.errors]
    return CommandFailure("\n".join(lines), EXIT_INPUT)


def _today() -> date:
    return datetime.now(UTC).date()


commands_of_import.KINDS["measurement"] = commands_of_import.ImportCommand(
    "what the script of `verify` has measured", import_measurement
)
