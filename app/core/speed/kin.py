"""Cards that are others with something cut: A800 of A100, 5090 D of 5090. They are never faster.

Measurements of the one and of the other are few and scatter; what they say of the same chip is brought
together, so that an order of two cards never rests on that scatter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.core.gpu_table import GpuTable, Index
from app.core.kept import derived
from app.core.speed.evidence import Corrections

MEASURED = "measured"


@derived
def cut_pairs(table: GpuTable) -> Index:
    """Rows (cut card, whole card), (pairs, 2): of one class, memory and bandwidth; no rate or link above.

    Notes
    -----
    Cards that are equal in all of it stand in both orders. A rate that is known of one card alone decides
    nothing.
    """
    same = np.ones((len(table), len(table)), dtype=bool)
    # Only NVIDIA states a compute capability.
    capability = np.nan_to_num(table.capability)
    for values in (table.card_class, capability, table.memory_gib, table.bandwidth_gb_s):
        same &= values[:, np.newaxis] == values
    for rate in (*table.rates, table.link_gb_s):
        same &= ~(rate[:, np.newaxis] > rate)
    known = np.isfinite(table.rates)
    same &= (known[:, :, np.newaxis] & known[:, np.newaxis, :]).any(axis=0)
    np.fill_diagonal(same, False)
    return np.argwhere(same).astype(np.intp)


def no_cut_card_faster(found: Corrections, table: GpuTable) -> Corrections:
    """What measurements say, with no cut card above the card that it is cut from.

    Parameters
    ----------
    found: offsets of the cards asked about. table: all cards.

    Returns
    -------
    Where the cut card stands higher, the one that was measured speaks for both; the whole one, where both
    were or neither was.
    """
    place = np.full(len(table), -1, dtype=np.intp)
    place[found.cards] = np.arange(len(found.cards))
    pairs = place[cut_pairs(table)]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    if not len(pairs) or not found.offset:
        return found
    offset = {}
    for phase, values in found.offset.items():
        mended = np.array(values)
        above = mended[pairs[:, 0]] > mended[pairs[:, 1]]
        for pair in np.flatnonzero(above.any(axis=1)).tolist():
            cut, whole = pairs[pair].tolist()
            higher = mended[cut] > mended[whole]
            first = int(np.argmax(higher)) if higher.any() else 0
            of_cut, of_whole = (found.basis(card, first, phase)[0] == MEASURED for card in (cut, whole))
            source, target = (cut, whole) if of_cut and not of_whole else (whole, cut)
            mended[target] = np.where(higher, mended[source], mended[target])
        offset[phase] = mended
    return replace(found, offset=offset)
