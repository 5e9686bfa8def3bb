"""Lowered kernels beside NumPy, in one process, on preallocated arrays.

    python bench/kernels.py [DEVICE] [REPEATS]

Contestants take turns; the table shows medians and their ratio.  Exits with 1 where a
ratio is below its bar or a result is wrong.  Bars hold for the `c` device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.backends.devices import device
from rewrite.backends.numpy import run_kernel
from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.steps import GraphTerms
from rewrite.lower.axes import normalise
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from rewrite.tuning.timing import interleaved

type Arrays = Sequence[Array]
type Peer = Callable[[Arrays], object]


@dataclass(frozen=True)
class Row:
    """A kernel, what NumPy does for it, and the least ratio of their times."""

    name: str
    kernel: Kernel
    peer: Peer
    bar: float
    tolerance: float = 2e-5


def kernel_of(b: Builder, *outputs: int) -> Kernel:
    graph = expand_macros(b.build(outputs))
    return build_kernel(GraphTerms(graph), [i for _, i in graph.outputs], ()).kernel


# ---- contestants ----


def gelu_chain(n: int, bar: float) -> Row:
    b = Builder()
    x = b.input("x", F32, (n,))
    s, t, u = (b.broadcast(b.const(v, F32), x)[0] for v in (1.5, 0.1, 0.7))
    y = b.bin("mul", b.un("gelu_tanh", b.bin("add", b.bin("mul", x, s), t)), u)
    f = np.float32

    def peer(a: Arrays) -> None:
        y = a[0] * f(1.5) + f(0.1)
        inner = f(0.7978845608) * (y + f(0.044715) * (y * y * y))
        np.multiply(f(0.5) * y * (f(1) + np.tanh(inner)), f(0.7), out=a[-1])

    return Row(f"gelu(x*a+b)*c {n >> 20}M", kernel_of(b, y), peer, bar)


def softmax(m: int, n: int, axis: int, bar: float) -> Row:
    b = Builder()
    x = b.input("x", F32, (m, n))
    y = b.macro("softmax", [x], (1 - axis, axis))

    def peer(a: Arrays) -> None:
        x, out = a[0].reshape(m, n), a[-1].reshape(m, n)
        np.subtract(x, x.max(axis, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis, keepdims=True), out=out)

    return Row(f"softmax {m}x{n} axis {axis}", kernel_of(b, y), peer, bar)


def layer_norm(m: int, n: int, bar: float) -> Row:
    b = Builder()
    x, g, c = (b.input(s, F32, (d, n)) for s, d in (("x", m), ("g", 1), ("c", 1)))
    y = b.macro("layer_norm", [x, g, c], (0, 1), 1e-5)

    def peer(a: Arrays) -> None:
        x, out = a[0].reshape(m, n), a[-1].reshape(m, n)
        np.subtract(x, x.mean(1, keepdims=True), out=out)
        var = np.square(out).mean(1, keepdims=True)
        np.multiply(out, 1 / np.sqrt(var + np.float32(1e-5)), out=out)
        np.multiply(out, a[1], out=out)
        np.add(out, a[2], out=out)

    return Row(f"layer norm {m}x{n}", kernel_of(b, y), peer, bar)


def total(m: int, n: int, axes: tuple[int, ...], bar: float) -> Row:
    b = Builder()
    x = b.input("x", F32, (m, n))
    y = b.reduce("sum", b.bin("mul", x, x), axes)

    def peer(a: Arrays) -> None:
        np.sum(np.square(a[0].reshape(m, n)), axes)

    return Row(f"sum of squares {m}x{n} {axes}", kernel_of(b, y), peer, bar, 1e-4)


def transpose(m: int, n: int, bar: float) -> Row:
    b = Builder()
    y = b.un("neg", b.permute(b.input("x", F32, (m, n)), (1, 0)))

    def peer(a: Arrays) -> None:
        np.negative(a[0].reshape(m, n).T, out=a[-1].reshape(n, m))

    return Row(f"transpose {m}x{n}", kernel_of(b, y), peer, bar)


def matmul(
    m: int, k: int, n: int, bar: float, dtype: DType = F32, batch: int = 1
) -> Row:
    b = Builder()
    x, w = b.input("x", dtype, (batch, m, k)), b.input("w", dtype, (batch, k, n))
    y = b.matmul(x, w)

    def peer(a: Arrays) -> None:
        shapes = zip(a, ((batch, m, k), (batch, k, n), (batch, m, n)), strict=True)
        x, w, out = (v.reshape(s) for v, s in shapes)
        np.matmul(x, w, out=out)

    name = f"matmul {dtype} {f'{batch} x ' if batch > 1 else ''}{m}x{k}x{n}"
    return Row(name, kernel_of(b, y), peer, bar, 1e-3)


def rows() -> list[Row]:
    return [
        gelu_chain(1 << 24, 10),
        softmax(4096, 4096, 1, 4),
        softmax(4096, 4096, 0, 1),
        layer_norm(4096, 4096, 5),
        total(4096, 4096, (1,), 1),
        total(4096, 4096, (0,), 1),
        total(4096, 4096, (0, 1), 1),
        transpose(4096, 4096, 1),
        matmul(1024, 1024, 1024, 0.6),
        matmul(1024, 1024, 1024, 0.6, F64),
        matmul(17, 33, 65, 0.3),
        matmul(512, 64, 512, 0.6, F32, 8),
        matmul(1, 4096, 4096, 0.6),
    ]


# ---- the contest ----


def arrays_for(kernel: Kernel) -> list[Array]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(count).astype(dtype.numpy) for dtype, count in kernel.slots
    ]


def contest(row: Row, dev: Any, repeats: int) -> tuple[str, float, float, float]:
    """The family, seconds of both, and the error beside the interpreter."""
    kernel = normalise(row.kernel)
    family, _ = choose(kernel, model_of(dev.caps()))
    module = dev.compile([family.lower(kernel, dev.caps(), "f", False)])
    arrays = arrays_for(row.kernel)
    buffers = [dev.alloc(a.nbytes) for a in arrays]
    for buffer, a in zip(buffers, arrays, strict=True):
        dev.copy_in(buffer, a)

    def ours() -> None:
        module.launch("f", buffers, None)
        dev.sync()

    ours()
    got = np.empty_like(arrays[-1])
    dev.copy_out(buffers[-1], got)
    run_kernel(row.kernel, arrays)
    scale = max(1.0, float(np.abs(arrays[-1]).max()))
    error = float(np.abs(got - arrays[-1]).max()) / scale
    times = interleaved({"ours": ours, "numpy": lambda: row.peer(arrays)}, repeats)
    return family.name, times["ours"], times["numpy"], error


def main() -> int:
    dev = device(sys.argv[1] if len(sys.argv) > 1 else "c")
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    failed = 0
    print(
        f"{'kernel':34} {'family':10} {'ms':>9} {'numpy ms':>9} {'ratio':>7} {'bar':>5}"
    )
    for row in rows():
        family, ours, peer, error = contest(row, dev, repeats)
        ratio = peer / ours
        note = "  below" if ratio < row.bar else ""
        note += f"  WRONG by {error:.1e}" if not error <= row.tolerance else ""
        failed += bool(note)
        figures = f"{ours * 1e3:9.3f} {peer * 1e3:9.3f} {ratio:7.2f} {row.bar:5.1f}"
        print(f"{row.name:34} {family:10} {figures}{note}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
