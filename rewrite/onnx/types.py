"""Element types and shapes, between ONNX and graphs."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import onnx
from onnx import TensorProto

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dims import Dim, symbol
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.table import TensorType

from .value import Malformed, ModelError

DTYPES: dict[int, DType] = {
    TensorProto.DOUBLE: dtypes.F64,
    TensorProto.FLOAT: dtypes.F32,
    TensorProto.FLOAT16: dtypes.F16,
    TensorProto.BFLOAT16: dtypes.BF16,
    TensorProto.FLOAT8E4M3FN: dtypes.F8E4M3,
    TensorProto.FLOAT8E5M2: dtypes.F8E5M2,
    TensorProto.INT8: dtypes.I8,
    TensorProto.INT16: dtypes.I16,
    TensorProto.INT32: dtypes.I32,
    TensorProto.INT64: dtypes.I64,
    TensorProto.UINT8: dtypes.U8,
    TensorProto.UINT16: dtypes.U16,
    TensorProto.UINT32: dtypes.U32,
    TensorProto.UINT64: dtypes.U64,
    TensorProto.BOOL: dtypes.BOOL,
}
ELEMENTS: dict[DType, int] = {d: e for e, d in DTYPES.items()}


def dtype_of(element: int, place: str) -> DType:
    if element not in DTYPES:
        known = [*TensorProto.DataType.keys()]
        numbers = [*TensorProto.DataType.values()]
        name = known[numbers.index(element)] if element in numbers else str(element)
        raise ModelError(f"{place}: tensors of {name} are not read")
    return DTYPES[element]


def tensor_type(
    info: onnx.TypeProto, place: str, bound: Mapping[str, Dim]
) -> TensorType:
    """The type of an input; a size without a name gets one from its place."""
    if not info.HasField("tensor_type"):
        kind = info.WhichOneof("value") or "nothing"
        raise ModelError(f"{place}: a tensor expected, found {kind}")
    t = info.tensor_type
    if not t.HasField("shape"):
        raise ModelError(f"{place}: its rank must be declared")
    dims = [_dim(d, f"{place}_{i}", bound) for i, d in enumerate(t.shape.dim)]
    return TensorType(dtype_of(t.elem_type, place), tuple(dims))


def disagreement(info: onnx.ValueInfoProto, found: TensorType) -> str:
    """How the declared shape of an output is not the one that the model computes, empty
    where both may be the same; another dtype is an error, as it is to runtimes."""
    t = info.type.tensor_type
    if t.elem_type and dtype_of(t.elem_type, f"output {info.name!r}") != found.dtype:
        declared = DTYPES[t.elem_type]
        raise Malformed(
            f"output {info.name!r} is declared as {declared}, and the model computes "
            f"{found.dtype}: declare that, or cast it"
        )
    if not t.HasField("shape"):
        return ""
    shape = [d.dim_value if fixed(d) else d.dim_param or "?" for d in t.shape.dim]
    apart = len(shape) != len(found.shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(shape, found.shape, strict=True)
    )
    if not apart:
        return ""
    told = [", ".join(map(str, s)) for s in (shape, found.shape)]
    return (
        f"output {info.name!r} is declared as ({told[0]}) and computed as ({told[1]})"
    )


def check_text(*names: object) -> None:
    """Names that are no UTF-8 come as bytes."""
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"the name {name!r} is not UTF-8: the file is damaged")


def fixed(d: onnx.TensorShapeProto.Dimension) -> bool:
    """Whether the size is a number; -1 is what some writers mean by none."""
    return d.HasField("dim_value") and d.dim_value != -1


def _dim(
    d: onnx.TensorShapeProto.Dimension, place: str, bound: Mapping[str, Dim]
) -> Dim:
    if fixed(d):
        if d.dim_value < 0:
            raise ModelError(f"{place}: a size of {d.dim_value}")
        return d.dim_value
    check_text(d.dim_param)
    if not re.search(r"\w", d.dim_param):  # "?" stands for any size, each its own
        d = onnx.TensorShapeProto.Dimension()
    name = re.sub(r"\W", "_", d.dim_param or f"_{place}")
    if d.dim_param and not re.fullmatch(r"[A-Za-z_]\w*", d.dim_param, re.ASCII):
        name = f"d_{name}_{zlib.crc32(d.dim_param.encode()):08x}"  # "n-1" is not "n_1"
    size = bound.get(d.dim_param, bound.get(name))
    return symbol(name) if size is None else size


def type_proto(t: TensorType) -> onnx.TypeProto:
    shape = [d if isinstance(d, int) else str(d) for d in t.shape]
    return onnx.helper.make_tensor_type_proto(ELEMENTS[t.dtype], shape)
