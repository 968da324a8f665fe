"""Languages: which one a reader gets, and the catalogue of its texts."""

from __future__ import annotations

import gettext
import io
from functools import lru_cache

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations

from app.negotiation import quality
from app.resources import resource_path

LANGUAGES = ("zh", "en")
LOCALES = {"zh": "zh_CN", "en": "en"}
DEFAULT_LANGUAGE = "zh"
DOMAIN = "cardworth"
# A header longer than this is no browser's; what lies beyond is not read.
_HEADER_LIMIT = 500


@lru_cache(maxsize=len(LANGUAGES))
def translations(language: str) -> gettext.NullTranslations:
    """Messages of one language ("zh" or "en"); English is what the sources have."""
    path = resource_path("locales", LOCALES[language], "LC_MESSAGES", f"{DOMAIN}.po")
    if not path.is_file():
        return gettext.NullTranslations()
    with path.open("rb") as file:
        catalogue = read_po(file, locale=LOCALES[language], domain=DOMAIN)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Translations(fp=compiled, domain=DOMAIN)


def primary_language(tag: str) -> str:
    """ "zh" of zh-Hans-CN, "en" of en_GB, empty when we have no such language."""
    primary = tag.strip().replace("_", "-").split("-", 1)[0].lower()
    return primary if primary in LANGUAGES else ""


def negotiate(
    query: str | None, cookie: str | None, accept_language: str | None, default: str = DEFAULT_LANGUAGE
) -> str:
    """The language of an answer: the address says it, else the cookie, else the browser, else the default."""
    for wanted in (query, cookie):
        language = primary_language((wanted or "")[:_HEADER_LIMIT])
        if language:
            return language
    best, best_quality = "", 0.0
    for item in (accept_language or "")[:_HEADER_LIMIT].split(","):
        tag, _, parameters = item.partition(";")
        language = primary_language(tag)
        weight = quality(parameters)
        if language and weight > best_quality:
            best, best_quality = language, weight
    return best or primary_language(default) or DEFAULT_LANGUAGE
