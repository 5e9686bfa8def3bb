"""Derivatives of what the host computes of matrices.

With the matrix a, its tangent t, the result y and a cotangent c.  (Giles, "Collected
matrix derivative results for forward and reverse mode algorithmic differentiation",
2008; Walter and Lehmann, "Algorithmic differentiation of linear algebra functions",
2012.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewrite.egraph.ir.dims import numel

from ...xp.functions.creation import eye, tril, zeros_like
from ...xp.functions.elementwise import where
from ...xp.functions.lapack import Lapack, call, unpacked
from ...xp.functions.linalg import diagonal
from ...xp.functions.linear import matrix_transpose as turned
from ...xp.functions.manipulation import concat, expand_dims, reshape, slice_axis, stack
from ...xp.functions.statistical import sum as total
from ...xp.tracer import TraceError, Tracer
from ..linear import Linear, linear_by

type Maps = Callable[[Lapack, Sequence[Tracer], Tracer], Sequence[Linear | None]]
type Expansion = Callable[[Lapack, Sequence[Tracer]], Tracer]

# ---- inverses and determinants -------------------------------------------------------


def _solved(a: Tracer, b: Tracer) -> Tracer:
    return call(Lapack("solve"), [a, b], b.shape)


def _inverse(a: Tracer) -> Tracer:
    return call(Lapack("inv"), [a], a.shape)


def _inv(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    return [linear_by(
        y, lambda t, y: -(y @ t @ y), lambda c, y: -(turned(y) @ c @ turned(y))
    )]  # fmt: skip


def _solve(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    def forward(t: Tracer, a: Tracer, y: Tracer) -> Tracer:
        return -_solved(a, t @ y)

    def backward(c: Tracer, a: Tracer, y: Tracer) -> Tracer:
        return -(_solved(turned(a), c) @ turned(y))

    of_b = linear_by(
        args[0], lambda t, a: _solved(a, t), lambda c, a: _solved(turned(a), c)
    )
    return Linear(forward, backward, (args[0], y)), of_b


def _pinv(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear | None]:
    """Of matrices around which the rank is the same (Golub and Pereyra, 1973)."""

    def forward(t: Tracer, a: Tracer, y: Tracer) -> Tracer:
        u, v = turned(t), turned(y)
        beside = u - (u @ a) @ y, u - y @ (a @ u)
        return -(y @ t @ y) + y @ v @ beside[0] + beside[1] @ v @ y

    def backward(c: Tracer, a: Tracer, y: Tracer) -> Tracer:
        u, v = turned(c), turned(y)
        rows, cols = u @ y @ v, v @ y @ u
        return -(v @ c @ v) + (rows - a @ (y @ rows)) + (cols - (cols @ y) @ a)

    return Linear(forward, backward, (args[0], y)), None


def _det(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    a = args[0]
    return [_weighted(call(Lapack("cofactor"), [a], a.shape))]


def _weighted(by: Tracer) -> Linear:
    """t -> the sum of its elements times those of a matrix."""
    return linear_by(
        by, lambda t, by: total(t * by, axis=(-2, -1)),
        lambda c, by: expand_dims(c, (-2, -1)) * by,
    )  # fmt: skip


def _slogdet(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    """The sign does not vary."""

    def forward(t: Tracer, by: Tracer) -> Tracer:
        slope = total(t * by, axis=(-2, -1))
        return stack([zeros_like(slope), slope], axis=-1)

    def backward(c: Tracer, by: Tracer) -> Tracer:
        return expand_dims(slice_axis(c, c.ndim - 1, 1, 1), -1) * by

    return [linear_by(turned(_inverse(args[0])), forward, backward)]


def _cofactor(f: Lapack, args: Sequence[Tracer]) -> Tracer:
    """Of matrices that have an inverse."""
    a = args[0]
    det = call(Lapack("det"), [a], a.shape[:-2])
    return expand_dims(det, (-2, -1)) * turned(_inverse(a))


# ---- factorizations ------------------------------------------------------------------


def _cholesky(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    """Of symmetric matrices, which are all that it is called with."""

    def lower(x: Tracer) -> Tracer:
        """Its triangle, with half of the diagonal."""
        return tril(x) - _diagonals(x) * 0.5

    def forward(t: Tracer, y: Tracer) -> Tracer:
        return y @ lower(turned(_solved(y, turned(_solved(y, t)))))

    def backward(c: Tracer, y: Tracer) -> Tracer:
        v = turned(y)
        return turned(_solved(v, turned(_solved(v, lower(v @ c)))))

    return [linear_by(y, forward, backward)]


def _eigh(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    """Equal eigenvalues have vectors that do not vary only where nothing couples them;
    else their slope is infinite."""
    n = args[0].shape[-1]

    def forward(t: Tracer, y: Tracer) -> Tracer:
        values, vectors = unpacked(y, (n,), (n, n))
        p = turned(vectors) @ t @ vectors
        return _joined(y.ndim - 1, diagonal(p), vectors @ _over_gaps(p, values))

    def backward(c: Tracer, y: Tracer) -> Tracer:
        values, vectors = unpacked(y, (n,), (n, n))
        of_values, of_vectors = unpacked(c, (n,), (n, n))
        p = _over_gaps(turned(vectors) @ of_vectors, values)
        return vectors @ (p + _diagonal_of(of_values)) @ turned(vectors)

    return [linear_by(y, forward, backward)]


def _over_gaps(p: Tracer, values: Tracer) -> Tracer:
    """Elements over the distance of the values of their column and row; 0 stays 0."""
    gap = expand_dims(values, -2) - expand_dims(values, -1)
    zero = (p == 0) | _is_diagonal(p)
    return where(zero, 0.0, p / where(zero, 1.0, gap))


def _eigvalsh(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    a = args[0]
    n = a.shape[-1]
    both = call(Lapack("eigh"), [a], (*a.shape[:-2], n + n * n))
    vectors = unpacked(both, (n,), (n, n))[1]
    return [linear_by(
        vectors, lambda t, v: diagonal(turned(v) @ t @ v),
        lambda c, v: (v * expand_dims(c, -2)) @ turned(v),
    )]  # fmt: skip


def _svdvals(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    a = args[0]
    *front, m, n = a.shape
    k = y.shape[-1]
    every = call(Lapack("svd", (False,)), [a], (*front, m * k + k + k * n))
    u, _, v = unpacked(every, (m, k), (k,), (k, n))

    def forward(t: Tracer, u: Tracer, v: Tracer) -> Tracer:
        return diagonal(turned(u) @ t @ turned(v))

    def backward(c: Tracer, u: Tracer, v: Tracer) -> Tracer:
        return (u * expand_dims(c, -2)) @ v

    return [Linear(forward, backward, (u, v))]


def _svd(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    """With p = uᵀ t v.  Equal singular values are as equal eigenvalues are."""
    *_, m, n = args[0].shape
    if f.options[0] and m != n:
        raise TraceError("the derivative of linalg.svd: the vectors that full_matrices "
                         "adds are any of many; use full_matrices=False")  # fmt: skip
    k = n if m == n else min(m, n)
    shapes = (m, k), (k,), (k, n)

    def forward(t: Tracer, y: Tracer) -> Tracer:
        u, s, v = unpacked(y, *shapes)
        right, cols, rows = turned(v), expand_dims(s, -2), expand_dims(s, -1)
        p = turned(u) @ t @ right
        q = turned(p)
        du = u @ _over_gaps(p * cols + rows * q, s * s)
        du = du + _beyond(u, t @ right / cols)
        dv = right @ _over_gaps(rows * p + q * cols, s * s)
        dv = dv + _beyond(right, turned(t) @ u / cols)
        return _joined(y.ndim - 1, du, diagonal(p), turned(dv))

    def backward(c: Tracer, y: Tracer) -> Tracer:
        u, s, v = unpacked(y, *shapes)
        cu, cs, cv = unpacked(c, *shapes)
        right, cols, rows = turned(v), expand_dims(s, -2), expand_dims(s, -1)
        cv = turned(cv)
        g, h = (_over_gaps(turned(a) @ b, s * s) for a, b in ((u, cu), (right, cv)))
        p = g * cols + turned(g) * cols + rows * (h + turned(h)) + _diagonal_of(cs)
        beside = _beyond(u, cu / cols) @ v + u @ turned(_beyond(right, cv / cols))
        return u @ p @ v + beside

    return [linear_by(y, forward, backward)]


def _beyond(u: Tracer, x: Tracer) -> Tracer:
    """What of the columns of x is orthogonal to those of u; none, where u has all."""
    if u.shape[-1] == u.shape[-2]:
        return zeros_like(x)
    return x - u @ (turned(u) @ x)


def _qr(f: Lapack, args: Sequence[Tracer], y: Tracer) -> Sequence[Linear]:
    """With d = t r⁻¹ and p = qᵀ d, whose lower triangle turns q."""
    *_, m, n = args[0].shape
    square = m == n
    if not square and (f.options[0] == "complete" or not _is_tall(m, n)):
        raise TraceError("the derivative of linalg.qr: it is known of matrices with at "
                         "least as many rows as columns, with mode='reduced'"
                         )  # fmt: skip
    shapes = (m, n), (n, n)

    def forward(t: Tracer, y: Tracer) -> Tracer:
        q, r = unpacked(y, *shapes)
        d = turned(_solved(turned(r), turned(t)))
        p = turned(q) @ d
        turn = tril(p, k=-1) - turned(tril(p, k=-1))
        return _joined(y.ndim - 1, q @ turn + _beyond(q, d), (p - turn) @ r)

    def backward(c: Tracer, y: Tracer) -> Tracer:
        q, r = unpacked(y, *shapes)
        cq, cr = unpacked(c, *shapes)
        turn = turned(q) @ cq - cr @ turned(r)
        p = cr @ turned(r) + tril(turn - turned(turn), k=-1)
        d = _beyond(q, cq) + q @ p
        return turned(_solved(r, turned(d)))

    return [linear_by(y, forward, backward)]


def _is_tall(m: object, n: object) -> bool:
    return isinstance(m, int) and isinstance(n, int) and m >= n


# ---- helpers -------------------------------------------------------------------------


def _is_diagonal(x: Tracer) -> Tracer:
    return eye(x.shape[-2], x.shape[-1], dtype="bool")


def _diagonals(x: Tracer) -> Tracer:
    return where(_is_diagonal(x), x, 0.0)


def _diagonal_of(values: Tracer) -> Tracer:
    """Matrices with these on the diagonal."""
    n = values.shape[-1]
    return where(eye(n, dtype="bool"), expand_dims(values, -1), 0.0)


def _joined(front: int, *parts: Tracer) -> Tracer:
    """What lies behind the axes in front, one after the other."""
    flat = [reshape(x, (*x.shape[:front], numel(x.shape[front:]))) for x in parts]
    return concat(flat, axis=-1)


RULES: dict[str, Maps] = {
    "cholesky": _cholesky, "det": _det, "eigh": _eigh, "eigvalsh": _eigvalsh,
    "inv": _inv, "pinv": _pinv, "qr": _qr, "slogdet": _slogdet, "solve": _solve,
    "svd": _svd, "svdvals": _svdvals,
}  # fmt: skip

# What is written in others, which have rules.
EXPANSIONS: dict[str, Expansion] = {"cofactor": _cofactor}

__all__ = ["EXPANSIONS", "RULES"]
