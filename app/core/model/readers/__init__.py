"""Readers of config.json by family of architectures."""
