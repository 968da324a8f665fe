"""Static files: hashed addresses, pre-compressed forms, cache headers, missing files."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from app.negotiation import accepted_codings, prefers_json
from app.resources import ResourceMissing, resource_path
from app.static_files import IMMUTABLE, REVALIDATE, Assets, PrecompressedStaticFiles, asset_url


@pytest.fixture
def root(tmp_path: Path) -> Path:
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    (vendor / "lib.0123456789ab.js").write_text("plain")
    (vendor / "lib.0123456789ab.js.br").write_bytes(b"as brotli")
    (vendor / "lib.0123456789ab.js.gz").write_bytes(gzip.compress(b"plain"))
    manifest = {"files": {"lib.js": {"file": "lib.0123456789ab.js", "sha256": "0123456789ab"}}}
    (vendor / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "app.css").write_text("body{}")
    return tmp_path


def serve(root: Path, long_cache: bool = True) -> TestClient:
    files = PrecompressedStaticFiles(Assets(root), long_cache=long_cache)
    return TestClient(Starlette(routes=[Mount("/static", files)]))


@pytest.mark.parametrize(
    ("header", "codings"),
    [
        ("", set()),
        ("br", {"br"}),
        ("gzip, deflate, br, zstd", {"br", "gzip"}),
        ("br;q=0, gzip", {"gzip"}),
        ("br;q=0.0,gzip;q=0.5", {"gzip"}),
        ("*", {"br", "gzip"}),
        ("*;q=0", set()),
        ("*, br;q=0", {"gzip"}),
        ("BR;Q=1", {"br"}),
        ("br;q=nan, gzip;q=x", set()),
        ("brotli, xgzip", set()),
        (",;,", set()),
    ],
)
def test_accept_encoding_is_read_with_its_q_values(header: str, codings: set[str]) -> None:
    assert accepted_codings(header) == codings


@pytest.mark.parametrize(
    ("path", "accept", "json_wanted"),
    [
        ("/api/v1/gpus", "text/html", True),
        ("/readyz", "*/*", True),
        ("/", "", False),
        ("/", "*/*", False),
        ("/", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        ("/", "application/json", True),
        ("/", "application/problem+json", True),
        ("/", "application/json;q=0.5, text/html", False),
        ("/", "text/html;q=0.5, application/json", True),
    ],
)
def test_json_is_for_the_api_and_for_who_prefers_it(path: str, accept: str, json_wanted: bool) -> None:
    assert prefers_json(path, accept) is json_wanted


@pytest.mark.parametrize(
    ("accept", "coding"),
    [("br, gzip", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("identity", None)],
)
def test_the_best_accepted_form_is_sent(root: Path, accept: str, coding: str | None) -> None:
    with serve(root).stream(
        "GET", "/static/vendor/lib.0123456789ab.js", headers={"accept-encoding": accept}
    ) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == coding
    assert (
        raw == {"br": b"as brotli", "gzip": gzip.compress(b"plain"), None: b"plain"}[coding]
        or coding == "gzip"
    )
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["cache-control"] == IMMUTABLE


def test_own_files_are_kept_long_only_at_the_address_with_their_hash(root: Path) -> None:
    client = serve(root)
    url = Assets(root).url("app.css")
    assert url.startswith("/static/app.css?v=") and len(url) == len("/static/app.css?v=") + 12
    assert client.get(url).headers["cache-control"] == IMMUTABLE
    for other in ("/static/app.css", "/static/app.css?v=", "/static/app.css?v=000000000000"):
        assert client.get(other).headers["cache-control"] == REVALIDATE
    assert serve(root, long_cache=False).get(url).headers["cache-control"] == REVALIDATE


def test_the_hash_follows_the_content(root: Path) -> None:
    found = Assets(root)
    before = found.url("app.css")
    (root / "app.css").write_text("body{color:red}")
    os.utime(root / "app.css", ns=(1, 1))
    assert found.url("app.css") != before


def test_not_modified_answers_keep_the_cache_headers(root: Path) -> None:
    client = serve(root)
    first = client.get("/static/app.css")
    again = client.get("/static/app.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == REVALIDATE
    assert again.headers["vary"] == "Accept-Encoding"


def test_nothing_outside_the_folder_is_served(root: Path) -> None:
    (root.parent / "secret.txt").write_text("secret")
    client = serve(root)
    for path in ("/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static//etc/passwd", "/static/%00"):
        assert client.get(path).status_code == 404


def test_missing_files_are_told_in_one_sentence(tmp_path: Path, root: Path) -> None:
    with pytest.raises(ResourceMissing, match="make install"):
        Assets(tmp_path / "nowhere")
    (root / "vendor" / "manifest.json").write_text("{}")
    with pytest.raises(ResourceMissing, match="make install"):
        Assets(root)
    with pytest.raises(ResourceMissing, match=r"none\.css"):
        asset_url("none.css")
    with pytest.raises(ValueError, match="not a resource folder"):
        resource_path("secrets")


def test_every_third_party_file_is_there_with_its_licence() -> None:
    manifest = json.loads(resource_path("static", "vendor", "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["files"]) == {
        "htmx.min.js",
        "plotly.min.js",
        "swagger-ui.css",
        "swagger-ui-bundle.js",
    }
    for entry in manifest["files"].values():
        assert entry["license"] and entry["version"] and len(entry["sha256"]) == 64
        text = resource_path("static", "vendor", "licenses", f"{entry['package']}.txt").read_text(
            encoding="utf-8"
        )
        assert len(text) > 300
    sizes = {
        name: resource_path("static", "vendor", f"{entry['file']}.br").stat().st_size
        for name, entry in manifest["files"].items()
    }
    assert sizes["plotly.min.js"] <= 460_000
    assert sizes["htmx.min.js"] <= 14_000
