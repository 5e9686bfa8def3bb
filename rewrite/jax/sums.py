"""Readers of reductions, running folds, products and convolutions."""

from __future__ import annotations

from rewrite.egraph.ir.convolution import Frame

from .library import several
from .movement import reversed_along
from .site import Site, Unread, primitive

REDUCE = {
    "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min",
    "reduce_prod": "prod", "reduce_and": "all", "reduce_or": "any",
}  # fmt: skip
RUNNING = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}


@primitive(*REDUCE)
def reduce(site: Site) -> int:
    monoid = REDUCE[site.params["name"]]
    if monoid in ("all", "any"):
        site.want(site.dtype().name == "bool", "bitwise")
    kept = site.b.reduce(monoid, site.x(), site.params["axes"])
    return site.b.reshape(kept, site.shape)


@primitive(*RUNNING)
def running(site: Site) -> int:
    x, axis = site.x(), int(site.params["axis"])
    monoid = RUNNING[site.params["name"]]
    if not site.params["reverse"]:
        return site.b.scan(monoid, x, axis)
    back = site.b.scan(monoid, reversed_along(site, x, (axis,)), axis)
    return reversed_along(site, back, (axis,))


@primitive("argmax", "argmin")
def arg(site: Site) -> int:
    (axis,) = site.params["axes"]
    attrs = (site.params["name"], int(axis), site.out.dtype)
    return site.b.reshape(site.b.add("argreduce", (site.x(),), attrs), site.shape)


@primitive("dot_general")
def dot_general(site: Site) -> int:
    """Over axes: those of a batch, of the left side, of the right side, summed."""
    site.want(_plain(site.params.get("precision")), "a precision is asked for")
    b, (x, y) = site.b, site.xs
    (sum_x, sum_y), (batch_x, batch_y) = site.params["dimension_numbers"]
    free_x = _rest(len(site.sizes(x)), (*sum_x, *batch_x))
    free_y = _rest(len(site.sizes(y)), (*sum_y, *batch_y))
    wide = site.out.dtype
    x, y = b.cast(x, wide), b.cast(y, wide)
    left = [site.sizes(x)[i] for i in (*batch_x, *free_x, *sum_x)]
    right = [site.sizes(y)[i] for i in (*batch_y, *free_y, *sum_y)]
    n, m, k = len(batch_x), len(free_x), len(free_y)
    x = b.reshape(b.permute(x, (*batch_x, *free_x, *sum_x)),
                  (*left[: n + m], *([1] * k), *left[n + m :]))  # fmt: skip
    y = b.reshape(b.permute(y, (*batch_y, *free_y, *sum_y)),
                  (*right[:n], *([1] * m), *right[n:]))  # fmt: skip
    full = (*site.shape, *left[n + m :])
    mask = [0] * len(site.shape) + [1] * len(sum_x)
    return b.reshape(b.contract(x, y, full, mask), site.shape)


def _rest(rank: int, taken: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i not in taken)


def _plain(precision: object) -> bool:
    return all(p is None or str(p) == "DEFAULT" for p in several(precision))


@primitive("conv_general_dilated")
def conv(site: Site) -> int:
    p, b = site.params, site.b
    x, w = site.x(0), site.x(1)
    numbers = p["dimension_numbers"]
    site.want(_plain(p.get("precision")), "a precision is asked for")
    site.want(p["batch_group_count"] == 1, "groups of a batch")
    site.want(set(p["lhs_dilation"]) <= {1}, "entries between")
    pads = [(int(low), int(high)) for low, high in p["padding"]]
    site.want(all(low >= 0 and high >= 0 for low, high in pads), "cut off")
    if site.dtype(0) != site.out.dtype or not site.out.dtype.is_float:
        raise Unread("types differ")
    frame = Frame(
        int(p["feature_group_count"]), tuple(map(int, p["window_strides"])),
        tuple(map(int, p["rhs_dilation"])), tuple(low for low, _ in pads),
        tuple(high for _, high in pads),
    )  # fmt: skip
    x, w = b.permute(x, numbers.lhs_spec), b.permute(w, numbers.rhs_spec)
    bias = b.const(0.0, site.out.dtype, (site.sizes(w)[0],))
    made = b.macro("conv", (x, w, bias), frame.vector)
    back = [numbers.out_spec.index(i) for i in range(len(site.shape))]
    return b.permute(made, back)
