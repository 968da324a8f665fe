"""bench: how fast this installation answers, against the budgets of the design."""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.output import table, write, write_json
from app.services import maintenance
from app.services.benchmark import ANSWER_MS, Figure, engine_figures, median_s
from app.settings import Settings

REPEATS, QUICK_REPEATS = 60, 10
EMPTY = "/bench-empty"
SHORTLIST_OVER_EMPTY, PAGE_OVER_EMPTY = 10.0, 15.0
"""Budgets: medians over that of a route that does nothing, on the same server in the same run."""
MODELS = ("llama-3.1-8b", "qwen2.5-72b", "resnet-50")
NO_LIMIT = 100_000_000


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "measure how fast this installation answers; ratios, so that a busy machine matters less"
    parser = commands.add_parser("bench", help=text, description=text)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    settings = read_settings()
    repeats = QUICK_REPEATS if options.quick else REPEATS
    today = datetime.now(UTC).date()
    with trouble(), maintenance.open_catalogue(settings.database_url) as snapshot:
        models = [name for name in MODELS if name in snapshot.models]
        figures = list(engine_figures(snapshot, today, repeats))
    figures += server_figures(settings, models, today, repeats)
    if options.json:
        write_json(as_json(figures))
    else:
        for line in as_table(figures):
            write(line)


def as_json(figures: Sequence[Figure]) -> dict[str, Any]:
    """The figures for programs."""
    rows = [
        {"name": f.name, "value": f.value, "unit": f.unit, "budget": f.budget, "met": f.met} for f in figures
    ]
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "results": rows}


def as_table(figures: Sequence[Figure]) -> list[str]:
    """The figures for people."""
    verdicts = {None: "", True: "met", False: "MISSED"}
    rows = [["what", "measured", "", "budget", ""]]
    for f in figures:
        sign = ">=" if f.at_least else "<="
        budget = "" if f.budget is None else f"{sign} {f.budget:,.0f}"
        rows.append([f.name, f"{f.value:,.2f}", f.unit, budget, verdicts[f.met]])
    return table(rows, left=frozenset({0, 2, 4}))


@contextmanager
def serving(settings: Settings) -> Iterator[int]:
    """The application on a free port of this machine, with an empty route beside its own."""
    # No other command needs a server: their start is not to wait for it.
    import uvicorn
    from fastapi.routing import APIRoute

    from app.main import create_app

    app = create_app(
        settings.model_copy(
            update={"calculations_per_minute": NO_LIMIT, "read_requires_key": False, "log_level": "error"}
        )
    )

    async def empty() -> dict[str, str]:
        return {}

    app.router.routes.insert(0, APIRoute(EMPTY, empty, methods=["GET"]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.02)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


class Client:
    """One connection to the server under measurement."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method: str, path: str, body: object | None = None) -> bytes:
        """The body of an answer, which must be 200."""
        data = None if body is None else json.dumps(body)
        headers = {"content-type": "application/json"} if data else {}
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return content

    def close(self) -> None:
        """Let the server go."""
        self._connection.close()


def question(model: str, batch_size: int, as_of: date) -> dict[str, Any]:
    """A body of /shortlist."""
    work: dict[str, Any] = {"model": {"preset": model}, "task": "inference", "precision": "bf16"}
    work |= {"batch_size": batch_size, "sequence_length": 4096}
    if model == "resnet-50":
        work = {"model": {"preset": model}, "task": "training", "precision": "fp16", "batch_size": batch_size}
    return {"workload": work, "as_of": as_of.isoformat()}


def server_figures(settings: Settings, models: Sequence[str], as_of: date, repeats: int) -> Iterator[Figure]:
    """Routes against the empty one, in one run over one connection."""
    wall = time.perf_counter
    # Every question differs from the one before, so that no kept answer is handed out.
    batches = iter(range(1, 1_000_000))
    with serving(settings) as port:
        client = Client(port)

        def measured(name: str, call: Callable[[], object], budget: float | None) -> Iterator[Figure]:
            # The empty route again beside each: the machine may be busier than a moment ago.
            empty = median_s(lambda: client.call("GET", EMPTY), repeats * 3, wall)
            own = median_s(call, repeats, wall)
            limit = ANSWER_MS if budget == SHORTLIST_OVER_EMPTY else None
            yield Figure(f"{name}, p50", own * 1e3, "ms", limit)
            yield Figure(f"... over the empty route ({empty * 1e3:.2f} ms)", own / empty, "x", budget)

        def shortlist(model: str, batch_size: int | None = None) -> object:
            body = question(model, batch_size or next(batches), as_of)
            return client.call("POST", "/api/v1/shortlist", body)

        for model in models:
            name = f"POST /api/v1/shortlist, {model}, new question"
            yield from measured(name, partial(shortlist, model), SHORTLIST_OVER_EMPTY)
        for model in models[:1]:
            again = "POST /api/v1/shortlist, same question again"
            yield from measured(again, partial(shortlist, model, 16), SHORTLIST_OVER_EMPTY)
        page = "/?batch_size={}&as_of=" + as_of.isoformat()
        yield from measured(
            "GET /, new question", lambda: client.call("GET", page.format(next(batches))), PAGE_OVER_EMPTY
        )
        yield from measured(
            "GET /, same question again", lambda: client.call("GET", page.format(16)), PAGE_OVER_EMPTY
        )
        client.close()
