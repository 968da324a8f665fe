"""Texts: every sentence and word a reader sees, and how it is said in a language."""
