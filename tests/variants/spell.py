"""One formula, many spellings: each function writes its value in one of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewrite import xp
from rewrite.xp import Tracer

from .draw import Draw

type Around = Callable[[Tracer], Tracer]


def count(x: Tracer, axes: Sequence[int]) -> int:
    """The number of elements along `axes`."""
    n = 1
    for a in axes:
        size = x.shape[a]
        assert isinstance(size, int)
        n *= size
    return n


def kept(d: Draw, monoid: str, x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """A reduction that keeps its axes, by `keepdims` or by hand."""
    reduce = {"sum": xp.sum, "max": xp.max, "min": xp.min}[monoid]
    thin = tuple(1 if i in axes else n for i, n in enumerate(x.shape))

    def expanded() -> Tracer:
        y = reduce(x, axis=axes)
        for a in sorted(axes):
            y = xp.expand_dims(y, axis=a)
        return y

    return d.form("", {
        "": lambda: reduce(x, axis=axes, keepdims=True),
        f"{monoid} without keepdims": expanded,
        f"{monoid} reshaped": lambda: xp.reshape(reduce(x, axis=axes), thin),
    })  # fmt: skip


def mean(d: Draw, x: Tracer, axes: tuple[int, ...]) -> Tracer:
    n = count(x, axes)
    return d.form("mean by", {
        "sum/n": lambda: kept(d, "sum", x, axes) / float(n),
        "sum*(1/n)": lambda: kept(d, "sum", x, axes) * (1 / n),
        "sum(x/n)": lambda: xp.sum(x / float(n), axis=axes, keepdims=True),
        "mean": lambda: xp.mean(x, axis=axes, keepdims=True),
    })  # fmt: skip


def square(d: Draw, x: Tracer) -> Tracer:
    return d.form("", {
        "x*x": lambda: x * x, "square": lambda: xp.square(x), "x**2": lambda: x**2,
        "pow(x, 2)": lambda: xp.pow(x, xp.full_like(x, 2)),
        "abs(x)**2": lambda: xp.abs(x) * xp.abs(x),
    })  # fmt: skip


def quotient(d: Draw, a: Tracer, b: Tracer) -> Tracer:
    return d.form("", {
        "a/b": lambda: a / b,
        "a*recip(b)": lambda: a * xp.reciprocal(b),
        "(1/b)*a": lambda: (1.0 / b) * a,
        "a*b**-1": lambda: a * b**-1,
    })  # fmt: skip


def over_root(d: Draw, a: Tracer, b: Tracer) -> Tracer:
    """a / sqrt(b)."""
    return d.form("", {
        "a/sqrt(b)": lambda: a / xp.sqrt(b),
        "a*rsqrt(b)": lambda: a * xp.rsqrt(b),
        "recip(sqrt(b))*a": lambda: xp.reciprocal(xp.sqrt(b)) * a,
        "a*(1/sqrt(b))": lambda: a * (1.0 / xp.sqrt(b)),
        "a*b**-0.5": lambda: a * b**-0.5,
        "a/b**0.5": lambda: a / b**0.5,
    })  # fmt: skip


def minus(d: Draw, a: Tracer, b: Tracer) -> Tracer:
    return d.form("", {
        "": lambda: a - b, "a+(-b)": lambda: a + (-b), "-(b-a)": lambda: -(b - a),
        "b*-1+a": lambda: b * -1.0 + a,
    })  # fmt: skip


def plus(d: Draw, a: Tracer, b: Tracer) -> Tracer:
    left, right = d.swap((a, b))
    return left + right


def times(d: Draw, a: Tracer, b: Tracer) -> Tracer:
    left, right = d.swap((a, b))
    return left * right


def laid(d: Draw, v: Tracer, like: Tracer, axes: tuple[int, ...]) -> Tracer:
    """The tensor `v`, whose axes are `axes` of `like`, in a form that broadcasts."""
    thin = tuple(n if i in axes else 1 for i, n in enumerate(like.shape))

    def expanded() -> Tracer:
        y = v
        for i in range(like.ndim):
            if i not in axes:
                y = xp.expand_dims(y, axis=i)
        return y

    return d.form("", {
        "": lambda: xp.reshape(v, thin),
        "expand_dims": expanded,
        "broadcast_to": lambda: xp.broadcast_to(xp.reshape(v, thin), like.shape),
    })  # fmt: skip


_AROUND: dict[str, Around] = {
    "*0.5": lambda x: x * 0.5, "+1": lambda x: x + 1.0, "neg": lambda x: -x,
    "tanh": xp.tanh, "x*x": lambda x: x * x, "max 0.1": lambda x: xp.maximum(x, 0.1),
    "2-x": lambda x: 2.0 - x, "/3": lambda x: x / 3.0,
    "abs+0.25": lambda x: xp.abs(x) + 0.25, "*2": lambda x: 2.0 * x,
    "sigmoid": xp.nn.sigmoid, "where": lambda x: xp.where(x > 0.0, x, x * 0.1),
    "clip": lambda x: xp.clip(x, -1.5, 1.5),
}  # fmt: skip


def around(d: Draw, x: Tracer, most: int = 2, where: str = "then") -> Tracer:
    """Up to `most` elementwise operations."""
    for _ in range(d.rng.randint(0, most)):
        x = d.pick(where, _AROUND)(x)
    return x
