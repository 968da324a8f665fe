"""Checkpoints of fewer bits: each method by its own fields, and what it leaves wide."""
