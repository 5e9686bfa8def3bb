"""Storage types: every bit pattern, and every rounding boundary."""

import ml_dtypes  # noqa: F401  (registers casts with NumPy)
import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.loops import Op

from .harness import (
    RUNNABLE,
    Make,
    edge_values,
    elementwise,
    launch,
    open_device,
    parts,
    run,
    several,
)

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


def promised(x: Array, to: DType) -> Array:
    """Integers wrap; of floats that no integer of the type is, nothing is promised."""
    if not to.is_int or x.dtype.kind in "iub":
        return np.ones(x.shape, bool)
    whole = np.trunc(x.astype(np.float64))
    info = np.iinfo(to.numpy)
    return (whole >= float(info.min)) & (whole < float(info.max))


def cast(to: DType) -> tuple[DType, Make]:
    return to, lambda a: Op("cast", (a,), to)


@pytest.mark.parametrize("name", RUNNABLE)
def test_casts_agree_with_numpy(name: str):
    """The edges of a type, of floats also some that truncate."""
    dev = open_device(name)
    have = [d for d in dtypes.ALL if d in dev.caps().dtypes]
    cases = [(s, to) for s in have for to in parts(dev, have, 1)]
    functions = [
        several(f"casts{k}", edge_values(s).size, [s], [cast(t) for t in to])
        for k, (s, to) in enumerate(cases)
    ]
    module = dev.compile(functions)
    for (source, targets), f in zip(cases, functions, strict=True):
        x = edge_values(source)
        outs = [np.empty(x.size, to.numpy) for to in targets]
        results = launch(dev, module, f, x, *outs)
        for to, got in zip(targets, results, strict=True):
            keep = promised(x, to)
            if name == "wgpu" and source.is_float:  # WGSL may flush subnormals
                tiny = np.finfo(np.float32).tiny
                keep &= ~(np.abs(x.astype(np.float64)) < tiny)
            assert_cast(got[keep], x[keep], f"{source} as {to}")


def assert_cast(got: Array, x: Array, which: str) -> None:
    with np.errstate(all="ignore"):
        want = x.astype(got.dtype)
        if got.dtype.kind not in "iub":  # NumPy tells no NaN among the small ones
            got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(got, want, err_msg=which)


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
