"""Static files: addresses with a content hash, and the pre-compressed forms of the third-party ones."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from app.negotiation import CODINGS, accepted_codings
from app.resources import ResourceMissing, resource_path

IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"
_SUFFIXES = {"br": ".br", "gzip": ".gz"}


class Assets:
    """The static folder: third-party files by the manifest of the build, own files by their content."""

    def __init__(self, root: Path) -> None:
        self.root = root
        manifest = root / "vendor" / "manifest.json"
        try:
            self.vendor: dict[str, dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ResourceMissing(
                "The browser files of Cardworth are missing; fetch them with `make install`."
            ) from None
        self._digests: dict[str, tuple[tuple[int, int], str]] = {}

    def digest(self, name: str) -> str:
        """First 12 hex digits of the SHA-256 of an own file; read again only when the file has changed."""
        path = self.root / name
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._digests.get(name)
            if known is None or known[0] != stamp:
                known = (stamp, hashlib.sha256(path.read_bytes()).hexdigest()[:12])
                self._digests[name] = known
        except OSError:
            raise ResourceMissing(f"The static file {name!r} does not exist.") from None
        return known[1]

    def url(self, name: str) -> str:
        """Address of a static file that changes whenever its content does."""
        entry = self.vendor.get(name)
        if entry is not None:
            return f"/static/vendor/{entry['file']}"
        return f"/static/{name}?v={self.digest(name)}"


@cache
def assets() -> Assets:
    """The assets of this installation."""
    return Assets(resource_path("static"))


def asset_url(name: str) -> str:
    """Address of a static file for a page: `htmx.min.js`, `app.css`, ..."""
    return assets().url(name)


class PrecompressedStaticFiles(StaticFiles):
    """StaticFiles that sends FILE.br or FILE.gz where the client takes it, and says how long to keep it."""

    def __init__(self, found: Assets, *, long_cache: bool = True) -> None:
        super().__init__(directory=found.root)
        self.assets = found
        self.long_cache = long_cache
        self._hashed = {f"vendor/{entry['file']}" for entry in found.vendor.values()}

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        path = Path(full_path)
        coding, chosen, chosen_stat = self._choose(path, stat_result, scope)
        response = super().file_response(chosen, chosen_stat, scope, status_code)
        if coding and not isinstance(response, NotModifiedResponse):
            response.headers["content-encoding"] = coding
            response.headers["content-type"] = _content_type(path)
        response.headers.add_vary_header("Accept-Encoding")
        response.headers["cache-control"] = self._cache_control(path, scope)
        return response

    def _choose(
        self, path: Path, stat_result: os.stat_result, scope: Scope
    ) -> tuple[str, Path, os.stat_result]:
        allowed = accepted_codings(Headers(scope=scope).get("accept-encoding", ""))
        for coding in CODINGS:
            candidate = Path(f"{path}{_SUFFIXES[coding]}")
            if coding in allowed and candidate.is_file():
                return coding, candidate, candidate.stat()
        return "", path, stat_result

    def _cache_control(self, path: Path, scope: Scope) -> str:
        if not self.long_cache:
            return REVALIDATE
        name = path.relative_to(self.assets.root.resolve()).as_posix()
        if name in self._hashed:
            return IMMUTABLE
        version = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("v", [""])[0]
        return IMMUTABLE if version and version == self.assets.digest(name) else REVALIDATE


def _content_type(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
