"""Whether the catalogue has changed: the one statement that every request sends."""

from __future__ import annotations

from sqlalchemy import Engine

from app.catalog.db import reading, sqlite_path
from app.catalog.versions import LATEST, latest


class VersionCheck:
    """Asks one database for the digest of its newest version."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._path = sqlite_path(engine.url)
        compiled = LATEST.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})
        self._statement = str(compiled)
        self._place = list(LATEST.selected_columns.keys()).index("digest")

    def digest(self) -> str | None:
        """Digest of the newest version; None before the first load.

        Errors
        ------
        DatabaseProblem when the database cannot be read.

        Notes
        -----
        The driver itself is asked, on a connection of the pool: through SQLAlchemy the same statement takes
        eighteen times as long, a tenth of an answer that is kept. Whatever goes wrong there is asked again
        the usual way, which knows what each failure means.
        """
        try:
            found = self._ask_driver()
        except Exception:
            with reading(self._engine) as connection:
                version = latest(connection)
            return None if version is None else version.digest
        return None if found is None else str(found[self._place])

    def _ask_driver(self) -> tuple[object, ...] | None:
        if self._path is not None and not self._path.exists():
            # Connecting would create the file.
            raise FileNotFoundError(self._path)
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(self._statement)
            row: tuple[object, ...] | None = cursor.fetchone()
            cursor.close()
        finally:
            connection.close()
        return row
