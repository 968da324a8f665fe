"""Write the section of seed_data/README.md that lists every column: python -m app.catalog.columns."""

from __future__ import annotations

from collections.abc import Iterator

from app.catalog.columns import KINDS
from app.catalog.columns.cells import FIGURES
from app.catalog.columns.kinds import Column, DataKind
from app.resources import resource_path

START, END = "<!-- columns: made by `make columns` -->", "<!-- end of columns -->"
MOST_CHOICES = 14
"""More of them stand elsewhere, the figures in a table of their own."""


def documented(text: str) -> str:
    """The README with its section of columns as they are declared now."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return "".join((before, START, "\n", "\n".join(_lines()), "\n", END, after))


def _lines() -> Iterator[str]:
    for kind in KINDS.values():
        yield from ("", f"### {kind.file or kind.name}", "", f"{kind.about[0].upper()}{kind.about[1:]}.", "")
        yield from ("| column | header in an import | what | cells |", "|---|---|---|---|")
        yield from (_line(kind, column) for column in kind.columns if column.name not in FIGURES)
        if kind.name == "gpus":
            yield "| one for each figure | the same | only in an import: a figure | number |"
    yield from ("", "### Figures", "", "| figure | unit | meaning |", "|---|---|---|")
    yield from (f"| {name} | {figure.unit} | {figure.about} |" for name, figure in FIGURES.items())
    yield ""


def _line(kind: DataKind, column: Column) -> str:
    stored = column.name in kind.in_file if kind.file else column.stored
    name = column.file_header if stored else f"({column.name})"
    headers = f"{column.english}, {column.chinese}" if column.chinese else ""
    # A list of the choices is no description of its own.
    note = "" if column.note.split(", ")[0] in column.choices else column.note
    what = "; ".join(filter(None, (column.about, note)))
    return f"| {name} | {headers} | {what} | {'; '.join(_cells(column))} |".replace("  ", " ")


def _cells(column: Column) -> Iterator[str]:
    yield column.unit or (
        "date" if column.dated else column.kind if column.stored else column.reader or "text"
    )
    if column.required or column.asked:
        yield (
            "needed"
            if column.required == column.asked or not column.chinese
            else ("needed in an import" if column.asked else "needed in the file")
        )
    choices = [word for word in column.choices if word]
    if 0 < len(choices) <= MOST_CHOICES:
        yield ", ".join(choices)
    if column.refers_to:
        yield f"id of {KINDS[column.refers_to].file}"


def main() -> None:
    """Renew the section."""
    path = resource_path("seed_data", "README.md")
    path.write_text(documented(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
