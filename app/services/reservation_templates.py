"""English source texts of what speaks against a question, and of advice on one option, by code."""

from __future__ import annotations

from app.services.marking import N_

RESERVATION_TEMPLATES: dict[str, str] = {
    # Number formats and engines
    "precision": N_("{gpu} has no {precision} arithmetic, so there is no speed. Ask for FP16."),
    "card_lacks_precision": N_("{gpu} has no {precision} arithmetic: use FP16."),
    "engine_not_for_family": N_(
        "{engine} does not run models of this kind ({family}): figures are no more than a guess."
    ),
    "format_not_for_family": N_(
        "{precision} is not used for models of this kind ({family}): figures are no more than a guess."
    ),
    # Rows of measurements
    "own_by_default": N_("No source was named: stored as your own measurement, which is trusted first."),
    "published_by_source": N_("A source was named: stored as a published measurement; say own to change it."),
    "measured_engine_assumed": N_("No framework was stated; {engine} is taken, as a question would."),
    "measurement_task_stored": N_("Stored as a fine-tuning run with {adapter}."),
    "row_unused_precision": N_("Kept, and not used by estimates: the precision is not stated."),
    "row_unused_engine": N_("Kept, and not used by estimates: the framework is not known."),
    "row_unused_model": N_(
        "Kept, and not used by estimates: the model is neither a preset nor a decoder of stated size."
    ),
    "row_unused_unit": N_(
        "Kept, and not used by estimates: models of this kind ({family}) are not measured in {unit}."
    ),
    "row_unused_lengths": N_(
        "Kept, and not used by estimates: batch, lengths or phase do not say what was measured."
    ),
    "row_unused_flag": N_("Kept, and not used by estimates: the row is flagged."),
    # Advice on one option
    "sla_needs_redundancy": N_(
        "For the strict service level take {nodes} hosts like this one: one of them may then fail."
    ),
    "tensorflow_setup": N_("TensorFlow as the estimate assumes it:"),
}
