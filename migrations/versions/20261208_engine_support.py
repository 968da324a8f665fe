"""What is stated of engines on families of cards.

Revision ID: 20261208_engine_support
Revises: 20261207_basis
Create Date: 2026-12-08
"""

import sqlalchemy as sa
from alembic import op

revision = "20261208_engine_support"
down_revision = "20261207_basis"
branch_labels = None
depends_on = None
TEXTS = (
    "plugin",
    "engine_version",
    "hardware_as_written",
    "vendor",
    "min_version",
    "format_as_written",
    "feature",
    "evidence",
    "dated",
    "note",
)


def upgrade() -> None:
    op.create_table(
        "engine_support",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("hardware", sa.String(), nullable=False),
        sa.Column("formats", sa.String(), nullable=False, server_default="any"),
        sa.Column("feature_kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("refuses", sa.Boolean(), nullable=False, server_default=sa.false()),
        *(sa.Column(name, sa.String(), nullable=False, server_default="") for name in TEXTS),
        sa.Column("source_id", sa.String(), sa.ForeignKey("source.id"), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("engine_support")
