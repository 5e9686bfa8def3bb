"""Accesses stay in their arrays, and turns of a loop write elements of their own.

Proved, or refuted, where an index is a sum of multiples of loop variables and nothing
guards it; else an index is wrong where its whole interval lies outside.  Others (read
from memory, divided, guarded) pass: the interpreter checks them as they run.
"""

from __future__ import annotations

import math

from ..fragments import WARP
from ..intervals import (
    Interval,
    Linear,
    divisor,
    extremes,
    interval,
    linear,
    of_loop,
)
from ..loops import (
    Array,
    AsyncCopy,
    Beside,
    Box,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Function,
    Gemm,
    If,
    Let,
    Load,
    Mma,
    Op,
    Send,
    Sort,
    Stmt,
    Store,
)  # fmt: skip
from ..targets.engine import BITS, BYTES
from .walk import Walk


class Places(Walk):
    """`outside`: by array, how many loops are around its declaration."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        params = (*function.params, *function.scratch)
        self.sizes = {p.name: p.size for p in params}
        self.nbytes = {p.name: p.dtype.itemsize for p in params}  # of an element
        self.outside = dict.fromkeys(self.sizes, 0)
        self.shared: set[str] = set()
        self.known: dict[str, Interval] = {}
        self.forms: dict[str, Linear] = {}
        self.divisors: dict[str, int] = {}
        self.loops: list[For] = []
        self.guards = 0

    def statement(self, s: Stmt) -> None:
        match s:
            case For():
                self.loop(s)
            case If(cond, body):
                self.value(cond)
                self.guards += 1
                if interval(cond, self.known).high:
                    self.body(body)
                self.guards -= 1
            case Let(var, value, mutable):
                self.value(value)
                self.forget(var.name)
                if var.dtype.is_int and var.lanes == 1 and not mutable:
                    self.known[var.name] = interval(value, self.known)
                    self.divisors[var.name] = divisor(value, self.divisors)
                    form = linear(value, self.forms)
                    if form is not None:
                        self.forms[var.name] = form
            case Array(name, _, size, space):
                self.sizes[name] = size
                self.outside[name] = len(self.loops)
                if space == "shared":
                    self.shared.add(name)
            case Store(array, index, value, lanes):
                self.value(index)
                self.value(value)
                self.inside(array, index, lanes)
                self.apart(array, index, lanes)
            case AsyncCopy():
                self.copied(s)
            case Beside(_, aside, body):
                self.body(aside)
                self.body(body)
            case Fill(_, turn, boxes):
                self.value(turn)
                for b in boxes:
                    for x in (b.at, *b.corner):
                        self.value(x)
                    self.inside(b.array, b.at, b.size)
                    self.fits(b)
                    self.shifts(b)
            case Send(box=box):
                for x in (box.at, *box.corner):
                    self.value(x)
                self.inside(box.array, box.at, self.function.threads // WARP * box.size)
                self.fits(box)
            case Full(turn=turn) | Free(turn=turn):
                self.value(turn)
            case Fetch(_, index):
                self.value(index)
            case Gemm() | Mma():
                for x, rows, columns in s.matrices:
                    self.value(x.at)
                    self.inside(x.array, x.at, x.span(rows, columns))
            case Sort():
                for x, n in s.rows:
                    self.value(x.at)
                    self.inside(x.array, x.at, max((n - 1) * x.step + 1, 0))
            case _:
                self.value(getattr(s, "value", None))

    def copied(self, s: AsyncCopy) -> None:
        for x in (s.index, s.at, s.where):
            self.value(x)
        self.inside(s.array, s.index, s.lanes)
        self.apart(s.array, s.index, s.lanes)
        self.guards += s.where is not None
        self.inside(s.source, s.at, s.lanes)
        self.guards -= s.where is not None

    def fits(self, b: Box) -> None:
        """All of the tensor lies in its buffer; rows of the box begin where the engine
        for copies takes them."""
        t = b.tensor
        step = self.nbytes.get(t.source, 0) * divisor(b.corner[0], self.divisors)
        if step % BYTES:
            self.fault(f"a box of {t.source!r} from {step} bytes on, not {BYTES}")
        pairs = zip(t.extents, t.strides, strict=True)
        last = sum((n - 1) * step for n, step in pairs)
        if min(t.extents) < 1 or last >= self.sizes.get(t.source, 0):
            self.fault(f"a tensor of {t.extents} by {t.strides} in {t.source!r}")

    def shifts(self, b: Box) -> None:
        """Rows of windows are moved on, by what the engine has room for."""
        rank = len(b.tensor.extents)
        most = (1 << BITS.get(rank, 0)) - 1
        for x in b.corner[rank:]:
            reach = interval(x, self.known)
            if not reach.within(0, most):
                moved = f"{reach.low} .. {reach.high}"
                self.fault(f"windows of {b.tensor.source!r} are moved by {moved}")

    def forget(self, name: str) -> None:
        self.known.pop(name, None)
        self.forms.pop(name, None)
        self.divisors.pop(name, None)

    def loop(self, s: For) -> None:
        if s.extent <= 0 or s.step < 1:
            return
        self.known[s.var.name] = of_loop(s)
        self.forms[s.var.name] = Linear(((s.var.name, 1),), 0)
        self.divisors[s.var.name] = s.step
        self.loops.append(s)
        self.body(s.body)
        self.loops.pop()
        self.forget(s.var.name)

    def value(self, x: Ex | None) -> None:
        match x:
            case Load(array, index, _, lanes):
                self.value(index)
                self.inside(array, index, lanes)
            case Op(op, args):
                for a in args:
                    self.value(a)
                if op in ("idiv", "imod"):
                    self.divided(args[0], args[1])
            case _:
                pass

    def divided(self, a: Ex, by: Ex) -> None:
        if interval(by, self.known).high < 1:
            self.fault("a division by a number that is not positive")
        if self.least(a) < 0:
            self.fault("a division of a negative number")

    def least(self, x: Ex) -> int:
        """A value that `x` takes, where one is known to be negative; else 0."""
        form = linear(x, self.forms)
        if form is not None and not self.guards:
            return min(extremes(form, self.known).low, 0)
        return min(interval(x, self.known).high, 0)

    def inside(self, array: str, index: Ex, lanes: int) -> None:
        size = self.sizes.get(array)
        if size is None:
            return
        form = linear(index, self.forms)
        reach = interval(index, self.known)
        exact = form is not None and not self.guards
        if form is not None:
            reach = extremes(form, self.known)
        last = size - lanes
        bad = reach.low < 0 or reach.high > last
        if not exact:
            bad = reach.low > last or reach.high < 0
        if bad:
            at = f"{reach.low} .. {reach.high + lanes - 1}"
            self.fault(f"{array!r} of {size} elements, accessed at {at}")

    # ---- two turns, one element

    def apart(self, array: str, index: Ex, lanes: int) -> None:
        """No two turns of an independent loop store to the same element."""
        form = linear(index, self.forms)
        if form is None or self.guards:
            return
        around = self.loops[self.outside.get(array, 0) :]
        steps = {loop.var.name: _turns(loop) for loop in around}
        times = dict(form.terms)
        for loop in around:
            if not self.independent(loop, array):
                continue
            name = loop.var.name
            others = [n for n in steps if n != name]
            if _meets(times, steps, name, others, lanes):
                what = f"turns of the {loop.kind} loop over {name!r}"
                self.fault(f"two {what} store to the same element of {array!r}")

    def independent(self, loop: For, array: str) -> bool:
        """Threads have local arrays of their own."""
        if loop.kind == "thread":
            return array in self.shared or array in self._buffers
        return loop.kind in ("grid", "block", "simd")

    @property
    def _buffers(self) -> set[str]:
        f = self.function
        return {p.name for p in (*f.params, *f.scratch)}


def _turns(loop: For) -> tuple[int, int]:
    """The step, and the number of steps between the first turn and the last."""
    return loop.step, max(loop.extent - 1, 0) // loop.step


def _meets(
    times: dict[str, int], turns: dict[str, tuple[int, int]], name: str,
    others: list[str], lanes: int,
) -> bool:  # fmt: skip
    """Whether the index is the same in two turns of `name`, with one other name moved
    at most; lanes of a store count as one more."""
    step, most = turns[name]
    each = abs(times.get(name, 0) * step)
    if most < 1:
        return False
    if each < lanes:
        return True
    for other in others:
        far, count = turns[other]
        move = abs(times.get(other, 0) * far)
        if move and count:
            both = math.lcm(each, move)
            if both // each <= most and both // move <= count:
                return True
    return False
