"""An array namespace after the Array API standard whose arrays are graphs.

    from rewrite import xp

    def f(x, w):
        return xp.nn.softmax(x @ w, axis=-1)

    graph = xp.trace(f, x, w)

Functions that do not depend on values the graph cannot know behave as the standard
says, and promote as NumPy does.  `nn` holds layers that have a name, `named` names a
node for reports.  Outside a trace, where the arrays are there, the same functions give
NumPy arrays.
"""

from __future__ import annotations

import inspect
import math
import sys
from typing import NoReturn

from rewrite.egraph.ir import dtypes as _dtypes
from rewrite.egraph.ir.ops import TensorType

from . import complex_dtypes as _complex
from . import eager as _eager
from . import numpy_calls, numpy_functions
from .branching import cond
from .building import apart
from .complex import inplace as _inplace
from .errors import TraceError, instead_of
from .functions import by_values, fft, information, linalg, nn, random
from .functions.by_values import (
    from_dlpack,
    nonzero,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .functions.creation import (
    arange,
    asarray,
    broadcast_to,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    iota,
    linspace,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .functions.elementwise import (
    abs,
    add,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    broadcast_arrays,
    ceil,
    clip,
    conj,
    converted,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
    where,
)
from .functions.indexing import getitem, put_along_axis, take, take_along_axis
from .functions.information import (
    __array_namespace_info__,  # noqa: F401 - the standard looks for it
    broadcast_shapes,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from .functions.inverse import acos, acosh, asin, asinh, atan, atan2, atanh
from .functions.linear import einsum, matmul, matrix_transpose, outer, tensordot, vecdot
from .functions.manipulation import (
    concat,
    expand_dims,
    flip,
    meshgrid,
    moveaxis,
    pad,
    permute_dims,
    repeat,
    reshape,
    roll,
    sliding_window,
    split,
    squeeze,
    stack,
    tile,
    unstack,
)
from .functions.running import cumulative_prod, cumulative_sum, diff
from .functions.sorting import argsort, isin, searchsorted, sort, top_k
from .functions.statistical import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .looping import scan, while_loop
from .operators import functions
from .symbols import symbol
from .trace import Leaf, Traced, bind_names, leaves, map_tree, trace, trace_tree
from .tracer import Tracer, named

bool = _dtypes.BOOL
int8, int16, int32, int64 = _dtypes.I8, _dtypes.I16, _dtypes.I32, _dtypes.I64
uint8, uint16, uint32 = _dtypes.U8, _dtypes.U16, _dtypes.U32
uint64 = _dtypes.U64
float16, float32, float64 = _dtypes.F16, _dtypes.F32, _dtypes.F64
bfloat16 = _dtypes.BF16
complex64, complex128 = _complex.C64, _complex.C128
float8_e4m3, float8_e5m2 = _dtypes.F8E4M3, _dtypes.F8E5M2
astype = converted
pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    hint = instead_of(name, (*__all__, *functions))
    raise AttributeError(f"rewrite.xp has no {name!r}: {hint}")


def __dir__() -> list[str]:
    return list(__all__)


__all__ = [
    "Leaf",
    "TensorType",
    "TraceError",
    "Traced",
    "Tracer",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bind_names",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "cond",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "fft",
    "finfo",
    "flip",
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "iota",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "leaves",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "map_tree",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "named",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nn",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "put_along_axis",
    "random",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "rsqrt",
    "scan",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sliding_window",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "symbol",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "top_k",
    "trace",
    "trace_tree",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]

__array_api_version__ = information.VERSION
_TOOLS = (
    *by_values.__all__,
    *information.__all__,
    "bind_names",
    "cond",
    "leaves",
    "map_tree",
    "scan",
    "symbol",
    "trace",
    "trace_tree",
    "while_loop",
)
for _name in __all__:
    if inspect.isfunction(globals()[_name]) and _name not in _TOOLS:
        globals()[_name] = functions[_name] = _eager.eager(_name, globals()[_name])
for _part in (nn, linalg, fft, random):
    for _name in _part.__all__:
        _label = f"{_part.__name__.rpartition('.')[2]}.{_name}"
        functions[_label] = _eager.eager(_label, getattr(_part, _name))
        setattr(_part, _name, functions[_label])
functions["__array_namespace__"] = lambda: sys.modules[__name__]
functions["__getitem__"] = _eager.eager("x[..]", getitem)
functions["__array_ufunc__"] = numpy_calls.array_ufunc
functions["__array_function__"] = numpy_calls.array_function
functions.update({k: apart(f) for k, f in numpy_functions.METHODS.items()})
functions["__setitem__"], functions["__updated__"] = _inplace.assign, _inplace.updated
