"""What a kernel costs beside its work: programs of many that do next to nothing.

    python bench/launches.py [DEVICE...]     c unless told otherwise

Microseconds of one of a thousand in a prepared program, by the clock, medians: of a
kernel that one thread runs (it copies 64 elements) and of the least one that all
threads share (65,536).  A call: of an optimized function of one element, with an array
for its result.  Exits with 1 where a kernel on c takes more than 3 us.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter

import numpy as np

import rewrite
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.lower.device import Device, Prepared
from rewrite.lower.text import parse

MANY = 1000
ROUNDS = 21
BAR = 3.0  # us a kernel
SERIAL = """function one(x: f32[64], out y: f32[64]) {
  serial i < 64 {
    y[i] = x[i]
  }
}
"""
SHARED = """function all(x: f32[65536], out y: f32[65536]) {
  grid i < 64 {
    simd j < 1024 {
      y[i * 1024 + j] = x[i * 1024 + j]
    }
  }
}
"""


def seconds(dev: Device, run: Prepared) -> float:
    def once() -> float:
        start = perf_counter()
        run()
        dev.sync()
        return perf_counter() - start

    for _ in range(3):
        once()
    return median(once() for _ in range(ROUNDS))


def kernel(dev: Device, text: str) -> float:
    """Microseconds of one of many."""
    f = parse(text)
    module = dev.compile([f])
    buffers = [dev.alloc(p.size * p.dtype.itemsize) for p in f.params]
    few, many = (
        seconds(dev, module.prepare([(f.name, (0, 1))] * n, buffers))
        for n in (1, 1 + MANY)
    )
    return (many - few) / MANY * 1e6


def call(name: str) -> float:
    """Microseconds of a call."""
    x, out = np.ones(1, np.float32), np.empty(1, np.float32)
    fast = rewrite.optimize(xp.exp, x, device=name, fallback=False)
    turns = 2000
    found: list[float] = []
    for _ in range(ROUNDS):
        start = perf_counter()
        for _ in range(turns):
            fast(x, out=out)
        found.append((perf_counter() - start) / turns)
    return median(found) * 1e6


def main() -> int:
    missed = False
    print(f"{'us':10}{'one thread':>12}{'all threads':>14}{'a call':>10}")
    for name in sys.argv[1:] or ["c"]:
        dev = device(name)
        alone, shared = kernel(dev, SERIAL), kernel(dev, SHARED)
        print(f"{name:10}{alone:12.3f}{shared:14.2f}{call(name):10.1f}", flush=True)
        missed |= name == "c" and alone > BAR
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
