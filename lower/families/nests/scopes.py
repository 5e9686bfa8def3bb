"""The open scopes of a function that is being written: loop bodies, branches.

A scope knows where axes stand in it, which values have a name in it and which lie in an
array; what varies along an axis that is bound again inside is hidden there.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....extract.schedule.affine import atoms
from ....extract.schedule.kernel import Affine, Div, Kernel, Mod, Val
from ...loops import (
    Array,
    Ex,
    For,
    If,
    Let,
    Lit,
    LoopKind,
    Param,
    Space,
    Stmt,
    Var,
)  # fmt: skip
from .index_types import Span, index_type
from .plan import facts
from .values import divide

HIDDEN = Var("", BOOL)  # marks a name that means another value outside


@dataclass(slots=True)
class Scope:
    """A body under construction and what is known in it."""

    body: list[Stmt] = field(default_factory=list[Stmt])
    values: dict[Hashable, Ex] = field(default_factory=dict[Hashable, Ex])
    axes: dict[int, Ex] = field(default_factory=dict[int, Ex])
    spans: dict[int, Span] = field(default_factory=dict[int, Span])  # of these axes
    runs: dict[tuple[int, ...], Ex] = field(default_factory=dict[tuple[int, ...], Ex])
    kept: dict[int, tuple[str, Affine]] = field(
        default_factory=dict[int, tuple[str, Affine]]
    )  # expressions that lie in an array, and where
    hidden: set[int] = field(default_factory=set[int])  # whose outer array is stale


class Scopes:
    """The open scopes of one function for one kernel."""

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

    @property
    def spans(self) -> dict[int, Span]:
        """Between which places axes stand that do not run over all of their extent."""
        result: dict[int, Span] = {}
        for s in self.scopes:
            if s.axes:
                result = {a: x for a, x in result.items() if a not in s.axes} | s.spans
        return result

    def at(self, axis: int, position: Ex, span: Span | None = None) -> None:
        """From here on, in this scope, `axis` stands at `position`, within `span`.

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
        if span is not None:
            self.scopes[-1].spans[axis] = span

    def _varies_along(self, key: Hashable, axis: int) -> bool:
        """Whether a named value (an expression, an index) depends on a loop."""
        if isinstance(key, int):
            return bool(self.kernel.free[key] >> axis & 1)
        if isinstance(key, Val):
            return self._varies_along(key.expr, axis)
        if isinstance(key, (Div, Mod)):
            return self._index_varies(key.value, axis)
        kind, what = cast(tuple[str, Any], key)
        if kind in ("affine", "position"):
            return self._index_varies(what, axis)
        tests = cast(tuple[tuple[Affine, int | None, int | None], ...], what)
        return any(self._index_varies(form, axis) for form, _, _ in tests)

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

    def let(self, value: Ex, stem: str = "v", held: bool = False) -> Ex:
        """`value` under a name, in the innermost scope."""
        return self._let(value, len(self.scopes) - 1, stem, held)

    def _let(self, value: Ex, depth: int, stem: str = "v", held: bool = False) -> Ex:
        if isinstance(value, (Lit, Var)):
            return value
        depth = max(depth, self._floor)
        var = Var(self.fresh(stem), value.dtype, value.lanes)
        self.scopes[depth].body.append(Let(var, value, held=held))
        return var

    def variable(self, value: Ex, stem: str = "a") -> Var:
        """A mutable variable in the innermost scope."""
        var = Var(self.fresh(stem), value.dtype)
        self.emit(Let(var, value, True))
        return var

    def _find(self, key: Hashable) -> tuple[Ex, int] | None:
        for depth in range(len(self.scopes) - 1, -1, -1):
            result = self.scopes[depth].values.get(key)
            if result is not None:
                return None if result == HIDDEN else (result, depth)
        return None

    def _remember(self, key: Hashable, made: Ex, depth: int) -> Ex:
        made = self._let(made, depth)
        depth = max(depth, self._floor)
        self.scopes[depth].values[key] = made
        return made

    @property
    def _floor(self) -> int:
        """Nothing is computed outside the top-level loops, which may be launches."""
        return min(1, len(self.scopes) - 1)
