"""A shortlist question around a workload: filters, budget, price rules, economics, objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.answer import Figure, answer
from app.core.tracing import Constant
from app.core.workload import Workload

OBJECTIVES = ("total_cost", "purchase", "tflops_per_yuan", "speed", "power")
CONDITIONS = ("new", "used", "refurbished", "modded")
DEFAULT_CONDITIONS = ("new", "used", "refurbished")
NEEDS = ("ecc", "mig", "nvlink")
REGIONS = ("CN", "US", "HK", "TW", "EU", "global")
WORK_UNITS = ("tokens", "samples", "images", "epochs", "hours")


@answer()
class Filters:
    """Hard filters. An empty list filters nothing."""

    vendors: tuple[str, ...] = ()
    """Makers that count."""
    conditions: tuple[str, ...] = DEFAULT_CONDITIONS
    """new, used, refurbished, modded: those that count."""
    regions: tuple[str, ...] = ()
    """Where the card must be allowed and to be had."""
    needs: tuple[str, ...] = ()
    """ecc, mig, nvlink: what the card must have."""
    frameworks: tuple[str, ...] = ()
    """Frameworks that must run on it, by name or with a version: tensorflow==2.15."""
    os: str = ""
    """linux, windows, wsl2, macos or empty for any."""
    driver: str = ""
    """Driver that is installed; empty for any."""
    max_power_w: Figure | None = None
    """Upper bound of the power of all cards of an option together (TDP), W."""
    max_count: int | None = None
    """Most cards of an option."""
    gpus: tuple[str, ...] = ()
    """Ids of the only cards that count."""
    max_cards_per_host: int = 8
    """Cards that one host holds."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An upper bound on purchase with host."""

    amount: float
    currency: str = "CNY"


@answer()
class PriceRules:
    """Which observations of prices may count."""

    max_age_days: int = 180
    """Days after which a price is stale."""
    refuse_stale: bool = False
    """Whether a stale price is refused, not marked."""
    tax: str = ""
    """included, excluded, or empty for any."""
    region: str = "CN"
    """Where prices are to hold."""


HOST_SHARE = Constant(0.2, "host_share", "", "of a card's price, the share of the machine around it")
"""Of a card's price: in the bill of materials of an 8-card server, all but the chips is 21 % (2023)."""
HOST_FIXED_CNY = Constant(500.0, "host_fixed_cny", "CNY", "of each card: power supply, slot")
"""Of each card whatever its price: power supply and slot; assumed."""


@answer()
class Economics:
    """The economic frame."""

    months: Figure = 36.0
    """The term, months."""
    hours_per_month: Figure = 730.0
    """Hours of a month in which the machine is on, h."""
    electricity_cny_per_kwh: Figure = 0.8
    """Electricity, yuan per kWh."""
    pue: Figure = 1.4
    """Power of the room over power of the machines."""
    utilisation: Figure = 0.6
    """Share of these hours in which the cards work, 0 to 1."""
    residual: Figure = 0.2
    """Share of the purchase that the cards are still worth at the end, 0 to 1."""
    host_cny_per_gpu: Figure | None = None
    """Share of the machine for each card, yuan; null: 500 yuan and 20 % of the card's price."""


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
