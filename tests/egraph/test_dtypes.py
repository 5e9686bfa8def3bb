"""Element types: one object each, the same through NumPy, names and pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from rewrite.egraph.ir import dtypes


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_one_object_by_every_road(dtype: dtypes.DType) -> None:
    assert dtypes.of(str(dtype)) is dtype
    assert dtypes.from_numpy(dtype.numpy) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert dtype.itemsize * 8 == dtype.bits


def test_small_floats_are_computed_in_f32() -> None:
    assert dtypes.compute(dtypes.BF16) is dtypes.F32
    assert dtypes.compute(dtypes.F8E4M3) is dtypes.F32
    assert dtypes.compute(dtypes.F64) is dtypes.F64
    assert dtypes.compute(dtypes.I8) is dtypes.I8


def test_unknown_types_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'f31'; known: f64, f32"):
        dtypes.of("f31")
    with pytest.raises(ValueError, match="complex64"):
        dtypes.from_numpy(np.dtype(np.complex64))
