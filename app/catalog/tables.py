"""The tables. Observations are only ever added; a correction supersedes the row it names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

# Every constraint has a name, so that a migration can change it on SQLite and PostgreSQL alike.
SQLModel.metadata.naming_convention = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}

# Ids of observations are the first 16 hex digits of the SHA-256 of their natural key, so loading the same
# seed twice changes nothing. Dates are ISO texts: 2026-07-14, 2026-07 (a month) or 2026 (a bare year).


class SourceRow(SQLModel, table=True):
    """Where figures were read."""

    __tablename__ = "source"
    id: str = Field(primary_key=True)
    url: str = ""
    title: str = ""
    publisher: str = ""
    kind: str = ""
    """vendor, reference, dataset, press, forum, listing, measured, derived, article."""
    licence: str = ""
    read_on: str = ""
    note: str = ""


class GpuRow(SQLModel, table=True):
    """One accelerator: identity and text facts. Its numbers are in gpu_figure."""

    __tablename__ = "gpu"
    id: str = Field(primary_key=True)
    name: str
    vendor: str = Field(index=True)
    family: str = ""
    architecture: str = ""
    die: str = ""
    segment: str = ""
    compute_capability: str = ""
    llvm_target: str = ""
    launch_date: str = ""
    form_factor: str = ""
    memory_type: str = ""
    ecc: str = ""
    link: str = ""
    power_connector: str = ""
    partition_note: str = ""
    frameworks: str = ""
    cuda_min_toolkit: str = ""
    cuda_last_toolkit: str = ""
    driver_last_branch: str = ""
    availability: str = ""
    has_tensor_cores: bool = False
    half_rate_fp32_accumulate: bool = False
    gpus_per_board: int = 1
    confidence: str = ""
    source_id: str = Field(foreign_key="source.id")
    note: str = ""


class GpuFigureRow(SQLModel, table=True):
    """One number of one card with its provenance."""

    __tablename__ = "gpu_figure"
    __table_args__ = (Index("ix_gpu_figure_gpu_figure", "gpu_id", "figure"),)
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id")
    figure: str
    value: float
    unit: str
    basis: str
    source_id: str = Field(foreign_key="source.id")
    as_of: str = ""
    formula: str = ""
    note: str = ""
    chosen: bool = True
    """False: a disagreeing value, kept and shown, with the reason in `note`."""
    supersedes: str | None = None


class GpuFactRow(SQLModel, table=True):
    """One fact of a card that is no number to calculate with, with its provenance: cooling, driver …"""

    __tablename__ = "gpu_fact"
    __table_args__ = (UniqueConstraint("gpu_id", "fact", name="uq_gpu_fact_gpu_id_fact"),)
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id")
    fact: str
    """One of FACTS."""
    value: str
    basis: str
    source_id: str = Field(foreign_key="source.id")
    as_of: str = ""
    formula: str = ""
    note: str = ""


class AliasRow(SQLModel, table=True):
    """Another name of a card or a model. `target_id` empty: ambiguous, `candidates` says between what."""

    __tablename__ = "alias"
    __table_args__ = (UniqueConstraint("kind", "normalised", name="uq_alias_kind_normalised"),)
    id: str = Field(primary_key=True)
    kind: str
    """gpu or model."""
    name: str
    normalised: str
    target_id: str = ""
    candidates: str = ""
    """Ids separated by |."""
    note: str = ""


class PriceRow(SQLModel, table=True):
    """One purchase observation."""

    __tablename__ = "price"
    __table_args__ = (Index("ix_price_gpu_condition", "gpu_id", "condition", "observed_on"),)
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id")
    name_as_written: str = ""
    condition: str
    amount: float
    currency: str
    per: str = "card"
    """card or server-8."""
    tax: str = "unknown"
    region: str = ""
    channel: str = ""
    channel_kind: str = ""
    """quote, retail, diy, listings_mean, asking, listings_lowest, article, launch."""
    observed_on: str = ""
    """Empty: undated, kept but never ranks."""
    n: int = 1
    source_id: str = Field(foreign_key="source.id")
    quality: str = ""
    variant_assumed: bool = False
    """The source does not say which variant; the row stands for each."""
    held: str = ""
    """Not empty: kept but not used, with the reason."""
    note: str = ""
    supersedes: str | None = None


class RentalRow(SQLModel, table=True):
    """One hourly rent observation."""

    __tablename__ = "rental"
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id", index=True)
    name_as_written: str = ""
    provider: str
    instance: str = ""
    gpu_count: int = 1
    currency: str
    per_hour: float
    """Of the whole instance."""
    per_gpu_hour: float
    billing: str = ""
    region: str = ""
    observed_on: str = ""
    source_id: str = Field(foreign_key="source.id")
    variant_assumed: bool = False
    held: str = ""
    note: str = ""
    supersedes: str | None = None


class ExchangeRateRow(SQLModel, table=True):
    """Units of `quote` for one `base`."""

    __tablename__ = "exchange_rate"
    id: str = Field(primary_key=True)
    base: str
    quote: str
    rate: float
    observed_on: str
    """A month dates from its last day."""
    kind: str = "monthly mean"
    source_id: str = Field(foreign_key="source.id")
    note: str = ""


class BenchmarkRow(SQLModel, table=True):
    """One measured throughput."""

    __tablename__ = "benchmark"
    __table_args__ = (Index("ix_benchmark_gpu_model", "gpu_id", "model_id"),)
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id")
    gpu_as_written: str = ""
    gpu_count: int
    model_id: str = ""
    model_as_written: str = ""
    model_parameters: float | None = None
    """Of a model that is none of the presets, where the source states it."""
    task: str
    phase: str = ""
    precision: str = ""
    precision_as_written: str = ""
    batch_per_gpu: float | None = None
    sequence_length: float | None = None
    image_size: float | None = None
    input_length: float | None = None
    output_length: float | None = None
    value: float
    unit: str
    unit_as_written: str = ""
    framework: str = ""
    framework_version: str = ""
    interconnect: str = ""
    software: str = ""
    """new, usual or old; empty: as its framework usually is."""
    compiled: str = ""
    """Compiler of the graph: torch.compile, xla; none; empty: not stated."""
    checkpointing: str = ""
    """full, selective or none, of training."""
    layout: str = ""
    """channels_first or channels_last, of images."""
    plan: str = ""
    """Degrees over several cards: tp4 pp2 dp2 ep8."""
    scenario: str = ""
    """Suite whose rules fix what the row leaves out: mlperf."""
    method: str = ""
    """How weights are trained: full, lora, qlora; empty: not stated."""
    inferred_precision: str = ""
    """Format that field practice fixes where the source states none."""
    observed_on: str = ""
    source_id: str = Field(foreign_key="source.id")
    note: str = ""
    flag: str = ""
    own: bool = False
    supersedes: str | None = None


class MemoryCaseRow(SQLModel, table=True):
    """One measured memory figure to be compared with the estimate."""

    __tablename__ = "memory_case"
    id: str = Field(primary_key=True)
    kind: str
    """inference or training."""
    workload: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    measured: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    gpu_id: str = ""
    gpu_count: int = 1
    measure_kind: str = ""
    outcome: str = ""
    observed_on: str = ""
    source_id: str = Field(foreign_key="source.id")
    note: str = ""
    flag: str = ""


class ModelRow(SQLModel, table=True):
    """A model preset. `architecture` holds the API's field names."""

    __tablename__ = "model"
    id: str = Field(primary_key=True)
    name: str
    family: str = Field(index=True)
    """decoder, encoder, encoder-decoder, vision, diffusion, speech."""
    series: str = ""
    """Llama, Qwen, ResNet …"""
    hf_repo: str = ""
    parameters: float
    active_parameters: float
    parameters_published: float | None = None
    architecture: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    source_id: str = Field(foreign_key="source.id")
    published_source_id: str = ""
    basis: str = "exact"
    as_of: str = ""
    check_note: str = ""
    note: str = ""
    formula: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Of the parameters where they are derived, in the names of the dimensions."""
    released_on: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Day, month or year of the release; empty: not read."""
    checkpoint_gib: float | None = None
    """The published files, GiB."""


