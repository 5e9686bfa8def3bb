"""How a graph is optimized: what callers may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .costs import NAMES, CostModel, is_named

type Precision = Literal["strict", "default", "fast"]

MOVES = {0: 0, 1: 10, 2: 40, 3: 200}  # extraction moves per class, by effort


@dataclass(frozen=True, slots=True)
class Options:
    """How to optimize.  `rules` are files beside the bundled ones."""

    precision: Precision = "default"
    rules: tuple[Path, ...] = ()
    effort: int = 2
    fallback: bool = True
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    cost: CostModel = "roofline"  # a name of costs.py, or a function of a kernel
    cache: bool = False  # whether plans and programs are kept on disk
    memory: int | None = None  # the most bytes that temporaries may take at once


def check_options(options: Options) -> None:
    """ValueError for an option that cannot be."""
    if options.precision not in ("strict", "default", "fast"):
        raise ValueError(
            f"precision={options.precision!r}: 'strict', 'default' or 'fast' expected"
        )
    if not (is_named(options.cost) or callable(options.cost)):
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"cost={options.cost!r}: {names} or a function of a kernel expected"
        )
    if options.memory is not None and options.memory < 0:
        raise ValueError(f"memory={options.memory}: a number of bytes was expected")
    if options.effort not in MOVES:
        raise ValueError(f"effort={options.effort!r}: 0, 1, 2 or 3 expected")
