"""How a measurement was run, as columns; filled once from the texts of the rows that are there.

Revision ID: 20261206_recipes
Revises: 20261205_reports
Create Date: 2026-12-06
"""

import sqlalchemy as sa
from alembic import op

from app.catalog.imports.recipes import COLUMNS, recipe_of

revision = "20261206_recipes"
down_revision = "20261205_reports"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("benchmark") as batch:
        for name in COLUMNS:
            batch.add_column(sa.Column(name, sa.String(), nullable=False, server_default=""))
    connection = op.get_bind()
    rows = connection.execute(
        sa.text("SELECT benchmark.*, source.url AS url FROM benchmark JOIN source ON source.id = source_id")
    ).mappings()
    filled = [{"id": row["id"], **recipe_of(row, row["url"])} for row in rows]
    if filled:
        stated = ", ".join(f"{name} = :{name}" for name in COLUMNS)
        connection.execute(sa.text(f"UPDATE benchmark SET {stated} WHERE id = :id"), filled)


def downgrade() -> None:
    with op.batch_alter_table("benchmark") as batch:
        for name in COLUMNS:
            batch.drop_column(name)
