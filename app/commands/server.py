"""serve: run the web server."""

from __future__ import annotations

import argparse
from typing import Any

from app.commands.database import read_settings, trouble
from app.services import maintenance
from app.services.prepared import calm_collector


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "run the web server; an empty database is set up first, an older one is refused"
    parser = commands.add_parser("serve", help=text, description=text)
    parser.add_argument("--host", help="address to listen on, instead of CARDWORTH_HOST")
    parser.add_argument("--port", type=int, help="port to listen on, instead of CARDWORTH_PORT")
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> None:
    calm_collector()
    settings = read_settings()
    stated = {k: v for k, v in {"host": options.host, "port": options.port}.items() if v is not None}
    settings = settings.model_copy(update=stated)
    with trouble():
        maintenance.prepare(settings.database_url, settings.auto_seed)
    from app.main import serve

    serve(settings)
