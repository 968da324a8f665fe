"""Which modules a list of names, globs or regular expressions means.

Regular expressions come from strangers: they are not run. What such lists use, literals, `.*`, digits, groups
of alternatives, is matched here in time that grows with the length of the name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_ALTERNATIVES = 64
MAX_PATTERN = 400
MAX_GENERAL = 100
MAX_OF_LAYER = 16
"""Patterns that are no plain names, in all and of one layer: the first so many are used."""
TOWER_WORDS = ("vision", "visual", "vit", "audio", "image", "tower", "projector", "merger", "mm_")
_ANY = "\0"
_ONE = "\1"
_DIGITS = "\2"
_PREFIXES = re.compile(r"^.*?\b(?:layers|blocks|h)\.(?=[\d*\[(\\.\0\1\2])")
_LAYER = re.compile(r"layers\.(\d{1,4})(?=$|[.\0])")
_DIGIT_PATTERN = re.compile(r"\\d[+*]?|\[0-9\][+*]?|\[\\d\][+*]?")


class Unreadable(ValueError):
    """A pattern of a kind that lists of modules do not use."""


class Patterns:
    """A list of modules, by any of the ways in which such lists name them."""

    def __init__(self, listed: Iterable[object]) -> None:
        self.plain: set[str] = set()
        """Names, or parts of paths, that say nothing of a layer."""
        self.paths: set[str] = set()
        """Paths that begin at a layer."""
        self.starts: set[str] = set()
        self.general: list[list[str]] = []
        """Patterns that say nothing of a layer, in pieces."""
        self.of_layer: dict[int, list[list[str]]] = {}
        """Patterns that name one layer."""
        self.unreadable: list[str] = []
        self.towers = False
        for entry in listed:
            if isinstance(entry, str) and entry:
                self._add(entry[:MAX_PATTERN])
        self._start_lengths = sorted({len(start) for start in self.starts})

    def __bool__(self) -> bool:
        own = self.plain or self.paths or self.starts or self.general
        return bool(own or self.of_layer or self.towers)

    def _add(self, entry: str) -> None:
        expression = entry.startswith("re:")
        body = entry[3:] if expression else entry
        if any(word in body.lower() for word in TOWER_WORDS):
            self.towers = True
        if expression:
            try:
                forms = _forms(body)
            except Unreadable:
                self.unreadable.append(entry)
                return
        else:
            forms = [body.replace("*", _ANY).replace("?", _ONE)]
        for form in forms:
            self._keep(within_layers(form))

    def _keep(self, form: str) -> None:
        bare = form.rstrip(_ANY).rstrip(".")
        if not any(mark in form for mark in (_ANY, _ONE, _DIGITS)):
            path = form.strip(".")
            (self.paths if _LAYER.match(path) else self.plain).add(path)
        elif not any(mark in bare for mark in (_ANY, _ONE, _DIGITS)) and not form.startswith(_ANY):
            self.starts.add(form.rstrip(_ANY))
        elif named := _LAYER.search(form):
            same = self.of_layer.setdefault(int(named[1]), [])
            if len(same) < MAX_OF_LAYER:
                same.append(form.split(_ANY))
        elif len(self.general) < MAX_GENERAL:
            self.general.append(form.split(_ANY))

    def match(self, names: Sequence[str]) -> bool:
        """Whether any of the names of one module is meant: itself, a part of its path, or by a pattern."""
        return self.match_any_layer(names) or self.match_layer(names)

    def match_any_layer(self, names: Sequence[str]) -> bool:
        """By the patterns that say nothing of a layer: the same for a module of every layer."""
        if self.plain and any(part in self.plain for name in names for part in _parts(name)):
            return True
        return any(_fits(pieces, name) for name in names for pieces in self.general)

    def match_layer(self, names: Sequence[str]) -> bool:
        """By what names a layer: paths, beginnings, patterns of one layer."""
        return any(self._match_layer(name) for name in names)

    def _match_layer(self, name: str) -> bool:
        if self.paths and any(path in self.paths for path in _beginnings(name)):
            return True
        if any(name[:length] in self.starts for length in self._start_lengths):
            return True
        layer = _LAYER.match(name) if self.of_layer else None
        same = self.of_layer.get(int(layer[1]), []) if layer else []
        return any(_fits(pieces, name) for pieces in same)


def within_layers(path: str) -> str:
    """A path without what stands before its layer: model.language_model.layers.3.mlp -> layers.3.mlp."""
    found = _PREFIXES.match(path)
    if found is None or any(word in found[0].lower() for word in TOWER_WORDS):
        return path
    return "layers." + path[found.end() :]


def _beginnings(name: str) -> list[str]:
    """A path and those above it, down to its layer."""
    found = [name]
    while (end := name.rfind(".")) > 0:
        name = name[:end]
        found.append(name)
    return found


def _parts(name: str) -> list[str]:
    """Every run of neighbouring steps of a path: what a plain entry may name."""
    steps = name.split(".")[:12]
    return [".".join(steps[i:j]) for i in range(len(steps)) for j in range(i + 1, len(steps) + 1)]


def _fits(pieces: list[str], name: str) -> bool:
    """A glob of pieces that may stand apart; the first and last one are bound to the ends."""
    position = 0
    last = len(pieces) - 1
    for index, piece in enumerate(pieces):
        if not piece:
            continue
        end = _find(piece, name, position, bound=index == 0, at_end=index == last)
        if end < 0:
            return False
        position = end
    # A path below a module that is named whole belongs to it.
    return not pieces[-1] or position == len(name) or name[position] == "."


def _find(piece: str, name: str, start: int, *, bound: bool, at_end: bool) -> int:
    """Where the first place of a piece from `start` on ends, -1 where there is none."""
    for at in [start] if bound else range(start, len(name)):
        end = _at(piece, name, at)
        if end >= 0 and (not at_end or end == len(name) or name[end] == "."):
            return end
    return -1


def _at(piece: str, name: str, position: int) -> int:
    """The end of a piece that stands at a position, -1 where it does not."""
    for sign in piece:
        if sign == _DIGITS:
            begin = position
            while position < len(name) and name[position].isdigit():
                position += 1
            if position == begin:
                return -1
        elif position < len(name) and sign in (_ONE, name[position]):
            position += 1
        else:
            return -1
    return position


def _forms(expression: str) -> list[str]:
    """A regular expression as globs, one for each choice among its alternatives."""
    body = expression.strip()
    body = body.removeprefix("^").removesuffix("$")
    body = _DIGIT_PATTERN.sub(_DIGITS, body).replace(".*?", ".*").replace("(?:", "(")
    body = (
        body.replace("\\.", "\3").replace(".*", _ANY).replace(".+", _ONE + _ANY).replace("[^.]+", _ONE + _ANY)
    )
    forms = _expand(body)
    found = []
    for form in forms:
        plain = form.replace(".", _ONE).replace("\3", ".").replace("\\-", "-").replace("\\_", "_")
        if any(sign in plain for sign in "()[]{}|+*\\^$?"):
            raise Unreadable(expression)
        found.append(plain)
    return found


def _expand(body: str) -> list[str]:
    """Groups of alternatives multiplied out."""
    forms, queue = [], [body]
    while queue:
        text = queue.pop()
        start = text.rfind("(")
        if start < 0:
            forms += text.split("|") if "|" in text else [text]
            continue
        end = text.find(")", start)
        inner = text[start + 1 : end]
        if end < 0 or inner.startswith("?"):
            raise Unreadable(body)
        optional = text[end + 1 : end + 2] == "?"
        choices = inner.split("|") + ([""] if optional else [])
        queue += [text[:start] + choice + text[end + 1 + optional :] for choice in choices]
        if len(queue) + len(forms) > MAX_ALTERNATIVES:
            raise Unreadable(body)
    return forms
