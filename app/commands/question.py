"""Flags of the command line as the body of a request: the same JSON that the API takes.

Every field of the table has one; a list is given by repeating its flag.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from app.commands.output import EXIT_INPUT, CommandFailure
from app.core.fields import Field
from app.core.question_fields import FIELDS

Body = dict[str, Any]

MAX_FILE_BYTES = 1_000_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)([kmbt]?)", re.IGNORECASE)
_SIZE_ALONE = re.compile(r"\d+(?:\.\d+)?[kmbt]", re.IGNORECASE)
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_MONEY = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)(CNY|USD)?", re.IGNORECASE)
_SIDES = re.compile(r"(\d{1,5})(?:[x,](\d{1,5}))?")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_MODEL = "workload.model."
_BY_HAND = {"count", "gpu", "title"}


def option_of(field: Field) -> str:
    """The flag of a field."""
    return "--" + (field.flag or field.key.replace("_", "-"))


def add_workload(parser: argparse.ArgumentParser, fields: Sequence[Field] = FIELDS) -> None:
    """Flags of the workload."""
    group = parser.add_argument_group("the workload")
    group.add_argument("--model", help="preset: id, alias or Hugging Face id")
    group.add_argument("--config", metavar="FILE", help="a Hugging Face config.json")
    group.add_argument("--family", help="decoder, encoder, vision … with --parameters")
    group.add_argument("--parameters", metavar="N", help="size of the model: 7B, 335M or 7e9")
    for field in fields:
        if field.place == "as_of" or (
            field.place.startswith("workload.") and not field.place.startswith(_MODEL)
        ):
            _add(group, field)
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


def add_card(parser: argparse.ArgumentParser, fields: Sequence[Field] = FIELDS) -> None:
    """Flags of one card."""
    group = parser.add_argument_group("the cards")
    for field in fields:
        if field.place in ("gpu", "count"):
            _add(group, field)


def add_shortlist(parser: argparse.ArgumentParser, fields: Sequence[Field] = FIELDS) -> None:
    """Flags of the frame around a workload."""
    group = parser.add_argument_group("the choice")
    for field in fields:
        if not field.place.startswith("workload.") and field.place not in (*_BY_HAND, "as_of"):
            _add(group, field)


def _add(group: Any, field: Field) -> None:
    more: dict[str, Any] = {"dest": field.place, "help": _help(field), "metavar": "X"}
    match field.kind:
        case "integer" | "number" | "fraction":
            more |= {"type": _number, "metavar": "N"}
        case "flag":
            more = {"dest": field.place, "help": _help(field), "action": "store_const", "const": True}
        case "answer" | "level":
            words = [word for word in field.choices if isinstance(word, str)]
            more |= {"nargs": "?", "const": "true", "choices": (*_WORDS, *words)}
        case "choices" | "cards" | "vendors" | "frameworks":
            more["action"] = "append"
        case "counts":
            more["metavar"] = "N,N"
        case "prices":
            more |= {"action": "append", "metavar": "GPU=YUAN"}
        case "size":
            more["metavar"] = "N or HxW"
    if field.place == "budget.amount":
        more |= {"type": str, "metavar": "AMOUNT"}
    group.add_argument(option_of(field), **more)


def _help(field: Field) -> str:
    text = field.help.rstrip(".")
    if 0 < len(field.choices) <= 8 and field.kind not in ("level", "integer"):
        text += ": " + ", ".join(str(choice) for choice in field.choices)
    elif field.example is not None and isinstance(field.example, str):
        text += f": such as {field.example}"
    if field.kind in ("choices", "cards", "vendors", "frameworks", "prices"):
        text += "; may be repeated"
    return (text[0].lower() + text[1:] if text[1:2].islower() else text).replace("%", "%%")


def _number(text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def body_of(options: argparse.Namespace, fields: Collection[Field] = FIELDS) -> Body:
    """The request body that the flags stand for."""
    body: Body = _from_file(options.request) if options.request else {}
    given = vars(options)
    for field in fields:
        value = given.get(field.place)
        if value is not None and not field.place.startswith(_MODEL):
            _put_field(body, field, value)
    _put_model(body, options)
    for part in getattr(options, "offload", []):
        name, stated, value = part.partition("=")
        _put(body, f"workload.offload.{name.strip()}", _switch(value) if stated else True)
    return body


def _put_field(body: Body, field: Field, value: Any) -> None:
    option = option_of(field)
    if field.place == "budget.amount":
        match = _MONEY.fullmatch(value)
        if match is None:
            raise CommandFailure(f"--budget {value}: give 100000 or 15000USD", EXIT_INPUT)
        _put(body, "budget.amount", float(match[1]))
        _put(body, "budget.currency", (match[2] or "CNY").upper())
        return
    match field.kind:
        case "answer" | "level":
            value = _WORDS.get(value, value)
        case "counts":
            value = [_plain_number(part, option) for part in value.split(",")]
        case "size":
            sides = _SIDES.fullmatch(value.strip())
            if sides is None:
                raise CommandFailure(f"{option} {value}: give 224 or 800x1333", EXIT_INPUT)
            value = [int(sides[1]), int(sides[2])] if sides[2] else int(sides[1])
        case "prices":
            pairs = [pair.partition("=") for pair in value]
            value = {name: _plain_number(amount, option) for name, _, amount in pairs}
            value = {**body.get("price_overrides", {}), **value}
    _put(body, field.place, value)


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


def _put(body: Body, place: str, value: Any) -> None:
    *parents, last = place.split(".")
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
