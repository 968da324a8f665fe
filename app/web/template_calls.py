"""What templates call hundreds of times for each page, made short: macros, words, figures, attributes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import FunctionType, MethodType
from typing import Any

from jinja2 import Environment
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

from app.web.form import FormState
from app.web.formatting import raw

MARKS = frozenset({"glyph", "basis", "basis_mark", "verdict"})
"""Macros that their arguments alone decide, all of them short codes."""
FIELDS = frozenset({"number", "text", "area", "select", "segmented", "check", "control"})
"""Macros of the form: besides their arguments, the text and the faults of their field decide."""
KEPT_MACROS = 4096
LONGEST_KEPT = 64
"""Characters of a field's text: what is longer is hardly typed twice."""
_DICT_NAMES = frozenset(dir(dict))
_PLAIN_NUMBERS = frozenset({int, float})


class PageEnvironment(Environment):
    """Templates that look an attribute of a dict up as a key first, and remember what short macros said."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_class = PageContext
        self.kept: dict[Hashable, Any] = {}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As jinja2 does, which on a dict would first raise an error for each key."""
        if type(obj) is dict and attribute in obj and attribute not in _DICT_NAMES:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def remember(self, key: Hashable, said: Any) -> Any:
        """Keep what a macro said; when there is too much of it, all is forgotten."""
        if len(self.kept) >= KEPT_MACROS:
            self.kept.clear()
        self.kept[key] = said
        return said


class PageContext(Context):
    """A context that asks its callables less often what they are."""

    environment: PageEnvironment

    def call(self, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """As jinja2 does, without its search for marks on macros and on plain functions."""
        kind = type(obj)
        plain = (kind is FunctionType or kind is MethodType) and not hasattr(obj, "jinja_pass_arg")
        if kwargs and (plain or kind is Macro):
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
        if plain:
            return obj(*args, **kwargs)
        if kind is Macro:
            key = _key(obj.name, args, kwargs)
            if key is None:
                return obj(self.eval_ctx, *args, **kwargs)
            said = self.environment.kept.get(key)
            return said or self.environment.remember(key, obj(self.eval_ctx, *args, **kwargs))
        return super().call(obj, *args, **kwargs)


def _key(macro: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable | None:
    """What decides a macro's output; None where it is not kept."""
    if macro in MARKS:
        return macro, args, *kwargs.items()
    if macro not in FIELDS or not args or type(args[0]) is not FormState:
        return None
    state, name, *rest = args
    if macro == "control":
        # One control, which is named by itself and drawn by what it holds.
        name, rest = name.name, [name]
    texts = state.many(name)
    if any(len(text) > LONGEST_KEPT for text in texts):
        return None
    options = tuple(tuple(value) if type(value) is list else value for value in rest)
    faults = tuple(state.errors.get(name, ()))
    return macro, name, texts, faults, options, *kwargs.items()


def words(gettext: Callable[[str], str]) -> Callable[..., Markup]:
    """The templates' `_`: a translation with its variables put in, escaped.

    Parameters
    ----------
    gettext: the translation of a text.

    Returns
    -------
    A function of the text and its variables; jinja2's own would translate and parse it anew each time.
    """
    plain: dict[str, Markup] = {}

    def translate(message: str, /, **variables: Any) -> Markup:
        if not variables:
            said = plain.get(message)
            if said is None:
                said = plain[message] = Markup(gettext(message) % {})
            return said
        shown = {k: v if type(v) in _PLAIN_NUMBERS else escape(v) for k, v in variables.items()}
        return Markup(gettext(message) % shown)

    return translate


def figure(at: Any, path: str, text: Any, value: Any = None) -> Markup:
    """A figure that opens: a link to its explanation, which the script turns into the popover."""
    return Markup(
        f'<a class="fig" href="{escape(at.explain(path))}" data-field="{escape(path)}"'
        f' data-value="{escape(raw(value))}">{escape(text)}</a>'
    )


def plain_figure(path: str, text: Any, value: Any = None) -> Markup:
    """The same value without a link: still to be read by a program."""
    return Markup(
        f'<span data-field="{escape(path)}" data-value="{escape(raw(value))}">{escape(text)}</span>'
    )
