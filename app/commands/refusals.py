"""What a question can be refused for, as a sentence and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.commands.output import EXIT_INPUT, EXIT_STALE, CommandFailure
from app.core.faults import InputFault
from app.services.calculator import StalePrice
from app.texts.say import say_fault, say_message


@contextmanager
def refusals(language: str) -> Iterator[None]:
    """A question at fault becomes its faults by field (exit code 2), a stale price its sentence (4)."""
    try:
        yield
    except InputFault as fault:
        lines = [f"{e.pointer or '/'}: {say_fault(e, language)}" for e in fault.errors]
        raise CommandFailure("\n".join(lines), EXIT_INPUT) from fault
    except StalePrice as stale:
        raise CommandFailure(say_message(stale.message, language), EXIT_STALE) from stale
