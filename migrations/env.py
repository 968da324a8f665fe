"""How Alembic reaches the database: a connection given by `app.catalog.db`, or CARDWORTH_DATABASE_URL."""

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel

from app.catalog import tables
from app.catalog.db import create_engine_from_url, writing
from app.settings import Settings

# Importing the tables fills the metadata.
assert tables.SourceRow.metadata is SQLModel.metadata


def run(connection: Connection) -> None:
    """Run the migrations on an open connection."""
    context.configure(
        connection=connection,
        target_metadata=SQLModel.metadata,
        render_as_batch=True,
        compare_type=True,
        # SQLite rolls table changes back too, once BEGIN is ours: no migration stops half done.
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_offline() -> None:
    """Write the SQL instead of running it."""
    context.configure(
        url=Settings().database_url,
        target_metadata=SQLModel.metadata,
        render_as_batch=True,
        literal_binds=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if context.is_offline_mode():
    run_offline()
elif given is not None:
    run(given)
else:
    engine = create_engine_from_url(Settings().database_url)
    with writing(engine).connect() as opened:
        run(opened)
        opened.commit()
