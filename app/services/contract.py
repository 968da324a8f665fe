"""Words, ranges and fault types of the contract, for what describes it: schema, forms, flags."""

from __future__ import annotations

from app.catalog.snapshot import Snapshot
from app.core.decide.options import REJECTION_CODES
from app.core.estimates import PART_NAMES, Message
from app.core.faults import FieldError, InputFault
from app.core.field_values import limits_of
from app.core.gpu import RATE_FIGURES
from app.core.model.architecture import FAMILIES
from app.core.question import (
    CONDITIONS,
    DEFAULT_CONDITIONS,
    HOST_FIXED_CNY,
    HOST_SHARE,
    NEEDS,
    OBJECTIVES,
    REGIONS,
    WORK_UNITS,
    Economics,
)
from app.core.workload import (
    ATTENTION,
    ENGINE_CHOICES,
    LOADS,
    LOGITS,
    LORA_TARGETS,
    OPTIMIZERS,
    PADDING,
    RANGES,
    RECIPES,
    SOFTWARE,
    TASKS,
    Range,
)

__all__ = [
    "ATTENTION",
    "CONDITIONS",
    "DEFAULT_CONDITIONS",
    "ENGINE_CHOICES",
    "FAMILIES",
    "HOST_FIXED_CNY",
    "HOST_SHARE",
    "LOADS",
    "LOGITS",
    "LORA_TARGETS",
    "NEEDS",
    "OBJECTIVES",
    "OPTIMIZERS",
    "PADDING",
    "PART_NAMES",
    "RANGES",
    "RATE_FIGURES",
    "RECIPES",
    "REGIONS",
    "REJECTION_CODES",
    "SOFTWARE",
    "TASKS",
    "WORK_UNITS",
    "Economics",
    "FieldError",
    "InputFault",
    "Message",
    "Range",
    "Snapshot",
    "limits_of",
]
