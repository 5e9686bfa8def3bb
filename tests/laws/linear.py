"""Gradients, updates of low rank, batches."""

# Sides of laws are lambdas, whose parameters are arrays of any kind.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import rewrite as rw
from rewrite import xp

from .law import Law
from .masked import eye

LINEAR = (
    Law(
        "hessian of a regression times a vector",
        "nn n n",
        lambda x, s, v: (x.T @ (s[:, None] * x)) @ v,
        lambda x, s, v: x.T @ (s * (x @ v)),
    ),
    Law(
        "damped step of Gauss and Newton",
        "nn n",
        lambda j, p: (j.T @ j + 0.1 * eye(j)) @ p,
        lambda j, p: j.T @ (j @ p) + 0.1 * p,
    ),
    Law(
        "Fisher matrix times a vector",
        "nn n",
        lambda g, v: xp.mean(g[:, :, None] * g[:, None, :], axis=0) @ v,
        lambda g, v: g.T @ (g @ v) * (1 / g.shape[0]),
    ),
    Law(
        "norms of gradients, example by example",
        "nn nn",
        lambda x, d: xp.sum((x[:, :, None] * d[:, None, :]) ** 2, axis=(1, 2)),
        lambda x, d: xp.sum(x * x, axis=1) * xp.sum(d * d, axis=1),
    ),
    Law(
        "slope of softmax times a vector",
        "n n",
        lambda p, v: (eye(p) * p - xp.outer(p, p)) @ v,
        lambda p, v: p * v - p * xp.sum(p * v),
    ),
    Law(
        "slope of a normalisation times a vector",
        "n n",
        lambda x, g: (eye(x) - 1.0 / x.shape[0] - xp.outer(x, x) / x.shape[0]) @ g,
        lambda x, g: g - xp.mean(g) - x * xp.mean(x * g),
    ),
    Law(
        "gradient of all pairs",
        "n n",
        lambda x, y: rw.grad(lambda a: xp.sum((a[:, None] * y[None, :]) ** 2))(x),
        lambda x, y: 2.0 * x * xp.sum(y * y),
    ),
    Law(
        "gradient of the sum of a deep net",
        "nn nn nn",
        lambda x, w, u: rw.grad(lambda a: xp.sum(a @ w @ u))(x),
        lambda x, w, u: xp.broadcast_to(w @ xp.sum(u, axis=1), x.shape),
    ),
    Law(
        "gradient of the trace of a product",
        "nn nn",
        lambda a, b: rw.grad(lambda x: xp.sum((x @ b) * eye(x)))(a),
        lambda a, b: b.T * 1.0,
    ),
    Law(
        "gradient of a quadratic form, by rank one",
        "nk n",
        lambda u, x: rw.grad(lambda y: y @ (u @ u.T) @ y)(x),
        lambda u, x: 2.0 * (u @ (u.T @ x)),
    ),
    Law(
        "diagonal and low rank times a vector",
        "n nk nk n",
        lambda d, u, v, x: (eye(d) * d + u @ v.T) @ x,
        lambda d, u, v, x: d * x + u @ (v.T @ x),
    ),
    Law(
        "diagonal and low rank times a matrix",
        "n nk nk nn",
        lambda d, u, v, a: (eye(d) * d + u @ v.T) @ a,
        lambda d, u, v, a: d[:, None] * a + u @ (v.T @ a),
    ),
    Law(
        "trace behind a projection",
        "nk nn",
        lambda q, a: xp.sum(((eye(q) - q @ q.T) @ a) * eye(q)),
        lambda q, a: xp.sum(a * eye(a)) - xp.sum(q * (a @ q)),
    ),
    Law(
        "batch of chains",
        "knn knn kn1",
        lambda a, b, v: (a @ b) @ v,
        lambda a, b, v: a @ (b @ v),
    ),
    Law(
        "batch of traces",
        "knn knn",
        lambda a, b: xp.sum((a @ b) * eye(a[0]), axis=(1, 2)),
        lambda a, b: xp.sum(a * xp.matrix_transpose(b), axis=(1, 2)),
    ),
    Law(
        "sum over a batch behind a shared matrix",
        "knn nn",
        lambda x, w: xp.sum(x @ w, axis=0),
        lambda x, w: xp.sum(x, axis=0) @ w,
    ),
    Law(
        "batch of outer products times vectors",
        "kn kn kn",
        lambda u, v, x: (u[:, :, None] * v[:, None, :]) @ x[:, :, None],
        lambda u, v, x: (u * xp.sum(v * x, axis=1, keepdims=True))[:, :, None],
    ),
    Law(
        "batch of reflections",
        "kn knn",
        lambda v, a: a - 2 * (v[:, :, None] * v[:, None, :]) @ a,
        lambda v, a: a - 2 * v[:, :, None] * (v[:, None, :] @ a),
    ),
    Law(
        "mapped matrix products of a vector",
        "knn nn n",
        lambda a, b, x: rw.vmap(lambda m: (m @ b) @ x)(a),
        lambda a, b, x: a @ (b @ x),
    ),
    Law(
        "column sums of a batch",
        "knn knn",
        lambda a, b: xp.einsum("bij,bjk->bk", a, b),
        lambda a, b: (xp.sum(a, axis=1, keepdims=True) @ b)[:, 0],
    ),
    Law(
        "sum of a symmetric product",
        "nk",
        lambda x: xp.sum(x @ x.T, axis=1),
        lambda x: x @ xp.sum(x, axis=0),
    ),
)
