"""MindIE: Huawei's serving engine for Ascend cards."""

from __future__ import annotations

from dataclasses import replace

from app.core.engines.record import Framework, Hardware, PublishedRows, Serving
from app.core.engines.vllm import ENGINE as VLLM

FRAMEWORK = Framework(
    name="mindie",
    title="MindIE",
    filter_place=9,
    packages=(),
    hardware=Hardware(
        # Its published runs are on Ascend cards alone: seed_data/serving_runs.csv.
        nvidia_from=None,
        classes=("ascend",),
        windows=False,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="mindie",
        release_name="mindie",
        release_columns={},
        stated_by_card=True,
        windows_by_release=False,
    ),
)

# Memory as vLLM has it: the same paged cache.
ENGINE = replace(
    VLLM,
    framework=FRAMEWORK,
    place=11,
    chosen_for=(),
    families=("decoder",),
    alternative="",
    serving=Serving(
        share=0.8,
        step_tokens=(8192, 8192),
        sequences=(2048, 2048),
        large_from_gib=70.0,
        constants="mindie",
        old_constants="mindie",
        old_before=(),
        tuned=False,
    ),
    rows=PublishedRows(words=("mindie",), stands_in_for=(), stands_in_for_unknown=(), new_since=""),
)
