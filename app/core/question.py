"""The frame of a shortlist question around its workload, and the table of every field that a question has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core import applicability, defaults
from app.core.answer import Figure, answer
from app.core.engines import framework_names
from app.core.fields import REQUIRED, Range, declared
from app.core.workload import Workload, always

OBJECTIVES = ("total_cost", "purchase", "tflops_per_yuan", "speed", "power")
CONDITIONS = ("new", "used", "refurbished", "modded")
DEFAULT_CONDITIONS = ("new", "used", "refurbished")
BUY = "buy"
RENTS = ("rent_on_demand", "rent_monthly")
ACQUISITIONS = (BUY, *RENTS)
REGIONS = ("CN", "US", "HK", "TW", "EU", "global")
EVIDENCE_RULES = ("current", "any")
AVAILABILITY_RULES = ("sold", "any")
CARD_PRICE = Range(0.01, 1e9, integer=False)
COUNT = Range(1, 4096)
MAX_COUNTS = 16


@answer()
class Filters:
    """Hard filters. An empty tuple filters nothing."""

    vendors: tuple[str, ...] = declared(
        (),
        "vendors",
        "Vendor",
        "Only cards of these makers.",
        group="cards",
        name="vendor",
        flag="vendor",
        hint="all",
    )
    conditions: tuple[str, ...] = declared(
        DEFAULT_CONDITIONS,
        "choices",
        "Condition",
        "Conditions of a card that may be bought; modified ones only when asked for.",
        title="Conditions",
        choices=CONDITIONS,
        words="condition",
        told=always,
        flag="condition",
        group="cards",
        shown=DEFAULT_CONDITIONS,
    )
    acquisition: tuple[str, ...] = declared(
        (),
        "choices",
        "Buy or rent",
        "buy; rent_on_demand, by the hour; rent_monthly. Left open: all of them in one list.",
        choices=ACQUISITIONS,
        words="acquisition",
        flag="acquisition",
        group="cards_more",
    )
    needs: tuple[str, ...] = declared(
        (),
        "choices",
        "Must have",
        "Features that the card must have.",
        choices=("ecc", "mig", "nvlink"),
        words="feature",
        flag="need",
        group="cards_more",
    )
    frameworks: tuple[str, ...] = declared(
        (),
        "frameworks",
        "Framework",
        "Frameworks that must run on the card, with a version where it matters.",
        choices=framework_names(),
        words="framework",
        example=["tensorflow==2.15"],
        name="framework",
        flag="framework",
        group="cards_more",
        hint="any",
    )
    os: str = declared(
        "",
        "choice",
        "System",
        "Operating system that the software must have a build for.",
        choices=("linux", "windows", "wsl2", "macos"),
        words="system",
        group="cards_more",
        hint="any",
    )
    driver: str = declared(
        "",
        "version",
        "NVIDIA driver",
        "The driver that is installed: cards and frameworks that need a newer one are left out.",
        pattern=r"\d{3}(?:\.\d{1,3}){0,2}",
        example="550.54",
        group="cards_more",
        hint="any",
    )
    regions: tuple[str, ...] = declared(
        (),
        "choices",
        "Allowed in",
        "Regions in which the card must be allowed and on sale; left open, the price region.",
        choices=REGIONS,
        words="region",
        name="region",
        flag="region",
        group="cards_more",
        hint="any",
    )
    availability: str = declared(
        "sold",
        "choice",
        "On sale there",
        "sold: cards under an export rule, or not on sale, count only at a price of today; any: all count.",
        choices=AVAILABILITY_RULES,
        words="availability_rule",
        flag="availability",
        group="cards_more",
        told=always,
        shown=("sold",),
    )
    max_power_w: Figure | None = declared(
        None,
        "number",
        "Power together",
        "Rated power that all cards of an option may have together.",
        limits=Range(1, 1e7, integer=False),
        unit="W",
        flag="max-power",
        group="cards_more",
        hint="any",
    )
    max_count: int | None = declared(
        None,
        "integer",
        "Cards at most",
        "Most cards that an option may have.",
        limits=COUNT,
        group="cards_more",
        hint="any",
    )
    max_cards_per_host: int = declared(
        8,
        "integer",
        "Cards per host",
        "Most cards that one host takes.",
        limits=COUNT,
        group="cards_more",
        shown=("8",),
    )
    gpus: tuple[str, ...] = declared(
        (),
        "cards",
        "Only these cards",
        "Ids or aliases; no other card is considered.",
        example=["rtx4090", "l20"],
        flag="only",
        group="cards_more",
        hint="rtx4090, l20",
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """An upper bound on purchase with host."""

    amount: float = declared(
        REQUIRED,
        "number",
        "Budget",
        "Most that the cards with their hosts may cost.",
        limits=Range(0, 1e12, integer=False),
        unit="¥",
        name="budget",
        flag="budget",
        group="cost",
        hint="none",
    )
    currency: str = declared(
        "CNY",
        "choice",
        "Currency of the budget",
        "US dollars are converted at the dated rate.",
        choices=("CNY", "USD"),
        name="budget_currency",
        flag="budget-currency",
        group="cost_more",
        shown=("CNY",),
    )


@answer()
class PriceRules:
    """Which observations may count."""

    max_age_days: int = declared(
        180,
        "integer",
        "Prices up to",
        "Older prices are stale.",
        title="Oldest price that counts",
        limits=Range(1, 36_500),
        unit="days old",
        told=always,
        group="cost_more",
        shown=("180",),
    )
    refuse_stale: bool = declared(
        False,
        "flag",
        "Refuse stale prices",
        "Fail when only a stale price is left.",
        told=always,
        group="cost_more",
    )
    tax: str = declared(
        "",
        "choice",
        "Tax basis",
        "Only prices with tax, or without it.",
        choices=("included", "excluded"),
        words="tax",
        told=always,
        group="cost_more",
        hint="any",
    )
    region: str = declared(
        "CN",
        "choice",
        "Price region",
        "Prices of this region.",
        choices=REGIONS,
        words="region",
        name="price_region",
        flag="price-region",
        told=always,
        group="cost_more",
        shown=("CN",),
    )
    evidence: str = declared(
        "current",
        "choice",
        "Prices that are ranked",
        "current: quotes, own prices and what is sold today; any: estimates are ranked too, and flagged.",
        choices=EVIDENCE_RULES,
        words="evidence",
        told=always,
        group="cost_more",
        shown=("current",),
    )


@answer()
class Economics:
    """The economic frame. Fractions are 0..1."""

    months: Figure = declared(
        36.0,
        "number",
        "Term",
        "Months over which the purchase is counted.",
        limits=Range(1, 240, integer=False),
        unit="months",
        told=always,
        group="cost",
        shown=("36",),
    )
    hours_per_month: Figure = declared(
        730.0,
        "number",
        "Powered on",
        "Hours of a month that the cards are on.",
        title="Hours per month",
        limits=Range(1, 744, integer=False),
        unit="h/month",
        told=always,
        group="cost_more",
        shown=("730",),
    )
    electricity_cny_per_kwh: Figure = declared(
        0.8,
        "number",
        "Electricity",
        "Price of a kilowatt-hour in yuan.",
        limits=Range(0, 100, integer=False),
        unit="¥/kWh",
        name="electricity",
        flag="electricity",
        told=always,
        group="cost_more",
        shown=("0.8",),
    )
    pue: Figure = declared(
        1.4,
        "number",
        "PUE",
        "Power of the whole room over that of the machines.",
        limits=Range(1, 5, integer=False),
        told=always,
        group="cost_more",
        shown=("1.4",),
    )
    utilisation: Figure = declared(
        0.6,
        "fraction",
        "Utilisation",
        "Share of the hours that the cards work, 0 to 1.",
        limits=Range(0.001, 1, integer=False),
        unit="%",
        told=always,
        group="cost_more",
        shown=("60",),
    )
    residual: Figure = declared(
        0.2,
        "fraction",
        "Residual value",
        "Share of the price that is left at the end, 0 to 1.",
        limits=Range(0, 1, integer=False),
        unit="%",
        told=always,
        group="cost_more",
        shown=("20",),
    )
    host: str | None = declared(
        None,
        "choice",
        "Machine",
        "own: it is there already; new: it is bought too. Left open: own for one or two PCIe cards.",
        title="Machine around the cards",
        choices=("own", "new"),
        words="host",
        name="machine",
        flag="machine",
        told=always,
        group="cost_more",
    )
    host_cny_per_gpu: Figure | None = declared(
        None,
        "number",
        "Host per card",
        "Price of the machine for each card in yuan, as stated; left open, that of its class.",
        title="Machine, per card",
        limits=Range(0, 1e7, integer=False),
        unit="¥",
        name="host",
        flag="host",
        told=always,
        group="cost_more",
    )


@dataclass(frozen=True, slots=True)
class Work:
    """Amount of work, per month for inference, in all for training."""

    amount: float = declared(
        REQUIRED,
        "number",
        "Work",
        "How much is to be done: per month in inference, in all in training.",
        limits=Range(1e-6, 1e18, integer=False),
        name="work",
        flag="work",
        group="cost",
        usual=defaults.work_amount,
    )
    unit: str = declared(
        "tokens",
        "choice",
        "Unit of the work",
        "Hours are of running, for speech models of audio.",
        choices=("tokens", "samples", "images", "epochs", "hours"),
        words="work_unit",
        name="work_unit",
        flag="work-unit",
        group="cost",
        usual=defaults.work_unit,
    )
    samples_per_epoch: float | None = declared(
        None,
        "integer",
        "Samples of an epoch",
        "Samples, images or texts of the training set, where the work is told in epochs.",
        limits=Range(1, 1e12),
        counts=(applicability.TRAINS,),
        group="cost",
        usual=defaults.epoch_samples,
    )
    assumed: bool = False
    """Nobody stated it: it sets order and energy, and rejects nothing."""


@answer()
class Service:
    """What users of a served language model are to get, all at once. A goal of 0 is none."""

    users: int | None = declared(
        None,
        "integer",
        "Users at once",
        "How many wait for tokens at the same time; left open, the concurrent sequences.",
        limits=Range(1, 1e6),
        name="users",
        flag="users",
        counts=applicability.SERVICE,
        group="run_more",
    )
    tokens_per_s_per_user: Figure | None = declared(
        8.0,
        "number",
        "Tokens/s for each user",
        "Least output speed of each user under that load; 0: any.",
        limits=Range(0, 1e5, integer=False),
        unit="token/s",
        name="user_speed",
        flag="user-speed",
        counts=applicability.SERVICE,
        group="run",
        shown=("8",),
    )
    first_token_s: Figure | None = declared(
        10.0,
        "number",
        "First token within",
        "Longest wait for the first token under that load, seconds; 0: any.",
        limits=Range(0, 1e5, integer=False),
        unit="s",
        name="first_token",
        flag="first-token",
        counts=applicability.SERVICE,
        group="run",
        shown=("10",),
    )
    spare_hosts: int = declared(
        0,
        "integer",
        "Spare machines",
        "Machines with cards kept for a failure; a strict service level takes one.",
        limits=Range(0, 64),
        name="spare_hosts",
        flag="spare-hosts",
        group="cost_more",
        shown=("0",),
    )


def _asked(label: str, help: str) -> Any:
    return declared(None, "answer", label, help, group="cards_more", hint="not said")


@dataclass(frozen=True, slots=True)
class SeedQuestions:
    """The four questions of the first seed story; None = answered from the workload where it can be."""

    parameters_over_10b: bool | None = _asked(
        "Over 10 billion parameters", "Left open, the model answers it."
    )
    run_over_24h: bool | None = _asked("Runs over 24 h", "One run takes longer than a day.")
    tenants: bool | None = _asked("Several tenants", "Several parties share the cards.")
    strict_sla: bool | None = _asked("Strict SLA", "The service level is strict: a spare host is advised.")


@dataclass(frozen=True, slots=True)
class ShortlistQuestion:
    """Everything a ranking depends on, prices apart."""

    workload: Workload
    counts: tuple[int, ...] = declared(
        (1, 2, 4, 8),
        "counts",
        "Cards together",
        "Numbers of cards to try.",
        title="Card counts",
        limits=COUNT,
        longest=MAX_COUNTS,
        told=always,
        group="cards",
        shown=("1, 2, 4, 8",),
    )
    filters: Filters = field(default_factory=Filters)
    budget: Budget | None = None
    economics: Economics = field(default_factory=Economics)
    objective: str = declared(
        "total_cost",
        "choice",
        "Objective",
        "What the options are ranked by.",
        choices=OBJECTIVES,
        words="objective",
        told=always,
        group="cost",
        shown=("total_cost",),
    )
    service: Service | None = None
    price_rules: PriceRules = field(default_factory=PriceRules)
    price_overrides: Mapping[str, float] = declared(
        dict,
        "prices",
        "My own prices, ¥ per card",
        "Your own price per card in yuan, by id or alias of the card; it replaces the catalogue's.",
        limits=CARD_PRICE,
        example={"rtx3090": 6500},
        name="prices",
        flag="price",
        group="cost_more",
        hint="rtx4090 = 14000",
    )
    work: Work | None = None
    deadline_hours: float | None = declared(
        None,
        "number",
        "Deadline",
        "Hours in which the work must be done.",
        limits=Range(0.01, 1e6, integer=False),
        unit="h",
        group="cost_more",
        hint="none",
    )
    limit: int = declared(
        10,
        "integer",
        "Rows shown",
        "Options to list.",
        limits=Range(1, 200),
        told=always,
        name="rows",
        group="table",
        shown=("10",),
    )
    questions: SeedQuestions = field(default_factory=SeedQuestions)

    @property
    def load_assumed(self) -> bool:
        """Whether nobody said how much is to be done."""
        return self.work is not None and self.work.assumed
