"""Attention in many forms: score functions, masks, layouts, grouped heads, decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewrite import xp
from rewrite.egraph.ir.dtypes import I32
from rewrite.egraph.ir.graph import Graph
from rewrite.xp import Tracer

from .draw import Draw, typed
from .spell import around, kept, minus, plus, quotient, times

type Product = Callable[[Tracer, Tracer], Tracer]

NEVER = {"-inf": float("-inf"), "-1e9": -1e9, "-1e4": -1e4}


@dataclass(frozen=True)
class Sizes:
    """Batch, heads, heads of k and v, queries, keys, depth, depth of v."""

    b: int
    h: int
    g: int
    s: int
    t: int
    d: int
    e: int


def _sizes(d: Draw) -> Sizes:
    h = d.among((1, 2, 4, 6), (8, 16, 32))
    groups = d.pick("", {"": h, "grouped heads": max(h // 2, 1), "one head of k": 1})
    t = d.among((2, 5, 17, 33, 64, 128), (509, 1024, 2048, 4096))
    cross = d.among((5, 33), (61, 256))
    s = d.pick("", {"": t, "cross": cross, "one query": 1})
    depth = d.among((3, 8, 16, 17), (64, 80, 128))
    e = d.sizes.choice((depth, depth, 5))
    found = Sizes(d.among((1, 2), (1, 2, 4)), h, groups, s, t, depth, e)
    d.words.append("b{} h{}/{} s{} t{} d{}/{}".format(*vars(found).values()))
    return found


# ---- scores --------------------------------------------------------------------------


def _distance(n: Sizes) -> Tracer:
    """Position of the key less that of the query, the last ones aligned."""
    rows = xp.iota((n.s, n.t), 0, I32) + (n.t - n.s)
    return xp.iota((n.s, n.t), 1, I32) - rows


def _scaled(d: Draw, x: Tracer, n: Sizes) -> Tracer:
    return d.form("", {
        "/sqrt(d)": lambda: x / n.d**0.5, "*d**-0.5": lambda: x * n.d**-0.5,
        "unscaled": lambda: x,
    })  # fmt: skip


def _bent(d: Draw, x: Tracer, n: Sizes, slopes: Tracer) -> Tracer:
    """The score function."""
    far = xp.astype(_distance(n), x.dtype)
    slope = xp.reshape(slopes, (n.h, 1, 1))
    forms: dict[str, Callable[[], Tracer]] = {
        "": lambda: x,
        "plain": lambda: x,
        "alibi": lambda: plus(d, x, times(d, slope, far) * 0.1),
        "soft cap": lambda: xp.tanh(x / 5.0) * 5.0,
        "bias by |distance|": lambda: minus(d, x, xp.abs(far) * 0.05),
        "elementwise": lambda: around(d, x, 2, "score"),
    }
    return d.form("", forms)


def _masked(d: Draw, x: Tracer, n: Sizes, lengths: Tracer, keep: Tracer) -> Tracer:
    """Some keys are not looked at; the nearest one always is."""
    far = _distance(n)
    # The mask of a batch may be anything, but that each row keeps a key.
    padded = xp.iota((n.t,), 0, I32) <= xp.reshape(xp.abs(lengths), (n.b, 1, 1, 1))
    given = xp.logical_or(xp.reshape(keep, (n.b, 1, n.s, n.t)), far == 0)
    given = xp.logical_or(given, xp.iota((n.t,), 0, I32) == 0)
    masks: dict[str, Callable[[], Tracer]] = {
        "": lambda: far == far,
        "no mask": lambda: far == far,
        "causal": lambda: far <= 0,
        "window of 3": lambda: xp.logical_and(far <= 0, far > -3),
        "padding": lambda: padded,
        "given mask": lambda: given,
        "causal and padding": lambda: xp.logical_and(far <= 0, padded),
    }
    if n.s > n.t:  # the first rows would see no key
        masks = {k: masks[k] for k in ("", "no mask", "padding", "given mask")}
    name = d.rng.choice(tuple(masks))
    if name in ("", "no mask"):
        return x
    d.words.append(name)
    return _hidden(d, x, masks[name]())


def _hidden(d: Draw, x: Tracer, keep: Tracer) -> Tracer:
    never = d.pick(
        "as", {k: v for k, v in NEVER.items() if x.dtype.bits > 16 or v > -1e5}
    )
    away = xp.where(keep, 0.0, never).astype(x.dtype)
    return d.form("by", {
        "where": lambda: xp.where(keep, x, never),
        "where not": lambda: xp.where(xp.logical_not(keep), never, x),
        "add": lambda: plus(d, x, away),
    })  # fmt: skip


def _weights(d: Draw, x: Tracer) -> tuple[Tracer, Tracer | None]:
    """The softmax, or its numerators with the sums that the end divides by."""
    top = kept(d, "max", x, (x.ndim - 1,))
    e = xp.exp(minus(d, x, top))
    total = kept(d, "sum", e, (x.ndim - 1,))
    late = d.flip("divided at the end", 0.25)
    if late:
        return e, total
    return d.form("softmax", {
        "": lambda: quotient(d, e, total), "macro": lambda: xp.nn.softmax(x, axis=-1),
    }), None  # fmt: skip


# ---- layouts -------------------------------------------------------------------------

LAYOUTS = {"": "bhsd", "[b, s, h, d]": "bshd", "[h, b, s, d]": "hbsd",
           "[b, s, h*d]": "packed"}  # fmt: skip


def _given(layout: str, b: int, h: int, s: int, d: int) -> tuple[int, ...]:
    if layout == "packed":
        return (b, s, h * d)
    return tuple({"b": b, "h": h, "s": s, "d": d}[c] for c in layout)


def _heads(layout: str, x: Tracer, h: int) -> Tracer:
    """[b, h, s, d]."""
    if layout == "packed":
        b, s, width = x.shape
        x = xp.reshape(x, (b, s, h, int(str(width)) // h))
        layout = "bshd"
    return xp.permute_dims(x, [layout.index(c) for c in "bhsd"])


def _back(layout: str, x: Tracer) -> Tracer:
    if layout == "packed":
        x = xp.permute_dims(x, (0, 2, 1, 3))
        return xp.reshape(x, (*x.shape[:2], -1))
    return xp.permute_dims(x, ["bhsd".index(c) for c in layout])


def _repeated(d: Draw, x: Tracer, h: int) -> Tracer:
    """[b, g, t, d] with each head as often as queries share it."""
    b, g, t, depth = x.shape
    if g == h:
        return x
    times_ = h // int(str(g))
    wide = (b, g, times_, t, depth)
    return d.form("heads by", {
        "repeat": lambda: xp.repeat(x, times_, axis=1),
        "broadcast": lambda: xp.reshape(
            xp.broadcast_to(xp.expand_dims(x, axis=2), wide), (b, h, t, depth)),
    })  # fmt: skip


def _products(d: Draw) -> tuple[Product, Product]:
    """q·k and p·v, in one notation."""
    ways: dict[str, tuple[Product, Product]] = {
        "matmul": (lambda q, k: q @ k.mT, lambda p, v: p @ v),
        "einsum": (
            lambda q, k: xp.einsum("bhsd,bhtd->bhst", q, k),
            lambda p, v: xp.einsum("bhst,bhte->bhse", p, v),
        ),
        "turned": (lambda q, k: (k @ q.mT).mT, lambda p, v: (v.mT @ p.mT).mT),
    }
    return d.pick("", ways)


def attention(d: Draw) -> Graph:
    dtype, n = d.dtype(0.12, 0.08), _sizes(d)
    layout = d.pick("", LAYOUTS)
    q_k, p_v = _products(d)
    gate = d.pick("", {"": "", " ": "", "sigmoid gate": "after",
                       "gate by x": "given"})  # fmt: skip

    def f(q: Tracer, k: Tracer, v: Tracer, slopes: Tracer, lengths: Tracer,
          keep: Tracer, x: Tracer) -> Tracer:  # fmt: skip
        q = _heads(layout, q, n.h)
        k, v = (_repeated(d, _heads(layout, y, n.g), n.h) for y in (k, v))
        first = d.flip("q scaled", 0.25)
        scores = q_k(q * n.d**-0.5, k) if first else _scaled(d, q_k(q, k), n)
        scores = _bent(d, scores, n, slopes)
        p, total = _weights(d, _masked(d, scores, n, lengths, keep))
        y = p_v(p, v)
        y = y if total is None else quotient(d, y, total)
        if gate == "after":
            y = times(d, y, xp.nn.sigmoid(y))
        y = _back(layout, y)
        y = times(d, y, xp.nn.sigmoid(x)) if gate == "given" else y
        return around(d, y, 1)

    def of(h: int, s: int, width: int) -> tuple[int, ...]:
        return _given(layout, n.b, h, s, width)

    return xp.trace(
        f, typed(dtype, of(n.h, n.s, n.d)), typed(dtype, of(n.g, n.t, n.d)),
        typed(dtype, of(n.g, n.t, n.e)), typed(dtype, (n.h,)), typed(I32, (n.b,)),
        typed(xp.bool, (n.b, n.s, n.t)), typed(dtype, of(n.h, n.s, n.e)),
        name="attention",
    )  # fmt: skip
