"""Templates: one environment for each language, and what every page is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app import __version__
from app.middleware.hosts import local_path
from app.resources import resource_path
from app.services.access import Editor
from app.static_files import asset_url
from app.texts.language import DEFAULT_LANGUAGE, negotiate, translations
from app.web.access import ask_to_sign_in, editor_of
from app.web.formatting import Formats, axis
from app.web.money import Money
from app.web.template_calls import PageEnvironment, figure, plain_figure, words

HTML_LANGUAGE = {"zh": "zh-CN", "en": "en"}
BRAND = {"zh": "\u5361\u503c", "en": "Cardworth"}
BRAND_PAIR = {"zh": "\u5361\u503c Cardworth", "en": "Cardworth \u5361\u503c"}
THEMES = ("system", "light", "dark")
CURRENCIES = ("CNY", "USD")
COOKIES = {"lang": "cw_lang", "theme": "cw_theme", "currency": "cw_currency"}
VARY = "HX-Request, Accept-Language, Cookie"
SEPARATORS = {
    "zh": {"comma": "\uff0c", "semicolon": "\uff1b", "list": "\u3001", "colon": "\uff1a"},
    "en": {"comma": ", ", "semicolon": "; ", "list": ", ", "colon": ": "},
}
YEAR_SECONDS = 31_536_000


@lru_cache(maxsize=4)
def environment(language: str) -> Environment:
    """The templates in one language; compiled once."""
    env = PageEnvironment(
        loader=FileSystemLoader(resource_path("templates")),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    messages = translations(language)
    env.install_gettext_translations(messages, newstyle=True)  # type: ignore[attr-defined]
    env.filters.update(Formats(language, messages.gettext).filters())
    env.globals.update(_=words(messages.gettext), figure=figure, plain_figure=plain_figure)
    env.globals.update(asset_url=asset_url, scale_of=axis)
    return env


def cookie_name(request: Request, which: str) -> str:
    """The cookie's name; browsers take the `__Host-` prefix only under https."""
    prefix = "__Host-" if request.url.scheme == "https" else ""
    return prefix + COOKIES[which]


def choice(request: Request, which: str, allowed: tuple[str, ...]) -> str:
    """What the address or the cookie says about theme or currency, else the first allowed."""
    for value in (request.query_params.get(which), request.cookies.get(cookie_name(request, which))):
        if value in allowed:
            return str(value)
    return allowed[0]


def language_of(request: Request) -> str:
    """The language of the answer."""
    settings = getattr(request.app.state, "settings", None)
    default = getattr(settings, "default_language", "") or DEFAULT_LANGUAGE
    return negotiate(
        request.query_params.get("lang"),
        request.cookies.get(cookie_name(request, "lang")),
        request.headers.get("accept-language"),
        default,
    )


def is_fragment(request: Request) -> bool:
    """Whether htmx or our script asks for a part of the page; after a jump in history it wants the whole."""
    headers = request.headers
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"


def gettext_of(language: str) -> Callable[[str], str]:
    """The translation function of a language."""
    return translations(language).gettext


class Page:
    """One answer in the making: language, currency, theme, and what the frame of every page shows."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.language = language_of(request)
        self.theme = choice(request, "theme", THEMES)
        self.currency = choice(request, "currency", CURRENCIES)
        self._ = gettext_of(self.language)
        self.editor = editor_of(request)
        self.rate: dict[str, Any] | None = None
        self.catalog = ""
        self.catalog_date = ""
        self.query: str | None = None

    def asks(self, query: str) -> None:
        """The question that this page answers, where the address of the request does not say it as typed."""
        self.query = query

    def switch(self, name: str, value: str) -> str:
        """This page with another language, currency or theme."""
        pairs = parse_qsl(self.request.url.query, keep_blank_values=True)
        if self.query is not None:
            frame = [pair for pair in pairs if pair[0] in ("lang", "theme", "currency")]
            pairs = [*parse_qsl(self.query, keep_blank_values=True), *frame]
        pairs = [pair for pair in pairs if pair[0] != name]
        path = local_path(self.request.url.path) if self.request.method == "GET" else "/"
        return f"{path}?{urlencode([*pairs, (name, value)])}"

    @property
    def money(self) -> Money:
        """How amounts are shown."""
        if self.currency == "USD" and self.rate:
            return Money(self.language, "USD", float(self.rate["cny"]))
        return Money(self.language)

    def navigation(self) -> list[tuple[str, str]]:
        """The pages that there are."""
        _ = self._
        return [
            ("/", _("Calculator")),
            ("/gpus", _("GPUs")),
            ("/compare", _("Side by side")),
            ("/models", _("Models")),
            ("/prices", _("Prices")),
            ("/quotes", _("Quotes")),
            ("/benchmarks", _("Benchmarks")),
            ("/method", _("Method")),
            ("/data", _("Data and gaps")),
        ]

    def context(self, section: str) -> dict[str, Any]:
        """What the frame of every page needs."""
        return {
            "request": self.request,
            "language": self.language,
            "html_lang": HTML_LANGUAGE[self.language],
            "brand": BRAND[self.language],
            "brand_pair": BRAND_PAIR[self.language],
            "theme": self.theme,
            "currency": self.money.currency,
            "money": self.money,
            "navigation": self.navigation(),
            "section": section,
            "switch": self.switch,
            "editor": self.editor,
            "versions": {"engine": __version__, "catalog": self.catalog},
            "catalog_date": self.catalog_date,
            "rate": self.rate,
            "print_date": "",
            # Between words that a template joins; Chinese has its own, without a space.
            "sep": SEPARATORS[self.language],
        }

    def render(
        self,
        template: str,
        section: str = "",
        code: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """The page as an answer, with the cookies that its address asked for."""
        body = environment(self.language).get_template(template).render(self.context(section) | values)
        return self.respond(body.encode("utf-8", "replace"), code, headers)

    def respond(self, body: bytes, code: int = 200, headers: Mapping[str, str] | None = None) -> HTMLResponse:
        """A rendered body as an answer to this reader."""
        response = HTMLResponse(
            body, code, {"vary": VARY, "cache-control": "private, no-cache", **(headers or {})}
        )
        response.headers["content-language"] = HTML_LANGUAGE[self.language]
        self._remember(response)
        return response

    def _remember(self, response: HTMLResponse) -> None:
        asked = self.request.query_params
        chosen = {"lang": self.language, "theme": self.theme, "currency": self.currency}
        for which, value in chosen.items():
            if asked.get(which) and asked[which].lower().startswith(value.lower()):
                response.set_cookie(
                    cookie_name(self.request, which),
                    value,
                    max_age=YEAR_SECONDS,
                    path="/",
                    secure=self.request.url.scheme == "https",
                    httponly=True,
                    samesite="lax",
                )


def editor_for(request: Request, scope: str, path: str) -> Editor | Response:
    """The editor who is signed in and has a scope; else the answer: a no, or to sign in and come back."""
    editor = editor_of(request)
    if editor is None:
        return ask_to_sign_in(path)
    if editor.allows(scope):
        return editor
    page = Page(request)
    return page.render(
        "error.html",
        "",
        403,
        {"cache-control": "no-store"},
        title=page._("This is not allowed"),
        detail=page._("%(name)s lacks the scope %(scope)s.") % {"name": editor.name, "scope": scope},
        errors=(),
        status=403,
        request_id="",
    )
