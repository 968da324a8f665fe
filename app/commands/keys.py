"""key: making, listing and revoking API keys."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.importing import author_of
from app.commands.output import EXIT_INPUT, CommandFailure, table, words_of, write, write_json
from app.services import access, maintenance
from app.texts.marking import N_


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("key", help="make, list and revoke API keys", description="API keys.")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a key; it is shown once")
    create.add_argument("name", help="whose key it is")
    create.add_argument(
        "--scope",
        action="append",
        choices=access.SCOPES,
        help="what it may do; write includes read, admin both; may be repeated; write by default",
    )
    revoke = actions.add_parser("revoke", help="make a key useless from now on")
    revoke.add_argument("id", help="id of the key, as listed")
    for action in (create, revoke):
        action.add_argument("--why", help="why, for the change log")
    listing = actions.add_parser("list", help="all keys, without their secrets")
    for action, run in ((create, _create), (revoke, _revoke), (listing, _list)):
        action.add_argument("--json", action="store_true", help="print the result as JSON")
        action.set_defaults(run=run)


def _create(options: argparse.Namespace) -> None:
    scopes = tuple(options.scope or ("write",))
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        made = access.create_key(engine, options.name, scopes, author_of(options))
    if options.json:
        write_json({"id": made.id, "secret": made.secret})
    else:
        said = words_of(options)(N_("This is shown once. Send it as X-Api-Key; its id is {id}."))
        write(f"{made.secret}\n{said.format(id=made.id)}")


def _revoke(options: argparse.Namespace) -> None:
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        revoked = access.revoke_key(engine, options.id, author_of(options))
    if not revoked:
        said = words_of(options)(N_("there is no key {id} that still counts"))
        raise CommandFailure(said.format(id=options.id), EXIT_INPUT)
    if options.json:
        write_json({"revoked": options.id})
    else:
        write(words_of(options)(N_("{id} is revoked.")).format(id=options.id))


def _list(options: argparse.Namespace) -> None:
    with trouble(), maintenance.open_database(read_settings().database_url) as engine:
        found = access.list_keys(engine)
    rows = [
        {
            "id": key.id,
            "name": key.name,
            "scopes": list(key.scopes),
            "created_at": key.created_at.isoformat(timespec="seconds"),
            "revoked_at": key.revoked_at.isoformat(timespec="seconds") if key.revoked_at else None,
        }
        for key in found
    ]
    if options.json:
        write_json({"items": rows})
        return
    _ = words_of(options)
    head = ["id", _("name"), _("scopes"), _("made"), _("revoked")]
    shown = [
        [key.id, key.name, ",".join(key.scopes), f"{key.created_at:%Y-%m-%d}", _day(key.revoked_at)]
        for key in found
    ]
    for line in table([head, *shown], left=frozenset(range(5))):
        write(line)


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""
