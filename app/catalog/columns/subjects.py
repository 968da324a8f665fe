"""What observations speak of: sources, cards, figures, facts, models, names; and columns in common."""

from __future__ import annotations

from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.columns.cells import (
    BASES,
    FACTS,
    FIGURE_UNITS,
    FORM_FACTORS,
    SOURCE_KINDS,
    check_alias,
    check_fact,
    check_figure,
    check_model,
)
from app.catalog.columns.kinds import Column as C
from app.catalog.columns.kinds import DataKind
from app.core.model.architecture import FAMILIES
from app.core.question import REGIONS

ID = r"[a-z0-9][a-z0-9._+-]*"
CURRENCY_CODE = r"[A-Z]{3}"
POSITIVE = 1e-12
MONEY = (1e-6, 1e12)
DIMENSIONS = (
    "layers",
    "hidden_size",
    "intermediate_size",
    "attention_heads",
    "kv_heads",
    "head_dim",
    "vocab_size",
)
"""Dimensions of a model that have columns of their own in an import; others stand in `architecture`."""
TODAY = "2026-11-30"


class LintException(SQLModel):
    """A row of lint_exceptions.csv: a finding that is right as it stands, and why."""

    rule: str
    gpu_id: str
    figure: str = ""
    reason: str


# Columns that several kinds share.
SOURCE = (
    C("source_id", about="where it was read", refers_to="sources"),
    C(
        "source",
        "来源",
        also="source_id 出处 数据来源",
        example="京东自营",
        note="id, address or title; a new one is added",
    ),
    C(
        "source_url",
        "来源网址",
        "address of the source",
        also="url 网址 链接",
        example="https://item.jd.com/1",
    ),
)
NOTE = C("note", "备注", "what else the source says", also="说明 remark remarks")
CONFIRM = C("confirm", "确认", reader="boolean", note="yes: right although far from the others")
SUPERSEDES = C("supersedes", "更正", "id of the row that it corrects", template=False, listed=False)
FORMULA = C("formula", "公式", "how a derived value follows from others")
GPU = C(
    "gpu_id",
    "显卡",
    english="gpu",
    also="card 卡 型号 gpu型号 显卡型号 model_name gpu_name",
    refers_to="gpus",
    asked=True,
    example="rtx4090",
    note="id, name or alias",
)
OF_GPU = C("gpu_id", about="card that it speaks of", refers_to="gpus")
AS_WRITTEN = C("name_as_written", "原文名称", "name of the card in the source", template=False)
CURRENCY = C(
    "currency", "币种", "ISO 4217", pattern=CURRENCY_CODE, also="货币 币别", reader="currency", example="CNY"
)
REGION = C(
    "region", "地区", "market", choices=("", *REGIONS), also="区域 市场", reader="region", example="CN"
)
DATE = C(
    "observed_on",
    "日期",
    "day, month (counts from its last day) or year (never fresh)",
    dated=True,
    also="date 观察日期 报价日期 采集日期 observed",
    asked=True,
    example=TODAY,
    note="year first",
)
AS_OF = C("as_of", "日期", "day for which it was read", dated=True, also="date", asked=True, example=TODAY)
COUNT = C("gpu_count", "卡数", "cards together", low=1, also="count gpus gpu数量", example="8")
ASSUMED = C(
    "variant_assumed",
    "版本为假定",
    "the source does not say which variant of the card; the row stands for each",
    template=False,
)
HELD = C("held", "搁置原因", "why the row is kept but not used; empty: it is used", template=False)

