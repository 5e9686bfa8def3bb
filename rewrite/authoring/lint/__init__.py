"""What is wrong with rule files, all of it in one run: `linter.py` leads."""

from .linter import Report, lint

__all__ = ["Report", "lint"]
