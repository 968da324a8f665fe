"""Notes of the shipped data in the reader's language, where there is a translation of them."""

from __future__ import annotations

import re
from functools import lru_cache

from app.texts.language import translations
from app.texts.marking import NP_

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
        (r"ratio measured on ([^;|]+)", NP_("note", "ratio measured on {0}")),
        (r"read under the name ([^;|]+)", NP_("note", "read under the name {0}")),
        (r"same (\S+) silicon as ([^;|]+)", NP_("note", "same {0} silicon as {1}")),
        (r"another table has ([\d.]+)", NP_("note", "another table has {0}")),
        (r"driver (\S+) printed ([\d,]+)", NP_("note", "driver {0} printed {1}")),
        (r"as (.+): same chip and clocks", NP_("note", "as {0}: same chip and clocks")),
        (
            r"driver of CUDA (\S+), the first toolkit that knows compute capability (\S+)",
            NP_("note", "driver of CUDA {0}, the first toolkit that knows compute capability {1}"),
        ),
        (r"([\d.]+) dense / ([\d.]+) sparse", NP_("note", "{0} dense / {1} sparse")),
        (r"([\d.]+) each way", NP_("note", "{0} each way")),
        (r"memory clock (\S+) MHz x (\d+)", NP_("note", "memory clock {0} MHz x {1}")),
        (r"first release that lists ([^;|]+)", NP_("note", "first release that lists {0}")),
        (r"(\S+) already lists ([^;|]+)", NP_("note", "{0} already lists {1}")),
        (r"memory_gib x ([\d.]+)", NP_("note", "nameplate memory x {0}")),
        (r"driver_total_gib x ([\d.]+)", NP_("note", "memory that the driver prints x {0}")),
        (
            r"lowest of (\d+) priced models that day \(median (\d+)\)",
            NP_("note", "lowest of {0} offers, median {1}"),
        ),
        (
            r"DERIVED: median of (\d+) recorded price points in the month \(min (\d+), max (\d+)\)",
            NP_("note", "median of {0} recorded points of the month, {1} to {2}"),
        ),
        # What the lint rules say of figures.
        (r"(\S+) is (\S+) x the expected (\S+)", NP_("note", "{0} is {1} x the expected {2}")),
        (r"looks like a data rate counted twice", NP_("note", "looks like a data rate counted twice")),
        (
            r"looks like the rate with fp16 accumulate, or a sparse figure",
            NP_("note", "looks like the rate with fp16 accumulate, or a sparse figure"),
        ),
        (r"looks like a sparse figure", NP_("note", "looks like a sparse figure")),
        (
            r"(\S+) GiB of a card of (\S+) GiB \(driver total (\S+)\)",
            NP_("note", "{0} GiB of a card of {1} GiB (driver total {2})"),
        ),
        (r"(\S+) GiB is no usual size", NP_("note", "{0} GiB is no usual size")),
        (r"the card has no memory size", NP_("note", "the card has no memory size")),
        (
            r"(\S+) GB/s over (\S+) bits is (\S+) Gbit/s a pin; (\S+) has (\S+)",
            NP_("note", "{0} GB/s over {1} bits is {2} Gbit/s a pin; {3} has {4}"),
        ),
        (
            r"(\S+) GB/s for (\S+) GiB: a decimal point may have slipped",
            NP_("note", "{0} GB/s for {1} GiB: a decimal point may have slipped"),
        ),
        (
            r"(\S+) (\S+) (\S+) on (\S+) is (\S+) x the median (\S+) of its (\S+) neighbours",
            NP_("note", "{0} {1} {2} on {3} is {4} x the median {5} of its {6} neighbours"),
        ),
        (
            r"bus bits x Gbps/8 \(TPU figure is rounded\)",
            NP_("note", "bus bits x Gbps/8 (TPU figure is rounded)"),
        ),
    )
)

