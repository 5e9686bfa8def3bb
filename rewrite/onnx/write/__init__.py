"""Models out: the same computation by fewer and cheaper standard operators."""

from .optimize import Optimized, optimize

__all__ = ["Optimized", "optimize"]
