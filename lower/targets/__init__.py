"""Targets: how the statements of a tile program become threads."""
