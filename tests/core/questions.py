"""Questions of every family, engine, task and way to share a model, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.core.model.architecture import ModelArchitecture, architecture_from_fields
from app.core.workload import Offload, Parallelism, Workload
from tests.core.model_examples import (
    BERT_BASE,
    BERT_LARGE,
    DEEPSEEK_V3,
    GEMMA_3_27B,
    GPT_OSS_120B,
    LLAMA_3_1_8B,
    QWEN2_5_7B,
    QWEN3_30B,
    RESNET_50,
)

Question = tuple[str, Workload, Parallelism]
P = Parallelism


def _model(**fields: Any) -> ModelArchitecture:
    return architecture_from_fields(fields)


FALCON = _model(
    family="decoder", id="linear-hybrid", layers=48, hidden_size=4096, intermediate_size=14336,
    attention_heads=32, kv_heads=8, vocab_size=65024, full_attention_layers=12, linear_attention_layers=36,
    linear_state_bytes=4.0e7, max_context=131072,
)  # fmt: skip
BY_LAYER = _model(
    family="decoder", id="heads-by-layer", layers=4, hidden_size=2048, intermediate_size=8192,
    attention_heads=16, kv_heads=[8, 0, 4, 8], head_dim=128, vocab_size=32000,
)  # fmt: skip
SIZE_ONLY = _model(family="decoder", name="7b", parameters=7e9)
T5 = _model(
    family="encoder-decoder", id="t5-base", layers=12, encoder_layers=12, hidden_size=768,
    intermediate_size=3072, attention_heads=12, kv_heads=12, vocab_size=32128, gated_mlp=False,
)  # fmt: skip
VIT = _model(
    family="vision", id="vit-base", name="vit_base", parameters=8.6e7, layers=12, hidden_size=768,
    attention_heads=12, patch_size=16, image_size=[224, 224], backbone="vit",
)  # fmt: skip
SIZED_CNN = _model(family="vision", id="cnn", name="efficientnet", parameters=1.2e7, backbone="efficientnet")
MASK_RCNN = _model(
    family="vision", id="mask-rcnn-r50", name="mask_rcnn_r50_fpn", parameters=4.4e7, head="mask_rcnn",
    backbone="resnet", image_size=[800, 1333],
)  # fmt: skip
UNET = _model(family="vision", id="unet", name="unet", parameters=3.1e7, head="unet", backbone="unet")
SEGFORMER = _model(
    family="vision", id="segformer-b3", name="segformer_b3", parameters=4.7e7, head="segformer"
)
YOLO = _model(family="vision", id="yolov8s", name="yolov8s", parameters=1.1e7, head="yolo", backbone="yolo")
SDXL = _model(
    family="diffusion", id="sdxl", name="SDXL", parameters=3.5e9, backbone="unet", image_size=[1024, 1024],
    components=[
        {"name": "unet", "parameters": 2.6e9},
        {"name": "text_encoder", "parameters": 8.2e8, "precision": "fp16"},
        {"name": "vae", "parameters": 8.4e7, "precision": "fp32"},
    ],
)  # fmt: skip
FLUX = _model(
    family="diffusion", id="flux.1-dev", name="FLUX", parameters=1.7e10, layers=57, hidden_size=3072,
    components=[{"name": "transformer", "parameters": 1.2e10}, {"name": "t5", "parameters": 4.7e9}],
)  # fmt: skip
WHISPER = _model(
    family="speech", id="whisper-large-v3", parameters=1.55e9, layers=32, encoder_layers=32, hidden_size=1280,
    intermediate_size=5120, attention_heads=20, kv_heads=20, vocab_size=51866, gated_mlp=False,
)  # fmt: skip


def _serving() -> Iterator[tuple[ModelArchitecture, dict[str, Any], Parallelism]]:
    decoders = (LLAMA_3_1_8B, QWEN3_30B, DEEPSEEK_V3, GEMMA_3_27B, GPT_OSS_120B, FALCON, BY_LAYER, SIZE_ONLY)
    for model in decoders:
        for engine in ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "pytorch"):
            for software in ("usual", "old", "new"):
                yield model, {"engine": engine, "software": software}, P()
            for plan in (P(tensor=2), P(tensor=2, pipeline=2), P(data=2), P(data=4, expert=4), P(pipeline=4)):
                yield model, {"engine": engine, "batch_size": 7, "attention": "eager"}, plan
        for precision in ("fp32", "tf32", "fp16", "fp8", "int8", "awq", "gptq", "nf4", "mxfp4", "nvfp4",
                          "int4", "gguf-q4_k_m", "gguf-q8_0"):  # fmt: skip
            yield model, {"precision": precision}, P()
            yield model, {"precision": precision, "engine": "vllm"}, P(tensor=4)
    for load in ("single", "batch", "saturated"):
        yield LLAMA_3_1_8B, {"load": load, "batch_size": 16, "batch_stated": True}, P(tensor=2)
        yield QWEN3_30B, {"load": load, "latency_limit_ms": 30.0}, P(tensor=2)
    yield LLAMA_3_1_8B, {"load": "saturated"}, P(data=2)
    yield LLAMA_3_1_8B, {"weights_gib": 15.2, "precision": "fp8"}, P(tensor=2)
    yield LLAMA_3_1_8B, {"max_num_seqs": 2048, "max_batched_tokens": 32768}, P()
    yield LLAMA_3_1_8B, {"kv_precision": "fp8", "engine_version": "0.9"}, P()
    yield GEMMA_3_27B, {"engine": "vllm", "engine_version": "0.9.1"}, P(tensor=2)
    yield QWEN3_30B, {"offload": Offload(experts=True)}, P()
    yield LLAMA_3_1_8B, {"offload": Offload(layers_on_gpu=20), "engine": "llama.cpp"}, P()
    yield LLAMA_3_1_8B, {"compile": True, "engine": "transformers"}, P()
    yield LLAMA_3_1_8B, {"output_length": 0}, P(tensor=2)


def _training() -> Iterator[tuple[ModelArchitecture, dict[str, Any], Parallelism]]:
    plans = (P(), P(data=2), P(data=8, zero_stage=1), P(data=8, zero_stage=2), P(data=8, zero_stage=3),
             P(data=2, tensor=4), P(tensor=2, pipeline=2))  # fmt: skip
    for model in (LLAMA_3_1_8B, QWEN2_5_7B, QWEN3_30B, DEEPSEEK_V3, GEMMA_3_27B, BERT_BASE, T5, SIZE_ONLY):
        for plan in plans:
            yield model, {"task": "training"}, plan
            yield model, {"task": "lora", "gradient_checkpointing": True}, plan
        for more in (
            {"recipe": "pure", "software": "old"}, {"recipe": "fp32", "attention": "eager"},
            {"gradient_checkpointing": "selective"}, {"gradient_checkpointing": True, "compile": True},
            {"logits": "chunked", "software": "old"}, {"optimizer": "adamw-8bit"}, {"precision": "fp32"},
            {"optimizer": "adafactor", "engine": "tensorflow"}, {"precision": "tf32"}, {"compile": True},
            {"offload": Offload(optimizer=True, activations=True), "gradient_checkpointing": True},
            {"task": "qlora"}, {"task": "qlora", "lora_targets": "attention", "padding": "packed"},
            {"task": "lora", "precision": "fp8"}, {"trainable_parameters": 1e7}, {"software": "old"},
            {"gradient_accumulation": 4}, {"precision": "fp8", "task": "training"},
        ):  # fmt: skip
            yield model, {"task": "training", **more}, P()
            yield model, {"task": "training", **more}, P(data=4, zero_stage=2)


def _others() -> Iterator[tuple[ModelArchitecture, dict[str, Any], Parallelism]]:
    for model in (RESNET_50, VIT, SIZED_CNN, MASK_RCNN, UNET, SEGFORMER, YOLO):
        for task in ("inference", "training"):
            for more in (
                {}, {"precision": "fp32"}, {"precision": "tf32"}, {"engine": "tensorflow"},
                {"image_size": (512, 640)}, {"compile": True, "software": "new"}, {"software": "old"},
                {"gradient_checkpointing": True}, {"recipe": "pure"},
            ):  # fmt: skip
                yield model, {"task": task, "batch_size": 32, **more}, P()
                yield model, {"task": task, "batch_size": 32, **more}, P(data=4)
    yield VIT, {"task": "lora", "batch_size": 8}, P()
    yield VIT, {"task": "training", "trainable_parameters": 1e6, "batch_size": 8}, P(data=2, zero_stage=3)
    for model in (SDXL, FLUX):
        for task in ("inference", "training", "lora"):
            for more in (
                {}, {"precision": "fp8"}, {"precision": "fp32"}, {"attention": "eager"},
                {"gradient_checkpointing": True}, {"image_size": (768, 512), "compile": True},
            ):  # fmt: skip
                if not (task == "training" and more.get("precision") == "fp8"):
                    yield model, {"task": task, "batch_size": 2, **more}, P()
                    yield model, {"task": task, "batch_size": 2, **more}, P(data=2)
    for engine in ("faster-whisper", "transformers", "pytorch"):
        for precision in ("fp16", "fp32", "int8"):
            yield WHISPER, {"engine": engine, "precision": precision, "batch_size": 8}, P()
            yield WHISPER, {"engine": engine, "precision": precision, "sequence_length": 100}, P(data=2)
    yield WHISPER, {"task": "training", "sequence_length": 448}, P(data=2)
    for model in (BERT_LARGE, T5):
        for more in ({}, {"engine": "tensorflow"}, {"attention": "eager"}, {"precision": "fp32"},
                     {"precision": "int8"}, {"software": "old"}, {"compile": True}):  # fmt: skip
            yield model, {"batch_size": 16, "sequence_length": 256, **more}, P()
            yield model, {"batch_size": 16, "sequence_length": 256, **more}, P(data=2)
            yield model, {"batch_size": 16, "sequence_length": 256, **more}, P(tensor=2)


def questions() -> Iterator[Question]:
    """Name, question and plan of each."""
    for model, fields, plan in (*_serving(), *_training(), *_others()):
        lengths = {} if model.family in ("vision", "diffusion", "speech") else {"sequence_length": 3000}
        work = Workload(model, **{**lengths, **fields})
        yield f"{model.id or model.name} {fields} {plan}", work, plan
