"""The formula of models whose parameters are derived.

Revision ID: 20261204_formulas
Revises: 20261203_remarks
Create Date: 2026-12-04
"""

import sqlalchemy as sa
from alembic import op

revision = "20261204_formulas"
down_revision = "20261203_remarks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("model") as batch:
        batch.add_column(sa.Column("formula", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("model") as batch:
        batch.drop_column("formula")
