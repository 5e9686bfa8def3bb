"""Whether the rules show that two terms are equal: `derivation.py` leads."""

from .derivation import Answer, Witness, aligned, derive

__all__ = ["Answer", "Witness", "aligned", "derive"]
