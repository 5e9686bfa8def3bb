"""Boxes of loads whose tile lies along digits: blocks of one digit, and windows.

Where a tile has a part of one digit, each digit around it is an axis of a tensor of
which a box has one value.  Where its rows go on over several digits, they are windows
of an image: the engine walks from row to row along up to three axes, each with a step,
and what the columns' outer digits add is the same for all rows (`loops.Windows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

from ...egraph.ir.dtypes import DType
from ..axes import ceil_div
from ..families.nests.values import add, mul
from ..loops import Ex, Lit, Op, Param, Tensor, Var, Windows, panel
from ..tiles import ir
from ..tiles.shapes.shape import Never
from .boxes import AXES, BROUGHT, askew, box_of
from .digits import Access, Test, access
from .engine import BITS, BYTES, STEP
from .engine import refused as unfit
from .layouts import Scene

ANY = 1 << 62  # elements
APART = "its columns do not lie side by side"


class Panels(NamedTuple):
    """The boxes of a tile's panels: a tensor, and each one's corner."""

    tensor: Tensor
    corners: tuple[tuple[Ex, ...], ...]


class _Axis(NamedTuple):
    """Of a tensor: where a box begins along it."""

    step: int
    extent: int
    size: int
    at: Ex


class _Middle(NamedTuple):
    """An axis that rows walk along: `digit` of the row's position, times `step`, from
    `first` on, plus multiples of digits of the column's (`shifts`)."""

    unit: int  # elements from place to place
    digit: int | None  # None: they stay where they are
    size: int  # places
    step: int
    first: int
    extent: int
    back: int  # by which shifts are counted from their least sum
    reach: int  # of shifts
    shifts: tuple[tuple[int, int], ...]  # digit of the column's, multiple


def panels_of(load: ir.Load, view: Scene, buffer: Param) -> Panels | str:
    """Or why there are none."""
    made = box_of(load, view, buffer)
    if isinstance(made, str):
        found = access(load, view) if len(load.tile.axes) == 2 else made
        if isinstance(found, str) or buffer.dtype not in BROUGHT:
            return made
        by_digits = _Panels(load, view, buffer, found)
        panels = by_digits.run()
        plain = isinstance(panels, str) and not by_digits.several
        return made if plain else panels
    last = ir.extents(view.grid.points)[load.tile.axes[-1]]
    wide = made.tensor.sizes[0]
    first, *rest = made.corner
    corners = ((add(first, Lit(p, load.index.dtype)), *rest)
               for p in range(0, last, wide))  # fmt: skip
    return Panels(made.tensor, tuple(corners))


def are_windows(load: ir.Load, view: Scene) -> bool:
    """Whether rows of its boxes walk: they begin where their first one lies, so that a
    half of them is no box with a corner further down."""
    made = panels_of(load, view, Param(load.buffer, load.tile.dtype, ANY, False))
    return not isinstance(made, str) and made.tensor.windows is not None


