"""What cells may hold: words in both languages, figures with unit and limits, facts, rules of whole rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from re import fullmatch
from typing import NamedTuple, get_args

from app.catalog.columns.kinds import Complaint, Row
from app.core.estimates import Basis
from app.core.faults import InputFault
from app.core.model.architecture import architecture_from_fields


def _spellings(words: Mapping[str, str]) -> Mapping[str, str]:
    """What each spelling means, from the spellings of each meaning, parted by commas."""
    return {spelling: word for word, spellings in words.items() for spelling in spellings.split(", ")}


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
CONDITION_WORDS = _spellings(
    {
        "new": "全新, 新, 全新未拆, brand new",
        "used": "二手, 旧, 拆机, second hand, second-hand",
        "refurbished": "翻新, 官翻, 官方翻新",
        "modded": "改装, 魔改, 改",
    }
)
TAX_WORDS = _spellings(
    {
        "included": "含税, 含增值税, gross, incl",
        "excluded": "不含税, 未税, 净价, net, excl",
        "unknown": "未知, 不详",
    }
)
PER_WORDS = _spellings(
    {
        "card": "张, 块, 片, 卡, 单卡, 每卡, gpu",
        "server-8": "server, 8卡, 八卡, 8卡整机, 8卡服务器, 8x server",
    }
)
CHANNEL_WORDS = _spellings(
    {
        "retail": "零售, 自营",
        "quote": "报价",
        "diy": "散片, diy市场",
        "listings_mean": "挂牌均价, 均价",
        "asking": "要价, 挂牌",
        "listings_lowest": "最低挂牌, 最低价",
        "article": "文章",
        "launch": "首发价, 发布价",
    }
)
INVOICE_WORDS = _spellings(
    {
        "special": "专票, 增值税专用发票, 专用发票, 增专",
        "ordinary": "普票, 增值税普通发票, 普通发票",
        "none": "无, 无票, 不开票, 不含票, no",
    }
)
INVOICES = ("special", "ordinary", "none")
PERIOD_WORDS = _spellings(
    {
        "hour": "小时, 时, h, hourly",
        "day": "天, 日",
        "month": "月, monthly",
        "year": "年, yearly",
    }
)
PERIODS = ("hour", "day", "month", "year")
ADAPTERS = ("lora", "qlora")
"""Tasks of the contract that are kept as fine-tuning, the adapter named beside the model."""
TASK_WORDS = _spellings(
    {
        "inference": "推理",
        "training": "训练",
        "finetune": "微调, fine-tuning",
    }
)
COUNTED = "1"
"""Unit of a number of things."""


class FigureKind(NamedTuple):
    """A number that a card may have: the one unit it is kept in, and what it means."""

    unit: str
    about: str


_TENSOR = (
    "dense tensor rate with fp32 accumulate; without tensor units the rate at which the format is computed"
)
_HALF = "dense, fp16 accumulate: shown, never ranked"
FIGURES: Mapping[str, FigureKind] = {
    "memory_gib": FigureKind("GiB", 'nameplate, as the vendor prints it ("24 GB")'),
    "driver_total_gib": FigureKind("GiB", "what nvidia-smi prints, MiB / 1024"),
    "usable_gib": FigureKind(
        "GiB", "what CUDA reports to a process before any context; of one chip on boards with two"
    ),
    "bandwidth_gb_s": FigureKind("GB/s", "memory bandwidth"),
    "fp64_tflops": FigureKind("TFLOPS", "vector rate"),
    "fp64_tensor_tflops": FigureKind("TFLOPS", "tensor rate"),
    "fp32_tflops": FigureKind("TFLOPS", "vector rate"),
    "tf32_tflops": FigureKind("TFLOPS", _TENSOR),
    "fp16_tflops": FigureKind("TFLOPS", _TENSOR),
    "fp16_vector_tflops": FigureKind("TFLOPS", "vector rate"),
    "fp16_fp16acc_tflops": FigureKind("TFLOPS", _HALF),
    "bf16_tflops": FigureKind("TFLOPS", _TENSOR),
    "fp8_tflops": FigureKind("TFLOPS", _TENSOR),
    "fp8_fp16acc_tflops": FigureKind("TFLOPS", _HALF),
    "fp4_tflops": FigureKind("TFLOPS", _TENSOR),
    "int8_tops": FigureKind("TOPS", "dense, int32 accumulate"),
    "int4_tops": FigureKind("TOPS", "dense, int32 accumulate"),
    "tdp_w": FigureKind("W", "board power"),
    "recommended_psu_w": FigureKind("W", "power supply that the vendor asks for"),
    "boost_clock_mhz": FigureKind("MHz", "reference boost"),
    "tensor_clock_mhz": FigureKind("MHz", "reference boost of the tensor units, where it is another"),
    "memory_bus_bits": FigureKind("bit", "width of the memory bus"),
    "memory_rate_gbps": FigureKind("Gbit/s", "per pin"),
    "l2_cache_mib": FigureKind("MiB", "second-level cache"),
    "last_level_cache_mib": FigureKind("MiB", "last-level cache"),
    "link_gb_s": FigureKind("GB/s", "interconnect, both directions together"),
    "launch_msrp_usd": FigureKind("USD", "launch list price"),
    "launch_msrp_cny": FigureKind("CNY", "launch list price"),
    "mig_instances": FigureKind(COUNTED, "hardware partitions at most"),
    "pcie_gen": FigureKind(COUNTED, "generation of PCI Express"),
    "pcie_lanes": FigureKind(COUNTED, "lanes of PCI Express"),
    "shader_cores": FigureKind(COUNTED, "shaders"),
    "sm_count": FigureKind(COUNTED, "streaming multiprocessors or compute units"),
    "tensor_cores": FigureKind(COUNTED, "tensor or matrix units"),
}
"""Every figure a card may have."""
FIGURE_UNITS: Mapping[str, str] = {name: figure.unit for name, figure in FIGURES.items()}
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


def check_figure(row: Row) -> Iterator[Complaint]:
    """A figure is in its one unit and in the range of that unit; a derived one has its formula."""
    unit = FIGURE_UNITS.get(row["figure"])
    if unit is not None and row["unit"] != unit:
        yield "unit", "wrong_unit", {"figure": row["figure"], "expected": unit, "value": row["unit"]}
    elif unit is not None:
        low, high = FIGURE_LIMITS[unit]
        if not low <= row["value"] <= high:
            yield "value", "out_of_range", {"value": row["value"], "low": low, "high": high}
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}


def check_fact(row: Row) -> Iterator[Complaint]:
    """A fact looks as such facts do; a derived one has its formula."""
    pattern = FACTS.get(row["fact"], "")
    if not fullmatch(pattern, row["value"]):
        yield "value", "pattern", {"value": row["value"][:80], "pattern": pattern}
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}


def check_span(row: Row) -> Iterator[Complaint]:
    """A span ends no earlier than it begins."""
    if row["until_on"] and row["from_on"] > row["until_on"]:
        yield "until_on", "valid_before_quoted", {}


def check_alias(row: Row) -> Iterator[Complaint]:
    """An alias has one target, or the candidates it may mean."""
    # One candidate alone is right too: another card of that name exists that the catalogue does not have.
    if bool(row["target_id"]) == bool(row["candidates"]):
        yield "candidates", "target_or_candidates", {}


def check_rental(row: Row) -> Iterator[Complaint]:
    """The price for one card is that of the instance by their number, to the cents that sources round to."""
    expected = row["per_hour"] / row["gpu_count"]
    if abs(row["per_gpu_hour"] - expected) > max(0.011, 0.005 * expected):
        yield "per_gpu_hour", "per_gpu_mismatch", {"value": row["per_gpu_hour"], "expected": expected}


def check_model(row: Row) -> Iterator[Complaint]:
    """A preset's dimensions make an architecture; derived parameters have their formula."""
    if row["basis"] == "derived" and not row["formula"]:
        yield "formula", "formula_required", {}
    given = {name: row[name] for name in ("id", "name", "family", "parameters", "active_parameters")}
    try:
        architecture_from_fields(given | row["architecture"])
    except InputFault as fault:
        yield "architecture", "architecture", {"detail": str(fault)}
