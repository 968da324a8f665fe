"""serve: run the web server."""

from __future__ import annotations

import argparse
import errno
import gc
import json
import socket
import threading
import time
import urllib.request
from typing import Any

from app import __version__
from app.commands.database import read_settings, trouble
from app.commands.output import EXIT_INPUT, CommandFailure, words_of, write_line
from app.services import maintenance
from app.settings import Settings
from app.texts.marking import N_

READY_WITHIN_SECONDS = 120.0
COLLECTOR_THRESHOLDS = (20_000, 10, 10)
"""Objects made before a collection, and collections before one of the next generation: what a start makes
stays, and what an answer makes is mostly freed by itself."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "run the web server; an empty database is set up first, an older one is refused"
    parser = commands.add_parser("serve", help=text, description=text)
    parser.add_argument("--host", help="address to listen on, instead of CARDWORTH_HOST")
    parser.add_argument("--port", type=int, help="port to listen on, instead of CARDWORTH_PORT")
    parser.add_argument("--json", action="store_true", help="print one line of JSON when it is ready")
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> None:
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    settings = read_settings()
    stated = {k: v for k, v in {"host": options.host, "port": options.port}.items() if v is not None}
    settings = settings.model_copy(update=stated)
    with trouble():
        maintenance.prepare(settings.database_url, settings.auto_seed)
    from app.main import serve

    _require_free(settings, options)
    if options.json:
        threading.Thread(target=announce, args=(settings,), daemon=True).start()
    serve(settings)


def _require_free(settings: Settings, options: argparse.Namespace) -> None:
    """Say which setting names an address that cannot be had, before anything is set up to serve there."""
    host = settings.host.strip("[]")
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, number) as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            said = N_(
                "port {port} on {host} is taken by another program; stop it, or name another port: "
                "CARDWORTH_PORT={other} or --port {other}"
            )
        elif error.errno == errno.EACCES:
            said = N_("this user may not use port {port}; take one above 1023: CARDWORTH_PORT or --port")
        else:
            said = N_("{host} is no address of this machine: CARDWORTH_HOST or --host ({why})")
        values = {
            "port": settings.port,
            "host": settings.host,
            "other": settings.port + 1,
            "why": error.strerror,
        }
        raise CommandFailure(words_of(options)(said).format_map(values), EXIT_INPUT) from error


def announce(settings: Settings) -> None:
    """Print address and versions as a line of JSON once the server says that it is ready."""
    host = _EVERYWHERE.get(settings.host, settings.host)
    url = f"http://{host}:{settings.port}"
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    # No proxy of the environment stands between a server and itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        try:
            with opener.open(f"{url}/readyz", timeout=5) as answer:
                said = json.load(answer)
        except (OSError, ValueError):
            time.sleep(0.1)
            continue
        write_line({"ready": True, "url": url, "engine": __version__, "readyz": said})
        return
