"""The kernel interpreter could not read f8e5m2: NumPy makes strided views by way of a
type string, and takes none for it."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.graph import Builder


@pytest.mark.parametrize("dtype", [dtypes.F8E5M2, dtypes.F8E4M3, dtypes.BF16])
def test_small_floats_are_read(dtype: dtypes.DType) -> None:
    b = Builder()
    x = b.input("x", dtype, (3, 5))
    wide = b.cast(b.permute(x, (1, 0)), dtypes.F32)
    compiled = compile_graph(b.build({"y": wide}), "numpy", fallback=False)
    value = np.arange(15).reshape(3, 5).astype(dtype.numpy)
    want = value.T.astype(np.float32)
    np.testing.assert_array_equal(compiled({"x": value})["y"], want)
