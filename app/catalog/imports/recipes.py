"""How a measurement was run, as columns: read once from what its source wrote, when the row is stored.

The rules of seed_data/README.md, "How a measurement was run". Nothing else reads the meaning of these texts:
estimates take the columns. A stated column always counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.core.engines import engine, label_of
from app.core.engines.published import BY_LABEL
from app.core.formats import format_of, is_format

COLUMNS = (
    "software",
    "compiled",
    "checkpointing",
    "layout",
    "plan",
    "scenario",
    "method",
    "inferred_precision",
)
_COMPILED = re.compile(r"torch\.?compile|torchdynamo|inductor|, compile\b", re.IGNORECASE)
_XLA = re.compile(r"\bXLA\b(?!=(?:no|off|&cross))", re.IGNORECASE)
_LAST = re.compile(r"\bNHWC\b|channels[ _-]last", re.IGNORECASE)
_FIRST = re.compile(r"\bNCHW\b|channels[ _-]first", re.IGNORECASE)
_CHECKPOINTED = re.compile(r"\bact ckpt (True|False)\b")
_DEGREES = re.compile(r"\b(?:(?:TP|PP|DP|EP)\d+ ?)+")
_WIDE_EXPERTS = re.compile(r"\bDEP(\d+)\b")
_FULL = ("full finetune", " sft")
_FUSED_RECIPES = "/Classification/ConvNets/"
"""Recipes of NVIDIA DeepLearningExamples that train in half precision channels-last."""
_MLPERF_FP8 = ("h100", "h200", "h800", "gh200", "mi300")
"""Cards whose language results of rounds 4.0 and 4.1 ran in FP8 where no format is stated."""
_MLPERF_FORMATS = {"resnet-50": "int8"}
"""Image models whose submissions on tensor units all run one format: 37 to 50 % of the INT8 peak."""
_OLLAMA_FORMATS = {"llama-3.2-3b": "gguf-q4_k_m", "gpt-oss-20b": "mxfp4"}
"""Format behind the default tag of Ollama's library, which rows name the model by."""
_NARROW_HOST = "raspberry pi"
"""Cards on one PCIe lane of a single-board computer wait for it: no question asks for that host."""


def recipe_of(row: Mapping[str, Any], url: str) -> dict[str, str]:
    """Columns of COLUMNS that a row's texts tell, beside those that it states.

    Parameters
    ----------
    row: of the table, or its cells as texts. url: address of its source.

    Returns
    -------
    All of COLUMNS; empty where nothing says.
    """
    texts = {name: str(row.get(name) or "") for name in _READ}
    told = {
        "software": _software(texts),
        "compiled": _compiler(texts),
        "checkpointing": _checkpointing(texts["note"]),
        "layout": _layout(texts, url),
        "plan": _plan(texts["note"]),
        "scenario": "mlperf" if _mlperf(texts) else "",
        "method": _method(texts),
        "inferred_precision": "" if texts["precision"] else _inferred_precision(texts),
    }
    return {name: str(row.get(name) or told[name]) for name in COLUMNS}


_READ = ("gpu_id", "model_id", "model_as_written", "task", "precision", "framework", "observed_on", "note")


def _mlperf(texts: Mapping[str, str]) -> bool:
    return "mlperf" in texts["model_as_written"].lower()


def _software(texts: Mapping[str, str]) -> str:
    """Age of the software where the stack or the date of an engine's row tells it."""
    label = label_of(texts["framework"])
    if not label or label in BY_LABEL:
        # A stack of published rows has one age, which its record states.
        return ""
    since = engine(label).rows.new_since
    return "new" if since and texts["observed_on"] >= since else ""


def _compiler(texts: Mapping[str, str]) -> str:
    if _COMPILED.search(f"{texts['framework']}, {texts['note']}"):
        return "torch.compile"
    return "xla" if _XLA.search(texts["note"]) else ""


def _checkpointing(note: str) -> str:
    found = _CHECKPOINTED.search(note)
    return {"True": "full", "False": "none"}[found.group(1)] if found else ""


def _layout(texts: Mapping[str, str], url: str) -> str:
    if _LAST.search(texts["note"]):
        return "channels_last"
    if _FIRST.search(texts["note"]):
        return "channels_first"
    precision = texts["precision"]
    half = is_format(precision) and format_of(precision).speed_group == "half"
    return "channels_last" if texts["task"] == "training" and half and _FUSED_RECIPES in url else ""


def _plan(note: str) -> str:
    """Degrees as "tp4 pp2 dp2 ep8"; DEPn is attention in n replicas, the experts spread over all of them."""
    wide = _WIDE_EXPERTS.search(note)
    if wide:
        return f"dp{wide.group(1)} ep{wide.group(1)}"
    found = _DEGREES.search(note)
    return " ".join(re.findall(r"[tpde]p\d+", found.group().lower())) if found else ""


def _method(texts: Mapping[str, str]) -> str:
    """How weights are trained: by an adapter that the model's text names, or in full fine-tuning."""
    name = texts["model_as_written"].lower()
    if texts["task"] == "inference":
        return ""
    if "lora" in name:
        return "qlora" if "qlora" in name else "lora"
    return "full" if any(word in name for word in _FULL) else ""


def _inferred_precision(texts: Mapping[str, str]) -> str:
    """The format that field practice fixes where a source states none."""
    if _mlperf(texts):
        language = "fp8" if texts["gpu_id"].startswith(_MLPERF_FP8) else ""
        return _MLPERF_FORMATS.get(texts["model_id"], language)
    if "ollama" in texts["framework"].lower() and _NARROW_HOST not in texts["note"].lower():
        return _OLLAMA_FORMATS.get(texts["model_id"], "")
    return ""