NOTES: tuple[str, ...] = (
    NP_("note", "186 GB per GPU by the vendor; the driver prints 189,471 MiB"),
    NP_("note", "21,527 MB that the scheduler may hand out"),
    NP_("note", "5090 has no official mainland sale: grey/parallel import"),
    NP_("note", "ECC on"),
    NP_("note", "Epoch release price"),
    NP_("note", "Hopper fp8 = int8 rate"),
    NP_("note", "PCIe bin, another product"),
    NP_("note", "a later driver may be needed for cards launched after it"),
    NP_("note", "about"),
    NP_("note", "above_roofline"),
    NP_("note", "after a one-week jump"),
    NP_("note", "amounts are New Taiwan dollars, easily misread as CNY"),
    NP_("note", "as A100"),
    NP_("note", "averaged unlike runs: split or drop"),
    NP_("note", "batch cut at comma: 131072"),
    NP_("note", "before a one-week jump"),
    NP_("note", "commit date = snapshot date"),
    NP_("note", "computes half precision as fp32"),
    NP_("note", "condition not stated"),
    NP_("note", "condition not stated for this row"),
    NP_("note", "converted to yuan by the data set"),
    NP_("note", "crowd-sourced rows of this vendor mix backends"),
    NP_("note", "daily"),
    NP_("note", "date = commit date"),
    NP_("note", "derived from the disputed 2055 MHz clock"),
    NP_("note", "disagrees with the value used"),
    NP_("note", "disagrees with the value used; measured"),
    NP_("note", "equals Feb figure (maybe carried over)"),
    NP_("note", "export variant with 84 GB, seen in a project budget and press reports"),
    NP_("note", "export variant: tensor rate capped at 148"),
    NP_("note", "export variant: tensor rate capped at half, measured 105 to 115"),
    NP_("note", "fan of its own; its kind is not stated"),
    NP_("note", "far_from_history"),
    NP_("note", "for cards out of production it may be the launch price"),
    NP_("note", "fp16 arithmetic is 1/64 of fp32, so half precision only saves memory"),
    NP_("note", "fp16 needs loss scaling"),
    NP_("note", "fp16/bf16 with fp32 accumulate at half rate"),
    NP_("note", "fp16/bf16/fp8 with fp32 accumulate at half rate"),
    NP_("note", "fp32 accumulate"),
    NP_("note", "fp4 not halved"),
    NP_("note", "full height, full length"),
    NP_("note", "full-rate fp16/bf16 with fp32 accumulate"),
    NP_("note", "full-rate fp32 accumulate"),
    NP_("note", "hardware survey, range high"),
    NP_("note", "hardware survey, range low"),
    NP_("note", "highest asking price of the panic after the export rule"),
    NP_("note", "impossible unit: treat as tokens/s or drop"),
    NP_("note", "int8 twin"),
    NP_(
        "note",
        "laptop part: the maker sets its power between the bounds that the vendor allows, and its "
        "speed with it",
    ),
    NP_("note", "low profile"),
    NP_("note", "lowest listing, may be a decoy"),
    NP_("note", "lowest new retail in the table"),
    NP_("note", "lowest shop price of the month incl. platform subsidy, hand-kept table (CC BY 4.0)"),
    NP_("note", "lowest trustworthy new price of the day in a China DIY price table"),
    NP_("note", "mean of offers, formed by the source"),
    NP_("note", "measured"),
    NP_("note", "measured product rate, not a vendor peak"),
    NP_("note", "mid-2023"),
    NP_("note", "missing qualifier: record"),
    NP_("note", "mixed cluster: exclude from per-GPU use"),
    NP_("note", "monthly mean"),
    NP_("note", "no ECC cost known"),
    NP_("note", "no NVLink"),
    NP_("note", "no bf16/tf32"),
    NP_("note", "no price source named"),
    NP_("note", "no rate and no bandwidth were found"),
    NP_("note", "no tensor cores"),
    NP_("note", "not a GPU: 95 GB per chip by the vendor"),
    NP_("note", "note author's own buying table"),
    NP_(
        "note",
        "notes: (none) -> GNMT inference rows differ by beam size 1/2/5, not recorded: 3 values per key",
    ),
    NP_(
        "note",
        "notes: (none) -> HiFi-GAN / FastPitch: with or without denoising, and FastPitch + HiFi-GAN / "
        "+ WaveGlow tables, are stored as plain rows",
    ),
    NP_(
        "note",
        "notes: (none) -> table headed with XLA: record XLA on/off (check each heading; some headings "
        "only mention XLA)",
    ),
    NP_("note", "nvidia-smi"),
    NP_("note", "older driver"),
    NP_("note", "on the boards that the article shows"),
    NP_("note", "one ASIN"),
    NP_("note", "one ASIN, third-party sellers included"),
    NP_("note", "one listing, used"),
    NP_("note", "one of two dies: a process sees one"),
    NP_("note", "original notice not traced there"),
    NP_("note", "over dense peak: FP32 convolutions by Winograd / boost clock: keep, do not calibrate"),
    NP_(
        "note",
        "over dense peak: six times the active parameters x this rate is 8 times the peak of the cards",
    ),
    NP_("note", "packed vector arithmetic: no matrix unit"),
    NP_("note", "pre-release part with 432 GB HBM4"),
    NP_("note", "price of a whole system divided by its cards: network and hosts included"),
    NP_("note", "printed as 1.6 TB/s"),
    NP_("note", "rounded by its author"),
    NP_("note", "same key >3x: FastPitch alone / + HiFi-GAN / + WaveGlow missing from the key"),
    NP_("note", "same key >3x: PaddlePaddle and Paddle-TRT under one label"),
    NP_("note", "same key >3x: beam size missing from the key"),
    NP_("note", "same key >3x: different container versions (1.13, 2.3): use framework_version in the key"),
    NP_("note", "scaling > n: embedding fits caches / batch differs: do not derive scaling"),
    NP_("note", "scaling > n: exclude (log artefact)"),
    NP_("note", "scaling > n: exclude the 1-GPU rows (source error)"),
    NP_("note", "scaling > n: pipeline parallel frees memory for larger batches"),
    NP_("note", "scaling > n: rounding of small one-GPU figures in the source"),
    NP_("note", "second-half-of-July snapshot (a second figure for the same month)"),
    NP_("note", "second-hand"),
    NP_(
        "note",
        "seq_len_or_image: 2 or 3 -> that is the nnU-Net dimension (2D/3D), not a size; the "
        "Resolution column holds it",
    ),
    NP_("note", "server variant"),
    NP_("note", "sold out at the listed price"),
    NP_("note", "sold out at this price"),
    NP_("note", "sold with an adapter board: another item"),
    NP_("note", "source outlier: exclude"),
    NP_("note", "table cut-off 2026-10-02, no second source read for this rise"),
    NP_("note", "the article is about Taiwan"),
    NP_("note", "the file gives ONE figure for 5090 and 5090 D, so it is more likely the D price"),
    NP_("note", "the scheduler of the source may hand out 21,527 of 24,576 MB"),
    NP_("note", "the vendor publishes exactly half of the L40S rates"),
    NP_("note", "the vendor sheet says 70 dense (140 sparse): half of the architecture rate"),
    NP_("note", "third-party sellers included"),
    NP_(
        "note",
        "unit doubtful: the column says tok/s, the H100 table of the same page tok/s/GPU; as a total "
        "it is below one card",
    ),
    NP_(
        "note",
        "unit: Samples/s -> cannot be 30 s samples (45000/s on 8 B200 = 11 PFLOPS per GPU in the "
        "encoder alone, ~5 x the fp16 peak): almost surely tokens/s; do not use as samples",
    ),
    NP_("note", "vector rate"),
    NP_("note", "vendor nominal"),
    NP_("note", "what CUDA reports to a process before any context"),
    NP_("note", "whole series wrong: F16 8B prompt rates of this card in this table"),
    NP_(
        "note",
        "with liquid cooling; 920 with air. Precision named by a second report; whether dense is not stated",
    ),
    NP_("note", "wrong column: take Resolution"),
)
"""Notes of the shipped data, whole or in parts, that are said in the reader's language."""


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
