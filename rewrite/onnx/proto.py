"""Arrays in protos."""

from __future__ import annotations

import onnx
from onnx import numpy_helper

from rewrite.egraph.ir.scalars import Array

from .types import dtype_of
from .value import ModelError


def array_of(t: onnx.TensorProto) -> Array:
    """The elements of a tensor; a damaged one is named."""
    name = f"tensor {t.name or 'without a name'!r}"
    dtype_of(t.data_type, name)
    if any(d < 0 for d in t.dims):  # to NumPy any size that fits
        raise ModelError(f"{name}: a size below zero ({', '.join(map(str, t.dims))})")
    if t.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(f"{name}: its data lie elsewhere; open the model by path")
    try:
        return numpy_helper.to_array(t)
    except Exception as e:
        raise ModelError(f"{name}: {' '.join(str(e).split())}") from None
