"""config.json of decoder-only language models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.faults import InputFault
from app.core.model.readers.bounded import Config
from app.core.model.readers.experts import experts

Fields = dict[str, Any]

LLAMA_LIKE = frozenset(
    """
    llama mistral ministral yi qwen2 qwen3 gemma gemma2 gemma3_text gemma3 phi3 phi4 internlm internlm2
    internlm3 baichuan granite olmo olmo2 olmo3 cohere cohere2 stablelm starcoder2 exaone exaone4 glm
    glm4 smollm3 seed_oss nemotron deepseek minicpm aquila xverse orion apertus hunyuan_v1_dense
    ernie4_5 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl_text qwen3_5_text mistral3
    ministral3 mimo arcee apertus apertus1p5_text jais2 nanochat persimmon fuyu cwm vaultgemma helium mellum
    smollm youtu hyperclovax iquestcoder qwen2_5_omni_text glm4v_text glm_ocr_text step1 telechat2 telechat3
    minicpm3 solar internvl_chat deepseek_vl openpangu_dense pangu_dense
    """.split()
)
MOE = frozenset(
    """
    mixtral qwen2_moe qwen3_moe qwen3_next gpt_oss glm4_moe deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2
    glm4_moe_lite llama4_text llama4 phimoe minimax minimax_m2 granitemoe olmoe dbrx ernie4_5_moe
    bailing_moe bailing_moe_v2 glm_moe_dsa qwen3_5_moe_text qwen3_vl_moe_text qwen3_omni_moe_text mistral4
    step3 step3_text step3p5 step3p7 exaone_moe afmoe hy_v3 solar_open dots1 glm4v_moe_text laguna flex_olmo
    minimax_m3_vl_text minimax_m3 ernie4_5_vl_moe_text cohere2_moe sarvam_moe sarvam_mla axk1 axk2 beam hy_v4
    kimi_k25 smallthinker openpangu_moe pangu_ultra_moe grok-1 qwen4_exp_text
    """.split()
)
CLASS_DEFAULTS: dict[str, Fields] = {
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262_208,
        "sliding_window": 4096,
        "max_position_embeddings": 131_072,
    },
}
"""What published files leave to the defaults of the configuration class (Gemma 3 multimodal)."""
QKV_BIAS = frozenset(
    """
    qwen2 qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text glm4_moe starcoder2 gpt_oss qwen glm
    glm4
    """.split()
)
QK_NORM_HEAD = frozenset(
    """
    qwen3 qwen3_moe qwen3_next qwen3_vl_text qwen3_vl_moe_text qwen3_5_text qwen3_5_moe_text gemma3_text
    gemma3 gemma4_text exaone4 hunyuan_v1_dense hunyuan_v1_moe step3p5 step3p7 exaone_moe afmoe hy_v3
    minimax_m3_vl_text minimax_m3 qwen3_omni_moe_text apertus bailing_moe_v2 laguna dots1
    """.split()
)
SPARSE_INDEX = frozenset({"deepseek_v32", "glm_moe_dsa"})
"""Classes that have an indexer where the file does not say so."""
TIED_BY_DEFAULT = frozenset({"gemma", "gemma2", "gemma3_text", "gemma3", "cohere", "cohere2", "phi3_small"})
FOUR_NORMS = frozenset("gemma2 gemma3_text gemma3 gemma4_text glm4 glm4v_text afmoe vaultgemma".split())
LAYER_NORM = frozenset({"starcoder2", "stablelm", "nemotron", "persimmon", "fuyu", "jais2"})
UNGATED = frozenset("starcoder2 nemotron arcee apertus apertus1p5_text jais2 nanochat persimmon fuyu".split())
UNGATED_ACTIVATIONS = frozenset({"relu2", "xielu", "relu_squared"})
"""Activations of models without a gate in their MLP."""


WIDTHS = ("intermediate_size", "ffn_hidden_size", "n_inner")
KV_HEADS = (
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
    "n_head_kv",
    "num_kv_heads",
)


def llama_like(config: Config, kind: str) -> Fields:
    """Pre-norm decoder with rotary positions, grouped queries and gated MLP, with or without experts."""
    if kind in CLASS_DEFAULTS:
        config = Config({**CLASS_DEFAULTS[kind], **config.given()}, config.pointer)
    layers = config.integer("num_hidden_layers", "n_layer", "num_layers", limit="layers")
    hidden = config.integer("hidden_size", "n_embd", "d_model", limit="hidden_size")
    heads = config.integer("num_attention_heads", "n_head", "num_heads", limit="attention_heads")
    widths = config.layered(*WIDTHS, layers=layers, default=0)
    kv_heads = config.layered(*KV_HEADS, layers=layers, default=heads)
    found: Fields = {
        "family": "decoder",
        "layers": layers,
        "hidden_size": hidden,
        "attention_heads": heads,
        "kv_heads": kv_heads[0] if len(set(kv_heads)) == 1 else tuple(kv_heads),
        "head_dim": config.integer("head_dim", "attention_head_dim", default=0) or max(1, hidden // heads),
        "intermediate_size": max(widths),
        "vocab_size": config.integer("vocab_size", "padded_vocab_size", limit="vocab_size"),
        "tied_embeddings": config.flag("tie_word_embeddings", kind in TIED_BY_DEFAULT),
        "max_context": config.integer("max_position_embeddings", "seq_length", default=0),
        "gated_mlp": kind not in UNGATED and config.text("hidden_act") not in UNGATED_ACTIVATIONS,
        "layer_norm": kind in LAYER_NORM,
        "attention_bias": config.flag("attention_bias", kind in QKV_BIAS),
        "output_bias": config.flag("attention_bias", False) and kind in ("llama", "gpt_oss", "granite"),
        "mlp_bias": config.flag("mlp_bias", False),
        "norms_per_layer": 4 if kind in FOUR_NORMS else 2,
    }
    if kind in QK_NORM_HEAD or (kind.startswith("glm4") and config.flag("use_qk_norm")):
        found["qk_norm"] = "head"
    elif kind in ("olmo2", "olmo3", "olmoe", "minimax_m2"):
        found["qk_norm"] = "full"
    if kind in ("cohere", "cohere2"):
        found["norms_per_layer"] = 1
    if kind in ("qwen2", "qwen2_moe"):
        found["attention_bias"] = config.flag("qkv_bias", True)
    if kind == "starcoder2":
        found.update(attention_bias=config.flag("use_bias", True), output_bias=True, mlp_bias=True)
    _windows(config, kind, found)
    experts(config, kind, found)
    _latent(config, found)
    _shared_queries(config, found)
    indexed = ("index_n_heads", "index_head_dim", "index_topk", "sparse_attention_config")
    if config.has(*indexed) or kind in SPARSE_INDEX:
        _indexer(config, found)
    if config.has("linear_num_key_heads", "linear_num_value_heads"):
        _gated_delta_net(config, found)
    if not found["intermediate_size"]:
        if not found.get("expert_intermediate_size"):
            raise InputFault.at(f"{config.pointer}/intermediate_size", "required")
        found["intermediate_size"] = found["expert_intermediate_size"]
    return found


def _windows(config: Config, kind: str, found: Fields) -> None:
    layers = found["layers"]
    window = config.integer("sliding_window", "window_size", default=0)
    kinds = config.items("layer_types")
    if kind in ("llama4", "llama4_text"):
        window = config.integer("attention_chunk_size", default=8192)
        if not kinds:
            step = max(1, config.integer("no_rope_layer_interval", default=4))
            found.update(sliding_window=window, full_attention_layers=layers // step)
            return
    if kinds:
        full = sum(1 for k in kinds[:layers] if k == "full_attention")
        linear = sum(1 for k in kinds[:layers] if isinstance(k, str) and k.startswith("linear"))
        if linear:
            found["linear_attention_layers"] = linear
            found["full_attention_layers"] = full
            return
        if window and full < layers:
            found.update(sliding_window=window, full_attention_layers=full)
        return
    if not window:
        return
    pattern = config.integer("sliding_window_pattern", "_sliding_window_pattern", default=0)
    if kind == "gemma2":
        found.update(sliding_window=window, full_attention_layers=layers // 2)
    elif kind in ("gemma3_text", "gemma3"):
        found.update(sliding_window=window, full_attention_layers=layers // (pattern or 6))
    elif kind == "cohere2":
        found.update(sliding_window=window, full_attention_layers=layers // (pattern or 4))
    elif kind == "gpt_oss":
        found.update(sliding_window=window, full_attention_layers=layers // 2)
    elif kind in ("mistral", "mixtral", "ministral", "starcoder2"):
        if window < (found["max_context"] or window + 1):
            found.update(sliding_window=window, full_attention_layers=0)
    elif kind in ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe") and config.flag("use_sliding_window"):
        full = config.integer("max_window_layers", default=layers)
        found.update(sliding_window=window, full_attention_layers=min(full, layers))


def _latent(config: Config, found: Fields) -> None:
    rank = config.integer("kv_lora_rank", default=0)
    if not rank:
        return
    nope = config.integer("qk_nope_head_dim", default=128)
    rope = config.integer("qk_rope_head_dim", default=64)
    found.update(
        kv_lora_rank=rank,
        q_lora_rank=config.integer("q_lora_rank", default=0),
        qk_nope_head_dim=nope,
        qk_rope_head_dim=rope,
        v_head_dim=config.integer("v_head_dim", default=nope),
        head_dim=nope + rope,
        attention_bias=False,
    )


def _shared_queries(config: Config, found: Fields) -> None:
    """Step 3: queries of all heads come from one narrow vector, and all heads share one key."""
    narrow = config.integer("share_q_dim", default=0)
    if not narrow:
        return
    heads = found["attention_heads"] * found["head_dim"]
    hidden = found["hidden_size"]
    found["extra_parameters"] = found["layers"] * (narrow * (hidden + heads + 1) - hidden * heads)


def _indexer(config: Config, found: Fields) -> None:
    """Sparse attention: an indexer in each layer that does not share one, with a key for every token.

    Notes
    -----
    Beside latent attention the index reads the query's latent, and engines keep its keys in FP8. Beside whole
    attention (MiniMax M3: `sparse_attention_config`) it reads the hidden state, and its keys are of 16 bit.
    """
    if not found.get("q_lora_rank"):
        _block_indexer(config, found)
        return
    heads = config.integer("index_n_heads", default=64)
    width = config.integer("index_head_dim", default=128)
    hidden, layers = found["hidden_size"], found["layers"]
    kinds = config.items("indexer_types")[:layers]
    own = sum(1 for kind in kinds if kind == "full") if kinds else layers
    each = found["q_lora_rank"] * heads * width + hidden * width + 2 * width + hidden * heads
    found["extra_parameters"] = own * each
    found["index_bytes_per_token"] = own * index_key_bytes(width)
    # An 8-bit cache keeps the rotated part at 16 bit, and four fp32 scales.
    found["wide_elements"] = layers * (found["qk_rope_head_dim"] + 16)


def _block_indexer(config: Config, found: Fields) -> None:
    sparse = config.inner("sparse_attention_config") or config
    heads = sparse.integer("sparse_num_index_heads", "index_n_heads", default=0)
    width = sparse.integer("sparse_index_dim", "index_head_dim", default=0)
    if not (heads and width):
        return
    layers, hidden = found["layers"], found["hidden_size"]
    listed = sparse.items("sparse_attention_freq")[:layers]
    own = sum(1 for each in listed if each) if listed else layers
    found["extra_parameters"] = own * (hidden * (heads + 1) * width + 2 * width)
    found["index_bytes_per_token"] = own * width * 2.0


def index_key_bytes(width: int) -> float:
    """Bytes of one index key: FP8 elements and one fp32 scale for each 128 of them."""
    return width + 4.0 * -(-width // 128)


def _gated_delta_net(config: Config, found: Fields) -> None:
    layers = found["layers"]
    step = max(1, config.integer("full_attention_interval", default=4))
    full = found.get("full_attention_layers", layers // step)
    linear = layers - full
    key_heads = config.integer("linear_num_key_heads", default=16)
    value_heads = config.integer("linear_num_value_heads", default=32)
    key_dim = config.integer("linear_key_head_dim", default=128)
    value_dim = config.integer("linear_value_head_dim", default=128)
    conv = config.integer("linear_conv_kernel_dim", default=4)
    state = value_heads * key_dim * value_dim * 4.0
    window = (2 * key_heads * key_dim + value_heads * value_dim) * (conv - 1) * 2.0
    found.update(
        full_attention_layers=full,
        linear_attention_layers=linear,
        linear_state_bytes=linear * (state + window),
        attention_gate=True,
    )
    attributes = dict(found.get("attributes", {}))
    attributes["linear_attention"] = {
        "k_heads": key_heads,
        "v_heads": value_heads,
        "k_dim": key_dim,
        "v_dim": value_dim,
        "conv": conv,
    }
    found["attributes"] = attributes


def qwen1(config: Config, _kind: str) -> Fields:
    """Qwen 1: intermediate_size counts gate and up together, biases on the fused projection."""
    found = llama_like(config, "qwen")
    found["intermediate_size"] = config.integer("intermediate_size", limit="intermediate_size") // 2
    found["attention_bias"] = True
    return found


def chatglm(config: Config, _kind: str) -> Fields:
    """ChatGLM 2/3 and GLM-4-9B in their own layout: multi-query groups, fused gated MLP, untied head."""
    heads = config.integer("num_attention_heads", limit="attention_heads")
    hidden = config.integer("hidden_size", limit="hidden_size")
    groups = config.integer("multi_query_group_num", default=heads)
    return {
        "family": "decoder",
        "layers": config.integer("num_layers", "num_hidden_layers", limit="layers"),
        "hidden_size": hidden,
        "attention_heads": heads,
        "kv_heads": groups if config.flag("multi_query_attention", True) else heads,
        "head_dim": config.integer("kv_channels", default=max(1, hidden // heads)),
        "intermediate_size": config.integer("ffn_hidden_size", limit="intermediate_size"),
        "vocab_size": config.integer("padded_vocab_size", "vocab_size", limit="vocab_size"),
        "tied_embeddings": config.flag("tie_word_embeddings", False),
        "max_context": config.integer("seq_length", default=0),
        "attention_bias": config.flag("add_qkv_bias", False),
    }


def gpt2(config: Config, kind: str) -> Fields:
    """GPT-2, GPT-Neo(X), GPT-J, OPT, BLOOM, Falcon, Phi-2: ungated MLP of 4 h, LayerNorm."""
    hidden = config.integer("n_embd", "hidden_size", "word_embed_proj_dim", limit="hidden_size")
    heads = config.integer("n_head", "num_attention_heads", "num_heads", limit="attention_heads")
    position = config.integer("n_positions", "max_position_embeddings", "n_ctx", "seq_length", default=2048)
    width = config.integer("n_inner", "ffn_dim", "intermediate_size", "ffn_hidden_size", default=0)
    found: Fields = {
        "family": "decoder",
        "layers": config.integer("n_layer", "num_hidden_layers", "num_layers", limit="layers"),
        "hidden_size": hidden,
        "attention_heads": heads,
        "kv_heads": heads,
        "head_dim": max(1, hidden // heads),
        "intermediate_size": width or 4 * hidden,
        "vocab_size": config.integer("vocab_size", limit="vocab_size"),
        "gated_mlp": False,
        "layer_norm": True,
        "attention_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "norms_per_layer": 2,
        "max_context": position,
        "tied_embeddings": True,
    }
    attributes: Fields = {}
    if kind == "gpt2":
        found["learned_positions"] = position
    elif kind == "gpt_neo":
        found.update(learned_positions=position, attention_bias=False)
        if config.has("window_size"):
            found.update(
                sliding_window=config.integer("window_size"), full_attention_layers=found["layers"] // 2
            )
    elif kind == "opt":
        found["learned_positions"] = position + 2
    elif kind == "bloom":
        attributes["embedding_norm"] = True
        found["max_context"] = 0
    elif kind == "gpt_neox":
        found["tied_embeddings"] = config.flag("tie_word_embeddings", False)
    elif kind in ("falcon", "RefinedWebModel"):
        _falcon(config, found)
    elif kind in ("phi", "phi2"):
        found.update(norms_per_layer=1, tied_embeddings=config.flag("tie_word_embeddings", False))
        attributes["head_bias"] = True
        found["kv_heads"] = config.integer("num_key_value_heads", default=heads)
    elif kind == "gptj":
        found.update(norms_per_layer=1, attention_bias=False, output_bias=False, tied_embeddings=False)
        attributes["head_bias"] = True
    if attributes:
        found["attributes"] = attributes
    return found


def _falcon(config: Config, found: Fields) -> None:
    bias = config.flag("bias", False)
    new = config.flag("new_decoder_architecture", False)
    if new:
        groups = config.integer("num_kv_heads", "n_head_kv", default=found["attention_heads"])
        norms = 2
    else:
        groups = 1 if config.flag("multi_query", True) else found["attention_heads"]
        norms = 1 if config.flag("parallel_attn", True) else 2
    found.update(kv_heads=groups, attention_bias=bias, output_bias=bias, mlp_bias=bias, norms_per_layer=norms)


def baichuan(config: Config, _kind: str) -> Fields:
    """Baichuan 1 and 2: Llama blocks with fused projections, untied head."""
    found = llama_like(config, "baichuan")
    found["tied_embeddings"] = False
    return found


def internlm(config: Config, kind: str) -> Fields:
    """InternLM 1 carries biases on all attention projections; 2 and 3 do not."""
    found = llama_like(config, kind)
    if kind == "internlm" and config.flag("bias", True):
        found.update(attention_bias=True, output_bias=True)
    return found


DECODERS: dict[str, Callable[[Config, str], Fields]] = {
    **dict.fromkeys(LLAMA_LIKE | MOE, llama_like),
    **dict.fromkeys("gpt2 gpt_neo opt bloom gpt_neox falcon phi gptj RefinedWebModel".split(), gpt2),
    "qwen": qwen1,
    "chatglm": chatglm,
    "baichuan": baichuan,
    "internlm": internlm,
    "internlm2": internlm,
}
