"""Machines without cards, by class.

Revision ID: 20261209_host_classes
Revises: 20261208_engine_support
Create Date: 2026-12-09
"""

import sqlalchemy as sa
from alembic import op

revision = "20261209_host_classes"
down_revision = "20261208_engine_support"
branch_labels = None
depends_on = None
TEXTS = ("name_zh", "quality", "spec", "note")
AMOUNTS = ("low_cny", "expected_cny", "high_cny", "idle_w", "load_w", "supply_w")


def upgrade() -> None:
    op.create_table(
        "host_class",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("cards", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Float(), nullable=False) for name in AMOUNTS),
        sa.Column("network_cny", sa.Float()),
        sa.Column("observed_on", sa.String(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False, server_default="derived"),
        *(sa.Column(name, sa.String(), nullable=False, server_default="") for name in TEXTS),
        sa.Column("source_id", sa.String(), sa.ForeignKey("source.id"), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("host_class")
