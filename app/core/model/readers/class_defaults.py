"""What a nested `text_config` leaves to the default of its class: files save only what differs from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLUMNS = (
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "tie_word_embeddings",
)
_FLAG = "tie_word_embeddings"
# Configuration classes of transformers 5.24.0, read 2026-12-01; - where the class derives the value.
_ROWS = """\
llama 32 4096 11008 32 - - 32000 0
mistral 32 4096 14336 32 8 - 32000 0 sliding_window=4096
mixtral 32 4096 14336 32 8 - 32000 0 num_local_experts=8 num_experts_per_tok=2
gemma 28 3072 24576 16 16 256 256000 1
gemma2 26 2304 9216 8 4 256 256000 1 sliding_window=4096
gemma3_text 26 2304 9216 8 4 256 262208 1 sliding_window=4096
gemma3n_text 35 2048 16384 8 2 256 262400 1 sliding_window=512
gemma4_text 30 2304 9216 8 4 256 262144 1 sliding_window=512
qwen2 32 4096 22016 32 32 - 151936 0 sliding_window=4096
qwen3 32 4096 22016 32 32 128 151936 0 sliding_window=4096
qwen3_moe 24 2048 6144 32 4 - 151936 0 num_experts=128 num_experts_per_tok=8 moe_intermediate_size=768 \
    sliding_window=4096
qwen2_vl_text 80 8192 29568 64 8 - 152064 - sliding_window=4096
qwen2_5_vl_text 80 8192 29568 64 8 - 152064 - sliding_window=4096
qwen3_vl_text 32 4096 22016 32 32 128 151936 -
qwen3_vl_moe_text 24 2048 5632 16 16 - 151936 1 num_experts=60 num_experts_per_tok=4 \
    moe_intermediate_size=1408
qwen3_5_text 32 4096 12288 16 4 256 248320 0
qwen3_5_moe_text 40 2048 - 16 2 256 248320 0 num_experts=256 num_experts_per_tok=8 \
    moe_intermediate_size=512 shared_expert_intermediate_size=512
qwen3_omni_moe_text 28 2048 18944 28 4 - 3584 - num_experts=128 num_experts_per_tok=8 \
    moe_intermediate_size=768
qwen2_5_omni_text 28 3584 18944 28 4 - 152064 1 sliding_window=32768
llama4_text 48 5120 8192 40 8 128 202048 0 num_local_experts=16 num_experts_per_tok=1 \
    attention_chunk_size=8192 interleave_moe_layer_step=1 intermediate_size_mlp=16384
mllama_text_model 40 4096 14336 32 8 - 128256 0
phi3 32 3072 8192 32 - - 32064 0
granite 32 4096 11008 32 - - 32000 0
granitemoehybrid 32 4096 11008 32 - - 32000 0 num_local_experts=8 num_experts_per_tok=2
cohere 40 8192 22528 64 - - 256000 1
cohere2 40 8192 22528 64 - - 256000 1 sliding_window=4096
deepseek_v2 32 4096 11008 32 - - 102400 0 n_routed_experts=64 moe_intermediate_size=1407 \
    n_shared_experts=2 first_k_dense_replace=0 kv_lora_rank=512 q_lora_rank=1536 qk_nope_head_dim=128 \
    qk_rope_head_dim=64 v_head_dim=128
deepseek_v3 61 7168 18432 128 128 - 129280 0 n_routed_experts=256 num_experts_per_tok=8 \
    moe_intermediate_size=2048 n_shared_experts=1 first_k_dense_replace=3 kv_lora_rank=512 \
    q_lora_rank=1536 qk_nope_head_dim=128 qk_rope_head_dim=64 v_head_dim=128
ministral3 34 4096 14336 32 8 128 131072 0
mistral4 36 4096 12288 32 32 - 131072 0 n_routed_experts=128 num_experts_per_tok=4 \
    moe_intermediate_size=2048 n_shared_experts=1 first_k_dense_replace=0 kv_lora_rank=256 \
    q_lora_rank=1024 qk_nope_head_dim=64 qk_rope_head_dim=64 v_head_dim=128
glm 40 4096 13696 32 2 128 151552 0
glm4 40 4096 13696 32 2 128 151552 0
glm4v_text 40 4096 13696 32 2 - 151552 -
glm4v_moe_text 46 4096 10944 96 8 - 151424 0 n_routed_experts=128 num_experts_per_tok=8 \
    moe_intermediate_size=1408 n_shared_experts=1 first_k_dense_replace=1
glm_ocr_text 16 1024 4096 16 8 - 59392 -
lfm2 32 2560 12288 32 8 - 65536 1
lfm2_moe 32 2048 7168 32 8 - 65536 1 num_experts=32 num_experts_per_tok=4 moe_intermediate_size=1792
kimi_linear 27 2304 9216 32 32 - 163840 0 num_local_experts=256 num_experts_per_tok=8 \
    moe_intermediate_size=1024 n_shared_experts=1 kv_lora_rank=512 qk_nope_head_dim=128 \
    qk_rope_head_dim=64 v_head_dim=128
smollm3 36 2048 11008 16 4 - 128256 1
ernie4_5 18 1024 3072 16 2 128 103424 1
ernie4_5_moe 28 2560 12288 20 4 - 103424 1 moe_intermediate_size=1536
internlm3 48 4096 10240 32 2 128 128512 0
hunyuan_v1_dense 32 4096 11008 32 - - 290943 0
seed_oss 64 4096 27648 80 8 128 155136 0
exaone4 32 4096 16384 32 32 - 102400 0 sliding_window=4096
olmo2 32 4096 11008 32 - - 50304 0
olmo3 32 4096 11008 32 - - 50304 0 sliding_window=4096
starcoder2 30 3072 12288 24 2 - 49152 1
minimax_m3_vl_text 60 6144 3072 64 4 128 200064 0 num_local_experts=128 num_experts_per_tok=4
step3p5 45 4096 11264 64 8 128 128815 0 num_local_experts=128 n_routed_experts=288 num_experts_per_tok=8 \
    moe_intermediate_size=1280
opt 12 768 - 12 - - 50272 1
gpt_oss 36 2880 2880 64 8 64 201088 0 num_local_experts=128 num_experts_per_tok=4 sliding_window=128
nemotron_h - 4096 21504 32 8 128 131072 0 n_routed_experts=8 num_experts_per_tok=2 \
    moe_intermediate_size=7688 n_shared_experts=1
falcon_h1 32 4096 14336 32 8 - 128000 0
"""


def _read(row: str) -> tuple[str, dict[str, Any]]:
    kind, *cells = row.split()
    found: dict[str, Any] = {
        key: int(cell) for key, cell in zip(_COLUMNS, cells, strict=False) if cell != "-" and "=" not in cell
    }
    for cell in cells[len(_COLUMNS) :]:
        key, _, value = cell.partition("=")
        found[key] = int(value)
    if _FLAG in found:
        found[_FLAG] = bool(found[_FLAG])
    return kind, found


CLASS_DEFAULTS: Mapping[str, Mapping[str, Any]] = dict(map(_read, _ROWS.splitlines()))
"""By `model_type` of the text part."""
