"""What a client says it accepts: the q values of Accept and Accept-Encoding."""

from __future__ import annotations

CODINGS = ("br", "gzip")  # in the order of preference


def quality(parameters: str) -> float:
    """The q value of one element of an Accept-like header; 1 when absent, 0 when unreadable."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                number = float(value.strip())
            except ValueError:
                return 0.0
            return number if 0.0 <= number <= 1.0 else 0.0
    return 1.0


def accepted_codings(header: str) -> set[str]:
    """Which of br and gzip an Accept-Encoding header allows; `q=0` forbids, `*` stands for the unnamed."""
    stated: dict[str, float] = {}
    for item in header.split(","):
        name, _, parameters = item.partition(";")
        if name.strip():
            stated[name.strip().lower()] = quality(parameters)
    rest = stated.get("*", 0.0)
    return {coding for coding in CODINGS if stated.get(coding, rest) > 0}


def prefers_json(path: str, accept: str) -> bool:
    """Whether an error on this path, for this Accept header, is answered in JSON."""
    if path.startswith("/api/") or path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        return True
    best = {"html": 0.0, "json": 0.0}
    for item in accept.split(","):
        media, _, parameters = item.partition(";")
        media = media.strip().lower()
        kind = "html" if media in ("text/html", "application/xhtml+xml") else "json"
        if kind == "json" and not (media == "application/json" or media.endswith("+json")):
            continue
        best[kind] = max(best[kind], quality(parameters))
    return best["json"] > best["html"]
