"""What a remark on availability rests on, and how good its source is.

Revision ID: 20261207_basis
Revises: 20261206_recipes
Create Date: 2026-12-07
"""

import sqlalchemy as sa
from alembic import op

revision = "20261207_basis"
down_revision = "20261206_recipes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("availability") as batch:
        batch.add_column(sa.Column("basis", sa.String(), nullable=False, server_default=""))
        batch.add_column(sa.Column("quality", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("availability") as batch:
        batch.drop_column("quality")
        batch.drop_column("basis")
