"""Our names of dimensions and what a config.json calls them: a fault is told in the words of the file."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.faults import FieldError, InputFault
from app.core.readers.bounded import Config

KEYS: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers"),
    "encoder_layers": ("encoder_layers", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd", "d_model", "dim"),
    "intermediate_size": (
        "intermediate_size",
        "ffn_hidden_size",
        "n_inner",
        "ffn_dim",
        "d_ff",
        "hidden_dim",
        "moe_intermediate_size",
    ),
    "attention_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads", "decoder_attention_heads"),
    "kv_heads": (
        "num_key_value_heads",
        "multi_query_group_num",
        "num_kv_heads",
        "n_head_kv",
        "num_global_key_value_heads",
    ),
    "head_dim": ("head_dim", "d_kv", "kv_channels", "global_head_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_context": ("max_position_embeddings", "n_positions", "seq_length", "max_target_positions"),
    "learned_positions": ("max_position_embeddings", "n_positions"),
    "sliding_window": ("sliding_window", "window_size", "attention_chunk_size", "sliding_window_size"),
    "full_attention_layers": ("layer_types", "sliding_window_pattern", "max_window_layers"),
    "linear_attention_layers": ("layer_types", "full_attention_interval"),
    "sliding_kv_heads": ("swa_num_key_value_heads", "num_key_value_heads"),
    "sliding_head_dim": ("swa_head_dim", "head_dim"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
    "experts_per_token": ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "expert_intermediate_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"),
    "expert_every": ("decoder_sparse_step", "interleave_moe_layer_step"),
    "dense_layers": ("first_k_dense_replace", "mlp_only_layers", "moe_layer_freq"),
}
"""By field of the architecture, the keys that readers take it from, the most usual first."""


def in_words_of_file(fault: InputFault, pointer: str, read: Config) -> InputFault:
    """The same fault with its fields called as the file calls them.

    Parameters
    ----------
    fault: of the architecture, its pointers made of `pointer` and our names.
    pointer: JSON pointer of the config. read: the part of the file that was read.
    """
    return InputFault([_renamed(error, pointer, read) for error in fault.errors])


def _renamed(error: FieldError, pointer: str, read: Config) -> FieldError:
    name, _, rest = error.pointer.removeprefix(f"{pointer}/").partition("/")
    keys = KEYS.get(name)
    if keys is None or not error.pointer.startswith(f"{pointer}/"):
        return error
    key = next((k for k in keys if read.has(k)), keys[0])
    return FieldError(f"{read.pointer}/{key}" + (f"/{rest}" if rest else ""), error.code, error.params)
