"""migrate, seed, doctor, backup, restore: setting the database up, looking it over, keeping it safe."""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.commands.output import (
    EXIT_DATABASE,
    EXIT_INPUT,
    CommandFailure,
    complain,
    language_of,
    width,
    words_of,
    write,
    write_json,
)
from app.services import maintenance
from app.services.maintenance import DatabaseProblem, SeedFault
from app.settings import Settings, SettingsProblem, load_settings, unknown_variables
from app.texts.marking import N_
from app.texts.say import term


def add_commands(commands: Any) -> None:
    """Register the commands."""
    for name, text, run in (
        ("migrate", "bring the database to this version; a used one is backed up first", _migrate),
        ("seed", "load the data that came with this version; can be repeated", _seed),
        ("doctor", "say what is wrong with settings, database and data", _doctor),
    ):
        parser = commands.add_parser(name, help=text, description=text)
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.set_defaults(run=run)
    for name, text, run in (
        ("backup", "copy the database to a file while it is in use, and check the copy", _backup),
        ("restore", "put a copy in the place of the database; stop the server first", _restore),
    ):
        parser = commands.add_parser(name, help=text, description=text)
        parser.add_argument("file", type=Path, help="the copy")
        if name == "restore":
            parser.add_argument("--dry-run", action="store_true", help="check the copy and change nothing")
        if name == "backup":
            parser.add_argument("--force", action="store_true", help="replace an older copy of that name")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.set_defaults(run=run)


def read_settings() -> Settings:
    """The settings of the environment; a wrong one is named, and so is one that nothing reads."""
    for name in unknown_variables(os.environ):
        complain(f"{name} is no setting")
    try:
        return load_settings()
    except SettingsProblem as problem:
        raise CommandFailure(str(problem), EXIT_INPUT) from problem


@contextmanager
def trouble() -> Iterator[None]:
    """Trouble with the database or the data becomes a sentence and exit code 3."""
    try:
        yield
    except (DatabaseProblem, SQLAlchemyError, sqlite3.Error) as error:
        problem = maintenance.problem_behind(error)
        raise CommandFailure(str(problem), EXIT_DATABASE) from problem
    except SeedFault as fault:
        raise CommandFailure(f"nothing was loaded\n{fault}", EXIT_DATABASE) from fault


def _migrate(options: argparse.Namespace) -> None:
    with trouble():
        backup = maintenance.migrate(read_settings().database_url)
    if options.json:
        write_json({"backup": backup or None})
    else:
        _ = words_of(options)
        saved, done = _("The database is up to date; backup: {backup}"), _("The database is up to date.")
        write(saved.format(backup=backup) if backup else done)


def _seed(options: argparse.Namespace) -> None:
    with trouble():
        report = maintenance.seed(read_settings().database_url)
    if options.json:
        write_json(
            {
                "version": report.version,
                "inserted": report.inserted,
                "updated": report.updated,
                "unchanged": report.unchanged,
                "retired": report.retired,
            }
        )
    else:
        _ = words_of(options)
        said = _("Catalogue {version}: {new} rows new, {changed} changed, {same} as before.")
        counts = {"new": report.inserted, "changed": report.updated, "same": report.unchanged}
        write(said.format(version=report.version, **{name: f"{n:,}" for name, n in counts.items()}))


def _doctor(options: argparse.Namespace) -> None:
    with trouble():
        body = maintenance.look_over(read_settings().database_url, datetime.now(UTC).date())
    if options.json:
        write_json(body)
        return
    _, language = words_of(options), language_of(options.lang)
    holds = _("{catalog}: {cards} cards, {models} models")
    prices = (f"{term('price_coverage', kind, language)}: {count}" for kind, count in body["prices"].items())
    names = ["Cardworth", _("Database"), _("Catalogue"), _("Prices")]
    values = [body["engine"], body["database_url"], holds.format_map(body), _("; ").join(prices)]
    column = max(width(name) for name in names)
    for name, value in zip(names, values, strict=True):
        write(f"{name}{' ' * (column - width(name))}  {value}")


def _backup(options: argparse.Namespace) -> None:
    with trouble():
        copy = maintenance.back_up(read_settings().database_url, options.file, options.force)
    if options.json:
        write_json({"file": str(copy.path), "size_bytes": copy.size_bytes})
    else:
        said = words_of(options)(N_("Copied and checked: {path}, {size} MB."))
        write(said.format(path=copy.path, size=f"{copy.size_bytes / 1e6:,.1f}"))


def _checked(options: argparse.Namespace, found: dict[str, Any]) -> None:
    """What a restore would put in the place of the database."""
    if options.json:
        write_json({"dry_run": True, "previous": None, **found})
        return
    said = words_of(options)(
        N_("{file} is a whole backup with catalogue {catalog}, {size} MB; nothing was changed.")
    )
    write(said.format(file=options.file, catalog=found["catalog"], size=f"{found['size_bytes'] / 1e6:,.1f}"))


def _restore(options: argparse.Namespace) -> None:
    with trouble():
        if options.dry_run:
            _checked(options, maintenance.look_at_backup(options.file))
            return
        previous = maintenance.restore(read_settings().database_url, options.file)
    if options.json:
        write_json({"previous": str(previous.path) if previous else None})
    else:
        _ = words_of(options)
        said = _("Restored from {file}; the database before it is {previous}.")
        alone = _("Restored from {file}.")
        write((said if previous else alone).format(file=options.file, previous=previous and previous.path))
