"""Sorting networks in loops: stages of independent comparisons (Batcher, 1968).

Lines are padded to a power of two by places behind their end, which come last; equal
elements are told apart by their places, so that the order is stable.
"""

from __future__ import annotations

from collections.abc import Callable

from ....egraph.ir.dtypes import BOOL, I32, compute
from ....extract.schedule.kernel import Kernel, Order
from ...axes import numel
from ...loops import Ex, Lit, Load, Op, Param, Store
from .values import add, convert, divide, mul
from .writer import Writer


def padded(n: int) -> int:
    return 1 << max(n - 1, 1).bit_length()


def stages_of(n: int) -> int:
    steps = padded(n).bit_length() - 1
    return steps * (steps + 1) // 2


class Network(Writer):
    """Elements and places in scratch buffers, a grid of pairs for each stage."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...]
    ) -> None:
        super().__init__(kernel, strict, buffers)
        (self.out,) = kernel.outputs
        assert self.out.order is not None
        self.order: Order = self.out.order
        self.n = numel(kernel.extents, self.order.axes)
        self.size = padded(self.n)
        self.rest = tuple(a for a in self.out.axes if a not in self.order.axes)
        self.lines = numel(kernel.extents, self.rest)
        self.dtype = kernel.exprs[self.out.expr].dtype
        count = self.lines * self.size
        self.scratch = (Param("keys", self.dtype, count, True),
                        Param("where", I32, count, True))  # fmt: skip

    def run(self) -> None:
        self._each(self.size, self._begin)
        half, width = self.size // 2, 2
        while width <= self.size:
            apart = width // 2
            self._each(half, lambda line, p, w=width: self._mirrored(line, p, w))
            while apart > 1:
                apart //= 2
                self._each(half, lambda line, p, d=apart: self._beside(line, p, d))
            width *= 2
        self._each(self.order.kept, self._store)

    def _each(self, count: int, do: Callable[[Ex, Ex], None]) -> None:
        """For so many places of each line."""
        with self.loop("grid", self.lines * count) as g:
            line = self.let(divide(g, count, False), "l")
            do(line, self.let(divide(g, count, True), "p"))

    def _begin(self, line: Ex, p: Ex) -> None:
        at = self.let(add(mul(line, self.size), p), "a")
        self.emit(Store("where", at, convert(p, I32)))
        with self.when(Op("lt", (p, self.number(self.n)), BOOL)):
            self.unravel(self.rest, line)
            self.unravel(self.order.axes, p)
            self.emit(Store("keys", at, self.value(self.out.expr)))

    def _mirrored(self, line: Ex, p: Ex, width: int) -> None:
        """The first of a block with its last, and so on: two sorted halves become two
        of which no element of one comes after one of the other."""
        half = width // 2
        block = mul(divide(p, half, False), width)
        inside = divide(p, half, True)
        far = Op("sub", (self.number(width - 1), inside), self.index)
        self._meet(line, add(block, inside), add(block, far))

    def _beside(self, line: Ex, p: Ex, apart: int) -> None:
        block = mul(divide(p, apart, False), 2 * apart)
        low = self.let(add(block, divide(p, apart, True)), "b")
        self._meet(line, low, add(low, self.number(apart)))

    def _meet(self, line: Ex, low: Ex, high: Ex) -> None:
        base = self.let(mul(line, self.size), "o")
        at = [self.let(add(base, x), "a") for x in (low, high)]
        kind = compute(self.dtype)
        keys = [self.let(Load("keys", x, kind), "k") for x in at]
        where = [self.let(Load("where", x, I32), "w") for x in at]
        with self.when(self._before(keys[1], where[1], keys[0], where[0])):
            for x, k, w in zip(at, reversed(keys), reversed(where), strict=True):
                self.emit(Store("keys", x, k))
                self.emit(Store("where", x, w))

    def _before(self, a: Ex, i: Ex, b: Ex, j: Ex) -> Ex:
        """Places behind the end are after all others."""
        n = Lit(self.n, I32)
        less, more = self._less(a, b), self._less(b, a)
        if self.order.descending:
            less, more = more, less
        first = _both(_not(more), Op("lt", (i, j), BOOL))
        padding = _not(Op("lt", (j, n), BOOL))
        return _both(Op("lt", (i, n), BOOL), _either(padding, _either(less, first)))

    def _less(self, a: Ex, b: Ex) -> Ex:
        if a.dtype is BOOL:
            return _both(_not(a), b)
        less = Op("lt", (a, b), BOOL)
        if not a.dtype.is_float:
            return less
        odd = _both(Op("ne", (b, b), BOOL), Op("eq", (a, a), BOOL))
        return _either(less, odd)

    def _store(self, line: Ex, p: Ex) -> None:
        at = self.let(add(mul(line, self.size), p), "a")
        self.unravel(self.rest, line)
        self.unravel(self.order.axes, p)
        to = self.kernel.slots[self.out.slot][0]
        value: Ex = Load("keys", at, compute(self.dtype))
        if self.order.places:
            value = convert(Load("where", at, I32), to)
        self.emit(Store(self.buffers[self.out.slot].name,
                        self.affine(self.out.offset)[0], value))  # fmt: skip


def _both(a: Ex, b: Ex) -> Ex:
    return Op("and", (a, b), BOOL)


def _either(a: Ex, b: Ex) -> Ex:
    return Op("or", (a, b), BOOL)


def _not(a: Ex) -> Ex:
    return Op("not", (a,), BOOL)
