"""Calibrated constants of serving: names, quantities and why they are there; worth: `calibration`.

Keys: a card class of `keys.CLASSES`, a vendor of `keys.VENDORS`, a form of weights of `keys.FORMS`, an engine
with its age, a kind of link. A constant that no row speaks of is a prior and says so in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

from app.core.calibration import Exponent, Factor, FactorBy, Quantity, fill

Share = Annotated[float, Quantity("1", 0.0, 1.0)]
ShareBy = Annotated[Mapping[str, float], Quantity("1", 0.0, 4.0)]
MicrosecondsBy = Annotated[Mapping[str, float], Quantity("us", 0.1, 100_000.0)]
BytesEach = Annotated[float, Quantity("B", 0.0, 10_000.0)]
BytesEachBy = Annotated[Mapping[str, float], Quantity("B", 0.0, 10_000.0)]
PlainGib = Annotated[float, Quantity("GiB", 0.01, 80.0)]
Mib = Annotated[float, Quantity("MiB", 0.1, 1000.0)]
PlainSeconds = Annotated[float, Quantity("s", 1e-7, 1.0)]

# Bandwidth and products, shares of what the maker prints.
READ_SHARE: ShareBy
FORM_READ_SHARE: FactorBy
"""Kernels that widen or round weights, over plain 16-bit ones."""
SLOW_KERNELS: Factor
"""The same besides where a stack has no tuned kernels for quantized weights."""
CUT_READ_SHARE: FactorBy
"""The same besides on Hopper cards with few multiprocessors, which unpack more slowly than they read."""
KV_READ_SHARE: ShareBy
"""Reading scattered pages of keys and values, over reading weights."""
PRODUCT_SHARE: ShareBy
FORM_PRODUCT_SHARE: FactorBy
PRODUCT_ENGINE: FactorBy
"""Kernels of an engine over those of most: compiled and tuned for a card and its lengths."""
EXPERT_SHARE: Factor
"""Grouped products of routed experts, over dense ones."""
FORM_EXPERT_SHARE: FactorBy
EXPERT_GROUP: Factor
"""Tokens per expert at which its products take twice as long per token."""
EXPERT_PROMPT: Factor
"""Least share of the dense rate that experts reach in passes over prompts."""
EXPERTS_EXPONENT: Exponent
"""Tokens of one step choose alike: as many experts are touched as by m^0.8 independent ones."""
STEP_ORDER: Exponent
PASS_ORDER: Exponent
POWER_EXPONENT: Exponent
"""Bandwidth and products under a power limit: its share of the card's own to this power."""
PROMPT_SHARE: Factor
"""Products of whole prompts over those of decode steps."""

# Launches and host.
LAYER_LAUNCH: MicrosecondsBy
ROUTED_LAUNCH: MicrosecondsBy
LATENT_LAUNCH: MicrosecondsBy
NARROW_LAUNCH: MicrosecondsBy
LINEAR_LAUNCH: MicrosecondsBy
LAUNCH_VENDOR: FactorBy
EAGER_LAUNCH: Factor
"""Launches without graphs over replayed ones."""
STEP_HOST: MicrosecondsBy
SEQUENCE_HOST: MicrosecondsBy
FLOOR_LAYER: MicrosecondsBy
"""A pass over a prompt launches every kernel anew."""
FLOOR_ROUTED: MicrosecondsBy
FLOOR_LINEAR: MicrosecondsBy
FLOOR_VENDOR: FactorBy

# Between cards.
REDUCE_LATENCY: MicrosecondsBy
REDUCE_ENGINE: FactorBy
REDUCE_GROWTH: Share
REDUCE_SHARE: ShareBy
STAGE_LOSS: Factor
"""Lengthening of a step for each doubling of the pipeline stages: uneven layers, waits."""

# Prompts beside steps, queues.
STALL_SHARE: FactorBy
REQUEST_S: PlainSeconds
"""Reading, tokens and scheduling of a request before its prompt is passed."""
QUEUE_SHARE: Factor
USUAL_TOGETHER: Share
"""Share of requests that arrive together with others where a question does not say: the middle of published
runs of known users."""
STEP_WAIT: Factor
TOGETHER_SHARE: ShareBy
END_RANDOM: Factor
END_EQUAL: Factor
"""Loss of a run at its end, when seats empty, for as many requests as seats."""
CAPACITY_MARGIN: Share
"""Share of the capacity above which a rate of arrivals is at the limit: no wait is stated."""

# Memory.
HELD_SHARE: Factor
"""Sequences that run over those that the cache holds at their mean length: they do not all peak at once."""
HELD_OUTPUT: Factor
"""Share of its output that a sequence holds at its mean."""
ACTIVATION_HIDDEN: BytesEachBy
"""Bytes of the profiled activation peak by token and width; 0 where the engine's share is without it."""
ACTIVATION_MLP: BytesEach
ACTIVATION_LOGITS: BytesEachBy
FIXED_GIB: PlainGib
COLLECTIVE_GIB: PlainGib
GRAPH_LAYER_MIB: Mib

fill("serving", sys.modules[__name__])
