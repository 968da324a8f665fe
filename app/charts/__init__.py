"""Plotly figures as plain data: pure functions of a result."""
