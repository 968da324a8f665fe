"""Throughput: measured first, modelled second. One set of formulas serves the grid and a single card."""

from app.core.speed.estimate import SpeedGrid, estimate, speed_grid
from app.core.speed.evidence import BenchmarkIndex
from app.core.speed.generation import speed_assumptions

__all__ = ["BenchmarkIndex", "SpeedGrid", "estimate", "speed_assumptions", "speed_grid"]
