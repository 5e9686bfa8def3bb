"""What rules do for real models (`coverage.py`), in whichever order they stand."""

from .coverage import Cover, RuleCover, Setting, cover, planned, why_off

__all__ = ["Cover", "RuleCover", "Setting", "cover", "planned", "why_off"]
