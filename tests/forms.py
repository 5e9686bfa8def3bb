"""Generated variants of the workloads that must fuse.

Each is written as users write it, in primitive array code: formulas reordered, axes
transposed, extra elementwise operations around, odd sizes.  An optimizer that fuses by
pattern fails here; one that fuses by law does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.xp import Tracer

type Maker = Callable[[Random], Graph]

_ROWS = (1, 2, 3, 7, 16, 33, 64)
_COLS = (2, 5, 17, 32, 63, 64, 100, 129)


def variants(kind: str, seed: int) -> Graph:
    """Variant `seed` of a workload; the same for the same arguments, always."""
    if kind not in MAKERS:
        raise ValueError(f"unknown workload {kind!r}; known: {', '.join(MAKERS)}")
    return MAKERS[kind](Random(f"{kind} {seed}"))


def _shape(rng: Random) -> tuple[int, ...]:
    lead = [rng.choice(_ROWS) for _ in range(rng.randint(1, 2))]
    while math.prod(lead) > 256:
        lead.pop()
    return (*lead, rng.choice(_COLS))


def _type(shape: tuple[int, ...]) -> TensorType:
    return TensorType(F32, shape)


def _order(rng: Random, rank: int) -> list[int]:
    order = list(range(rank))
    if rng.random() < 0.5:
        rng.shuffle(order)
    return order


def _around(rng: Random, x: Tracer, count: int = 2) -> Tracer:
    """Up to `count` harmless elementwise operations."""
    forms: list[Callable[[Tracer], Tracer]] = [
        lambda x: x * 0.5, lambda x: x + 1.0, lambda x: -x, lambda x: xp.tanh(x),
        lambda x: x * x, lambda x: xp.maximum(x, 0.1), lambda x: 2.0 - x,
        lambda x: x / 3.0, lambda x: xp.abs(x) + 0.25,
    ]  # fmt: skip
    for _ in range(rng.randint(0, count)):
        x = rng.choice(forms)(x)
    return x


def _row(rng: Random, x: Tracer, axis: int, v: Tracer) -> Tracer:
    """The vector `v` laid along `axis` of `x`."""
    return xp.reshape(v, [x.shape[i] if i == axis else 1 for i in range(x.ndim)])


def _mean(rng: Random, x: Tracer, axis: int) -> Tracer:
    n = x.shape[axis]
    assert isinstance(n, int)
    total = xp.sum(x, axis=axis, keepdims=True)
    return rng.choice((lambda: total / float(n), lambda: total * (1 / n)))()


def _elementwise(rng: Random) -> Graph:
    """A chain over a tensor, rows, columns and scalars, with broadcasts in between."""
    shape = _shape(rng)
    axis = rng.randrange(len(shape))
    order = _order(rng, len(shape))

    def f(x: Tracer, v: Tracer, y: Tracer) -> Tracer:
        row = _row(rng, x, axis, _around(rng, v))
        z = x * row if rng.random() < 0.5 else row - x
        z = _around(rng, z, 3) + y if rng.random() < 0.5 else y * _around(rng, z, 3)
        z = xp.where(z > 0.25, z, rng.choice((xp.exp, xp.sin))(z * 0.1))
        z = xp.permute_dims(z, order)
        return _around(rng, xp.nn.sigmoid(z) if rng.random() < 0.5 else z, 3)

    return xp.trace(f, _type(shape), _type((shape[axis],)), _type(shape))


def _softmax(rng: Random) -> Graph:
    shape = _shape(rng)
    order = _order(rng, len(shape))
    axis = len(shape) - 1 if rng.random() < 0.6 else rng.randrange(len(shape))
    masked = rng.random() < 0.4

    def f(x: Tracer, bias: Tracer) -> Tracer:
        x = _around(rng, xp.permute_dims(x, order))
        if masked:
            x = x + xp.permute_dims(bias, order)
        shifted = x - xp.max(x, axis=axis, keepdims=True)
        e = xp.exp(shifted)
        total = xp.sum(e, axis=axis, keepdims=True)
        forms = (
            lambda: e / total,
            lambda: e * xp.reciprocal(total),
            lambda: 1.0 / total * e,
            lambda: xp.exp(shifted - xp.log(total)),
        )
        return _around(rng, rng.choice(forms)())  # fmt: skip

    return xp.trace(f, _type(shape), _type(shape))


def _inverse_root(rng: Random, x: Tracer, power: Tracer) -> Tracer:
    """x / sqrt(power)."""
    forms = (
        lambda: x / xp.sqrt(power), lambda: x * xp.rsqrt(power),
        lambda: xp.reciprocal(xp.sqrt(power)) * x, lambda: x * (1.0 / xp.sqrt(power)),
    )  # fmt: skip
    return rng.choice(forms)()


def _norm(rng: Random, centre: bool) -> Graph:
    shape = _shape(rng)
    order = _order(rng, len(shape))
    axis = len(shape) - 1 if rng.random() < 0.6 else rng.randrange(len(shape))
    width = shape[order[axis]]
    residual = rng.random() < 0.4

    def f(x: Tracer, gain: Tracer, bias: Tracer, r: Tracer) -> Tracer:
        x = x + r if residual else x
        x = _around(rng, xp.permute_dims(x, order), 1)
        c = x - _mean(rng, x, axis) if centre else x
        square = rng.choice((lambda: c * c, lambda: xp.square(c), lambda: c**2))()
        power = _mean(rng, square, axis) + rng.choice((1e-5, 1e-6, 1e-3))
        g, b = _row(rng, x, axis, gain), _row(rng, x, axis, bias)
        forms = (lambda: _inverse_root(rng, c, power) * g,
                 lambda: g * _inverse_root(rng, c, power),
                 lambda: _inverse_root(rng, c * g, power))  # fmt: skip
        y = rng.choice(forms)()
        return _around(rng, y + b if centre or rng.random() < 0.3 else y)

    gains = _type((width,))
    return xp.trace(f, _type(shape), gains, gains, _type(shape))


def _gelu(rng: Random, x: Tracer) -> Tracer:
    cube = rng.choice((lambda: x * x * x, lambda: x * (x * x), lambda: x**3))
    tanh = xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * cube()))
    erf = xp.erf(x / math.sqrt(2) if rng.random() < 0.5 else x * math.sqrt(0.5))
    t = rng.choice((tanh, erf))
    forms = (lambda: 0.5 * x * (1.0 + t), lambda: x * (0.5 * (t + 1.0)),
             lambda: x * 0.5 + x * 0.5 * t)  # fmt: skip
    return rng.choice(forms)()


def _linear_gelu(rng: Random) -> Graph:
    shape = _shape(rng)
    out, flip = rng.choice(_COLS), rng.random() < 0.5
    depth = shape[len(shape) - 1]
    weight = (out, depth) if flip else (depth, out)
    fold = len(shape) > 2 and rng.random() < 0.5

    def f(x: Tracer, w: Tracer, bias: Tracer) -> Tracer:
        x = _around(rng, x, 1)
        w = w.T if flip else w
        rows = xp.reshape(x, (-1, depth)) if fold else x
        y = rows @ w if rng.random() < 0.7 else xp.tensordot(rows, w, axes=1)
        if fold and rng.random() < 0.5:
            y = xp.reshape(y, (*shape[:-1], out))
        y = _gelu(rng, bias + y if rng.random() < 0.5 else y + bias)
        y = _around(rng, y)
        return xp.matrix_transpose(y) if rng.random() < 0.2 else y

    return xp.trace(f, _type(shape), _type(weight), _type((out,)))


MAKERS: dict[str, Maker] = {
    "elementwise": _elementwise,
    "softmax": _softmax,
    "layer_norm": lambda rng: _norm(rng, centre=True),
    "rms_norm": lambda rng: _norm(rng, centre=False),
    "linear_gelu": _linear_gelu,
}
KINDS = tuple(MAKERS)
