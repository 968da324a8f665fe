"""Engines, one file each with everything the product knows of it; an unknown name is an error.

A file of this folder defines `FRAMEWORK`, and `ENGINE` where a question may name it: nothing else has to be
edited for a new one.
"""

from __future__ import annotations

import importlib
import pkgutil

from app.core.engines.published import STACKS
from app.core.engines.record import NEEDS, PUBLISHED, Engine, Framework

AUTO = "auto"
"""Choice of a question that leaves the engine to us."""


class UnknownEngine(LookupError):
    """No record has this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no engine {name!r}; there are {', '.join(known)}")
        self.name = name
        self.known = known


_ENGINES: dict[str, Engine] = {}
_FRAMEWORKS: dict[str, Framework] = {}
_CHOSEN: dict[str, Engine] = {}
_STAND_INS: dict[str, Engine] = {}
_WORDS: dict[str, str] = {word: stack.label for stack in STACKS for word in stack.words}


def register(engine: Engine) -> None:
    """Add an engine before the modules that list choices are imported.

    Errors
    ------
    ValueError where another engine has its name, or serves the same need.
    """
    wanted = (
        (_CHOSEN, engine.chosen_for),
        (_STAND_INS, (*engine.rows.stands_in_for, *engine.rows.stands_in_for_unknown)),
    )
    for taken, needs in wanted:
        for need in needs:
            if need in taken:
                raise ValueError(f"{need}: both {taken[need].name} and {engine.name}")
    _add_framework(engine.framework)
    for taken, needs in wanted:
        taken.update(dict.fromkeys(needs, engine))
    _WORDS.update(dict.fromkeys(engine.rows.words, engine.name))
    _ENGINES[engine.name] = engine


def engine(name: str) -> Engine:
    """The record of a name.

    Errors
    ------
    UnknownEngine for any name that no record has.
    """
    found = _ENGINES.get(name)
    if found is None:
        raise UnknownEngine(name, names())
    return found


def is_engine(name: str) -> bool:
    """Whether a question may name it."""
    return name in _ENGINES


def all_engines() -> tuple[Engine, ...]:
    """Every engine in the order of choices."""
    return tuple(sorted(_ENGINES.values(), key=lambda e: e.place))


def names() -> tuple[str, ...]:
    """Names of all engines in the order of choices, without `auto`."""
    return tuple(e.name for e in all_engines())


def chosen_for(need: str) -> Engine:
    """The engine that `auto` takes for one of `record.NEEDS`."""
    return _CHOSEN[need]


def stand_in(stack: str, kind: str) -> Engine:
    """The engine of which rows of a published stack are asked: by its name, else by their kind."""
    return _ENGINES.get(stack) or _STAND_INS.get(stack) or _STAND_INS[kind]


def label_of(text: str) -> str:
    """Engine or published stack that a framework's text names, by its longest known word; else empty."""
    lower = text.lower()
    found = [word for word in _WORDS if word in lower]
    return _WORDS[max(found, key=len)] if found else ""


def framework(name: str) -> Framework | None:
    """The framework or engine of a name that a filter may carry; None for one that nobody knows."""
    return _FRAMEWORKS.get(name)


def framework_of(name: str) -> Framework:
    """The framework or engine of a name; UnknownEngine for any that no record has."""
    found = _FRAMEWORKS.get(name)
    if found is None:
        raise UnknownEngine(name, tuple(_FRAMEWORKS))
    return found


def frameworks() -> tuple[Framework, ...]:
    """Every framework and engine."""
    return tuple(_FRAMEWORKS.values())


def framework_named(name: str) -> str:
    """The name of a framework by that of its package: torch is pytorch; other names stay as they are."""
    return next((f.name for f in _FRAMEWORKS.values() if name in f.packages), name)


def framework_names() -> tuple[str, ...]:
    """Frameworks and engines that a question may ask for, in the order of choices."""
    asked = [(f.filter_place, f.name) for f in _FRAMEWORKS.values() if f.filter_place is not None]
    return tuple(name for _, name in sorted(asked))


def titles() -> dict[str, str]:
    """By name, how a reader sees every engine and framework."""
    return {name: found.title for name, found in _FRAMEWORKS.items()}


def title(name: str) -> str:
    """How a reader sees an engine or framework; a name that a filter carries and nobody knows stays."""
    found = _FRAMEWORKS.get(name)
    return found.title if found else name


def _add_framework(found: Framework) -> None:
    if found.name in _FRAMEWORKS:
        raise ValueError(f"two records for {found.name}")
    _FRAMEWORKS[found.name] = found


def read_again() -> None:
    """Build the records anew, after a constant that they are made of was tried at another value."""
    for name, found in list(_ENGINES.items()):
        module = next(
            m for m in map(importlib.import_module, _modules()) if getattr(m, "ENGINE", None) is found
        )
        _ENGINES[name] = importlib.reload(module).ENGINE
    for table in (_CHOSEN, _STAND_INS):
        for need, old in table.items():
            table[need] = _ENGINES[old.name]


def _modules() -> tuple[str, ...]:
    return tuple(f"{__name__}.{name}" for name in sorted(m.name for m in pkgutil.iter_modules(__path__)))


def _collect() -> None:
    for module in _modules():
        found = importlib.import_module(module)
        if hasattr(found, "ENGINE"):
            register(found.ENGINE)
        elif hasattr(found, "FRAMEWORK"):
            _add_framework(found.FRAMEWORK)
    lacking = (set(NEEDS) - set(_CHOSEN)) | (set(PUBLISHED) - set(_STAND_INS))
    if lacking:
        raise ValueError(f"no engine for {sorted(lacking)}")


_collect()
