"""Quotes can be held, as prices can; an entry of the change log says which earlier one it undoes.

Revision ID: 20261201_doubts_and_undo
Revises: 20261130_parameters
Create Date: 2026-12-01
"""

import sqlalchemy as sa
from alembic import op

revision = "20261201_doubts_and_undo"
down_revision = "20261130_parameters"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("quote") as batch:
        batch.add_column(sa.Column("held", sa.String(), nullable=False, server_default=""))
    with op.batch_alter_table("change_log") as batch:
        batch.add_column(sa.Column("undoes", sa.Integer(), nullable=True))
        batch.create_index(batch.f("ix_change_log_undoes"), ["undoes"])


def downgrade() -> None:
    with op.batch_alter_table("change_log") as batch:
        batch.drop_index(batch.f("ix_change_log_undoes"))
        batch.drop_column("undoes")
    with op.batch_alter_table("quote") as batch:
        batch.drop_column("held")
