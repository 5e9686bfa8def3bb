"""Workloads along rows: softmax, layer norm, cross-entropy, mean and variance."""

from __future__ import annotations

from collections.abc import Callable

from rewrite import xp
from rewrite.egraph.ir.dtypes import F16, F32, I32, I64
from rewrite.egraph.ir.graph import Graph
from rewrite.xp import Tracer

from .draw import REAL, SIZES, Draw, inverse, typed
from .spell import (
    around,
    kept,
    laid,
    mean,
    minus,
    over_root,
    plus,
    quotient,
    square,
    times,
)

type Results = dict[str, Tracer]


def _axes(d: Draw, rank: int) -> tuple[int, ...]:
    """Mostly the last axis, else another one or the last two.

    A real tensor keeps several rows: a single one is better shared out in two steps.
    """
    options: dict[str, tuple[int, ...]] = {
        "": (rank - 1,),
        "axis 0": (0,),
        "last axis": (rank - 1,),
    }
    if rank > 1:
        options["inner axis"] = (rank // 2,)
    options["two axes"] = (rank - 2, rank - 1) if rank > 1 + d.real else (rank - 1,)
    return d.pick("", options)


# ---- softmax -------------------------------------------------------------------------


def softmax(d: Draw) -> Graph:
    dtype, rank = d.dtype(), d.rng.randint(2 if d.real else 1, 4)
    shape = d.shape(rank)
    order, axes = d.order(rank), _axes(d, rank)
    masked = d.pick("mask by", {"": "", "where": "where", "add": "add", "bool": "bool"})
    back, extra = d.flip("permuted back", 0.2), d.flip("log of the sum out, too", 0.2)

    def f(x: Tracer, bias: Tracer, keep: Tracer) -> Results:
        x = around(d, xp.permute_dims(x, order), where="before")
        bias, keep = xp.permute_dims(bias, order), xp.permute_dims(keep, order)
        if masked == "add":
            x = plus(d, x, bias)
        elif masked == "where":
            x = xp.where(bias > -1.0, x, -30.0)
        elif masked == "bool":
            x = xp.where(keep, x, -1e4)
        shifted = minus(d, x, kept(d, "max", x, axes))
        e = d.form("", {
            "": lambda: xp.exp(shifted),
            "exp2": lambda: xp.exp2(shifted * 1.4426950408889634),
        })  # fmt: skip
        total = kept(d, "sum", e, axes)
        y = d.form("", {
            "": lambda: quotient(d, e, total),
            "exp(s-log l)": lambda: xp.exp(minus(d, shifted, xp.log(total))),
        })  # fmt: skip
        y = around(d, y)
        y = xp.permute_dims(y, inverse(order)) if back else y
        return {"y": y, "lse": xp.log(total)} if extra else {"y": y}

    x = typed(dtype, shape)
    return xp.trace(f, x, x, typed(xp.bool, shape), name="softmax")


# ---- layer norm ----------------------------------------------------------------------


def layer_norm(d: Draw) -> Graph:
    dtype, rank = d.dtype(), d.rng.randint(2 if d.real else 1, 4)
    shape = d.shape(rank, low=2)
    order, axes = d.order(rank), _axes(d, rank)
    inner = tuple(shape[order[a]] for a in axes)
    widened = dtype is F16 and d.flip("computed in f32")
    residual = d.flip("residual", 0.3)
    extras = d.pick("also out", {"": "", "mean and rstd": "stats", "the sum": "sum"})
    affine = d.pick("", {"": "gb", "no gain": "b", "no bias": "g", "plain": ""})

    def f(x: Tracer, gain: Tracer, bias: Tracer, r: Tracer) -> Results:
        out: Results = {}
        x = plus(d, x, r) if residual else x
        if extras == "sum":
            out["sum"] = x
        x = around(d, xp.permute_dims(x, order), 1, "before")
        x = x.astype(F32) if widened else x
        mu = mean(d, x, axes)
        c = minus(d, x, mu)
        power = d.form("variance by", {
            "": lambda: mean(d, square(d, c), axes),
            "var": lambda: xp.var(x, axis=axes, keepdims=True),
            "mean of x*x less": lambda: mean(d, square(d, x), axes) - square(d, mu),
        })  # fmt: skip
        power = plus(d, xp.maximum(power, 0.0), xp.full_like(power, 1e-3))
        if extras == "stats":
            out |= {"mean": mu, "rstd": xp.rsqrt(power)}
        y = _affine(d, affine, c, power, laid(d, gain.astype(c.dtype), x, axes),
                    laid(d, bias.astype(c.dtype), x, axes))  # fmt: skip
        y = around(d, y.astype(dtype) if widened else y)
        return {"y": y, **out}

    whole, part = typed(dtype, shape), typed(dtype, inner)
    return xp.trace(f, whole, part, part, whole, name="layer_norm")


def _affine(
    d: Draw, affine: str, c: Tracer, power: Tracer, g: Tracer, b: Tracer
) -> Tracer:
    if "g" not in affine:
        y = over_root(d, c, power)
    else:
        y = d.form("gain", {
            "after": lambda: times(d, over_root(d, c, power), g),
            "first": lambda: over_root(d, times(d, c, g), power),
            "on the root": lambda: c * over_root(d, g, power),
        })  # fmt: skip
    return plus(d, y, b) if "b" in affine else y


# ---- cross-entropy -------------------------------------------------------------------


def cross_entropy(d: Draw) -> Graph:
    dtype, rank = d.dtype(0.1, 0.1), d.rng.randint(2 if d.real else 1, 4)
    shape = d.shape(rank, low=2)
    axis = d.pick("classes on", {"": rank - 1, "the last axis": rank - 1,
                                 "axis 1": min(1, rank - 1)})  # fmt: skip
    labels = tuple(n for i, n in enumerate(shape) if i != axis)
    whole = d.pick("reduced by", {"mean": "mean", "sum/n": "sum/n", "sum": "sum",
                                  "": "", "weights": "weights"})  # fmt: skip
    integer = d.pick("labels", {"i32": I32, "i64": I64})
    turned = d.flip("logits transposed", 0.2) and rank > 1
    extra = d.flip("log-probabilities out, too", 0.15)

    def f(x: Tracer, t: Tracer, weight: Tracer) -> Results:
        x = around(d, x.T if turned else x, 1, "before")
        t = xp.clip(t, 0, int(str(x.shape[axis])) - 1)
        logp = _log_softmax(d, x, axis)
        loss = _picked(d, logp, t, axis)
        if whole == "weights":
            loss = xp.sum(loss * weight) / (xp.sum(xp.abs(weight)) + 1.0)
        elif whole:
            n = float(max(1, _numel(labels)))
            total = xp.sum(loss)
            ways: dict[str, Callable[[], Tracer]] = {
                "mean": lambda: xp.mean(loss), "sum/n": lambda: total / n,
                "sum": lambda: total,
            }  # fmt: skip
            loss = ways[whole]()
        return {"loss": loss, "logp": logp} if extra else {"loss": loss}

    given = tuple(reversed(shape)) if turned else shape
    return xp.trace(f, typed(dtype, given), typed(integer, labels),
                    typed(dtype, labels), name="cross_entropy")  # fmt: skip


def _numel(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _log_softmax(d: Draw, x: Tracer, axis: int) -> Tracer:
    def by_hand() -> Tracer:
        s = minus(d, x, kept(d, "max", x, (axis,)))
        return minus(d, s, xp.log(kept(d, "sum", xp.exp(s), (axis,))))

    def log_of_softmax() -> Tracer:
        e = xp.exp(minus(d, x, kept(d, "max", x, (axis,))))
        return xp.log(quotient(d, e, kept(d, "sum", e, (axis,))))

    def by_sum() -> Tracer:
        top = kept(d, "max", x, (axis,))
        inner = kept(d, "sum", xp.exp(minus(d, x, top)), (axis,))
        return minus(d, x, plus(d, xp.log(inner), top))

    return d.form("log-softmax", {
        "by hand": by_hand, "x-lse": by_sum, "log(softmax)": log_of_softmax,
        "macro": lambda: xp.nn.log_softmax(x, axis=axis),
        "x-logsumexp": lambda: x - xp.nn.logsumexp(x, axis=axis, keepdims=True),
    })  # fmt: skip


def _picked(d: Draw, logp: Tracer, t: Tracer, axis: int) -> Tracer:
    """-logp[t] along `axis`."""
    at = xp.expand_dims(t, axis=axis)
    places = xp.iota(logp.shape, axis, t.dtype)
    hot = xp.astype(places == at, logp.dtype)
    return d.form("label by", {
        "gather": lambda: -xp.squeeze(xp.take_along_axis(logp, at, axis=axis), axis),
        "one-hot": lambda: -xp.sum(times(d, logp, hot), axis=axis),
        "-one-hot": lambda: xp.sum(times(d, -logp, hot), axis=axis),
        "where": lambda: xp.sum(xp.where(places == at, -logp, 0.0), axis=axis),
    })  # fmt: skip


# ---- mean and centred variance -------------------------------------------------------


def moments(d: Draw) -> Graph:
    dtype, rank = d.dtype(0.1, 0.1), d.rng.randint(1, 3)
    axes, shape = _moment_shape(d, rank)
    correction = d.pick("", {"": 0, "unbiased": 1})
    wanted = _spread(d, axes == (rank - 1,) and shape[-1] <= 1024)
    drop = d.flip("axes dropped", 0.3)

    def f(x: Tracer) -> Results:
        x = around(d, x, 1, "before")
        mu = mean(d, x, axes)
        c = minus(d, x, mu)
        n = count_of(x, axes)
        total = kept(d, "sum", square(d, c), axes)
        low = float(max(n - correction, 1))
        var = d.form("", {"": lambda: total / low, "*(1/n)": lambda: total * (1 / low)})
        ways: dict[str, Callable[[], Tracer]] = {
            "var": lambda: var, "c": lambda: var, "std": lambda: xp.sqrt(var),
            "r": lambda: xp.rsqrt(var + 1e-3),
        }  # fmt: skip
        out = {"mean": mu, "spread": ways[wanted]()}
        if drop:
            out = {k: xp.squeeze(v, axes) for k, v in out.items()}
        return {**out, "centred": c} if wanted == "c" else out

    return xp.trace(f, typed(dtype, shape), name="moments")


def count_of(x: Tracer, axes: tuple[int, ...]) -> int:
    return _numel(tuple(int(str(x.shape[a])) for a in axes))


def _spread(d: Draw, short: bool) -> str:
    """What is given beside the mean; x - mean of a long row takes two passes."""
    options = {"variance": "var", "deviation": "std", "1/deviation": "r"}
    centred = {"centred, too": "c"} if short else {}
    return d.pick("out", options | centred)


def _moment_shape(d: Draw, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows, columns or everything; short enough for a cache, or longer than any."""
    long = d.pick("", {"short rows": 61, "rows": 512, "long rows": 5003})
    most = 60_000
    if d.real:
        long, most = {61: 1024, 512: 50_000, 5003: 3_000_000}[long], 1 << 26
    sizes = [d.among(SIZES[1:14], REAL) for _ in range(rank)]
    at = d.pick("", {"": rank - 1, "last": rank - 1, "columns": 0})
    sizes[at] = long
    while _numel(tuple(sizes)) > most:
        k = max((i for i in range(rank) if i != at), key=lambda i: sizes[i])
        sizes[k] = max(sizes[k] // 2, 1)
    axes = tuple(range(rank)) if d.flip("over everything", 0.2) else (at,)
    d.words.append("x".join(map(str, sizes)))
    return axes, tuple(sizes)
