"""Cardworth: which GPU to buy or rent for a model, and why."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("cardworth")
except PackageNotFoundError:  # a bare checkout on the import path
    __version__ = "0.0.0"
