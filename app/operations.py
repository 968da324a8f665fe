"""For whoever runs an instance: health, readiness, metrics, the documentation of the API, and the log."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from pydantic import BaseModel, Field

from app import __version__
from app.errors import PROBLEM_MEDIA_TYPE, Problem
from app.middleware.outward import current_request_id
from app.runtime import Runtime
from app.static_files import asset_url

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
NO_STORE = {"cache-control": "no-store"}


class Metrics:
    """Counts of requests and their durations, in the Prometheus text format."""

    def __init__(self) -> None:
        # When a series began says nothing here, and would double their number.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._info = Gauge(
            "cardworth_info",
            "Version of the application and of the loaded catalogue.",
            ("version", "catalog"),
            registry=self._registry,
        )
        self._requests = Counter(
            "cardworth_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "cardworth_request_duration_seconds",
            "Time to answer.",
            ("route",),
            buckets=BUCKETS_SECONDS,
            registry=self._registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def render(self, catalog_version: str) -> bytes:
        """All metrics as text."""
        self._info.clear()
        self._info.labels(__version__, catalog_version).set(1)
        return generate_latest(self._registry)


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


# Attributes that our own log calls add with `extra=`; nothing else is copied, so no body or key leaks in.
EXTRA_FIELDS = ("method", "path", "status", "duration_ms", "client")


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = current_request_id()
        if request_id:
            line["request_id"] = request_id
        for name in EXTRA_FIELDS:
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logging(level: str) -> None:
    """Send every logger of this process, uvicorn's too, through one JSON handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # Our own access line (app.middleware.outward) carries the request id; uvicorn's does not.
    logging.getLogger("uvicorn.access").disabled = True
