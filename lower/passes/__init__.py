"""Passes: each takes a function of the loop IR and gives one that does the same.

Bit for bit: sums are not reassociated and products not contracted.  Any order, with
repetition, keeps a function right and its rules kept (`verify`).
"""

from __future__ import annotations

from collections.abc import Callable

from ..loops import Function
from .common import common
from .constants import constants
from .dead import dead
from .invariant import invariant
from .merge import merge
from .permute import permute
from .ranges import ranges
from .scalars import scalars
from .split import split
from .unroll import unroll
from .vectorise import vectorise
from .widen import widen

type Pass = Callable[[Function], Function]

PASSES: dict[str, Pass] = {
    "constants": constants,
    "ranges": ranges,
    "common": common,
    "invariant": invariant,
    "dead": dead,
    "scalars": scalars,
    "unroll": unroll,
    "split": split,
    "merge": merge,
    "permute": permute,
    "vectorise": vectorise,
    "widen": widen,
}
