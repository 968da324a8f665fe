"""editor: making, listing and disabling those who sign in with a browser, and setting their passwords."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.importing import author_of
from app.commands.output import EXIT_INPUT, CommandFailure, language_of, table, words_of, write, write_json
from app.services import access, maintenance
from app.texts.marking import N_
from app.texts.say import say_code

MAX_LINE = 1_000


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "editor",
        help="make, list and disable editors, who sign in with a browser",
        description="Editors. There is none until one is made.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make an editor")
    add.add_argument(
        "--scope",
        action="append",
        choices=access.SCOPES,
        help="what the editor may do; write includes read, admin both and the keys; write by default",
    )
    password = actions.add_parser("password", help="set a password anew; signs the editor out everywhere")
    disable = actions.add_parser("disable", help="let an editor sign in no longer")
    enable = actions.add_parser("enable", help="let a disabled editor sign in again")
    for action in (add, password, disable, enable):
        action.add_argument("name", help="name of the editor; the change log says it")
        action.add_argument("--why", help="why, for the change log")
    for action in (add, password):
        action.add_argument(
            "--generate",
            action="store_true",
            help="make up a password and print it once; otherwise it is asked for, or read from a pipe",
        )
    listing = actions.add_parser("list", help="all editors")
    runs = ((add, _add), (password, _password), (disable, _disable), (enable, _enable), (listing, _list))
    for action, run in runs:
        action.add_argument("--json", action="store_true", help="print the result as JSON")
        action.set_defaults(run=run)


def _add(options: argparse.Namespace) -> None:
    password = _read_password(options)
    scopes = tuple(options.scope or ("write",))
    with _refusals(options), maintenance.open_database(read_settings().database_url) as engine:
        made = access.create_editor(engine, options.name, password, scopes, author_of(options))
    _tell(
        options,
        {"id": made.id, "name": made.name},
        _named(options, N_("{name} may sign in."), made.name),
        password,
    )


def _password(options: argparse.Namespace) -> None:
    password = _read_password(options)
    with _refusals(options), maintenance.open_database(read_settings().database_url) as engine:
        found = access.set_password(engine, options.name, password, author_of(options))
    _tell(
        options, {"name": found.name}, _named(options, N_("{name} has a new password."), found.name), password
    )


def _disable(options: argparse.Namespace) -> None:
    with _refusals(options), maintenance.open_database(read_settings().database_url) as engine:
        found = access.set_disabled(engine, options.name, True, author_of(options))
    said = N_("{name} is signed out and may sign in no longer.")
    _tell(options, {"disabled": found.name}, _named(options, said, found.name))


def _enable(options: argparse.Namespace) -> None:
    with _refusals(options), maintenance.open_database(read_settings().database_url) as engine:
        found = access.set_disabled(engine, options.name, False, author_of(options))
    _tell(options, {"enabled": found.name}, _named(options, N_("{name} may sign in again."), found.name))


def _list(options: argparse.Namespace) -> None:
    with _refusals(options), maintenance.open_database(read_settings().database_url) as engine:
        found = access.list_editors(engine)
    if options.json:
        rows = [
            {
                "id": editor.id,
                "name": editor.name,
                "scopes": list(editor.scopes),
                "created_at": editor.created_at.isoformat(timespec="seconds"),
                "disabled_at": editor.disabled_at.isoformat(timespec="seconds")
                if editor.disabled_at
                else None,
            }
            for editor in found
        ]
        write_json({"items": rows})
        return
    _ = words_of(options)
    head = [_("name"), _("scopes"), _("made"), _("disabled")]
    shown = [
        [
            editor.name,
            ",".join(editor.scopes),
            f"{editor.created_at:%Y-%m-%d}",
            f"{editor.disabled_at:%Y-%m-%d}" if editor.disabled_at else "",
        ]
        for editor in found
    ]
    for line in table([head, *shown], left=frozenset(range(4))):
        write(line)


@contextmanager
def _refusals(options: argparse.Namespace) -> Iterator[None]:
    """What is wrong with a name or a password, said to the one who typed it."""
    try:
        with trouble():
            yield
    except access.EditorRefused as refused:
        said = say_code(refused.code, {"value": refused.name}, language_of(options.lang))
        raise CommandFailure(said, EXIT_INPUT) from refused
    except access.PasswordRefused as refused:
        said = say_code(refused.code, {"limit": refused.limit}, language_of(options.lang))
        raise CommandFailure(said, EXIT_INPUT) from refused


def _read_password(options: argparse.Namespace) -> str:
    """Made up, typed twice, or the first line of a pipe: never an argument, which others can see."""
    if options.generate:
        return access.generate_password()
    if not sys.stdin.isatty():
        return sys.stdin.readline(MAX_LINE).rstrip("\r\n")
    _ = words_of(options)
    first = getpass.getpass(_("Password: "))
    if getpass.getpass(_("Password again: ")) != first:
        raise CommandFailure(_("the two passwords differ"), EXIT_INPUT)
    return first


def _named(options: argparse.Namespace, said: str, name: str) -> str:
    return words_of(options)(said).format(name=name)


def _tell(options: argparse.Namespace, body: dict[str, str], said: str, password: str = "") -> None:
    shown = password if getattr(options, "generate", False) else ""
    if options.json:
        write_json(body | ({"password": shown} if shown else {}))
    else:
        once = words_of(options)(N_("Password, shown this once: {password}")).format(password=shown)
        write(f"{said}\n{once}" if shown else said)
