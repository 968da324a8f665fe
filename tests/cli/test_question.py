"""Flags of the command line stand for fields of the body."""

from __future__ import annotations

import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from app.commands import question
from app.commands.output import CommandFailure
from app.commands.server import announce
from app.settings import Settings


def body(*flags: str) -> question.Body:
    parser = argparse.ArgumentParser()
    question.add_workload(parser)
    question.add_card(parser)
    question.add_shortlist(parser)
    return question.body_of(parser.parse_args(["--model", "llama-3.1-8b", *flags]))


@pytest.mark.parametrize(
    ("flags", "part", "found"),
    [
        ("--load saturated --software new", "workload", {"load": "saturated", "software": "new"}),
        ("--latency-limit-ms 50", "workload", {"latency_limit_ms": 50}),
        ("--gradient-accumulation 8 --compile", "workload", {"gradient_accumulation": 8, "compile": True}),
        ("--max-num-seqs 64", "workload", {"max_num_seqs": 64}),
        ("--memory-fraction 0.85", "workload", {"memory_fraction": 0.85}),
        ("--weights-gib 5.7", "workload", {"weights_gib": 5.7}),
        ("--expert 8", "workload", {"parallelism": {"expert": 8}}),
        (
            "--offload experts --offload layers_on_gpu=20 --offload optimizer=false",
            "workload",
            {"offload": {"experts": True, "layers_on_gpu": 20, "optimizer": False}},
        ),
        ("--tax included --price-region CN", "price_rules", {"tax": "included", "region": "CN"}),
        ("--strict-sla --tenants", "questions", {"strict_sla": True, "tenants": True}),
    ],
)
def test_a_flag_is_a_field(flags: str, part: str, found: question.Body) -> None:
    made = body(*flags.split())[part]
    assert {name: made[name] for name in found} == found


def test_a_switch_that_is_not_given_says_nothing() -> None:
    assert body() == {"workload": {"model": {"preset": "llama-3.1-8b"}}}


def test_a_part_to_offload_that_is_no_switch_is_refused() -> None:
    with pytest.raises(CommandFailure, match="--offload"):
        body("--offload", "experts=perhaps")


def test_a_server_that_is_ready_says_so_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/readyz" else 404)
            self.end_headers()
            self.wfile.write(b'{"status": "ready"}')

        def log_message(self, *_: object) -> None:
            """Nothing of it is printed."""

    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        announce(Settings(host="0.0.0.0", port=server.server_port))
        server.shutdown()
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert (said["ready"], said["readyz"]) == (True, {"status": "ready"})
    assert said["url"] == f"http://127.0.0.1:{server.server_port}"
