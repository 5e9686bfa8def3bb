"""Joined and split axes, gathers, joins, pads, slices, flips and sorts."""

# Sides of laws are lambdas, whose parameters are arrays of any kind.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from rewrite import xp

from .law import FEW, Law


def kron(a: xp.Tracer, b: xp.Tracer) -> xp.Tracer:
    blocks = a[:, None, :, None] * b[None, :, None, :]
    return blocks.reshape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


def groups(x: xp.Tracer) -> xp.Tracer:
    return x.reshape((FEW, x.shape[0] // FEW, x.shape[1]))


def block_diagonal(a: xp.Tracer, b: xp.Tracer) -> xp.Tracer:
    right, left = (a.shape[0], b.shape[1]), (b.shape[0], a.shape[1])
    over = xp.concat([a, xp.zeros(right, dtype=xp.float32)], axis=1)
    under = xp.concat([xp.zeros(left, dtype=xp.float32), b], axis=1)
    return xp.concat([over, under], axis=0)


def ones(x: xp.Tracer) -> xp.Tracer:
    return xp.ones((x.shape[0], 1), dtype=xp.float32)


MOVED = (
    Law(
        "means of groups of a layer",
        "nn nn",
        lambda x, w: xp.mean(groups(x @ w), axis=1),
        lambda x, w: xp.mean(groups(x), axis=1) @ w,
    ),
    Law(
        "sum of a flattened product",
        "nn nn",
        lambda a, b: xp.sum((a @ b).reshape((-1,))),
        lambda a, b: xp.sum(xp.sum(a, axis=0) * xp.sum(b, axis=1)),
    ),
    Law(
        "exponentials of all pairs in a row",
        "n n",
        lambda a, b: xp.sum(xp.exp((a[:, None] + b[None, :]).reshape((-1,)))),
        lambda a, b: xp.sum(xp.exp(a)) * xp.sum(xp.exp(b)),
    ),
    Law(
        "repeated rows through a layer",
        "nn nn",
        lambda x, w: xp.sum(xp.repeat(x, 4, axis=0) @ w, axis=1),
        lambda x, w: xp.repeat(x @ xp.sum(w, axis=1), 4),
    ),
    Law(
        "sum of a tile",
        "n",
        lambda x: xp.sum(xp.tile(x, (FEW,))),
        lambda x: xp.sum(x) * FEW,
    ),
    Law(
        "both repeated",
        "n n",
        lambda a, b: xp.sum(xp.repeat(a, 64) * xp.repeat(b, 64)),
        lambda a, b: xp.sum(a * b) * 64.0,
    ),
    Law(
        "some rows of a product",
        "nn nn #k",
        lambda a, b, i: xp.take(a @ b, i, axis=0),
        lambda a, b, i: xp.take(a, i, axis=0) @ b,
    ),
    Law(
        "some columns of a product",
        "nn nn #k",
        lambda a, b, i: xp.take(a @ b, i, axis=1),
        lambda a, b, i: a @ xp.take(b, i, axis=1),
    ),
    Law(
        "a layer behind a small table",
        "#n vn nk",
        lambda i, table, w: xp.take(table, i, axis=0) @ w,
        lambda i, table, w: xp.take(table @ w, i, axis=0),
    ),
    Law(
        "diagonal of a product by indices",
        "nn nn",
        lambda a, b: xp.take_along_axis(a @ b, xp.arange(a.shape[0])[:, None], axis=1)[
            :, 0
        ],
        lambda a, b: xp.sum(a * b.T, axis=1),
    ),
    Law(
        "probability of a label",
        "nv #n",
        lambda x, y: xp.take_along_axis(
            xp.exp(x) / xp.sum(xp.exp(x), axis=1, keepdims=True), y[:, None], axis=1
        ),
        lambda x, y: (
            xp.exp(xp.take_along_axis(x, y[:, None], axis=1))
            / xp.sum(xp.exp(x), axis=1, keepdims=True)
        ),
    ),
    Law(
        "elementwise behind a gather of few",
        "n #k",
        lambda x, i: xp.take(xp.exp(xp.sin(x)), i),
        lambda x, i: xp.exp(xp.sin(xp.take(x, i))),
    ),
    Law(
        "corner of a product",
        "nn nn",
        lambda a, b: (a @ b)[:FEW, :FEW],
        lambda a, b: a[:FEW] @ b[:, :FEW],
    ),
    Law(
        "sum over two products joined",
        "nn nn nn nn",
        lambda a, b, c, d: xp.sum(xp.concat([a @ b, c @ d], axis=0), axis=0),
        lambda a, b, c, d: xp.sum(a, axis=0) @ b + xp.sum(c, axis=0) @ d,
    ),
    Law(
        "zeros along the contraction",
        "nn nn n",
        lambda a, b, x: (
            xp.pad(a, [(0, 0), (0, 64)]) @ (xp.pad(b, [(0, 64), (0, 0)]) @ x)
        ),
        lambda a, b, x: a @ (b @ x),
    ),
    Law(
        "padded, multiplied and cut",
        "nk kk",
        lambda x, w: (xp.pad(x, [(64, 64), (0, 0)]) @ w)[64:-64],
        lambda x, w: x @ w,
    ),
    Law(
        "two matrices stacked, then added",
        "nn nn n",
        lambda a, b, x: xp.sum(xp.stack([a @ x, b @ x]), axis=0),
        lambda a, b, x: xp.sum((a + b) * x[None, :], axis=1),
    ),
    Law(
        "bias by a column of ones",
        "nk kk k",
        lambda x, w, b: (
            xp.concat([x, ones(x)], axis=1) @ xp.concat([w, b[None, :]], axis=0)
        ),
        lambda x, w, b: x @ w + b,
    ),
    Law(
        "blocks on the diagonal times a vector",
        "nn nn n n",
        lambda a, b, x, y: block_diagonal(a, b) @ xp.concat([x, y]),
        lambda a, b, x, y: xp.concat([a @ x, b @ y]),
    ),
    Law(
        "blocks on the diagonal multiplied",
        "nn nn n n",
        lambda a, b, x, y: (
            block_diagonal(a, b) @ block_diagonal(b, a) @ xp.concat([x, y])
        ),
        lambda a, b, x, y: xp.concat([a @ (b @ x), b @ (a @ y)]),
    ),
    Law(
        "joined features through a layer",
        "n n nk nk",
        lambda x, y, a, b: xp.sum(
            xp.concat([x, y])[:, None] * xp.concat([a, b], axis=0), axis=0
        ),
        lambda x, y, a, b: x @ a + y @ b,
    ),
    Law(
        "product of two krons",
        "mm mm mm mm",
        lambda a, b, c, d: kron(a, b) @ kron(c, d),
        lambda a, b, c, d: kron(a @ c, b @ d),
    ),
    Law(
        "sum of a kron",
        "nn nn",
        lambda a, b: xp.sum(kron(a[:64, :64], b[:64, :64])),
        lambda a, b: xp.sum(a[:64, :64]) * xp.sum(b[:64, :64]),
    ),
    Law(
        "trace of a kron",
        "mm mm",
        lambda a, b: xp.sum(kron(a, b) * xp.eye(a.shape[0] ** 2, dtype=xp.float32)),
        lambda a, b: (
            xp.sum(a * xp.eye(a.shape[0], dtype=xp.float32))
            * xp.sum(b * xp.eye(a.shape[0], dtype=xp.float32))
        ),
    ),
    Law(
        "krons of vectors multiplied",
        "n n n n",
        lambda a, b, c, d: xp.sum(
            xp.outer(a, b).reshape((-1,)) * xp.outer(c, d).reshape((-1,))
        ),
        lambda a, b, c, d: (a @ c) * (b @ d),
    ),
    Law(
        "sum from behind",
        "nn n",
        lambda a, x: xp.sum(xp.flip(a @ x)),
        lambda a, x: xp.sum(a * x[None, :]),
    ),
    Law(
        "columns and entries both turned",
        "nn n",
        lambda a, x: xp.roll(a, 1, axis=1) @ xp.roll(x, 1),
        lambda a, x: a @ x,
    ),
    Law(
        "two turned vectors",
        "n n",
        lambda x, y: xp.sum(xp.roll(x, 3) * xp.roll(y, 3)),
        lambda x, y: xp.sum(x * y),
    ),
    Law(
        "rows and columns flipped, then summed",
        "nn nn",
        lambda a, b: xp.sum(xp.flip(a, axis=0) @ xp.flip(b, axis=1)),
        lambda a, b: xp.sum(xp.sum(a, axis=0) * xp.sum(b, axis=1)),
    ),
    Law(
        "greatest of a sorted row",
        "nn",
        lambda x: xp.max(xp.sort(x, axis=1), axis=1),
        lambda x: xp.max(x, axis=1),
    ),
    Law(
        "first of a sorted row",
        "nn",
        lambda x: xp.sort(x, axis=1)[:, 0],
        lambda x: xp.min(x, axis=1),
    ),
    Law(
        "sum of a sorted row",
        "nn",
        lambda x: xp.mean(xp.exp(xp.sort(x, axis=1)), axis=1),
        lambda x: xp.mean(xp.exp(x), axis=1),
    ),
    Law(
        "sorted twice",
        "nn",
        lambda x: xp.sort(xp.flip(xp.sort(x, axis=1), axis=1), axis=1),
        lambda x: xp.sort(x, axis=1),
    ),
    Law(
        "place of the greatest probability",
        "nn",
        lambda x: xp.argmax(xp.nn.softmax(x, axis=1), axis=1),
        lambda x: xp.argmax(x, axis=1),
    ),
)
