"""The files of the seed: which table each fills, what cells may hold, what makes a row the same row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from re import fullmatch
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.dates import effective_date
from app.catalog.observations import CHANNEL_KINDS, PER, TAXES
from app.catalog.presets import REMARKS
from app.core import formats
from app.core.estimates import Basis
from app.core.faults import InputFault
from app.core.model.architecture import FAMILIES, architecture_from_fields
from app.core.question import CONDITIONS, REGIONS

Kind = Literal["text", "number", "integer", "boolean", "json"]
Row = dict[str, Any]
Complaint = tuple[str, str, dict[str, Any]]
"""Column, code, parameters."""
ID = r"[a-z0-9][a-z0-9._+-]*"
CURRENCY = r"[A-Z]{3}"
BASES = get_args(Basis)
SOURCE_KINDS = (
    "vendor",
    "reference",
    "dataset",
    "press",
    "forum",
    "listing",
    "measured",
    "derived",
    "article",
)
BENCHMARK_TASKS = ("training", "inference", "finetune")
COUNTED = "1"
"""Unit of a number of things."""
FIGURE_UNITS: Mapping[str, str] = {
    "memory_gib": "GiB",
    "driver_total_gib": "GiB",
    "usable_gib": "GiB",
    "bandwidth_gb_s": "GB/s",
    "fp64_tflops": "TFLOPS",
    "fp64_tensor_tflops": "TFLOPS",
    "fp32_tflops": "TFLOPS",
    "tf32_tflops": "TFLOPS",
    "fp16_tflops": "TFLOPS",
    "fp16_vector_tflops": "TFLOPS",
    "fp16_fp16acc_tflops": "TFLOPS",
    "bf16_tflops": "TFLOPS",
    "fp8_tflops": "TFLOPS",
    "fp8_fp16acc_tflops": "TFLOPS",
    "fp4_tflops": "TFLOPS",
    "int8_tops": "TOPS",
    "int4_tops": "TOPS",
    "tdp_w": "W",
    "recommended_psu_w": "W",
    "boost_clock_mhz": "MHz",
    "tensor_clock_mhz": "MHz",
    "memory_bus_bits": "bit",
    "memory_rate_gbps": "Gbit/s",
    "l2_cache_mib": "MiB",
    "last_level_cache_mib": "MiB",
    "link_gb_s": "GB/s",
    "launch_msrp_usd": "USD",
    "launch_msrp_cny": "CNY",
    "mig_instances": COUNTED,
    "pcie_gen": COUNTED,
    "pcie_lanes": COUNTED,
    "shader_cores": COUNTED,
    "sm_count": COUNTED,
    "tensor_cores": COUNTED,
}
"""Every figure a card may have, with the one unit it is kept in."""
FIGURE_LIMITS: Mapping[str, tuple[float, float]] = {
    "GiB": (0.1, 1e5),
    "GB/s": (1.0, 1e6),
    "TFLOPS": (1e-3, 1e7),
    "TOPS": (1e-3, 1e7),
    "W": (1.0, 1e5),
    "MHz": (10.0, 2e4),
    "bit": (8.0, 1e6),
    "Gbit/s": (0.1, 1e3),
    "MiB": (1e-3, 1e6),
    "USD": (1.0, 1e7),
    "CNY": (1.0, 1e8),
    COUNTED: (1.0, 1e7),
}
"""Lowest and highest value by unit. None is ever 0: what a card does not have has no figure."""
FORM_FACTORS = (
    "PCIe card",
    "SXM module",
    "OAM module",
    "superchip module",
    "socket",
    "mezzanine module",
    "server board",
    "integrated",
    "laptop",
    "cloud only",
)
"""How a part is built in. Only a PCIe card is sold by itself and fits any host."""
_DRIVER = r"\d{3}\.\d{2,3}(\.\d{2})?"
FACTS: Mapping[str, str] = {
    "form_factor": "|".join(FORM_FACTORS),
    "launch_date": r"\d{4}(-\d{2}){0,2}",
    "power_connector": r".{1,60}",
    "cooling": "passive|active|blower|open fans|liquid",
    "slot_width": r"\d(\.\d{1,2})?",
    "socket": r".{1,40}",
    "driver_min_linux": _DRIVER,
    "driver_min_windows": _DRIVER,
}
"""Facts with a source of their own, and what their values look like."""


@dataclass(frozen=True, slots=True)
class Column:
    """What one cell may hold."""

    kind: Kind
    required: bool = False
    nullable: bool = False
    """An empty cell is None, not the default of the table."""
    default: Any = None
    allowed: tuple[str, ...] = ()
    pattern: str = ""
    low: float | None = None
    high: float | None = None
    dated: bool = False
    refers_to: str = ""
    """Name of the file whose ids it must be one of."""


@dataclass(frozen=True, slots=True)
class SeedFile:
    """One file."""

    name: str
    row: type[SQLModel]
    columns: Mapping[str, Column]
    """By field of the table."""
    key: tuple[str, ...] = ()
    """Fields that make a row the same row; empty: the file gives ids."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Name in the file -> field, where they differ."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Row], Iterator[Complaint]] | None = None
    optional: bool = False
    stored: bool = True

    @property
    def json_lines(self) -> bool:
        """Whether each line is a JSON object."""
        return self.name.endswith(".jsonl")

    def field_of(self, header: str) -> str:
        """Field behind a column name of the file."""
        return self.headers.get(header, header)

    def header_of(self, name: str) -> str:
        """Column name in the file of a field."""
        return next((header for header, f in self.headers.items() if f == name), name)