class FrameworkSupportRow(SQLModel, table=True):
    """One release of a framework and what hardware it runs on."""

    __tablename__ = "framework_support"
    id: str = Field(primary_key=True)
    framework: str
    version: str
    python: str = ""
    cuda: str = ""
    cudnn: str = ""
    min_driver_linux: str = ""
    min_driver_windows: str = ""
    min_compute_capability: str = ""
    support: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    """sm_70: native | ptx | no | unknown …; windows_native_gpu, rocm, ascend, intel_xpu, directml, metal."""
    source_id: str = Field(foreign_key="source.id")
    as_of: str = ""
    note: str = ""


class HostClassRow(SQLModel, table=True):
    """One kind of machine without cards, with its dated price."""

    __tablename__ = "host_class"
    id: str = Field(primary_key=True)
    code: str
    name: str
    name_zh: str = ""
    kind: str
    cards: int
    low_cny: float
    expected_cny: float
    high_cny: float
    observed_on: str
    idle_w: float
    load_w: float
    supply_w: float
    network_cny: float | None = None
    basis: str = "derived"
    quality: str = ""
    spec: str = ""
    note: str = ""
    source_id: str = Field(foreign_key="source.id")


class EngineSupportRow(SQLModel, table=True):
    """One statement about an engine, or a plugin of it, on a family of cards."""

    __tablename__ = "engine_support"
    id: str = Field(primary_key=True)
    engine: str
    plugin: str = ""
    engine_version: str = ""
    hardware: str
    hardware_as_written: str = ""
    vendor: str = ""
    min_version: str = ""
    formats: str = "any"
    format_as_written: str = ""
    feature: str = ""
    feature_kind: str
    status: str
    refuses: bool = False
    """Whether it keeps a card from the list: stated outright, and contradicted by nothing."""
    evidence: str = ""
    dated: str = ""
    note: str = ""
    source_id: str = Field(foreign_key="source.id")


