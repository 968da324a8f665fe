"""What `make texts` finds in Python: marked texts, and those that formulas and errors carry unmarked.

Core imports nothing of the application, so its formulas cannot mark their texts; errors are said in English
to a program and translated for a page. Read from the syntax tree, so that f-strings hide nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, BinaryIO

# By the name of what is called: how many leading arguments are texts.
MARKS: Mapping[str, int] = {"N_": 1, "NP_": 2, "_": 1, "gettext": 1, "ngettext": 2, "pgettext": 2}
# Positions and names of the arguments that a reader sees.
CARRIERS: Mapping[str, tuple[tuple[int, str], ...]] = {
    "Formula": ((1, "title"), (2, "expression"), (5, "validity")),
    "Symbol": ((1, "text"),),
    "Constant": ((3, "text"),),
    "constants": ((3, "text"),),
    "AppError": ((2, "title"), (3, "detail")),
    "DatabaseProblem": ((1, "sentence"),),
    # The declared fields of a question.
    "declared": ((2, "label"), (3, "help"), (9, "title"), (9, "unit"), (9, "hint")),
    "placed": ((2, "label"), (3, "help"), (9, "title"), (9, "unit"), (9, "hint")),
    "_degree": ((0, "label"), (1, "help")),
    "_offloaded": ((0, "label"), (1, "help")),
    "_asked": ((0, "label"), (1, "help")),
}
Found = tuple[int, str, str | tuple[str, ...], list[str]]


def python(
    file: BinaryIO, keywords: Mapping[str, Any], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[Found]:
    """Messages of a Python file as Babel wants them: line, function, text, comments."""
    del keywords, comment_tags, options
    for node in ast.walk(ast.parse(file.read())):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [text for argument in node.args[: MARKS.get(name, 0)] for text in _text(argument)]
        if texts and len(texts) == MARKS[name]:
            yield node.lineno, name, tuple(texts) if len(texts) > 1 else texts[0], []
        for position, keyword in CARRIERS.get(name, ()):
            named = [k.value for k in node.keywords if k.arg == keyword]
            for argument in named or node.args[position : position + 1]:
                yield from ((node.lineno, "N_", text, []) for text in _text(argument))


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
