"""`xp.linalg` of the Array API standard.

Products, norms, powers and diagonals are graphs.  Factorizations, inverses and
determinants are calls that the host computes (`lapack.py`), in f32 or f64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32, F64, I64

from ..errors import ShapeError
from ..pair import ComplexTracer
from ..tracer import Operand, TraceError, Tracer, astype, lift, promote
from .axes import axes_of, axis_of, whole
from .creation import broadcast_to, eye
from .elementwise import abs as absolute
from .elementwise import pow, sqrt, square
from .information import broadcast_shapes
from .lapack import Lapack, call, unpacked
from .linear import matmul, matrix_transpose, outer, tensordot, vecdot
from .manipulation import concat, expand_dims, pad, reshape, slice_axis
from .statistical import max as greatest
from .statistical import min as least
from .statistical import sum as total

type Norm = float | Literal["fro", "nuc"]


class EigResult(NamedTuple):
    eigenvalues: ComplexTracer
    eigenvectors: ComplexTracer


class EighResult(NamedTuple):
    eigenvalues: Tracer
    eigenvectors: Tracer


class QRResult(NamedTuple):
    Q: Tracer
    R: Tracer


class SlogdetResult(NamedTuple):
    sign: Tracer
    logabsdet: Tracer


class SVDResult(NamedTuple):
    U: Tracer
    S: Tracer
    Vh: Tracer


# ---- what the host computes ----------------------------------------------------------


def cholesky(x: Operand, /, *, upper: bool = False) -> Tracer:
    """The lower triangle L with L Lᵀ = x, or its transpose; x counts as symmetric."""
    x = _symmetric("cholesky", x)
    made = call(Lapack("cholesky"), [x], x.shape)
    return matrix_transpose(made) if upper else made


def det(x: Operand, /) -> Tracer:
    x = _square("det", x)
    return call(Lapack("det"), [x], x.shape[:-2])


def eig(x: Operand, /) -> EigResult:
    """Eigenvalues in no order, and eigenvectors in columns."""
    x = _square("eig", x)
    n = x.shape[-1]
    made = call(Lapack("eig"), [x], (*x.shape[:-2], 2 * n + 2 * n * n))
    a, b, c, d = unpacked(made, (n,), (n,), (n, n), (n, n))
    return EigResult(ComplexTracer(a, b), ComplexTracer(c, d))


def eigvals(x: Operand, /) -> ComplexTracer:
    """Eigenvalues in no order."""
    x = _square("eigvals", x)
    n = x.shape[-1]
    made = call(Lapack("eigvals"), [x], (*x.shape[:-2], 2 * n))
    return ComplexTracer(*unpacked(made, (n,), (n,)))


def eigh(x: Operand, /) -> EighResult:
    """Eigenvalues, the least first, and eigenvectors in columns; x counts as
    symmetric."""
    x = _symmetric("eigh", x)
    n = x.shape[-1]
    made = call(Lapack("eigh"), [x], (*x.shape[:-2], n + n * n))
    return EighResult(*unpacked(made, (n,), (n, n)))


def eigvalsh(x: Operand, /) -> Tracer:
    """Eigenvalues, the least first; x counts as symmetric."""
    x = _symmetric("eigvalsh", x)
    return call(Lapack("eigvalsh"), [x], x.shape[:-1])


def inv(x: Operand, /) -> Tracer:
    x = _square("inv", x)
    return call(Lapack("inv"), [x], x.shape)


def pinv(x: Operand, /, *, rtol: Operand | None = None) -> Tracer:
    """The pseudo-inverse; singular values below `rtol` times the largest count as 0."""
    x = _matrices("pinv", x)
    *front, m, n = x.shape
    limit = lift(rtol_of("pinv", x) if rtol is None else rtol, x.dtype)
    limit = broadcast_to(astype(limit, x.dtype), front)
    return call(Lapack("pinv"), [x, limit], (*front, n, m))


def qr(x: Operand, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    check_mode(mode)
    x = _matrices("qr", x)
    *front, m, n = x.shape
    k = m if mode == "complete" else lesser("qr", m, n)
    made = call(Lapack("qr", (mode,)), [x], (*front, m * k + k * n))
    return QRResult(*unpacked(made, (m, k), (k, n)))


def slogdet(x: Operand, /) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value."""
    x = _square("slogdet", x)
    made = call(Lapack("slogdet"), [x], (*x.shape[:-2], 2))
    return SlogdetResult(*unpacked(made, (), ()))


