"""Under which names the server answers, and that what it answers leads nowhere else.

A page of another site can have its own name point here (DNS rebinding); its requests then count as those of
the same origin. They still state that name.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError
from app.middleware.guards import Refuse

# Starlette's test client calls itself testserver, a name that nobody can register.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "testserver")
ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})
# Probes of a container name whatever address they have.
PROBED = frozenset({"/healthz", "/readyz"})


def host_of(stated: str) -> str:
    """The name in a Host header, without port and brackets; empty where it is none."""
    try:
        return (urlsplit(f"//{stated}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class AllowedHosts:
    """Answers 400 to requests for other hosts, and makes redirects local.

    Parameters
    ----------
    bound: the address that the server listens on; where it is any, requests may name any address in figures,
    which no other site can have as its name.
    added: further names; `.example.org` stands for all below it, `*` for any.
    """

    def __init__(self, app: ASGIApp, refuse: Refuse, bound: str, added: Collection[str] = ()) -> None:
        self.app = app
        self.refuse = refuse
        names = {name.lower().strip("[]") for name in (*LOCAL_HOSTS, bound, *added) if name}
        self.names = frozenset(names)
        self.below = tuple(name for name in names if name.startswith("."))
        self.figures = bound in ANY_ADDRESS

    def allows(self, stated: str) -> bool:
        """Whether a Host header is one of ours."""
        if "*" in self.names:
            return True
        host = host_of(stated)
        if host in self.names or (self.below and host.endswith(self.below)):
            return True
        return self.figures and _is_address(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated = Headers(scope=scope).get("host", "")
        if stated and scope["path"] not in PROBED and not self.allows(stated):
            error = AppError(
                400,
                "unknown-host",
                "The request asks for another host",
                "This server does not answer under this name; the setting CARDWORTH_ALLOWED_HOSTS names "
                "those it answers under.",
            )
            await self.refuse(Request(scope), error)(scope, receive, send)
            return

        async def send_local(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "location" in headers:
                    headers["location"] = local(headers["location"], stated)
            await send(message)

        await self.app(scope, receive, send_local)


def local(address: str, host: str) -> str:
    """An address of ours as a path: a redirect repeats no name that the client stated."""
    for scheme in ("http://", "https://"):
        if host and address.startswith(f"{scheme}{host}"):
            address = address[len(scheme) + len(host) :] or "/"
    return local_path(address) if address.startswith(("/", "\\")) else address


def local_path(path: str) -> str:
    """A path that is no address of another host: two slashes at its beginning would make it one."""
    return "/" + path.lstrip("/\\") if path.startswith(("//", "/\\", "\\")) else path
