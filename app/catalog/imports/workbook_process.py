"""The process that reads one workbook: bounded before it begins, then its rows as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import date, datetime, timedelta
from datetime import time as clock
from typing import Any

from app.catalog.imports.values import ImportRefused


def main(max_memory_bytes: int, max_cpu_seconds: int, max_sheets: int, max_rows: int) -> None:
    """Read a workbook from the input and write its sheets, or why it is refused, to the output."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_seconds, max_cpu_seconds + 1))
    try:
        from app.catalog.imports.workbook import read_sheets

        sheets = read_sheets(sys.stdin.buffer.read(), max_sheets, max_rows)
        answer = json.dumps(
            {"sheets": [(name, sheet.lines, sheet.rows) for name, sheet in sheets]}, default=_written
        )
    except ImportRefused as refused:
        answer = json.dumps({"refused": refused.code, "params": refused.params})
    except MemoryError:
        answer = json.dumps({"refused": "file_takes_too_much", "params": {}})
    sys.stdout.write(answer)
    sys.stdout.flush()
    # Nothing is left to tidy up, and taking down what was read takes longer than reading it.
    os._exit(0)


def _written(value: object) -> dict[str, Any]:
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, clock):
        return {"time": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    return {"text": str(value)}
