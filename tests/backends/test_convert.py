"""Storage types: every bit pattern, and every rounding boundary."""

import ml_dtypes  # noqa: F401  (registers casts with NumPy)
import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.loops import Function, Op
from tests.effort import LONG

from .harness import RUNNABLE, edge_values, elementwise, launch, open_device, run

SMALL = (dtypes.F16, dtypes.BF16, dtypes.F8E4M3, dtypes.F8E5M2)


def patterns(dtype: DType) -> Array:
    """Every value of the type."""
    kind = np.uint16 if dtype.bits == 16 else np.uint8
    return np.arange(1 << dtype.bits, dtype=np.uint32).astype(kind).view(dtype.numpy)


def boundaries(dtype: DType) -> Array:
    """The f32 halfway between neighbours, one step to either side, and beyond."""
    with np.errstate(all="ignore"):
        exact = np.unique(patterns(dtype).astype(np.float64))
        exact = exact[np.isfinite(exact)]
        middle = ((exact[1:] + exact[:-1]) / 2).astype(np.float32)
        top = np.abs(exact[-1] - exact[-2]) * np.array([0.25, 0.5, 0.75, 1.0, 1.5])
        outer = np.concatenate([exact[-1] + top, [3e38, np.inf]]).astype(np.float32)
        at = np.concatenate([exact.astype(np.float32), middle, outer, -outer])
        down, up = (np.nextafter(at, np.float32(s)) for s in (-np.inf, np.inf))
    return np.concatenate([at, down, up, np.float32([np.nan, 1e-40])])


def assert_same_bits(got: Array, want: Array) -> None:
    """Bit-equal; which NaN it is stays unspecified."""
    kind = f"u{got.dtype.itemsize}"
    with np.errstate(invalid="ignore"):
        nan = np.isnan(want.astype(np.float64))
        assert np.array_equal(np.isnan(got.astype(np.float64)), nan)
    np.testing.assert_array_equal(got.view(kind)[~nan], want.view(kind)[~nan])


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_every_pattern_loads_exactly(name: str, dtype: DType):
    dev = open_device(name, dtype)
    x = patterns(dtype)
    f = elementwise("load", x.size, [dtype], F32, lambda a: a)
    (got,) = run(dev, f, x, np.empty(x.size, np.float32))
    assert_same_bits(got, x.astype(np.float32))


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_stores_round_to_nearest_even(name: str, dtype: DType):
    dev = open_device(name, dtype)
    x = boundaries(dtype)
    if name == "wgpu":  # WGSL may flush subnormals
        x = x[(np.abs(x) >= np.finfo(np.float32).tiny) | (x == 0) | np.isnan(x)]
    f = elementwise("store", x.size, [F32], dtype, lambda a: a)
    (got,) = run(dev, f, x, np.empty(x.size, dtype.numpy))
    with np.errstate(all="ignore"):
        assert_same_bits(got, x.astype(dtype.numpy))


@pytest.mark.parametrize("name", RUNNABLE)
def test_f64_rounds_once_to_f16(name: str):
    dev = open_device(name, F64, dtypes.F16)
    near = boundaries(dtypes.F16).astype(np.float64)
    x = np.concatenate([near * (1 + s * 2.0**-40) for s in (-1, 0, 1)])
    f = elementwise(
        "narrow", x.size, [F64], dtypes.F16, lambda a: Op("cast", (a,), dtypes.F16)
    )
    (got,) = run(dev, f, x, np.empty(x.size, np.float16))
    with np.errstate(all="ignore"):
        assert_same_bits(got, x.astype(np.float16))


def cast_case(source: DType, to: DType) -> tuple[Function, Array]:
    """The edges of a type, of floats those that an integer of the other can be, and
    some that truncate."""
    x = edge_values(source)
    if to.is_int and source.is_float:
        whole = np.trunc(x.astype(np.float64))
        info = np.iinfo(to.numpy)
        x = x[(whole >= float(info.min)) & (whole < float(info.max))]
    name = f"cast_{source}_{to}"
    f = elementwise(name, x.size, [source], to, lambda a: Op("cast", (a,), to))
    return f, x


@pytest.mark.parametrize("name", RUNNABLE)
def test_casts_agree_with_numpy(name: str):
    """Integers wrap; of floats that no integer of the type is, nothing is promised."""
    dev = open_device(name)
    have = [d for d in dtypes.ALL if d in dev.caps().dtypes]
    every = [(i + j, s, t) for i, s in enumerate(have) for j, t in enumerate(have)]
    cases = [(*cast_case(s, t), t) for k, s, t in every if LONG or k % 2 == 0]
    module = dev.compile([f for f, _, _ in cases])
    for f, x, to in cases:
        (got,) = launch(dev, module, f, x, np.empty(x.size, to.numpy))
        with np.errstate(all="ignore"):
            want = x.astype(to.numpy)
            if to.is_float:  # NumPy tells no NaN among the small ones
                got, want = got.astype(np.float64), want.astype(np.float64)
        if name == "wgpu" and f.params[0].dtype.is_float:  # WGSL may flush subnormals
            normal = ~(np.abs(x.astype(np.float64)) < np.finfo(np.float32).tiny)
            got, want = got[normal], want[normal]
        np.testing.assert_array_equal(got, want, err_msg=f.name)


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("to", ["u16", "i16", "bf16", "f16"])
def test_bitcasts_of_a_small_float(name: str, to: str):
    target = dtypes.of(to)
    dev = open_device(name, target, dtypes.BF16)
    x = patterns(dtypes.BF16)
    x = x[~np.isnan(x.astype(np.float32))]

    def make(a):
        return Op("bitcast", (Op("cast", (a,), dtypes.BF16),), target)

    f = elementwise("bits", x.size, [dtypes.BF16], target, make)
    (got,) = run(dev, f, x, np.empty(x.size, target.numpy))
    want = x.view(target.numpy)
    assert_same_bits(got, want) if target.is_float else np.testing.assert_array_equal(
        got, want
    )
