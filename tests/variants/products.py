"""Workloads of products: QKV, chains of matrices, transposed weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from rewrite import xp
from rewrite.egraph.ir.graph import Graph
from rewrite.xp import Tracer

from .draw import Draw, typed
from .spell import around, plus

type Results = dict[str, Tracer]


# ---- three products of one x ---------------------------------------------------------


def qkv(d: Draw) -> Graph:
    """q, k and v of one x, in heads or not, with a bias or not."""
    dtype = d.dtype(0.1, 0.1)
    rank = d.rng.randint(1, 2)
    lead = tuple(
        d.among((1, 3, 7, 8, 16, 17, 33), (2, 256, 509, 1024)) for _ in range(rank)
    )
    heads, width = d.among((2, 3, 4, 6), (8, 16)), d.among((2, 4, 7, 16), (64, 128))
    depth = d.among((5, 13, 33, 64), (512, 1024))
    grouped = d.flip("fewer heads for k and v", 0.3)
    counts = (heads, 1, 1) if grouped else (heads, heads, heads)
    spelled = d.pick("", {"x@w": "x@w", "x@w.T": "x@w.T", "einsum": "einsum",
                          "tensordot": "tensordot", "(w@x.T).T": "turned"})  # fmt: skip
    biased, split = d.flip("bias"), d.flip("in heads")
    front = split and d.flip("heads first")
    d.words.append(f"{lead} depth {depth}, heads {counts} of {width}")

    def project(x: Tracer, w: Tracer, bias: Tracer, n: int) -> Tracer:
        ways: dict[str, Callable[[], Tracer]] = {
            "x@w": lambda: x @ w, "x@w.T": lambda: x @ w.T,
            "einsum": lambda: xp.einsum("bsd,dn->bsn" if x.ndim == 3 else "sd,dn->sn",
                                        x, w),
            "tensordot": lambda: xp.tensordot(x, w, axes=1),
            "turned": lambda: (w @ x.mT).mT,
        }  # fmt: skip
        y = ways[spelled]()
        y = plus(d, y, bias) if biased else y
        y = around(d, y, 1) if d.rng.random() < 0.3 else y
        if split:
            y = xp.reshape(y, (*y.shape[:-1], n, width))
        return xp.moveaxis(y, -2, -3) if front else y

    def f(x: Tracer, w: list[Tracer], b: list[Tracer]) -> Results:
        x = around(d, x, 1, "before")
        parts = zip("qkv", w, b, counts, strict=True)
        return {name: project(x, wi, bi, n) for name, wi, bi, n in parts}

    turned = spelled in ("x@w.T", "turned")
    sizes = [n * width for n in counts]
    weights = [(n, depth) if turned else (depth, n) for n in sizes]
    return xp.trace(f, typed(dtype, (*lead, depth)), [typed(dtype, s) for s in weights],
                    [typed(dtype, (n,)) for n in sizes], name="qkv")  # fmt: skip


# ---- chains of matrices --------------------------------------------------------------


def chain(d: Draw) -> tuple[Graph, int]:
    """A·B·C (·D), and the fewest multiply-adds of any order.

    Sizes differ much, so that the orders do.
    """
    dtype = d.dtype(0.0, 0.15)
    length = d.pick("", {"three": 3, "four": 4, "three ": 3})
    ends = d.pick("", {"": "", " ": "", "a row first": "row", "a column last": "column",
                       "a vector last": "vector"})  # fmt: skip
    batch = d.pick("", {"": (), "batch of 3": (3,)})
    batch = () if ends == "vector" else batch
    shared = bool(batch) and d.flip("weights shared")
    sizes = _chain_sizes(d, length, ends)
    while not _matters(sizes, batch, shared):
        sizes = _chain_sizes(d, length, ends)
    left = d.pick("", {"from the left": True, "from the right": False})
    scaled = d.flip("scaled between", 0.25)
    flips = [d.flip(f"factor {i} transposed", 0.25) for i in range(length)]
    if ends == "vector":
        flips[-1] = False
    d.words.append("-".join(map(str, sizes)))

    def f(factors: list[Tracer]) -> Tracer:
        parts = [x.mT if t else x for x, t in zip(factors, flips, strict=True)]
        y = _folded(parts, left, scaled)
        return around(d, y, 1)

    shapes: list[tuple[int, ...]] = []
    for i in range(length):
        shape = sizes[i + 1], sizes[i]
        shape = shape if flips[i] else shape[::-1]
        leads = () if shared and i else batch
        vector = ends == "vector" and i == length - 1
        shapes.append((sizes[i],) if vector else (*leads, *shape))
    graph = xp.trace(f, [typed(dtype, s) for s in shapes], name="chain")
    return graph, _fewest(sizes, batch, shared, min)


def _chain_sizes(d: Draw, length: int, ends: str) -> tuple[int, ...]:
    small, real = (8, 16, 61, 128, 200, 307), (16, 61, 512, 1000, 4096)
    sizes = [d.among(small, real) for _ in range(length + 1)]
    if ends:
        sizes[0 if ends == "row" else -1] = 1
    return tuple(sizes)


def _matters(sizes: tuple[int, ...], batch: tuple[int, ...], shared: bool) -> bool:
    """Whether the best order spares millions of products, and most of them."""
    few = _fewest(sizes, batch, shared, min)
    many = _fewest(sizes, batch, shared, max)
    return many > 3 * few and many - few > 3_000_000


def _folded(parts: Sequence[Tracer], left: bool, scaled: bool) -> Tracer:
    if left:
        y = parts[0]
        for x in parts[1:]:
            y = y @ x
            y = y * 0.5 if scaled else y
        return y
    y = parts[-1]
    for x in reversed(parts[:-1]):
        y = x @ y
        y = y * 0.5 if scaled else y
    return y


def _fewest(
    sizes: tuple[int, ...], batch: tuple[int, ...], shared: bool,
    among: Callable[[Iterable[int]], int],
) -> int:  # fmt: skip
    """Multiply-adds of the best order (Godbole 1973), or of the worst; a product of
    shared factors is computed once for the whole batch."""
    many = math.prod(batch)

    @cache
    def best(i: int, j: int) -> int:
        if i == j:
            return 0
        times = 1 if shared and i > 0 else many
        ends = sizes[i] * sizes[j + 1] * times
        return among(
            best(i, k) + best(k + 1, j) + ends * sizes[k + 1] for k in range(i, j)
        )

    return best(0, len(sizes) - 2)


# ---- transposed weights --------------------------------------------------------------


def transposed(d: Draw) -> Graph:
    """x @ W.T and its like: nothing is stored only to be turned."""
    dtype = d.dtype(0.1, 0.1)
    rank = d.rng.randint(1, 3)
    shape = tuple(
        d.among((1, 3, 7, 16, 33, 64), (3, 61, 256, 1024)) for _ in range(rank)
    )
    depth, n = shape[-1], d.among((1, 5, 17, 64), (512, 1000, 4096))
    forms: dict[str, Callable[[Tracer, Tracer], Tracer]] = {
        "x@w.T": lambda x, w: x @ w.T,
        "permute_dims": lambda x, w: x @ xp.permute_dims(w, (1, 0)),
        "(w@x.T).T": lambda x, w: (w @ x.mT).mT if x.ndim > 1 else w @ x,
        "einsum": lambda x, w: _einsum(x, w),
        "tensordot": lambda x, w: xp.tensordot(x, w, axes=([x.ndim - 1], [1])),
        "sum of products": lambda x, w: xp.sum(xp.expand_dims(x, axis=-2) * w, axis=-1),
        "x.T.T@w.T": lambda x, w: x.T.T @ w.mT,
        "elementwise, then T": lambda x, w: x @ (w * 2.0).T,
        "T, then elementwise": lambda x, w: x @ xp.tanh(w.T),
    }
    form = d.pick("", forms)
    biased, out = d.flip("bias"), d.pick("result", {"": "", "transposed": "T",
                                                    "in heads": "heads"})  # fmt: skip
    given = len(shape) > 1 and d.flip("x given transposed", 0.25)
    d.words.append(f"{shape} n {n}")

    def f(x: Tracer, w: Tracer, b: Tracer) -> Tracer:
        y = form(around(d, x.mT if given else x, 1, "before"), w)
        y = plus(d, y, b) if biased else y
        y = around(d, y)
        if out == "T" and y.ndim > 1:
            y = d.form("", {"mT": lambda: y.mT, "T": lambda: y.T})
        if out == "heads" and n % 2 == 0 and y.ndim > 1:
            y = xp.moveaxis(xp.reshape(y, (*y.shape[:-1], 2, n // 2)), -2, -3)
        return y

    x = (*shape[:-2], *reversed(shape[-2:])) if given else shape
    return xp.trace(f, typed(dtype, x), typed(dtype, (n, depth)), typed(dtype, (n,)),
                    name="transposed")  # fmt: skip


def _einsum(x: Tracer, w: Tracer) -> Tracer:
    lead = "abc"[: x.ndim - 1]
    return xp.einsum(f"{lead}k,nk->{lead}n", x, w)


# ---- rotary embedding ----------------------------------------------------------------


def rotary(d: Draw) -> Graph:
    """Scores of rotated queries and keys; the rotation is part of the product."""
    dtype = d.dtype(0.1, 0.05)
    lead = tuple(d.among((1, 2, 3, 4), (4, 8)) for _ in range(d.rng.randint(0, 2)))
    s, t = (d.among((1, 2, 7, 33, 64), (1, 509, 1024, 2048)) for _ in "qk")
    half = d.among((1, 3, 8, 16), (32, 64))
    pairs = d.pick("", {"halves": "halves", "halves by roll": "roll",
                        "even and odd": "even", "pairs": "pairs"})  # fmt: skip
    tables = d.pick("", {"tables": "given", "tables of half": "half",
                         "angles by position": "angles"})  # fmt: skip
    scale, only = d.flip("scaled"), d.pick("", {"": "qk", "q only": "q"})
    seq_first = len(lead) > 0 and d.flip("[s, h, d]", 0.3)
    d.words.append(f"{lead} s {s}, t {t}, d {2 * half}")

    def rotated(x: Tracer, angles: Tracer) -> Tracer:
        cos, sin = _tables(tables, angles, pairs)
        return _rotate(d, x, cos, sin, pairs, half)

    def f(q: Tracer, k: Tracer, at: Tracer, to: Tracer) -> Tracer:
        if seq_first:
            q, k = xp.moveaxis(q, 0, -2), xp.moveaxis(k, 0, -2)
        q = rotated(around(d, q, 1, "before"), at)
        k = rotated(k, to) if only == "qk" else k
        y = q @ k.mT
        return y * (2 * half) ** -0.5 if scale else y

    def given(n: int) -> tuple[int, ...]:
        return (n, *lead, 2 * half) if seq_first else (*lead, n, 2 * half)

    wide = half if tables == "half" else 2 * half
    angle = [(n, wide if tables != "angles" else half) for n in (s, t)]
    return xp.trace(f, typed(dtype, given(s)), typed(dtype, given(t)),
                    *(typed(dtype, a) for a in angle), name="rotary")  # fmt: skip


def _tables(kind: str, angles: Tracer, pairs: str) -> tuple[Tracer, Tracer]:
    """cos and sin, as wide as the vectors; `given` ones are taken to be angles of each
    element, as a table that is computed where it is used."""
    if kind in ("half", "angles"):
        if pairs in ("halves", "roll"):
            angles = xp.concat([angles, angles], axis=-1)
        else:
            angles = xp.repeat(angles, 2, axis=-1)
    if kind == "angles":
        return xp.cos(angles), xp.sin(angles)
    return angles, 1.0 - angles * 0.5


def _rotate(
    d: Draw, x: Tracer, cos: Tracer, sin: Tracer, pairs: str, half: int
) -> Tracer:
    ahead = (slice(None),) * (x.ndim - 1)
    if pairs == "halves":
        a, b = x[(*ahead, slice(0, half))], x[(*ahead, slice(half, None))]
        turned = xp.concat([-b, a], axis=-1)
    elif pairs == "roll":
        signs = xp.where(xp.arange(2 * half) < half, -1.0, 1.0).astype(x.dtype)
        turned = xp.roll(x, half, axis=-1) * signs
    elif pairs == "even":
        even = x[(*ahead, slice(0, None, 2))]
        odd = x[(*ahead, slice(1, None, 2))]
        turned = xp.reshape(xp.stack([-odd, even], axis=-1), x.shape)
    else:
        two = xp.reshape(x, (*x.shape[:-1], half, 2))
        inner = (slice(None),) * x.ndim
        turned = xp.concat([-two[(*inner, slice(1, 2))], two[(*inner, slice(0, 1))]],
                           axis=-1)  # fmt: skip
        turned = xp.reshape(turned, x.shape)
    return plus(d, x * cos, turned * sin)
