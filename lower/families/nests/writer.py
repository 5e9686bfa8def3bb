"""From expressions to statements: each value once, as far out as it can be computed.

A value is written into the outermost scope in which all that it depends on is known, so
that what does not vary along a loop is computed before it, and is named there, so that
it is computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....egraph.ir.scalars import BY_NAME, UNROUNDED
from ....extract.schedule.affine import atoms
from ....extract.schedule.kernel import Affine, Cond, Div, Expr, Kernel, Mod, Val, bits
from ...loops import Ex, Function, Lit, Load, Op, Param, Store
from .index_types import bounds
from .plan import each, reach
from .scopes import HIDDEN, Scopes
from .values import add, bitcast, convert, divide, expand, mul, rounded

type Terms = tuple[tuple[Any, int], ...]
type Test = tuple[Affine, int | None, int | None]  # low <= value < high


class Writer(Scopes):
    """Builds the body of one function for one kernel."""

    # ---- values ----

    def define(self, e: int, value: Ex) -> None:
        """From here on, in this scope, expression `e` is `value`."""
        self.scopes[-1].values[e] = value

    def hide(self, e: int) -> None:
        """From here on, in this scope, what outer ones know of `e` is stale."""
        self.scopes[-1].values[e] = HIDDEN

    def keep(self, e: int, array: str, where: Affine) -> None:
        """From here on, in this scope, `e` lies in `array` at `where`."""
        self.scopes[-1].kept[e] = (array, where)

    def value(self, e: int) -> Ex:
        """Expression `e` at the positions that the scopes have."""
        have = 0
        for s in self.scopes:
            for k, v in s.values.items():
                if isinstance(k, int):
                    have = have | 1 << k if v != HIDDEN else have & ~(1 << k)
            have = have & ~bits(tuple(s.hidden)) | bits(tuple(s.kept))
        for i in each(reach(self.facts, 1 << e, have)):
            self._value(i)
        return self._value(e)[0]

    def at_hand(self, e: int) -> bool:
        """Whether a scope holds expression `e`, as a value or in an array."""
        for s in reversed(self.scopes):
            result = s.values.get(e)
            if e in s.kept or result not in (None, HIDDEN):
                return True
            if e in s.hidden or result == HIDDEN:
                return False
        return False

    def _value(self, e: int) -> tuple[Ex, int]:
        for depth in range(len(self.scopes) - 1, -1, -1):
            result = self.scopes[depth].values.get(e)
            if result == HIDDEN:
                break
            if result is not None:
                return result, depth
        made, depth = self._make(e)
        return self._remember(e, made, depth), depth

    def _make(self, e: int) -> tuple[Ex, int]:
        for s in reversed(self.scopes):
            if e in s.kept:
                array, where = s.kept[e]
                at, depth = self.affine(where)
                made = Load(array, at, compute(self.kernel.exprs[e].dtype))
                return made, max(depth, self.scopes.index(s))
            if e in s.hidden:
                break
        x = self.kernel.exprs[e]
        made, depth = self._expr(x)
        if (self.strict and x.op not in UNROUNDED) or x.op == "cast":
            made = rounded(made, x.dtype)
        return made, depth

    def _expr(self, x: Expr) -> tuple[Ex, int]:
        to = compute(x.dtype)
        if x.op == "load":
            return self._load(x.attr[0], x.attr[1], x.attr[2], to)
        if x.op == "const":
            return Lit(x.attr[0], to), 0
        if x.op == "index":
            v, depth = self.affine(x.attr[0], "position")
            return convert(v, to), depth
        if x.op == "inside":
            v, _, depth = self.conds(x.attr[0])
            return (Lit(True, BOOL) if v is None else v), depth
        if x.op in ("reduce", "scan"):
            raise AssertionError("a fold is evaluated where no step finished it")
        pairs = [self._value(a) for a in x.args]
        args = tuple(v for v, _ in pairs)
        return self._apply(x, args, to), max(d for _, d in pairs)

    def _apply(self, x: Expr, args: tuple[Ex, ...], to: DType) -> Ex:
        if x.op == "cast":
            return convert(args[0], to)
        if x.op == "select":
            if isinstance(args[0], Lit):
                return args[1] if args[0].value else args[2]
            return Op("select", args, to)
        if x.op == "bitcast":
            source = self.kernel.exprs[x.args[0]].dtype
            return bitcast(args[0], source, x.dtype)
        tree = BY_NAME[x.op].expansion
        return expand(tree, args[0]) if tree is not None else Op(x.op, args, to)

    def _load(
        self, slot: int, offset: Affine, guard: tuple[Cond, ...], to: DType
    ) -> tuple[Ex, int]:
        buffer = self.buffers[slot]
        zero = Lit(False if to is BOOL else 0, to)
        if buffer.size == 0:
            return zero, 0
        at, depth = self.affine(offset)
        ok, tested, decided = self.conds(guard)
        depth = max(depth, decided)
        if ok is None:
            return Load(buffer.name, at, to), depth
        if isinstance(ok, Lit):
            return zero, depth
        at = self._in_range(offset, buffer.size, ok, tested) or Op(
            "select", (ok, at, self.number(0)), self.index
        )
        loaded = self._let(Load(buffer.name, at, to), depth, "g")
        return Op("select", (ok, loaded, zero), to), depth

    def _in_range(self, offset: Affine, size: int, ok: Ex, depth: int) -> Ex | None:
        """An index that is `offset` if `ok`, which is known at `depth`, and else as
        much of it as varies inside: loads stay side by side.  None where that might be
        outside the buffer."""
        inner = tuple(t for t in offset.terms if self._atom(t[0])[1] > depth)
        low, high = bounds(Affine(inner), self.kernel, self.spans)
        if not inner or low < 0 or high >= size:
            return None
        outer = tuple(t for t in offset.terms if t not in inner)
        start = self.affine(Affine(outer, offset.const))[0]
        start = self._let(Op("select", (ok, start, self.number(0)), self.index), depth)
        return add(start, self.affine(Affine(inner))[0])

    def result(self, r: int, total: Ex) -> Ex:
        """The value of reduction `r` from its accumulator."""
        dtype = self.kernel.exprs[r].dtype
        value = convert(total, compute(dtype))
        return self.let(rounded(value, dtype) if self.strict else value, "r")

    def store(self, slot: int, offset: Affine, e: int) -> None:
        """Stores `e`; the emitter rounds to the buffer's type."""
        value = self.value(e)
        self.emit(Store(self.buffers[slot].name, self.affine(offset)[0], value))

    # ---- indices ----

    def affine(self, v: Affine, use: str = "affine") -> tuple[Ex, int]:
        """An index form as a number: inner terms last, outer sums named outside.  As
        data (`use` is position) it has a name of its own: what only loads and stores
        are indexed by is seen not to overflow, and they to lie side by side."""
        result = self._find((use, v))
        if result:
            return result
        runs, terms = self._runs(v)
        pairs = [*runs, *((*self._atom(a), c) for a, c in terms)]
        pairs.sort(key=lambda p: p[1])
        total: Ex = self.number(0)
        depth = 0
        for value, at, c in pairs:
            if at > depth:
                total = self._let(total, depth, "o")
            depth = at
            total = add(total, mul(value, c))
        total = add(total, self.number(v.const))
        return self._remember((use, v), total, depth), depth

    def _runs(self, v: Affine) -> tuple[list[tuple[Ex, int, int]], Terms]:
        """Axes that were opened at one number, where `v` grows evenly with it: that
        number, the scope it is of and by how much; and the other terms."""
        steps = {a: c for a, c in v.terms if isinstance(a, int)}
        result: list[tuple[Ex, int, int]] = []
        for depth, scope in enumerate(self.scopes):
            for axes, flat in scope.runs.items():
                if self._even(axes, steps, depth):
                    result.append((flat, depth, steps[axes[-1]]))
                    steps = {a: c for a, c in steps.items() if a not in axes}
        rest = (t for t in v.terms if not isinstance(t[0], int) or t[0] in steps)
        return result, tuple(rest)

    def _even(
        self, axes: tuple[int, ...], steps: Mapping[int, int], depth: int
    ) -> bool:
        """Whether the steps along `axes`, opened at `depth`, are those of a number."""
        size = steps.get(axes[-1], 0)
        for a in reversed(axes):
            if not size or steps.get(a) != size or self._atom(a)[1] != depth:
                return False
            size *= self.kernel.extents[a]
        return True

    def _atom(self, a: Any) -> tuple[Ex, int]:
        if isinstance(a, int):
            for depth in range(len(self.scopes) - 1, -1, -1):
                if a in self.scopes[depth].axes:
                    return self.scopes[depth].axes[a], depth
            raise AssertionError(f"axis {a} is used outside its loop")
        result = self._find(a)
        if result:
            return result
        if isinstance(a, Val):
            value, depth = self._value(a.expr)
            made = convert(value, self.index)
        else:
            assert isinstance(a, (Div, Mod))
            value, depth = self.affine(a.value)
            low = bounds(a.value, self.kernel, self.spans)[0]
            if low < 0:  # where a guard fails; then unused
                value = Op("max", (value, self.number(0)), self.index)
            made = divide(value, a.by, isinstance(a, Mod))
        return self._remember(a, made, depth), depth

    def conds(self, conds: tuple[Cond, ...]) -> tuple[Ex | None, int, int]:
        """All of `conds`, None if they always hold; the scope in which the test is
        known, and the one from which on that is so."""
        spans = self.spans
        left: list[Test] = []
        false = False
        for c in conds:
            low, high = bounds(c.value, self.kernel, spans)
            false |= high < c.low or low >= c.high
            if low < c.low or high >= c.high:
                left.append((c.value, c.low if low < c.low else None,
                             c.high if high >= c.high else None))  # fmt: skip
        decided = self._spanned(conds) if spans else 0
        if false:
            return Lit(False, BOOL), 0, decided
        if not left:
            return None, 0, decided
        ok, depth = self._tests(tuple(left))
        return ok, depth, max(depth, decided)

    def _spanned(self, conds: tuple[Cond, ...]) -> int:
        """The innermost scope in which a part of an axis decides about `conds`."""
        read = {a for c in conds for a in atoms(c.value)}
        depths = range(len(self.scopes) - 1, -1, -1)
        return next((d for d in depths if not read.isdisjoint(self.scopes[d].spans)), 0)

    def _tests(self, tests: tuple[Test, ...]) -> tuple[Ex, int]:
        result = self._find(("conds", tests))
        if result:
            return result
        made: list[Ex] = []
        depth = 0
        for form, low, high in tests:
            value, at = self.affine(form)
            depth = max(depth, at)
            if low is not None:
                made.append(Op("le", (self.number(low), value), BOOL))
            if high is not None:
                made.append(Op("lt", (value, self.number(high)), BOOL))
        total = functools.reduce(lambda a, b: Op("and", (a, b), BOOL), made)
        return self._remember(("conds", tests), total, depth), depth


def parameters(kernel: Kernel) -> tuple[Param, ...]:
    return tuple(
        Param(f"b{i}", dtype, size, i >= kernel.reads)
        for i, (dtype, size) in enumerate(kernel.slots)
    )


def function(
    name: str, writer: Writer, scratch: tuple[Param, ...] = (), threads: int = 1
) -> Function:
    """The function around a finished body."""
    params = tuple(b for b in writer.buffers if b not in scratch)
    body = tuple(writer.scopes[0].body)
    return Function(name, params, body, scratch, threads)
