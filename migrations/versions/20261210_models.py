"""When a model was released, and what its published checkpoint takes.

Revision ID: 20261210_models
Revises: 20261209_host_classes
Create Date: 2026-12-10
"""

import sqlalchemy as sa
from alembic import op

revision = "20261210_models"
down_revision = "20261209_host_classes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("model") as batch:
        batch.add_column(sa.Column("released_on", sa.String(), nullable=False, server_default=""))
        batch.add_column(sa.Column("checkpoint_gib", sa.Float()))


def downgrade() -> None:
    with op.batch_alter_table("model") as batch:
        batch.drop_column("checkpoint_gib")
        batch.drop_column("released_on")
