"""Facts of cards with their own sources; an end and a Chinese text for remarks on availability.

Revision ID: 20261203_remarks
Revises: 20261202_editors
Create Date: 2026-12-03
"""

import sqlalchemy as sa
from alembic import op

revision = "20261203_remarks"
down_revision = "20261202_editors"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "gpu_fact",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("gpu_id", sa.String(), nullable=False),
        sa.Column("fact", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("as_of", sa.String(), nullable=False),
        sa.Column("formula", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["gpu_id"], ["gpu.id"], name=op.f("fk_gpu_fact_gpu_id_gpu")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_gpu_fact_source_id_source")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpu_fact")),
        sa.UniqueConstraint("gpu_id", "fact", name="uq_gpu_fact_gpu_id_fact"),
    )
    with op.batch_alter_table("availability") as batch:
        batch.add_column(sa.Column("until_on", sa.String(), nullable=False, server_default=""))
        batch.add_column(sa.Column("text_zh", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("availability") as batch:
        batch.drop_column("text_zh")
        batch.drop_column("until_on")
    op.drop_table("gpu_fact")
