"""Flags of the command line as the body of a request: the same JSON that the API takes."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from app.commands.output import EXIT_INPUT, CommandFailure

Body = dict[str, Any]

MAX_FILE_BYTES = 1_000_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)([kmbt]?)", re.IGNORECASE)
_SIZE_ALONE = re.compile(r"\d+(?:\.\d+)?[kmbt]", re.IGNORECASE)
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_MONEY = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)(CNY|USD)?", re.IGNORECASE)

# flag, place in the body, type (bool: a switch), help
_WORKLOAD: tuple[tuple[str, str, Any, str], ...] = (
    ("--task", "workload.task", str, "inference, training, lora or qlora"),
    ("--precision", "workload.precision", str, "bf16, fp8, awq, gguf-q4_k_m …"),
    ("--batch", "workload.batch_size", int, "per GPU in training, concurrent sequences in inference"),
    ("--sequence", "workload.sequence_length", int, "tokens held per sequence"),
    ("--output-length", "workload.output_length", int, "tokens written per sequence"),
    ("--source-length", "workload.source_length", int, "tokens read by an encoder-decoder"),
    ("--image-size", "workload.image_size", int, "pixels of a side"),
    ("--kv-precision", "workload.kv_precision", str, "type of the KV cache"),
    ("--engine", "workload.engine", str, "vllm, llama.cpp, pytorch …"),
    ("--engine-version", "workload.engine_version", str, "such as 0.11"),
    ("--load", "workload.load", str, "single, batch or saturated"),
    ("--software", "workload.software", str, "new, usual or old"),
    ("--latency-limit-ms", "workload.latency_limit_ms", float, "milliseconds that one answer may take"),
    ("--max-batched-tokens", "workload.max_batched_tokens", int, "tokens of one step of the engine"),
    ("--max-num-seqs", "workload.max_num_seqs", int, "sequences that the engine makes room for"),
    ("--memory-fraction", "workload.memory_fraction", float, "share of the card that the engine takes"),
    ("--weights-gib", "workload.weights_gib", float, "size of the checkpoint"),
    ("--compile", "workload.compile", bool, "compiled graphs"),
    ("--optimizer", "workload.optimizer", str, "adamw, adamw-8bit, sgd …"),
    ("--recipe", "workload.recipe", str, "mixed, pure or fp32"),
    ("--attention", "workload.attention", str, "flash, sdpa or eager"),
    ("--logits", "workload.logits", str, "full or chunked"),
    ("--padding", "workload.padding", str, "packed or padded"),
    ("--gradient-accumulation", "workload.gradient_accumulation", int, "batches per optimizer step"),
    ("--trainable-parameters", "workload.trainable_parameters", float, "where only a part is trained"),
    ("--lora-targets", "workload.lora_targets", str, "attention or all-linear"),
    ("--lora-rank", "workload.lora_rank", int, "rank of the adapters"),
    ("--used-gib", "workload.used_gib", float, "memory of the card that is already used"),
    ("--data", "workload.parallelism.data", int, "data-parallel degree"),
    ("--tensor", "workload.parallelism.tensor", int, "tensor-parallel degree"),
    ("--pipeline", "workload.parallelism.pipeline", int, "pipeline degree"),
    ("--expert", "workload.parallelism.expert", int, "expert-parallel degree"),
    ("--zero-stage", "workload.parallelism.zero_stage", int, "ZeRO stage, 0 to 3"),
    ("--as-of", "as_of", str, "day of prices and rates, such as 2026-11-30"),
)
_CARD: tuple[tuple[str, str, Any, str], ...] = (
    ("--gpu", "gpu", str, "id or alias of the card"),
    ("--count", "count", int, "number of cards"),
)
_SHORTLIST: tuple[tuple[str, str, Any, str], ...] = (
    ("--objective", "objective", str, "total_cost, purchase, tflops_per_yuan, speed or power"),
    ("--limit", "limit", int, "options to list"),
    ("--tax", "price_rules.tax", str, "prices with it or without: included or excluded"),
    ("--price-region", "price_rules.region", str, "prices of this region only: CN, US …"),
    ("--tenants", "questions.tenants", bool, "several tenants share the cards"),
    ("--strict-sla", "questions.strict_sla", bool, "the service level is strict"),
    ("--hours-per-month", "economics.hours_per_month", float, "hours that the cards are on"),
    ("--months", "economics.months", float, "horizon"),
    ("--utilisation", "economics.utilisation", float, "share of the time at work, 0 to 1"),
    ("--electricity", "economics.electricity_cny_per_kwh", float, "yuan per kWh"),
    ("--pue", "economics.pue", float, "power usage effectiveness"),
    ("--residual", "economics.residual", float, "share of the price left at the end"),
    ("--host", "economics.host_cny_per_gpu", float, "yuan of server per card"),
    ("--work", "work.amount", float, "amount of work: per month in inference, in all in training"),
    ("--work-unit", "work.unit", str, "tokens, samples, images or hours"),
    ("--deadline-hours", "deadline_hours", float, "the work must be done in"),
    ("--max-age-days", "price_rules.max_age_days", int, "prices older than this are stale"),
    ("--max-power", "filters.max_power_w", float, "watts of all cards"),
    ("--max-count", "filters.max_count", int, "cards of an option"),
    ("--max-cards-per-host", "filters.max_cards_per_host", int, "cards of one host"),
    ("--os", "filters.os", str, "linux, windows, wsl2 or macos"),
    ("--driver", "filters.driver", str, "NVIDIA driver, such as 550.54"),
)
_LISTS: tuple[tuple[str, str, str], ...] = (
    ("--vendor", "filters.vendors", "only cards of this vendor"),
    ("--condition", "filters.conditions", "new, used, refurbished or modded"),
    ("--region", "filters.regions", "must be available there"),
    ("--need", "filters.needs", "ecc, mig or nvlink"),
    ("--framework", "filters.frameworks", "such as pytorch or tensorflow==2.15"),
    ("--only", "filters.gpus", "only this card"),
)


def add_workload(parser: argparse.ArgumentParser) -> None:
    """Flags of the workload."""
    group = parser.add_argument_group("the workload")
    group.add_argument("--model", help="preset: id, alias or Hugging Face id")
    group.add_argument("--config", metavar="FILE", help="a Hugging Face config.json")
    group.add_argument("--family", help="decoder, encoder, vision … with --parameters")
    group.add_argument("--parameters", metavar="N", help="size of the model: 7B, 335M or 7e9")
    group.add_argument(
        "--checkpointing",
        nargs="?",
        const="true",
        choices=("true", "false", "selective"),
        help="recompute activations",
    )
    _add(group, _WORKLOAD)
    group.add_argument(
        "--offload",
        metavar="PART",
        action="append",
        default=[],
        help="to the host: experts, optimizer, activations, layers_on_gpu=N; may be repeated",
    )
    group.add_argument(
        "--request", metavar="FILE", help="the body as JSON (- reads standard input); flags change it"
    )


def add_card(parser: argparse.ArgumentParser) -> None:
    """Flags of one card."""
    _add(parser.add_argument_group("the cards"), _CARD)


def add_shortlist(parser: argparse.ArgumentParser) -> None:
    """Flags of the frame around a workload."""
    group = parser.add_argument_group("the choice")
    group.add_argument("--counts", metavar="N,N", help="numbers of cards to try: 1,2,4,8")
    group.add_argument("--budget", metavar="AMOUNT", help="with host: 100000 or 15000USD")
    group.add_argument(
        "--price", metavar="GPU=YUAN", action="append", default=[], help="your own price per card"
    )
    group.add_argument("--refuse-stale", action="store_true", help="fail when only a stale price is left")
    for flag, place, text in _LISTS:
        group.add_argument(flag, dest=place, action="append", metavar="X", help=f"{text}; may be repeated")
    _add(group, _SHORTLIST)


def _add(group: Any, flags: tuple[tuple[str, str, Any, str], ...]) -> None:
    for flag, place, kind, text in flags:
        if kind is bool:
            group.add_argument(flag, dest=place, action="store_const", const=True, help=text)
            continue
        metavar = "N" if kind in (int, float) else "X"
        group.add_argument(
            flag, dest=place, type=_number if kind in (int, float) else kind, metavar=metavar, help=text
        )


def _number(text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def body_of(options: argparse.Namespace) -> Body:
    """The request body that the flags stand for."""
    body: Body = _from_file(options.request) if options.request else {}
    for place, value in vars(options).items():
        if "." in place or place in ("as_of", "gpu", "count", "objective", "limit", "deadline_hours"):
            if value is not None:
                _put(body, place, value)
    _put_model(body, options)
    if options.checkpointing:
        value = options.checkpointing
        _put(body, "workload.gradient_checkpointing", value if value == "selective" else value == "true")
    for part in getattr(options, "offload", []):
        name, stated, value = part.partition("=")
        _put(body, f"workload.offload.{name.strip()}", _switch(value) if stated else True)
    if getattr(options, "counts", None):
        body["counts"] = [_plain_number(part, "--counts") for part in options.counts.split(",")]
    if getattr(options, "budget", None):
        match = _MONEY.fullmatch(options.budget)
        if match is None:
            raise CommandFailure(f"--budget {options.budget}: give 100000 or 15000USD", EXIT_INPUT)
        body["budget"] = {"amount": float(match[1]), "currency": (match[2] or "CNY").upper()}
    for pair in getattr(options, "price", []):
        name, _, amount = pair.partition("=")
        _put(body.setdefault("price_overrides", {}), name, _plain_number(amount, "--price"), split=False)
    if getattr(options, "refuse_stale", False):
        _put(body, "price_rules.refuse_stale", True)
    return body


def _put_model(body: Body, options: argparse.Namespace) -> None:
    if options.config:
        _put(body, "workload.model", {"config": _from_file(options.config)})
    elif options.family or (options.parameters and not options.model):
        model: Body = {"family": options.family or "decoder"}
        if options.parameters:
            model["parameters"] = _size(options.parameters)
        _put(body, "workload.model", model)
    elif options.model:
        size = _SIZE_ALONE.fullmatch(options.model.strip())
        # As in the form: a bare size is a decoder of that size.
        known = (
            {"family": "decoder", "parameters": _size(options.model)} if size else {"preset": options.model}
        )
        _put(body, "workload.model", known)
    body.setdefault("workload", {})


def _put(body: Body, place: str, value: Any, split: bool = True) -> None:
    *parents, last = place.split(".") if split else [place]
    for parent in parents:
        inner = body.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise CommandFailure(f"{parent} in the request file is not an object", EXIT_INPUT)
        body = inner
    body[last] = value


def _plain_number(text: str, flag: str) -> float | int:
    try:
        return _number(text.strip())
    except argparse.ArgumentTypeError as error:
        raise CommandFailure(f"{flag}: {error}", EXIT_INPUT) from None


def _switch(text: str) -> bool | float | int:
    """The value of a part that is on, off, or a number."""
    word = text.strip().lower()
    return word == "true" if word in ("true", "false") else _plain_number(text, "--offload")


def _size(text: str) -> float:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise CommandFailure(f"--parameters {text}: give 7B, 335M or 7e9", EXIT_INPUT)
    return float(match[1]) * _SCALE[match[2].lower()]


def _from_file(name: str) -> Body:
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CommandFailure(f"{name}: {error.strerror}", EXIT_INPUT) from None
    if len(content) > MAX_FILE_BYTES:
        raise CommandFailure(f"{name}: larger than {MAX_FILE_BYTES:,} bytes", EXIT_INPUT)
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise CommandFailure(f"{name}: not readable as JSON", EXIT_INPUT) from None
    if not isinstance(body, dict):
        raise CommandFailure(f"{name}: not a JSON object", EXIT_INPUT)
    return body
