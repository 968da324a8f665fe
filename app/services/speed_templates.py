"""English source texts of messages about speed, measurements and the check of a card, by code."""

from __future__ import annotations

from app.services.marking import N_

SPEED_TEMPLATES: dict[str, str] = {
    "reference_kernels": N_(
        "This engine runs reference kernels for experts or quantized weights: no roofline tells their time, "
        "so the interval is wide. A serving engine is usually many times faster."
    ),
    "saturated_up_to": N_(
        "Not stated; the engine is full: up to {value} sequences per replica, fewer where the KV cache holds "
        "fewer."
    ),
    "saturated_sequences": N_("Not stated; the engine is full: so many sequences at once."),
    "tf32_runs_as_fp32": N_("{gpu} has no TF32: it computes in FP32, at the speed of FP32."),
    "latency_limit_unreachable": N_(
        "{limit_ms} ms per token cannot be kept: one sequence at a time takes {reachable_ms} ms. The speed "
        "is that of one at a time."
    ),
    "rejected_latency": N_(
        "One token takes at least {reachable_ms} ms, longer than the {limit_ms} ms allowed, even one "
        "sequence at a time."
    ),
    "remedy_latency_limit": N_(
        "Allow {allowed_ms} ms per token, or take a smaller model or fewer bits per weight."
    ),
    "cannot_run_there": N_("It does not fit on {count} × {gpu} ({margin_gib} short), so there is no speed."),
    "engine_cannot_run_there": N_("{engine} does not run on {gpu}, so there is no speed."),
    # The check of a card
    "card_as_sold": N_("{gpu}: what was measured agrees with what it is sold as."),
    "card_doubtful": N_(
        "{gpu}: nothing speaks against it, but something holds it back or differs; see below."
    ),
    "card_not_as_sold": N_("{gpu}: this is not what it is sold as."),
    "card_not_measured": N_("Nothing is said of {gpu}: the script ran without a card, or with small sizes."),
    "other_name": N_("The driver calls this card {reported}, which is not {gpu}."),
    "other_chip": N_(
        "The chip has {measured} multiprocessors, that of {gpu} has {expected}. Firmware cannot add any: it "
        "is another chip."
    ),
    "other_capability": N_(
        "The chip has compute capability {measured}, {gpu} has {expected}: another family."
    ),
    "memory_too_small": N_(
        "Memory: {measured} GiB, {expected} GiB expected. Less memory is another card, or one that was "
        "altered."
    ),
    "memory_larger": N_(
        "Memory: {measured} GiB, {expected} GiB usual. A variant with more memory, or firmware that claims "
        "it: see how much came back unchanged."
    ),
    "memory_not_real": N_(
        "Of {expected} GiB written, {measured} GiB came back unchanged: the rest is claimed by the firmware "
        "or broken."
    ),
    "bandwidth_low": N_(
        "Copy: {measured} GB/s, sound cards reach {expected} GB/s; more than 15 % short. Worn or missing "
        "memory chips, or another card."
    ),
    "rate_low": N_(
        "Matrix products in {precision}: {measured} TFLOPS, sound cards reach {expected} TFLOPS; more than "
        "15 % short. Look at cooling, power limit and slot first."
    ),
    "ecc_errors": N_("{measured} memory errors that could not be corrected."),
    "power_limited": N_("The power limit is {measured} W, {expected} W is usual: rates are lower for it."),
    "throttled": N_("Under load the driver held the clocks down: look at cooling and power supply."),
    "measurement_not_used": N_(
        "The speed was kept and is not used: what another card does says nothing of the kind that this one "
        "is sold as."
    ),
    "measurement_quick": N_(
        "Measured with --quick: small sizes say nothing of the speed; nothing was stored."
    ),
    "measurement_without_card": N_("The script ran without a card; nothing was stored."),
    "measurement_without_workload": N_(
        "The workload was not measured ({reason}); only the card was checked."
    ),
}
