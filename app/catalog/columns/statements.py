"""What sources state: releases of frameworks, engines on cards, classes of machines, availability."""

from __future__ import annotations

from app.catalog import tables
from app.catalog.columns.cells import (
    check_span,
)
from app.catalog.columns.kinds import Column as C
from app.catalog.columns.kinds import DataKind
from app.catalog.columns.subjects import (
    MONEY,
    NOTE,
    OF_GPU,
    POSITIVE,
    SOURCE,
)
from app.catalog.records import REMARKS
from app.core import engines
from app.core.decide.engine_support import FEATURE_KINDS, STATUSES
from app.core.decide.host import HOST_KINDS
from app.core.question import REGIONS

FRAMEWORK_SUPPORT = DataKind(
    "framework_support",
    tables.FrameworkSupportRow,
    "releases of frameworks and what hardware they run on; cells that were not read are left out",
    (
        C("framework", about="its name"),
        C("version", about="of the release"),
        C("python", about="versions of Python"),
        C("cuda", about="versions of CUDA"),
        C("cudnn", about="version of cuDNN"),
        C("min_driver_linux", about="oldest driver on Linux"),
        C("min_driver_windows", about="oldest driver on Windows"),
        C("min_compute_capability", about="lowest compute capability"),
        C("support", about="by compute capability (native, ptx, no, unknown) and by system"),
        SOURCE[0],
        C("as_of", about="day for which it was read", dated=True),
        C("note", about="what else the source says"),
    ),
    file="framework_support.jsonl",
    key="framework version",
    dated_by="as_of",
)
ENGINE_SUPPORT = DataKind(
    "engine_support",
    tables.EngineSupportRow,
    "what is stated of engines on families of cards, by number format and feature",
    (
        C(
            "engine",
            "引擎",
            "its name, or that of a library beside it",
            also="framework 框架",
            asked=True,
            example=engines.chosen_for("decoder").name,
        ),
        C("plugin", "插件", "of the card's maker, where it takes one", example="vllm-ascend"),
        C(
            "engine_version",
            "引擎版本",
            "software that it speaks of, as written",
            also="version 版本",
            example="0.11",
        ),
        C(
            "hardware",
            "硬件",
            "cards, any of: cc8.9, cc>=7.5, gfx942, vendor=Intel, id=ascend-910b*",
            asked=True,
            example="id=ascend-910b*",
        ),
        C("hardware_as_written", "硬件原文", "the cards in the words of the source", template=False),
        C("vendor", "厂商", "maker of the cards", example="Huawei"),
        C("min_version", "最低版本", "least driver, toolkit or release", example="CANN 8.2"),
        C("formats", "数字格式", "number formats or patterns of them; any", example="bf16 fp16"),
        C("format_as_written", "格式原文", "the format in the words of the source", template=False),
        C("feature", "功能", "what it speaks of", example="weight format"),
        C(
            "feature_kind",
            "功能类别",
            "what kind of feature that is",
            choices=FEATURE_KINDS,
            reader="word",
            asked=True,
            example="format",
        ),
        C(
            "status",
            "支持程度",
            "what the source says",
            choices=STATUSES,
            reader="word",
            words={"官方": "official", "插件": "plugin", "实验": "experimental", "不支持": "unsupported"},
            asked=True,
            example="plugin",
        ),
        C("refuses", "排除", "whether it keeps a card from the list", example="false"),
        C("evidence", "来源类别", "kind of source", example="official table"),
        C("dated", "声明日期", "date of the statement, as written", example="2026-08-22"),
        *SOURCE,
        NOTE,
    ),
    file="engine_support.csv",
    key="engine plugin engine_version hardware formats format_as_written feature source_id",
    optional=True,
)
HOST_CLASSES = DataKind(
    "host_classes",
    tables.HostClassRow,
    "machines without cards, by class",
    (
        C("code", about="name of the class in answers"),
        C("name", about="in English"),
        C("name_zh", about="in Chinese"),
        C("kind", choices=HOST_KINDS, about="what it is built as"),
        C("cards", low=1, about="most double-width cards, or modules, that it holds"),
        C("low_cny", low=0.0, high=MONEY[1], about="10th percentile, or the low end of what was seen"),
        C("expected_cny", low=0.0, high=MONEY[1], about="what counts; 0: bought with its modules"),
        C("high_cny", low=0.0, high=MONEY[1], about="90th percentile, or the high end"),
        C("observed_on", about="day of the price", dated=True),
        C("idle_w", low=POSITIVE, about="power without cards while nothing runs"),
        C("load_w", low=POSITIVE, about="power without cards at load"),
        C("supply_w", low=POSITIVE, about="its power supplies"),
        C("network_cny", low=0.0, high=MONEY[1], about="network of each further machine; empty: not known"),
        C("basis", about="read, derived or assumed"),
        C("quality", about="high, medium or low"),
        C("spec", about="what it is made of"),
        C("note", about="how the figures were made"),
        SOURCE[0],
    ),
    file="host_classes.csv",
    key="code observed_on source_id",
    dated_by="observed_on",
    optional=True,
)
AVAILABILITY = DataKind(
    "availability",
    tables.AvailabilityRow,
    "dated remarks on availability by region: facts with a source, no legal advice",
    (
        OF_GPU,
        C("region", about="market that it speaks of", choices=REGIONS),
        C("from_on", about="day, month or year from which it holds", dated=True, in_file="from"),
        C(
            "until_on",
            about="last day on which it holds; empty: no end is known",
            dated=True,
            in_file="until",
        ),
        C("status", about="what the source says", choices=tuple(REMARKS)),
        C("basis", about="read, or derived from thresholds; empty: read", choices=("", "read", "derived")),
        C("quality", about="high, medium or low"),
        C("text", about="in English"),
        C("text_zh", about="in Chinese"),
        SOURCE[0],
    ),
    file="availability.csv",
    key="gpu_id region from_on status source_id",
    dated_by="from_on",
    check=check_span,
)
