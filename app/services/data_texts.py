"""Notes of the shipped data in the reader's language, where there is a translation of them."""

from __future__ import annotations

import re
from functools import lru_cache

from app.services.language import translations
from app.services.marking import N_

CHINESE = "zh"
CONTEXT = "note"
"""Of their translations: a word of a note is not the same word of a page."""


SEPARATORS = (" | ", "; ")
CHINESE_SEPARATOR = "；"
SEVERITY = re.compile(r" \((?:low|medium|high|explained)\)(?=:|$)")
NEUTRAL = re.compile(
    r"[\d.]+ (?:FL)?OP/clk(?:/SM|/CU)? x [\w ,.x=]+ MHz|= \w+|\w+/\w+|[\d.,/ x%]+|https?://\S+"
)
"""Formulas and bare numbers: the same in every language."""
# Notes that differ only in a name or a number; the groups fill the braces.
PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"ratio measured on ([^;|]+)", N_("ratio measured on {0}")),
        (r"read under the name ([^;|]+)", N_("read under the name {0}")),
        (r"same (\S+) silicon as ([^;|]+)", N_("same {0} silicon as {1}")),
        (r"another table has ([\d.]+)", N_("another table has {0}")),
        (r"driver (\S+) printed ([\d,]+)", N_("driver {0} printed {1}")),
        (r"as (.+): same chip and clocks", N_("as {0}: same chip and clocks")),
        (
            r"driver of CUDA (\S+), the first toolkit that knows compute capability (\S+)",
            N_("driver of CUDA {0}, the first toolkit that knows compute capability {1}"),
        ),
        (r"([\d.]+) dense / ([\d.]+) sparse", N_("{0} dense / {1} sparse")),
        (r"([\d.]+) each way", N_("{0} each way")),
        (r"memory clock (\S+) MHz x (\d+)", N_("memory clock {0} MHz x {1}")),
        (r"first release that lists ([^;|]+)", N_("first release that lists {0}")),
        (r"(\S+) already lists ([^;|]+)", N_("{0} already lists {1}")),
        (r"memory_gib x ([\d.]+)", N_("nameplate memory x {0}")),
        (r"driver_total_gib x ([\d.]+)", N_("memory that the driver prints x {0}")),
        (r"lowest of (\d+) priced models that day \(median (\d+)\)", N_("lowest of {0} offers, median {1}")),
        (
            r"DERIVED: median of (\d+) recorded price points in the month \(min (\d+), max (\d+)\)",
            N_("median of {0} recorded points of the month, {1} to {2}"),
        ),
        # What the lint rules say of figures.
        (r"(\S+) is (\S+) x the expected (\S+)", N_("{0} is {1} x the expected {2}")),
        (r"looks like a data rate counted twice", N_("looks like a data rate counted twice")),
        (
            r"looks like the rate with fp16 accumulate, or a sparse figure",
            N_("looks like the rate with fp16 accumulate, or a sparse figure"),
        ),
        (r"looks like a sparse figure", N_("looks like a sparse figure")),
        (
            r"(\S+) GiB of a card of (\S+) GiB \(driver total (\S+)\)",
            N_("{0} GiB of a card of {1} GiB (driver total {2})"),
        ),
        (r"(\S+) GiB is no usual size", N_("{0} GiB is no usual size")),
        (r"the card has no memory size", N_("the card has no memory size")),
        (
            r"(\S+) GB/s over (\S+) bits is (\S+) Gbit/s a pin; (\S+) has (\S+)",
            N_("{0} GB/s over {1} bits is {2} Gbit/s a pin; {3} has {4}"),
        ),
        (
            r"(\S+) GB/s for (\S+) GiB: a decimal point may have slipped",
            N_("{0} GB/s for {1} GiB: a decimal point may have slipped"),
        ),
        (
            r"(\S+) (\S+) (\S+) on (\S+) is (\S+) x the median (\S+) of its (\S+) neighbours",
            N_("{0} {1} {2} on {3} is {4} x the median {5} of its {6} neighbours"),
        ),
        (r"bus bits x Gbps/8 \(TPU figure is rounded\)", N_("bus bits x Gbps/8 (TPU figure is rounded)")),
    )
)


@lru_cache(maxsize=8192)
def say_note(text: str, language: str) -> tuple[str, bool]:
    """A note in a language, and whether all of it is in that language.

    Parameters
    ----------
    text: as the data have it, in English; parts are separated by a semicolon or a bar.

    Notes
    -----
    A part without a translation stays as it is. Notes that a team wrote itself have none.
    """
    if language != CHINESE or not text:
        return text, True
    whole = _part(text, language)
    if whole is not None:
        return whole, True
    for separator in SEPARATORS:
        if separator in text:
            said = [say_note(part, language) for part in dict.fromkeys(text.split(separator))]
            return CHINESE_SEPARATOR.join(part for part, _ in said), all(done for _, done in said)
    return text, not re.search("[A-Za-z]{3}", text)


def _part(text: str, language: str) -> str | None:
    catalogue = translations(language)
    plain = SEVERITY.sub("", text)
    for candidate in (text, plain):
        found = str(catalogue.pgettext(CONTEXT, candidate))
        if found != candidate:
            return found
    if NEUTRAL.fullmatch(text):
        return text
    for pattern, template in PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            return str(catalogue.pgettext(CONTEXT, template)).format(*match.groups())
    return None
