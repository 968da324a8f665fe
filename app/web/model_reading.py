"""A model from its own files: what a config.json, an index or the beginning of a .gguf says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.core.faults import InputFault
from app.core.formats import USUAL
from app.core.model.reading import ModelFile, Reading, read_model
from app.services.model_reading import file_of, joined
from app.texts.say import say_fault
from app.web.answers import open_page
from app.web.uploads import Upload, in_thread, read_upload

router = APIRouter()

PATH = "/models/read"
SECTION = "/models"
MAX_ADDRESS = 12_000
"""Characters of a model that an address carries; browsers and servers take some more."""
MAX_VALUES = 2_100
MAX_TEXT = 300
_LISTED = 12
"""Longest list of modules that goes into an address; longer ones are in the bytes of the weights."""


@router.get(PATH)
def reading_form(request: Request) -> Response:
    """The form for the files."""
    page, _snapshot, _words = open_page(request)
    return page.render("models_read.html", SECTION, found=None, problem="", link="", name="")


@router.post(PATH)
async def read_files(request: Request) -> Response:
    """What the files say, and the way to calculate with it."""
    upload = await read_upload(request)
    return await in_thread(_answer, request, upload)


def _answer(request: Request, upload: Upload) -> Response:
    page, _snapshot, words = open_page(request)
    name = upload.text("name")
    try:
        sent = joined([file_of(content) for _name, content in upload.tables], name)
        found = read_model(sent)
    except InputFault as fault:
        error = fault.errors[0]
        where = error.pointer.removeprefix("/config").lstrip("/").replace("/", ".")
        said = say_fault(error, page.language)
        problem = f"{where}: {said}" if where else said
        return page.render("models_read.html", SECTION, 422, found=None, problem=problem, link="", name=name)
    return page.render(
        "models_read.html",
        SECTION,
        found=found,
        warnings=[words.say(w) for w in found.warnings],
        problem="",
        link=_link(sent, found),
        name=name or (found.model.name if found.model else ""),
    )


def _link(sent: ModelFile, found: Reading) -> str:
    """The calculator with this model; empty where an address does not carry it."""
    model = _described(sent, found)
    if model is None:
        return ""
    text = json.dumps(model, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text) > MAX_ADDRESS:
        return ""
    asked = {"config": text}
    if found.precision != USUAL:
        asked |= {"precision": found.precision, "weights_gib": f"{found.weight_gib:.3f}"}
    return "/?" + urlencode(asked)


def _described(sent: ModelFile, found: Reading) -> Any:
    """The model as the form takes it: its config without what no reader uses, or its dimensions."""
    if sent.config is not None:
        return pruned(sent.config)
    model = found.model
    if model is None:
        return None
    described = {
        name: getattr(model, name)
        for name in (
            "family",
            "name",
            "parameters",
            "layers",
            "hidden_size",
            "intermediate_size",
            "attention_heads",
            "kv_heads",
            "head_dim",
            "vocab_size",
            "sliding_window",
            "full_attention_layers",
            "linear_attention_layers",
            "experts",
            "experts_per_token",
            "expert_intermediate_size",
            "kv_lora_rank",
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "v_head_dim",
        )
    }
    if model.is_moe:
        described["active_parameters"] = model.active_parameters
    return {k: v for k, v in described.items() if v not in (0, None, "", ()) or k == "full_attention_layers"}


def pruned(value: Any, depth: int = 0) -> Any:
    """A config without long texts and lists, nulls and numbers that are none."""
    if isinstance(value, Mapping):
        kept = {str(k)[:100]: pruned(v, depth + 1) for k, v in list(value.items())[:400]} if depth < 8 else {}
        return {k: v for k, v in kept.items() if v is not None}
    if isinstance(value, list | tuple):
        limit = _LISTED if value and isinstance(value[0], str) and "." in value[0] else MAX_VALUES
        return (
            None
            if len(value) > limit
            else [v for v in (pruned(v, depth + 1) for v in value) if v is not None]
        )
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else None
    if isinstance(value, float) and not abs(value) < 1e300:
        return None
    return value
