"""Every example of the README runs: commands against a seeded database, curl against a live server."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require

ROOT = Path(__file__).resolve().parent.parent
READMES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md")}
BLOCKS = [
    block
    for text in READMES.values()
    for block in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
]
COMMANDS = [command for block in BLOCKS if block.startswith("cardworth") for command in block.splitlines()]
CALLS = [block for block in BLOCKS if block.startswith("curl")]
ADDRESS = "http://127.0.0.1:8000"


def test_the_readme_has_examples_of_both_kinds() -> None:
    assert len(COMMANDS) >= 6 and len(CALLS) >= 4
    assert len(BLOCKS) == len(CALLS) + sum(block.startswith("cardworth") for block in BLOCKS)


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, seeded_database: Path, tmp_path: Path) -> None:
    path = tmp_path / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    program, *arguments = shlex.split(command)
    assert program == "cardworth"
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        cwd=tmp_path,
        env={**os.environ, "CARDWORTH_DATABASE_URL": f"sqlite:///{path}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--json" in arguments:
        assert json.loads(done.stdout)["versions"]


@pytest.mark.parametrize("call", CALLS)
def test_call(call: str, live_server: str) -> None:
    require(shutil.which("curl"), "curl")
    here = live_server.replace("localhost", "127.0.0.1")
    arguments = [part.replace(ADDRESS, here) for part in shlex.split(call)]
    assert any(here in part for part in arguments)
    done = subprocess.run(
        [*arguments, "--fail-with-body", "--noproxy", "*"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert isinstance(json.loads(done.stdout), dict)


def test_links_lead_to_files_that_exist() -> None:
    for name, text in READMES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / target).is_file(), f"{name}: {target}"


def test_the_documents_name_no_command_that_does_not_exist() -> None:
    from app.cli import build_parser

    known = build_parser().format_help()
    for name in (*READMES, "docs/api.md", "docs/operations.md"):
        for command in re.findall(r"cardworth ([a-z]+)\b", (ROOT / name).read_text(encoding="utf-8")):
            assert re.search(rf"^    {command}\b", known, re.MULTILINE), f"{name}: {command}"
