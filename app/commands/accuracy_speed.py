"""accuracy speed: the tables of the speed accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.commands.output import table
from app.services.accuracy_answers import BasisErrors, IntervalHolds, KindErrors, SpeedAccuracyReport

Gettext = Callable[[str], str]
NO_DATA = "–"


def speed(answer: SpeedAccuracyReport, _: Gettext) -> list[str]:
    """Tables of the speed accuracy."""
    part = {"report": _("report part"), "fit": _("fit part"), "all": _("all rows")}[answer.part]
    lines = [f"{_('Speed, estimated against measured')} ({part})", ""]
    lines += _errors(_("what was seen"), [(_bases(_).get(r.basis, r.basis), r) for r in answer.bases], _)
    names = _classes(_)
    for title, rows in ((_("class"), answer.classes), (_("model alone"), answer.model_alone)):
        lines += ["", *_errors(title, [(names.get(r.kind, r.kind), r) for r in rows], _)]
    lines += ["", *_intervals(answer.intervals, _), ""]
    ranks, scaling = answer.ranks, answer.scaling
    if ranks.groups:
        lines.append(
            f"{_('ranks of cards')}  {ranks.groups} {_('groups')}; "
            f"{_('rank correlation, median')} {ranks.median:.3f} ({ranks.target.median}), "
            f"{_('in nine of ten at least')} {ranks.tenth:.2f} ({ranks.target.tenth}); "
            f"{_('speed lost with our first card')} {ranks.lost:.1%} ({ranks.target.lost:.0%})"
        )
    if scaling.n:
        lines.append(
            f"{_('2 to 8 cards')}  n {scaling.n}; {_('efficiency off by')} {scaling.median:.1f} / "
            f"{scaling.p90:.1f} {_('points')} ({scaling.target.median:.0f} / "
            f"{scaling.target.p90:.0f}), {_('bias')} {scaling.bias:+.1f}"
        )
    cases, versions = answer.cases, answer.versions
    lines.append(f"{_('rows expressed')}  {cases.expressed:,} / {cases.total:,}")
    return [*lines, "", f"{_('engine')} {versions.engine}   {_('catalogue')} {versions.catalog}"]


def _errors(title: str, rows: Sequence[tuple[str, BasisErrors | KindErrors]], _: Gettext) -> list[str]:
    head = [
        title,
        "n",
        _("|median|"),
        _("|90th pct|"),
        _("median"),
        _("within × 1.5"),
        _("in low–high"),
        _("target"),
    ]
    cells = [head]
    for label, row in rows:
        target = row.target
        cells.append(
            [
                label,
                str(row.n),
                f"{row.median:.1%}",
                f"{row.p90:.0%}",
                f"{row.signed_median:+.1%}",
                f"{row.within:.0%}",
                NO_DATA if row.inside is None else f"{row.inside:.0%}",
                f"{target.median:.0%} / {target.p90:.0%}" if target else "",
            ]
        )
    return table(cells)


def _intervals(rows: Sequence[IntervalHolds], _: Gettext) -> list[str]:
    cells = [[_("stated 80 % interval"), "n", _("holds"), _("target")]]
    for row in rows:
        target = row.target
        cells.append(
            [
                row.basis,
                str(row.n),
                NO_DATA if row.inside is None else f"{row.inside:.0%}",
                f"{target.low:.0%}–{target.high:.0%}",
            ]
        )
    return table(cells)


def _bases(_: Gettext) -> dict[str, str]:
    return {
        "published_same_source": _("published, same source"),
        "published_other_source": _("published, other source"),
        "card_unseen": _("card unseen"),
        "model_unseen": _("model unseen"),
        "neither_seen": _("neither seen"),
        "source_unseen": _("source unseen"),
    }


def _classes(_: Gettext) -> dict[str, str]:
    return {
        "cnn_training": _("image models, training"),
        "cnn_inference": _("image models, inference"),
        "cnn_inference_classifiers": _("… classifiers alone"),
        "encoder_training": _("encoders, training"),
        "encoder_inference": _("encoders, inference"),
        "decoder_training": _("decoder pretraining, dense"),
        "moe_training": _("decoder pretraining, MoE"),
        "lora": "LoRA",
        "qlora": "QLoRA",
        "decode": _("decode"),
        "decode_moe": _("decode, MoE"),
        "prefill": _("prefill"),
        "serving": _("saturated serving"),
        "diffusion": _("diffusion"),
        "speech": _("speech"),
    }
