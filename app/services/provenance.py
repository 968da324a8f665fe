"""The basis of what was observed on the market: prices, rents, rates, measurements."""

from __future__ import annotations

from typing import Any

from app.core.estimates import Basis
from app.core.gpu import PriceChoice

OBSERVED: Basis = "exact"
"""A price, a rent, a rate of exchange as its source states it, on its day and in its currency."""
MEASURED: Basis = "measured"
"""A throughput that somebody timed."""
GIVEN: Basis = "assumed"
"""A price that the request gives."""


def price_provenance(price: PriceChoice) -> dict[str, Any]:
    """Basis of the price that counts; where it was worked out, also the formula in the fields beside it."""
    if price.kind == "override":
        return {"basis": GIVEN}
    steps = []
    if len(price.observation_ids) > 1:
        steps.append("amount = median of observation_ids")
    if price.stated_amount is not None and price.tax_rate is not None:
        sign = "/" if price.tax == "excluded" else "*"
        steps.append(f"amount = stated_amount {sign} (1 + tax_rate)")
    if price.converted:
        steps.append("amount_cny = amount * rate")
    if steps:
        return {"basis": "derived", "formula": "; ".join(steps)}
    return {"basis": OBSERVED}
