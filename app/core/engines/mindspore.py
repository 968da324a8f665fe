"""MindSpore: a framework for Ascend; its CUDA packages ended with 2.5."""

from __future__ import annotations

from app.core.engines.record import Framework, Hardware

FRAMEWORK = Framework(
    name="mindspore",
    title="MindSpore",
    filter_place=7,
    packages=(),
    hardware=Hardware(
        nvidia_from=None,
        classes=("ascend",),
        windows=False,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="mindspore",
        release_name="mindspore",
        release_columns={},
        stated_by_card=False,
        windows_by_release=False,
    ),
)
