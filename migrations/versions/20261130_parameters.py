"""Let a benchmark row state the parameters of a model that is no preset.

Revision ID: 20261130_parameters
Revises: 20261130_initial
Create Date: 2026-11-30
"""

import sqlalchemy as sa
from alembic import op

revision = "20261130_parameters"
down_revision = "20261130_initial"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("benchmark", sa.Column("model_parameters", sa.Float(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("benchmark") as batch:
        batch.drop_column("model_parameters")