class _Panels:
    def __init__(self, load: ir.Load, view: Scene, buffer: Param, made: Access) -> None:
        self.view, self.buffer, self.access = view, buffer, made
        self.row, self.column = made.positions
        points = ir.extents(view.grid.points)
        self.rows, self.columns = (points[a] for a in load.tile.axes)
        self.kind: DType = load.index.dtype
        self.wide = panel(buffer.dtype)
        loops = (s for s in ir.walk(view.grid.body) if isinstance(s, ir.Loop))
        self.extents = ir.extents(view.grid.axes, *(s.axes for s in loops))
        self.whole: list[int] = []  # places along each position
        self.counts = self.all_of(0, self.rows), self.all_of(1, self.columns)

    def all_of(self, i: int, points: int) -> tuple[int, ...]:
        """How many values each digit has."""
        p = self.access.positions[i]
        self.whole.append(self.access.ends[i] or p.reach(self.view, points))
        return tuple(d.size or -(-self.whole[i] // d.weight) for d in p.digits)

    @property
    def several(self) -> bool:
        return any(len(p.digits) > 1 for p in self.access.positions)

    def run(self) -> Panels | str:
        by_row, by_column = self.access.index.steps
        digits = self.column.digits
        if by_column[0] != 1 or (len(digits) > 1 and digits[0].size % self.wide):
            return Never(APART)
        if not self.stays(1, self.wide):
            return APART
        ends = [self.end_of(t) for t in self.access.tests]
        if all(ends) and self.stays(0, self.rows) and by_row[0] > 0:
            made = self.block()
        else:
            pairs = zip(self.access.tests, ends, strict=True)
            made = self.walk([t for t, end in pairs if not end or end[0] == 0])
        if isinstance(made, str):
            return made
        tensor = made.tensor
        strides = tensor.strides
        odd = [n for n in strides[1:] if n * self.buffer.dtype.itemsize % BYTES]
        if len(strides) > AXES or odd or min(strides) < 1:
            return Never(f"steps of {list(strides)} elements")
        along = zip(tensor.extents, strides, strict=True)
        if sum((n - 1) * step for n, step in along) >= self.buffer.size:
            return "it reaches beyond its buffer"
        skewed = (askew(c, self.buffer, self.view) for c in made.corners)
        return unfit(tensor) or next(filter(None, skewed), made)

    def stays(self, i: int, points: int) -> bool:
        """Whether so many points have one value of all digits but the first."""
        p = self.access.positions[i]
        if len(p.digits) == 1:
            return True
        return p.digits[0].size % points == 0 and p.begins(self.view) % points == 0

    def end_of(self, t: Test) -> tuple[int, int] | None:
        """Of which position it says where the first digit ends, and no more; where."""
        for i in (0, 1):
            mine, others = t.value.steps[i], t.value.steps[1 - i]
            alone = not any(others) and not t.value.rest and not t.value.const
            if mine[0] == 1 and not any(mine[1:]) and alone and t.end:
                return i, t.end
        return None

    def ends(self, i: int) -> int:
        """Where the first digit of a position ends."""
        found = [e for t in self.access.tests if (e := self.end_of(t)) and e[0] == i]
        return min((n for _, n in found), default=self.counts[i][0])

    # ---- blocks of one digit

    def block(self) -> Panels | str:
        index = self.access.index
        if index.const < 0 or min((c for _, c in index.rest), default=1) < 1:
            return "it begins before its buffer"
        pairs = zip(self.access.ends, self.counts, strict=True)
        if any(end and len(digits) > 1 for end, digits in pairs):
            return "digits beyond an end"
        corners: list[tuple[Ex, ...]] = []
        axes: list[_Axis] = []
        for point in range(0, self.columns, self.wide):
            axes = list(self.block_axes(point))
            corners.append(tuple(a.at for a in axes))
        strides, extents, sizes, _ = zip(*axes, strict=True)
        return Panels(Tensor(self.buffer.name, extents, strides, sizes), (*corners,))

    def block_axes(self, point: int) -> Iterator[_Axis]:
        index = self.access.index
        column = self.column.at(point, self.kind)
        row = self.row.at(0, self.kind)
        first = add(self.column.digit(0, column), Lit(index.const, self.kind))
        yield _Axis(1, self.ends(1) + index.const, self.wide, first)
        others = [_Axis(index.steps[0][0], self.ends(0), self.rows,
                        self.row.digit(0, row))]  # fmt: skip
        for i, at in ((0, row), (1, column)):
            p = self.access.positions[i]
            for d in range(1, len(p.digits)):
                step, n = index.steps[i][d], self.counts[i][d]
                if step:
                    others.append(_Axis(step, n, 1, p.digit(d, at)))
        for name, step in index.rest:
            others.append(_Axis(step, self.extents[name], 1, Var(name, self.kind)))
        yield from sorted(others, key=lambda a: a.step)

    # ---- windows

    def walk(self, bounds: list[Test]) -> Panels | str:
        index = self.access.index
        others = [t for t in self.access.tests if t.value.rest]
        if others or (index.rest and self.access.ends[0]):
            return "windows of several images"
        if self.access.ends[1] and len(self.column.digits) > 1:
            return "digits beyond an end"
        if self.whole[0] % self.row.digits[-1].weight:
            return "rows end within an image"
        middle = self.middle(bounds)
        if isinstance(middle, str):
            return middle
        left = index.const + sum((m.back - m.first) * m.unit for m in middle)
        last = len(self.row.digits) - 1
        outer = any(m.digit == last for m in middle)
        if left < 0 or not middle:
            return "it begins before its buffer"
        bits = BITS.get(len(middle) + 2)
        if bits is None or max(m.reach for m in middle) >> bits:
            return "windows that are too large"
        images, apart = self.counts[0][last], index.steps[0][last]
        if outer:  # one image, or one for each place of other axes
            unit = BYTES // self.buffer.dtype.itemsize
            images, apart = 1, ceil_div(max(m.unit for m in middle), unit) * unit
            apart = gcd(*(step for _, step in index.rest)) or apart
        further: Ex = Lit(0, self.kind)
        for name, step in index.rest:
            if step % apart or step < 1:
                return "windows of several images"
            further = add(mul(Var(name, self.kind), step // apart), further)
            images += (self.extents[name] - 1) * step // apart
        tensor = Tensor(
            self.buffer.name,
            (self.ends(1) + left, *(m.extent for m in middle), images),
            (1, *(m.unit for m in middle), apart),
            (self.wide, self.rows, *(1 for _ in middle)),
            Windows(*zip(*((m.first, m.step, m.size) for m in middle), strict=True)),
        )
        points = range(0, self.columns, self.wide)
        image = further
        if not outer:
            row = self.row.at(0, self.kind)
            image = add(self.row.digit(last, row), further)
        corners = tuple(self.corner(p, middle, left, image) for p in points)
        return Panels(tensor, corners)

    def corner(
        self, point: int, middle: tuple[_Middle, ...], left: int, image: Ex
    ) -> tuple[Ex, ...]:
        column, row = self.column.at(point, self.kind), self.row.at(0, self.kind)
        zero: Ex = Lit(0, self.kind)
        out = [add(self.column.digit(0, column), Lit(left, self.kind))]
        for m in middle:
            place = zero
            if m.digit is not None:
                place = mul(self.row.digit(m.digit, row), m.step)
            out.append(add(place, Lit(m.first, self.kind)))
        out.append(image)
        for m in middle:
            shift = zero
            for d, times in m.shifts:
                digit = self.column.digit(d, column)
                if times < 0:
                    last = Lit(self.counts[1][d] - 1, self.kind)
                    digit = Op("sub", (last, digit), self.kind)
                shift = add(mul(digit, abs(times)), shift)
            out.append(shift)
        return tuple(out)

    def middle(self, bounds: list[Test]) -> tuple[_Middle, ...] | str:
        """Axes that tests are about, then those of other digits."""
        steps = self.access.index.steps
        own = {d: step for d, step in enumerate(steps[0]) if step}
        shifts = {d: step for d, step in enumerate(steps[1]) if d and step}
        if len(own) < len(steps[0]):
            return "rows of which several are the same"
        found: list[_Middle] = []
        for t in bounds:
            made = self.tested(t, own, shifts)
            if isinstance(made, str):
                return made
            found.append(made)
        given: dict[int, dict[int, int]] = {d: {} for d in own}
        for d in sorted(shifts, key=lambda d: -abs(shifts[d])):
            units = {i: gcd(step, shifts[d], *given[i].values())
                     for i, step in own.items()}  # fmt: skip
            fits = {i: n for i, n in units.items() if n * STEP >= own[i]}
            if not fits:
                found.append(self.axis(None, shifts[d], {d: shifts[d]}))
                continue
            best = max(fits, key=lambda i: (fits[i], -own[i]))
            given[best][d] = shifts[d]
        last = len(steps[0]) - 1
        for d, step in own.items():
            if d != last or given[d]:
                found.append(self.axis(d, gcd(step, *given[d].values()), given[d]))
        found.sort(key=lambda m: last + 1 if m.digit is None else m.digit)
        return tuple(found)

    def tested(
        self, t: Test, own: dict[int, int], shifts: dict[int, int]
    ) -> _Middle | str:
        """The axis that a test is about; its digits are taken from the others."""
        mine = [d for d, step in enumerate(t.value.steps[0]) if step]
        entries = {d: step for d, step in enumerate(t.value.steps[1]) if step}
        known = {*mine} <= own.keys() and entries.keys() <= shifts.keys()
        if len(mine) > 1 or not known:
            return "a test of several digits"
        digit = mine[0] if mine else None
        pairs = [(shifts[d], step) for d, step in entries.items()]
        pairs += [(own[d], t.value.steps[0][d]) for d in mine]
        units = {n // step for n, step in pairs}
        if len(units) != 1 or any(n % step for n, step in pairs):
            return "a test that goes otherwise than its axis"
        (unit,) = units
        found = {d: shifts.pop(d) for d in entries}
        made = self.axis(digit, unit, found, t)
        for d in mine:
            del own[d]
        return made

    def axis(
        self, digit: int | None, unit: int, shifts: dict[int, int],
        test: Test | None = None,
    ) -> _Middle:  # fmt: skip
        """Places are counted from where its shifts are least."""
        unit = abs(unit)
        size, step = 1, 1
        if digit is not None:
            size = self.counts[0][digit]
            step = self.access.index.steps[0][digit] // unit
        pairs = tuple((d, n // unit) for d, n in shifts.items())
        back = sum(n * (self.counts[1][d] - 1) for d, n in pairs if n < 0)
        reach = sum(abs(n) * (self.counts[1][d] - 1) for d, n in pairs)
        first = back + test.value.const if test else 0
        end = first + step * (size - 1) + reach + 1
        extent = (test.end if test else 0) or end
        return _Middle(unit, digit, size, step, first, extent, back, reach, pairs)
