"""Which function of the namespace does what to complex arrays, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..complex_dtypes import ComplexDType, complex_dtype
from ..errors import TraceError
from ..functions import creation as real_creation
from ..functions import elementwise as real
from ..functions import fft, indexing, linear, manipulation
from ..functions import linalg as real_linalg
from ..pair import is_complex
from . import arithmetic, circular, creation, elementary, linalg, partwise, products
from .partwise import alike
from .partwise import partwise as by_parts

_NO_ORDER = "they have no order: compare xp.real(x), xp.imag(x) or xp.abs(x)"
_NO_WHOLE = "take it of xp.real(x) and of xp.imag(x)"
_NO_BITS = "they have no bits to take"
_REASONS = {
    **dict.fromkeys(
        ("argmax", "argmin", "argsort", "clip", "greater", "greater_equal", "less",
         "less_equal", "max", "maximum", "min", "minimum", "searchsorted", "sort",
         "top_k"), _NO_ORDER,
    ),
    **dict.fromkeys(
        ("ceil", "floor", "floor_divide", "remainder", "trunc"), _NO_WHOLE
    ),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
         "bitwise_right_shift", "bitwise_xor"), _NO_BITS,
    ),
}  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    # Element by element.
    "abs": arithmetic.absolute, "add": arithmetic.add, "conj": arithmetic.conj,
    "divide": arithmetic.divide, "equal": arithmetic.equal,
    "imag": arithmetic.imaginary_part, "isfinite": arithmetic.isfinite,
    "isinf": arithmetic.infinite, "isnan": arithmetic.isnan,
    "logical_and": arithmetic.logical_and, "logical_not": arithmetic.logical_not,
    "logical_or": arithmetic.logical_or, "logical_xor": arithmetic.logical_xor,
    "multiply": arithmetic.multiply, "negative": arithmetic.negative,
    "not_equal": arithmetic.not_equal, "positive": arithmetic.positive,
    "real": arithmetic.real_part, "reciprocal": arithmetic.reciprocal,
    "round": by_parts(real.round), "sign": arithmetic.sign,
    "square": arithmetic.square, "subtract": arithmetic.subtract,
    "where": arithmetic.choose,
    "exp": elementary.exp, "exp2": elementary.exp2, "expm1": elementary.expm1,
    "log": elementary.log, "log10": elementary.log10, "log1p": elementary.log1p_of,
    "log2": elementary.log2, "pow": elementary.pow, "rsqrt": elementary.rsqrt,
    "sqrt": elementary.sqrt,
    "acos": circular.acos, "acosh": circular.acosh, "asin": circular.asin,
    "asinh": circular.asinh, "atan": circular.atan, "atanh": circular.atanh,
    "cos": circular.cos, "cosh": circular.cosh, "sin": circular.sin,
    "sinh": circular.sinh, "tan": circular.tan, "tanh": circular.tanh,
    # Creation.
    "asarray": creation.asarray, "astype": creation.astype,
    "empty": creation.of_zeros(real_creation.empty), "empty_like": creation.zeros_like,
    "eye": creation.of_zeros(real_creation.eye), "full": creation.full,
    "full_like": creation.full_like, "linspace": creation.linspace,
    "ones": creation.of_zeros(real_creation.ones), "ones_like": creation.ones_like,
    "zeros": creation.of_zeros(real_creation.zeros), "zeros_like": creation.zeros_like,
    # Moves.
    "broadcast_arrays": partwise.broadcast_arrays,
    "broadcast_to": by_parts(real_creation.broadcast_to),
    "concat": by_parts(manipulation.concat),
    "expand_dims": by_parts(manipulation.expand_dims),
    "flip": by_parts(manipulation.flip),
    "matrix_transpose": by_parts(linear.matrix_transpose),
    "meshgrid": alike(manipulation.meshgrid),
    "moveaxis": by_parts(manipulation.moveaxis), "named": partwise.name,
    "pad": partwise.padded, "permute_dims": by_parts(manipulation.permute_dims),
    "put_along_axis": partwise.put_along_axis, "repeat": by_parts(manipulation.repeat),
    "reshape": by_parts(manipulation.reshape), "roll": by_parts(manipulation.roll),
    "sliding_window": by_parts(manipulation.sliding_window),
    "split": by_parts(manipulation.split), "squeeze": by_parts(manipulation.squeeze),
    "stack": by_parts(manipulation.stack), "take": by_parts(indexing.take),
    "take_along_axis": by_parts(indexing.take_along_axis),
    "tile": by_parts(manipulation.tile), "tril": by_parts(real_creation.tril),
    "triu": by_parts(real_creation.triu), "unstack": by_parts(manipulation.unstack),
    "x[..]": by_parts(indexing.getitem),
    # Folds.
    "all": partwise.all, "any": partwise.any, "count_nonzero": partwise.count_nonzero,
    "cumulative_prod": partwise.cumulative_prod,
    "cumulative_sum": partwise.cumulative_sum, "diff": partwise.diff,
    "mean": partwise.mean, "prod": partwise.prod, "std": partwise.std,
    "sum": partwise.sum, "var": partwise.var,
    # Transforms, whose results are complex anyway.
    **{f"fft.{name}": getattr(fft, name) for name in fft.__all__},
    "fft.fftshift": by_parts(fft.fftshift),
    "fft.ifftshift": by_parts(fft.ifftshift),
    **{f"linalg.{name}": getattr(linalg, name) for name in (
        "cholesky", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv",
        "matrix_norm", "matrix_power", "matrix_rank", "pinv", "qr", "slogdet", "solve",
        "svd", "svdvals", "trace", "vector_norm",
    )},
    **{f"linalg.{name}": getattr(products, name) for name in (
        "matmul", "outer", "tensordot", "vecdot",
    )},
    "linalg.diagonal": by_parts(real_linalg.diagonal),
    "linalg.matrix_transpose": by_parts(linear.matrix_transpose),
    # Products.
    "einsum": products.einsum, "matmul": products.matmul, "outer": products.outer,
    "tensordot": products.tensordot, "vecdot": products.vecdot,
}  # fmt: skip


def holds_complex(args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether an operand is complex, or a dtype that is asked for."""
    return any(map(_says, args)) or any(map(_says, keywords.values()))


def _says(x: Any) -> bool:
    if isinstance(x, ComplexDType | type | np.dtype | str):
        return complex_dtype(x) is not None
    return is_complex(x)


def of_pairs(name: str) -> Callable[..., Any]:
    """The function of complex arrays with a name."""
    return FUNCTIONS.get(name) or _refusing(name)


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        why = _REASONS.get(name, "it is a function of real numbers: use xp.real(x), "
                           "xp.imag(x) or xp.abs(x)")  # fmt: skip
        raise TraceError(f"xp.{name} of complex numbers: {why}")

    return refuse


__all__ = ["FUNCTIONS", "holds_complex", "of_pairs"]
