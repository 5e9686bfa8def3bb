"""Dependent reductions along long rows in one pass: a softmax, a log-sum-exp.

Each thread keeps states of its own and takes the elements of one wide access at a time:
what these come to among themselves, then the states, put right once for all of them by
the cascade law (`extract/schedule/cascade.py`).  After the pass threads' states are put
right to those of the row, and become one.

A running maximum that has met nothing is infinite.  What reads it gets 0 instead, and
after the pass sums are put right once more, from that to the true value.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ...egraph.ir.dtypes import BOOL, F32, DType, compute
from ...extract.schedule.cascade import Changed, State, cascade
from ...extract.schedule.kernel import Affine, Div, Expr, Kernel, Mod, bits
from ..axes import rebuild
from ..choice import Domains, Holes, hole
from ..families.folds.corrections import INVERSE, correction
from ..families.nests.index_types import index_type
from ..families.nests.values import combine, convert, identity
from ..families.nests.writer import parameters
from ..families.rows import ordered, row_axes
from ..loops import Ex, Lit, Op, Param
from ..model import DeviceModel
from ..targets.simt import Simt, scheduled
from .build import Writer, refusal
from .family import TEAMS, Tiled, fitting
from .ir import Grid, Map, Reduce, Tile, TileProgram, Update, var
from .tilings import HELD, lanes
from .values import Tiling

LOG2E = 1.4426950408889634
VECTORS = 2  # wide accesses of a thread in a turn (H100: 768 us of 8192 rows of 128256
# bf16, with one 918, with four 836)

type Running = dict[int, Ex]  # by state, as expressions read it


def quick(x: Ex) -> Ex:
    """With exponentials as powers of 2, which are about as exact."""
    if not isinstance(x, Op):
        return x
    args = tuple(map(quick, x.args))
    if x.op == "exp" and x.dtype is F32:
        return Op("ex2", (Op("mul", (*args, Lit(LOG2E, F32)), F32),), F32)
    return replace(x, args=args)


class FoldWriter(Writer):
    """Writes one grid; `inner` lies within an access, `outer` along the pass.

    `quickly`: exponentials of how far a row's elements are from its extreme, and
    corrections, are powers of 2.  Their arguments are rounded once more: a term of
    2**-n is n units of its last place off at most, no unit of a sum of such terms,
    the largest of which is 1."""

    def __init__(
        self, kernel: Kernel, states: tuple[State, ...], axes: tuple[int, int],
        tiling: Tiling, strict: bool, buffers: tuple[Param, ...], index: DType,
        quickly: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(kernel, tiling, buffers, strict, index)
        self.quickly = quickly
        self.states, (self.outer, self.inner) = states, axes
        self.whole = kernel  # in which a state varies along rows alone
        self.running = bits(tuple(s.root for s in states))
        for e, args in enumerate(self.facts.args):
            if args & self.running:
                self.running |= 1 << e
        free = (f | (self.running >> e & 1) << self.outer
                for e, f in enumerate(kernel.free))  # fmt: skip
        self.partial = replace(kernel, free=tuple(free))  # for each thread apart

    def run(self) -> Grid:
        self._fetch(self.facts.stored)
        accs = {s.root: self._accumulator(s) for s in self.states}
        with self._turn(bits(tuple(f for s in self.states for f in s.factors))):
            self.kernel = self.partial
            before = {r: self._read(r, var(acc)) for r, acc in accs.items()}
            now: Running = {}
            for s in self.states:
                now[s.root] = self._taken(s, accs[s.root], before, now)
            self.kernel = self.whole
        self._finished(accs)
        self.outputs()
        return self.as_grid()

    def _kept(self, s: State, outer: bool) -> tuple[str, ...]:
        free = self.whole.free[s.root] | outer << self.outer
        return self.axes(free)

    def _kind(self, s: State) -> DType:
        return compute(self.kernel.exprs[s.root].attr[2])

    def _tile(self, axes: tuple[str, ...], value: Ex) -> Ex:
        tile = Tile(self.fresh("v"), value.dtype, axes)
        self.scopes[-1].body.append(Map(tile, value))
        return var(tile)

    def _accumulator(self, s: State) -> Tile:
        kind = self._kind(s)
        tile = Tile(self.fresh("a"), kind, self._kept(s, True))
        self.scopes[-1].body.append(Map(tile, identity(s.monoid, kind), True))
        return tile

    def _state(self, root: int) -> State:
        return next(s for s in self.states if s.root == root)

    def _read(self, root: int, held: Ex, outer: bool = True) -> Ex:
        """What stands for a running state where others read it; see above."""
        s, kind = self._state(root), held.dtype
        if not any(root in other.needs for other in self.states):
            return held
        none = Op("eq", (held, identity(s.monoid, kind)), BOOL)
        near = Op("select", (none, Lit(0, kind), held), kind)
        return self._tile(self._kept(s, outer), near)

    @contextmanager
    def _as(self, states: Mapping[int, Ex], kernel: Kernel) -> Generator[None]:
        """Where states have these values: what reads them is written anew."""
        held = [dict(scope.values) for scope in self.scopes]
        kept, self.kernel = self.kernel, kernel
        for scope in self.scopes:
            for e in [e for e in scope.values if self.running >> e & 1]:
                del scope.values[e]
        for r, value in states.items():
            of = convert(value, compute(kernel.exprs[r].dtype))
            self.scopes[-1].values[r] = of
        yield
        for scope, old in zip(self.scopes, held, strict=True):
            new = {e: x for e, x in scope.values.items() if not self.running >> e & 1}
            scope.values = {**new, **old}
        self.kernel = kept

    def _moved(
        self, s: State, old: Ex, before: Running, now: Running, guarded: bool,
        kernels: tuple[Kernel, Kernel],
    ) -> Ex:  # fmt: skip
        """A state as it is where those that it reads are others; `guarded`: one that
        has met nothing stays so, though the correction may be infinite."""
        if s.shift is None:
            return old

        def at(e: int, states: Running, kernel: Kernel) -> Ex:
            with self._as({r: states[r] for r in s.needs}, kernel):
                return self.value(e)

        def changed(c: Changed) -> Ex:
            new = at(c.expr, now, kernels[1])
            return Op(INVERSE[c.op], (new, at(c.expr, before, kernels[0])), new.dtype)

        by = convert(correction(s.shift, changed, self.value, old.dtype), old.dtype)
        by = self._by(s, by)
        moved = Op(s.op, (old, by), old.dtype)
        if not guarded or self.finite(s):
            return moved
        none = Op("eq", (old, identity(s.monoid, old.dtype)), BOOL)
        return Op("select", (none, old, moved), old.dtype)

    def _by(self, s: State, by: Ex) -> Ex:
        return quick(by) if self.quickly else by

    def _scalar(self, x: Expr) -> Ex:
        value = super()._scalar(x)
        return quick(value) if self.quickly and self._below(x) else value

    def _below(self, x: Expr) -> bool:
        """Whether it is an exponential of the pass that reads an extreme."""
        inside = x.op == "exp" and self.kernel is self.partial
        return inside and bool(self.running >> x.args[0] & 1)

    def finite(self, s: State) -> bool:
        """Whether corrections are, so that nothing has to be guarded."""
        return False

    def _taken(self, s: State, acc: Tile, before: Running, now: Running) -> Ex:
        """The state after this turn, which it keeps, as expressions read it."""
        kind, axes = acc.dtype, self.axes(bits((self.outer, self.inner)))
        with self._as({r: now[r] for r in s.needs}, self.partial):
            term, *more = (convert(self.value(f), kind) for f in s.factors)
        for x in more:
            term = Op("mul", (term, x), kind)
        over = (axes[-1],)
        got = Tile(self.fresh("r"), kind, acc.axes)
        self.scopes[-1].body.append(Reduce(got, s.monoid, term, over, self.beyond()))
        same = (self.partial, self.partial)
        moved = self._moved(s, var(acc), before, now, True, same)
        new = self._tile(acc.axes, combine(s.monoid, moved, var(got)))
        self.scopes[-1].body.append(Update(acc.name, new))
        return self._read(s.root, new)

    def beyond(self) -> Ex | None:
        """The test of terms of the pass, if some places are none."""
        return self.overhang(bits((self.outer, self.inner)))

    def _finished(self, accs: Mapping[int, Tile]) -> None:
        before = {r: self._read(r, var(acc)) for r, acc in accs.items()}
        now: Running = {}
        ends: Running = {}
        for s in self.states:
            acc, kind = accs[s.root], accs[s.root].dtype
            kernels = self.partial, self.whole
            moved = self._moved(s, var(acc), before, now, True, kernels)
            kept = self._kept(s, False)
            total = Tile(self.fresh("r"), kind, kept)
            over = tuple(n for n in acc.axes if n not in kept)
            self.scopes[-1].body.append(Reduce(total, s.monoid, moved, over))
            now[s.root] = self._read(s.root, var(total), False)
            kernels = self.whole, self.whole
            true = self._moved(s, var(total), now, ends, False, kernels)
            for e in s.after:
                true = Op("mul", (true, convert(self.value(e), kind)), kind)
            ends[s.root] = self._tile(kept, true)
            x = self.whole.exprs[s.root]
            self.scopes[-1].values[s.root] = convert(ends[s.root], compute(x.dtype))


def states_of(kernel: Kernel, axes: tuple[int, ...]) -> tuple[State, ...] | str:
    """The states of a pass along these axes, if nothing else is reduced there."""
    found = cascade(kernel, bits(axes))
    if isinstance(found, str):
        return found
    roots = {s.root for s in found.states}
    if any({*kernel.exprs[r].attr[1]} & {*axes} for r in kernel.reductions
           if r not in roots):  # fmt: skip
        return "it reduces along other axes too"
    by_root = {s.root: s for s in found.states}
    for s in found.states:
        if s.moments or any(by_root[r].monoid not in ("max", "min") for r in s.needs):
            return "a running value that other than maxima correct"
        if s.monoid == "sum" and any(kernel.free[f] & bits(axes) == 0
                                     for f in s.factors):  # fmt: skip
            return "a term that is the same all along"
    return found.states


def divided(kernel: Kernel, axis: int, inner: int) -> tuple[Kernel, int]:
    """The axis as a new one times `inner`, and what is left; the new one's number."""
    new = len(kernel.extents)

    def affine(v: Affine) -> Affine:
        terms: list[tuple[Any, int]] = []
        for a, c in v.terms:
            if isinstance(a, Div | Mod):
                a = a._replace(value=affine(a.value))
            if isinstance(a, int) and a == axis:
                terms.append((new, c * inner))
            terms.append((a, c))
        return Affine(tuple(terms), v.const)

    def group(axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(b for a in axes for b in ((new, a) if a == axis else (a,)))

    extents = list(kernel.extents)
    extents[axis] = inner
    whole = (*extents, kernel.extents[axis] // inner)
    return rebuild(kernel, whole, affine, group), new


@dataclass(frozen=True)
class Folded(Tiled):
    """Rows too long to hold."""

    name: str = "tilefold"

    def accepts(self, kernel: Kernel) -> str | None:
        if reason := super().accepts(kernel) or refusal(kernel):
            return reason
        inner = _inner(kernel)
        if len(inner) != 1:
            return "its rows have other than one axis"
        made = states_of(kernel, inner)
        return made if isinstance(made, str) else None

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"team": TEAMS[2:], "vectors": (1, 2, 4, 8)}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _program(kernel, model, holes, strict, buffers or parameters(kernel))


def _inner(kernel: Kernel) -> tuple[int, ...]:
    rows = row_axes(kernel)
    return tuple(a for a in range(len(kernel.extents)) if not rows >> a & 1)


@lru_cache(maxsize=1024)
def _program(
    kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    each, rows = lanes(kernel, model), ordered(kernel, row_axes(kernel))
    (axis,) = _inner(kernel)
    n = kernel.extents[axis]
    team = min(hole(holes, "team", 512), model.largest)
    if n % each or each < 2:
        return "its rows are no wide accesses"
    if n <= team * HELD:
        return "its rows are short enough to be held"
    split, outer = divided(kernel, axis, each)
    states = states_of(split, (outer, axis))
    assert not isinstance(states, str), states
    grid = dict.fromkeys(rows, 1)
    tiling = Tiling(grid, (outer, team * hole(holes, "vectors", VECTORS)), team)
    index = index_type(kernel, buffers)
    axes = outer, axis
    quickly = model.matrix > 0 and not strict
    writer = FoldWriter(split, states, axes, tiling, strict, buffers, index, quickly)
    program = TileProgram("f", buffers, (writer.run(),), (), index)
    return fitting(scheduled(program, Simt.of(model)), model)


FOLDED = Folded()
