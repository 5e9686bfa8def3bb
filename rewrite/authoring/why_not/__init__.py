"""Why a rule did not fire at a node, or was of no use there: `answer.py` leads."""

from .answer import Answer, why_not

__all__ = ["Answer", "why_not"]
