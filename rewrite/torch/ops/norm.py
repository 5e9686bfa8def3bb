"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import compute
from rewrite.xp.tracer import Tracer, astype

from ..arrays import DTYPES
from ..site import Site, Unread, fixed, op
from .reduce import averaged, spread


@op("native_layer_norm.default")
def layer_norm(
    s: Site, x: Tracer, shape: Sequence[Dim], weight: Tracer | None,
    bias: Tracer | None, eps: float,
) -> tuple[Tracer, Tracer | None, Tracer | None]:  # fmt: skip
    over = tuple(range(x.ndim - len(shape), x.ndim))
    if not (s.wants(1) or s.wants(2)) and _known(x, over):
        gain = 1.0 if weight is None else weight
        return xp.nn.layer_norm(x, gain, 0.0 if bias is None else bias, over, eps), \
            None, None  # fmt: skip
    far, middle, scale = _normalised(x, over, eps)
    y = _affine(far * scale, weight, bias)
    kept = s.value(1).dtype
    return astype(y, x.dtype), _saved(middle, kept), _saved(scale, kept)


def _known(x: Tracer, over: Sequence[int]) -> bool:
    return bool(over) and all(isinstance(x.shape[i], int) for i in over)


def _normalised(
    x: Tracer, over: Sequence[int], eps: float
) -> tuple[Tracer, Tracer, Tracer]:
    """Distances from the mean, the mean, and one over the deviation."""
    x = astype(x, compute(x.dtype))
    middle = averaged(x, over)
    variance = spread(x, middle, over)
    return x - middle, middle, xp.rsqrt(variance + eps)


def _affine(y: Tracer, weight: Tracer | None, bias: Tracer | None) -> Tracer:
    y = y if weight is None else y * astype(weight, y.dtype)
    return y if bias is None else y + astype(bias, y.dtype)


def _saved(x: Tracer, dtype: Any) -> Tracer:
    return astype(x, DTYPES[dtype])


@op("_fused_rms_norm.default")
def rms_norm(
    s: Site, x: Tracer, shape: Sequence[Dim], weight: Tracer | None, eps: float | None
) -> tuple[Tracer, Tracer | None]:
    over = tuple(range(x.ndim - len(shape), x.ndim))
    if eps is None:
        eps = float(np.finfo(compute(x.dtype).numpy).eps)
    if not s.wants(1) and _known(x, over):
        return xp.nn.rms_norm(x, 1.0 if weight is None else weight, over, eps), None
    wide = astype(x, compute(x.dtype))
    scale = xp.rsqrt(averaged(wide * wide, over) + eps)
    return astype(_affine(wide * scale, weight, None), x.dtype), scale


@op("native_group_norm.default")
def group_norm(
    s: Site, x: Tracer, weight: Tracer | None, bias: Tracer | None, n: Dim, c: Dim,
    area: Dim, groups: int, eps: float,
) -> tuple[Tracer, Tracer, Tracer]:  # fmt: skip
    each = dims.exact_div(c, groups)
    if each is None:
        raise Unread(f"{c} channels in {groups} groups")
    rows = xp.reshape(x, (n, groups, each, area))
    far, middle, scale = _normalised(rows, (2, 3), eps)
    y = xp.reshape(far * scale, x.shape)
    y = _affine(y, *(_channels(p, x.ndim) for p in (weight, bias)))
    kept = s.value(1).dtype
    row = (n, groups)
    return astype(y, x.dtype), _saved(xp.reshape(middle, row), kept), \
        _saved(xp.reshape(scale, row), kept)  # fmt: skip


def _channels(p: Tracer | None, rank: int) -> Tracer | None:
    """A value for each channel, the second axis of `rank`."""
    return None if p is None else xp.reshape(p, (1, p.size, *([1] * (rank - 2))))


# ---- batch norm ----


def _scaled(x: Tracer, weight: Any, bias: Any, middle: Tracer, scale: Tracer) -> Tracer:
    """(x - mean) scale weight + bias, all but x by channel."""
    y = (astype(x, scale.dtype) - middle) * scale
    return astype(
        _affine(y, _channels(weight, x.ndim), _channels(bias, x.ndim)), x.dtype
    )


@op("_native_batch_norm_legit_no_training.default")
def batch_norm_fixed(
    s: Site, x: Tracer, weight: Any, bias: Any, mean: Tracer, var: Tracer,
    momentum: float, eps: float,
) -> tuple[Tracer, Tracer | None, Tracer | None]:  # fmt: skip
    wide = compute(x.dtype)
    middle = _at_channels(astype(mean, wide), x.ndim)
    scale = xp.rsqrt(_at_channels(astype(var, wide), x.ndim) + eps)
    return _scaled(x, weight, bias, middle, scale), _asked(s, 1), _asked(s, 2)


def _asked(s: Site, which: int) -> Tracer | None:
    """What is kept for a backward graph: nothing, in a form that differs by device."""
    if not s.wants(which):
        return None
    value = s.value(which)
    return xp.zeros(s.sizes.shape(value.shape), dtype=DTYPES[value.dtype])


def _at_channels(p: Tracer, rank: int) -> Tracer:
    return xp.reshape(p, (1, p.size, *([1] * (rank - 2))))


@op("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional.default",
    "_batch_norm_with_update_functional.default")  # fmt: skip
def batch_norm(
    s: Site, x: Tracer, weight: Any, bias: Any, *rest: Any
) -> tuple[Tracer | None, ...]:
    """In the dtypes of the trace: those of statistics differ between operators."""
    made = _batch_norm(s, x, weight, bias, *rest)
    dtypes = (DTYPES[v.dtype] for v in s.value())
    return tuple(
        None if y is None else astype(y, d) for y, d in zip(made, dtypes, strict=True)
    )


def _batch_norm(
    s: Site, x: Tracer, weight: Any, bias: Any, *rest: Any
) -> tuple[Tracer | None, ...]:
    name = s.node.target.__name__
    with_stats = not name.endswith("no_stats")
    means: list[Tracer] = list(rest[:2]) if with_stats else []
    momentum, eps = rest[-2], rest[-1]
    if name.startswith("_native") and rest[-3] is False:
        out = batch_norm_fixed(s, x, weight, bias, *means, momentum, eps)
        return *out, *means
    over = (0, *range(2, x.ndim))
    wide = astype(x, compute(x.dtype))
    middle = averaged(wide, over)
    variance = spread(wide, middle, over)
    scale = xp.rsqrt(variance + eps)
    (channels,) = fixed(x.shape[1])
    flat = [xp.reshape(p, (channels,)) for p in (middle, scale, variance)]
    made: list[Tracer] = [_scaled(x, weight, bias, middle, scale), *flat[:2]]
    if not with_stats:
        return tuple(made)
    if name.startswith("_batch"):
        made.append(xp.zeros((0,), dtype=xp.uint8))  # what a library would keep
    (count,) = fixed(dims.numel(tuple(x.shape[i] for i in over)))
    unbiased = flat[2] * (count / max(count - 1, 1))
    for old, new in zip(means, (flat[0], unbiased), strict=True):
        made.append(old * (1 - momentum) + astype(new, old.dtype) * momentum)
    return tuple(made)
