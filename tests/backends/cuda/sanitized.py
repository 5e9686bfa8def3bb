"""Kernels of every family on a GPU, one after the other, for a sanitizer to watch.

    compute-sanitizer --tool racecheck python -m tests.backends.cuda.sanitized
    python -m tests.backends.cuda.sanitized [--draws 6] [--part 0/4]
                                            [--families tileonline,tilewgmma]

Small ones, on arrays of NumPy, and nothing of any other library in the process.  Each
says its name before it is launched, so that a report is found beside it, and is held
against the interpreter.  Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import batched, islice

from rewrite.backends.cuda import CudaDevice
from rewrite.backends.nvidia.launches import CudaModule
from rewrite.egraph.ir.dtypes import BF16, F16
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.loops import Function
from rewrite.lower.model import DeviceModel, model_of
from rewrite.lower.passes.barriers import barriers
from rewrite.lower.registry import FAMILIES
from rewrite.lower.verify import verify
from tests.lower.cases import CASES, LARGE
from tests.lower.folds import attend, causal, plain, soft_cap, window
from tests.lower.harness import buffers_for, close, kernel_of, launched, reference
from tests.lower.tiled import sums
from tests.lower.tiled.convolutions import random_convolution
from tests.lower.tiled.kernels import random_kernel
from tests.lower.tiled.products import random_product
from tests.lower.tiled.test_narrow import narrow
from tests.lower.tiled.test_online import random_attention
from tests.lower.tiled.test_products import matmul
from tests.lower.tiled.test_streams import CASES as QUANTIZED
from tests.lower.tiled.test_streams import kernel_for

TOGETHER = 48  # kernels of a module

type Drawn = tuple[str, Kernel]
type Way = tuple[str, Kernel, Function]

RANDOM: dict[str, Callable[[int], Kernel]] = {
    "kernel": random_kernel, "product": random_product, "narrow": narrow,
    "convolution": random_convolution, "attention": random_attention,
    "gradient": sums.drawn,
}  # fmt: skip


def long_rows() -> Kernel:
    """Which no group of threads holds."""
    b = Builder()
    x = b.input("x", BF16, (3, 40000))
    return kernel_of(b, [b.macro("softmax", [x], (0, 1))])


def several_turns() -> Iterator[Drawn]:
    """Rings that come round, two groups of warps or more, blocks in pairs."""
    for m, n, k in ((384, 520, 400), (1024, 1024, 136), (128, 256, 4096)):
        yield f"product {m} {n} {k}", matmul(m, n, k)
    for score in (plain, causal, window, soft_cap):
        for d in (64, 128):
            sizes = (2, 320, 456, d, d)
            yield f"attention {score.__name__} {d}", attend(score, sizes, BF16)
    yield "long rows", long_rows()
    yield "decoding", attend(plain, (3, 2, 1500, 64, 64), F16)
    for kind in ("both", "queries"):
        kernel = sums.gradients([kind], causal, (2, 320, 320, 64))
        yield f"gradient {kind}", kernel


def drawn(count: int) -> Iterator[Drawn]:
    yield from several_turns()
    for k, case in enumerate(QUANTIZED):
        yield f"quantized {k}", kernel_for(case)
    for name, make in RANDOM.items():
        yield from ((f"{name} {seed}", make(seed)) for seed in range(count))
    yield from ((name, make()) for name, make in (CASES | LARGE).items())


def ways(
    dev: CudaDevice, model: DeviceModel, found: Iterator[Drawn], names: set[str]
) -> Iterator[Way]:
    """Each kernel by each family that takes it."""
    count = 0
    for name, kernel in ((n, normalise(k)) for n, k in found):
        for f in FAMILIES:
            wanted = not names or f.name in names
            if wanted and f.accepts(kernel) is None and f.cost(kernel, model):
                made = f.lower(kernel, dev.caps(), f"f{count}", False)
                yield f"{f.name}: {name}", kernel, verify(barriers(made))
                count += 1


def is_right(dev: CudaDevice, module: CudaModule, way: Way) -> bool:
    name, kernel, function = way
    print(name, flush=True)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    launched(dev, module, function.name, buffers)
    try:
        close(kernel, buffers[kernel.reads :], want)
    except AssertionError as e:
        print(f"  WRONG: {e}", flush=True)
        return False
    return True


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--draws", type=int, default=6)
    p.add_argument("--families", default="")
    p.add_argument("--part", default="0/1", help="of all kernels")
    p.add_argument("--limit", type=float, default=1e9, help="seconds")
    args = p.parse_args()
    began, dev = time.monotonic(), CudaDevice()
    print(dev.probe().detail)
    names = {n for n in args.families.split(",") if n}
    part, parts = map(int, args.part.split("/"))
    mine = islice(drawn(args.draws), part, None, parts)
    every = list(ways(dev, model_of(dev.caps()), mine, names))
    wrong = done = 0
    for some in batched(every, TOGETHER):
        if time.monotonic() - began > args.limit:
            break
        module = dev.compile([f for _, _, f in some])
        done += len(some)
        wrong += sum(not is_right(dev, module, way) for way in some)
    seen = sorted({name.partition(":")[0] for name, _, _ in every[:done]})
    print(f"{done} of {len(every)} kernels, of {', '.join(seen)}; {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
