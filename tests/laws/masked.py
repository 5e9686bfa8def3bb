"""Masks in products and sums: eyes, triangles, one-hot rows, positions compared."""

# Sides of laws are lambdas, whose parameters are arrays of any kind.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from rewrite import xp

from .law import Law


def arange(x: xp.Tracer, axis: int = 0) -> xp.Tracer:
    return xp.arange(x.shape[axis])


def eye(x: xp.Tracer) -> xp.Tracer:
    return xp.eye(x.shape[0], dtype=xp.float32)


def lower(x: xp.Tracer) -> xp.Tracer:
    return xp.tril(xp.ones((x.shape[0], x.shape[0]), dtype=xp.float32))


def one_hot(index: xp.Tracer, size: int) -> xp.Tracer:
    return xp.astype(index[:, None] == xp.arange(size), xp.float32)


def total(x: xp.Tracer) -> xp.Tracer:
    return xp.cumulative_sum(x, axis=0)


MASKED = (
    Law(
        "trace of three matrices",
        "nk kn nn",
        lambda u, v, a: xp.sum((u @ v @ a) * eye(a)),
        lambda u, v, a: xp.sum((v @ a) * u.T),
    ),
    Law(
        "diagonal part times a vector",
        "nn n",
        lambda a, x: (a * eye(a)) @ x,
        lambda a, x: xp.take_along_axis(a, arange(a)[:, None], axis=1)[:, 0] * x,
    ),
    Law(
        "diagonal of a congruence",
        "nk kk",
        lambda x, a: xp.sum((x @ a @ x.T) * eye(x), axis=1),
        lambda x, a: xp.sum((x @ a) * x, axis=1),
    ),
    Law(
        "column by a compared position",
        "nn",
        lambda a: xp.sum(xp.where(arange(a) == 3, a, 0.0), axis=1),
        lambda a: a[:, 3],
    ),
    Law(
        "losses by one-hot labels",
        "nv #n",
        lambda p, y: xp.sum(xp.log(p * p) * one_hot(y, p.shape[1]), axis=1),
        lambda p, y: xp.log(xp.take_along_axis(p, y[:, None], axis=1)[:, 0] ** 2),
    ),
    Law(
        "one-hot features of two words",
        "#n #n vk vk",
        lambda i, j, a, b: xp.sum(
            (one_hot(i, a.shape[0]) @ a) * (one_hot(j, b.shape[0]) @ b), axis=1
        ),
        lambda i, j, a, b: xp.sum(
            xp.take(a, i, axis=0) * xp.take(b, j, axis=0), axis=1
        ),
    ),
    Law(
        "running sum by a triangle",
        "n",
        lambda x: lower(x) @ x,
        lambda x: total(x),
    ),
    Law(
        "running sums of rows by a triangle",
        "nk",
        lambda x: lower(x) @ x,
        lambda x: total(x),
    ),
    Law(
        "sum up to the previous one",
        "nk",
        lambda x: xp.astype(arange(x)[:, None] > arange(x)[None, :], xp.float32) @ x,
        lambda x: total(x) - x,
    ),
    Law(
        "running mean by a triangle",
        "nk",
        lambda x: (lower(x) / (1.0 + xp.astype(arange(x), xp.float32))[:, None]) @ x,
        lambda x: total(x) / (1.0 + xp.astype(arange(x), xp.float32))[:, None],
    ),
    Law(
        "causal attention of rank one",
        "n n n",
        lambda q, k, v: xp.tril(xp.outer(q, k)) @ v,
        lambda q, k, v: q * total(k * v),
    ),
    Law(
        "sum over ordered pairs",
        "n n",
        lambda a, b: xp.sum(xp.tril(xp.outer(a, b))),
        lambda a, b: xp.sum(a * total(b)),
    ),
    Law(
        "sum over the later ones",
        "n",
        lambda x: xp.sum(xp.where(arange(x)[:, None] < arange(x)[None, :], x, 0.0)),
        lambda x: xp.sum(xp.astype(arange(x), xp.float32) * x),
    ),
    Law(
        "rows above by a shifted eye",
        "nn",
        lambda a: xp.eye(a.shape[0], k=1, dtype=xp.float32) @ a,
        lambda a: xp.pad(a[1:], [(0, 1), (0, 0)]),
    ),
    Law(
        "second differences by three diagonals",
        "n",
        lambda x: (
            (
                xp.eye(x.shape[0], k=1, dtype=xp.float32)
                + xp.eye(x.shape[0], k=-1, dtype=xp.float32)
                - 2 * eye(x)
            )
            @ x
        ),
        lambda x: xp.pad(x[1:], [(0, 1)]) + xp.pad(x[:-1], [(1, 0)]) - 2 * x,
    ),
    Law(
        "tridiagonal matrix times a vector",
        "n n n n",
        lambda a, b, c, x: (
            (
                xp.eye(x.shape[0], k=1, dtype=xp.float32) * a
                + xp.eye(x.shape[0], k=-1, dtype=xp.float32) * b
                + eye(x) * c
            )
            @ x
        ),
        lambda a, b, c, x: (
            xp.pad((a * x)[1:], [(0, 1)]) + xp.pad((b * x)[:-1], [(1, 0)]) + c * x
        ),
    ),
    Law(
        "turned around by a cyclic permutation",
        "nn",
        lambda a: (
            xp.astype(
                arange(a)[None, :] == (arange(a)[:, None] + 1) % a.shape[0], xp.float32
            )
            @ a
        ),
        lambda a: xp.roll(a, -1, axis=0),
    ),
    Law(
        "columns from behind by a flipped eye",
        "nn",
        lambda a: a @ xp.flip(eye(a), axis=0),
        lambda a: xp.flip(a, axis=1),
    ),
    Law(
        "rows of some taken from a product",
        "nn nn ?n",
        lambda x, w, keep: xp.sum(xp.where(keep[:, None], x @ w, 0.0), axis=0),
        lambda x, w, keep: xp.astype(keep, xp.float32) @ x @ w,
    ),
    Law(
        "sum where a row is positive",
        "n n",
        lambda a, b: xp.sum(xp.where(a[:, None] > 0, b[None, :], 0.0)),
        lambda a, b: xp.sum(xp.astype(a > 0, xp.float32)) * xp.sum(b),
    ),
    Law(
        "both branches a product",
        "nn n n ?n",
        lambda a, x, y, c: xp.where(c, a @ x, a @ y),
        lambda a, x, y, c: xp.sum(
            a * xp.where(c[:, None], x[None, :], y[None, :]), axis=1
        ),
    ),
    Law(
        "what is kept and what is not",
        "nn ?nn",
        lambda a, c: xp.sum(xp.where(c, a, 0.0)) + xp.sum(xp.where(c, 0.0, a)),
        lambda a, c: xp.sum(a),
    ),
)
