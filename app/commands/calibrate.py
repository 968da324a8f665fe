"""calibrate: the fitted constants made again from the measurements of the catalogue, and what moved."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.commands.database import read_settings, trouble
from app.commands.output import CommandFailure, language_of, table, write, write_json
from app.core.speed.fitting import Refitted
from app.services import maintenance
from app.services.calibrating import as_table, refit
from app.texts.language import translations

NO_DATA = "–"
MOVED = 1
"""Exit code where a constant has moved farther than its measurements are from each other."""


def add_commands(commands: Any) -> None:
    """Register the command."""
    text = "make the fitted constants again from the measurements, and show what moved"
    parser = commands.add_parser("calibrate", help=text, description=text)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these constants or tables alone")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the new table of constants")
    parser.add_argument(
        "--check", action="store_true", help=f"exit with {MOVED} where one moved more than its spread"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    with trouble(), maintenance.open_catalogue(read_settings().database_url) as snapshot:
        found = list(refit(snapshot, options.names))
    _ = translations(language_of(options.lang)).gettext
    if not found:
        raise CommandFailure(_("No fitted constant has this name."), 2)
    if options.write:
        options.write.write_text(as_table(found), encoding="utf-8")
    if options.json:
        write_json({"constants": [_body(one) for one in found]})
    else:
        for line in _lines(found, _):
            write(line)
    moved = sum(one.moved for one in found)
    if options.check and moved:
        raise CommandFailure(_("{n} constants moved more than their spread.").format(n=moved), MOVED)


def _body(one: Refitted) -> dict[str, Any]:
    return {
        "constant": one.entry.label,
        "unit": one.entry.unit,
        "shipped": one.entry.value,
        "refitted": one.value,
        "change": one.value / one.entry.value - 1.0,
        "rows": one.n,
        "spread": one.spread,
        "moved": one.moved,
        "estimator": one.entry.estimator,
    }


def _lines(found: Sequence[Refitted], _: Callable[[str], str]) -> list[str]:
    head = [_("constant"), _("shipped"), _("refitted"), _("change"), "n", _("spread"), _("moved")]
    cells = [head]
    for one in sorted(found, key=lambda one: -abs(one.change)):
        cells.append(
            [
                one.entry.label,
                f"{one.entry.value:.3g}",
                f"{one.value:.3g}",
                f"{one.value / one.entry.value - 1.0:+.1%}",
                str(one.n),
                NO_DATA if one.spread is None else f"{one.spread:.2f}",
                _("yes") if one.moved else "",
            ]
        )
    return table(cells)
