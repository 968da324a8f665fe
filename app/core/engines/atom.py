"""ATOM: AMD's serving engine, with tuned kernels for Instinct cards."""

from __future__ import annotations

from dataclasses import replace

from app.core.engines.record import Framework, Hardware, PublishedRows, Serving
from app.core.engines.vllm import ENGINE as VLLM

FRAMEWORK = Framework(
    name="atom",
    title="ATOM",
    filter_place=8,
    packages=(),
    hardware=Hardware(
        # Its published runs are on Instinct cards alone: seed_data/serving_runs.csv.
        nvidia_from=None,
        classes=("cdna",),
        windows=False,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="atom",
        release_name="atom",
        release_columns={},
        stated_by_card=True,
        windows_by_release=False,
    ),
)

# Memory as vLLM has it: the same paged cache.
ENGINE = replace(
    VLLM,
    framework=FRAMEWORK,
    place=10,
    chosen_for=(),
    families=("decoder",),
    alternative="",
    serving=Serving(
        share=0.9,
        step_tokens=(16384, 16384),
        sequences=(2048, 2048),
        large_from_gib=70.0,
        constants="atom",
        old_constants="atom",
        old_before=(),
        tuned=True,
    ),
    rows=PublishedRows(words=("atom",), stands_in_for=(), stands_in_for_unknown=(), new_since=""),
)
