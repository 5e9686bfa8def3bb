"""Passes: each takes a function of the loop IR and gives one that does the same.

`PASSES` do so bit for bit: sums are not reassociated and products not contracted.
`LOOSE` ones round otherwise: what they make is right within the rounding of sums and
products, and the same where nothing rounds, as in integers, minima and maxima.  Any
order of both, with repetition, keeps a function right and its rules kept (`verify`).
"""

from __future__ import annotations

from collections.abc import Callable

from ..loops import Function
from .barriers import barriers
from .common import common
from .constants import constants
from .dead import dead
from .fma import fma
from .invariant import invariant
from .jam import jam
from .merge import merge
from .pad import pad
from .permute import permute
from .ranges import ranges
from .scalars import scalars
from .split import split
from .stage import stage
from .steps import steps
from .unroll import unroll
from .vectorise import vectorise
from .wide import wide
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
    "pad": pad,
    "split": split,
    "merge": merge,
    "permute": permute,
    "jam": jam,
    "stage": stage,
    "barriers": barriers,
    "vectorise": vectorise,
    "widen": widen,
}
LOOSE: dict[str, Pass] = {
    "steps": steps,
    "wide": wide,
    "fma": fma,
}
