"""From expressions to statements: each value once, as far out as it can be computed.

A `Writer` holds the open scopes (loop bodies, branches).  A value is written into the
outermost scope in which all that it depends on is known, so that what does not vary
along a loop is computed before it, and is named there, so that it is computed once.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from ...egraph.dtypes import BOOL, DType, compute
from ...egraph.scalars import BY_NAME
from ...extract.affine import atoms
from ...extract.kernel import Affine, Cond, Div, Expr, Kernel, Mod, Val, bits
from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    Function,
    If,
    Let,
    Lit,
    Load,
    LoopKind,
    Op,
    Param,
    Space,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from .plan import each, facts, reach
from .ranges import bounds, index_type
from .values import add, bitcast, combine, convert, divide, expand, mul, rounded

EXACT = frozenset(("load", "const", "select", "neg", "abs", "max", "min", "relu"))
type Terms = tuple[tuple[Any, int], ...]

HIDDEN = Var("", BOOL)  # marks a name that means another value outside


@dataclass(slots=True)
class Scope:
    """A body under construction and what is known in it."""

    body: list[Stmt] = field(default_factory=list[Stmt])
    values: dict[Hashable, Ex] = field(default_factory=dict[Hashable, Ex])
    axes: dict[int, Ex] = field(default_factory=dict[int, Ex])
    runs: dict[tuple[int, ...], Ex] = field(default_factory=dict[tuple[int, ...], Ex])
    kept: dict[int, tuple[str, Affine]] = field(
        default_factory=dict[int, tuple[str, Affine]]
    )  # expressions that lie in an array, and where
    hidden: set[int] = field(default_factory=set[int])  # whose outer array is stale


class Writer:
    """Builds the body of one function for one kernel."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...]
    ) -> None:
        self.kernel, self.strict, self.buffers = kernel, strict, buffers
        self.facts = facts(kernel)
        self.index: DType = index_type(kernel, buffers)
        self.scopes = [Scope()]
        self.count = 0
        self.grid: LoopKind = "grid"  # or serial, where work is too little to share

    # ---- scopes ----

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, stmt: Stmt) -> None:
        self.scopes[-1].body.append(stmt)

    def number(self, value: int) -> Lit:
        return Lit(value, self.index)

    @contextmanager
    def scope(self) -> Generator[list[Stmt]]:
        """A new innermost scope; its statements are in the list that is yielded."""
        inside = Scope()
        self.scopes.append(inside)
        yield inside.body
        self.scopes.pop()

    @contextmanager
    def loop(self, kind: LoopKind, extent: int, step: int = 1) -> Generator[Ex]:
        """A loop around what is written within; yields its position."""
        var = Var(self.fresh("i"), self.index)
        ordered = kind in ("serial", "simd", "unroll")
        one = extent <= step and ordered and len(self.scopes) > 1
        with self.scope() as body:
            yield self.number(0) if one else var
        if one and extent:
            self.scopes[-1].body += body
        elif extent:
            self.emit(For(var, extent, kind, tuple(body), step))

    @contextmanager
    def when(self, cond: Ex) -> Generator[None]:
        with self.scope() as body:
            yield
        if body:
            self.emit(If(cond, tuple(body)))

    def at(self, axis: int, position: Ex) -> None:
        """From here on, in this scope, `axis` stands at `position`.

        Where a loop around this one runs over the same axis, what varies along it is
        another value in here: the outer one is hidden.
        """
        if any(axis in s.axes for s in self.scopes[:-1]):
            for s in self.scopes[:-1]:
                hidden = (k for k in s.values if self._varies_along(k, axis))
                self.scopes[-1].values.update(dict.fromkeys(hidden, HIDDEN))
                self.scopes[-1].hidden.update(
                    e
                    for e, (_, where) in s.kept.items()
                    if self._varies_along(e, axis) and axis not in set(atoms(where))
                )
        self.scopes[-1].axes[axis] = position

    def _varies_along(self, key: Hashable, axis: int) -> bool:
        """Whether a named value (an expression, an index) depends on a loop."""
        if isinstance(key, int):
            return bool(self.kernel.free[key] >> axis & 1)
        if isinstance(key, Val):
            return self._varies_along(key.expr, axis)
        if isinstance(key, (Div, Mod)):
            return self._index_varies(key.value, axis)
        kind, what = cast(tuple[str, Any], key)
        if kind == "affine":
            return self._index_varies(what, axis)
        conds = cast(tuple[Cond, ...], what)
        return any(self._index_varies(c.value, axis) for c in conds)

    def _index_varies(self, v: Affine, axis: int) -> bool:
        for a in atoms(v):
            if a == axis or (isinstance(a, Val) and self._varies_along(a.expr, axis)):
                return True
        return False

    def unravel(self, axes: tuple[int, ...], flat: Ex) -> None:
        """Opens all `axes` at the place that the number `flat` has among them."""
        if len(axes) > 1:
            self.scopes[-1].runs[axes] = flat
        for n, a in enumerate(reversed(axes)):
            size = self.kernel.extents[a]
            last = n == len(axes) - 1
            self.at(a, self.let(flat if last else divide(flat, size, True), "p"))
            flat = divide(flat, size, False)

    def array(self, stem: str, dtype: DType, size: int, space: Space = "local") -> str:
        name = self.fresh(stem)
        self.emit(Array(name, compute(dtype), size, space))
        return name

    def let(self, value: Ex, stem: str = "v") -> Ex:
        """`value` under a name, in the innermost scope."""
        return self._let(value, len(self.scopes) - 1, stem)

    def _let(self, value: Ex, depth: int, stem: str = "v") -> Ex:
        if isinstance(value, (Lit, Var)):
            return value
        depth = max(depth, self._floor)
        var = Var(self.fresh(stem), value.dtype, value.lanes)
        self.scopes[depth].body.append(Let(var, value))
        return var

    def take(self, var: Var, monoid: str, value: Ex) -> None:
        """Takes `value` into the accumulator `var`."""
        self.emit(Assign(var, combine(monoid, var, value)))

    def variable(self, value: Ex, stem: str = "a") -> Var:
        """A mutable variable in the innermost scope."""
        var = Var(self.fresh(stem), value.dtype)
        self.emit(Let(var, value, True))
        return var

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
            found = s.values.get(e)
            if e in s.kept or found not in (None, HIDDEN):
                return True
            if e in s.hidden or found == HIDDEN:
                return False
        return False

    def _value(self, e: int) -> tuple[Ex, int]:
        for depth in range(len(self.scopes) - 1, -1, -1):
            found = self.scopes[depth].values.get(e)
            if found == HIDDEN:
                break
            if found is not None:
                return found, depth
        made, depth = self._make(e)
        return self._remember(e, made, depth), depth

    @property
    def _floor(self) -> int:
        """Nothing is computed outside the top-level loops, which may be launches."""
        return min(1, len(self.scopes) - 1)

    def _remember(self, key: Hashable, made: Ex, depth: int) -> Ex:
        made = self._let(made, depth)
        depth = max(depth, self._floor)
        self.scopes[depth].values[key] = made
        return made

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
        if (self.strict and x.op not in EXACT) or x.op == "cast":
            made = rounded(made, x.dtype)
        return made, depth

    def _expr(self, x: Expr) -> tuple[Ex, int]:
        to = compute(x.dtype)
        if x.op == "load":
            return self._load(x.attr[0], x.attr[1], x.attr[2], to)
        if x.op == "const":
            return Lit(x.attr[0], to), 0
        if x.op == "index":
            v, depth = self.affine(x.attr[0])
            return convert(v, to), depth
        if x.op == "inside":
            v, depth = self.conds(x.attr[0])
            return (Lit(True, BOOL) if v is None else v), depth
        if x.op == "reduce":
            raise AssertionError("a reduction is evaluated where no step finished it")
        pairs = [self._value(a) for a in x.args]
        args = tuple(v for v, _ in pairs)
        return self._apply(x, args, to), max(d for _, d in pairs)

    def _apply(self, x: Expr, args: tuple[Ex, ...], to: DType) -> Ex:
        if x.op == "cast":
            return convert(args[0], to)
        if x.op == "select":
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
        ok, depth_ok = self.conds(guard)
        if ok is None:
            return Load(buffer.name, at, to), depth
        at = self._in_range(offset, buffer.size, ok, depth_ok) or Op(
            "select", (ok, at, self.number(0)), self.index
        )
        depth = max(depth, depth_ok)
        loaded = self._let(Load(buffer.name, at, to), depth, "g")
        return Op("select", (ok, loaded, zero), to), depth

    def _in_range(self, offset: Affine, size: int, ok: Ex, depth: int) -> Ex | None:
        """An index that is `offset` if `ok`, which is known at `depth`, and else as
        much of it as varies inside: loads stay side by side.  None where that might be
        outside the buffer."""
        inner = tuple(t for t in offset.terms if self._atom(t[0])[1] > depth)
        low, high = bounds(Affine(inner), self.kernel)
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

    def affine(self, v: Affine) -> tuple[Ex, int]:
        """An index form as a number: inner terms last, outer sums named outside."""
        found = self._find(("affine", v))
        if found:
            return found
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
        return self._remember(("affine", v), total, depth), depth

    def _runs(self, v: Affine) -> tuple[list[tuple[Ex, int, int]], Terms]:
        """Axes that were opened at one number, where `v` grows evenly with it: that
        number, the scope it is of and by how much; and the other terms."""
        steps = {a: c for a, c in v.terms if isinstance(a, int)}
        found: list[tuple[Ex, int, int]] = []
        for depth, scope in enumerate(self.scopes):
            for axes, flat in scope.runs.items():
                if self._even(axes, steps, depth):
                    found.append((flat, depth, steps[axes[-1]]))
                    steps = {a: c for a, c in steps.items() if a not in axes}
        rest = (t for t in v.terms if not isinstance(t[0], int) or t[0] in steps)
        return found, tuple(rest)

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

    def _find(self, key: Hashable) -> tuple[Ex, int] | None:
        for depth in range(len(self.scopes) - 1, -1, -1):
            found = self.scopes[depth].values.get(key)
            if found is not None:
                return None if found == HIDDEN else (found, depth)
        return None

    def _atom(self, a: Any) -> tuple[Ex, int]:
        if isinstance(a, int):
            for depth in range(len(self.scopes) - 1, -1, -1):
                if a in self.scopes[depth].axes:
                    return self.scopes[depth].axes[a], depth
            raise AssertionError(f"axis {a} is used outside its loop")
        found = self._find(a)
        if found:
            return found
        if isinstance(a, Val):
            value, depth = self._value(a.expr)
            made = convert(value, self.index)
        else:
            assert isinstance(a, (Div, Mod))
            value, depth = self.affine(a.value)
            if bounds(a.value, self.kernel)[0] < 0:  # where a guard fails; then unused
                value = Op("max", (value, self.number(0)), self.index)
            made = divide(value, a.by, isinstance(a, Mod))
        return self._remember(a, made, depth), depth

    def conds(self, conds: tuple[Cond, ...]) -> tuple[Ex | None, int]:
        """All of `conds`; None if they always hold."""
        found = self._find(("conds", conds))
        if found:
            return found
        total: Ex | None = None
        depth = 0
        for c in conds:
            low, high = bounds(c.value, self.kernel)
            value, at = self.affine(c.value)
            depth = max(depth, at)
            tests: list[Ex] = []
            if low < c.low:
                tests.append(Op("le", (self.number(c.low), value), BOOL))
            if high >= c.high:
                tests.append(Op("lt", (value, self.number(c.high)), BOOL))
            for t in tests:
                total = t if total is None else Op("and", (total, t), BOOL)
        if total is None:
            return None, 0
        return self._remember(("conds", conds), total, depth), depth


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
