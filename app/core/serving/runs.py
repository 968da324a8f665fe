"""A published measurement of serving, and the question that it answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from app.core.model.architecture import ModelArchitecture
from app.core.resolve import resolve
from app.core.serving.load import STEADY, Load
from app.core.workload import Parallelism, Workload

Phase = Literal["total", "token", "first"]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""Tokens per second of all users, time per output token, time to first token."""
CALIBRATES = "calibrates"
"""Word of `use` for a row that formulas of speed cite: it may fit constants, no accuracy is said of it."""
COLUMNS = tuple(
    "id gpu_id cards data tensor pipeline expert model_id precision kv_precision engine engine_version "
    "prompt_tokens output_tokens users requests rate_s lengths eager accepted_tokens drafted_tokens "
    "max_num_seqs memory_fraction power_share output_tokens_per_s first_token_ms token_ms use published "
    "read_on title url "
    "note".split()
)
ALL_THAT_FIT = 4096.0
"""Users of a run that was tried at growing loads until the memory was full."""


class RunFault(ValueError):
    """A fault in the table of runs, with file and line."""


@dataclass(frozen=True, slots=True)
class ServingRun:
    """One run of a server under a load."""

    id: str
    gpu_id: str
    plan: Parallelism
    model_id: str
    precision: str
    kv_precision: str
    engine: str
    engine_version: str
    load: Load
    eager: bool
    max_num_seqs: int | None
    memory_fraction: float | None
    power_share: float
    """Power limit over the card's own."""
    measured: Mapping[Phase, float]
    """Tokens per second and seconds, of the phases that may be compared."""
    calibrates: bool
    title: str
    url: str
    published: str

    @property
    def site(self) -> str:
        """Who measured: the repository, or the host of other pages."""
        host, *path = self.url.partition("://")[2].split("/")
        return "/".join((host, *path[:2])) if host == "github.com" else host

    @property
    def fitted(self) -> bool:
        """Whether constants may be read from it: an even SHA-256 of its address."""
        return int(hashlib.sha256(self.url.encode()).hexdigest(), 16) % 2 == 0

    @property
    def users(self) -> float:
        """Users at a time; those that a rate of arrivals keeps are not known."""
        return float(self.load.users)

    @property
    def first_alone(self) -> bool:
        """One request at a time."""
        return not self.load.rate_s and self.users <= 1.0

    def question(self, model: ModelArchitecture) -> Workload:
        """The resolved question."""
        asked = Workload(
            model=model,
            precision=self.precision,
            kv_precision=self.kv_precision,
            engine=self.engine,
            engine_version=self.engine_version,
            batch_size=max(self.users, 1.0),
            batch_stated=True,
            sequence_length=float(self.load.prompt) + float(self.load.output),
            output_length=float(self.load.output),
            load="saturated",
            max_num_seqs=self.max_num_seqs,
            memory_fraction=self.memory_fraction,
            parallelism=self.plan,
        )
        return resolve(asked)[0]


def read(rows: Iterable[tuple[int, Mapping[str, str | None]]], file: str) -> tuple[ServingRun, ...]:
    """Runs of a table.

    Parameters
    ----------
    rows: (line, cell by column). file: its name, for faults.

    Errors
    ------
    RunFault that names file and line.
    """
    found = []
    for line, cells in rows:
        try:
            found.append(_run({name: (cells[name] or "").strip() for name in COLUMNS}))
        except (KeyError, ValueError) as error:
            raise RunFault(f"{file}, line {line}: {error}") from error
    return tuple(found)


def _run(cells: Mapping[str, str]) -> ServingRun:
    def number(name: str, otherwise: float) -> float:
        return float(cells[name]) if cells[name] else otherwise

    use = cells["use"].split()
    columns: tuple[tuple[Phase, str, float], ...] = (
        ("total", "output_tokens_per_s", 1.0),
        ("token", "token_ms", 1e-3),
        ("first", "first_token_ms", 1e-3),
    )
    plan = Parallelism(*(int(cells[name]) for name in ("data", "tensor", "pipeline", "expert")))
    if plan.cards != int(cells["cards"]):
        raise ValueError(f"{plan.cards} cards in the plan, {cells['cards']} stated")
    return ServingRun(
        id=cells["id"],
        gpu_id=cells["gpu_id"],
        plan=plan,
        model_id=cells["model_id"],
        precision=cells["precision"],
        kv_precision=cells["kv_precision"],
        engine=cells["engine"],
        engine_version=cells["engine_version"],
        load=Load(
            users=number("users", 1.0),
            prompt=number("prompt_tokens", 1.0),
            output=number("output_tokens", 1.0),
            requests=number("requests", STEADY),
            rate_s=number("rate_s", 0.0),
            equal=1.0 if cells["lengths"] == "equal" else 0.0,
            accepted=number("accepted_tokens", 1.0),
            drafted=number("drafted_tokens", 0.0),
        ),
        eager=cells["eager"] == "yes",
        max_num_seqs=int(cells["max_num_seqs"]) if cells["max_num_seqs"] else None,
        memory_fraction=number("memory_fraction", 0.0) or None,
        power_share=number("power_share", 1.0),
        measured={p: float(cells[c]) * by for p, c, by in columns if p in use},
        calibrates=CALIBRATES in use,
        title=cells["title"],
        url=cells["url"],
        published=cells["published"],
    )
