"""Puts the application together; `create_app` is the only way to get one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

from app import __version__
from app.error_handlers import error_response, install_error_handlers
from app.errors import AppError
from app.middleware.admission import Admission
from app.middleware.departures import Departures
from app.middleware.guards import BodyLimit, CrossOriginGuard, ReadinessGate, SignIn
from app.middleware.hosts import AllowedHosts
from app.middleware.outward import Compression, ErrorBoundary, HeadAsGet, RequestId, SecurityHeaders, Timing
from app.operations import Metrics, configure_logging, operations_router
from app.runtime import Runtime
from app.settings import Settings, load_settings
from app.static_files import PrecompressedStaticFiles, assets

DESCRIPTION = """Which GPU to buy or rent for a model, and why. The pages of this site show the same results.

Sizes are in GiB, money in the currency named, times in ISO 8601. Every error is a problem of RFC 9457
with a JSON pointer for each field at fault."""


def create_app(settings: Settings | None = None, serving: bool = False) -> FastAPI:
    """Build an application from settings (from the environment when None); opens nothing before it starts.

    `serving`: reports that take long are begun at the start and after each change of the data.
    """
    from app.api.routes import router as api_router
    from app.web.routes import router as web_router

    settings = settings or load_settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(runtime.open)
        yield
        await run_in_threadpool(runtime.close)

    app = FastAPI(
        title="Cardworth",
        version=__version__,
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    runtime = Runtime(settings, app.state, serving)
    app.state.settings = settings
    app.state.runtime = runtime
    app.state.metrics = metrics

    install_error_handlers(app)
    _add_middleware(app, settings, runtime, metrics)
    app.include_router(operations_router(runtime, metrics))
    app.include_router(api_router)
    app.include_router(web_router, include_in_schema=False)
    app.mount("/static", PrecompressedStaticFiles(assets(), long_cache=settings.static_cache), name="static")
    return app


def _add_middleware(app: FastAPI, settings: Settings, runtime: Runtime, metrics: Metrics) -> None:
    """From the innermost to the outermost: each one wraps those before it."""

    def open_or_fault() -> AppError | None:
        return None if runtime.open() else runtime.fault

    app.add_middleware(
        SignIn,
        refuse=error_response,
        find=runtime.editor_of,
        may_read=runtime.may_read,
        closed=settings.read_requires_key,
    )
    app.add_middleware(
        ReadinessGate, refuse=error_response, is_open=lambda: runtime.is_open, open_or_fault=open_or_fault
    )
    app.add_middleware(HeadAsGet)
    app.add_middleware(Departures)
    app.add_middleware(Admission, refuse=error_response)
    app.add_middleware(
        BodyLimit,
        limit=settings.max_body_bytes,
        refuse=error_response,
        larger=dict.fromkeys(
            ("/api/v1/imports/", "/prices/import", "/quotes/", "/api/v1/models/read", "/models/read"),
            settings.max_import_bytes,
        ),
    )
    app.add_middleware(CrossOriginGuard, refuse=error_response, allowed_origins=settings.cors_origins)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Content-Type", "If-None-Match", "X-Api-Key", "X-Manage-Token", "X-Request-Id"],
            expose_headers=["ETag", "Link", "Location", "Retry-After", "X-Request-Id"],
        )
    app.add_middleware(AllowedHosts, refuse=error_response, bound=settings.host, added=settings.allowed_hosts)
    app.add_middleware(ErrorBoundary, refuse=error_response)
    app.add_middleware(Compression, minimum_size=1024, level=5)
    app.add_middleware(Timing, observe=metrics.observe)
    app.add_middleware(RequestId)
    app.add_middleware(SecurityHeaders, hsts=settings.hsts)


def serve(settings: Settings) -> None:
    """Run the server until it is told to stop; requests in flight get ten seconds to finish."""
    configure_logging(settings.log_level)
    uvicorn.run(
        create_app(settings, serving=True),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.forwarded_allow_ips,
        timeout_graceful_shutdown=10,
    )
