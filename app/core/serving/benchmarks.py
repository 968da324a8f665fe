"""Measurements of the catalogue that fill an engine, as runs of a server: they fit and judge nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from app.core.gpu import Benchmark
from app.core.gpu_table import GpuTable
from app.core.model.architecture import ModelArchitecture
from app.core.serving.runs import ServingRun
from app.core.speed.hidden import is_fitted
from app.core.speed.measurements import model_of_row, question_of
from app.core.speed.serving import is_served, load_of
from app.core.speed.terms import Shape

TOKENS_PER_S = "tokens_per_s"
LENGTHS = ("users", "prompt", "output")


def runs_of(
    rows: Iterable[Benchmark],
    models: Mapping[str, ModelArchitecture],
    table: GpuTable,
    position: Mapping[str, int],
) -> tuple[ServingRun, ...]:
    """Those of the fitted half whose question is one of a full engine.

    Parameters
    ----------
    rows: measurements. models: architectures by id. table, position: the cards and the row of each id.
    """
    found = []
    for row in rows:
        model = model_of_row(row, models) if row.gpu_id in position and row.model_id in models else None
        if (
            model is None
            or not is_fitted(row.id)
            or row.unit != TOKENS_PER_S
            or row.phase in ("prefill", "decode")
        ):
            continue
        source = row.source
        if source is None:
            continue
        asked = question_of(row, model, float(table.usable_gib[position[row.gpu_id]]))
        if asked is None or asked[0].load != "saturated" or asked[0].latency_limit_ms:
            continue
        work, plan = asked
        shape = Shape.of(work)
        if work.trains or model.family != "decoder" or not is_served(work, shape):
            continue
        load = load_of(work, shape)
        found.append(
            ServingRun(
                id=row.id,
                gpu_id=row.gpu_id,
                plan=plan,
                model_id=row.model_id,
                precision=work.precision,
                kv_precision=work.kv_precision,
                engine=work.engine,
                engine_version=work.engine_version,
                load=replace(load, **{n: float(np.max(getattr(load, n))) for n in LENGTHS}, together=0.0),
                eager=False,
                max_num_seqs=work.max_num_seqs,
                memory_fraction=work.memory_fraction,
                power_share=1.0,
                measured={"total": row.value},
                calibrates=True,
                title=row.framework,
                url=source.url or source.id,
                published=row.observed_on,
            )
        )
    return tuple(found)
