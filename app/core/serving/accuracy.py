"""How far the model of serving is from published runs that its constants were not read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.answer import Figure, answer
from app.core.gpu_table import Flags, Floats
from app.core.serving.fitting import left_out
from app.core.serving.observed import Stack, shipped
from app.core.serving.runs import Phase
from app.core.speed import constants as c

SITE, REPORT = "site", "report"
"""Every site left out in turn; runs of the half that no constant is read from."""
KINDS = ("total", "token", "first_alone", "first_load")
"""Tokens per second of all, time per token, first token of one request, and beside others."""
PHASE_OF: dict[str, Phase] = {
    "total": "total",
    "token": "token",
    "first_alone": "first",
    "first_load": "first",
}
WIDTH_OF = {"total": "load", "token": "load_token", "first_alone": "load_first", "first_load": "load_first"}
"""Key of `speed.constants.WIDTHS`."""
ALL = "all"
MANY_USERS = 128.0
LEAST_RUNS = 5
"""Groups of fewer runs are not stated."""


@answer()
class ServingErrors:
    """Errors of one figure over a group of published runs: |ln(predicted / measured)|, 0.1 is about 10 %."""

    split: str
    """How runs are kept from the constants: `site`, each left out in turn, or `report`, the other half."""
    group: str
    """all, an engine, amd, ascend, consumer, nvidia_data_centre, experts, dense, one_user or many_users."""
    figure: str
    """total, token, first_alone or first_load."""
    runs: int
    """Runs compared."""
    pages: int
    """Pages that they are from."""
    median: Figure
    """Median of the absolute errors."""
    p90: Figure
    """What nine of ten stay below."""
    signed_median: Figure
    """Median with its sign; above 0 the model is too fast."""
    page_median: Figure
    """Median over pages of their medians."""
    inside: Figure
    """Share of runs inside the 80 % band."""
    band: Figure
    """High over low of that band."""


@dataclass(frozen=True)
class _Compared:
    stack: Stack
    ratios: dict[Phase, Floats]
    split: str
    chosen: Flags


def serving_errors(fitted: Stack, report: Stack | None) -> tuple[ServingErrors, ...]:
    """Errors by figure and group.

    Parameters
    ----------
    fitted: runs from which constants may be read. report: the others, None where there are none.
    """
    sites = left_out(fitted, [run.site for run in fitted.runs], shipped())
    parts = [_Compared(fitted, sites, SITE, _judging(fitted))]
    if report is not None and len(report):
        parts.append(_Compared(report, report.log_ratios(), REPORT, _judging(report)))
    return tuple(row for part in parts for row in _rows(part))


def _judging(stack: Stack) -> Flags:
    return np.array([not run.calibrates for run in stack.runs], dtype=bool)


def groups_of(stack: Stack) -> dict[str, Flags]:
    """The groups of runs that errors are stated of, in their order."""
    classes, vendors = np.array(stack.classes), np.array(stack.vendors)
    engines = np.array([run.engine for run in stack.runs])
    users = np.array([run.users for run in stack.runs])
    experts = np.array(stack.experts, dtype=bool)
    found = {ALL: np.ones(len(stack), dtype=bool)}
    found |= {name: engines == name for name in dict.fromkeys(engines.tolist())}
    consumer = np.char.endswith(classes.astype(str), "geforce") | (classes == "rdna")
    return found | {
        "amd": np.isin(vendors, ("rocm", "rdna")),
        "ascend": vendors == "ascend",
        "consumer": consumer,
        "nvidia_data_centre": np.isin(classes, ("ampere_dc", "hopper", "hopper_cut", "blackwell_dc")),
        "experts": experts,
        "dense": ~experts,
        "one_user": users <= 1.0,
        "many_users": users > MANY_USERS,
    }


def _rows(part: _Compared) -> Iterator[ServingErrors]:
    alone = np.array([run.first_alone for run in part.stack.runs], dtype=bool)
    fit_for = {"first_alone": alone, "first_load": ~alone}
    for group, of_group in groups_of(part.stack).items():
        for figure in KINDS:
            ratios = part.ratios[PHASE_OF[figure]]
            chosen = part.chosen & of_group & np.isfinite(ratios) & fit_for.get(figure, True)
            if np.count_nonzero(chosen) >= LEAST_RUNS:
                pages = [run.url for run, one in zip(part.stack.runs, chosen, strict=True) if one]
                yield _errors(part.split, group, figure, ratios[chosen], pages)


def _errors(split: str, group: str, figure: str, ratios: Floats, pages: Sequence[str]) -> ServingErrors:
    sizes, names = np.abs(ratios), np.array(pages)
    width = float(c.WIDTHS[WIDTH_OF[figure]])
    by_page = [float(np.median(sizes[names == name])) for name in dict.fromkeys(pages)]
    return ServingErrors(
        split=split,
        group=group,
        figure=figure,
        runs=len(sizes),
        pages=len(by_page),
        median=float(np.median(sizes)),
        p90=float(np.quantile(sizes, 0.9)),
        signed_median=float(np.median(ratios)),
        page_median=float(np.median(by_page)),
        inside=float(np.mean(sizes <= width)),
        band=float(np.exp(2.0 * width)),
    )