def solve(x1: Operand, x2: Operand, /) -> Tracer:
    """What `x1` times is `x2`: a vector, if that is one, else matrices."""
    a, b = promote(x1, x2)
    a, b = _square("solve", a), _floating(b)
    if not b.ndim:
        raise ShapeError("solve: x2 is a number; a vector or matrices were expected")
    right = expand_dims(b, -1) if b.ndim == 1 else b
    if right.shape[-2] != a.shape[-1]:
        raise ShapeError(f"solve: {a.type} has {a.shape[-1]} rows, and {b.type} "
                         "another number")  # fmt: skip
    front = _met(a.shape[:-2], right.shape[:-2])
    a = broadcast_to(a, (*front, *a.shape[-2:]))
    right = broadcast_to(right, (*front, *right.shape[-2:]))
    made = call(Lapack("solve"), [a, right], right.shape)
    return reshape(made, made.shape[:-1]) if b.ndim == 1 else made


def svd(x: Operand, /, *, full_matrices: bool = True) -> SVDResult:
    """u, s, v with x = u s v; singular values are sorted, the largest first."""
    x = _matrices("svd", x)
    *front, m, n = x.shape
    k = lesser("svd", m, n)
    rows, cols = (m, n) if full_matrices else (k, k)
    size = m * rows + k + cols * n
    made = call(Lapack("svd", (full_matrices,)), [x], (*front, size))
    return SVDResult(*unpacked(made, (m, rows), (k,), (cols, n)))


def svdvals(x: Operand, /) -> Tracer:
    """Singular values, the largest first."""
    x = _matrices("svdvals", x)
    *front, m, n = x.shape
    return call(Lapack("svdvals"), [x], (*front, lesser("svdvals", m, n)))


def matrix_rank(x: Operand, /, *, rtol: Operand | None = None) -> Tracer:
    """How many singular values are above `rtol` times the largest."""
    x = _matrices("matrix_rank", x)
    s = svdvals(x)
    limit = lift(rtol_of("matrix_rank", x) if rtol is None else rtol, x.dtype)
    if s.shape[-1] == 0:
        return total(astype(s, I64), axis=-1)
    above = s > greatest(s, axis=-1, keepdims=True) * expand_dims(limit, -1)
    return total(astype(above, I64), axis=-1)


# ---- what is a graph -----------------------------------------------------------------


def cross(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Tracer:
    a, b = promote(x1, x2)
    shape = _met(a.shape, b.shape)
    at = axis_of(axis, len(shape), "cross")
    for x in (a, b):
        if x.ndim < len(shape) - at or x.shape[x.ndim - len(shape) + at] != 3:
            raise ShapeError(f"cross: {x.type} has no 3 elements along axis {axis}")
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)

    def turned(x: Tracer, by: int) -> Tracer:
        ends = slice_axis(x, at, by, 3 - by), slice_axis(x, at, 0, by)
        return concat(ends, axis=at)

    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


def diagonal(x: Operand, /, *, offset: int = 0) -> Tracer:
    """The elements with `offset` more columns than rows before them, along a new last
    axis."""
    x = lift(x)
    _check_rank("diagonal", x)
    *front, m, n = x.shape
    size = _diagonal_size(m, n, offset)
    rows = slice_axis(x, x.ndim - 2, max(-offset, 0), size)
    part = slice_axis(rows, x.ndim - 1, max(offset, 0), size)
    wide = [(0, 0)] * len(front) + [(0, size)]  # rows of one more: a column is left
    flat = pad(reshape(part, (*front, size * size)), wide, False)
    shifted = reshape(flat, (*front, size, size + 1))
    return reshape(slice_axis(shifted, x.ndim - 1, 0, 1), (*front, size))


def _diagonal_size(m: Dim, n: Dim, offset: int) -> Dim:
    if isinstance(m, int) and isinstance(n, int):
        return max(min(m + min(offset, 0), n - max(offset, 0)), 0)
    if m == n:
        return m - abs(offset)
    raise TraceError(f"diagonal: which of the sizes {m} and {n} is less is not known")


