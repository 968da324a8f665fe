"""Create every table.

Revision ID: 20261130_initial
Revises:
Create Date: 2026-11-30
"""

import sqlalchemy as sa
from alembic import op

revision = "20261130_initial"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alias",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("normalised", sa.String(), nullable=False),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("candidates", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alias")),
        sa.UniqueConstraint("kind", "normalised", name="uq_alias_kind_normalised"),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("key_hash", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_key_key_hash")),
    )
    op.create_table(
        "catalog_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_catalog_version")),
    )
    op.create_table(
        "change_log",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("table_name", sa.String(), nullable=False),
        sa.Column("row_id", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.Column("why", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_log")),
    )
    op.create_table(
        "comparison",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("manage_hash", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("question", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("as_of", sa.String(), nullable=False),
        sa.Column("engine_version", sa.String(), nullable=False),
        sa.Column("catalog_version", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparison")),
    )
    op.create_table(
        "source",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("publisher", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=False),
        sa.Column("read_on", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
    )
    op.create_table(
        "exchange_rate",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("quote", sa.String(), nullable=False),
        sa.Column("rate", sa.Float(), nullable=False),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_exchange_rate_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exchange_rate")),
    )
    op.create_table(
        "framework_support",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("framework", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("python", sa.String(), nullable=False),
        sa.Column("cuda", sa.String(), nullable=False),
        sa.Column("cudnn", sa.String(), nullable=False),
        sa.Column("min_driver_linux", sa.String(), nullable=False),
        sa.Column("min_driver_windows", sa.String(), nullable=False),
        sa.Column("min_compute_capability", sa.String(), nullable=False),
        sa.Column("support", sa.JSON(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("as_of", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_framework_support_source_id_source")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_framework_support")),
    )
    op.create_table(
        "gpu",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("vendor", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("architecture", sa.String(), nullable=False),
        sa.Column("die", sa.String(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("compute_capability", sa.String(), nullable=False),
        sa.Column("llvm_target", sa.String(), nullable=False),
        sa.Column("launch_date", sa.String(), nullable=False),
        sa.Column("form_factor", sa.String(), nullable=False),
        sa.Column("memory_type", sa.String(), nullable=False),
        sa.Column("ecc", sa.String(), nullable=False),
        sa.Column("link", sa.String(), nullable=False),
        sa.Column("power_connector", sa.String(), nullable=False),
        sa.Column("partition_note", sa.String(), nullable=False),
        sa.Column("frameworks", sa.String(), nullable=False),
        sa.Column("cuda_min_toolkit", sa.String(), nullable=False),
        sa.Column("cuda_last_toolkit", sa.String(), nullable=False),
        sa.Column("driver_last_branch", sa.String(), nullable=False),
        sa.Column("availability", sa.String(), nullable=False),
        sa.Column("has_tensor_cores", sa.Boolean(), nullable=False),
        sa.Column("half_rate_fp32_accumulate", sa.Boolean(), nullable=False),
        sa.Column("gpus_per_board", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_gpu_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpu")),
    )
    op.create_index(op.f("ix_gpu_vendor"), "gpu", ["vendor"], unique=False)
    op.create_table(
        "memory_case",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("workload", sa.JSON(), nullable=False),
        sa.Column("measured", sa.JSON(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("measure_kind", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("flag", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_memory_case_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_case")),
    )
    op.create_table(
        "model",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("hf_repo", sa.String(), nullable=False),
        sa.Column("parameters", sa.Float(), nullable=False),
        sa.Column("active_parameters", sa.Float(), nullable=False),
        sa.Column("parameters_published", sa.Float(), nullable=True),
        sa.Column("architecture", sa.JSON(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("published_source_id", sa.String(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("as_of", sa.String(), nullable=False),
        sa.Column("check_note", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_model_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
    )
    op.create_index(op.f("ix_model_family"), "model", ["family"], unique=False)
    op.create_table(
        "availability",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("from_on", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_availability_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_availability_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_availability")),
    )
    op.create_index(op.f("ix_availability_gpu_id"), "availability", ["gpu_id"], unique=False)
    op.create_table(
        "benchmark",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("gpu_as_written", sa.String(), nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("model_as_written", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("precision", sa.String(), nullable=False),
        sa.Column("precision_as_written", sa.String(), nullable=False),
        sa.Column("batch_per_gpu", sa.Float(), nullable=True),
        sa.Column("sequence_length", sa.Float(), nullable=True),
        sa.Column("image_size", sa.Float(), nullable=True),
        sa.Column("input_length", sa.Float(), nullable=True),
        sa.Column("output_length", sa.Float(), nullable=True),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("unit_as_written", sa.String(), nullable=False),
        sa.Column("framework", sa.String(), nullable=False),
        sa.Column("framework_version", sa.String(), nullable=False),
        sa.Column("interconnect", sa.String(), nullable=False),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("flag", sa.String(), nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_benchmark_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_benchmark_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmark")),
    )
    op.create_index("ix_benchmark_gpu_model", "benchmark", ["gpu_id", "model_id"], unique=False)
    op.create_table(
        "gpu_figure",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("figure", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("as_of", sa.String(), nullable=False),
        sa.Column("formula", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_gpu_figure_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_gpu_figure_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpu_figure")),
    )
    op.create_index("ix_gpu_figure_gpu_figure", "gpu_figure", ["gpu_id", "figure"], unique=False)
    op.create_table(
        "price",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("name_as_written", sa.String(), nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("amount", sa.Float(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("per", sa.String(), nullable=False),
        sa.Column("tax", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("channel_kind", sa.String(), nullable=False),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("quality", sa.String(), nullable=False),
        sa.Column("variant_assumed", sa.Boolean(), nullable=False),
        sa.Column("held", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_price_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_price_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price")),
    )
    op.create_index("ix_price_gpu_condition", "price", ["gpu_id", "condition", "observed_on"], unique=False)
    op.create_table(
        "quote",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("supplier", sa.String(), nullable=False),
        sa.Column("item_as_written", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("unit_price", sa.Float(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("per", sa.String(), nullable=False),
        sa.Column("tax_rate", sa.Float(), nullable=True),
        sa.Column("tax", sa.String(), nullable=False),
        sa.Column("invoice", sa.String(), nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("delivery_days", sa.Integer(), nullable=True),
        sa.Column("warranty_months", sa.Integer(), nullable=True),
        sa.Column("warranty_kind", sa.String(), nullable=False),
        sa.Column("payment_terms", sa.String(), nullable=False),
        sa.Column("quoted_on", sa.String(), nullable=False),
        sa.Column("valid_until", sa.String(), nullable=False),
        sa.Column("attachment_name", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_quote_gpu_id_gpu")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quote")),
    )
    op.create_index(op.f("ix_quote_gpu_id"), "quote", ["gpu_id"], unique=False)
    op.create_table(
        "rental",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("name_as_written", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("instance", sa.String(), nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("per_hour", sa.Float(), nullable=False),
        sa.Column("per_gpu_hour", sa.Float(), nullable=False),
        sa.Column("billing", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("variant_assumed", sa.Boolean(), nullable=False),
        sa.Column("held", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_rental_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_rental_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rental")),
    )
    op.create_index(op.f("ix_rental_gpu_id"), "rental", ["gpu_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_rental_gpu_id"), table_name="rental")
    op.drop_table("rental")
    op.drop_index(op.f("ix_quote_gpu_id"), table_name="quote")
    op.drop_table("quote")
    op.drop_index("ix_price_gpu_condition", table_name="price")
    op.drop_table("price")
    op.drop_index("ix_gpu_figure_gpu_figure", table_name="gpu_figure")
    op.drop_table("gpu_figure")
    op.drop_index("ix_benchmark_gpu_model", table_name="benchmark")
    op.drop_table("benchmark")
    op.drop_index(op.f("ix_availability_gpu_id"), table_name="availability")
    op.drop_table("availability")
    op.drop_index(op.f("ix_model_family"), table_name="model")
    op.drop_table("model")
    op.drop_table("memory_case")
    op.drop_index(op.f("ix_gpu_vendor"), table_name="gpu")
    op.drop_table("gpu")
    op.drop_table("framework_support")
    op.drop_table("exchange_rate")
    op.drop_table("source")
    op.drop_table("comparison")
    op.drop_table("change_log")
    op.drop_table("catalog_version")
    op.drop_table("api_key")
    op.drop_table("alias")
