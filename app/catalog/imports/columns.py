"""The columns that may be imported, as data: one list for templates, reading, export and documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as made
from typing import Literal

from app.catalog.names import normalise_name
from app.catalog.observations import CHANNEL_KINDS, TAXES
from app.catalog.seed_spec import BENCHMARK_TASKS, FIGURE_UNITS, SEED_FILES, SeedFile
from app.core.question import CONDITIONS

Reader = Literal[
    "text",
    "number",
    "count",
    "integer",
    "money",
    "currency",
    "date",
    "boolean",
    "fraction",
    "days",
    "months",
    "gpu",
    "model",
    "region",
    "word",
    "json",
]


@dataclass(frozen=True, slots=True)
class ImportColumn:
    """One column: its field, the headers that name it, how its cells are read."""

    field: str
    english: str
    chinese: str
    reader: Reader = "text"
    required: bool = False
    other: tuple[str, ...] = ()
    """Further headers that mean the same."""
    words: Mapping[str, str] = made(default_factory=dict)
    """Other spellings of the allowed words, for the reader `word`."""
    example: str = ""
    note: str = ""
    template: bool = True
    """Whether the template shows it."""

    @property
    def headers(self) -> tuple[str, ...]:
        """Every header that names the column."""
        return (self.english, self.chinese, self.field, *self.other)


@dataclass(frozen=True, slots=True)
class ImportKind:
    """One kind of file."""

    name: str
    columns: tuple[ImportColumn, ...]
    spec: SeedFile | None
    """Rules of its table; None for suppliers' quotes, which have their own."""
    source_kind: str = "listing"
    """Kind of a source that is new."""

    def column(self, name: str) -> ImportColumn:
        """The column of a field."""
        return next(c for c in self.columns if c.field == name)

    def by_header(self) -> dict[str, ImportColumn]:
        """Columns by header as `header_key` writes it."""
        return {header_key(h): column for column in self.columns for h in column.headers}

    def in_template(self) -> Iterator[ImportColumn]:
        """Columns that the template shows."""
        return (c for c in self.columns if c.template)


def header_key(text: str) -> str:
    """A header without differences of width, case and spacing, nor a star for required."""
    return "".join(c for c in normalise_name(text) if c not in " _-*:.")


CONDITION_WORDS = {
    "全新": "new",
    "新": "new",
    "全新未拆": "new",
    "brand new": "new",
    "二手": "used",
    "旧": "used",
    "拆机": "used",
    "second hand": "used",
    "second-hand": "used",
    "翻新": "refurbished",
    "官翻": "refurbished",
    "官方翻新": "refurbished",
    "改装": "modded",
    "魔改": "modded",
    "改": "modded",
}
TAX_WORDS = {
    "含税": "included",
    "含增值税": "included",
    "gross": "included",
    "incl": "included",
    "不含税": "excluded",
    "未税": "excluded",
    "净价": "excluded",
    "net": "excluded",
    "excl": "excluded",
    "未知": "unknown",
    "不详": "unknown",
}
PER_WORDS = {
    "张": "card",
    "块": "card",
    "片": "card",
    "卡": "card",
    "单卡": "card",
    "每卡": "card",
    "gpu": "card",
    "server": "server-8",
    "8卡": "server-8",
    "八卡": "server-8",
    "8卡整机": "server-8",
    "8卡服务器": "server-8",
    "8x server": "server-8",
}
CHANNEL_WORDS = {
    "零售": "retail",
    "自营": "retail",
    "报价": "quote",
    "散片": "diy",
    "diy市场": "diy",
    "挂牌均价": "listings_mean",
    "均价": "listings_mean",
    "要价": "asking",
    "挂牌": "asking",
    "最低挂牌": "listings_lowest",
    "最低价": "listings_lowest",
    "文章": "article",
    "首发价": "launch",
    "发布价": "launch",
}
INVOICE_WORDS = {
    "专票": "special",
    "增值税专用发票": "special",
    "专用发票": "special",
    "增专": "special",
    "普票": "ordinary",
    "增值税普通发票": "ordinary",
    "普通发票": "ordinary",
    "无": "none",
    "无票": "none",
    "不开票": "none",
    "不含票": "none",
    "no": "none",
}
INVOICES = ("special", "ordinary", "none")
PERIOD_WORDS = {
    "小时": "hour",
    "时": "hour",
    "h": "hour",
    "hourly": "hour",
    "天": "day",
    "日": "day",
    "月": "month",
    "monthly": "month",
    "年": "year",
    "yearly": "year",
}
PERIODS = ("hour", "day", "month", "year")
ADAPTERS = ("lora", "qlora")
"""Tasks of the contract that are kept as fine-tuning, the adapter named beside the model."""
TASK_WORDS = {"推理": "inference", "训练": "training", "微调": "finetune", "fine-tuning": "finetune"}
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "condition": CONDITIONS,
    "tax": TAXES,
    "per": ("card", "server-8"),
    "channel_kind": CHANNEL_KINDS,
    "invoice": INVOICES,
    "period": PERIODS,
    "task": (*BENCHMARK_TASKS, *ADAPTERS),
}
"""Words that the reader `word` gives, by field."""

