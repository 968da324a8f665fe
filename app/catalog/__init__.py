"""Persistence: the only SQL of the product."""