class LintException(SQLModel):
    """A row of lint_exceptions.csv: a finding that is right as it stands, and why."""

    rule: str
    gpu_id: str
    figure: str = ""
    reason: str


def _columns(
    row: type[SQLModel], without: tuple[str, ...] = (), **changes: dict[str, Any]
) -> dict[str, Column]:
    """Columns of a table by their annotations, with the changes that a type cannot say."""
    hints = get_type_hints(row)
    found = {}
    for name, info in row.model_fields.items():
        if name in without:
            continue
        hint, nullable = hints[name], False
        if get_origin(hint) in (Union, UnionType):
            nullable, hint = True, next(a for a in get_args(hint) if a is not type(None))
        kinds: dict[Any, Kind] = {str: "text", float: "number", int: "integer", bool: "boolean"}
        options: dict[str, Any] = {
            "kind": kinds.get(hint, "json"),
            "required": info.is_required(),
            "nullable": nullable,
            "default": None if info.is_required() else info.get_default(call_default_factory=True),
        }
        found[name] = Column(**(options | changes.get(name, {})))
    return found


SOURCE = {"refers_to": "sources.csv", "required": True}
GPU = {"refers_to": "gpus.csv", "required": True}
DAY = {"dated": True}
POSITIVE = {"low": 1e-12}
COUNT = {"low": 1}
MONEY = {"low": 1e-6, "high": 1e12}
MONEY_CODE = {"pattern": CURRENCY}
GIVEN_ID = {"pattern": ID, "required": True}
REGION = {"allowed": ("", *REGIONS)}


def _one_of(*allowed: str) -> dict[str, Any]:
    return {"allowed": allowed}


def _check_figure(row: Row) -> Iterator[Complaint]:
    unit = FIGURE_UNITS.get(row["figure"])
    if unit is not None and row["unit"] != unit:
        yield "unit", "wrong_unit", {"figure": row["figure"], "expected": unit, "value": row["unit"]}
    elif unit is not None:
        low, high = FIGURE_LIMITS[unit]
        if not low <= row["value"] <= high:
            yield "value", "out_of_range", {"value": row["value"], "low": low, "high": high}
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}


def _check_fact(row: Row) -> Iterator[Complaint]:
    pattern = FACTS.get(row["fact"], "")
    if not fullmatch(pattern, row["value"]):
        yield "value", "pattern", {"value": row["value"][:80], "pattern": pattern}
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}


def _check_span(row: Row) -> Iterator[Complaint]:
    if row["until_on"] and row["from_on"] > row["until_on"]:
        yield "until_on", "valid_before_quoted", {}


def _check_alias(row: Row) -> Iterator[Complaint]:
    # One candidate alone is right too: another card of that name exists that the catalogue does not have.
    if bool(row["target_id"]) == bool(row["candidates"]):
        yield "candidates", "target_or_candidates", {}


