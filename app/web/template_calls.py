"""What templates call hundreds of times for each page, made short: macros, functions, figures."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

from app.web.formatting import raw


class PageContext(Context):
    """A context that asks its callables less often what they are."""

    def call(self, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """As jinja2 does, without its search for marks on macros and on plain functions."""
        kind = type(obj)
        if kind is Macro:
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return obj(self.eval_ctx, *args, **kwargs)
        if (kind is FunctionType or kind is MethodType) and not hasattr(obj, "jinja_pass_arg"):
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return obj(*args, **kwargs)
        return super().call(obj, *args, **kwargs)


_FIGURE = Markup('<a class="fig" href="%s" data-field="%s" data-value="%s">%s</a>')
_PLAIN = Markup('<span data-field="%s" data-value="%s">%s</span>')


def figure(at: Any, path: str, text: Any, value: Any = None) -> Markup:
    """A figure that opens: a link to its explanation, which the script turns into the popover."""
    return _FIGURE % (escape(at.explain(path)), escape(path), escape(raw(value)), escape(text))


def plain_figure(path: str, text: Any, value: Any = None) -> Markup:
    """The same value without a link: still to be read by a program."""
    return _PLAIN % (escape(path), escape(raw(value)), escape(text))
