"""What the files of a model say of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from app.api.answers import json_response
from app.api.context import Lang, language_of
from app.api.problems import documented
from app.api.route import CalculationRoute
from app.core import formats
from app.core.answer import Schema
from app.services.model_reading import ModelRead, model_read

router = APIRouter(tags=["calculations"], route_class=CalculationRoute)

EXAMPLE: Schema = {
    "name": "Qwen3-8B",
    "config": {
        "model_type": "qwen3",
        "num_hidden_layers": 36,
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
    },
}
_OBJECT: Schema = {"type": "object", "additionalProperties": True}
_BODY: Schema = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "config": {**_OBJECT, "description": "A Hugging Face config.json."},
                    "index": {
                        **_OBJECT,
                        "description": "model.safetensors.index.json, or the header of a .safetensors file.",
                    },
                    "gguf": {
                        "type": "string",
                        "contentEncoding": "base64",
                        "description": "First bytes of a .gguf: 1 MB has its dimensions, 8 MB have all.",
                    },
                    "name": {"type": "string", "description": "Its name: a size in it is checked."},
                    "parameters": {"type": "number", "description": "Its stated size, to be checked."},
                    "kv_precision": {"enum": list(formats.kv_names()), "description": "16 bit unless asked."},
                },
            },
            "example": EXAMPLE,
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}


@router.post(
    "/models/read",
    summary="What a config.json, an index of weights or a .gguf says of a model",
    response_model=ModelRead,
    responses=documented(422, 429),
    openapi_extra={"requestBody": _BODY},
)
async def read_model_file(request: Request, lang: Lang = None) -> Response:
    """Parameters, cache, state, weights as loaded, and what is in doubt. A file may be the whole body."""
    del lang
    body = await request.body()
    found: Any = await run_in_threadpool(model_read, body)
    return json_response(found, language=language_of(request))
