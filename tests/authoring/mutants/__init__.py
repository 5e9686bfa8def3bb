"""Rules broken on purpose, and what becomes of them: `verdicts.py` leads."""

from .mutate import KINDS, SYMMETRIC, Mutant, loaded, mutants

__all__ = ["KINDS", "SYMMETRIC", "Mutant", "loaded", "mutants"]
