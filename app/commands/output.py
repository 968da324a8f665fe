"""What commands print: text, JSON, complaints."""

from __future__ import annotations

import argparse
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from app.texts.language import negotiate, translations

EXIT_INPUT = 2
EXIT_DATABASE = 3
EXIT_STALE = 4


class CommandFailure(Exception):
    """A command cannot do what it was asked; the text is for the one who typed it."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def words_of(options: argparse.Namespace) -> Callable[[str], str]:
    """Looks a sentence up in the language that the command was asked for."""
    return translations(language_of(options.lang)).gettext


def write(text: str = "") -> None:
    """One line on standard output."""
    sys.stdout.write(text + "\n")


def write_json(body: Any) -> None:
    """A body of the API, readable."""
    write(json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2))


def write_line(body: Any) -> None:
    """A body as one line, at once: another program waits for it."""
    write(json.dumps(body, ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def complain(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"cardworth: {text}\n")


def language_of(stated: str | None) -> str:
    """Language of the texts: as stated, else that of the terminal, else English."""
    terminal = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return negotiate(stated, terminal.partition(".")[0], None, "en")


def width(text: str) -> int:
    """Columns that a text takes on a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table(rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset({0})) -> list[str]:
    """Lines of a table with a rule under its head; columns not in `left` are aligned right."""
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for i, cell in enumerate(row):
            gap = " " * (widths[i] - width(cell))
            cells.append(cell + gap if i in left else gap + cell)
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("─" * w for w in widths))
    return lines
