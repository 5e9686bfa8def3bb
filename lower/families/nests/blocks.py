"""Long sums of f32: blocks, whose totals are in f64.

A sum loses digits with each term that it takes.  So after a block of terms it goes to
its total, and starts again: along the last loop of a step where that is long, else
after some turns of a loop around it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from ....egraph.ir.dtypes import F32, F64, DType
from ...axes import ceil_div
from ...loops import Assign, Ex, Lit, Load, Op, Store, Var
from .accumulate import Accumulating, Arrays
from .guards import apart
from .index_types import Span
from .plan import Step
from .values import add, convert

BLOCK = 16  # terms that a sum in f32 takes before it goes to one in f64; NumPy has 16

type Do = Callable[[], None]
# Of a loop: where it begins, its length, and between which places it stays, if known.
type Part = Callable[[Ex, int, Span | None], None]


class Turn(NamedTuple):
    """What is done after so many turns of a loop of a step."""

    loop: int
    turns: int
    do: Do


class Blocks(Accumulating):
    """Loops over the axes of a step, and what they are interrupted for."""

    wide = False  # whether long sums of f32 are added up in f64

    @abstractmethod
    def step(self, s: Step) -> None: ...

    def descend(
        self, s: Step, leaf: Do, last: int = 0, turn: Turn | None = None
    ) -> None:
        """Serial loops over the step's axes but the `last` ones, `leaf` inside."""
        axes = s.axes[: len(s.axes) - last]
        cut = self.cut(s)

        def level(i: int) -> None:
            if i == len(axes):
                leaf()
                return
            piece = turn.turns if turn is not None and turn.loop == i else 0
            for span in cut.get(axes[i], (None,)):
                first, count = self._reach(axes[i], span)
                part = partial(over, i)
                if piece and turn is not None:
                    self.pieces_of(first, count, span, piece, part, turn.do)
                else:
                    part(self.number(first), count, span)

        def over(i: int, first: Ex, count: int, span: Span | None) -> None:
            with self.loop("serial", count) as x:
                self.at(s.axes[i], add(first, x), span)
                for inner in s.inner[i]:
                    self.step(inner)
                level(i + 1)

        level(0)

    def cut(self, s: Step) -> dict[int, tuple[Span, ...]]:
        """The outermost loop that parts of decide about guards by themselves, and those
        parts: sums over what was joined or padded are sums one after the other."""
        if self.kernel.scans:
            return {}
        for a in s.axes:
            spans = apart(self.kernel, _work(s), a)
            if len(spans) > 1:
                return {a: spans}
        return {}

    def _reach(self, axis: int, span: Span | None) -> tuple[int, int]:
        """Where a loop begins, and its length."""
        first, last = span or (0, self.kernel.extents[axis] - 1)
        return first, last + 1 - first

    def pieces_of(
        self, start: int, extent: int, span: Span | None, piece: int, part: Part,
        after: Do,
    ) -> None:  # fmt: skip
        """A loop in pieces, `after` each of which something is done; not after what is
        left of it."""
        whole = extent // piece * piece
        with self.loop("serial", whole, step=piece) as first:
            part(add(first, self.number(start)), piece, span)
            after()
        if extent > whole:
            part(self.number(start + whole), extent - whole, span)

    def turn(self, s: Step, block: int, last: int, do: Do) -> Turn | None:
        """After a block of terms; by the loops of the step but the `last` ones."""
        extents = [self.kernel.extents[a] for a in s.axes]
        for i in reversed(range(len(extents) - last)):
            inner = prod(extents[i + 1 :])
            turns = ceil_div(block, inner) if inner else 0
            if 0 < 2 * turns <= extents[i]:
                return Turn(i, turns, do)
        return None

    def in_blocks(
        self, s: Step, accs: Mapping[int, Arrays], lanes: int, block: int, leaf: Do,
        along: tuple[int, Part] | None = None, spans: Sequence[Span | None] = (None,),
        *, width: int,
    ) -> None:  # fmt: skip
        """The loops of a step, `lanes` sums side by side.  `along`: of the last loop
        this part, up to here, comes before the `leaf`; of each of its `spans` by
        itself.  `block`: turns of that loop.  `width`: so many totals, one a lane
        where lanes are sums of their own."""
        mine = [r for r in accs if self.loses(r)]
        extent, part = along or (0, None)
        long = bool(mine) and extent >= 2 * block
        totals: dict[int, str] = {}

        def flush() -> None:
            self.flush(accs, totals, lanes, width)

        def each_of(span: Span | None, part: Part) -> None:
            first, last = span or (0, extent - 1)
            count = last + 1 - first
            if long:
                self.pieces_of(first, count, span, block, part, flush)
            else:
                part(self.number(first), count, span)

        def whole() -> None:
            if part is not None:
                for span in spans:
                    each_of(span, part)
            leaf()

        last = 1 if along else 0
        turn = self.turn(s, block, last, flush) if mine and not long else None
        if long or turn:
            totals |= {r: self.zeros(F64, width) for r in mine}
        self.descend(s, whole, last, turn)
        flush()
        self.settle(accs, totals, width)

    def in_turns(self, s: Step, accs: Mapping[int, Sequence[Var]], leaf: Do) -> None:
        """The same of sums in variables."""
        mine = [r for r in accs if self.loses(r)]
        totals: dict[int, Var] = {}

        def flush() -> None:
            for r, total in totals.items():
                (acc,) = accs[r]
                more = Op("add", (total, convert(acc, F64)), F64)
                self.emit(Assign(total, more))
                self.emit(Assign(acc, Lit(0.0, F32)))

        turn = self.turn(s, BLOCK, 0, flush) if mine else None
        if turn:
            totals |= {r: self.variable(Lit(0.0, F64)) for r in mine}
        self.descend(s, leaf, turn=turn)
        flush()
        for r, total in totals.items():
            self.emit(Assign(accs[r][0], convert(total, F32)))

    def loses(self, r: int) -> bool:
        return self.wide and self.monoid(r) == "sum" and self.acc_type(r) is F32

    def zeros(self, dtype: DType, count: int) -> str:
        name = self.array("total", dtype, count)
        with self.loop("simd", count) as i:
            self.emit(Store(name, i, Lit(0.0, dtype)))
        return name

    def flush(
        self, accs: Mapping[int, Arrays], totals: Mapping[int, str], lanes: int,
        width: int,
    ) -> None:  # fmt: skip
        """Moves what the accumulators have to the totals, of which there may be fewer:
        vectors are added up to one before they become the two of f64.  In one loop:
        of one that only clears, gcc makes a memset in halves of a vector, and the next
        load of the whole one waits for both."""
        for r, total in totals.items():
            (acc,) = accs[r]
            with self.loop("simd", width) as i:
                places = [add(i, self.number(at)) for at in range(0, lanes, width)]
                more = convert(_by_halves([Load(acc, p, F32) for p in places]), F64)
                self.emit(Store(total, i, Op("add", (Load(total, i, F64), more), F64)))
                for p in places:
                    self.emit(Store(acc, p, Lit(0.0, F32)))

    def settle(
        self, accs: Mapping[int, Arrays], totals: Mapping[int, str], width: int
    ) -> None:
        """The totals back in the accumulators."""
        for r, total in totals.items():
            with self.loop("simd", width) as i:
                self.emit(Store(accs[r][0], i, convert(Load(total, i, F64), F32)))


def _by_halves(values: Sequence[Ex]) -> Ex:
    """The sum of a power of two of values, the second half onto the first."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    onto = [
        Op("add", (x, y), F32)
        for x, y in zip(values[:half], values[half:], strict=True)
    ]
    return _by_halves(onto)


def _work(s: Step) -> int:
    """The expressions that are evaluated in the loops of a step."""
    work = s.work
    for steps in s.inner:
        for t in steps:
            work |= _work(t)
    return work
