"""Marking texts for translation."""

from __future__ import annotations


def N_(text: str) -> str:
    """Mark a text for extraction; it is translated where it is drawn."""
    return text
