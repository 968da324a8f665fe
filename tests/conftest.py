"""Fixtures shared by all tests: settings, a seeded database, a client, a running server and a browser."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.settings import PREFIX, Settings

if TYPE_CHECKING:
    from fastapi.testclient import TestClient
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CARDWORTH_CI") == "1"
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def require(found: Any, what: str) -> None:
    """Go on when `found`; otherwise fail in CI, and elsewhere leave the test out and say what is missing."""
    if found:
        return
    if IN_CI:
        pytest.fail(f"CI must have what this test needs: {what}")
    pytest.skip(f"NOT TESTED, missing here: {what}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests run last: Playwright keeps an event loop in this thread, which `asyncio.run` refuses."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> None:
    """The settings of whoever runs the tests must not change what is tested."""
    for name in list(os.environ):
        if name.startswith(PREFIX) and name != "CARDWORTH_CI":
            del os.environ[name]


@pytest.fixture(scope="session")
def as_of() -> date:
    """The day for which results are asked, so that prices do not age while the tests do."""
    return date(2026, 11, 30)


def run_command(*arguments: str, database_url: str, cwd: Path | None = None) -> None:
    """Run the command line against a database; its output is shown when it fails."""
    environment = {**os.environ, "CARDWORTH_DATABASE_URL": database_url}
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        cwd=cwd or ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"cardworth {' '.join(arguments)}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="session")
def seeded_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated and seeded SQLite file, made once; copy it, never write to it."""
    path = tmp_path_factory.mktemp("seeded") / "cardworth.db"
    run_command("migrate", database_url=f"sqlite:///{path}")
    run_command("seed", database_url=f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


@pytest.fixture
def settings(seeded_database: Path, tmp_path: Path) -> Settings:
    """Settings over a private copy of the seeded database."""
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    return Settings(database_url=f"sqlite:///{path}")


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """A client of the whole application, started and stopped around the test."""
    from fastapi.testclient import TestClient

    from app.main import create_app

    with TestClient(create_app(settings)) as started:
        yield started


@pytest.fixture(scope="session")
def live_server(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the application served over a real socket, for browser tests."""
    import uvicorn

    from app.main import create_app

    path = tmp_path_factory.mktemp("live") / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    live = Settings(
        database_url=f"sqlite:///{path}",
        calculations_per_minute=1_000_000,
        comparisons_per_hour=1_000_000,
        comparisons_per_day=1_000_000,
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    config = uvicorn.Config(
        create_app(live), host="127.0.0.1", port=port, log_level="warning", access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            pytest.fail("the server for the browser tests did not start")
        time.sleep(0.05)
    # By name, not by number: browsers treat localhost as a secure context.
    yield f"http://localhost:{port}"
    server.should_exit = True
    thread.join(timeout=15)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, driven by Playwright."""
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    require(executable, "Chromium (Debian: apt-get install chromium fonts-noto-cjk)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page in a context of its own; CSP violations gather in `window.violations`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(
        "window.violations = [];"
        "document.addEventListener('securitypolicyviolation',"
        " e => window.violations.push(`${e.effectiveDirective} ${e.blockedURI}`))"
    )
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Address, without a database name, of a throw-away PostgreSQL server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    require(initdb, "a PostgreSQL server (Debian: apt-get install postgresql)")
    assert initdb
    folder = Path(tempfile.mkdtemp(prefix="cardworth-postgres-"))
    # PostgreSQL refuses to run as root; Debian's package brings the user for it.
    prefix: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    data = str(folder / "data")
    control = [*prefix, str(Path(initdb).with_name("pg_ctl")), "-D", data, "-w"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"

    def run(*command: str) -> None:
        # The server keeps standard output open, so it goes to a file, never to a pipe.
        with (folder / "log").open("a") as log:
            subprocess.run(command, check=True, cwd="/", stdout=log, stderr=log, timeout=120)

    run(*prefix, initdb, "-D", data, "-U", "cardworth", "-A", "trust", "-E", "UTF8", "--no-sync")
    run(*control, "-o", options, "start")
    yield f"postgresql+psycopg://cardworth@127.0.0.1:{port}"
    run(*control, "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """SQLAlchemy address of an empty PostgreSQL database, dropped after the test."""
    import psycopg

    name = f"test_{uuid.uuid4().hex[:12]}"
    admin = postgres_server.replace("+psycopg", "") + "/postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    yield f"{postgres_server}/{name}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
