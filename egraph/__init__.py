"""The graph, what its text may define besides, and the e-graph."""

from .looping import branch as _branch
from .looping import loop as _loop

__all__ = ["_branch", "_loop"]
