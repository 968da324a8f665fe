"""Make the screenshots of the two READMEs from the real page: python -m tests.browser.make_screenshots.

A server of its own over freshly seeded data; Chromium as for the browser tests.
"""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

from app.main import create_app
from app.settings import Settings
from tests.conftest import CHROMIUM_FLAGS, ROOT, run_command

SHOTS = {"zh": "docs/screenshot-zh.png", "en": "docs/screenshot-en.png"}
WIDTH, HEIGHT = 1280, 860
LIMIT_BYTES = 300 * 1024


def serve(database: Path) -> tuple[uvicorn.Server, str]:
    """A server in a thread; its address."""
    url = f"sqlite:///{database}"
    run_command("migrate", database_url=url)
    run_command("seed", database_url=url)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    app = create_app(Settings(database_url=url))
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return server, f"http://localhost:{port}"


def shoot(base: str, folder: Path) -> list[Path]:
    """One picture of the first view for each language."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    made = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        for language, name in SHOTS.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(f"{base}/?lang={language}")
            page.wait_for_load_state("networkidle")
            made.append(folder / name)
            made[-1].parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(made[-1]))
        browser.close()
    return made


def main() -> int:
    """Make both; 1 when one is too large for a README."""
    with tempfile.TemporaryDirectory() as folder:
        server, base = serve(Path(folder) / "cardworth.db")
        made = shoot(base, ROOT)
        server.should_exit = True
    return int(any(path.stat().st_size > LIMIT_BYTES for path in made))


if __name__ == "__main__":
    sys.exit(main())
