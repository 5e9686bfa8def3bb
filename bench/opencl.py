"""The same kernels on opencl and on c, in one process.

    python bench/opencl.py [REPEATS]

Contestants take turns; the table shows medians and how much of c's speed OpenCL has.
Exits with 1 where that is below its bar: elementwise chains 0.7, row operations 0.35.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from kernels import Row, arrays_for, gelu_chain, kernel_of, layer_norm, softmax, total

from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.axes import normalise
from rewrite.lower.device import Device
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from rewrite.tuning.timing import interleaved

CHAIN, ROWS = 0.7, 0.35


def axpy(n: int) -> Row:
    b = Builder()
    x, y, z = (b.input(s, F32, (n,)) for s in "xyz")
    out = b.bin("max", b.bin("add", b.bin("mul", x, y), z), x)
    return Row(f"max(x*y+z, x) {n >> 20}M", kernel_of(b, out), lambda _: None, CHAIN)


def rows() -> list[Row]:
    return [
        axpy(1 << 24),
        gelu_chain(1 << 24, CHAIN),
        softmax(4096, 4096, 1, ROWS),
        softmax(16384, 256, 1, ROWS),
        layer_norm(4096, 4096, ROWS),
        layer_norm(16384, 256, ROWS),
        total(4096, 4096, (1,), ROWS),
    ]


def launcher(row: Row, dev: Device) -> Callable[[], None]:
    """The kernel on a device, run once."""
    kernel = normalise(row.kernel)
    family, _ = choose(kernel, model_of(dev.caps()))
    module = dev.compile([family.lower(kernel, dev.caps(), "f", False)])
    arrays = arrays_for(row.kernel)
    buffers = [dev.alloc(a.nbytes) for a in arrays]
    for buffer, a in zip(buffers, arrays, strict=True):
        dev.copy_in(buffer, a)

    def run() -> None:
        module.launch("f", buffers)
        dev.sync()

    run()
    return run


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    print(device("opencl").probe().detail)
    print(f"{'kernel':34} {'c ms':>9} {'opencl ms':>9} {'ratio':>7} {'bar':>5}")
    below = 0
    for row in rows():
        names = ("c", "opencl")
        runs = {name: launcher(row, device(name)) for name in names}
        times = interleaved(runs, repeats)
        c, opencl = (times[name] for name in names)
        below += c / opencl < row.bar
        note = "  below" if c / opencl < row.bar else ""
        figures = f"{c * 1e3:9.3f} {opencl * 1e3:9.3f} {c / opencl:7.2f} {row.bar:5.2f}"
        print(f"{row.name:34} {figures}{note}", flush=True)
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
