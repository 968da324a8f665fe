"""CSV downloads: raw values, one header line, no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi.responses import Response

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    """Texts that a spreadsheet would compute get an apostrophe before them; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value


def csv_response(name: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """The table as a download; the byte-order mark lets Excel read the Chinese."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return Response(
        "\ufeff" + buffer.getvalue(),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}.csv"', "cache-control": "no-store"},
    )
