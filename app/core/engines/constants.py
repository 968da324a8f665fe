"""Calibrated constants that engines are made of; a key is the engine, its age where it matters, or a kind.

"eager" launches from Python; "default" is what an engine takes without measurements of its own.
"""

from __future__ import annotations

import importlib
import sys

from app.core.calibration import CountBy, FactorBy, SecondsBy, fill

LAYER_S: SecondsBy
"""Launches of one dense layer in a decode step. Old vLLM and SGLang: before graphs of launches (vLLM 0.2.7,
January 2024); Llama 2 70B over two and four A100 PCIe, 15 and 18 tokens/s. New llama.cpp replays graphs."""
STEP_S: SecondsBy
SEQUENCE_S: SecondsBy
NARROW_LAYER_SHARE: FactorBy
PREFILL_FACTOR: FactorBy
ATTENTION_COST: FactorBy
SERVING_SHARE: FactorBy
"""Engines out of the box under chat traffic, over tuned runs of fixed lengths: ragged lengths, preemption."""
SATURATED_SEQUENCES: CountBy
SPEECH_LAYER_S: SecondsBy
SPEECH_BEAMS: CountBy

fill(
    "engines",
    sys.modules[__name__],
    refresh=lambda _: importlib.import_module("app.core.engines").read_again(),
)
