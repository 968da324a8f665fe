"""The command line: the same questions and answers as the API, and what it takes to run an instance."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from app import __version__
from app.commands import (
    accuracy,
    bench,
    calculations,
    calibrate,
    compare,
    database,
    editors,
    importing,
    keys,
    server,
    verify,
)
from app.commands.output import CommandFailure, complain, words_of
from app.services.maintenance import DatabaseProblem

DESCRIPTION = "Which GPU to buy or rent for a model, and why. Settings come from CARDWORTH_* variables."


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(prog="cardworth", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"cardworth {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    server.add_commands(commands)
    calculations.add_commands(commands)
    compare.add_commands(commands)
    accuracy.add_commands(commands)
    calibrate.add_commands(commands)
    database.add_commands(commands)
    keys.add_commands(commands)
    editors.add_commands(commands)
    importing.add_commands(commands)
    verify.add_commands(commands)
    bench.add_commands(commands)
    for command in _leaves(parser):
        if "--lang" not in command.format_usage():
            command.add_argument("--lang", choices=("zh", "en"), help="language of the texts")
    return parser


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that do something: those without commands of their own."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield parser
    for group in groups:
        for command in group.choices.values():
            yield from _leaves(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 = done, 2 = the question is at fault, 3 = the database is, 4 = a price is stale."""
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
    except CommandFailure as failure:
        complain(_in_words(failure, options))
        return failure.exit_code
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        sys.stderr.close()
        return 0
    return 0


def _in_words(failure: CommandFailure, options: argparse.Namespace) -> str:
    """What went wrong, in the language of the command where it is known there."""
    problem = failure.__cause__
    if not isinstance(problem, DatabaseProblem):
        return str(failure)
    _ = words_of(options)
    todo = _(" Run: {command}").format(command=problem.command) if problem.command else ""
    return _(problem.sentence) + todo


if __name__ == "__main__":
    sys.exit(main())
