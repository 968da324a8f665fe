"""The weights of a model module by module: what a checkpoint calls them, their shapes, who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KINDS = ("linear", "expert", "router", "embedding", "head", "tower", "other")
"""Matrices that quantization may narrow are `linear`, `expert`, `head` and `tower`; the rest stays wide."""


@dataclass(frozen=True, slots=True)
class Module:
    """Equal tensors of several layers: one matrix of outputs x inputs in each, or one for each expert."""

    name: str
    """Within its layer, as checkpoints call it: self_attn.q_proj; whole, where it belongs to no layer."""
    rows: int
    """Outputs; the length of a vector."""
    columns: int = 1
    """Inputs; 1 for a vector."""
    kind: str = "linear"
    """Of KINDS."""
    layers: tuple[int, ...] = ()
    """The layers that have one; empty: the model has one."""
    copies: int = 1
    """Experts of a layer."""
    read: int = 1
    """Of the copies, those that one token reads; 0 for a table of which it reads one row."""

    @property
    def places(self) -> int:
        """Layers that have it; 1 for what belongs to none."""
        return len(self.layers) or 1

    @property
    def count(self) -> int:
        """Parameters of all of them."""
        return self.rows * self.columns * self.copies * self.places

    @property
    def read_count(self) -> int:
        """Parameters that one token reads."""
        return self.rows * self.columns * min(self.read, self.copies) * self.places


class Stack:
    """Modules as a reader adds them."""

    def __init__(self) -> None:
        self.modules: list[Module] = []

    def matrix(
        self, name: str, rows: int, columns: int, layers: Sequence[int] | None = None, *, bias: bool = False
    ) -> None:
        """A linear layer, with its bias."""
        self.add(name, rows, columns, layers=layers)
        if bias:
            self.vector(name, rows, layers)

    def vector(self, name: str, length: int, layers: Sequence[int] | None = None) -> None:
        """What no format narrows: norms, biases, decays, short convolutions."""
        self.add(name, length, kind="other", layers=layers)

    def add(
        self,
        name: str,
        rows: int,
        columns: int = 1,
        *,
        kind: str = "linear",
        layers: Sequence[int] | None = None,
        copies: int = 1,
        read: int = 1,
    ) -> None:
        """A module of some layers, or of none; nothing where it has no element, or no layer is named."""
        if rows > 0 and columns > 0 and copies > 0 and (layers is None or len(layers)):
            self.modules.append(Module(name, rows, columns, kind, tuple(layers or ()), copies, read))

    def tables(self, vocab: int, hidden: int, tied: bool) -> None:
        """The token table and the output head; a tied one is read whole as the head."""
        self.add("embed_tokens", vocab, hidden, kind="embedding", read=1 if tied else 0)
        if not tied:
            self.add("lm_head", vocab, hidden, kind="head")

    def done(self) -> tuple[Module, ...]:
        """All modules."""
        return tuple(self.modules)


def total(modules: Iterable[Module], kind: str = "") -> int:
    """Parameters of all modules, or of one kind."""
    return sum(m.count for m in modules if not kind or m.kind == kind)


def read_by_token(modules: Iterable[Module]) -> int:
    """Parameters that one token of text reads: neither unrouted experts, nor token table, nor towers.

    Notes
    -----
    A row of a table that is looked up is no weight that is read; a tied table is, as the output head.
    """
    return sum(m.read_count for m in modules if m.kind != "tower")
