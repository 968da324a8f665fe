"""PaddlePaddle: a framework that a question may ask for; its rows are asked of other engines."""

from __future__ import annotations

from app.core.engines.record import Framework, Hardware

FRAMEWORK = Framework(
    name="paddle",
    title="PaddlePaddle",
    filter_place=6,
    packages=("paddlepaddle", "paddlepaddle-gpu"),
    hardware=Hardware(
        nvidia_from=6.0,
        classes=("ascend", "cdna", "other"),
        windows=True,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="paddle",
        release_name="paddle",
        release_columns={},
        stated_by_card=False,
        windows_by_release=False,
    ),
)