_C = ImportColumn
_SOURCE = (
    _C(
        "source",
        "source",
        "来源",
        other=("source_id", "出处", "数据来源"),
        example="京东自营",
        note="id, address or title; a new one is added",
    ),
    _C(
        "source_url", "source_url", "来源网址", other=("url", "网址", "链接"), example="https://item.jd.com/1"
    ),
)
_NOTE = _C("note", "note", "备注", other=("说明", "remark", "remarks"))
_CONFIRM = _C("confirm", "confirm", "确认", "boolean", note="yes: right although far from the others")
_GPU = _C(
    "gpu_id",
    "gpu",
    "显卡",
    "gpu",
    required=True,
    other=("card", "卡", "型号", "gpu型号", "显卡型号", "model_name", "gpu_name"),
    example="rtx4090",
    note="id, name or alias",
)
_CURRENCY = _C("currency", "currency", "币种", "currency", other=("货币", "币别"), example="CNY")
_REGION = _C("region", "region", "地区", "region", other=("区域", "市场"), example="CN")
_DATE = _C(
    "observed_on",
    "observed_on",
    "日期",
    "date",
    required=True,
    other=("date", "观察日期", "报价日期", "采集日期", "observed"),
    example="2026-11-30",
    note="year first",
)
_AS_WRITTEN = _C("name_as_written", "name_as_written", "原文名称", template=False)
_COUNT = _C("gpu_count", "gpu_count", "卡数", "integer", other=("count", "gpus", "gpu数量"), example="8")


def _spec(name: str) -> SeedFile:
    return next(spec for spec in SEED_FILES if spec.name == name)