def _check_rental(row: Row) -> Iterator[Complaint]:
    expected = row["per_hour"] / row["gpu_count"]
    # Sources round the price per card to cents.
    if abs(row["per_gpu_hour"] - expected) > max(0.011, 0.005 * expected):
        yield "per_gpu_hour", "per_gpu_mismatch", {"value": row["per_gpu_hour"], "expected": expected}


def _check_model(row: Row) -> Iterator[Complaint]:
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}
    given = {name: row[name] for name in ("id", "name", "family", "parameters", "active_parameters")}
    try:
        architecture_from_fields(given | row["architecture"])
    except InputFault as fault:
        yield "architecture", "architecture", {"detail": str(fault)}


_ALIAS = _columns(tables.AliasRow, ("id", "normalised"))
_ALIAS_KEY = ("kind", "normalised")

SEED_FILES: tuple[SeedFile, ...] = (
    SeedFile(
        "sources.csv",
        tables.SourceRow,
        _columns(
            tables.SourceRow,
            id=GIVEN_ID,
            title={"required": True},
            kind={"allowed": SOURCE_KINDS, "required": True},
            read_on=DAY,
        ),
    ),
    SeedFile(
        "gpus.csv",
        tables.GpuRow,
        _columns(
            tables.GpuRow,
            id=GIVEN_ID,
            launch_date=DAY,
            form_factor=_one_of("", *FORM_FACTORS),
            compute_capability={"pattern": r"(\d{1,2}\.\d)?"},
            gpus_per_board=COUNT,
            source_id=SOURCE,
        ),
    ),
    SeedFile(
        "models.jsonl",
        tables.ModelRow,
        _columns(
            tables.ModelRow,
            id=GIVEN_ID,
            family={"allowed": FAMILIES, "required": True},
            parameters=POSITIVE,
            active_parameters=POSITIVE,
            source_id=SOURCE,
            published_source_id={"refers_to": "sources.csv"},
            basis=_one_of(*BASES),
            as_of=DAY,
        ),
        check=_check_model,
    ),
    SeedFile(
        "gpu_figures.csv",
        tables.GpuFigureRow,
        _columns(
            tables.GpuFigureRow,
            ("id",),
            gpu_id=GPU,
            figure={"allowed": tuple(FIGURE_UNITS), "required": True},
            value={"low": 0.0},
            unit={"required": False, "default": ""},
            basis={"allowed": BASES, "required": True},
            source_id=SOURCE,
            as_of=DAY | {"required": True},
        ),
        key=("gpu_id", "figure", "value", "basis", "source_id", "as_of"),
        check=_check_figure,
    ),
    SeedFile(
        "gpu_facts.csv",
        tables.GpuFactRow,
        _columns(
            tables.GpuFactRow,
            ("id",),
            gpu_id=GPU,
            fact={"allowed": tuple(FACTS), "required": True},
            value={"required": True},
            basis={"allowed": BASES, "required": True},
            source_id=SOURCE,
            as_of=DAY | {"required": True},
        ),
        key=("gpu_id", "fact"),
        check=_check_fact,
        optional=True,
    ),
    SeedFile(
        "gpu_aliases.csv",
        tables.AliasRow,
        _ALIAS
        | {
            "kind": Column("text", default="gpu", allowed=("gpu",)),
            "target_id": Column("text", default="", refers_to="gpus.csv"),
        },
        key=_ALIAS_KEY,
        check=_check_alias,
    ),
    SeedFile(
        "model_aliases.csv",
        tables.AliasRow,
        _ALIAS
        | {
            "kind": Column("text", default="model", allowed=("model",)),
            "target_id": Column("text", default="", refers_to="models.jsonl"),
        },
        key=_ALIAS_KEY,
        check=_check_alias,
    ),
    SeedFile(
        "prices.csv",
        tables.PriceRow,
        _columns(
            tables.PriceRow,
            ("id",),
            gpu_id=GPU,
            condition={"allowed": CONDITIONS, "required": True},
            amount=MONEY,
            currency=MONEY_CODE,
            per=_one_of(*PER),
            tax=_one_of(*TAXES),
            region=REGION,
            channel_kind={"allowed": CHANNEL_KINDS, "required": True},
            observed_on=DAY,
            n=COUNT,
            source_id=SOURCE,
        ),
        key=(
            "gpu_id",
            "name_as_written",
            "condition",
            "amount",
            "currency",
            "per",
            "tax",
            "region",
            "channel",
            "observed_on",
            "source_id",
            "note",
        ),
    ),
    SeedFile(
        "rentals.csv",
        tables.RentalRow,
        _columns(
            tables.RentalRow,
            ("id",),
            gpu_id=GPU,
            currency=MONEY_CODE,
            gpu_count=COUNT,
            per_hour=MONEY,
            per_gpu_hour=MONEY,
            region=REGION,
            observed_on=DAY,
            source_id=SOURCE,
        ),
        key=(
            "gpu_id",
            "name_as_written",
            "provider",
            "instance",
            "gpu_count",
            "currency",
            "per_hour",
            "billing",
            "region",
            "observed_on",
            "source_id",
            "note",
        ),
        check=_check_rental,
    ),
    SeedFile(
        "rates.csv",
        tables.ExchangeRateRow,
        _columns(
            tables.ExchangeRateRow,
            ("id",),
            base=MONEY_CODE,
            quote=MONEY_CODE,
            rate=POSITIVE,
            observed_on=DAY,
            source_id=SOURCE,
        ),
        key=("base", "quote", "observed_on", "kind", "source_id"),
    ),
    SeedFile(
        "benchmarks.csv",
        tables.BenchmarkRow,
        _columns(
            tables.BenchmarkRow,
            ("id", "own"),
            gpu_id=GPU,
            gpu_count=COUNT,
            model_id={"refers_to": "models.jsonl"},
            task={"allowed": BENCHMARK_TASKS, "required": True},
            precision=_one_of("", *formats.names()),
            model_parameters=POSITIVE,
            batch_per_gpu=POSITIVE,
            sequence_length=POSITIVE,
            image_size=POSITIVE,
            input_length={"low": 0.0},
            output_length={"low": 0.0},
            value=POSITIVE,
            unit={"required": True},
            observed_on=DAY,
            source_id=SOURCE,
        ),
        key=(
            "gpu_id",
            "gpu_as_written",
            "gpu_count",
            "model_as_written",
            "task",
            "phase",
            "precision_as_written",
            "batch_per_gpu",
            "sequence_length",
            "image_size",
            "input_length",
            "output_length",
            "value",
            "unit_as_written",
            "framework",
            "framework_version",
            "interconnect",
            "observed_on",
            "source_id",
            "note",
        ),
        fixed={"own": False},
    ),
    SeedFile(
        "memory_cases.jsonl",
        tables.MemoryCaseRow,
        _columns(
            tables.MemoryCaseRow,
            ("id",),
            kind=_one_of("inference", "training"),
            gpu_id={"refers_to": "gpus.csv"},
            gpu_count=COUNT,
            observed_on=DAY,
            source_id=SOURCE,
        ),
        key=("kind", "workload", "measured", "gpu_id", "gpu_count", "measure_kind", "source_id", "note"),
        optional=True,
    ),
    SeedFile(
        "framework_support.jsonl",
        tables.FrameworkSupportRow,
        _columns(tables.FrameworkSupportRow, ("id",), source_id=SOURCE, as_of=DAY),
        key=("framework", "version"),
    ),
    SeedFile(
        "availability.csv",
        tables.AvailabilityRow,
        _columns(
            tables.AvailabilityRow,
            ("id",),
            gpu_id=GPU,
            region={"allowed": REGIONS, "required": True},
            from_on=DAY,
            until_on=DAY,
            status={"allowed": tuple(REMARKS), "required": True},
            source_id=SOURCE,
        ),
        key=("gpu_id", "region", "from_on", "status", "source_id"),
        headers={"from": "from_on", "until": "until_on"},
        check=_check_span,
    ),
    SeedFile(
        "lint_exceptions.csv",
        LintException,
        _columns(LintException, gpu_id={"refers_to": "gpus.csv"}, reason={"required": True}),
        key=("rule", "gpu_id", "figure"),
        optional=True,
        stored=False,
    ),
)
"""Files that are referred to come before those that refer."""


def check_date(text: str) -> bool:
    """Whether a text is an observation's date."""
    try:
        effective_date(text)
    except ValueError:
        return False
    return True
