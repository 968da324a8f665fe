"""Workbooks are read by a process of their own, one at a time, that may take so much memory and time.

The process runs this file's neighbour `workbook.py`. It gets the file by its input and answers with JSON; it
is ended when its time is up, and when whoever asked has left.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from datetime import time as clock
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from app.catalog.imports.deadline import Deadline
from app.catalog.imports.sheets import MAX_BYTES, MAX_ROWS, Sheet
from app.catalog.imports.values import ImportRefused
from app.errors import AppError

MAX_MEMORY_BYTES = 200_000_000
"""Of address space, the program itself included."""
MAX_CPU_SECONDS = 2
MAX_WALL_SECONDS = 8.0
"""On a machine that is busy otherwise."""
MAX_ANSWER_BYTES = 40_000_000
MAX_WAITING = 4
"""Askers that may wait for their turn: each holds a thread of the server."""
MAX_WAIT_SECONDS = 10.0
MAX_SHEETS = 12
_ZIP = b"PK\x03\x04"
_POLL_SECONDS = 0.05
_PACKAGE = Path(__file__).resolve().parents[2]
_PROGRAM = """
import json, sys, types
sys.path[:] = json.loads(sys.argv[1])
# The package itself would read the constants of the core, and the reader of workbooks takes numpy along where
# it is there: both cost more than the file.
package = sys.modules["app"] = types.ModuleType("app")
package.__path__ = [sys.argv.pop(2)]
sys.modules["numpy"] = None
from app.catalog.imports.workbook_process import main
main(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
"""

_turn = threading.Lock()
_waiting = threading.Semaphore(MAX_WAITING)


def is_workbook(content: bytes) -> bool:
    """Whether a file of a size that is read at all is an archive, as workbooks are."""
    return len(content) <= MAX_BYTES and content.startswith(_ZIP)


def read_workbook(content: bytes, deadline: Deadline, max_rows: int = MAX_ROWS) -> Sheet:
    """Rows of the first sheet that has any; dates come as dates, formulas as the values last computed.

    Errors
    ------
    As `read_workbook_sheets`.
    """
    return read_workbook_sheets(content, deadline, max_rows, 1)[0][1]


def read_workbook_sheets(
    content: bytes, deadline: Deadline, max_rows: int = MAX_ROWS, limit: int = MAX_SHEETS
) -> list[tuple[str, Sheet]]:
    """Name and rows of the visible sheets that have any, in their order, at most so many.

    Errors
    ------
    ImportRefused: bad_workbook, zip_bomb, file_empty, too_many_rows, too_many_columns, too_many_cells,
    too_many_merges, cell_too_long, file_takes_too_long, file_takes_too_much, nobody_waits. AppError 503 where
    too many workbooks wait already.
    """
    with _one_at_a_time(deadline):
        answer = _ask(content, deadline, limit, max_rows)
    if "refused" in answer:
        raise ImportRefused(answer["refused"], **answer["params"])
    return [
        (name, Sheet(tuple(lines), tuple(tuple(_cell(c) for c in row) for row in rows)))
        for name, lines, rows in answer["sheets"]
    ]


@contextmanager
def _one_at_a_time(deadline: Deadline) -> Iterator[None]:
    if not _waiting.acquire(blocking=False):
        raise _busy()
    try:
        end = time.monotonic() + MAX_WAIT_SECONDS
        while not _turn.acquire(timeout=_POLL_SECONDS):
            deadline.check()
            if time.monotonic() > end:
                raise _busy()
        try:
            yield
        finally:
            _turn.release()
    finally:
        _waiting.release()


def _busy() -> AppError:
    return AppError(
        503,
        "busy",
        "The server is busy",
        "Other workbooks are being read. Try again in a moment.",
        headers={"retry-after": "5"},
    )


def _ask(content: bytes, deadline: Deadline, limit: int, max_rows: int) -> Mapping[str, Any]:
    bounds = map(str, (MAX_MEMORY_BYTES, MAX_CPU_SECONDS, limit, max_rows))
    arguments = [json.dumps(sys.path), str(_PACKAGE), *bounds]
    with TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, *arguments],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            answered = _answer_of(process, deadline)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    if process.returncode == -signal.SIGXCPU or process.returncode == -signal.SIGKILL:
        raise ImportRefused("file_takes_too_long")
    if process.returncode != 0 or not answered:
        raise ImportRefused("file_takes_too_much")
    if len(answered) > MAX_ANSWER_BYTES:
        raise ImportRefused("file_takes_too_much")
    found: Mapping[str, Any] = json.loads(answered)
    return found


def _answer_of(process: subprocess.Popen[bytes], deadline: Deadline) -> bytes:
    end = time.monotonic() + MAX_WALL_SECONDS
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_POLL_SECONDS)[0]
        deadline.check()
        if time.monotonic() > end:
            raise ImportRefused("file_takes_too_long")


def _cell(value: Any) -> Any:
    """A cell as the process wrote it: what JSON has no word for stands in an object that says its kind."""
    if not isinstance(value, dict):
        return value
    kind, written = next(iter(value.items()))
    return _READ[kind](written)


_READ: Mapping[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": clock.fromisoformat,
    "seconds": lambda seconds: timedelta(seconds=seconds),
    "text": str,
}
