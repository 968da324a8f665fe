"""Routes for whoever runs an instance: health, readiness, metrics and the documentation of the API."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

from app import __version__
from app.errors import PROBLEM_MEDIA_TYPE, Problem
from app.runtime import Runtime
from app.static_files import asset_url

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
NO_STORE = {"cache-control": "no-store"}


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Metrics:
    """Counts of requests and their durations, in the Prometheus text format."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS_SECONDS) + 1))

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        index = next((i for i, bound in enumerate(BUCKETS_SECONDS) if seconds <= bound), len(BUCKETS_SECONDS))
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds
            self._buckets[route][index] += 1

    def render(self, catalog_version: str) -> str:
        """All metrics as text."""
        lines = [
            "# HELP cardworth_info Version of the application and of the loaded catalogue.",
            "# TYPE cardworth_info gauge",
            f'cardworth_info{{version="{__version__}",catalog="{_label(catalog_version)}"}} 1',
            "# HELP cardworth_requests_total Requests answered.",
            "# TYPE cardworth_requests_total counter",
        ]
        with self._lock:
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{_label(route)}",status="{status}"'
                lines.append(f"cardworth_requests_total{{{labels}}} {count}")
            name = "cardworth_request_duration_seconds"
            lines += [f"# HELP {name} Time to answer.", f"# TYPE {name} histogram"]
            for route, buckets in sorted(self._buckets.items()):
                label, total = f'route="{_label(route)}"', 0
                for bound, count in zip((*BUCKETS_SECONDS, "+Inf"), buckets, strict=True):
                    total += count
                    lines.append(f'{name}_bucket{{{label},le="{bound}"}} {total}')
                lines.append(f"{name}_sum{{{label}}} {self._seconds[route]:.6f}")
                lines.append(f"{name}_count{{{label}}} {total}")
        return "\n".join(lines) + "\n"


class Health(BaseModel):
    """The process answers."""

    status: str = Field(examples=["ok"])
    version: str = Field(examples=["0.1.0"])


class Readiness(BaseModel):
    """Database and catalogue are there."""

    status: str = Field(examples=["ready"])
    database: str = Field(examples=["ok"])
    revision: str = Field(examples=["ok"])
    catalog: str = Field(examples=["2026-11-30.1"])


DOCS_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cardworth API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{css}">
<script src="{bundle}" defer></script>
<script src="{init}" defer></script>
</head>
<body>
<main id="api-docs" data-openapi="/openapi.json"></main>
<noscript>This page needs JavaScript; the description itself is at <a href="/openapi.json">/openapi.json</a>.
</noscript>
</body>
</html>
"""


def operations_router(runtime: Runtime, metrics: Metrics) -> APIRouter:
    """The routes, bound to one running instance."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", summary="Is the process alive?")
    def healthz() -> Health:
        return Health(status="ok", version=__version__)

    @router.get(
        "/readyz",
        summary="Are database and catalogue there?",
        response_model=Readiness,
        responses={503: {"model": Problem, "content": {PROBLEM_MEDIA_TYPE: {}}, "description": "Not ready"}},
    )
    def readyz() -> JSONResponse:
        return JSONResponse(runtime.check(), headers=NO_STORE)

    @router.get("/metrics", include_in_schema=False)
    def metrics_text() -> PlainTextResponse:
        return PlainTextResponse(
            metrics.render(runtime.catalog_version()),
            media_type="text/plain; version=0.0.4; charset=utf-8",
            headers=NO_STORE,
        )

    @router.get("/api/docs", include_in_schema=False)
    def api_docs() -> HTMLResponse:
        return HTMLResponse(
            DOCS_PAGE.format(
                css=asset_url("swagger-ui.css"),
                bundle=asset_url("swagger-ui-bundle.js"),
                init=asset_url("api_docs.js"),
            )
        )

    return router
