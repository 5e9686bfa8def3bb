"""Whether the rules show that two terms are equal: `asking.py` leads."""

from .asking import ask, with_orders
from .derivation import Answer, Witness, aligned, derive

__all__ = ["Answer", "Witness", "aligned", "ask", "derive", "with_orders"]