class AvailabilityRow(SQLModel, table=True):
    """Whether a card may be or can be bought in a region, from a date on."""

    __tablename__ = "availability"
    id: str = Field(primary_key=True)
    gpu_id: str = Field(foreign_key="gpu.id", index=True)
    region: str
    from_on: str = ""
    """ISO date, month or year; empty: not dated in the source."""
    status: str
    text: str = ""
    source_id: str = Field(foreign_key="source.id")
    until_on: str = ""
    """Last day on which it holds; empty: no end is known."""
    text_zh: str = ""
    basis: str = ""
    """read: somebody wrote it; derived: worked out from thresholds. Empty: as read."""
    quality: str = ""


class QuoteRow(SQLModel, table=True):
    """A supplier's quote."""

    __tablename__ = "quote"
    id: str = Field(primary_key=True)
    supplier: str
    item_as_written: str = ""
    gpu_id: str = Field(foreign_key="gpu.id", index=True)
    quantity: int = 1
    unit_price: float
    currency: str = "CNY"
    per: str = "card"
    tax_rate: float | None = None
    tax: str = "unknown"
    invoice: str = ""
    condition: str = "new"
    delivery_days: int | None = None
    warranty_months: int | None = None
    warranty_kind: str = ""
    payment_terms: str = ""
    quoted_on: str
    valid_until: str
    attachment_name: str = ""
    note: str = ""
    supersedes: str | None = None
    withdrawn: bool = False
    held: str = Field(default="", sa_column_kwargs={"server_default": ""})
    """Not empty: shown, but drives no choice until someone has confirmed it."""


class ComparisonRow(SQLModel, table=True):
    """A frozen decision with its full result."""

    __tablename__ = "comparison"
    id: str = Field(primary_key=True)
    """First 22 characters of the SHA-256 of the token, urlsafe: a stolen backup reveals no link."""
    manage_hash: str
    title: str = ""
    question: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    result: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    as_of: str
    engine_version: str
    catalog_version: str
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    deleted: bool = False


class ApiKeyRow(SQLModel, table=True):
    """A key of the API; only its hash is kept."""

    __tablename__ = "api_key"
    id: str = Field(primary_key=True)
    name: str
    key_hash: str = Field(unique=True)
    scopes: str = "read"
    created_at: datetime
    revoked_at: datetime | None = None


class EditorRow(SQLModel, table=True):
    """Someone who signs in with a browser; of the password only a slow, salted hash is kept."""

    __tablename__ = "editor"
    id: str = Field(primary_key=True)
    name: str
    normalised: str = Field(unique=True)
    """The name as it is compared at sign-in."""
    password_hash: str
    scopes: str = "read,write"
    created_at: datetime
    disabled_at: datetime | None = None


class EditorSessionRow(SQLModel, table=True):
    """One browser that is signed in."""

    __tablename__ = "editor_session"
    id: str = Field(primary_key=True)
    """SHA-256 of the random token in the cookie: whoever reads the table cannot sign in with it."""
    editor_id: str = Field(foreign_key="editor.id", index=True)
    created_at: datetime
    used_at: datetime


class CatalogVersionRow(SQLModel, table=True):
    """The version of the data: changes with content, not with time."""

    __tablename__ = "catalog_version"
    id: int | None = Field(default=None, primary_key=True)
    version: str
    """2026.11-<first 8 hex of the digest>."""
    digest: str
    rows: int
    created_at: datetime


class ReportRow(SQLModel, table=True):
    """A report that takes long to work out; it can be made again, so nothing of it is logged or exported."""

    __tablename__ = "report"
    basis: str = Field(primary_key=True)
    """Digest of the rows and formulas that it rests on."""
    part: str = Field(primary_key=True)
    body: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    made_at: datetime


class ChangeLogRow(SQLModel, table=True):
    """Who changed what, from what, to what, why."""

    __tablename__ = "change_log"
    id: int | None = Field(default=None, primary_key=True)
    at: datetime
    who: str
    table_name: str
    row_id: str
    action: str
    before: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    after: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    why: str = ""
    undoes: int | None = Field(default=None, index=True)
    """Id of the entry that this one takes back."""
