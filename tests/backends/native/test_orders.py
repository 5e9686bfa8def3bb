"""The host's sorts of lines beside NumPy's, bit by bit, with every kind of element."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from rewrite.backends.native import orders
from rewrite.backends.native.toolchain import find_toolchain
from rewrite.egraph.ir.dtypes import BOOL, U8, DType, from_numpy
from rewrite.egraph.ir.indexing import positions
from rewrite.lower.orders import KINDS, kind_of, room

CASES = 150  # of each kind of element
SPARE = 64  # bytes behind the memory that a call works in
ODD = (0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf, 2.0, 3e-40)
WIDTHS: dict[int, Any] = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def in_order(
    x: Any, step: int, count: int, down: bool, width: int, chunks: int, apart: int
) -> Any:
    dtype, n = from_numpy(x.dtype), len(x) // step
    size = room(dtype, n, count, width > 0, chunks)
    work: Any = np.full(size + SPARE, 7, np.uint8)
    out: Any = np.zeros(count * apart, WIDTHS.get(width, x.dtype))
    library = orders.library(find_toolchain())
    where = [ctypes.c_void_p(a.ctypes.data) for a in (x, out, work)]
    sizes = [ctypes.c_int64(v) for v in (step, n, count, apart, chunks)]
    library.rw_order_line(kind_of(dtype), where[0], *sizes[:3], int(down), width,
                          where[1], sizes[3], where[2], sizes[4])  # fmt: skip
    assert (work[size:] == 7).all()
    return np.ascontiguousarray(out[::apart])


def drawn(rng: np.random.Generator, d: DType, n: int) -> Any:
    match rng.integers(4):
        case 0:
            raw: Any = rng.integers(0, 256, n * d.itemsize, dtype=np.uint8)
            return raw.view(d.numpy)
        case 1:
            return rng.integers(0, 5, n).astype(d.numpy)
        case 2 if d.is_float:
            return np.asarray(ODD)[rng.integers(0, len(ODD), n)].astype(d.numpy)
        case _:
            return np.sort(rng.integers(0, 100, n)).astype(d.numpy)


def same(a: Any, b: Any) -> bool:
    """Bit by bit; any NaN is as good as another."""
    bits: Any = np.dtype(f"u{a.itemsize}")
    nan = (a != a) & (b != b)
    return bool(((a.view(bits) == b.view(bits)) | nan).all())


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_lines_are_sorted_as_numpy_sorts_them(dtype: DType) -> None:
    """Short and long, all of them or the first, by one thread or in parts."""
    rng = np.random.default_rng(kind_of(dtype))
    for _ in range(CASES):
        n = int(2 ** rng.uniform(0, rng.choice([5, 9, 13, 17])))
        step, apart = (int(rng.choice([1, 1, 3])) for _ in range(2))
        x = drawn(rng, dtype, n * step)
        most = int(rng.choice([n, min(n, 50), min(n, 3)]))
        count = n if rng.random() < 0.4 else int(rng.integers(1, most + 1))
        down, width = bool(rng.integers(2)), int(rng.choice([0, 0, 4, 8]))
        chunks = int(rng.choice([0, 0, 1, 3, 8]))
        got = in_order(x, step, count, down, width, chunks, apart)
        where = positions(x[::step][:n], 0, down, count)
        want = where if width else x[::step][where]
        fine = (got == want).all() if width else same(got, want)
        assert fine, (n, step, count, down, width, chunks, apart)


def test_a_truth_value_is_sorted_as_a_byte() -> None:
    assert kind_of(BOOL) == kind_of(U8)


def test_the_reference_sorts_small_floats_as_numbers() -> None:
    """NumPy compares what it does not know of itself by its bytes."""
    for d in (d for d in KINDS if d.is_float):
        x: Any = np.array([3, -1, np.nan, 2, 0, -4]).astype(d.numpy)
        assert positions(x, 0, False, 6).tolist() == [5, 1, 4, 3, 0, 2], d
