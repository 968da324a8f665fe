"""Words for the codes of the contract, one table for labels and sentences; short names of cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from app.core import engines, formats
from app.core.question_fields import FIELDS
from app.texts.marking import N_


class Pair(NamedTuple):
    """A word that reads differently as a label and inside a sentence."""

    label: str
    sentence: str


COVERAGE = {
    "fresh": N_("yuan price, 90 days at most"),
    "ageing": N_("yuan price, 91 to 180 days"),
    "old": N_("yuan price, older than 180 days"),
    "foreign": N_("foreign price only"),
    "launch": N_("launch price only"),
    "none": N_("no price"),
}


VERDICT = {"fits": N_("fits"), "tight": N_("tight"), "does_not_fit": N_("does not fit")}
BASIS = {
    "exact": N_("exact"),
    "measured": N_("measured"),
    "calibrated": N_("calibrated"),
    "derived": N_("derived"),
    "assumed": N_("assumed"),
}
BASIS_MEANING = {
    "exact": N_("follows from a definition or a first-hand document"),
    "measured": N_("measured on this card with this model and precision"),
    "calibrated": N_("a formula with a factor measured in the same class"),
    "derived": N_("from a formula alone, with a wider interval"),
    "assumed": N_("a default, or what you entered"),
}
TASK: dict[str, str | Pair] = {
    "inference": Pair(N_("Inference"), N_("inference")),
    "lora": N_("LoRA"),
    "qlora": N_("QLoRA"),
    "training": Pair(N_("Full training"), N_("full training")),
    "finetune": Pair(N_("Fine-tuning"), N_("fine-tuning")),
}
HOST = {"own": N_("already there"), "new": N_("bought with the cards")}
HOST_CLASS = {
    "": N_("machine"),
    "desktop-1": N_("desktop for one card"),
    "desktop-2": N_("desktop for two cards"),
    "workstation-4": N_("workstation for four cards"),
    "pcie-server-8": N_("PCIe server for eight cards"),
    "module-server-8": N_("server with an eight-module baseboard"),
}
CONDITION = {
    "new": N_("new"),
    "used": N_("used"),
    "refurbished": N_("refurbished"),
    "modded": N_("modified"),
    "rented": N_("rented"),
}
ACQUISITION = {
    "buy": N_("buy"),
    "rent_on_demand": N_("rent by the hour"),
    "rent_monthly": N_("rent by the month"),
}
FAMILY: dict[str, str | Pair] = {
    "decoder": Pair(N_("Language model"), N_("language model")),
    "encoder": Pair(N_("Text encoder (BERT …)"), N_("text encoder")),
    "encoder-decoder": Pair(N_("Encoder-decoder (T5 …)"), N_("encoder-decoder")),
    "vision": Pair(N_("Vision"), N_("vision model")),
    "diffusion": Pair(N_("Image generation"), N_("image generator")),
    "speech": Pair(N_("Speech"), N_("speech model")),
}
PART: dict[str, str | Pair] = {
    "weights": Pair(N_("Weights"), N_("weights")),
    "gradients": Pair(N_("Gradients"), N_("gradients")),
    "optimizer": Pair(N_("Optimizer states"), N_("optimizer states")),
    "activations": Pair(N_("Activations"), N_("activations")),
    "logits": Pair(N_("Logits"), N_("logits")),
    "kv_cache": N_("KV cache"),
    "adapter": Pair(N_("Adapter"), N_("adapter")),
    "engine": Pair(N_("Engine, CUDA graphs"), N_("engine")),
    "context": N_("CUDA context"),
    "communication": Pair(N_("Communication buffers"), N_("communication buffers")),
    "fragmentation": Pair(N_("Fragmentation"), N_("fragmentation")),
}
OBJECTIVE: dict[str, str | Pair] = {
    "total_cost": Pair(N_("Total cost"), N_("total cost")),
    "purchase": Pair(N_("Purchase"), N_("purchase price")),
    "tflops_per_yuan": Pair(N_("TFLOPS/¥"), N_("sustained TFLOPS per yuan")),
    "speed": Pair(N_("Fastest"), N_("speed")),
    "power": Pair(N_("Power"), N_("power")),
}
OBJECTIVE_PHRASE = {
    "total_cost": N_("by total cost"),
    "purchase": N_("by purchase price"),
    "tflops_per_yuan": N_("by sustained TFLOPS per yuan"),
    "speed": N_("by speed"),
    "power": N_("by power"),
}
BOUND = {
    "compute": N_("compute"),
    "bandwidth": N_("memory bandwidth"),
    "memory": N_("memory bandwidth"),
    "communication": N_("communication between cards"),
    "launch": N_("launch overhead"),
    "feeding": N_("feeding data"),
    "measured": N_("measured as a whole"),
}
PHASE = {
    "training": N_("training"),
    "prefill": N_("prefill"),
    "decode": N_("decode"),
    "whole_run": N_("whole run"),
    "forward": N_("forward pass"),
}
SPEED_UNIT: dict[str, str | Pair] = {
    "tokens_per_s": Pair(N_("token/s"), N_("tokens/s")),
    "images_per_s": N_("images/s"),
    "samples_per_s": N_("samples/s"),
    "molecules_per_s": N_("molecules/s"),
    "frames_per_s": N_("frames/s"),
    "denoising_steps_per_s": N_("denoising steps/s"),
    "realtime_factor": Pair(N_("× real time"), N_("times real time")),
}
PER_UNIT: dict[str, str | Pair] = {
    "million_tokens": Pair(N_("M tokens"), N_("million tokens")),
    "thousand_samples": Pair(N_("1,000 samples"), N_("thousand samples")),
    "thousand_images": Pair(N_("1,000 images"), N_("thousand images")),
    "hour_of_audio": N_("hour of audio"),
}
WORK_UNIT: dict[str, str | Pair] = {
    "tokens": N_("tokens"),
    "samples": N_("samples"),
    "images": N_("images"),
    "epochs": N_("epochs"),
    "hours": Pair(N_("hours of work"), N_("hours")),
}
REJECTION = {
    "memory": N_("Memory"),
    "service": N_("Service"),
    "budget": N_("Budget"),
    "power": N_("Power"),
    "count": N_("Card count"),
    "vendor": N_("Vendor"),
    "framework": N_("Framework"),
    "os": N_("Operating system"),
    "support": N_("Software"),
    "feature": N_("Feature"),
    "precision": N_("Precision"),
    "availability": N_("Not sold here"),
    "unpriced": N_("Unpriced"),
    "evidence": N_("Only an estimate"),
    "stale_price": N_("Stale price"),
    "deadline": N_("Deadline"),
}
SUPPORT = {
    "official": N_("official"),
    "plugin": N_("plugin of the maker"),
    "experimental": N_("experimental"),
    "unsupported": N_("not supported"),
    "unknown": N_("not known"),
}
AVAILABILITY_RULE = {
    "sold": N_("only cards sold there"),
    "any": N_("any card"),
}
CHANNEL_KIND = {
    "provider": N_("price page of the provider"),
    "quote": N_("quote"),
    "override": N_("entered by you"),
    "launch": N_("launch price"),
    "observation": N_("observation"),
    "retail": N_("retail"),
    "diy": N_("DIY channel"),
    "listing": N_("mean of listings"),
    "listings_mean": N_("mean of listings"),
    "asking": N_("asking price"),
    "tender": N_("tender award"),
    "listings_lowest": N_("lowest listing"),
    "article": N_("article"),
    "server": N_("whole server"),
}
EVIDENCE = {
    "firm": N_("firm"),
    "current": N_("current"),
    "estimate": N_("estimate, ask for a quote"),
    "none": N_("no amount of today"),
    "any": N_("estimates too"),
}
PRICE_PER = {
    "gpu_hour": N_("per card and hour"),
    "card": N_("per card"),
    "server-8": N_("8-card server, host included"),
}
TAX = {"included": N_("tax included"), "excluded": N_("tax excluded"), "unknown": N_("tax unknown")}
CONTENDER = {
    "cheapest": N_("Cheapest"),
    "cheapest_new": N_("Cheapest new"),
    "rent": N_("Rented"),
    "fastest_for_money": N_("Most speed for the money"),
    "least_outlay": N_("Least on the day"),
}
FLIP = {
    "price": N_("Its own unit price"),
    "rival_price": N_("Price of the second"),
    "utilisation": N_("Utilisation"),
    "electricity": N_("Electricity"),
    "context": N_("Context each"),
    "months": N_("Term"),
    "work": N_("Amount of work"),
}
FIGURE = {
    "memory_gib": N_("Memory, nominal"),
    "driver_total_gib": N_("Memory, as the driver shows it"),
    "usable_gib": N_("Memory, usable"),
    "bandwidth_gb_s": N_("Memory bandwidth"),
    "fp64_tflops": N_("FP64"),
    "fp64_tensor_tflops": N_("FP64, tensor"),
    "fp32_tflops": N_("FP32, vector"),
    "tf32_tflops": N_("TF32, tensor (dense)"),
    "fp16_vector_tflops": N_("FP16, vector"),
    "fp16_tflops": N_("FP16, FP32 accumulate (dense)"),
    "bf16_tflops": N_("BF16, FP32 accumulate (dense)"),
    "fp16_fp16acc_tflops": N_("FP16, FP16 accumulate (dense)"),
    "fp8_tflops": N_("FP8, FP32 accumulate (dense)"),
    "fp8_fp16acc_tflops": N_("FP8, FP16 accumulate (dense)"),
    "int8_tops": N_("INT8 (dense)"),
    "int4_tops": N_("INT4 (dense)"),
    "fp4_tflops": N_("FP4 (dense)"),
    "tdp_w": N_("Power (TDP)"),
    "recommended_psu_w": N_("Power supply, recommended"),
    "link_gb_s": N_("Link, both directions"),
    "pcie_gen": N_("PCIe generation"),
    "pcie_lanes": N_("PCIe lanes"),
    "mig_instances": N_("MIG instances"),
    "l2_cache_mib": N_("L2 cache"),
    "last_level_cache_mib": N_("Last-level cache"),
    "boost_clock_mhz": N_("Boost clock"),
    "tensor_clock_mhz": N_("Tensor clock"),
    "sm_count": N_("SM or CU count"),
    "shader_cores": N_("Shader cores"),
    "tensor_cores": N_("Tensor cores"),
    "memory_bus_bits": N_("Memory bus"),
    "memory_rate_gbps": N_("Memory rate per pin"),
    "launch_msrp_usd": N_("Launch price, US dollars"),
    "launch_msrp_cny": N_("Launch price, yuan"),
}
ASSUMED_FIELD = {
    **{one.key: one.title or one.label for one in FIELDS},
    "model": N_("Model"),
    "parallelism": N_("Parallel plan"),
    "plan": N_("Parallel plan"),
    "dimensions": N_("Dimensions"),
    "denoising_steps": N_("Denoising steps"),
    "tokens_per_window": N_("Tokens per audio window"),
}
LOAD = {"batch": N_("batch"), "single": N_("one at a time"), "saturated": N_("saturated")}
SOFTWARE = {"new": N_("newest"), "usual": N_("usual"), "old": N_("old")}
LORA_TARGETS = {"all-linear": N_("all linear layers"), "attention": N_("attention only")}
LOGITS = {"full": N_("in full"), "chunked": N_("chunked")}
PADDING = {"padded": N_("padded"), "packed": N_("packed")}
RECIPE = {"mixed": N_("mixed precision"), "pure": N_("pure 16 bit"), "fp32": N_("FP32")}
REGION: dict[str, str | Pair] = {
    "CN": Pair(N_("Mainland China"), N_("mainland China")),
    "US": Pair(N_("United States"), N_("the United States")),
    "HK": N_("Hong Kong"),
    "TW": N_("Taiwan"),
    "EU": Pair(N_("European Union"), N_("the European Union")),
    "global": N_("worldwide"),
}

DETAIL = {
    "time_to_first_token_s": N_("Time to first token"),
    "time_per_output_token_s": N_("Time per output token"),
    "prefill_s": N_("Prefill"),
    "decode_s": N_("Decode"),
    "compute_s": N_("Compute"),
    "bandwidth_s": N_("Memory traffic"),
    "communication_s": N_("Communication"),
    "launch_s": N_("Launch overhead"),
    "feeding_s": N_("Feeding data"),
    "concurrent_sequences": N_("Sequences at a time"),
}
ECC = {
    "optional (off by default)": N_("optional, off by default"),
    "optional (off in the run read)": N_("optional, off where it was read"),
    "optional (inferred)": N_("optional, inferred from its kind"),
    "no": N_("without"),
    "no (inferred)": N_("without, inferred from its kind"),
    "yes": N_("native"),
    "yes (on)": N_("native, on"),
    "yes (inferred)": N_("native, inferred from its kind"),
}
CARD_LINK = {"none (PCIe only)": N_("without; PCIe only")}
BILLING = {
    "on-demand": N_("on demand"),
    "spot": N_("spot"),
    "monthly": N_("monthly"),
    "yearly": N_("yearly"),
}

SPEED_CLASS = {
    "cnn_training": N_("Image models, training"),
    "cnn_inference": N_("Image models, inference"),
    "cnn_inference_classifiers": N_("Image classifiers, inference"),
    "encoder_training": N_("Encoders, training"),
    "encoder_inference": N_("Encoders, inference"),
    "decoder_training": N_("Language models, training"),
    "moe_training": N_("Mixture of experts, training"),
    "lora": N_("LoRA"),
    "qlora": N_("QLoRA"),
    "decode": N_("Decode"),
    "decode_moe": N_("Decode, mixture of experts"),
    "prefill": N_("Prefill"),
    "serving": N_("Serving"),
    "diffusion": N_("Image generation"),
    "diffusion_training": N_("Image generation, training"),
    "speech": N_("Speech"),
    "all": N_("All classes"),
    "memory": N_("Memory"),
}
CONSTANT_METHOD = {
    "fitted": N_("fitted on the half that is not reported"),
    "published": N_("published pages"),
    "counted": N_("counted"),
    "assumed": N_("assumed"),
}
SPEED_SEEN = {
    "published_same_source": N_("measured by the same source"),
    "published_other_source": N_("measured by another source"),
    "card_unseen": N_("card never measured"),
    "model_unseen": N_("model never measured"),
    "neither_seen": N_("neither measured"),
    "source_unseen": N_("source never read"),
}

BOOLEAN = {"yes": N_("yes"), "no": N_("no")}
FORM_FACTOR = {
    "PCIe card": N_("PCIe card"),
    "SXM module": N_("SXM module"),
    "OAM module": N_("OAM module"),
    "superchip module": N_("superchip module"),
    "socket": N_("processor in a socket"),
    "mezzanine module": N_("mezzanine module"),
    "server board": N_("server board"),
    "integrated": N_("soldered to a small computer"),
    "laptop": N_("laptop part"),
    "cloud only": N_("cloud only"),
}
FEATURE = {"ecc": N_("ECC memory"), "mig": "MIG", "nvlink": "NVLink"}
SYSTEM = {"linux": "Linux", "windows": "Windows", "wsl2": "WSL2", "macos": "macOS"}
TIER = {
    "8": N_("8 GB"),
    "12-16": N_("12–16 GB"),
    "24": N_("24 GB"),
    "32-48": N_("32–48 GB"),
    "48": N_("48 GB"),
    "80": N_("80 GB"),
    "80-96": N_("80–96 GB"),
    "96-141": N_("96–141 GB"),
    "141-192": N_("141–192 GB"),
    "several": N_("several cards"),
}
QUESTION = {
    "parameters_over_10b": N_("over 10 billion parameters"),
    "run_over_24h": N_("runs over 24 hours"),
    "tenants": N_("several tenants"),
    "strict_sla": N_("strict service level"),
}

OPTIMIZER_NAMES = {
    "adamw": "AdamW",
    "adamw-8bit": "AdamW 8 bit",
    "adafactor": "Adafactor",
    "sgd": "SGD",
    "momentum": "SGD + momentum",
    "rmsprop": "RMSprop",
    "lion": "Lion",
    "galore": "GaLore",
}

KINDS: dict[str, Mapping[str, str | Pair]] = {
    "verdict": VERDICT,
    "basis": BASIS,
    "basis_meaning": BASIS_MEANING,
    "task": TASK,
    "condition": CONDITION,
    "host": HOST,
    "acquisition": ACQUISITION,
    "host_class": HOST_CLASS,
    "price_coverage": COVERAGE,
    "family": FAMILY,
    "part": PART,
    "objective": OBJECTIVE,
    "objective_phrase": OBJECTIVE_PHRASE,
    "bound": BOUND,
    "phase": PHASE,
    "speed_unit": SPEED_UNIT,
    "per_unit": PER_UNIT,
    "work_unit": WORK_UNIT,
    "unit": {**SPEED_UNIT, **PER_UNIT, **WORK_UNIT},
    "rejection": REJECTION,
    "channel_kind": CHANNEL_KIND,
    "evidence": EVIDENCE,
    "availability_rule": AVAILABILITY_RULE,
    "support": SUPPORT,
    "price_per": PRICE_PER,
    "tax": TAX,
    "flip": FLIP,
    "contender": CONTENDER,
    "figure": FIGURE,
    "assumed_field": ASSUMED_FIELD,
    "detail": DETAIL,
    "billing": BILLING,
    "ecc": ECC,
    "card_link": CARD_LINK,
    "load": LOAD,
    "software": SOFTWARE,
    "region": REGION,
    "lora_targets": LORA_TARGETS,
    "logits": LOGITS,
    "padding": PADDING,
    "recipe": RECIPE,
    "speed_class": SPEED_CLASS,
    "speed_seen": SPEED_SEEN,
    "constant_method": CONSTANT_METHOD,
    "boolean": BOOLEAN,
    "form_factor": FORM_FACTOR,
    "feature": FEATURE,
    "system": SYSTEM,
    "tier": TIER,
    "question": QUESTION,
    "optimizer": OPTIMIZER_NAMES,
}

Gettext = Callable[[str], str]


def label(kind: str, code: str, gettext: Gettext) -> str:
    """The word for a code as a heading or a cell has it; the code itself where no word is known."""
    if kind in _NAMES:
        return _NAMES[kind](code)
    word = KINDS[kind].get(code)
    return code if word is None else gettext(word.label if isinstance(word, Pair) else word)


def in_sentence(kind: str, code: str, gettext: Gettext) -> str:
    """The word for a code inside a sentence; the code itself where no word is known."""
    if kind in _NAMES:
        return _NAMES[kind](code)
    word = KINDS[kind].get(code)
    return code if word is None else gettext(word.sentence if isinstance(word, Pair) else word)


def precision_name(code: str) -> str:
    """A number format as the field writes it: bf16 -> BF16, gguf-q4_k_m -> GGUF Q4_K_M."""
    return formats.title(code)


def proper_name(code: str) -> str:
    """An engine or framework, with the version a filter may carry: tensorflow==2.15 -> TensorFlow 2.15."""
    name, _, version = code.partition("==")
    return f"{engines.title(name)} {version}".strip()


_NAMES: Mapping[str, Callable[[str], str]] = {"precision": precision_name, "framework": proper_name}
