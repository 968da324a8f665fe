"""What is sent and what is installed: bytes of the first view, of the charts, of the installation."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.services.benchmark import Figure
from tests.benchmarks.start import server

FIRST_VIEW_KB, CHARTS_KB = 80.0, 460.0
INSTALLED_MB = 280.0
_ASSET = re.compile(r'<(?:script[^>]* src|link rel="stylesheet" href)="([^"]+)"')
_CHARTS = re.compile(r'data-plotly="([^"]+)"')


def transfer_figures(database: Path) -> Iterator[Figure]:
    """Compressed bytes of the first page with what it loads, and of the chart code that comes later."""
    with server(database) as served:

        def fetch(path: str) -> tuple[bytes, int]:
            address = f"http://127.0.0.1:{served.port}{path}"
            request = urllib.request.Request(address, headers={"accept-encoding": "br, gzip"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                sent = answer.read()
            plain = urllib.request.Request(address, headers={"accept-encoding": "identity"})
            with urllib.request.urlopen(plain, timeout=60) as answer:
                return answer.read(), len(sent)

        page, sent = fetch("/")
        text = page.decode()
        parts = {path: fetch(path)[1] for path in dict.fromkeys(_ASSET.findall(text))}
        yield Figure("first view, page alone, compressed", sent / 1e3, "KB")
        yield Figure("first view, compressed", (sent + sum(parts.values())) / 1e3, "KB", FIRST_VIEW_KB)
        charts = _CHARTS.search(text)
        if charts is not None:
            yield Figure("chart code, compressed", fetch(charts[1])[1] / 1e3, "KB", CHARTS_KB)


def installed_figures() -> Iterator[Figure]:
    """Size of what the program needs to run, without the extras and without pip."""
    needed = runtime_distributions("cardworth")
    sizes = {name: _size(found) for name, found in needed.items()}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
    named = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    yield Figure(f"installed for running ({named})", sum(sizes.values()) / 1e6, "MB", INSTALLED_MB)
    yield Figure("torch among them", float("torch" in sizes), "", 0.0)


def runtime_distributions(root: str) -> dict[str, Distribution]:
    """A distribution and all that it requires on this machine, extras only where they are asked for."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(root, ())]
    while waiting:
        name, extras = waiting.pop()
        key = canonicalize_name(name)
        if key in found and not extras:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            continue
        for text in found[key].requires or ():
            requirement = Requirement(text)
            asked = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            if requirement.marker is None or any(requirement.marker.evaluate(e) for e in asked):
                waiting.append((requirement.name, tuple(sorted(requirement.extras))))
    return found


def _size(found: Distribution) -> float:
    """Bytes of the files of a distribution that are there."""
    paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
    return float(sum(path.stat().st_size for path in paths if path.is_file()))
