"""How much of the program one warm request passes: functions and modules of `app`, and its time.

Comprehensions, generators and lambdas count as calls, not as functions.

python -m tests.benchmarks.passes       one line for each of a shortlist and the page of the calculator
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

from fastapi.testclient import TestClient

from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.seed import load_seed
from app.main import create_app
from app.settings import Settings

APP = str(Path(__file__).resolve().parents[2] / "app")
REPEATS = 40


def question(batch: int) -> dict[str, Any]:
    """A shortlist that no other batch has in a cache."""
    return {
        "workload": {
            "model": {"preset": "llama-3.1-8b"},
            "task": "inference",
            "precision": "bf16",
            "batch_size": batch,
            "sequence_length": 4096,
        },
        "as_of": "2026-11-30",
    }


class Noted:
    """Calls of each function of `app`, in whatever thread, while `open`."""

    def __init__(self) -> None:
        self.open = False
        self.seen: Counter[CodeType] = Counter()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note one call; a thread is told of this when it starts."""
        if self.open and event == "call" and frame.f_code.co_filename.startswith(APP):
            self.seen[frame.f_code] += 1


REQUESTS: dict[str, Callable[[TestClient, int], object]] = {
    "POST /shortlist": lambda client, n: client.post("/api/v1/shortlist", json=question(n)),
    "GET /": lambda client, n: client.get(f"/?batch_size={n}&as_of=2026-11-30"),
}


def times_ms(client: TestClient, ask: Callable[[TestClient, int], object]) -> list[float]:
    """Milliseconds of questions that no cache holds, when all else is warm."""
    found = []
    for n in range(1, 9 + REPEATS):
        start = time.perf_counter()
        ask(client, n)
        found.append(1000 * (time.perf_counter() - start))
    return found[8:]


def calls(settings: Settings, ask: Callable[[TestClient, int], object]) -> Counter[CodeType]:
    """Calls that one such question makes."""
    noted = Noted()
    threading.setprofile(noted)
    try:
        with TestClient(create_app(settings)) as client:
            # Questions of their own: those of the times are kept, and would warm nothing of this application.
            for n in range(201, 209):
                ask(client, n)
            noted.open = True
            ask(client, 209)
            noted.open = False
    finally:
        threading.setprofile(None)
    return noted.seen


def main() -> None:
    """Seed a database of its own, warm up, time and count."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(database_url=f"sqlite:///{folder}/passes.db")
        engine = create_engine_from_url(settings.database_url)
        upgrade(engine)
        load_seed(engine)
        engine.dispose()
        for name, ask in REQUESTS.items():
            with TestClient(create_app(settings)) as client:
                times = times_ms(client, ask)
            seen = calls(settings, ask)
            named = {code for code in seen if not code.co_name.startswith("<")}
            modules = {code.co_filename for code in named}
            print(
                f"{name}: {len(named)} functions in {len(modules)} modules, {sum(seen.values())} calls, "
                f"p50 {median(times):.1f} ms, least {min(times):.1f} ms"
            )


if __name__ == "__main__":
    main()
