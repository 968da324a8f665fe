"""Models whose dimensions are public facts, for the tests of the core."""

from __future__ import annotations

from typing import Any

from app.core.model.architecture import ModelArchitecture, architecture_from_fields


def decoder(**fields: Any) -> ModelArchitecture:
    """A decoder from the API's fields."""
    return architecture_from_fields({"family": "decoder", **fields})


LLAMA_2_7B = decoder(
    id="llama-2-7b",
    layers=32,
    hidden_size=4096,
    intermediate_size=11_008,
    attention_heads=32,
    kv_heads=32,
    vocab_size=32_000,
    max_context=4096,
)
LLAMA_3_1_8B = decoder(
    id="llama-3.1-8b",
    layers=32,
    hidden_size=4096,
    intermediate_size=14_336,
    attention_heads=32,
    kv_heads=8,
    vocab_size=128_256,
    max_context=131_072,
)
QWEN2_5_7B = decoder(
    id="qwen2.5-7b",
    layers=28,
    hidden_size=3584,
    intermediate_size=18_944,
    attention_heads=28,
    kv_heads=4,
    vocab_size=152_064,
    attention_bias=True,
)
QWEN3_30B = decoder(
    id="qwen3-30b-a3b",
    layers=48,
    hidden_size=2048,
    intermediate_size=6144,
    attention_heads=32,
    kv_heads=4,
    head_dim=128,
    vocab_size=151_936,
    experts=128,
    experts_per_token=8,
    expert_intermediate_size=768,
    qk_norm="head",
)
DEEPSEEK_V3 = decoder(
    id="deepseek-v3-671b",
    layers=61,
    hidden_size=7168,
    intermediate_size=18_432,
    attention_heads=128,
    kv_heads=128,
    head_dim=192,
    vocab_size=129_280,
    kv_lora_rank=512,
    q_lora_rank=1536,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    v_head_dim=128,
    experts=256,
    experts_per_token=8,
    shared_experts=1,
    expert_intermediate_size=2048,
    dense_layers=3,
    attributes={"router_bias": True},
)
GEMMA_3_27B = decoder(
    id="gemma-3-27b",
    layers=62,
    hidden_size=5376,
    intermediate_size=21_504,
    attention_heads=32,
    kv_heads=16,
    head_dim=128,
    vocab_size=262_144,
    tied_embeddings=True,
    norms_per_layer=4,
    qk_norm="head",
    sliding_window=1024,
    full_attention_layers=10,
)
GPT_OSS_120B = decoder(
    id="gpt-oss-120b",
    layers=36,
    hidden_size=2880,
    intermediate_size=2880,
    attention_heads=64,
    kv_heads=8,
    head_dim=64,
    vocab_size=201_088,
    experts=128,
    experts_per_token=4,
    expert_intermediate_size=2880,
    attention_bias=True,
    output_bias=True,
    sliding_window=128,
    full_attention_layers=18,
    native_precision="mxfp4",
    attributes={"expert_bias": True, "router_bias": True, "attention_sinks": True},
)
BERT_BASE = architecture_from_fields(
    {
        "family": "encoder",
        "id": "bert-base-uncased",
        "layers": 12,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "attention_heads": 12,
        "vocab_size": 30_522,
    }
)
BERT_LARGE = architecture_from_fields(
    {
        "family": "encoder",
        "id": "bert-large-uncased",
        "layers": 24,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "attention_heads": 16,
        "vocab_size": 30_522,
    }
)
RESNET_50 = architecture_from_fields(
    {
        "family": "vision",
        "id": "resnet-50",
        "name": "resnet50",
        "parameters": 25.557e6,
        "activations_per_sample": 11.11e6,
        "forward_macs": 4.11e9,
        "image_size": 224,
    }
)
