"""Products by a device's library beside our own kernels, in one process.

    python bench/library.py [DEVICE] [ROUNDS]

Contestants take turns; the table shows medians of a launch, by the device's clock, and
the library's rate and its share of our time.  Exits with 1 where results differ by more
than sums in another order do, or if the device has no library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from rewrite.backends.devices import device, library
from rewrite.egraph.ir.dtypes import BF16, F16, F32, F64, DType
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.steps import GraphTerms
from rewrite.lower.axes import normalise
from rewrite.lower.families.library import LIBRARY
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from rewrite.tuning.measure import timer, turns

DIFFER = {64: 1e-12, 32: 1e-4, 16: 2e-2}  # relative to the largest, by bits
GPU, ALL = 4096, 1024  # sides of the large products


class Row(NamedTuple):
    name: str
    kernel: Kernel
    flops: float


def row(name: str, flops: float, b: Builder, out: int) -> Row:
    graph = expand_macros(b.build([out]))
    roots = [i for _, i in graph.outputs]
    return Row(name, build_kernel(GraphTerms(graph), roots, ()).kernel, flops)


def matmul(m: int, k: int, n: int, dtype: DType = F32, batch: int = 1) -> Row:
    b = Builder()
    x, w = b.input("x", dtype, (batch, m, k)), b.input("w", dtype, (batch, k, n))
    name = f"{dtype} {f'{batch} x ' if batch > 1 else ''}{m} x {k} x {n}"
    return row(name, 2.0 * batch * m * k * n, b, b.matmul(x, w))


def dense(m: int, k: int, n: int, dtype: DType) -> Row:
    """With a bias and a gelu after it, and weights that lie turned."""
    b = Builder()
    x, w = b.input("x", dtype, (m, k)), b.input("w", dtype, (n, k))
    y = b.matmul(x, b.permute(w, (1, 0)))
    y = b.un("gelu", b.bin("add", *b.broadcast(y, b.input("b", dtype, (1, n)))))
    name = f"{dtype} gelu(x w + b) {m} x {k} x {n}"
    return row(name, 2.0 * m * k * n, b, y)


def scores(batch: int, length: int, heads: int, width: int, dtype: DType) -> Row:
    """Of attention, from queries and keys as they were projected."""
    b = Builder()
    q, k = (b.input(x, dtype, (batch, length, heads, width)) for x in "qk")
    y = b.matmul(b.permute(q, (0, 2, 1, 3)), b.permute(k, (0, 2, 3, 1)))
    flops = 2.0 * batch * heads * length * length * width
    name = f"{dtype} scores {batch} x {heads} of {length} x {width}"
    return row(name, flops, b, y)


def rows(gpu: bool) -> list[Row]:
    n = GPU if gpu else ALL
    part = n // 4
    plain = [
        matmul(17, 33, 65), matmul(part, part, part), matmul(n, n, n),
        matmul(64, n, n), matmul(512, 64, 512, F32, 8), matmul(part, n, 128, F64),
        dense(n // 2, part, n, F32), scores(2, 512, 8, 64, F32),
    ]  # fmt: skip
    small = [
        matmul(n, n, n, F16), matmul(n, n, n, BF16), matmul(part, part, part, F16),
        dense(n // 2, part, n, BF16), scores(2, 1024, 16, 64, F16),
    ]  # fmt: skip
    return plain + small if gpu else plain


def contest(of: Row, dev: Any, rounds: int) -> tuple[str, float, float, float]:
    """Our family, seconds of both, and by how much they differ."""
    kernel, caps = normalise(of.kernel), dev.caps()
    reason = LIBRARY.accepts(kernel)
    assert reason is None, reason
    family, _ = choose(kernel, model_of(caps))
    made = [
        family.lower(kernel, caps, "ours", False),
        LIBRARY.lower(kernel, caps, "its", False),
    ]
    module = dev.compile(made)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(n).astype(t.numpy) for t, n in kernel.slots]
    buffers = [dev.alloc(a.nbytes) for a in arrays]
    for buffer, a in zip(buffers, arrays, strict=True):
        dev.copy_in(buffer, a)
    args = range(len(buffers))
    got: list[Array] = []

    def launched(name: str) -> Callable[[], float]:
        return timer(dev.time, lambda n: module.prepare([(name, args)] * n, buffers))

    timers = [launched(f.name) for f in made]
    for t in timers:
        t()
        dev.sync()
        got.append(np.empty_like(arrays[-1]))
        dev.copy_out(buffers[-1], got[-1])
    ours, its = (x.astype(np.float64) for x in got)
    differ = float(np.abs(ours - its).max() / np.abs(ours).max())
    seconds = [median(t) for t in turns(timers, rounds)]
    for buffer in buffers:
        dev.free(buffer)
    return family.name, seconds[0], seconds[1], differ


def main() -> int:
    dev = device(sys.argv[1] if len(sys.argv) > 1 else "c")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    found = library(dev.name)
    print(
        f"{dev.probe().detail}; {found.detail if found else 'no library of products'}"
    )
    if found is None or not found.ok:
        return 1
    wrong = 0
    heads = f"{'us':>10} {'library':>10} {'GFLOP/s':>9} {'share':>6}"
    print(f"{'product':34} {'ours':10} {heads}")
    for x in rows(not dev.caps().cpu_like):
        family, ours, its, differ = contest(x, dev, rounds)
        bits = x.kernel.slots[-1][0].bits
        note = f"  differs by {differ:.1e}" if not differ <= DIFFER[bits] else ""
        wrong += bool(note)
        figures = f"{ours * 1e6:10.1f} {its * 1e6:10.1f} {x.flops / its / 1e9:9.0f}"
        print(f"{x.name:34} {family:10} {figures} {its / ours:6.2f}{note}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
