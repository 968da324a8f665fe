"""Memory per GPU: parts, interval, what the framework reserves."""

from app.core.memory import formula_list as formula_list
from app.core.memory.estimator import estimate, explained
from app.core.memory.kv import kv_bytes_per_token

__all__ = ["estimate", "explained", "kv_bytes_per_token"]
