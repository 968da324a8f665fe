"""Shapes of requests and answers, for the documentation of the API."""
