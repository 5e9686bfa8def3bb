"""Writer of the boxes of a unit of work: what windows read of a value, padded, a line
after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ....egraph.ir.dtypes import BOOL, compute
from ....egraph.ir.scalars import UNROUNDED
from ....extract.schedule.kernel import Affine, Cond, Expr, Kernel, bits
from ...axes import ceil_div, coefficient
from ...loops import Ex, Lit, Load, Op, Param, Store
from ..nests.accumulate import Accumulating, vectors_in
from ..nests.guards import guards, pieces
from ..nests.index_types import Span
from ..nests.plan import facts, reach
from ..nests.values import add, convert, mul, rounded
from ..products.halo import Coordinate
from .tiling import Shape, Stencil, parts_of, shape
from .windows import Boxed, lanewise

WRITTEN = 16  # vectors of a line that are written out


class Filling(Accumulating):
    """A writer that fills boxes."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], s: Stencil
    ) -> None:
        super().__init__(kernel, strict, buffers)
        self.s, self.tile, self.parts = s, dict(s.tile), parts_of(kernel, s)
        self.boxes = {b.expr: b for b in s.w.boxed}
        self.shapes = {b.expr: shape(kernel, s, b) for b in s.w.boxed}
        self.arrays: dict[int, str] = {}  # of the boxes
        self.origin: dict[int, Ex] = {}  # of the tile, by axis

    def fill(self) -> None:
        """All boxes of the tile."""
        for e, x in self.shapes.items():
            self.arrays[e] = self.array("box", self.kernel.exprs[e].dtype, x.size)
            self._fill(self.boxes[e], x, self.number(0))

    def _fill(self, b: Boxed, x: Shape, at: Ex, depth: int = 0) -> None:
        """Lines from the coordinate `depth` on; as along a line, those of which it is
        known whether they are inside are code of their own."""
        *outer, _ = b.box
        if depth == len(outer):
            self._line(b, x, mul(at, x.line))
            return
        here, extent = outer[depth], x.outer[depth]
        every = self._pieces(b, here)

        def lines(place: Ex, span: Span | None) -> None:
            self._stand(here, place, extent, span)
            self._fill(b, x, add(mul(at, extent), place), depth + 1)

        if self._is_whole(here):
            for span in every:
                with self.loop("serial", span[1] + 1 - span[0]) as i:
                    lines(add(i, self.number(span[0])), span)
            return
        with self.loop("serial", extent) as place:
            span = _largest(every)
            base = self.let(add(self._base(here), place), "u")
            self._either(
                self._within(base, 1, span),
                lambda: lines(place, span),
                lambda: lines(place, None),
            )

    def _whole(self, x: Coordinate) -> int:
        return x.extent(dict(enumerate(self.kernel.extents)))

    def _base(self, x: Coordinate) -> Ex:
        """Where the box begins."""
        at: Ex = self.number(0)
        for a, step in x.steps:
            at = add(at, mul(self.origin.get(a, self.number(0)), step))
        return at

    def _reach(self, x: Coordinate, extent: int) -> int:
        """The last place of a box that has so many of the coordinate's."""
        last = {a: (n - 1) * self.tile[a] for a, n in self.parts.items()}
        return sum(step * last.get(a, 0) for a, step in x.steps) + extent - 1

    def _stand(
        self, x: Coordinate, place: Ex, extent: int, span: Span | None = None
    ) -> None:
        """Opens the axes of a coordinate, by its unit alone, at a place of the box;
        beyond all places it stands at the last one, if no `span` is known of it."""
        whole = self._whole(x)
        at = add(self._base(x), place)
        if span is None and self._reach(x, extent) >= whole:
            at = Op("min", (at, self.number(whole - 1)), self.index)
        at = self.let(at, "u") if span is None else at
        for a, _ in x.steps:
            mine = a == x.unit
            within = span or (0, whole - 1)
            self.at(a, at if mine else self.number(0), within if mine else (0, 0))

    def _line(self, b: Boxed, shape: Shape, at: Ex) -> None:
        """A line of a box.  One that holds all places is in pieces, inside which no
        guard is asked; of one that is a part of them, the largest piece is."""
        x = b.box[-1]
        every = self._pieces(b, x)
        if self._is_whole(x):
            for span in every:
                self._piece(b, shape, at, span, span)
            self._beyond(b, shape, at, self._whole(x))
            return
        n, span = shape.line, _largest(every)
        self._either(
            self._within(self.let(self._base(x), "o"), n, span),
            lambda: self._piece(b, shape, at, (0, n - 1), span),
            lambda: self._piece(b, shape, at, (0, n - 1), None),
        )

    def _is_whole(self, x: Coordinate) -> bool:
        """Whether the box holds all places of a coordinate."""
        return all(self.parts.get(a, 1) == 1 for a, _ in x.steps)

    def _within(self, at: Ex, count: int, span: Span) -> Ex:
        low = Op("le", (self.number(span[0]), at), BOOL)
        end = add(at, self.number(count - 1))
        high = Op("le", (end, self.number(span[1])), BOOL)
        return Op("and", (low, high), BOOL)

    def _either(
        self, test: Ex, body: Callable[[], None], other: Callable[[], None]
    ) -> None:
        test = self.let(test, "w")
        with self.when(test):
            body()
        with self.when(Op("not", (test,), BOOL)):
            other()

    def _pieces(self, b: Boxed, x: Coordinate) -> tuple[Span, ...]:
        spans = self.spans | {a: (0, 0) for a, _ in x.steps if a != x.unit}
        conds = guards(self.kernel, reach(facts(self.kernel), 1 << b.expr, 0))
        return pieces(self.kernel, conds, x.unit, self._whole(x), spans)

    def _piece(
        self, b: Boxed, shape: Shape, at: Ex, places: Span, span: Span | None
    ) -> None:
        n = shape.phases
        if n == 1 and span is not None and self._copied(b, at, places, span):
            return
        for p in range(n):
            first, last = ceil_div(places[0] - p, n), (places[1] - p) // n
            with self.loop("simd", max(last + 1 - first, 0)) as lane:
                part = add(lane, self.number(first))
                place = add(mul(part, n), self.number(p))
                self._stand(b.box[-1], place, shape.line, span)
                to = add(add(at, part), self.number(p * shape.part))
                self.emit(Store(self.arrays[b.expr], to, self.value(b.expr)))

    def _copied(self, b: Boxed, at: Ex, places: Span, span: Span) -> bool:
        """The places by vectors, where each part of the value has them: of a loop that
        copies gcc makes a call, or an instruction that takes as long for few bytes."""
        first, count = places[0], places[1] + 1 - places[0]
        chunks, lanes = vectors_in(count, self.s.lanes), self.s.lanes
        whole = chunks[0] if count > WRITTEN * lanes else 0
        with self.scope() as body:
            if whole:
                with self.loop("serial", whole, step=lanes) as i:
                    if not self._copy(b, add(i, self.number(first)), at, lanes, span):
                        return False
            start = first + whole
            for n in _by_vectors(chunks[whole > 0 :], lanes):
                with self.loop("serial", 1):  # names of its own, no loop
                    if not self._copy(b, self.number(start), at, n, span):
                        return False
                start += n
        self.scopes[-1].body += body
        return True

    def _copy(self, b: Boxed, place: Ex, at: Ex, lanes: int, span: Span) -> bool:
        x = b.box[-1]
        self._stand(x, place, 0, span)
        axes = bits(tuple(a for a, _ in x.steps))
        value = self._along(b.expr, axes, x.unit, lanes)
        if value is not None:
            self.emit(Store(self.arrays[b.expr], add(at, place), value, lanes))
        return value is not None

    def _along(self, e: int, axes: int, unit: int, lanes: int) -> Ex | None:
        """Expression `e` in as many lanes as places from here on along a line; None
        where it is not made of vectors."""
        x = self.kernel.exprs[e]
        if lanes == 1 or not self.kernel.free[e] & axes:
            value = self.value(e)
            return value if lanes == 1 else self.wide(value, lanes)
        if x.op == "select":
            test = self.value(x.args[0])
            if not isinstance(test, Lit):
                return None
            return self._along(x.args[1 if test.value else 2], axes, unit, lanes)
        if x.op == "load":
            return self._loaded(x, unit, lanes)
        if not lanewise(self.kernel, e):
            return None
        args = [self._along(a, axes, unit, lanes) for a in x.args]
        known = tuple(a for a in args if a is not None)
        if len(known) < len(args):
            return None
        made = self._apply(x, known, compute(x.dtype))
        if self.strict and x.op not in UNROUNDED:
            made = rounded(made, x.dtype)
        return self.wide(made, lanes)

    def _loaded(self, x: Expr, unit: int, lanes: int) -> Ex | None:
        slot, offset, guard = cast(tuple[int, Affine, tuple[Cond, ...]], x.attr)
        even = all(isinstance(a, int) for a, _ in offset.terms)
        to, ok = compute(x.dtype), self.conds(guard)[0]
        if isinstance(ok, Lit):
            return self.wide(Lit(0, to), lanes)
        if ok or not even or coefficient(offset, unit) != 1 or to is not x.dtype:
            return None
        return Load(self.buffers[slot].name, self.affine(offset)[0], to, lanes)

    def _beyond(self, b: Boxed, shape: Shape, at: Ex, whole: int) -> None:
        """Numbers where none are needed: a vector of anything else might be slow."""
        zero = convert(Lit(0, self.index), compute(self.kernel.exprs[b.expr].dtype))
        for p in range(shape.phases):
            first = (whole - 1 - p) // shape.phases + 1
            with self.loop("simd", shape.part - first) as lane:
                to = add(add(at, lane), self.number(p * shape.part + first))
                self.emit(Store(self.arrays[b.expr], to, zero))

    # ---- vectors ----

    def wide(self, x: Ex, lanes: int = 0) -> Ex:
        """An operation on vectors, which numbers in it become."""
        lanes = lanes or self.s.lanes
        if x.lanes > 1:
            return x
        if isinstance(x, Op):
            args = tuple(self.wide(a, lanes) for a in x.args)
            return Op(x.op, args, x.dtype, lanes)
        return Op("splat", (x,), x.dtype, lanes)


def _largest(pieces: tuple[Span, ...]) -> Span:
    return max(pieces, key=lambda p: p[1] - p[0])


def _by_vectors(chunks: list[int], lanes: int) -> list[int]:
    """Whole vectors one by one."""
    return [n for c in chunks for n in ([lanes] * (c // lanes) if c > lanes else [c])]
