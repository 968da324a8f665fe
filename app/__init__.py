"""Cardworth: which GPU to buy or rent for a model, and why."""

from importlib.metadata import PackageNotFoundError, version

from app.core.calibration import Calibration, install
from app.resources import read_table, resource_path

try:
    __version__ = version("cardworth")
except PackageNotFoundError:  # a bare checkout on the import path
    __version__ = "0.0.0"

# The core reads no file: its constants are handed in before any of its formulas is imported.
CALIBRATION = "calibration.csv"
install(Calibration.read(read_table(resource_path("seed_data", CALIBRATION)), CALIBRATION))
