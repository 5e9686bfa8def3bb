"""A failing model and its rules, cut down: `reducer.py` leads."""

from .reducer import Asking, Flaky, Reduced, reduce, rules_for, write

__all__ = ["Asking", "Flaky", "Reduced", "reduce", "rules_for", "write"]
