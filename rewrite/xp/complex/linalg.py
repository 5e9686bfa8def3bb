"""`xp.linalg` of complex matrices; the host computes what it computes of real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.ir.dtypes import I64

from ..errors import ShapeError
from ..functions import linalg
from ..functions.creation import broadcast_to, eye
from ..functions.information import broadcast_shapes
from ..functions.lapack import OF_PAIRS, Lapack, call, unpacked
from ..functions.statistical import max as greatest
from ..functions.statistical import min as least
from ..functions.statistical import sum as total
from ..pair import ComplexTracer, filled, pair, pairs
from ..tracer import Tracer, astype, lift
from .arithmetic import absolute
from .partwise import partwise
from .products import bilinear, matmul

type Shape = Sequence[Dim]


def _call(
    name: str, matrices: Sequence[ComplexTracer], *shapes: Shape,
    options: tuple[bool | str, ...] = (), also: Sequence[Tracer] = (),
) -> list[ComplexTracer]:  # fmt: skip
    """The results of these shapes, behind the axes in front."""
    args = [p for z in matrices for p in (z.real, z.imag)]
    size: Dim = 0
    for shape in shapes:
        size = size + 2 * numel(shape)
    f = Lapack(f"{OF_PAIRS}{name}", options)
    made = call(f, [*args, *also], (*matrices[0].shape[:-2], size))
    parts = iter(unpacked(made, *(s for s in shapes for _ in range(2))))
    return [ComplexTracer(a, next(parts)) for a in parts]


def adjoint(z: ComplexTracer) -> ComplexTracer:
    turned = partwise(linalg.matrix_transpose)(z)
    return ComplexTracer(turned.real, -turned.imag)


def _matrices(what: str, x: Any) -> ComplexTracer:
    z = pair(x)
    if z.ndim < 2:
        raise ShapeError(f"{what}: matrices were expected along the last two axes, "
                         f"found {z.type}")  # fmt: skip
    return z


def _square(what: str, x: Any) -> ComplexTracer:
    z = _matrices(what, x)
    if z.shape[-1] != z.shape[-2]:
        raise ShapeError(f"{what}: square matrices were expected, found {z.type}")
    return z


def _hermitian(what: str, x: Any) -> ComplexTracer:
    """Both triangles count alike; where they agree no bit changes."""
    z = _square(what, x)
    other = adjoint(z)
    return ComplexTracer(
        z.real * 0.5 + other.real * 0.5, z.imag * 0.5 + other.imag * 0.5
    )


def _least(what: str, z: ComplexTracer) -> Dim:
    return linalg.lesser(what, *z.shape[-2:])


# ---- what the host computes ----------------------------------------------------------


def cholesky(x: Any, /, *, upper: bool = False) -> ComplexTracer:
    """The lower triangle L with L Lᴴ = x, or its adjoint; x counts as Hermitian."""
    z = _hermitian("cholesky", x)
    (made,) = _call("cholesky", [z], z.shape[-2:])
    return adjoint(made) if upper else made


def det(x: Any, /) -> ComplexTracer:
    return _call("det", [_square("det", x)], ())[0]


def eig(x: Any, /) -> linalg.EigResult:
    z = _square("eig", x)
    n = z.shape[-1]
    return linalg.EigResult(*_call("eig", [z], (n,), (n, n)))


def eigvals(x: Any, /) -> ComplexTracer:
    z = _square("eigvals", x)
    return _call("eigvals", [z], (z.shape[-1],))[0]


def eigh(x: Any, /) -> tuple[Any, Any]:
    """Eigenvalues, which are real, the least first, and eigenvectors in columns."""
    z = _hermitian("eigh", x)
    n = z.shape[-1]
    values, vectors = _call("eigh", [z], (n,), (n, n))
    made: Any = linalg.EighResult
    return made(values.real, vectors)


def eigvalsh(x: Any, /) -> Tracer:
    z = _hermitian("eigvalsh", x)
    return _call("eigvalsh", [z], (z.shape[-1],))[0].real


def inv(x: Any, /) -> ComplexTracer:
    z = _square("inv", x)
    return _call("inv", [z], z.shape[-2:])[0]


def pinv(x: Any, /, *, rtol: Any = None) -> ComplexTracer:
    z = _matrices("pinv", x)
    *front, m, n = z.shape
    limit = lift(linalg.rtol_of("pinv", z.real) if rtol is None else rtol, z.real.dtype)
    limit = broadcast_to(astype(limit, z.real.dtype), front)
    return _call("pinv", [z], (n, m), also=[limit])[0]


def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    linalg.check_mode(mode)
    z = _matrices("qr", x)
    m, n = z.shape[-2:]
    k = m if mode == "complete" else _least("qr", z)
    made: Any = linalg.QRResult
    return made(*_call("qr", [z], (m, k), (k, n), options=(mode,)))


def slogdet(x: Any, /) -> Any:
    """The sign, a number of size 1, and the logarithm of the size."""
    sign, size = _call("slogdet", [_square("slogdet", x)], (), ())
    made: Any = linalg.SlogdetResult
    return made(sign, size.real)


def solve(x1: Any, x2: Any, /) -> ComplexTracer:
    a, b = pairs(x1, x2)
    a = _square("solve", a)
    if not b.ndim:
        raise ShapeError("solve: x2 is a number; a vector or matrices were expected")
    column = b.ndim == 1
    right = partwise(linalg.expand_dims)(b, -1) if column else b
    if right.shape[-2] != a.shape[-1]:
        raise ShapeError(f"solve: {a.type} has {a.shape[-1]} rows, and {b.type} "
                         "another number")  # fmt: skip
    shapes: Any = a.shape[:-2], right.shape[:-2]
    front = broadcast_shapes(*shapes)
    both = [partwise(broadcast_to)(z, (*front, *z.shape[-2:])) for z in (a, right)]
    (made,) = _call("solve", both, right.shape[-2:])
    return partwise(linalg.reshape)(made, made.shape[:-1]) if column else made


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    z = _matrices("svd", x)
    m, n = z.shape[-2:]
    k = _least("svd", z)
    rows, cols = (m, n) if full_matrices else (k, k)
    shapes = (m, rows), (k,), (cols, n)
    u, s, v = _call("svd", [z], *shapes, options=(full_matrices,))
    made: Any = linalg.SVDResult
    return made(u, s.real, v)


def svdvals(x: Any, /) -> Tracer:
    z = _matrices("svdvals", x)
    return _call("svdvals", [z], (_least("svdvals", z),))[0].real


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tracer:
    z = _matrices("matrix_rank", x)
    s = svdvals(z)
    if s.shape[-1] == 0:
        return total(astype(s, I64), axis=-1)
    part = z.real.dtype
    limit = lift(linalg.rtol_of("matrix_rank", z.real) if rtol is None else rtol, part)
    most = greatest(s, axis=-1, keepdims=True)
    return total(astype(s > most * linalg.expand_dims(limit, -1), I64), axis=-1)


# ---- what is a graph -----------------------------------------------------------------


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> ComplexTracer:
    return bilinear(linalg.cross, x1, x2, axis=axis)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> ComplexTracer:
    return partwise(linalg.trace)(pair(x, dtype), offset=offset)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False,
                ord: float = 2) -> Tracer:  # fmt: skip
    return linalg.vector_norm(absolute(x), axis=axis, keepdims=keepdims, ord=ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tracer:
    if ord in (2, -2, "nuc"):
        fold: Callable[..., Tracer] = {2: greatest, -2: least, "nuc": total}[ord]
        made = fold(svdvals(x), axis=-1)
        return linalg.expand_dims(made, (-2, -1)) if keepdims else made
    return linalg.matrix_norm(absolute(x), keepdims=keepdims, ord=ord)


def matrix_power(x: Any, n: int, /) -> ComplexTracer:
    z = _square("matrix_power", x)
    z = inv(z) if n < 0 else z
    made: ComplexTracer | None = None
    for k in range(abs(n).bit_length()):
        z = matmul(z, z) if k else z
        if abs(n) >> k & 1:
            made = z if made is None else matmul(made, z)
    if made is None:
        one = broadcast_to(eye(z.shape[-1], dtype=z.real.dtype), z.shape)
        return ComplexTracer(one, filled(one, 0))
    return made
