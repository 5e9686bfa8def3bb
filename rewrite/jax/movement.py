"""Readers of primitives that move entries."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from .site import Site, primitive


@primitive("broadcast_in_dim")
def broadcast_in_dim(site: Site) -> int:
    site.want(len(site.operands) == 1, "sizes are not known")
    x, axes = site.x(), site.params["broadcast_dimensions"]
    lead = [1] * len(site.shape)
    for axis, size in zip(axes, site.sizes(x), strict=True):
        lead[axis] = size
    return site.b.expand(site.b.reshape(x, lead), site.shape)


@primitive("reshape")
def reshape(site: Site) -> int:
    site.want(site.params.get("dimensions") is None, "axes are permuted as well")
    return site.b.reshape(site.x(), site.shape)


@primitive("squeeze", "expand_dims")
def squeeze(site: Site) -> int:
    return site.b.reshape(site.x(), site.shape)


@primitive("transpose")
def transpose(site: Site) -> int:
    return site.b.permute(site.x(), site.params["permutation"])


def reversed_along(site: Site, x: int, axes: tuple[int, ...]) -> int:
    sizes = site.sizes(x)
    back = [i in axes and n > 1 for i, n in enumerate(sizes)]
    start = [n - 1 if r else 0 for n, r in zip(sizes, back, strict=True)]
    return site.b.slice(x, start, sizes, [-1 if r else 1 for r in back])


@primitive("rev")
def rev(site: Site) -> int:
    return reversed_along(site, site.x(), tuple(site.params["dimensions"]))


@primitive("slice")
def slice_(site: Site) -> int:
    steps = site.params["strides"] or (1,) * len(site.shape)
    return site.b.slice(site.x(), site.params["start_indices"], site.shape, steps)


@primitive("split")
def split(site: Site) -> list[int]:
    x, axis = site.x(), int(site.params["axis"])
    parts = [int(n) for n in site.params["sizes"]]
    result: list[int] = []
    for start, n in zip(accumulate((0, *parts[:-1])), parts, strict=True):
        at, size = [0] * len(site.sizes(x)), list(site.sizes(x))
        at[axis], size[axis] = start, n
        result.append(site.b.slice(x, at, size, [1] * len(at)))
    return result


@primitive("unstack")
def unstack(site: Site) -> list[int]:
    x, axis = site.x(), int(site.params["axis"])
    result: list[int] = []
    for i in range(site.sizes(x)[axis]):
        at, size = [0] * len(site.sizes(x)), list(site.sizes(x))
        at[axis], size[axis] = i, 1
        part = site.b.slice(x, at, size, [1] * len(at))
        result.append(site.b.reshape(part, site.shape))
    return result


@primitive("pad")
def pad(site: Site) -> int:
    x, fill = site.x(0), site.b.nodes[site.x(1)]
    low, high, inner = zip(*site.params["padding_config"], strict=True)
    site.want(fill.op == "const", "what fills up is not known")
    site.want(not any(inner) and min((*low, *high)) >= 0, "entries between, or cut off")
    return site.b.pad(x, [int(n) for n in low], [int(n) for n in high], fill.attrs[0])


@primitive("concatenate")
def concatenate(site: Site) -> int:
    return site.b.concat(site.xs, int(site.params["dimension"]))


@primitive("iota")
def iota(site: Site) -> int:
    return site.b.iota(int(site.params["dimension"]), site.out.dtype, site.shape)


@primitive("full")
def full(site: Site) -> int:
    value = np.asarray(site.params["fill_value"]).item()
    return site.b.const(value, site.out.dtype, site.shape)
