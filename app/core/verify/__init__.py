"""Checking a card: a script to run on it, and what its answer says of the card."""

from app.core.verify.check import CardCheck, Finding, check_card
from app.core.verify.script import script, script_name

__all__ = ["CardCheck", "Finding", "check_card", "script", "script_name"]
