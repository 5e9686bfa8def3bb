"""Products: every one is a sum of products over named axes, a `contract`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import ascii_letters

from rewrite.egraph.ir.dims import Dim

from ..errors import AxisError, ShapeError
from ..tracer import Operand, TraceError, Tracer, current, lift, promote, wrap
from .axes import axes_of, axis_of
from .manipulation import permute_dims, reshape
from .statistical import sum


def matrix_transpose(x: Operand) -> Tracer:
    x = lift(x)
    if x.ndim < 2:
        raise TraceError(f"matrix_transpose takes rank >= 2, found {x.type}")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def matmul(a: Operand, b: Operand, /) -> Tracer:
    """Vectors count as one row at the left, one column at the right."""
    left, right = promote(a, b)
    if not left.ndim or not right.ndim:
        raise TraceError("matmul takes rank >= 1; multiply by a number with *")
    rows = reshape(left, (1, left.size)) if left.ndim == 1 else left
    cols = reshape(right, (right.size, 1)) if right.ndim == 1 else right
    if rows.shape[-1] != cols.shape[-2]:
        raise TraceError(f"matmul: the inner sizes of {left.type} and {right.type} "
                         "differ")  # fmt: skip
    made = wrap(current().matmul(rows.node, cols.node))
    shape = list(made.shape)
    if right.ndim == 1:
        del shape[-1]
    if left.ndim == 1:
        del shape[len(shape) - (2 if right.ndim > 1 else 1)]
    return reshape(made, shape)


def contract(a: Tracer, a_axes: str, b: Tracer, b_axes: str, out: str) -> Tracer:
    """Sums a * b over every letter that is not in `out`."""
    size: dict[str, Dim] = {}
    for x, letters in ((a, a_axes), (b, b_axes)):
        for letter, n in zip(letters, x.shape, strict=True):
            known = size.setdefault(letter, n)
            if n not in (1, known) and known != 1:
                raise TraceError(f"axis {letter!r} is {known} and {n}")
            size[letter] = n if known == 1 else known
    order = out + "".join(x for x in size if x not in out)
    parts = [
        _aligned(x, letters, order).node for x, letters in ((a, a_axes), (b, b_axes))
    ]
    mask = [int(x not in out) for x in order]
    made = current().contract(parts[0], parts[1], [size[x] for x in order], mask)
    return reshape(wrap(made), [size[x] for x in out])


def _aligned(x: Tracer, letters: str, order: str) -> Tracer:
    """`x` with its axes in the order of `order`, and size 1 for those it lacks."""
    perm = sorted(range(x.ndim), key=lambda i: order.index(letters[i]))
    sizes = dict(zip(letters, x.shape, strict=True))
    return reshape(permute_dims(x, perm), [sizes.get(c, 1) for c in order])


def tensordot(
    a: Operand, b: Operand, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tracer:
    left, right = promote(a, b)
    over = _summed(axes, left, right)
    la, lb = ascii_letters[: left.ndim], list(ascii_letters[26 : 26 + right.ndim])
    for i, j in zip(*over, strict=True):
        lb[j] = la[i]
        if left.shape[i] != right.shape[j]:
            raise TraceError(f"tensordot: axes {i} and {j} of {left.type} and "
                             f"{right.type} differ")  # fmt: skip
    out = [c for i, c in enumerate(la) if i not in over[0]]
    out += [c for j, c in enumerate(lb) if j not in over[1]]
    return contract(left, la, right, "".join(lb), "".join(out))


def _summed(
    axes: int | tuple[Sequence[int], Sequence[int]], left: Tracer, right: Tracer
) -> list[tuple[int, ...]]:
    """The axes of both sides over which `tensordot` sums."""
    most = min(left.ndim, right.ndim)
    if not isinstance(axes, Iterable):
        if not 0 <= axes <= most:
            raise AxisError(f"tensordot: axes={axes} of {left.type} and {right.type}: "
                            f"0 to {most} was expected, the last of one with the first "
                            "of the other")  # fmt: skip
        axes = (range(left.ndim - axes, left.ndim), range(axes))
    pair = tuple(axes)
    over = [axes_of(a, x.ndim, "tensordot")
            for a, x in zip(pair, (left, right), strict=False)]  # fmt: skip
    if len(pair) != 2 or len(over[0]) != len(over[1]):
        raise AxisError(f"tensordot: axes={axes!r}: as many axes of either side were "
                        "expected, as in ((0, 1), (1, 0))")  # fmt: skip
    return over


def vecdot(a: Operand, b: Operand, /, *, axis: int = -1) -> Tracer:
    left, right = promote(a, b)
    axis_of(axis, max(left.ndim, right.ndim), "vecdot")
    check_vectors(left.shape, right.shape, axis)
    return sum(left * right, axis=axis, dtype=left.dtype)


def check_vectors(left: Sequence[Dim], right: Sequence[Dim], axis: int) -> None:
    """ShapeError where the axis is not there in both, of one size."""
    sizes: list[Dim] = []
    for shape in (left, right):
        at = axis - max(len(left), len(right)) if axis >= 0 else axis
        if not -len(shape) <= at < 0:
            raise ShapeError(f"vecdot: {list(left)} and {list(right)} have no axis "
                             f"{axis} both")  # fmt: skip
        sizes.append(shape[at])
    if sizes[0] != sizes[1]:
        raise ShapeError(f"vecdot: axis {axis} is {sizes[0]} and {sizes[1]}")


def outer(a: Operand, b: Operand, /) -> Tracer:
    left, right = promote(a, b)
    return reshape(left, (left.size, 1)) * reshape(right, (1, right.size))


def einsum(spec: str, *operands: Operand) -> Tracer:
    """Einstein summation, from left to right; '...' and repeated axes are refused."""
    if not isinstance(spec, str) or not operands:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TraceError("einsum: a text as 'ij,jk->ik', then the arrays, expected")
    parts = promote(*operands)
    terms, _, out = spec.replace(" ", "").partition("->")
    inputs = terms.split(",")
    _check_einsum(spec, inputs, parts)
    if "->" not in spec:
        letters = "".join(inputs)
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if not set(out) <= set(terms) or len(set(out)) != len(out):
        raise TraceError(f"einsum {spec!r}: the result names an axis twice or anew")
    x, axes = parts[0], inputs[0]
    for i, (y, letters) in enumerate(zip(parts[1:], inputs[1:], strict=True), 1):
        needed = set(out).union(*inputs[i + 1 :])
        kept = "".join(c for c in dict.fromkeys(axes + letters) if c in needed)
        last = i == len(parts) - 1
        x, axes = contract(x, axes, y, letters, out if last else kept), kept
        axes = out if last else kept
    return _finish(x, axes, out)


def _finish(x: Tracer, axes: str, out: str) -> Tracer:
    gone = [i for i, c in enumerate(axes) if c not in out]
    x = sum(x, axis=gone, dtype=x.dtype) if gone else x
    left = [c for c in axes if c in out]
    return permute_dims(x, [left.index(c) for c in out])


def _check_einsum(spec: str, inputs: list[str], parts: list[Tracer]) -> None:
    if "." in spec:
        raise TraceError(f"einsum {spec!r}: write out the axes that '...' stands for")
    if len(inputs) != len(parts):
        raise TraceError(
            f"einsum {spec!r}: {len(inputs)} operands expected, found {len(parts)}"
        )
    if not re.fullmatch(r"[A-Za-z, ]*(->[A-Za-z ]*)?", spec):
        raise TraceError(f"einsum {spec!r}: letters for axes, ',' and '->' expected")
    for letters, x in zip(inputs, parts, strict=True):
        if len(letters) != x.ndim:
            raise TraceError(f"einsum {spec!r}: {letters!r} does not fit {x.type}")
        if len(set(letters)) != len(letters):
            message = "repeats an axis: multiply by xp.eye and sum instead"
            raise TraceError(f"einsum {spec!r}: {letters!r} {message}")
