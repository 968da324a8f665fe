"""What every reader that counts layer by layer shares: the frame around the layers, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from app.core.faults import InputFault
from app.core.field_values import limits_of
from app.core.model.modules import Stack, read_by_token, total
from app.core.model.readers.bounded import Config

Fields = dict[str, Any]
_DEPTH = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


class Frame(NamedTuple):
    """Depth, width and tables of a language model."""

    layers: int
    hidden: int
    vocab: int
    tied: bool
    context: int

    @property
    def every(self) -> range:
        """All layers."""
        return range(self.layers)


def frame_of(config: Config, tied: bool = False, listed: str = "") -> Frame:
    """Read the frame; the depth is the length of the list `listed` where the file states no other."""
    layers = 0
    if listed and not config.has(*_DEPTH):
        layers = len(config.items(listed))
    if not layers:
        layers = config.integer(*_DEPTH, limit="layers")
    low, high = limits_of("layers")
    if not low <= layers <= high:
        raise InputFault.at(f"{config.pointer}/{listed}", "out_of_range", low=low, high=high)
    return Frame(
        layers,
        config.integer("hidden_size", "d_model", "n_embd", limit="hidden_size"),
        config.integer("vocab_size", "padded_vocab_size", limit="vocab_size"),
        config.flag("tie_word_embeddings", tied),
        config.integer("max_position_embeddings", "n_positions", "max_seq_len", "context_length", default=0),
    )


def kinds_of(config: Config, frame: Frame, *names: str) -> list[str]:
    """The kind of each layer from a list or a pattern; empty where the file states none.

    Errors
    ------
    InputFault `list_length` where it is shorter than the model is deep.
    """
    for name in names:
        config.has(name)
        value = config.values.get(name)
        if isinstance(value, str):
            found: Sequence[Any] = [c for c in value[: 2 * frame.layers] if not c.isspace()]
        elif value is None:
            continue
        else:
            found = config.items(name)
        if len(found) < frame.layers:
            raise InputFault.at(f"{config.pointer}/{name}", "list_length", expected=frame.layers)
        return [str(k)[:64] for k in found[: frame.layers]]
    return []


def places(kinds: Sequence[str], *wanted: str) -> list[int]:
    """Indices of the layers of some kinds."""
    return [i for i, kind in enumerate(kinds) if kind in wanted]


def periodic(frame: Frame, period: int, offset: int) -> list[int]:
    """Every period-th layer, from an offset on."""
    step = max(1, period)
    return [i for i in frame.every if i % step == offset % step]


def others(frame: Frame, taken: Iterable[int]) -> list[int]:
    """The layers that are not among some."""
    known = set(taken)
    return [i for i in frame.every if i not in known]


def counted(stack: Stack, frame: Frame, growing: int, state_bytes: float, **fields: Any) -> Fields:
    """Fields of a model that was counted layer by layer.

    Parameters
    ----------
    growing: layers with a cache that grows with the length. state_bytes: of one sequence, all layers.
    fields: heads and widths of its attention, and what else is known of it.

    Notes
    -----
    A model without attention gets one head of its width, without keys: it keeps no cache.
    """
    stack.tables(frame.vocab, frame.hidden, frame.tied)
    modules = stack.done()
    found: Fields = {
        "family": "decoder",
        "layers": frame.layers,
        "hidden_size": frame.hidden,
        "vocab_size": frame.vocab,
        "tied_embeddings": frame.tied,
        "max_context": frame.context,
        "full_attention_layers": growing,
        "linear_attention_layers": frame.layers - growing,
        "linear_state_bytes": state_bytes,
        "parameters": total(modules),
        "active_parameters": _active(modules),
        "embedding_parameters": total(modules, "embedding") + total(modules, "head"),
        "modules": modules,
        **fields,
    }
    if not found.get("attention_heads"):
        found.update(attention_heads=1, kv_heads=1, head_dim=min(frame.hidden, 16_384))
    return found


def _active(modules: Sequence[Any]) -> int:
    """What a token reads of a mixture of experts; of any other model all counts, as it is published."""
    return read_by_token(modules) if any(m.kind == "expert" for m in modules) else total(modules)
