"""What opcodes take beside what the cost model counts for them, on c.

    REWRITE_THREADS=1 python bench/scalars.py

Each opcode over 8192 floats, which lie in the nearest cache, beside a chain of
multiplications and subtractions: `takes` is in operations of that chain (an operation
alone waits for the cache as well).  Time is of the processor, the least of the turns.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np

from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import BINARY, BY_NAME, UNARY
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.rows import MAP

N, DEEP, LAUNCHES, TURNS = 8192, 24, 20, 60


def kernels() -> dict[str, Kernel]:
    from tests.lower.harness import kernel_of

    found: dict[str, Kernel] = {}
    for name in ("chain", *(s.name for s in (*UNARY, *BINARY) if F32.kind in s.takes)):
        b = Builder()
        x, z = (b.input(label, F32, (N,)) for label in "xz")
        y = x
        if name == "chain":
            for _ in range(DEEP):
                y = b.bin("sub", b.bin("mul", y, x), x)
            y = b.un("neg", y)
        else:
            y = b.un(name, x) if BY_NAME[name].arity == 1 else b.bin(name, x, z)
        found[name] = normalise(kernel_of(b, [y]))
    return found


def measured(kernels: dict[str, Kernel]) -> dict[str, float]:
    """Seconds of an element."""
    dev = device("c")
    names = {n: f"f{i}" for i, n in enumerate(kernels)}
    module = dev.compile(
        [MAP.lower(k, dev.caps(), names[n], False) for n, k in kernels.items()]
    )
    rng, best = np.random.default_rng(0), dict.fromkeys(kernels, float("inf"))
    held = {n: [dev.alloc(c * t.itemsize) for t, c in k.slots]
            for n, k in kernels.items()}  # fmt: skip
    for n, k in kernels.items():
        for h, (t, c) in zip(held[n], k.slots, strict=True):
            dev.copy_in(h, rng.uniform(0.1, 2, c).astype(t.numpy))
    for _ in range(TURNS):
        for n in kernels:
            start = process_time()
            for _ in range(LAUNCHES):
                module.launch(names[n], held[n], None)
            dev.sync()
            best[n] = min(best[n], (process_time() - start) / LAUNCHES / N)
    return best


def main() -> None:
    sys.path.append(str(Path(__file__).parents[1]))  # the tests' kernels
    seconds = measured(kernels())
    one = (seconds["chain"] - seconds["neg"]) / (2 * DEEP)
    print(f"a flop: {one * 1e12:.1f} ps, {1e-9 / one:.1f} Gflop/s")
    print("opcode      counts  takes")
    for name in seconds:
        if name != "chain":
            takes = (seconds[name] - seconds["neg"]) / one + 1
            print(f"{name:12}{BY_NAME[name].flops:6}{takes:7.1f}")


if __name__ == "__main__":
    main()
