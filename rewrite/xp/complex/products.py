"""Sums of products of complex arrays: of real arrays four, or two with a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..functions import linear
from ..functions.statistical import sum as total
from ..pair import ComplexTracer, common, pair, pairs, real_operand
from ..tracer import Tracer
from .arithmetic import conj, times


def bilinear(
    f: Callable[..., Tracer], a: Any, b: Any, **keywords: Any
) -> ComplexTracer:
    """`f`, which is linear in both of its operands."""
    own = common(a, b)
    x, y = real_operand(a, own.part), real_operand(b, own.part)
    if x is not None:
        w = pair(b, own)
        return ComplexTracer(f(x, w.real, **keywords), f(x, w.imag, **keywords))
    z = pair(a, own)
    if y is not None:
        return ComplexTracer(f(z.real, y, **keywords), f(z.imag, y, **keywords))
    w = pair(b, own)
    return ComplexTracer(
        f(z.real, w.real, **keywords) - f(z.imag, w.imag, **keywords),
        f(z.real, w.imag, **keywords) + f(z.imag, w.real, **keywords),
    )


def matmul(a: Any, b: Any, /) -> ComplexTracer:
    return bilinear(linear.matmul, a, b)


def tensordot(a: Any, b: Any, /, *, axes: Any = 2) -> ComplexTracer:
    return bilinear(linear.tensordot, a, b, axes=axes)


def outer(a: Any, b: Any, /) -> ComplexTracer:
    return bilinear(linear.outer, a, b)


def vecdot(a: Any, b: Any, /, *, axis: int = -1) -> ComplexTracer:
    """The conjugate of the first is taken."""
    x, y = pairs(a, b)
    linear.check_vectors(x.shape, y.shape, axis)
    z = times(conj(x), y)
    parts = (total(p, axis=axis, dtype=p.dtype) for p in (z.real, z.imag))
    return ComplexTracer(*parts)


def einsum(spec: str, *operands: Any) -> ComplexTracer:
    """Of each choice of parts, times the power of i that it has."""
    own = common(*operands)
    parts = [_parts(x, own.part) for x in operands]
    sums: dict[int, Tracer] = {}
    for power, chosen in _choices(parts):
        made = linear.einsum(spec, *chosen)
        made = -made if power in (2, 3) else made
        at = power % 2
        sums[at] = sums[at] + made if at in sums else made
    return ComplexTracer(sums[0], sums[1])


def _parts(x: Any, part: Any) -> list[Tracer]:
    real = real_operand(x, part)
    if real is not None:
        return [real]
    z = pair(x)
    return [z.real, z.imag]


def _choices(parts: Sequence[list[Tracer]]) -> list[tuple[int, list[Tracer]]]:
    made: list[tuple[int, list[Tracer]]] = [(0, [])]
    for x in parts:
        made = [((k + i) % 4, [*c, p]) for k, c in made for i, p in enumerate(x)]
    return made
