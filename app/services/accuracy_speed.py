"""Estimating the speed of every published measurement that it has not seen, and saying how far off."""

from __future__ import annotations

from collections.abc import Mapping

from app.catalog.snapshot import Snapshot
from app.core.answer import parts_of
from app.core.calibration import installed
from app.core.speed.accuracy import Errors, speed_accuracy
from app.services.accuracy_answers import (
    Aim,
    AimedRanks,
    AimedScaling,
    BasisErrors,
    Constant,
    Floor,
    IntervalHolds,
    KindErrors,
    RankAims,
    ScalingAims,
    Span,
    SpeedAccuracyReport,
    SpeedLimits,
    SpeedPeer,
    SpeedRows,
)
from app.services.results import Versions

PARTS = ("report", "fit", "all")

BASIS_TARGETS: Mapping[str, tuple[float, float]] = {
    "published_same_source": (0.05, 0.20),
    "published_other_source": (0.12, 0.45),
    "card_unseen": (0.13, 0.40),
    "model_unseen": (0.20, 0.80),
    "neither_seen": (0.22, 0.90),
}
"""|ln(measured / estimated)| at the median and the 90th percentile that is aimed at."""
CLASS_TARGETS: Mapping[str, tuple[float, float]] = {
    "cnn_training": (0.13, 0.35),
    "cnn_inference_classifiers": (0.15, 0.45),
    "encoder_training": (0.15, 0.45),
    "encoder_inference": (0.12, 0.30),
    "decoder_training": (0.09, 0.30),
    "moe_training": (0.40, 1.00),
    "decode": (0.10, 0.35),
    "decode_moe": (0.35, 0.90),
    "prefill": (0.10, 0.35),
    "serving": (0.10, 0.55),
    "diffusion": (0.12, 0.35),
}
SIGNED_TARGET = 0.08
WITHIN_TARGET = 0.80
INTERVAL_TARGET = {"all": Span(0.75, 0.88), "each": Span(0.70, 0.92)}
SCALING_TARGET = ScalingAims(median=5.0, p90=17.0, bias=3.0)
RANK_TARGET = RankAims(median=0.97, tenth=0.90, lost=0.05)
FLOOR = Floor(between_sources=(0.11, 0.40), within_a_source=(0.035, 0.18))
"""How far measurements of one key are from each other."""
PEERS: tuple[SpeedPeer, ...] = (
    SpeedPeer("gpu_poor", "decode", 0.62, 1.98),
    SpeedPeer("llm-analysis", "decode", 0.85, 1.58),
    SpeedPeer("ridgepoint", "decode", 0.29, 2.12),
    SpeedPeer("gpu_poor", "prefill", 1.63, 3.80),
    SpeedPeer("llm-analysis", "prefill", 1.71, 4.34),
    SpeedPeer("ridgepoint", "prefill", 0.56, 1.28),
    SpeedPeer("gpu_poor", "decoder_training", 0.52, 4.43),
    SpeedPeer("llm-analysis", "decoder_training", 1.11, 2.51),
)
"""The same measure for other calculators, on the same measurements."""


def speed_report(snapshot: Snapshot, part: str = "report") -> SpeedAccuracyReport:
    """The accuracy of the speed estimates as /method shows it and the API answers; half a minute of work.

    Parameters
    ----------
    snapshot: the catalogue, whose benchmarks are estimated.
    part: "report" is what may be quoted, "fit" what constants were read from; "all": both together.
    """
    models = {key: preset.architecture for key, preset in snapshot.models.items()}
    found = speed_accuracy(snapshot.benchmarks, models, snapshot.gpus, part)
    return SpeedAccuracyReport(
        part=part,
        bases=tuple(
            BasisErrors(**parts_of(errors), basis=key, target=_aim(BASIS_TARGETS, key))
            for key, errors in found.by_basis.items()
        ),
        classes=tuple(_kind(key, errors) for key, errors in found.by_class.items()),
        model_alone=tuple(
            KindErrors(**parts_of(errors), kind=key, target=None) for key, errors in found.model_alone.items()
        ),
        intervals=tuple(
            IntervalHolds(
                basis, errors.n, errors.inside, INTERVAL_TARGET["all" if basis == "all" else "each"]
            )
            for basis, errors in found.intervals.items()
        ),
        ranks=AimedRanks(**parts_of(found.ranks), target=RANK_TARGET),
        scaling=AimedScaling(**parts_of(found.scaling), target=SCALING_TARGET),
        limits=SpeedLimits(SIGNED_TARGET, WITHIN_TARGET),
        floor=FLOOR,
        peers=PEERS,
        constants=_constants(),
        cases=SpeedRows(found.rows, found.expressed),
        versions=Versions.of(snapshot.version),
    )


def _kind(key: str, errors: Errors) -> KindErrors:
    return KindErrors(**parts_of(errors), kind=key, target=_aim(CLASS_TARGETS, key))


def _aim(targets: Mapping[str, tuple[float, float]], key: str) -> Aim | None:
    return Aim(*targets[key]) if key in targets else None


def _constants() -> tuple[Constant, ...]:
    """Every constant of the table, with what is known of it; `rows` count those of the fitted half."""
    return tuple(
        Constant(
            entry.label,
            entry.value,
            entry.unit,
            entry.valid_for[0],
            tuple(entry.valid_for),
            entry.n,
            entry.spread,
            entry.kind,
            tuple(entry.sources),
            entry.read_on or None,
        )
        for entry in installed().entries.values()
    )
