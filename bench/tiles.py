"""Tiles of the contract family on a GPU, beside each other, in one process.

    python bench/tiles.py [DEVICE] [SIDE] [ROUNDS]

For square products of this side and of half of it: microseconds of a launch by each
tile, medians by the device's clock, and its speed beside the first one's: that is what
`SPEEDS` in `lower/families/blocks.py` says of tiles that fill the device.  `*` marks
the one that the family takes.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import numpy as np

from rewrite.backends.devices import device
from rewrite.egraph.dtypes import F32
from rewrite.egraph.evaluate import expand_macros
from rewrite.egraph.graph import Builder
from rewrite.extract.assemble import build_kernel
from rewrite.extract.kernel import Kernel
from rewrite.extract.schedule import GraphTerms
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.families.blocks import SHAPES, Shape
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.model import model_of
from rewrite.measure import timer, turns


def matmul(side: int) -> Kernel:
    b = Builder()
    x, w = (b.input(name, F32, (side, side)) for name in "xw")
    graph = expand_macros(b.build([b.matmul(x, w)]))
    roots = [i for _, i in graph.outputs]
    return normalise(build_kernel(GraphTerms(graph), roots, ()).kernel)


def holes_of(shape: Shape) -> Holes:
    return tuple(sorted(zip(Shape._fields, shape, strict=True)))


def contest(side: int, dev: Any, rounds: int) -> None:
    kernel, caps = matmul(side), dev.caps()
    fits = [s for s in SHAPES if CONTRACT.cost(kernel, model_of(caps), holes_of(s))]
    made = [
        CONTRACT.lower(kernel, caps, f"f{i}", False, holes_of(s))
        for i, s in enumerate(fits)
    ]
    own = CONTRACT.lower(kernel, caps, "own", False)
    module = dev.compile(made)
    rng = np.random.default_rng(0)
    buffers = [dev.alloc(t.itemsize * n) for t, n in kernel.slots]
    for buffer, (t, n) in zip(buffers, kernel.slots, strict=True):
        dev.copy_in(buffer, rng.standard_normal(n).astype(t.numpy))
    args = range(len(buffers))
    timers = [
        timer(dev.time, lambda n, f=f: module.prepare([(f.name, args)] * n, buffers))
        for f in made
    ]
    seconds = [median(t) for t in turns(timers, rounds)]
    print(f"{side} x {side} x {side}")
    for shape, f, t in zip(fits, made, seconds, strict=True):
        mark = "*" if f.body == own.body else " "
        rows, columns, depth, height, width = shape
        tile = f"{rows} x {columns} over {depth}, {height} x {width} a thread"
        print(f"{mark} {tile:38} {t * 1e6:10.1f} {seconds[0] / t:6.2f}")


def main() -> int:
    dev = device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    print(dev.probe().detail)
    for n in (side, side // 2):
        contest(n, dev, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