SOURCES = DataKind(
    "sources",
    tables.SourceRow,
    "where figures were read",
    (
        C("id", about="name of the source in the other files", pattern=ID),
        C("url", about="address; empty for a public file whose repository name was not recorded"),
        C("title", about="title, or the reference of such a file", required=True),
        C("publisher", about="who publishes it"),
        C("kind", about="what it is", choices=SOURCE_KINDS, required=True),
        C("licence", about="licence, where the source states one"),
        C("read_on", about="day on which it was read", dated=True),
        C("note", about="what else is to be known of it"),
    ),
    file="sources.csv",
)
GPUS = DataKind(
    "gpus",
    tables.GpuRow,
    "one accelerator each: identity and text facts",
    (
        C(
            "id",
            "编号",
            "name in the other files",
            pattern=ID,
            also="gpu_id gpu",
            asked=True,
            example="rtx4090",
        ),
        C("name", "名称", "as the vendor writes it", also="型号", example="GeForce RTX 4090"),
        C("vendor", "厂商", "who makes the chip", example="NVIDIA"),
        C("family", "系列", "product family", example="GeForce 40"),
        C("architecture", "架构", "architecture of the chip", example="Ada Lovelace"),
        C("die", "芯片", "chip"),
        C("segment", "定位", "consumer, workstation, data centre", example="consumer"),
        C("compute_capability", "计算能力", "of CUDA", pattern=r"(\d{1,2}\.\d)?", example="8.9"),
        C("llvm_target", "LLVM目标", "of ROCm", template=False),
        C("launch_date", "发布日期", "day, month or year of the launch", dated=True, example="2022-10-12"),
        C("form_factor", "外形", "how the part is built in", choices=("", *FORM_FACTORS)),
        C("memory_type", "显存类型", "kind of memory", example="GDDR6X"),
        C("ecc", "ECC", "whether the memory corrects errors"),
        C("link", "互联", "links between cards"),
        C("power_connector", "供电接口", "power connectors"),
        C("partition_note", "切分说明", "how it can be partitioned", template=False),
        C("frameworks", "框架", "frameworks that run on it"),
        C("cuda_min_toolkit", "最低CUDA", "first CUDA toolkit that knows it", template=False),
        C("cuda_last_toolkit", "最后CUDA", "last CUDA toolkit that knows it", template=False),
        C("driver_last_branch", "最后驱动分支", "last branch of the driver that supports it", template=False),
        C("availability", "供货", "whether it is released"),
        C("has_tensor_cores", "有张量核心", "a fact of its own: not every new card has them"),
        C(
            "half_rate_fp32_accumulate",
            "FP32累加减半",
            "tensor products with fp32 accumulate run at half rate",
        ),
        C("gpus_per_board", "每板芯片数", "chips on the board that a process sees as cards", low=1),
        C("confidence", "可信度", "high, medium or low", template=False),
        *(C(name, name, reader="number", note=unit) for name, unit in FIGURE_UNITS.items()),
        C("basis", "依据", example="exact", note="of the figures; exact when not stated"),
        C("formula", "公式", note="of derived figures"),
        AS_OF,
        *SOURCE,
        NOTE,
        CONFIRM,
    ),
    file="gpus.csv",
    source_kind="vendor",
)
MODELS = DataKind(
    "models",
    tables.ModelRow,
    "model presets",
    (
        C("id", "编号", "name in the other files", pattern=ID, asked=True, example="llama-3.1-8b"),
        C("name", "名称", "as its maker writes it", asked=True, example="Llama 3.1 8B"),
        C("family", "类别", "kind of model", choices=FAMILIES, asked=True, example="decoder"),
        C("series", "系列", "Llama, Qwen, ResNet …", example="Llama"),
        C("hf_repo", "HF仓库", "repository at Hugging Face", example="meta-llama/Llama-3.1-8B"),
        C(
            "parameters",
            "参数量",
            "counted from the dimensions where known, else published",
            low=POSITIVE,
            reader="count",
            asked=True,
            example="8030261248",
            listed=False,
        ),
        C(
            "active_parameters",
            "激活参数量",
            "what a token of text reads: no other experts, no token table, no towers",
            low=POSITIVE,
            reader="count",
            listed=False,
        ),
        C("parameters_published", "公布参数量", "for display", reader="count", template=False),
        *(C(name, name, "a dimension, as the API names it", reader="integer") for name in DIMENSIONS),
        C(
            "architecture",
            "结构",
            "the dimensions under the names of the API",
            note="further dimensions as a JSON object",
        ),
        C(
            "published_source_id",
            "公布来源",
            "source of the published count",
            refers_to="sources",
            template=False,
        ),
        C(
            "basis",
            "依据",
            "derived: dimensions confirmed by a published count; assumed: not read again",
            choices=BASES,
            example="exact",
        ),
        C("formula", "公式", "in the names of the dimensions", note="of derived parameters"),
        C("released_on", "发布日期", "of the release", dated=True, template=False, example="2026-02-16"),
        C(
            "checkpoint_gib",
            "权重文件大小",
            "of the published files, in GiB",
            low=POSITIVE,
            template=False,
            listed=False,
        ),
        AS_OF,
        *SOURCE,
        C("check_note", "核对", "what a check found", template=False),
        NOTE,
    ),
    file="models.jsonl",
    dated_by="as_of",
    check=check_model,
    source_kind="reference",
)
FIGURES = DataKind(
    "figures",
    tables.GpuFigureRow,
    "every number of every card, one a row",
    (
        GPU,
        C(
            "figure",
            "指标",
            "one of the figures above",
            choices=tuple(FIGURE_UNITS),
            asked=True,
            example="bf16_tflops",
            note=", ".join(FIGURE_UNITS),
        ),
        C("value", "数值", "in the unit of its figure", low=0.0, asked=True, example="165.2"),
        C("unit", "单位", "the one unit of its figure", default="", example="TFLOPS"),
        C(
            "basis",
            "依据",
            "exact (read in a source), measured, derived (by the formula), assumed",
            choices=BASES,
            asked=True,
            example="exact",
        ),
        C(
            "as_of",
            "日期",
            "day for which it was read",
            dated=True,
            required=True,
            also="date",
            asked=True,
            example=TODAY,
        ),
        FORMULA,
        *SOURCE,
        NOTE,
        C("chosen", "采用", "false: a value that disagrees, kept with the reason"),
        SUPERSEDES,
        CONFIRM,
    ),
    file="gpu_figures.csv",
    key="gpu_id figure value basis source_id as_of",
    dated_by="as_of",
    check=check_figure,
    source_kind="vendor",
)
FACTS_OF_CARDS = DataKind(
    "facts",
    tables.GpuFactRow,
    "facts of cards that are no figures and have a source of their own",
    (
        OF_GPU,
        C("fact", about="which fact", choices=tuple(FACTS)),
        C("value", about="as such facts are written"),
        C("basis", about="exact, measured, derived, assumed", choices=BASES),
        SOURCE[0],
        C("as_of", about="day for which it was read", dated=True, required=True),
        C("formula", about="how a derived fact follows from others"),
        C("note", about="what else the source says"),
    ),
    file="gpu_facts.csv",
    key="gpu_id fact",
    dated_by="as_of",
    check=check_fact,
    optional=True,
)


def aliases(of: str, file: str) -> DataKind:
    """The kind of the other names of cards or of models."""
    return DataKind(
        f"{of}_aliases",
        tables.AliasRow,
        f"other names of {of}s",
        (
            C("kind", about=f"{of}: what it names", default=of, choices=(of,)),
            C("name", about="as people write it; compared without width, case and spacing"),
            C("target_id", about="what it means; empty: ambiguous, and refused", refers_to=f"{of}s"),
            C("candidates", about="what an ambiguous name may mean, separated by |"),
            C("note", about="what else is to be known of it"),
        ),
        file=file,
        key="kind normalised",
        check=check_alias,
    )


LINT_EXCEPTIONS = DataKind(
    "lint_exceptions",
    LintException,
    "findings of the lint rules that are right as they stand, and why",
    (
        C("rule", about="the rule that objects"),
        C("gpu_id", about="card that it objects to", refers_to="gpus"),
        C("figure", about="figure that it objects to; empty: any of the card"),
        C("reason", about="why it is right"),
    ),
    file="lint_exceptions.csv",
    key="rule gpu_id figure",
    optional=True,
    stored=False,
)
