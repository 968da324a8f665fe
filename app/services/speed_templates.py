"""English source texts of messages about speed, measurements and the check of a card, by code."""

from __future__ import annotations


def N_(text: str) -> str:
    """Mark a text for extraction; it is translated where it is said."""
    return text


SPEED_TEMPLATES: dict[str, str] = {
    "reference_kernels": N_(
        "This engine runs reference kernels for experts or quantized weights: no roofline tells their time, "
        "so the interval is wide. A serving engine is usually many times faster."
    ),
    "cannot_run_there": N_("It does not fit on {count} × {gpu} ({margin_gib} short), so there is no speed."),
    "engine_cannot_run_there": N_("{engine} does not run on {gpu}, so there is no speed."),
    # The check of a card
    "card_as_sold": N_("{gpu}: what was measured agrees with what it is sold as."),
    "card_not_as_sold": N_("{gpu}: this is not what it is sold as."),
    "card_not_measured": N_("Nothing is said of {gpu}: the script ran without a card, or with small sizes."),
    "memory_too_small": N_(
        "Memory: {measured} GiB, {expected} GiB expected. Less memory is another card, or one that was "
        "altered."
    ),
    "bandwidth_low": N_("Copy: {measured} GB/s, {expected} GB/s expected; more than 15 % short."),
    "rate_low": N_(
        "{figure}: {measured} TFLOPS, {expected} TFLOPS expected; more than 15 % short. Look at cooling, "
        "power limit and slot first."
    ),
    "ecc_errors": N_("{measured} memory errors that could not be corrected."),
    "power_limited": N_("The power limit is {measured} W, {expected} W is usual: rates are lower for it."),
    "measurement_quick": N_(
        "Measured with --quick: small sizes say nothing of the speed; nothing was stored."
    ),
    "measurement_without_card": N_("The script ran without a card; nothing was stored."),
    "measurement_without_workload": N_(
        "The workload was not measured ({reason}); only the card was checked."
    ),
}
