"""Several cards: collective traffic over the link that joins them, pipeline bubbles, host copies."""

from __future__ import annotations

import numpy as np

from app.core.formulas import Formula, Reference, register
from app.core.gpu_table import Floats, GpuTable
from app.core.speed import constants as c
from app.core.tracing import floats, named, picked
from app.core.units import GB, Number

register(
    Formula(
        "speed.all_reduce",
        "Ring all-reduce",
        "t = 2 (n - 1) / n x bytes / link, one way; at least one message per collective",
        "s",
        "calibrated",
        "Homogeneous ring. NVLink at 80 % of half its bidirectional rate, PCIe 3 / 4 / 5 x16 at 10 / 20 / "
        "40 GB/s, "
        "half of it without peer access (GeForce). A bridge joins two cards only. "
        "Gradient buckets: PCIe x 1.35 (part of it overlaps), 0.3 of it on PCIe 3 beyond four cards (two "
        "sockets); without peer access all cards share 20 GB/s of host memory.",
        (
            Reference(
                "llm-analysis: all-reduce volume and message latency", "https://github.com/cli99/llm-analysis"
            ),
        ),
    ),
    Formula(
        "speed.data_parallel",
        "Data-parallel step",
        "step(n) = step(1) x (1 + w log2 n) + max(k x t_all_reduce, t_all_reduce - 0.9 x step(1)); "
        "ZeRO-3 moves 1.5 x",
        "s",
        "calibrated",
        "w 0.02, of image models in half precision 0.035. k by class: CNN 0.1, encoder fine-tuning scripts "
        "1.0, sharded decoder pretraining 0.1. Hosts that post-process (detection in TensorFlow) or a "
        "container whose collectives fall back to the host lose far more.",
        (
            Reference(
                "NVIDIA DeepLearningExamples and Lambda logs, 1 to 8 cards",
                "https://github.com/NVIDIA/DeepLearningExamples",
            ),
        ),
    ),
    Formula(
        "speed.pipeline_bubble",
        "Pipeline bubble",
        "t = t_work x (m + p - 1) / m",
        "s",
        "exact",
        "One forward, one backward in turn; m micro-batches, p stages.",
        (Reference("Narayanan et al. 2021, arXiv 2104.04473", "https://arxiv.org/abs/2104.04473"),),
    ),
)


def link_gb_s(cards: GpuTable, members: Number) -> Floats:
    """One-way GB/s between `members` cards of a group.

    Parameters
    ----------
    cards: the cards. members: size of the group; broadcasts.

    Returns
    -------
    The direct link where it joins that many cards, else PCIe, else the network between hosts.
    """
    direct = np.where(np.less_equal(members, cards.link_cards), cards.link_gb_s, 0.0)
    inside = np.maximum(direct, cards.pcie_gb_s)
    return np.where(np.greater(members, c.HOST_CARDS), np.minimum(inside, c.NETWORK_GB_S), inside)


def message_s(cards: GpuTable, members: Number) -> Floats:
    """Latency of one collective, seconds."""
    linked = np.less_equal(members, cards.link_cards) & (cards.link_gb_s > 0)
    return picked(linked, c.MESSAGE_LINK_S, c.MESSAGE_PCIE_S)


def gradient_gb_s(cards: GpuTable, members: Number) -> Floats:
    """One-way GB/s at which the gradient buckets of `members` cards are reduced.

    Parameters
    ----------
    cards: the cards. members: size of the group; broadcasts.

    Notes
    -----
    Large buckets, partly behind the backward pass: PCIe reaches 1.35 times its rate in single collectives.
    Eight cards on PCIe 3 hang on two sockets. Without peer access every transfer is staged in host memory,
    whose rate the cards share. BERT-large on eight RTX 8000 (PCIe 3): 3 GB/s, on eight A40 (PCIe 4): 30 GB/s.
    """
    # Rings over several hosts run inside each first.
    inside = np.minimum(floats(members), c.HOST_CARDS)
    crossing = np.greater(inside, c.ROOT_CARDS) & np.less_equal(cards.copy_gb_s, c.SOCKET_BUS_GB_S)
    peer = cards.pcie_gb_s * picked(crossing, c.SOCKET_SHARE, c.BUCKET_SHARE)
    staged = np.minimum(cards.pcie_gb_s, c.STAGED_GB_S / inside)
    over_pcie = np.where(np.less(cards.pcie_gb_s, cards.copy_gb_s), staged, peer)
    direct = np.where(np.less_equal(inside, cards.link_cards), cards.link_gb_s, 0.0)
    rate = np.maximum(direct, over_pcie)
    return np.where(np.greater(members, c.HOST_CARDS), np.minimum(rate, c.NETWORK_GB_S), rate)


def all_reduce_s(
    cards: GpuTable, volume_bytes: Number, members: Number, one_way_gb_s: Floats | None = None
) -> Floats:
    """Seconds of one ring all-reduce of `volume_bytes` over `members` cards; 0 for one card.

    Parameters
    ----------
    cards: the cards. volume_bytes: reduced. members: size of the group.
    one_way_gb_s: in place of `link_gb_s`.

    Notes
    -----
    2 (n - 1) / n x bytes / link + message latency. 13.5 GB over four A100 at 300 GB/s: 67 ms.
    """
    n = floats(members)
    rate = link_gb_s(cards, members) if one_way_gb_s is None else one_way_gb_s
    ring = 2.0 * (n - 1.0) / n * volume_bytes / (named(rate, "ring_gb_s") * GB)
    return np.where(n > 1.0, ring + message_s(cards, members), 0.0)


def straggling(data: Number, share: float = c.STRAGGLER) -> Floats:
    """Factor on a synchronous step by which replicas wait for the slowest: 1 + share x log2 n."""
    return named(floats(1.0 + share * np.log2(floats(data))), "waiting_factor")


def exposed_gradient_s(
    cards: GpuTable,
    gradient_bytes: Number,
    data: Number,
    zero_stage: Number,
    compute_s: Floats,
    kind: str,
) -> Floats:
    """Part of the gradient traffic that lengthens a data-parallel step, seconds."""
    traffic = all_reduce_s(cards, gradient_bytes, data, gradient_gb_s(cards, data))
    traffic = traffic * np.where(np.equal(zero_stage, 3.0), 1.5, 1.0)
    traffic = named(traffic, "gradient_traffic_s")
    exposed = np.maximum(c.GRADIENT_EXPOSED[kind] * traffic, traffic - c.OVERLAP * compute_s)
    # Classes that do not overlap at all already expose the whole of it.
    return floats(np.minimum(exposed, traffic))


def bubble(pipeline: Number, micro_batches: Number) -> Number:
    """Factor on the time of a step by which a pipeline is idle: (m + p - 1) / m."""
    m = np.maximum(micro_batches, 1.0)
    return named(floats((m + (floats(pipeline) - 1.0)) / m), "pipeline_factor")
