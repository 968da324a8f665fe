"""Load on a running server: many connections, a mix of pages, questions and writes; standard library alone.

python -m tests.load http://127.0.0.1:8000 --connections 64 --seconds 20 [--key cwk_…]

With a key, 4 of 100 requests write a price. Prints answers by status and per second, and the times of the
median and of the 99th percentile in all and by kind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from urllib.parse import urlsplit

MODELS = ("llama-3.1-8b", "qwen3-8b", "llama-3.1-70b", "qwen2.5-7b", "mistral-7b-v0.3")
WRITES_PERCENT = 4


def request_of(draw: random.Random, key: str) -> tuple[str, str, str, bytes]:
    """Kind, method, path and body of one request of the mix."""
    if key and draw.random() * 100 < WRITES_PERCENT:
        price = {
            "gpu_id": "rtx4090",
            "amount": draw.randrange(15_000, 19_000),
            "currency": "CNY",
            "condition": "new",
            "observed_on": "2026-11-20",
            "channel": f"load {draw.random()}",
            "region": "CN",
            "source": "load",
            "confirm": True,
        }
        return "write", "POST", "/api/v1/prices", json.dumps(price).encode()
    kind = draw.choices(("page", "question", "list", "card"), (30, 40, 20, 10))[0]
    if kind == "page":
        return kind, "GET", f"/?model={draw.choice(MODELS)}&users={draw.randrange(1, 40)}", b""
    if kind == "question":
        work = {
            "model": {"preset": draw.choice(MODELS)},
            "task": "inference",
            "batch_size": draw.randrange(1, 200),
        }
        return kind, "POST", "/api/v1/shortlist", json.dumps({"workload": work}).encode()
    return kind, "GET", "/api/v1/gpus?limit=50" if kind == "list" else "/gpus/rtx4090", b""


async def answer_of(reader: asyncio.StreamReader) -> int:
    """The status of the next answer, its body read."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if b"content-length" in headers:
        await reader.readexactly(int(headers[b"content-length"]))
    elif headers.get(b"transfer-encoding") == b"chunked":
        while size := int((await reader.readline()).strip(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return status


async def client(
    host: str, port: int, number: int, until: float, key: str, found: list[tuple[str, int, float]]
) -> None:
    """One connection that asks again as soon as it is answered."""
    draw = random.Random(number)
    reader = writer = None
    while time.monotonic() < until:
        kind, method, path, body = request_of(draw, key)
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        head += "content-type: application/json\r\n" + (f"x-api-key: {key}\r\n" if kind == "write" else "")
        started = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection(host, port)
            assert reader is not None
            writer.write(head.encode() + b"\r\n" + body)
            status = await answer_of(reader)
        except (OSError, asyncio.IncompleteReadError):
            status, writer = 0, None
        found.append((kind, status, time.monotonic() - started))


def said(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.99))
    return f"{name:9} {len(ordered):6} answers  p50 {p50 * 1000:7.0f} ms  p99 {p99 * 1000:7.0f} ms"


async def main() -> None:
    parser = argparse.ArgumentParser(description="Load on a running server.")
    parser.add_argument("address")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--key", default="")
    options = parser.parse_args()
    at = urlsplit(options.address)
    found: list[tuple[str, int, float]] = []
    until = time.monotonic() + options.seconds
    await asyncio.gather(
        *(
            client(at.hostname or "127.0.0.1", at.port or 80, n, until, options.key, found)
            for n in range(options.connections)
        )
    )
    by_kind = defaultdict(list)
    for kind, _, seconds in found:
        by_kind[kind].append(seconds)
    print(
        f"{len(found) / options.seconds:.1f} answers a second; by status "
        f"{dict(Counter(status for _, status, _ in found))}"
    )
    print(said("all", [seconds for _, _, seconds in found]))
    for kind, times in sorted(by_kind.items()):
        print(said(kind, times))
    failed = Counter((kind, status) for kind, status, _ in found if status >= 400 or not status)
    print(f"failed: {dict(failed)}")


if __name__ == "__main__":
    asyncio.run(main())
