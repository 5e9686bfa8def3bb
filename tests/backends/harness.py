"""Elementwise functions and edge values to try a device with."""

from collections.abc import Callable, Iterator, Sequence
from itertools import batched

import numpy as np
import pytest

from rewrite.backends.devices import CLASSES, device
from rewrite.egraph.ir.dtypes import BOOL, I32, DType, compute
from rewrite.egraph.ir.scalars import Array, Scalar
from rewrite.lower.device import Device
from rewrite.lower.loops import Ex, For, Function, Load, Op, Param, Store, Var

RUNNABLE = tuple(n for n in CLASSES if n != "numpy")  # they compile the loop IR
MOST = 16  # results of one function: compilers take longer than as long for more


def open_device(name: str, *needed: DType) -> Device:
    """The device; a test that needs what is not here is skipped."""
    dev = device(name)
    probe = dev.probe()
    if not probe.ok:
        pytest.skip(f"{name}: {probe.detail}")
    for dtype in needed:
        if dtype not in dev.caps().dtypes:
            pytest.skip(f"{name} has no {dtype}")
    return dev


def run(dev: Device, function: Function, *arrays: Array) -> tuple[Array, ...]:
    """Launches on copies of the arrays; what the writable parameters hold after."""
    module = dev.compile([function])
    return launch(dev, module, function, *arrays)


def launch(dev: Device, module, function: Function, *arrays: Array):
    buffers = [dev.alloc(a.nbytes) for a in arrays]
    for b, a in zip(buffers, arrays, strict=True):
        dev.copy_in(b, a)
    module.launch(function.name, buffers, None)
    dev.sync()
    out = []
    for b, a, p in zip(buffers, arrays, function.params, strict=True):
        if p.writable:
            out.append(np.empty_like(a))
            dev.copy_out(b, out[-1])
        dev.free(b)
    return tuple(out)


type Make = Callable[..., Ex]


def elementwise(
    name: str, n: int, sources: list[DType], to: DType, make: Make
) -> Function:
    """`out[i] = make(loads...)` over a grid."""
    return several(name, n, sources, [(to, make)])


def several(
    name: str, n: int, sources: list[DType], results: Sequence[tuple[DType, Make]]
) -> Function:
    """Each result `out[i] = make(loads...)`, all in one grid: what compilers take
    for a kernel is mostly the same whatever it holds."""
    i = Var("i", I32)
    loads = [Load(f"x{k}", i, compute(d)) for k, d in enumerate(sources)]
    params = [Param(f"x{k}", d, n, False) for k, d in enumerate(sources)]
    outs = [Param(f"out{k}", to, n, True) for k, (to, _) in enumerate(results)]
    stores = (
        Store(out.name, i, make(*loads))
        for out, (_, make) in zip(outs, results, strict=True)
    )
    return Function(name, (*params, *outs), (For(i, n, "grid", tuple(stores)),))


def parts[T](dev: Device, results: Sequence[T], sources: int) -> Iterator[Sequence[T]]:
    """As many results at a time as one launch can have."""
    return batched(results, min(dev.caps().max_buffers - sources, MOST), strict=False)


def result(entry: Scalar, dtype: DType) -> tuple[DType, Make]:
    """What an opcode gives, and how."""
    to = BOOL if entry.gives_bool else dtype

    def make(*loads: Ex) -> Ex:
        return Op(entry.name, loads, to if entry.gives_bool else compute(dtype))

    return to, make


def edge_values(dtype: DType) -> Array:
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        near = [info.min, info.min + 1, info.max, info.max - 1]
        small = range(-9 if dtype.kind == "int" else 0, 10)
        widths = (31, 32, 33, 63, 64, 65, 100)
        wide = [v for v in widths if v <= info.max]
        return np.array([*near, *small, *wide], dtype.numpy)
    values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.25, 7.0, 1e-3, 1e2, 3e4, 1e-7, np.inf, np.nan]
    big = np.array([6.5e4, 3e38, 1e-40, 1.4e-45], np.float64)
    both = np.array([*values, *big])
    with np.errstate(all="ignore"):
        return np.concatenate([both, -both]).astype(dtype.numpy)


def pairs(a: Array) -> tuple[Array, Array]:
    """All pairs of the values."""
    left, right = np.meshgrid(a, a)
    return left.ravel().copy(), right.ravel().copy()


def ulps(got: Array, want: Array) -> float:
    """The largest error in units of the last place; NaN and inf must agree."""
    g, w = got.astype(np.float64), want.astype(np.float64)
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    finite = np.isfinite(g) & np.isfinite(w)
    if not np.all(same | finite):
        return np.inf
    with np.errstate(invalid="ignore"):
        error = np.abs(g - w)[finite & ~same]
    unit = np.spacing(np.abs(want[finite & ~same])).astype(np.float64)
    return float(np.max(error / unit, initial=0.0))
