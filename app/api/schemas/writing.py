"""Bodies of the writing routes, made from the columns that imports know: one list for both."""

from __future__ import annotations

from app.core import engines
from app.core.answer import Schema
from app.errors import PROBLEM_MEDIA_TYPE, Problem
from app.services.imports import ImportAnswer, columns_of

FORBIDDEN: dict[int | str, Schema] = {
    403: {
        "model": Problem,
        "content": {PROBLEM_MEDIA_TYPE: {}},
        "description": "The key lacks the scope",
    }
}
CREATED: Schema = {
    "status_code": 201,
    "response_model": ImportAnswer,
    "responses": {
        200: {"model": ImportAnswer, "description": "Nothing new: dry run, or all of it was there already"},
        401: {
            "model": Problem,
            "content": {PROBLEM_MEDIA_TYPE: {}},
            "description": "No key that counts was sent",
        },
        422: {
            "model": Problem,
            "content": {PROBLEM_MEDIA_TYPE: {}},
            "description": "Rows at fault by pointer, such as /items/3/amount; nothing was stored",
        },
        **FORBIDDEN,
    },
}
_TYPES: dict[str, Schema] = {
    "number": {"type": ["number", "string"]},
    "count": {"type": ["number", "string"]},
    "money": {"type": ["number", "string"]},
    "fraction": {"type": ["number", "string"]},
    "integer": {"type": ["integer", "string"]},
    "days": {"type": ["integer", "string"]},
    "months": {"type": ["integer", "string"]},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "description": "YYYY-MM-DD, YYYY-MM or YYYY"},
    "json": {"type": "object"},
}
EXAMPLES: dict[str, Schema] = {
    "prices": {
        "gpu": "rtx4090",
        "condition": "new",
        "amount": 16999,
        "currency": "CNY",
        "tax": "included",
        "region": "CN",
        "channel": "JD",
        "channel_kind": "retail",
        "observed_on": "2026-11-28",
        "source": {"title": "JD, own shop", "url": "https://item.jd.com/1"},
    },
    "rentals": {
        "gpu": "rtx4090",
        "provider": "AutoDL",
        "gpu_count": 1,
        "per_gpu_hour": 2.08,
        "currency": "CNY",
        "region": "CN",
        "observed_on": "2026-11-28",
        "source": "https://www.autodl.com/",
    },
    "rates": {
        "base": "USD",
        "quote": "CNY",
        "rate": 6.74,
        "observed_on": "2026-11-28",
        "kind": "daily",
        "source": "China Foreign Exchange Trade System",
    },
    "engine_support": {
        "engine": engines.chosen_for("decoder").name,
        "plugin": "vllm-ascend",
        "engine_version": "0.11",
        "hardware": "id=ascend-910b*",
        "vendor": "Huawei",
        "formats": "bf16 fp16",
        "feature": "weight format",
        "feature_kind": "format",
        "status": "plugin",
        "dated": "2026-08-22",
        "source": {"title": "vllm-ascend: Supported Models", "url": "https://example.org/supported"},
    },
    "benchmarks": {
        "gpu": "rtx4090",
        "gpu_count": 1,
        "model": "llama-3.1-8b",
        "task": "inference",
        "phase": "decode",
        "precision": "fp16",
        "value": 52.5,
        "unit": "tokens_per_s",
        "framework": "vLLM",
        "observed_on": "2026-11-28",
        "own": True,
        "source": "Measured by the team",
    },
    "quotes": {
        "supplier": "Example Technology Co., Ltd.",
        "gpu": "rtx4090",
        "item": "NVIDIA GeForce RTX 4090 24GB",
        "quantity": 8,
        "unit_price": 17200,
        "currency": "CNY",
        "tax": "included",
        "tax_rate": 0.13,
        "invoice": "special",
        "condition": "new",
        "delivery_days": 7,
        "warranty_months": 36,
        "quoted_on": "2026-11-28",
        "valid_until": "2026-12-12",
    },
    "gpus": {
        "id": "example-48gb",
        "name": "Example Accelerator 48GB",
        "vendor": "NVIDIA",
        "architecture": "Ada Lovelace",
        "segment": "workstation",
        "compute_capability": "8.9",
        "memory_gib": 48,
        "bandwidth_gb_s": 960,
        "bf16_tflops": 182.2,
        "tdp_w": 300,
        "as_of": "2026-11-28",
        "source": {"title": "Data sheet of the maker", "url": "https://example.com/accelerator-48gb"},
    },
    "models": {
        "id": "example-7b",
        "name": "Example 7B",
        "family": "decoder",
        "parameters": 7_240_000_000,
        "layers": 32,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "attention_heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "vocab_size": 32000,
        "as_of": "2026-11-28",
        "source": {"title": "config.json of the model", "url": "https://example.com/example-7b"},
    },
}


def body(kind: str) -> Schema:
    """The request body of a kind for the description of the API."""
    item = _item(kind)
    batch = {
        "type": "object",
        "required": ["items"],
        "additionalProperties": False,
        "properties": {"items": {"type": "array", "items": item, "minItems": 1, "maxItems": 10_000}},
    }
    example = EXAMPLES[kind]
    content = {
        "schema": {"anyOf": [batch, item]},
        "examples": {
            "single": {"summary": "One", "value": example},
            "batch": {"summary": "Several, all or none", "value": {"items": [example]}},
        },
    }
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def _item(kind: str) -> Schema:
    properties: Schema = {}
    required = []
    for column in columns_of(kind).columns:
        name = column.headers[0]
        schema = dict(_TYPES.get(column.reader or "", {"type": "string"}))
        if column.allowed:
            schema["enum"] = list(column.allowed)
        if column.note and "description" not in schema:
            schema["description"] = column.note
        properties[name] = schema
        if column.required:
            required.append(name)
    if "source" in properties:
        properties["source"] = {
            "description": "Id, address or title of the source; a new one is added.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {n: {"type": "string"} for n in ("id", "title", "url")},
                },
            ],
        }
    return {
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": properties,
    }


FILE_BODY: Schema = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": {
                "schema": {"type": "string", "format": "binary"}
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            },
        },
    }
}
COMPARE_BODY: Schema = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "ids": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Ids of quotes; empty for all that stand.",
                        },
                        "workload": {"$ref": "#/components/schemas/Workload"},
                    },
                },
                "examples": {
                    "all": {
                        "summary": "All quotes, for a model",
                        "value": {"workload": {"model": {"preset": "llama-3.1-8b"}, "task": "inference"}},
                    }
                },
            }
        },
    }
}
