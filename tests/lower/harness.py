"""Kernels from graphs, random buffers for them, and ways to run what is lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rewrite.backends.c import CDevice
from rewrite.backends.numpy import run_kernel
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps, Device, Module
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Function
from rewrite.lower.model import Family
from rewrite.lower.targets import simt
from rewrite.lower.tiles.ir import TileProgram

CPU = Caps("cpu", True, frozenset(dtypes.ALL), 2, 1, 1 << 18, 64)
NARROW = Caps("cpu", True, frozenset(dtypes.ALL), 3, 1, 1 << 18, 0)
GPU = Caps("gpu", False, frozenset(dtypes.ALL), 32, 64, 1 << 15, 0)


class _Terms:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def node(self, c: int):
        return self.graph.nodes[c]

    def type(self, c: int):
        return self.graph.nodes[c].type


def kernel_of(b: Builder, outputs: Sequence[int]) -> Kernel:
    graph = expand_macros(b.build(list(outputs)))
    roots = list(dict.fromkeys(i for _, i in graph.outputs))
    return build_kernel(_Terms(graph), roots, ()).kernel


def buffers_for(kernel: Kernel, seed: int = 0) -> list[Array]:
    """Random reads; outputs full of a value that no test computes."""
    rng = np.random.default_rng(seed)
    out: list[Array] = []
    for slot, (dtype, count) in enumerate(kernel.slots):
        if slot >= kernel.reads:
            fill = (
                rng.integers(0, 2, count)
                if dtype is dtypes.BOOL
                else np.full(count, 77)
            )
            out.append(fill.astype(dtype.numpy))
        elif dtype.is_float:
            out.append(rng.normal(size=count).astype(dtype.numpy))
        elif dtype is dtypes.BOOL:
            out.append(rng.integers(0, 2, count).astype(np.bool_))
        else:
            out.append(rng.integers(0, 12, count).astype(dtype.numpy))
    return out


def reference(
    kernel: Kernel, buffers: Sequence[Array], strict: bool = False
) -> list[Array]:
    got = [b.copy() for b in buffers]
    run_kernel(kernel, got, strict)
    return got[kernel.reads :]


@cache
def c_device() -> CDevice:
    return CDevice()


def on_c(functions: Sequence[Function], buffers: Sequence[Sequence[Array]]) -> None:
    """Runs each function on its arrays, all compiled together."""
    device = c_device()
    module = device.compile(functions)
    for f, arrays in zip(functions, buffers, strict=True):
        held = [device.alloc(a.nbytes) for a in arrays]
        for h, a in zip(held, arrays, strict=True):
            device.copy_in(h, a)
        module.launch(f.name, held, None)
        device.sync()
        for h, a in zip(held, arrays, strict=True):
            device.copy_out(h, a)


def launched(
    device: Device, module: Module, name: str, arrays: Sequence[Array]
) -> None:
    """The arrays are those of the kernel, and hold what it left of them."""
    held = [device.alloc(a.nbytes) for a in arrays]
    for h, a in zip(held, arrays, strict=True):
        device.copy_in(h, a)
    module.launch(name, held)
    device.sync()
    for h, a in zip(held, arrays, strict=True):
        device.copy_out(h, a)


def check_launched(
    device: Device, chosen: Sequence[tuple[Kernel, TileProgram]]
) -> None:
    """All in one module on a GPU; results held against the reference."""
    functions = [
        simt.lowered(replace(p, name=f"f{i}")) for i, (_, p) in enumerate(chosen)
    ]
    module = device.compile(functions)
    for function, (kernel, _) in zip(functions, chosen, strict=True):
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        launched(device, module, function.name, buffers)
        close(kernel, buffers[kernel.reads :], want)


def check_compiled(
    chosen: Sequence[tuple[Kernel, Family]],
    filled: Callable[[Kernel], list[Array]] = buffers_for,
) -> None:
    """All in one shared object; results held against the reference."""
    if not c_device().probe().ok:
        pytest.skip(c_device().probe().detail)
    caps = c_device().caps()
    functions = [
        f.lower(normalise(k), caps, f"f{i}", False) for i, (k, f) in enumerate(chosen)
    ]
    buffers = [filled(k) for k, _ in chosen]
    want = [reference(k, b) for (k, _), b in zip(chosen, buffers, strict=True)]
    on_c(functions, buffers)
    for (k, _), b, w in zip(chosen, buffers, want, strict=True):
        close(k, b[k.reads :], w)


def lowered(
    family: Family, kernel: Kernel, caps: Caps, strict: bool = False
) -> Function:
    kernel = normalise(kernel)
    reason = family.accepts(kernel)
    assert reason is None, reason
    return family.lower(kernel, caps, "f", strict)


def close(kernel: Kernel, got: Sequence[Array], want: Sequence[Array]) -> None:
    """Equal but for the order of sums and the library's last digits."""
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        dtype = kernel.slots[kernel.reads + k][0]
        if not dtype.is_float:
            np.testing.assert_array_equal(g, w)
            continue
        tol = {64: 1e-12, 32: 2e-5, 16: 1e-2, 8: 0.2}[dtype.bits]
        scale = max(1.0, float(np.max(np.abs(w.astype(np.float64)), initial=0)))
        np.testing.assert_allclose(
            g.astype(np.float64), w.astype(np.float64), rtol=tol, atol=tol * scale
        )


def check_interpreted(
    family: Family, kernel: Kernel, caps: Caps, strict: bool = False
) -> None:
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers, strict)
    interpret(lowered(family, kernel, caps, strict), buffers)
    close(kernel, buffers[kernel.reads :], want)
