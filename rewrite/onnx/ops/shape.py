"""Operators that move elements: reshapes, slices, concatenation, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir.dims import Dim, bind, exact_div, lower_bound, numel, symbols
from rewrite.egraph.ir.dtypes import BOOL, I64, from_numpy

from ..fold import fill_value
from ..site import Site, Unread, op

FAR = 1 << 29  # bounds of slices from here on mean the end of any axis
LONG = 1 << 20  # an axis as long as any at which a size that falls is below 0


@op("Reshape")
def reshape(s: Site) -> int:
    have = s.shape(0)
    want = s.attr("shape") or s.dims(1, "the new shape")
    if not s.attr("allowzero", 0):
        want = [have[i] if d == 0 else d for i, d in enumerate(want)]
    return s.b.reshape(s.x(0), solved(s, numel(have), want))


def solved(s: Site, total: Dim, want: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape with its one -1 replaced by what is left of `total`."""
    if -1 not in want:
        return tuple(want)
    rest = exact_div(total, numel(d for d in want if d != -1))
    if rest is None:
        s.fail(f"{total} elements do not fill {list(map(str, want))}")
    return tuple(rest if d == -1 else d for d in want)


@op("Flatten")
def flatten(s: Site) -> int:
    shape = s.shape(0)
    axis = s.attr("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return s.b.reshape(s.x(0), (numel(shape[:axis]), numel(shape[axis:])))


@op("Squeeze")
def squeeze(s: Site) -> int:
    shape = s.shape(0)
    axes = s.ints("axes", 1)
    if axes is None:
        for d in shape:
            if not isinstance(d, int) and (lower_bound(d) or 0) < 2:
                raise Unread(f"whether an axis of {d} is one of 1")
        drop = [i for i, d in enumerate(shape) if d == 1]
    else:
        drop = s.axes(axes, len(shape))
    for i in drop:
        if shape[i] != 1:
            s.fail(f"axis {i} of {s.type(0)} is not 1")
    return s.b.reshape(s.x(0), [d for i, d in enumerate(shape) if i not in drop])


@op("Unsqueeze")
def unsqueeze(s: Site) -> int:
    result = s.ints("axes", 1) or []
    rank = s.rank(0) + len(result)
    places, rest = set(s.axes(result, rank)), iter(s.shape(0))
    shape = [1 if i in places else next(rest) for i in range(rank)]
    return s.b.reshape(s.x(0), shape)


@op("Transpose")
def transpose(s: Site) -> int:
    rank = s.rank(0)
    return s.b.permute(s.x(0), s.attr("perm") or tuple(reversed(range(rank))))


@op("Expand")
def expand(s: Site) -> int:
    x, want = s.x(0), s.dims(1, "the new shape")
    have = s.shape(0)
    rank = max(len(have), len(want))
    have = (1,) * (rank - len(have)) + have
    want = [1] * (rank - len(want)) + want
    full = [h if w == 1 else w for h, w in zip(have, want, strict=True)]
    return s.b.expand(s.b.reshape(x, have), full)


@op("Concat")
def concat(s: Site) -> int:
    return s.b.concat(s.xs(), s.axis())


@op("Split")
def split(s: Site) -> list[int]:
    axis = s.axis()
    n, count = s.shape(0)[axis], len(s.node.output)
    sizes: list[Dim] = list(s.ints("split", 1) or [])
    if not sizes:
        each = exact_div(n, count)
        if each is None:
            if not isinstance(n, int):
                raise Unread(f"{n} in {count} parts")
            each = -(-n // count)
            sizes += [each] * (count - 1)
            sizes.append(n - each * (count - 1))
        else:
            sizes += [each] * count
    parts: list[int] = []
    start: Dim = 0
    for size in sizes:
        parts.append(part(s, s.x(0), axis, start, size))
        start = start + size
    if start != n:
        s.fail(f"parts of {list(map(str, sizes))} do not make {n}")
    return parts


def part(s: Site, x: int, axis: int, start: Dim, size: Dim, step: int = 1) -> int:
    """`size` entries of one axis from `start` on."""
    shape = s.b.shape(x)
    if (start, size, step) == (0, shape[axis], 1):
        return x
    starts = [start if i == axis else 0 for i in range(len(shape))]
    sizes = [size if i == axis else d for i, d in enumerate(shape)]
    steps = [step if i == axis else 1 for i in range(len(shape))]
    return s.b.slice(x, starts, sizes, steps)


@op("Slice")
def slice_(s: Site) -> int:
    rank = s.rank(0)
    if s.opset < 10:
        starts: list[Any] = list(s.attr("starts"))
        ends: list[Any] = list(s.attr("ends"))
        axes, steps = s.attr("axes"), None
    else:
        starts, ends = s.dims(1, "starts"), s.dims(2, "ends")
        axes, steps = s.ints("axes", 3), s.ints("steps", 4)
    axes = s.axes(axes if axes is not None else list(range(len(starts))), rank)
    out = s.x(0)
    for i, axis in enumerate(axes):
        step = steps[i] if steps else 1
        if step == 0:
            s.fail("a step of 0")
        n = s.shape(0)[axis]
        start, size = _range(s, n, starts[i], ends[i], step)
        out = part(s, out, axis, start, size, step)
    return out


def _range(s: Site, n: Dim, start: Dim, end: Dim, step: int) -> tuple[Dim, Dim]:
    """First entry and count of `start:end:step` of `n`, as NumPy has it."""
    if isinstance(n, int) and isinstance(start, int) and isinstance(end, int):
        below = step < 0 and end < -n  # down to the first entry and including it
        start = max(start, -n) if step < 0 else start
        at = range(n)[slice(start, None if below else end, step)]
        return (at.start if len(at) else 0), len(at)
    if step > 0:
        first, last = _placed(n, start), _placed(n, end)
        size = -((first - last) // step)
        if bind(size, dict.fromkeys(symbols((size,)), LONG)) >= 0:
            return first, size
        # None of a long axis, and of a short one as many as are left, not `size`.
    if step == -1 and start == -1 and isinstance(end, int) and end < -(1 << 31):
        return n - 1, n
    raise Unread(f"entries {start}:{end}:{step} of {n}")


def _placed(n: Dim, at: Dim) -> Dim:
    """A bound of a slice with symbols: beyond all sizes, or taken at its word.  Where
    it is not within the axis once sizes are known, the slice has a size below 0 or
    leaves the axis, which is an error then."""
    if isinstance(at, int):
        if at >= FAR or (isinstance(n, int) and at >= n):
            return n
        if at < -FAR or (isinstance(n, int) and at < -n):
            return 0
    low = lower_bound(-1 - at)
    return n + at if low is not None and low >= 0 else at


@op("Tile")
def tile(s: Site) -> int:
    repeats = s.dims(1, "repeats")
    have = s.shape(0)
    twice = [d for pair in zip([1] * len(have), have, strict=True) for d in pair]
    full = [d for pair in zip(repeats, have, strict=True) for d in pair]
    out = s.b.expand(s.b.reshape(s.x(0), twice), full)
    return s.b.reshape(out, [r * d for r, d in zip(repeats, have, strict=True)])


@op("Pad")
def pad(s: Site) -> int:
    rank = s.rank(0)
    if s.opset < 11:
        pads: list[Any] = list(s.attr("pads"))
        value = s.attr("value", 0.0)
    else:
        pads = list(s.dims(1, "pads"))
        value = s.number(2, "the padding value") if s.has(2) else 0
    axes = s.axes(s.ints("axes", 3) or list(range(rank)), rank)
    if len(pads) != 2 * len(axes):
        s.fail(f"{len(pads)} pads for {len(axes)} axes")
    low: list[Any] = [0] * rank
    high: list[Any] = [0] * rank
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
    return padded(s, s.x(0), low, high, s.attr("mode", "constant"), value)


def padded(
    s: Site, x: int, low: list[Any], high: list[Any], mode: str, value: Any
) -> int:
    """Padded on both sides; a negative width cuts off."""
    for axis in range(len(low)):
        n = s.b.shape(x)[axis]
        cut = [max(-w, 0) if isinstance(w, int) else 0 for w in (low[axis], high[axis])]
        if any(cut):
            x = part(s, x, axis, cut[0], n - cut[0] - cut[1])
    low, high = (
        [max(w, 0) if isinstance(w, int) else w for w in side] for side in (low, high)
    )
    if mode == "constant":
        none = all(w == 0 for w in (*low, *high))
        return x if none else s.b.pad(x, low, high, value)
    for axis, (a, b) in enumerate(zip(low, high, strict=True)):
        if a != 0 or b != 0:
            x = _mirrored(s, x, axis, a, b, mode)
    return x


def _mirrored(s: Site, x: int, axis: int, low: Any, high: Any, mode: str) -> int:
    """Padded along one axis with what stands at its ends; that a symbolic axis has
    enough entries is checked where its size is known."""
    n = s.b.shape(x)[axis]
    if mode == "edge":
        before, after = (
            _repeated(s, x, axis, at, width) for at, width in ((0, low), (n - 1, high))
        )
        return s.b.concat([*before, x, *after], axis)
    if mode not in ("reflect", "wrap"):
        s.fail(f"mode {mode!r}: constant, edge, reflect or wrap expected")
    reflect = mode == "reflect"
    most = n - 1 if reflect else n
    if any(isinstance(most - w, int) and most - w < 0 for w in (low, high)):
        raise Unread(f"{mode} by more than there is")
    step = -1 if reflect else 1
    parts = [x]
    if low != 0:
        parts.insert(0, part(s, x, axis, low if reflect else n - low, low, step))
    if high != 0:
        parts.append(part(s, x, axis, n - 2 if reflect else 0, high, step))
    return s.b.concat(parts, axis)


def _repeated(s: Site, x: int, axis: int, at: Dim, count: Dim) -> list[int]:
    one = part(s, x, axis, at, 1)
    shape = [count if i == axis else d for i, d in enumerate(s.b.shape(x))]
    return [s.b.expand(one, shape)] if count != 0 else []


@op("DepthToSpace", "SpaceToDepth")
def blocks(s: Site) -> int:
    n, c, h, w = s.shape(0)
    k = s.attr("blocksize")
    b, x = s.b, s.x(0)
    if s.kind == "SpaceToDepth":
        rows, columns = exact_div(h, k), exact_div(w, k)
        if rows is None or columns is None:
            s.fail(f"{s.type(0)} has no blocks of {k}")
        crd = s.attr("mode", "DCR") == "CRD"
        order = (0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4)
        y = b.permute(b.reshape(x, (n, c, rows, k, columns, k)), order)
        return b.reshape(y, (n, c * k * k, rows, columns))
    depth = exact_div(c, k * k)
    if depth is None:
        s.fail(f"{c} channels are no multiple of {k * k}")
    if s.attr("mode", "DCR") == "DCR":
        y = b.permute(b.reshape(x, (n, k, k, depth, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        y = b.permute(b.reshape(x, (n, depth, k, k, h, w)), (0, 1, 4, 2, 5, 3))
    return b.reshape(y, (n, depth, h * k, w * k))


@op("ConstantOfShape")
def filled(s: Site) -> int:
    value, dtype = fill_value(s)
    return s.b.const(value.item() if hasattr(value, "item") else value,
                     from_numpy(dtype), tuple(s.dims(0, "the shape")))  # fmt: skip


@op("Range")
def range_(s: Site) -> int:
    """In steps of 1 both ends may have symbols."""
    start, limit, step = (s.dims(i, "the range") for i in range(3))
    dtype = s.type(0).dtype
    if dtype.is_int and step[0] == 1:
        size = limit[0] - start[0]
        least = lower_bound(-size)
        if least is not None and least >= 0:
            size = 0  # it counts up to what lies below its start, whatever the sizes
        out = s.b.iota(0, dtype, (size,))
        return out if start[0] == 0 else s.bin("add", out, s.b.cast(s.x(0), dtype))
    raise Unread("a range of other numbers")


@op("EyeLike")
def eye(s: Site) -> int:
    from ..types import dtype_of

    shape = s.shape(0)
    to = dtype_of(s.attr("dtype"), s.place) if s.attr("dtype") else s.type(0).dtype
    row, column = s.b.iota(0, I64, shape), s.b.iota(1, I64, shape)
    on = s.b.bin("eq", s.b.bin("add", row, s.full(s.attr("k", 0), row)), column)
    return s.b.cast(on, to) if to != BOOL else on


@op("Trilu")
def triangle(s: Site) -> int:
    x, shape = s.x(0), s.shape(0)
    k = s.dims(1, "the diagonal")[0] if s.has(1) else 0
    rank = len(shape)
    if not isinstance(k, int):
        raise Unread("a diagonal of symbolic place")
    row, column = s.b.iota(rank - 2, I64, shape), s.b.iota(rank - 1, I64, shape)
    bound = s.b.bin("add", row, s.full(k, row))
    upper = bool(s.attr("upper", 1))
    keep = s.b.bin("le", bound, column) if upper else s.b.bin("le", column, bound)
    return s.b.select(keep, x, s.full(0, x))
