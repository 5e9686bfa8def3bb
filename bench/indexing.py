"""Gathers, scatters and arg-reductions on a device beside NumPy, in one process.

    python bench/indexing.py [ROUNDS] [DEVICE]

Contestants take turns; the table shows medians of the processor's time, of all threads,
and of the clock's, and how many times faster by the processor.  Results are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.assemble import concrete
from rewrite.pipeline import optimize_graph
from rewrite.tuning.timing import turns

type Arrays = dict[str, Any]


class Row(NamedTuple):
    name: str
    graph: Graph
    numpy: Callable[[Arrays], Any]


def scattered(
    mode: str, shape: tuple[int, ...], axis: int, count: int, base: bool
) -> Graph:
    """Lines of an input, or of zeros, changed at positions along an axis."""
    b = Builder()
    full = tuple(count if a == axis else n for a, n in enumerate(shape))
    line = tuple(count if a == axis else 1 for a in range(len(shape)))
    zeros = b.expand(b.const(0.0, F32, (1,) * len(shape)), shape)
    x = b.input("x", F32, shape) if base else zeros
    at = b.input("i", I64, line)
    at = at if line == full else b.expand(at, full)
    return b.build([b.add("scatter", (x, at, b.input("v", F32, full)), (mode, axis))])


def gathered(rows: int, columns: int, count: int) -> Graph:
    b = Builder()
    at = b.expand(b.input("i", I64, (count, 1)), (count, columns))
    return b.build([b.gather(b.input("x", F32, (rows, columns)), at, 0)])


def best(shape: tuple[int, ...], axis: int) -> Graph:
    b = Builder()
    x = b.input("x", F32, shape)
    return b.build([b.add("argreduce", (x,), ("argmax", axis, I64))])


def added(shape: tuple[int, ...]) -> Callable[[Arrays], Any]:
    def run(a: Arrays) -> Any:
        out: Any = np.zeros(shape, "f4")
        np.add.at(out, a["i"].ravel(), a["v"])
        return out

    return run


def put(axis: int) -> Callable[[Arrays], Any]:
    def run(a: Arrays) -> Any:
        out = a["x"].copy()
        out[(slice(None),) * axis + (a["i"].ravel(),)] = a["v"]
        return out

    return run


def rows() -> list[Row]:
    choices = (((256, 50257), 1), ((4096, 1024), 0), ((1 << 24,), 0))
    return [
        Row("gradient of an embedding, 2048 of 8000x768",
            scattered("add", (8000, 768), 0, 2048, False), added((8000, 768))),
        Row("gradient of an embedding, 512 of 1000x64",
            scattered("add", (1000, 64), 0, 512, False), added((1000, 64))),
        Row("histogram of 1M by 1000",
            scattered("add", (1000,), 0, 1 << 20, False), added((1000,))),
        Row("rows set, 2048 of 8000x768",
            scattered("set", (8000, 768), 0, 2048, True), put(0)),
        Row("cache of keys, 4 of 8x1024x128",
            scattered("set", (8, 1024, 128), 1, 4, True), put(1)),
        Row("embedding, 4096 of 50000x768", gathered(50000, 768, 4096),
            lambda a: np.take(a["x"], a["i"].ravel(), axis=0)),
        Row("embedding, 8192 of 1000x64", gathered(1000, 64, 8192),
            lambda a: np.take(a["x"], a["i"].ravel(), axis=0)),
        *(Row(f"argmax of {'x'.join(map(str, shape))} along {axis}", best(shape, axis),
              lambda a, axis=axis: np.argmax(a["x"], axis=axis, keepdims=True))
          for shape, axis in choices),
    ]  # fmt: skip


def inputs_of(graph: Graph) -> Arrays:
    rng: Any = np.random.default_rng(0)
    given: Arrays = {}
    for n in graph.inputs:
        shape = concrete(n.type)
        drawn = rng.integers(0, extent(graph), shape) if n.dtype is I64 else None
        given[n.attrs[0]] = rng.random(shape, "f4") if drawn is None else drawn
    return given


def extent(graph: Graph) -> int:
    """Of the axis that positions count."""
    node = graph.nodes[graph.outputs[0][1]]
    if node.op == "argreduce":
        return 1
    (*_, axis) = node.attrs
    return concrete(graph.nodes[node.args[0]].type)[axis]


def measured(row: Row, name: str, rounds: int) -> bool:
    """Prints the row; whether the results agree."""
    given = inputs_of(row.graph)
    run = optimize_graph(row.graph, name, Options(fallback=False))
    agrees = np.allclose(run(given)["out0"], row.numpy(given), 1e-5, 1e-5)
    runs: dict[str, Callable[[], Any]] = {
        "own": lambda: run(given), "numpy": lambda: row.numpy(given)
    }  # fmt: skip
    found = turns(runs, rounds).values()
    cpu, own, numpy_cpu, numpy = (
        1e3 * median(t)
        for ts in found
        for t in zip(*((t.cpu, t.wall) for t in ts), strict=True)
    )
    print(f"{row.name:44} {cpu:8.3f} {own:8.3f} {numpy_cpu:10.3f} {numpy:8.3f}"
          f" {numpy_cpu / cpu:6.1f}" + ("" if agrees else "  WRONG"))  # fmt: skip
    return agrees


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    name = sys.argv[2] if len(sys.argv) > 2 else "c"
    heads = f"{'cpu':>8} {'clock':>8} {'numpy cpu':>10} {'clock':>8} {'x':>6}"
    print(f"{name + ', ms':44} {heads}")
    return sum([not measured(row, name, rounds) for row in rows()])


if __name__ == "__main__":
    sys.exit(main())
