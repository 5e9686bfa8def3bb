"""Tiles of the fold family on a GPU, beside each other, in one process.

    python bench/tiles.py [DEVICE] [SIDE] [ROUNDS]

For attention over a sixteenth, a quarter and half of SIDE tokens: microseconds of a
launch by each tile, medians by the device's clock, and its speed beside the first
one's.  `*` marks the one that the family takes; the last line is the same in kernels of
their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

import rewrite
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.steps import GraphTerms
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.families.fold import FOLD
from rewrite.lower.families.folds.group_tiles import GROUPS, Group
from rewrite.lower.model import Family, model_of
from rewrite.tuning.measure import timer, turns

type Run = Callable[[], None]


def kernel_of(b: Builder, output: int) -> Kernel:
    graph = expand_macros(b.build([output]))
    roots = [i for _, i in graph.outputs]
    return normalise(build_kernel(GraphTerms(graph), roots, ()).kernel)


def attention(heads: int, tokens: int, width: int) -> Kernel:
    b = Builder()
    q, k, v = (b.input(name, F32, (heads, tokens, width)) for name in "qkv")
    s = b.matmul(q, b.permute(k, (0, 2, 1)))
    p = b.un("exp", b.bin("sub", *b.broadcast(s, b.reduce("max", s, [2]))))
    y = b.bin("div", *b.broadcast(b.matmul(p, v), b.reduce("sum", p, [2])))
    return kernel_of(b, y)


def scores(q: Any, k: Any) -> Any:
    return q @ xp.permute_dims(k, (0, 2, 1))


def weights(s: Any) -> Any:
    return xp.nn.softmax(s, axis=-1)


def values(p: Any, v: Any) -> Any:
    return p @ v


def apart(dev: Any, heads: int, tokens: int, width: int) -> Run:
    """Attention in kernels of their own, which store scores and weights."""
    x, s = np.zeros((heads, tokens, width), np.float32), (heads, tokens, tokens)
    given = (scores, (x, x)), (weights, (np.zeros(s, np.float32),))
    given = (*given, (values, (np.zeros(s, np.float32), x)))
    made = [rewrite.optimize(f, *args, device=dev).compiled for f, args in given]
    runs = [c.executable({}) for c in made]

    def run() -> None:
        for r in runs:
            assert r is not None
            r.launch()

    return run


def holes_of(tile: Group) -> Holes:
    return tuple(sorted(zip(tile._fields, tile, strict=True)))


def repeated(run: Run, n: int) -> Run:
    def many() -> None:
        for _ in range(n):
            run()

    return many


def contest(
    kernel: Kernel, family: Family, tiles: Sequence[Group], dev: Any,
    rounds: int, beside: Run | None = None,
) -> None:  # fmt: skip
    caps = dev.caps()
    fits = [t for t in tiles if family.cost(kernel, model_of(caps), holes_of(t))]
    made = [
        family.lower(kernel, caps, f"f{i}", False, holes_of(t))
        for i, t in enumerate(fits)
    ]
    own = family.lower(kernel, caps, "own", False)
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
    if beside is not None:
        timers.append(timer(dev.time, lambda n: repeated(beside, n)))
    seconds = [median(t) for t in turns(timers, rounds)]
    for tile, f, t in zip(fits, made, seconds, strict=False):
        mark = "*" if f.body == own.body else " "
        named = ", ".join(f"{n} {v}" for n, v in zip(tile._fields, tile, strict=True))
        print(f"{mark} {named:54} {t * 1e6:10.1f} {seconds[0] / t:6.2f}")
    if beside is not None:
        t = seconds[-1]
        print(f"  {'in kernels of their own':54} {t * 1e6:10.1f} {seconds[0] / t:6.2f}")


def main() -> int:
    dev = device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    print(dev.probe().detail)
    over = ((side // 16, 64), (side // 4, 64), (side // 2, 64), (side // 2, 128))
    for tokens, width in over:
        print(f"attention of 8 heads, {tokens} tokens, {width} wide")
        kernel = attention(8, tokens, width)
        contest(kernel, FOLD, GROUPS, dev, rounds, apart(dev, 8, tokens, width))
    return 0


if __name__ == "__main__":
    sys.exit(main())
