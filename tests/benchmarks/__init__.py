"""Benchmarks of the budgets that need more than a running server; `python -m tests.bench` runs them."""
