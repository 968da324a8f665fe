"""A shortlist question around a workload: filters, budget, price rules, economics, objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.workload import Workload

OBJECTIVES = ("total_cost", "purchase", "tflops_per_yuan", "speed", "power")
CONDITIONS = ("new", "used", "refurbished", "modded")
DEFAULT_CONDITIONS = ("new", "used", "refurbished")
NEEDS = ("ecc", "mig", "nvlink")
REGIONS = ("CN", "US", "HK", "TW", "EU", "global")
WORK_UNITS = ("tokens", "samples", "images", "epochs", "hours")


@dataclass(frozen=True, slots=True)
class Filters:
    """Hard filters. An empty tuple filters nothing."""

    vendors: tuple[str, ...] = ()
    conditions: tuple[str, ...] = DEFAULT_CONDITIONS
    regions: tuple[str, ...] = ()
    """Where the card must be allowed / available; see `availability` facts."""
    needs: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    """pytorch, tensorflow, or with a version: tensorflow==2.15."""
    os: str = ""
    """linux, windows, wsl2, macos or empty."""
    driver: str = ""
    max_power_w: float | None = None
    """Of all cards of the option together (TDP)."""
    max_count: int | None = None
    gpus: tuple[str, ...] = ()
    max_cards_per_host: int = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """An upper bound on purchase with host."""

    amount: float
    currency: str = "CNY"


@dataclass(frozen=True, slots=True)
class PriceRules:
    """Which observations may count."""

    max_age_days: int = 180
    refuse_stale: bool = False
    tax: str = ""
    """included, excluded, or empty = any."""
    region: str = "CN"


HOST_SHARE = 0.2
"""Of a card's price: in the bill of materials of an 8-card server, all but the chips is 21 % (2023)."""
HOST_FIXED_CNY = 500.0
"""Of each card whatever its price: power supply and slot; assumed."""


@dataclass(frozen=True, slots=True)
class Economics:
    """The economic frame. Fractions are 0..1."""

    months: float = 36.0
    hours_per_month: float = 730.0
    electricity_cny_per_kwh: float = 0.8
    pue: float = 1.4
    utilisation: float = 0.6
    residual: float = 0.2
    host_cny_per_gpu: float | None = None
    """Share of the machine for each card. None: `HOST_FIXED_CNY` and `HOST_SHARE` of the card's price."""


@dataclass(frozen=True, slots=True)
class Work:
    """Amount of work, per month for inference, in all for training."""

    amount: float
    unit: str = "tokens"


@dataclass(frozen=True, slots=True)
class SeedQuestions:
    """The four questions of the first seed story; None = answered from the workload where it can be."""

    parameters_over_10b: bool | None = None
    run_over_24h: bool | None = None
    tenants: bool | None = None
    strict_sla: bool | None = None


@dataclass(frozen=True, slots=True)
class ShortlistQuestion:
    """Everything a ranking depends on, prices apart."""

    workload: Workload
    counts: tuple[int, ...] = (1, 2, 4, 8)
    filters: Filters = field(default_factory=Filters)
    budget: Budget | None = None
    economics: Economics = field(default_factory=Economics)
    objective: str = "total_cost"
    price_rules: PriceRules = field(default_factory=PriceRules)
    price_overrides: Mapping[str, float] = field(default_factory=dict)
    work: Work | None = None
    deadline_hours: float | None = None
    limit: int = 10
    questions: SeedQuestions = field(default_factory=SeedQuestions)
