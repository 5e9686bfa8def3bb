"""Why a rule did not fire at a node, or was of no use there: `answer.py` leads; which
rules the precision keeps out of a model: `wider.py`."""

from .answer import Answer, why_not
from .wider import Widened, Wider, widened

__all__ = ["Answer", "Widened", "Wider", "why_not", "widened"]
