"""Dependent reductions in one pass."""
