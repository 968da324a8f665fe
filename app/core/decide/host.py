"""The machine around the cards: which class holds them, its price and power, the network between several.

References
----------
[1] Prices of parts and machines of 2026: seed_data/host_classes.csv, each row with its source, 2026-11-30.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.answer import Figure, answer
from app.core.gpu import Source
from app.core.gpu_table import Floats, Index
from app.core.question import Economics

SERVER_CARDS = 8
NEW_FROM_CARDS = 3
"""From so many PCIe cards on a machine that somebody already has is not assumed to hold them."""
MODULE_SERVER = "module_server"
HOST_KINDS = ("desktop", "workstation", "server", MODULE_SERVER)
OWN, NEW = "own", "new"


@dataclass(frozen=True, slots=True)
class HostClass:
    """One kind of machine without cards, with its dated price."""

    id: str
    code: str
    name: str
    name_zh: str
    kind: str
    """desktop, workstation, server, module_server."""
    cards: int
    """Most double-width cards, or modules, that it holds."""
    low_cny: float
    expected_cny: float
    """0 where it is bought with its modules: the price of the server is that of both."""
    high_cny: float
    observed_on: str
    idle_w: float
    """Without cards."""
    load_w: float
    supply_w: float
    network_cny: float | None
    """Cards and switch ports of each further node; None: not known."""
    basis: str
    quality: str
    spec: str
    source: Source
    note: str = ""


@answer(renamed={"kind": "class"})
class HostUse:
    """The machines of one option."""

    kind: str
    """Class of the machine: desktop-1, desktop-2, workstation-4, pcie-server-8, module-server-8; empty where
    no class holds the cards."""
    name: str
    """The class in words, English; pages say it in their language."""
    count: int
    """Machines, spare ones among them."""
    bought: int
    """How many of them are bought; the others are there already or in the price of the server."""
    cny: Figure
    """What is paid for machines and the network between them, yuan; 0 where nothing is bought."""
    network_cny: Figure
    """Of it, for the network between several machines, yuan."""
    power_w: Figure
    """Load of all machines without their cards, W."""
    idle_w: Figure
    """The same while nothing runs, W."""
    spare: int = 0
    """Machines kept for a failure."""


@dataclass(frozen=True, slots=True)
class HostNeed:
    """Machines that one number of cards needs."""

    host: HostClass | None
    """None: no class holds the cards."""
    nodes: int
    bought: int
    machines_cny: float
    network_cny: float
    load_w: float
    """Of all machines, cards apart."""
    idle_w: float
    spare: int = 0
    """Of the nodes, those kept for a failure, with their cards."""

    @property
    def with_spares(self) -> float:
        """Cards that are bought over those that work."""
        return self.nodes / (self.nodes - self.spare)

    @property
    def cny(self) -> float:
        """Paid on the day beside the cards."""
        return self.machines_cny + self.network_cny

    def use(self) -> HostUse:
        """As an answer says it."""
        return HostUse(
            self.host.code if self.host else "",
            self.host.name if self.host else "",
            self.nodes,
            self.bought,
            self.cny,
            self.network_cny,
            self.load_w,
            self.idle_w,
            self.spare,
        )


def cheapest(
    classes: Iterable[HostClass], cards: int, module: bool, joined: bool = False
) -> HostClass | None:
    """The cheapest class that holds so many cards in one machine; `joined`: by a network of known price."""
    kind = [h for h in classes if (h.kind == MODULE_SERVER) == module]
    fitting = [h for h in kind if h.cards >= cards and (not joined or h.network_cny is not None)]
    return min(fitting, key=lambda h: (h.expected_cny, h.code), default=None)


def is_own(economics: Economics, count: int, nodes: int, module: bool) -> bool:
    """Whether the machines are there already: as stated, else for one or two PCIe cards."""
    if economics.host is not None:
        return economics.host == OWN
    return not module and nodes == 1 and count < NEW_FROM_CARDS


def host_need(
    classes: Sequence[HostClass],
    economics: Economics,
    count: int,
    per_host: int,
    module: bool,
    included: bool = False,
    spare: int = 0,
) -> HostNeed:
    """Machines for so many cards.

    Parameters
    ----------
    classes: what can be bought. economics: whether machines are there, or their price per card. count: cards.
    per_host: most cards of one machine. module: the cards are modules of a baseboard. included: bought whole,
    the machine is in the price of its cards. spare: machines kept for a failure; they idle.

    Returns
    -------
    The cheapest class that holds the cards of one node, nodes, yuan of what is bought, watts of all nodes. A
    price per card that was stated is of everything around cards that are bought one by one.
    """
    largest = max((h.cards for h in classes if (h.kind == MODULE_SERVER) == module), default=per_host)
    nodes = max(1, math.ceil(count / min(per_host, largest)))
    host = cheapest(classes, SERVER_CARDS if included else math.ceil(count / nodes), module, nodes > 1)
    load, idle = (nodes * host.load_w, (nodes + spare) * host.idle_w) if host else (0.0, 0.0)
    stated = economics.host_cny_per_gpu
    if stated is not None and not included:
        cards = count * (nodes + spare) / nodes
        return HostNeed(host, nodes + spare, 0, stated * cards, 0.0, load, idle, spare)
    own = is_own(economics, count, nodes, module or included)
    # One machine is there by assumption; that a second one is nobody said.
    assumed = own and economics.host is None
    bought = 0 if host is None else (spare if assumed else 0) if own else nodes + spare
    network = 0.0 if own or host is None else (nodes - 1) * (host.network_cny or 0.0)
    price = 0.0 if host is None or included else bought * host.expected_cny
    return HostNeed(host, nodes + spare, bought, price, network, load, idle, spare)


LOOSE, WHOLE, BOARDED = range(3)
"""How the cards come: one by one for slots, in whole servers with slots, in servers with a baseboard."""


@dataclass(frozen=True, slots=True)
class HostGrid:
    """Machines over the counts of a question, by how the cards come."""

    needs: tuple[tuple[HostNeed, ...], ...]
    """By LOOSE, WHOLE, BOARDED and count."""
    server_cny: float = 0.0
    """A machine for a whole server of cards; 0 where no class holds them."""

    def over(self, how: Index, name: str) -> Floats:
        """A figure of the machines, of the shape (cards, counts, conditions) of `how`."""
        values = np.array([[getattr(need, name) for need in row] for row in self.needs], dtype=np.float64)
        places = np.arange(values.shape[1])[np.newaxis, :, np.newaxis]
        return np.asarray(values[how, places], dtype=np.float64)


def host_grid(
    classes: Sequence[HostClass],
    economics: Economics,
    counts: Sequence[int],
    per_host: int,
    spare: int = 0,
) -> HostGrid:
    """Machines for every count of a question, as in `host_need`."""
    needs = tuple(
        tuple(host_need(classes, economics, count, per_host, module, included, spare) for count in counts)
        for module, included in ((False, False), (False, True), (True, True))
    )
    machine = cheapest(classes, SERVER_CARDS, module=False)
    stated = economics.host_cny_per_gpu
    priced = machine.expected_cny if machine else 0.0
    return HostGrid(needs, priced if stated is None else stated * SERVER_CARDS)
