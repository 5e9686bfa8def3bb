"""Running folds, other semirings, all pairs, moments of affine maps."""

# Sides of laws are lambdas, whose parameters are arrays of any kind.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from rewrite import xp

from .law import Law


def pairs(a: xp.Tracer, b: xp.Tracer) -> tuple[xp.Tracer, xp.Tracer]:
    return a[:, None], b[None, :]


def lse(x: xp.Tracer, axis: int) -> xp.Tracer:
    return xp.nn.logsumexp(x, axis=axis)


FOLDED = (
    Law(
        "last running sum of a layer",
        "nn nn",
        lambda x, w: xp.cumulative_sum(x @ w, axis=0)[-1],
        lambda x, w: xp.sum(x, axis=0) @ w,
    ),
    Law(
        "running sum of a layer, weighted",
        "nn nn n",
        lambda x, w, v: xp.cumulative_sum(x @ w, axis=0) @ v,
        lambda x, w, v: xp.cumulative_sum(x @ (w @ v), axis=0),
    ),
    Law(
        "running sum of an outer product",
        "n n n",
        lambda a, b, v: xp.cumulative_sum(xp.outer(a, b), axis=0) @ v,
        lambda a, b, v: xp.cumulative_sum(a, axis=0) * (b @ v),
    ),
    Law(
        "sum of running sums",
        "n",
        lambda x: xp.sum(xp.cumulative_sum(x)),
        lambda x: xp.sum(x * xp.astype(x.shape[0] - xp.arange(x.shape[0]), xp.float32)),
    ),
    Law(
        "differences of a running sum",
        "n",
        lambda x: xp.diff(xp.cumulative_sum(x)),
        lambda x: x[1:],
    ),
    Law(
        "running sum of differences",
        "n",
        lambda x: xp.cumulative_sum(xp.diff(x)),
        lambda x: x[1:] - x[0],
    ),
    Law(
        "few of a running sum",
        "n",
        lambda x: xp.cumulative_sum(x)[7],
        lambda x: xp.sum(x[:8]),
    ),
    Law(
        "running product of exponentials",
        "n",
        lambda x: xp.log(xp.cumulative_prod(xp.exp(x))),
        lambda x: xp.cumulative_sum(x),
    ),
    Law(
        "greatest of sums in a row",
        "n n",
        lambda a, b: xp.max(sum(pairs(a, b)), axis=1),
        lambda a, b: a + xp.max(b),
    ),
    Law(
        "greatest exponential of sums",
        "n n",
        lambda a, b: xp.max(xp.exp(sum(pairs(a, b)))),
        lambda a, b: xp.exp(xp.max(a) + xp.max(b)),
    ),
    Law(
        "least of differences",
        "n n",
        lambda a, b: xp.min(a[:, None] - b[None, :]),
        lambda a, b: xp.min(a) - xp.max(b),
    ),
    Law(
        "longest path of three steps",
        "mm mm m",
        lambda a, b, v: xp.max(
            xp.max(a[:, :, None] + b[None, :, :], axis=1) + v[None, :], axis=1
        ),
        lambda a, b, v: xp.max(a + xp.max(b + v[None, :], axis=1)[None, :], axis=1),
    ),
    Law(
        "evidence of a chain",
        "mm mm m",
        lambda a, b, v: xp.log(
            xp.sum(xp.sum(xp.exp(a[:, :, None] + b[None, :, :] + v), axis=1), axis=1)
        ),
        lambda a, b, v: xp.log(xp.exp(a) @ xp.sum(xp.exp(b + v), axis=1)),
    ),
    Law(
        "logsumexp of sums in a row",
        "n n",
        lambda a, b: lse(a[:, None] + b[None, :], 1),
        lambda a, b: a + lse(b, 0),
    ),
    Law(
        "softmax of sums in a row",
        "n n nk",
        lambda a, b, v: xp.nn.softmax(sum(pairs(a, b)), axis=1) @ v,
        lambda a, b, v: xp.broadcast_to(xp.nn.softmax(b) @ v, (a.shape[0], v.shape[1])),
    ),
    Law(
        "all pairs in order",
        "n n",
        lambda a, b: xp.all(a[:, None] <= b[None, :]),
        lambda a, b: xp.max(a) <= xp.min(b),
    ),
    Law(
        "any pair of both",
        "?n ?n",
        lambda a, b: xp.any(a[:, None] & b[None, :]),
        lambda a, b: xp.any(a) & xp.any(b),
    ),
    Law(
        "greatest of the smaller ones",
        "n n",
        lambda a, b: xp.max(xp.minimum(*pairs(a, b))),
        lambda a, b: xp.minimum(xp.max(a), xp.max(b)),
    ),
    Law(
        "greatest of the masked sums",
        "n n ?n",
        lambda a, b, c: xp.max(xp.where(c[None, :], a[:, None] + b[None, :], -xp.inf)),
        lambda a, b, c: xp.max(a) + xp.max(xp.where(c, b, -xp.inf)),
    ),
    Law(
        "log of a product of exponentials",
        "nn",
        lambda x: xp.log(xp.prod(xp.exp(x), axis=1)),
        lambda x: xp.sum(x, axis=1),
    ),
    Law(
        "differences from all others",
        "n n n",
        lambda a, b, m: xp.sum((b[None, :] - a[:, None]) * m[None, :], axis=1),
        lambda a, b, m: xp.sum(b * m) - a * xp.sum(m),
    ),
    Law(
        "weighted differences of all pairs",
        "n n n n",
        lambda a, b, u, v: xp.sum(u[:, None] * v[None, :] * (a[:, None] - b[None, :])),
        lambda a, b, u, v: (u @ a) * xp.sum(v) - xp.sum(u) * (v @ b),
    ),
    Law(
        "forces between points in space",
        "n3",
        lambda x: xp.sum(x[None, :, :] - x[:, None, :], axis=1),
        lambda x: xp.sum(x, axis=0) - x * float(x.shape[0]),
    ),
    Law(
        "interference of waves",
        "n n",
        lambda x, y: xp.sum(xp.cos(x[:, None] - y[None, :])),
        lambda x, y: (
            xp.sum(xp.cos(x)) * xp.sum(xp.cos(y))
            + xp.sum(xp.sin(x)) * xp.sum(xp.sin(y))
        ),
    ),
    Law(
        "decays between all times",
        "n n",
        lambda a, b: xp.sum(xp.exp(a[:, None] - b[None, :]), axis=1),
        lambda a, b: xp.exp(a) * xp.sum(xp.exp(-b)),
    ),
    Law(
        "geometric means of all pairs",
        "+n +n",
        lambda a, b: xp.sum(xp.sqrt(a[:, None] * b[None, :])),
        lambda a, b: xp.sum(xp.sqrt(a)) * xp.sum(xp.sqrt(b)),
    ),
    Law(
        "all pairs of a polynomial",
        "n n",
        lambda a, b: xp.sum((a[:, None] * b[None, :]) ** 2 + a[:, None]),
        lambda a, b: xp.sum(a * a) * xp.sum(b * b) + b.shape[0] * xp.sum(a),
    ),
    Law(
        "ratios of all pairs",
        "n +n",
        lambda a, b: xp.sum(a[:, None] / b[None, :], axis=0),
        lambda a, b: xp.sum(a) / b,
    ),
    Law(
        "mean of an affine map",
        "nn nn n",
        lambda x, w, b: xp.mean(x @ w + b, axis=0),
        lambda x, w, b: xp.mean(x, axis=0) @ w + b,
    ),
    Law(
        "variance of an affine map",
        "nn",
        lambda x: xp.var(x * 3.0 + 5.0, axis=1),
        lambda x: xp.var(x, axis=1) * 9.0,
    ),
    Law(
        "variance of a shifted layer",
        "nn nn n",
        lambda x, w, b: xp.var(xp.mean(x @ w, axis=1) + b[0]),
        lambda x, w, b: xp.var(x @ xp.mean(w, axis=1)),
    ),
    Law(
        "sum of centred values",
        "nn",
        lambda x: xp.sum(x - xp.mean(x, axis=1, keepdims=True), axis=1),
        lambda x: xp.zeros((x.shape[0],), dtype=xp.float32),
    ),
    Law(
        "mean of means",
        "nn",
        lambda x: xp.mean(xp.mean(x, axis=0)),
        lambda x: xp.mean(x),
    ),
    Law(
        "both centred",
        "n n",
        lambda x, y: xp.sum((x - xp.mean(x)) * (y - xp.mean(y))),
        lambda x, y: xp.sum((x - xp.mean(x)) * y),
    ),
    Law(
        "mean of a linear kernel",
        "nn",
        lambda x: xp.mean(x @ x.T),
        lambda x: xp.sum(xp.mean(x, axis=0) ** 2),
    ),
)
