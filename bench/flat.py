"""Memory over many launches, allocations and calls; what fresh results cost.

    python bench/flat.py [DEVICE...] [--count N]   a million unless told otherwise
    python bench/flat.py --results                  results of 64 MiB on c

Each turn takes memory of the device, launches a kernel on it and frees it; every tenth
calls an optimized function, too, and keeps its result for a while.  Exits with 1 where
the process grows by more than the bound after the first tenth, or the pool's use does.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rewrite
from rewrite import xp
from rewrite.backends import host_memory
from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.lower.device import Device
from rewrite.lower.loops import For, Function, Load, Op, Param, Store, Var
from rewrite.tuning.timing import interleaved

BOUND = 8 << 20  # bytes that a process may grow by: its own heap is not flat to a page
SAMPLES = 10
SIZES = (64, 1000, 4096, 70_000, 300_000, 1 << 20)  # bytes, of three classes of use
HELD = 5  # results that a caller keeps
SYNC = 500  # launches between waits


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def doubling(n: int) -> Function:
    i = Var("i", I32)
    x = Load("x", i, F32)
    body = (For(i, n, "grid", (Store("y", i, Op("add", (x, x), F32)),)),)
    return Function(
        "double", (Param("x", F32, n, False), Param("y", F32, n, True)), body
    )


def turns(dev: Device, count: int) -> list[int]:
    """Bytes resident after each tenth of the turns."""
    module = dev.compile([doubling(16)])
    fast = rewrite.jit(lambda x: xp.exp(x) * 2, device=dev, fallback=False)
    small, large = np.ones(16, np.float32), np.ones(1 << 19, np.float32)
    results: deque[Any] = deque(maxlen=HELD)
    source = dev.alloc(64)
    dev.copy_in(source, small)
    found: list[int] = []
    for k in range(count):
        target = dev.alloc(SIZES[k % len(SIZES)])
        module.launch("double", [source, dev.view(target, 0, 64)])
        dev.free(target)
        if k % 10 == 0:
            results.append(fast(large if k % 100 == 0 else small))
        if k % SYNC == 0:
            dev.sync()
        if (k + 1) % (count // SAMPLES) == 0:
            dev.sync()
            found.append(resident())
    return found


def growth(name: str, count: int) -> bool:
    """Prints how memory went, and says whether it stayed."""
    dev = device(name)
    probe = dev.probe()
    if not probe.ok:
        print(f"{name}: {probe.detail}")
        return True
    start = time.perf_counter()
    found = turns(dev, count)
    spent = time.perf_counter() - start
    grown = max(found[1:]) - found[0]
    line = " ".join(f"{x / 2**20:.1f}" for x in found)
    print(f"{name}: {count} turns in {spent:.0f} s, MiB resident: {line}")
    pool = getattr(dev, "pool", host_memory.POOL)
    print(f"  grew by {grown / 2**20:.2f} MiB; pool {pool.name}: {pool.usage}")
    return grown <= BOUND


def results() -> None:
    """A call whose result is new, from the system and from the pool, or given."""
    x = np.random.default_rng(0).standard_normal(1 << 24, dtype=np.float32)
    fast = rewrite.optimize(lambda x: xp.exp(x) * 2, x, device="c")
    out = np.empty_like(x)

    def fresh() -> None:
        host_memory.POOL.empty()
        fast(x)

    runs: dict[str, Callable[[], Any]] = {
        "new memory of the system": fresh,
        "memory of the pool": lambda: fast(x),
        "out=": lambda: fast(x, out=out),
    }
    for name, seconds in interleaved(runs, 9).items():
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        runs[name]()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        print(f"{name:26} {seconds * 1e3:7.2f} ms   {faults:5} page faults")


def main() -> int:
    parser = argparse.ArgumentParser(description="Memory over a million launches.")
    parser.add_argument("devices", nargs="*", default=["c"])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--results", action="store_true")
    asked = parser.parse_args()
    if asked.results:
        results()
        return 0
    grew = [name for name in asked.devices if not growth(name, asked.count)]
    return int(bool(grew))


if __name__ == "__main__":
    sys.exit(main())
