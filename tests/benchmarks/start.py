"""Starting the server: from nothing, and over a database that is there already."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.commands.bench import Client
from app.services.benchmark import Figure
from tests.conftest import ROOT

PATIENCE_S = 600.0
FIRST_START_S, COLD_START_S = 20.0, 3.0


@dataclass(frozen=True, slots=True)
class Served:
    """A server of its own process that answers."""

    port: int
    pid: int
    ready_s: float
    """From the start of the process to the first 200 on /readyz."""

    cpu_s: float
    """Processor time that took: what a busy machine leaves of the figure above."""

    def client(self) -> Client:
        """A new connection."""
        return Client(self.port)

    def memory_mb(self) -> float:
        """Resident memory of the process, 10^6 bytes (Linux)."""
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return float(line.split()[1]) * 1024 / 1e6
        raise RuntimeError("the system does not say how much memory a process holds")


@contextmanager
def server(database: Path) -> Iterator[Served]:
    """`cardworth serve` over a database file, until it is ready and no longer than needed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {
        **os.environ,
        "CARDWORTH_DATABASE_URL": f"sqlite:///{database}",
        "CARDWORTH_HOST": "127.0.0.1",
        "CARDWORTH_PORT": str(port),
        "CARDWORTH_CALCULATIONS_PER_MINUTE": "100000000",
        "CARDWORTH_LOG_LEVEL": "error",
    }
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "app.cli", "serve"], cwd=ROOT, env=environment)
    try:
        while not _ready(port):
            if process.poll() is not None or time.perf_counter() - start > PATIENCE_S:
                raise RuntimeError("the server did not get ready")
            time.sleep(0.01)
        yield Served(port, process.pid, time.perf_counter() - start, _cpu_s(process.pid))
    finally:
        process.terminate()
        process.wait(30)


def _cpu_s(pid: int) -> float:
    """Processor seconds of a process, its own and the system's for it (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def start_figures(folder: Path) -> Iterator[Figure]:
    """The first start, which migrates and seeds, and the next one."""
    database = folder / "start.db"
    for name, budget in (
        ("first start with seed, to /readyz", FIRST_START_S),
        ("cold start, to /readyz", COLD_START_S),
    ):
        with server(database) as served:
            yield Figure(name, served.ready_s, "s", budget)
            yield Figure("... processor time", served.cpu_s, "s")
            if budget == COLD_START_S:
                yield Figure("memory of the server at rest", served.memory_mb(), "MB")
