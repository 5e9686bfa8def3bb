"""A failing model and its rules, cut down: `reducer.py` leads."""

from .reducer import Asking, Reduced, Unsteady, reduce, rules_for, write

__all__ = ["Asking", "Reduced", "Unsteady", "reduce", "rules_for", "write"]
