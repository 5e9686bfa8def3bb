"""Models of which a graph holds a part: regions that are compiled, and nodes between
them that a host runs."""

from __future__ import annotations

from .piece import piece_of
from .stages import Hosted, Makers, Regions

__all__ = ["Hosted", "Makers", "Regions", "piece_of"]
