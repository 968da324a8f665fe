"""Reports that take long to work out, kept under a digest of what they rest on.

Revision ID: 20261205_reports
Revises: 20261204_formulas
Create Date: 2026-12-05
"""

import sqlalchemy as sa
from alembic import op

revision = "20261205_reports"
down_revision = "20261204_formulas"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "report",
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("basis", "part"),
    )


def downgrade() -> None:
    op.drop_table("report")
