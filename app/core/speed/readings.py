"""How each constant of language-model speed was read, and how many fitted rows speak of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.core.engines import engine
from app.core.engines.record import EngineSpeed
from app.core.formats import Format, format_of
from app.core.gpu_table import CARD_CLASSES, GpuTable
from app.core.speed import constants as c
from app.core.speed.rows import Observed, group_of
from app.core.speed.splits import is_fitted

FITTED = "fitted"
"""Least mean |ln(measured / model)| over the rows of the fitted half that it touches, then rounded."""
PUBLISHED = "published"
"""Read from the pages named; rows of the catalogue, if any, only agree."""
ASSUMED = "assumed"

SERVING_PAGES = (
    "https://github.com/gpustack/gpustack/tree/main/docs/performance-lab",
    "https://buildkite.com/vllm/performance-benchmark/builds/9515",
    "https://docs.nvidia.com/nim/benchmarking/llm/1.0.0/performance.md",
)
"""vLLM 0.11, SGLang 0.5 and TensorRT-LLM 1.2 on A100, H100, H200 and 910B, read 2026-11-30."""
H20_FINDINGS = (
    "Qwen3 documentation, speed of SGLang on an H20: shares of 4.0 TB/s by precision, second hand",
)
"""From the findings of the reference data, not from the page itself."""

OLD_PAGES = ("sh1ng, llm-perf-bench: https://github.com/sh1ng/llm-perf-bench",)
ASCEND_PAGES = ("Llama 2 7B in Transformers on an Ascend 910B: blog.csdn.net, read 2026-11-30",)
RDNA_PAGES = (
    "Mistral 7B llamafile on an RX 7900 XTX: huggingface.co/Mozilla/Mistral-7B-Instruct-v0.3-llamafile",
)
H20_PRODUCTS = ("Community table of PyTorch matrix products: H20 142 of 148 TFLOPS; reference data",)


@dataclass(frozen=True, slots=True)
class Reading:
    """One constant: which rows of which class speak of it."""

    constant: str
    """Name in `constants`, with the key of a table after a dot."""
    group: str
    """Class whose rows it touches."""
    method: str
    sources: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    """Engine labels of the rows; empty: all."""
    precisions: tuple[str, ...] = ()
    card_class: str = ""
    kind: str = ""
    """Special case of the class: decode_moe, moe_training …"""
    several: bool = False
    """Rows of several cards alone."""
    cards: tuple[str, ...] = ()
    """Beginnings of card ids; empty: all."""
    models: tuple[str, ...] = ()
    """Beginnings of model ids; empty: all."""

    @property
    def value(self) -> float:
        """The constant as it stands."""
        name, _, key = self.constant.partition(".")
        if name in _OF_ENGINES:
            return _OF_ENGINES[name](engine(key).speed)
        if name in _OF_FORMATS:
            return _OF_FORMATS[name](format_of(key))
        found = getattr(c, name)
        if isinstance(found, np.ndarray):
            return float(found[CARD_CLASSES.index(key)])
        return float(found[key] if key else found)

    def touches(self, found: Observed, i: int, card_class: str) -> bool:
        """Whether one row of its class speaks of it."""
        labels = found.labels
        return (
            (not self.engines or labels["engine"][i] in self.engines)
            and (not self.precisions or labels["precision"][i] in self.precisions)
            and (not self.card_class or card_class == self.card_class)
            and (not self.kind or found.kinds[i] == self.kind)
            and (not self.several or found.rows[i].gpu_count > 1)
            and (not self.cards or labels["card"][i].startswith(self.cards))
            and (not self.models or labels["model"][i].startswith(self.models))
        )


_OF_ENGINES: Mapping[str, Callable[[EngineSpeed], float]] = {
    "ENGINE_LAYER_S": lambda speed: speed.layer_s.usual,
    "NEW_ENGINE_LAYER_S": lambda speed: speed.layer_s.new,
    "OLD_ENGINE_LAYER_S": lambda speed: speed.layer_s.old,
    "ENGINE_SEQUENCE_S": lambda speed: speed.sequence_s,
    "NARROW_LAYER_SHARE": lambda speed: speed.narrow_layer_share,
    "SERVING_SHARE": lambda speed: speed.serving_share,
    "ATTENTION_COST": lambda speed: speed.attention_cost,
}
"""Constants that stand in the records of engines; the key is the engine's name."""
_OF_FORMATS: Mapping[str, Callable[[Format], float]] = {"DEQUANTIZE_BYTES": lambda fmt: fmt.dequantize_bytes}
"""The same of number formats."""
_TUNED = ("tensorrt-llm", "vendor")
_SERVERS = ("vllm", "sglang")
_OLLAMA = ("llama-3.2-3b", "gpt-oss-20b")
_MIXTURES = ("mixtral", "deepseek", "gpt-oss", "qwen3-30b-a3b", "qwen3-235b-a22b")
READINGS: tuple[Reading, ...] = (
    Reading("PREFILL_NARROW_SHARE.fp8", "serving", FITTED, engines=_TUNED, precisions=("fp8",)),
    Reading("PREFILL_NARROW_SHARE.fp4", "serving", FITTED, engines=_TUNED, precisions=("nvfp4", "mxfp4")),
    Reading("PREFILL_WIDTH_EXPONENT", "serving", FITTED, engines=_TUNED),
    Reading("PREFILL_SHARE.hopper", "serving", FITTED, engines=_TUNED, card_class="hopper"),
    Reading("PREFILL_SHARE.blackwell_dc", "serving", FITTED, engines=_TUNED, card_class="blackwell_dc"),
    Reading("PREFILL_SHARE.blackwell_pro", "serving", FITTED, engines=_TUNED, card_class="blackwell_pro"),
    Reading("PREFILL_SHARE.cdna", "serving", FITTED, engines=_TUNED, card_class="cdna"),
    Reading("MOE_PREFILL_SHARE", "serving", FITTED, engines=_TUNED, models=_MIXTURES),
    Reading("SERVING_ORDER", "serving", FITTED, engines=_TUNED),
    Reading(
        "PIPELINE_LOSS",
        "serving",
        FITTED,
        engines=("tensorrt-llm",),
        card_class="blackwell_pro",
        several=True,
        models=("llama-3.3-70b",),
    ),
    Reading("SERVING_SHARE.tensorrt-llm", "serving", FITTED, engines=("tensorrt-llm",)),
    Reading("SERVING_SHARE.vllm", "serving", PUBLISHED, SERVING_PAGES, engines=_SERVERS),
    Reading("SERVING_RESERVED_GIB.dense", "serving", PUBLISHED, SERVING_PAGES, engines=_SERVERS),
    Reading("ENGINE_SEQUENCE_S.vllm", "decode", PUBLISHED, SERVING_PAGES, engines=("vllm",)),
    Reading("ENGINE_SEQUENCE_S.sglang", "decode", PUBLISHED, SERVING_PAGES, engines=("sglang",)),
    Reading("ENGINE_LAYER_S.vllm", "decode", PUBLISHED, SERVING_PAGES, engines=("vllm",)),
    Reading("ENGINE_LAYER_S.sglang", "decode", PUBLISHED, SERVING_PAGES, engines=("sglang",)),
    Reading("ENGINE_LAYER_S.tensorrt-llm", "decode", PUBLISHED, SERVING_PAGES, engines=("tensorrt-llm",)),
    Reading("ENGINE_LAYER_S.llama.cpp", "decode", FITTED, engines=("llama.cpp",)),
    Reading("NEW_ENGINE_LAYER_S.llama.cpp", "decode", FITTED, engines=("llama.cpp",), models=_OLLAMA),
    Reading("OLD_ENGINE_LAYER_S.vllm", "decode", PUBLISHED, OLD_PAGES, engines=("vllm",)),
    Reading("EAGER_LAUNCH_FACTOR_MOST", "decode", PUBLISHED, ASCEND_PAGES, card_class="ascend"),
    Reading("PREFILL_LLAMA_CPP.rdna", "prefill", PUBLISHED, RDNA_PAGES, card_class="rdna"),
    Reading("MOE_LAYER_SHARE", "decode", PUBLISHED, SERVING_PAGES, engines=_SERVERS, kind="decode_moe"),
    Reading("NARROW_LAYER_SHARE.vllm", "decode", PUBLISHED, SERVING_PAGES, _SERVERS, ("fp8",)),
    Reading("REFERENCE_EXPERT_S", "decode", ASSUMED, engines=("transformers",), kind="decode_moe"),
    Reading(
        "LATENT_LAYER_SHARE",
        "decode",
        PUBLISHED,
        SERVING_PAGES,
        engines=_SERVERS,
        kind="decode_moe",
    ),
    Reading("HOPPER_RATIO_EXPONENT.half", "decode", PUBLISHED, SERVING_PAGES + H20_FINDINGS, _SERVERS),
    Reading("HOPPER_RATIO_EXPONENT.narrow", "decode", PUBLISHED, H20_FINDINGS, _SERVERS, ("fp8",)),
    Reading("HOPPER_RATIO_EXPONENT.widened", "decode", PUBLISHED, H20_FINDINGS, _SERVERS, ("awq", "gptq")),
    Reading("HOPPER_STARVED_EXPONENT", "serving", FITTED, engines=_TUNED, cards=("h100-nvl", "h100-pcie")),
    Reading("HOPPER_FED_EXPONENT", "serving", PUBLISHED, H20_PRODUCTS, cards=("h20-",)),
    Reading("TENSOR_WAIT_LINK_S", "decode", PUBLISHED, SERVING_PAGES, engines=_SERVERS, several=True),
    Reading("TENSOR_WAIT_PCIE_S", "decode", ASSUMED, engines=_SERVERS, several=True),
    Reading("LAUNCH_FACTOR.ascend", "decode", PUBLISHED, SERVING_PAGES, card_class="ascend"),
    Reading("WIDENED_PREFILL_SHARE", "serving", PUBLISHED, SERVING_PAGES, precisions=("awq", "gptq", "int4")),
    Reading(
        "QUANTIZED_KERNEL_SHARE.weight_only",
        "decode",
        FITTED,
        engines=("mlc-llm", "exllamav2"),
        precisions=("gptq", "int4", "awq"),
    ),
    *(
        Reading(f"DECODE_BANDWIDTH_SHARE.{name}", "decode", FITTED, engines=("llama.cpp",), card_class=name)
        for name in (
            "ampere_geforce",
            "ampere_pro",
            "ada_geforce",
            "ada_pro",
            "ampere_dc",
            "hopper",
            "pascal",
        )
    ),
    *(
        Reading(f"PREFILL_LLAMA_CPP.{name}", "prefill", FITTED, engines=("llama.cpp",), card_class=name)
        for name in (
            "ampere_geforce",
            "ampere_pro",
            "ada_geforce",
            "ada_pro",
            "ampere_dc",
            "hopper",
            "pascal",
        )
    ),
    Reading("ATTENTION_COST.llama.cpp", "prefill", FITTED, engines=("llama.cpp",)),
    *(
        Reading(f"DECODER_MFU.{name}", "decoder_training", FITTED, card_class=name)
        for name in ("ampere_dc", "hopper", "blackwell_dc", "ascend")
    ),
    Reading("MFU_WIDTH_EXPONENT", "decoder_training", FITTED),
    Reading("DECODER_FP8_SHARE", "decoder_training", FITTED, precisions=("fp8",)),
    Reading("MOE_SHARE", "decoder_training", FITTED, kind="moe_training"),
    Reading("LORA_SHARE", "lora", FITTED, kind="lora"),
    Reading("QLORA_SHARE", "lora", FITTED, kind="qlora"),
    Reading("ADAPTER_LAYER_S", "lora", FITTED),
    Reading("DEQUANTIZE_BYTES.gptq", "lora", FITTED, precisions=("gptq",)),
)


@dataclass(frozen=True, slots=True)
class Counted:
    """A reading with the fitted rows behind it."""

    reading: Reading
    rows: int


def counted(
    found: Observed, table: GpuTable, position: Mapping[str, int], readings: Sequence[Reading] = READINGS
) -> tuple[Counted, ...]:
    """How many rows of the fitted half speak of each constant.

    Parameters
    ----------
    found: every expressed row. table, position: the cards. readings: of READINGS.

    Returns
    -------
    One entry per reading, in its order.
    """
    classes = [CARD_CLASSES[table.card_class[position[row.gpu_id]]] for row in found.rows]
    by_group: dict[str, list[int]] = {}
    for i, (row, kind) in enumerate(zip(found.rows, found.kinds, strict=True)):
        if is_fitted(row.id):
            by_group.setdefault(group_of(kind), []).append(i)

    def rows_of(reading: Reading) -> int:
        return sum(reading.touches(found, i, classes[i]) for i in by_group.get(reading.group, ()))

    return tuple(Counted(reading, rows_of(reading)) for reading in readings)
