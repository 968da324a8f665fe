"""Editors who sign in with a browser, and their sessions.

Revision ID: 20261202_editors
Revises: 20261201_doubts_and_undo
Create Date: 2026-12-02
"""

import sqlalchemy as sa
from alembic import op

revision = "20261202_editors"
down_revision = "20261201_doubts_and_undo"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "editor",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("normalised", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_editor")),
        sa.UniqueConstraint("normalised", name=op.f("uq_editor_normalised")),
    )
    op.create_table(
        "editor_session",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("editor_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["editor_id"], ["editor.id"], name=op.f("fk_editor_session_editor_id_editor")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_editor_session")),
    )
    op.create_index(op.f("ix_editor_session_editor_id"), "editor_session", ["editor_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_editor_session_editor_id"), table_name="editor_session")
    op.drop_table("editor_session")
    op.drop_table("editor")
