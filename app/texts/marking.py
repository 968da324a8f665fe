"""Marking texts for translation: `make texts` finds what is marked."""

from __future__ import annotations


def N_(text: str) -> str:
    """Mark a text; it is translated where it is said."""
    return text


def NP_(context: str, text: str) -> str:
    """Mark a text that reads differently in this context; `pgettext` translates it."""
    del context
    return text