PRICES = ImportKind(
    "prices",
    (
        _GPU,
        _AS_WRITTEN,
        _C(
            "condition",
            "condition",
            "成色",
            "word",
            required=True,
            other=("新旧", "状态"),
            words=CONDITION_WORDS,
            example="new",
            note=", ".join(CONDITIONS),
        ),
        _C(
            "amount",
            "amount",
            "价格",
            "money",
            required=True,
            other=("price", "单价", "金额", "售价"),
            example="12,999元",
        ),
        _CURRENCY,
        _C("per", "per", "计价单位", "word", other=("单位",), words=PER_WORDS, note="card, server-8"),
        _C("tax", "tax", "含税", "word", other=("是否含税", "税"), words=TAX_WORDS, note=", ".join(TAXES)),
        _REGION,
        _C("channel", "channel", "渠道", other=("平台", "店铺", "shop"), example="京东"),
        _C(
            "channel_kind",
            "channel_kind",
            "渠道类别",
            "word",
            words=CHANNEL_WORDS,
            note=", ".join(CHANNEL_KINDS),
        ),
        _DATE,
        _C("n", "n", "样本数", "integer", other=("samples", "数量"), note="sales or listings behind it"),
        *_SOURCE,
        _C("quality", "quality", "质量", template=False),
        _C("variant_assumed", "variant_assumed", "版本为假定", "boolean", template=False),
        _C("held", "held", "搁置原因", template=False),
        _NOTE,
        _CONFIRM,
        _C("supersedes", "supersedes", "更正", template=False),
    ),
    _spec("prices.csv"),
)
RENTALS = ImportKind(
    "rentals",
    (
        _GPU,
        _AS_WRITTEN,
        _C("provider", "provider", "服务商", required=True, other=("供应商", "平台"), example="AutoDL"),
        _C("instance", "instance", "实例", other=("instance_type", "规格")),
        _COUNT,
        _C(
            "per_hour", "per_hour", "每小时价格", "money", other=("整机每小时",), note="of the whole instance"
        ),
        _C(
            "per_gpu_hour", "per_gpu_hour", "每卡每小时价格", "money", other=("每卡时", "单价"), example="2.1"
        ),
        _C("amount", "amount", "租金", "money", other=("price", "价格", "rent"), note="with its period"),
        _C(
            "period",
            "period",
            "计费周期",
            "word",
            words=PERIOD_WORDS,
            note="hour, day, month (730 h) or year (8,760 h); with amount",
        ),
        _CURRENCY,
        _C("billing", "billing", "计费方式", example="on-demand"),
        _REGION,
        _DATE,
        *_SOURCE,
        _C("variant_assumed", "variant_assumed", "版本为假定", "boolean", template=False),
        _C("held", "held", "搁置原因", template=False),
        _NOTE,
        _CONFIRM,
        _C("supersedes", "supersedes", "更正", template=False),
    ),
    _spec("rentals.csv"),
)
RATES = ImportKind(
    "rates",
    (
        _C("base", "base", "基准货币", "currency", required=True, other=("from", "外币"), example="USD"),
        _C("quote", "quote", "计价货币", "currency", required=True, other=("to", "本币"), example="CNY"),
        _C("rate", "rate", "汇率", "number", required=True, other=("中间价",), example="6.7756"),
        _DATE,
        _C("kind", "kind", "类别", other=("type",), example="monthly mean"),
        *_SOURCE,
        _NOTE,
        _CONFIRM,
    ),
    _spec("rates.csv"),
    "dataset",
)
FIGURES = ImportKind(
    "figures",
    (
        _GPU,
        _C("figure", "figure", "指标", required=True, example="bf16_tflops", note=", ".join(FIGURE_UNITS)),
        _C("value", "value", "数值", "number", required=True, example="165.2"),
        _C("unit", "unit", "单位", example="TFLOPS"),
        _C("basis", "basis", "依据", required=True, example="exact"),
        _C("as_of", "as_of", "日期", "date", required=True, other=("date",), example="2026-11-30"),
        _C("formula", "formula", "公式"),
        *_SOURCE,
        _NOTE,
        _C("chosen", "chosen", "采用", "boolean"),
        _C("supersedes", "supersedes", "更正", template=False),
        _CONFIRM,
    ),
    _spec("gpu_figures.csv"),
    "vendor",
)
GPUS = ImportKind(
    "gpus",
    (
        _C("id", "id", "编号", required=True, other=("gpu_id", "gpu"), example="rtx4090"),
        _C("name", "name", "名称", other=("型号",), example="GeForce RTX 4090"),
        _C("vendor", "vendor", "厂商", example="NVIDIA"),
        _C("family", "family", "系列", example="GeForce 40"),
        _C("architecture", "architecture", "架构", example="Ada Lovelace"),
        _C("die", "die", "芯片"),
        _C("segment", "segment", "定位", example="consumer"),
        _C("compute_capability", "compute_capability", "计算能力", example="8.9"),
        _C("llvm_target", "llvm_target", "LLVM目标", template=False),
        _C("launch_date", "launch_date", "发布日期", "date", example="2022-10-12"),
        _C("form_factor", "form_factor", "外形"),
        _C("memory_type", "memory_type", "显存类型", example="GDDR6X"),
        _C("ecc", "ecc", "ECC"),
        _C("link", "link", "互联"),
        _C("power_connector", "power_connector", "供电接口"),
        _C("partition_note", "partition_note", "切分说明", template=False),
        _C("frameworks", "frameworks", "框架"),
        _C("cuda_min_toolkit", "cuda_min_toolkit", "最低CUDA", template=False),
        _C("cuda_last_toolkit", "cuda_last_toolkit", "最后CUDA", template=False),
        _C("driver_last_branch", "driver_last_branch", "最后驱动分支", template=False),
        _C("availability", "availability", "供货"),
        _C("has_tensor_cores", "has_tensor_cores", "有张量核心", "boolean"),
        _C("half_rate_fp32_accumulate", "half_rate_fp32_accumulate", "FP32累加减半", "boolean"),
        _C("gpus_per_board", "gpus_per_board", "每板芯片数", "integer"),
        _C("confidence", "confidence", "可信度", template=False),
        *(_C(name, name, name, "number", note=unit) for name, unit in FIGURE_UNITS.items()),
        _C("basis", "basis", "依据", example="exact", note="of the figures; exact when not stated"),
        _C("formula", "formula", "公式", note="of derived figures"),
        _C("as_of", "as_of", "日期", "date", required=True, other=("date",), example="2026-11-30"),
        *_SOURCE,
        _NOTE,
        _CONFIRM,
    ),
    _spec("gpus.csv"),
    "vendor",
)
BENCHMARKS = ImportKind(
    "benchmarks",
    (
        _GPU,
        _C("gpu_as_written", "gpu_as_written", "显卡原文", template=False),
        _COUNT,
        _C("model_id", "model", "模型", "model", example="llama-3.1-8b", note="a preset; empty for another"),
        _C("model_as_written", "model_as_written", "模型原文", other=("模型名称",)),
        _C("model_parameters", "model_parameters", "参数量", "count"),
        _C(
            "task",
            "task",
            "任务",
            "word",
            required=True,
            words=TASK_WORDS,
            example="inference",
            note="training, inference, finetune, lora, qlora",
        ),
        _C("phase", "phase", "阶段", example="decode"),
        _C("precision", "precision", "精度", example="bf16"),
        _C("precision_as_written", "precision_as_written", "精度原文", template=False),
        _C("batch_per_gpu", "batch_per_gpu", "每卡批量", "number", other=("batch_size", "批量")),
        _C("sequence_length", "sequence_length", "序列长度", "number"),
        _C("image_size", "image_size", "图像尺寸", "number"),
        _C("input_length", "input_length", "输入长度", "number"),
        _C("output_length", "output_length", "输出长度", "number"),
        _C("value", "value", "数值", "number", required=True, other=("结果",), example="1234.5"),
        _C("unit", "unit", "单位", required=True, example="tokens_per_s"),
        _C("unit_as_written", "unit_as_written", "单位原文", template=False),
        _C("framework", "framework", "框架", example="vLLM"),
        _C("framework_version", "framework_version", "框架版本", example="0.11"),
        _C("interconnect", "interconnect", "互联"),
        _DATE,
        *_SOURCE,
        _C("flag", "flag", "不用于预测的原因", template=False),
        _C(
            "own",
            "own",
            "自测",
            "boolean",
            note="measured by your own team; empty: yes unless a public source is named",
        ),
        _NOTE,
        _C("supersedes", "supersedes", "更正", template=False),
        _CONFIRM,
    ),
    _spec("benchmarks.csv"),
    "measured",
)
DIMENSIONS = (
    "layers",
    "hidden_size",
    "intermediate_size",
    "attention_heads",
    "kv_heads",
    "head_dim",
    "vocab_size",
)
MODELS = ImportKind(
    "models",
    (
        _C("id", "id", "编号", required=True, example="llama-3.1-8b"),
        _C("name", "name", "名称", required=True, example="Llama 3.1 8B"),
        _C("family", "family", "类别", required=True, example="decoder"),
        _C("series", "series", "系列", example="Llama"),
        _C("hf_repo", "hf_repo", "HF仓库", example="meta-llama/Llama-3.1-8B"),
        _C("parameters", "parameters", "参数量", "count", required=True, example="8030261248"),
        _C("active_parameters", "active_parameters", "激活参数量", "count"),
        _C("parameters_published", "parameters_published", "公布参数量", "count", template=False),
        *(_C(name, name, name, "integer") for name in DIMENSIONS),
        _C("architecture", "architecture", "结构", "json", note="further dimensions as a JSON object"),
        _C("published_source_id", "published_source_id", "公布来源", template=False),
        _C("basis", "basis", "依据", example="exact"),
        _C("formula", "formula", "公式", note="of derived parameters"),
        _C("as_of", "as_of", "日期", "date", required=True, other=("date",), example="2026-11-30"),
        *_SOURCE,
        _C("check_note", "check_note", "核对", template=False),
        _NOTE,
    ),
    _spec("models.jsonl"),
    "reference",
)
QUOTES = ImportKind(
    "quotes",
    (
        _C(
            "supplier",
            "supplier",
            "供应商",
            other=("供应商名称", "供货商", "报价单位", "报价方", "厂商", "公司", "公司名称", "vendor"),
            example="某科技有限公司",
        ),
        _C(
            "item_as_written",
            "item",
            "型号",
            other=(
                "产品型号",
                "规格型号",
                "品名",
                "产品名称",
                "货物名称",
                "设备名称",
                "名称",
                "产品",
                "规格",
                "配置",
                "型号及配置",
                "型号规格",
                "description",
                "product",
            ),
            example="NVIDIA RTX 4090 24GB",
        ),
        _C(
            "gpu_id",
            "gpu",
            "确认显卡",
            "gpu",
            other=("gpu型号", "确认型号", "显卡"),
            note="the card you confirm",
        ),
        _C("quantity", "quantity", "数量", "integer", other=("数量张", "台数", "qty"), example="8"),
        _C("unit_price", "unit_price", "单价", "money", other=("报价", "price", "价格"), example="12,999元"),
        _C(
            "unit_price_gross",
            "unit_price_gross",
            "含税单价",
            "money",
            other=("含税价", "含税报价", "单价含税"),
            note="tax included",
        ),
        _C(
            "unit_price_net",
            "unit_price_net",
            "未税单价",
            "money",
            other=("不含税单价", "未税价", "不含税价", "单价未税", "单价不含税"),
            note="without tax",
        ),
        _CURRENCY,
        _C("per", "per", "单位", other=("计价单位", "unit"), note="card or server-8"),
        _C("tax", "tax", "是否含税", "word", other=("含税",), words=TAX_WORDS),
        _C("tax_rate", "tax_rate", "税率", "fraction", other=("增值税率", "税点"), example="13%"),
        _C(
            "invoice",
            "invoice",
            "发票",
            "word",
            other=("发票类型", "发票种类", "票种", "开票"),
            words=INVOICE_WORDS,
            example="专票",
        ),
        _C("condition", "condition", "成色", "word", other=("新旧",), words=CONDITION_WORDS),
        _C(
            "delivery_days",
            "delivery_days",
            "交货期",
            "days",
            other=("货期", "交期", "交付周期", "到货期", "供货周期", "delivery"),
            example="7天",
        ),
        _C(
            "warranty_months",
            "warranty_months",
            "质保",
            "months",
            other=("保修", "质保期", "保修期", "warranty"),
            example="3年",
        ),
        _C("warranty_kind", "warranty_kind", "质保方式", other=("保修方式", "服务方式"), example="原厂上门"),
        _C("payment_terms", "payment_terms", "付款方式", other=("付款条件", "结算方式", "payment")),
        _C("quoted_on", "quoted_on", "报价日期", "date", other=("日期", "date"), example="2026-11-30"),
        _C(
            "valid_until",
            "valid_until",
            "有效期",
            other=("报价有效期", "有效期至", "有效至", "截止日期", "validity"),
            example="2026-12-15",
            note="a day, or days from the quote",
        ),
        _C("attachment_name", "attachment_name", "附件", other=("附件名称", "文件")),
        _NOTE,
        _CONFIRM,
        _C("supersedes", "supersedes", "取代", template=False),
    ),
    None,
)
KINDS: Mapping[str, ImportKind] = {
    kind.name: kind for kind in (PRICES, RENTALS, RATES, GPUS, FIGURES, BENCHMARKS, MODELS, QUOTES)
}
