"""Examples of bodies, shown in the documentation and sent by a test."""

from __future__ import annotations

from fastapi.openapi.models import Example

from app.core.answer import Schema

LLAMA_INFERENCE: Schema = {
    "model": {"preset": "llama-3.1-8b"},
    "task": "inference",
    "precision": "bf16",
    "batch_size": 16,
    "sequence_length": 8192,
}
BERT_TRAINING: Schema = {
    "model": {"preset": "bert-large-uncased"},
    "task": "training",
    "precision": "fp32",
    "batch_size": 32,
    "sequence_length": 128,
}
SIZE_ONLY: Schema = {
    "model": {"family": "decoder", "parameters": 7e9},
    "task": "qlora",
    "precision": "nf4",
    "batch_size": 1,
    "sequence_length": 2048,
}


def _example(summary: str, value: Schema) -> Example:
    return Example(summary=summary, value=value)


MEMORY = {
    "inference": _example("A language model served to 16 requests", {"workload": LLAMA_INFERENCE}),
    "training": _example("BERT-Large trained in FP32", {"workload": BERT_TRAINING}),
    "size_only": _example("Only the size is known", {"workload": SIZE_ONLY}),
}
FIT = {
    "one_card": _example("On one RTX 4090", {"workload": LLAMA_INFERENCE, "gpu": "rtx4090", "count": 1}),
    "training": _example("Training on one RTX 3090", {"workload": BERT_TRAINING, "gpu": "rtx3090"}),
}
SPEED = {
    "two_cards": _example("On two L20", {"workload": LLAMA_INFERENCE, "gpu": "l20", "count": 2}),
    "training": _example("Training on one RTX 3090", {"workload": BERT_TRAINING, "gpu": "rtx3090"}),
}
SHORTLIST = {
    "cheapest": _example(
        "Lowest total cost for a month's work, inside a budget",
        {
            "workload": LLAMA_INFERENCE,
            "counts": [1, 2, 4, 8],
            "budget": {"amount": 100000, "currency": "CNY"},
            "work": {"amount": 2e8, "unit": "tokens"},
            "as_of": "2026-11-30",
        },
    ),
    "own_price": _example(
        "Best TFLOPS per yuan at one's own prices",
        {
            "workload": BERT_TRAINING,
            "objective": "tflops_per_yuan",
            "price_overrides": {"rtx3090": 6500},
            "filters": {"vendors": ["NVIDIA"], "max_count": 2},
        },
    ),
}
COMPARISON_BODY: Schema = {
    "title": "Llama for the helpdesk",
    "workload": LLAMA_INFERENCE,
    "as_of": "2026-11-30",
}
COMPARISON = {"frozen": _example("Freeze a decision", COMPARISON_BODY)}
