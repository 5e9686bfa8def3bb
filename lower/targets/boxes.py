"""Loads that the engine for copies brings: boxes of tensors with up to five axes.

An index is taken apart into axes of a tensor: one along each axis of the tile, to the
end that a test names, and one for whatever else the index varies along.  Beyond the
ends are zeros, as a load has them where its test fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...egraph.ir.dtypes import F32, DType
from ..families.nests.values import add, mul
from ..fragments import EIGHTS, HALVES
from ..intervals import divisor
from ..loops import Ex, Lit, Op, Param, Tensor, Var, panel
from ..tiles import ir
from ..tiles.shapes.shape import Never
from .engine import BYTES
from .layouts import Form, Scene

AXES, ROWS = 5, 256  # of a tensor, and of a box, at most
BROUGHT = (*HALVES, *EIGHTS, F32)  # what groups of warps multiply


class Box(NamedTuple):
    """The part of a tile that lies in its first panel; the others follow, a panel's
    elements apart along the first axis."""

    tensor: Tensor
    corner: tuple[Ex, ...]


class _Axis(NamedTuple):
    step: int
    extent: int
    size: int  # of a box
    axes: Mapping[str, int]  # where a box begins: multiples of axes
    const: int


def box_of(load: ir.Load, view: Scene, buffer: Param) -> Box | str:
    """Or why there is none; a tile with one axis has one, not in panels."""
    index = view.form(load.index)
    row, last = ("", *load.tile.axes)[-2:] if len(load.tile.axes) < 3 else ("", "")
    points = ir.extents(view.grid.points) | {"": 1}
    if buffer.dtype not in BROUGHT:
        return f"elements of {buffer.dtype}"
    wide = panel(buffer.dtype) if row else points.get(last, 0)
    if index.rest or index.axes.get(last) != 1 or (row and index.axes.get(row, 0) < 1):
        return "it does not lie in rows"
    if points[last] < wide or points[row] > ROWS:
        return f"no panels: {points[row]} x {points[last]}"
    tests = _tests(load.where, view)
    if tests is None or not tests.keys() <= {row, last}:
        return "its test is about more than where an axis ends"
    made = _axes(index, row, last, tests, view, wide)
    if isinstance(made, str):
        return made
    if len(made) > AXES or any(
        a.step * buffer.dtype.itemsize % BYTES for a in made[1:]
    ):
        return Never(f"steps of {[a.step for a in made]} elements")
    if sum((a.extent - 1) * a.step for a in made) >= buffer.size:
        return "it reaches beyond its buffer"
    extents, strides, sizes = zip(
        *((a.extent, a.step, a.size) for a in made), strict=True
    )
    corner = tuple(_place(a.axes, a.const, load.index.dtype) for a in made)
    return askew(corner, buffer, view) or Box(
        Tensor(buffer.name, extents, strides, sizes), corner
    )


def askew(corner: Sequence[Ex], buffer: Param, view: Scene) -> str | None:
    """Why rows of a box do not begin where the engine takes them."""
    step = divisor(corner[0], view.steps) * buffer.dtype.itemsize
    return f"rows from {step} bytes on" if step % BYTES else None


def sent(s: ir.Store, view: Scene, buffer: Param) -> Box | str:
    """The box that a store writes: of elements of two bytes."""
    if buffer.dtype not in HALVES:
        return f"elements of {buffer.dtype}"
    tile = ir.Tile("", buffer.dtype, s.over, (), "shared")
    return box_of(ir.Load(tile, s.buffer, s.index, s.where), view, buffer)


def _tests(x: Ex | None, view: Scene) -> Mapping[str, tuple[Form, int]] | None:
    """By axis of the tile what must be less than what."""
    every = list(_conjuncts(x))
    less = {y.args[0] for y in every if y.op == "lt"}
    within = {y.args[1] for y in every if y.op == "le" and y.args[1] in less}
    return _less(x, view, frozenset(within))


def _conjuncts(x: Ex | None) -> Iterator[Op]:
    match x:
        case Op("and", (a, b)):
            yield from _conjuncts(a)
            yield from _conjuncts(b)
        case Op():
            yield x
        case _:
            pass


def _less(
    x: Ex | None, view: Scene, within: frozenset[Ex]
) -> Mapping[str, tuple[Form, int]] | None:
    """`within`: what is tested at both ends may begin before the first one."""
    match x:
        case None:
            return {}
        case Op("le", (Lit(0), a)) if a in within:
            return {}
        case Op("and", (a, b)):
            left, right = _less(a, view, within), _less(b, view, within)
            if left is None or right is None or left.keys() & right.keys():
                return None
            return {**left, **right}
        case Op("lt", (a, Lit(n))):
            f = view.form(a)
            points = {p.name for p in view.grid.points}
            mine = [name for name in f.axes if name in points]
            plain = not f.rest and [f.axes[p] for p in mine] == [1]
            plain &= f.const >= 0 or a in within
            return {mine[0]: (f, int(n))} if plain else None
        case _:
            return None


def _axes(
    index: Form, row: str, last: str, tests: Mapping[str, tuple[Form, int]],
    view: Scene, wide: int,
) -> tuple[_Axis, ...] | str:  # fmt: skip
    left, const = dict(index.axes), index.const
    own = (last, row) if row else (last,)
    step = {p: index.axes[p] for p in own}
    begins: dict[str, dict[str, int]] = {p: {} for p in own}
    for p, (f, _) in tests.items():
        begins[p] = {a: c for a, c in f.axes.items() if a != p}
        const -= step[p] * f.const
        for a, c in begins[p].items():
            left[a] = left.get(a, 0) - step[p] * c
    for p in own:
        del left[p]
    left = {a: c for a, c in left.items() if c}
    for a, c in list(left.items()):  # to an axis that ends nowhere
        p = row if row and c % step[row] == 0 else last
        near = 0 < c < step[row] if row else c % BYTES != 0
        if p not in tests and ((row and p == row) or near):
            begins[p][a] = left.pop(a) // step[p]
    if min(left.values(), default=0) < 0 or const < 0:
        return "it begins before its buffer"
    reach = {**{a.name: a.extent for a in view.grid.axes}, **_loops(view)}
    shift = {last: const}
    if row:
        shift = {row: const // step[row], last: const % step[row]}
    out: list[_Axis] = []
    points = ir.extents(view.grid.points)
    for p in own:
        far = [c * _last(reach[a], view.steps[a]) for a, c in begins[p].items()]
        f, end = tests.get(p, (None, sum(max(n, 0) for n in far) + points[p]))
        extra = shift[p] + (f.const if f else 0)
        if extra + sum(min(n, 0) for n in far) < 0 <= extra:
            return "it begins before its buffer"
        size = wide if p == last else points[p]
        out.append(_Axis(step[p], end + shift[p], size, begins[p], extra))
    for a, c in left.items():
        out.append(_Axis(c, reach[a], 1, {a: 1}, 0))
    return (out[0], *sorted(out[1:], key=lambda a: a.step))


def _loops(view: Scene) -> dict[str, int]:
    every = (s for s in ir.walk(view.grid.body) if isinstance(s, ir.Loop))
    return {a.name: a.extent for s in every for a in s.axes}


def _last(extent: int, step: int) -> int:
    return max(extent - 1, 0) // step * step


def _place(axes: Mapping[str, int], const: int, dtype: DType) -> Ex:
    total: Ex = Lit(0, dtype)
    for name, c in axes.items():
        total = add(total, mul(Var(name, dtype), c))
    return add(total, Lit(const, dtype))
