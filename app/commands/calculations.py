"""memory, fit, speed, shortlist: the API's calculations from flags or a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from app.commands import question, report
from app.commands.database import read_settings, trouble
from app.commands.output import language_of, write, write_json
from app.commands.refusals import refusals
from app.services import calculator, maintenance
from app.services.answers import as_json, with_currency


def add_commands(commands: Any) -> None:
    """Register the commands."""
    for name, text, extra, calculate, show in (
        ("memory", "memory that a workload needs on each card", (), calculator.memory, report.memory),
        (
            "fit",
            "whether it fits, and what would make it fit",
            (question.add_card,),
            calculator.fit,
            report.fit,
        ),
        ("speed", "how fast it runs", (question.add_card,), calculator.speed, report.speed),
        (
            "shortlist",
            "which cards to buy, ranked",
            (question.add_shortlist,),
            calculator.shortlist,
            report.shortlist,
        ),
        (
            "quote-list",
            "which quotes to ask for before buying, as text to send to a supplier",
            (question.add_shortlist,),
            calculator.shortlist,
            report.quote_list,
        ),
    ):
        parser = commands.add_parser(name, help=text, description=text)
        question.add_workload(parser)
        for add in extra:
            add(parser)
        parser.add_argument("--json", action="store_true", help="print the body that the API answers")
        chinese = name == "quote-list"
        parser.add_argument(
            "--lang",
            choices=("zh", "en"),
            default="zh" if chinese else None,
            help="language of the texts" + (", Chinese unless stated" if chinese else ""),
        )
        if name == "shortlist":
            parser.add_argument(
                "--currency", choices=("CNY", "USD"), default="CNY", help="USD beside the yuan"
            )
        parser.set_defaults(run=_runner(calculate, show))


def _runner(
    calculate: Callable[..., Any], show: Callable[[Any, str], list[str]]
) -> Callable[[argparse.Namespace], None]:
    def run(options: argparse.Namespace) -> None:
        language = language_of(options.lang)
        body = question.body_of(options)
        with (
            trouble(),
            maintenance.open_catalogue(read_settings().database_url) as snapshot,
            refusals(language),
        ):
            found = calculate(body, snapshot, _today())
            if hasattr(options, "currency"):
                found = with_currency(found, options.currency, snapshot, date.fromisoformat(found.as_of))
        if options.json:
            write_json(as_json(found, language))
        else:
            for line in show(found, language):
                write(line)

    return run


def _today() -> date:
    return datetime.now(UTC).date()
