"""What templates call most: what is put into a text is escaped, what is kept is told apart."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from jinja2 import meta

from app.web.form import FormState
from app.web.links import GpuLinks
from app.web.render import environment
from app.web.template_calls import FIELDS, LONGEST_KEPT, MARKS, figure, plain_figure, words
from tests.conftest import ROOT

EVIL = "<b>\"&'"
ESCAPED = "&lt;b&gt;&#34;&amp;&#39;"


def test_variables_of_a_text_are_escaped_and_the_text_is_not() -> None:
    say = words({"%(x)s <i>%%</i>": "%(x)s <em>%%</em>", "20 %%": "20 %%"}.__getitem__)
    assert say("%(x)s <i>%%</i>", x=EVIL) == f"{ESCAPED} <em>%</em>"
    assert say("20 %%") == "20 %" == say("20 %%")
    assert say("%(x)s <i>%%</i>", x=3) == "3 <em>%</em>"


def test_figures_are_escaped() -> None:
    shown = figure(GpuLinks("a&b"), EVIL, EVIL, EVIL)
    assert EVIL not in shown and shown.count(ESCAPED) == 3 and "gpu=a%26b&amp;figure=" in shown
    assert plain_figure(EVIL, EVIL, 1.5) == f'<span data-field="{ESCAPED}" data-value="1.5">{ESCAPED}</span>'


@pytest.mark.parametrize("name", ["macros/marks.html", "macros/form.html"])
def test_kept_macros_are_decided_by_their_arguments(name: str) -> None:
    source = (ROOT / "templates" / name).read_text(encoding="utf-8")
    assert meta.find_undeclared_variables(environment("en").parse(source)) <= {"_"}


def test_kept_macros_have_names_of_their_own() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")]
    defined = Counter(name for text in texts for name in re.findall(r"{%-? macro (\w+)\(", text))
    assert {defined[name] for name in MARKS | FIELDS} == {1}


def field(text: str, *faults: str) -> str:
    """One field of the form as the page writes it."""
    state = FormState({"pue": (text,)}, frozenset(), {"pue": list(faults)} if faults else {})
    template = environment("en").from_string(
        '{% from "macros/form.html" import number with context %}{{ number(f, "pue", "PUE", "x") }}'
    )
    return template.render(f=state)


def test_a_kept_field_follows_its_text_and_its_faults() -> None:
    assert 'value="1.2"' in field("1.2")
    assert 'value="1.3"' in field("1.3")
    assert "aria-invalid" not in field("1.3")
    assert "aria-invalid" in field("1.3", "Too large.") and "Too large." in field("1.3", "Too large.")
    assert field("1.2") == field("1.2")
    kept = environment("en").kept  # type: ignore[attr-defined]
    size = len(kept)
    assert ESCAPED in field(EVIL + "x" * LONGEST_KEPT)
    assert len(kept) == size
