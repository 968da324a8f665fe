"""Usable memory of a card of which nobody has printed what CUDA reports."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.gpu import Figure

# What CUDA reports over what the driver prints, by kind of memory: measured on T4, 3090 and 4090 for GDDR, on
# RTX 5090 for GDDR7, on A100 and H100 for HBM.
OF_DRIVER_TOTAL = (("HBM", 0.992), ("GDDR7", 0.994), ("", 0.985))
OF_NAMEPLATE = 0.98


def derived_usable(figures: Mapping[str, Figure], memory_type: str) -> Figure | None:
    """Usable memory by the ratio of the kind of memory.

    Parameters
    ----------
    figures: chosen figures of the card by name.
    memory_type: as the vendor writes it, GDDR6X or HBM3.

    Returns
    -------
    A derived figure [GiB], or None when the card has a usable figure already or no memory figure at all.

    Notes
    -----
    usable = driver total x ratio, or nameplate x 0.98 where no driver total is known. Not valid for boards
    with several chips, nor for parts that share the memory of the host.
    """
    if "usable_gib" in figures:
        return None
    total, nameplate = figures.get("driver_total_gib"), figures.get("memory_gib")
    if total is not None:
        ratio = next(ratio for kind, ratio in OF_DRIVER_TOTAL if memory_type.upper().startswith(kind))
        formula = f"driver_total_gib x {ratio}"
        return Figure(round(total.value * ratio, 2), "GiB", "derived", total.source, total.as_of, formula)
    if nameplate is not None:
        value, formula = round(nameplate.value * OF_NAMEPLATE, 2), f"memory_gib x {OF_NAMEPLATE}"
        return Figure(value, "GiB", "derived", nameplate.source, nameplate.as_of, formula)
    return None