def trace(x: Operand, /, *, offset: int = 0, dtype: Any = None) -> Tracer:
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_norm(
    x: Operand, /, *, keepdims: bool = False, ord: Norm | None = "fro"
) -> Tracer:
    x = _floating(x)
    _check_rank("matrix_norm", x)
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        fold = {2: greatest, -2: least, "nuc": total}[ord]
        made = fold(svdvals(x), axis=-1)
        return expand_dims(made, (-2, -1)) if keepdims else made
    if ord not in (1, -1, math.inf, -math.inf):
        raise TraceError("matrix_norm: ord is 'fro', 'nuc', 1, 2, inf, or one of these "
                         f"with a minus, found {ord!r}")  # fmt: skip
    columns = ord in (1, -1)
    sums = total(absolute(x), axis=-2 if columns else -1, keepdims=True)
    fold = greatest if ord in (1, math.inf) else least
    return fold(sums, axis=(-2, -1), keepdims=keepdims)


def matrix_power(x: Operand, n: int, /) -> Tracer:
    """By repeated squaring; of the inverse where n is negative."""
    x = lift(x)
    n = whole(n, "matrix_power: a power")
    x = inv(x) if n < 0 else x
    _check_square("matrix_power", x)
    made: Tracer | None = None
    for k in range(abs(n).bit_length()):
        x = matmul(x, x) if k else x
        if abs(n) >> k & 1:
            made = x if made is None else matmul(made, x)
    if made is None:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
    return made


def vector_norm(
    x: Operand, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False,
    ord: float = 2,
) -> Tracer:  # fmt: skip
    x = _floating(x)
    over = axes_of(axis, x.ndim, "vector_norm")
    size = absolute(x)

    def summed(terms: Tracer) -> Tracer:
        return total(terms, axis=over, keepdims=keepdims)

    if ord == math.inf:
        return greatest(size, axis=over, keepdims=keepdims)
    if ord == -math.inf:
        return least(size, axis=over, keepdims=keepdims)
    if ord == 0:
        return summed(astype(x != 0, x.dtype))
    if ord == 1:
        return summed(size)
    if ord == 2:
        return sqrt(summed(square(x)))
    return pow(summed(pow(size, float(ord))), 1 / ord)


# ---- checks --------------------------------------------------------------------------


def _floating(x: Operand) -> Tracer:
    """As NumPy has it: other numbers become f64."""
    x = lift(x)
    return x if x.dtype.is_float else astype(x, F64)


def _matrices(what: str, x: Operand) -> Tracer:
    x = _floating(x)
    if x.dtype not in (F32, F64):
        raise TraceError(f"{what}: {x.type} is computed in f32 or f64: convert it with "
                         "xp.astype(x, xp.float32)")  # fmt: skip
    _check_rank(what, x)
    return x


def _check_rank(what: str, x: Tracer) -> None:
    if x.ndim < 2:
        raise ShapeError(f"{what}: matrices were expected along the last two axes, "
                         f"found {x.type}")  # fmt: skip


def _check_square(what: str, x: Tracer) -> None:
    _check_rank(what, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{what}: square matrices were expected, found {x.type}")


def _square(what: str, x: Operand) -> Tracer:
    x = _matrices(what, x)
    _check_square(what, x)
    return x


def _symmetric(what: str, x: Operand) -> Tracer:
    """Both triangles count alike, in derivatives too; where they agree no bit
    changes."""
    x = _square(what, x)
    return x * 0.5 + matrix_transpose(x) * 0.5


def check_mode(mode: str) -> None:
    if mode not in ("reduced", "complete"):
        raise TraceError(f"qr: mode is 'reduced' or 'complete', found {mode!r}")


def lesser(what: str, m: Dim, n: Dim) -> Dim:
    if isinstance(m, int) and isinstance(n, int):
        return min(m, n)
    if m == n:
        return m
    raise TraceError(f"{what}: which of the sizes {m} and {n} is less is not known")


def rtol_of(what: str, x: Tracer) -> float:
    """The standard's: the larger size, in units of what is next to 1."""
    m, n = x.shape[-2:]
    if isinstance(m, int) and isinstance(n, int):
        return max(m, n) * float(np.finfo(x.dtype.numpy).eps)
    raise TraceError(f"{what}: give rtol=, since the sizes {m} and {n} are not known")


def _met(*shapes: Any) -> tuple[Dim, ...]:
    """The shape in which these meet; sizes may be symbols."""
    return broadcast_shapes(*shapes)


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"rewrite.xp.linalg has no {name!r}: see dir(rewrite.xp.linalg)"
    )


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
