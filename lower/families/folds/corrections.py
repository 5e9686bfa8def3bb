"""The states of a fold as vectors, and what corrects them.

A running maximum may still be -inf, a running sum 0.  Bodies read a stand-in for it
(0, or 1, or for a sum what it will come to), which the corrections know of; at the end
sums are put right once more, from the stand-in to the true value: a row without any
entry comes out as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL, DType
from ....egraph.ir.scalars import BY_NAME
from ....extract.schedule.cascade import Changed, Image, Joined, Scaled, Shift, State
from ....extract.schedule.kernel import Kernel, bits
from ...axes import numel
from ...loops import Ex, Lit, Load, Op, Param, Store
from ..nests.plan import each
from ..nests.values import combine, convert, expand, identity
from ..products.sides import Sides
from .recognize import Fold

INVERSE = {"add": "sub", "mul": "div"}


type Part = tuple[int, ...]  # moments that are factors of a sum


class Vector(NamedTuple):
    """A state at some point of the pass: its parts, after `seen` places."""

    held: dict[Part, Ex]
    seen: Ex


type Vectors = dict[int, Vector]  # by root


def whole(s: State) -> Part:
    return tuple(range(len(s.moments)))


def part_factors(s: State, part: Part) -> tuple[int, ...]:
    """The factors of a part's terms, in order of number."""
    places = {at: k for k, (at, _) in enumerate(s.moments)}
    kept = (f for at, f in enumerate(s.factors) if places.get(at) in (None, *part))
    return tuple(sorted(kept))


def kept_parts(s: State) -> list[Part]:
    """The parts that are summed: one for each product that is not empty."""
    result: dict[tuple[int, ...], Part] = {}
    for size in reversed(range(len(s.moments) + 1)):
        for part in combinations(whole(s), size):
            if part_factors(s, part):
                result.setdefault(part_factors(s, part), part)
    return list(result.values())


def changes(by: Ex) -> Ex:
    """Whether sums are put right at all by a factor."""
    return Op("ne", (by, Lit(1.0, by.dtype)), BOOL)


def correction(
    shift: Shift, changed: Callable[[Changed], Ex], value: Callable[[int], Ex],
    dtype: DType,
) -> Ex:  # fmt: skip
    """What it comes to; a cast within it is to the fold's own type."""
    match shift:
        case Changed():
            return changed(shift)
        case Image("cast", of):
            return convert(correction(of, changed, value, dtype), dtype)
        case Image(opcode, of):
            a = correction(of, changed, value, dtype)
            tree = BY_NAME[opcode].expansion
            return Op(opcode, (a,), a.dtype) if tree is None else expand(tree, a)
        case Joined(op, left, right):
            a, b = (correction(x, changed, value, dtype) for x in (left, right))
            return Op(op, (a, b), a.dtype)
        case Scaled(opcode, of, factor):
            a = correction(of, changed, value, dtype)
            return Op(opcode, (a, value(factor)), a.dtype)


class Corrections(Sides):
    """A writer that knows the states of a fold, which takes `block` places at once."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], fold: Fold,
        block: int,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers)
        self.fold = fold
        self.rows = numel(kernel.extents, fold.m)
        self.places = numel(kernel.extents, fold.axes)
        self.columns = numel(kernel.extents, fold.e)
        self.at_once = self.places <= block
        self.state: dict[int, dict[Part, str]] = {}  # arrays, by part of its vector
        self.states = (*fold.rows, *(s for s, _ in fold.wide))
        self.runs = self._running()

    def read(self, s: State, i: Ex, seen: Ex) -> Vector:
        """The state's vector of row `i` after `seen` places."""
        kind = self.acc_type(s.root)
        held = {
            part: self.let(Load(array, i, kind), "s")
            for part, array in self.state[s.root].items()
        }
        return Vector(held, self.let(convert(seen, kind), "n"))

    def _running(self) -> int:
        """The expressions that read a state and are the same for the whole row."""
        result = bits(tuple(s.root for s in self.states))
        for e, args in enumerate(self.facts.args):
            if args & result and not self.kernel.free[e] & bits(self.fold.axes):
                result |= 1 << e
        return result

    def advance(
        self, s: State, i: Ex, old: Vectors, got: Mapping[Part, Ex], seen: Ex
    ) -> Ex:
        """Takes what a block gives into the state of row `i`; its stand-in from here
        on, after `seen` places."""
        if self.at_once:
            ((part, array),) = self.state[s.root].items()
            value = self.let(got[part], "s")
            self.emit(Store(array, i, value))
            return value
        moved = self.moved(s, old, guarded=True)
        held: dict[Part, Ex] = {}
        for part, array in self.state[s.root].items():
            held[part] = self.let(combine(s.monoid, moved[part], got[part]), "s")
            self.emit(Store(array, i, held[part]))
        return self.stand_in(s, Vector(held, convert(seen, self.acc_type(s.root))))

    def moved(self, s: State, old: Vectors, guarded: bool) -> dict[Part, Ex]:
        """The old vector, corrected.  `guarded`: what is empty stays so, though the
        correction may be infinite."""
        vector = old[s.root].held
        if s.shift is None and not s.moments:
            return vector
        kind = self.acc_type(s.root)
        by = None if s.shift is None else self.shifted(s, s.shift, old)
        deltas = [self.let(self.shifted(s, d, old), "d") for _, d in s.moments]
        out: dict[Part, Ex] = {}
        for part in vector:
            total = self._transformed(s, part, old[s.root], deltas)
            if by is not None:
                moved = Op(s.op, (total, by), kind)
                none = Op("eq", (total, identity(s.monoid, kind)), BOOL)
                total = Op("select", (none, total, moved), kind) if guarded else moved
            out[part] = self.let(total, "m")
        return out

    def _transformed(
        self, s: State, part: Part, old: Vector, deltas: Sequence[Ex]
    ) -> Ex:
        """The sum over the subsets of `part` of their sums times the other moves."""
        kind = self.acc_type(s.root)
        total = old.held[part]
        for size in range(len(part)):
            for inner in combinations(part, size):
                term = self._part(s, inner, old)
                for k in part:
                    if k not in inner:
                        term = Op("mul", (term, deltas[k]), kind)
                total = Op("add", (total, term), kind)
        return total

    def _part(self, s: State, part: Part, old: Vector) -> Ex:
        """A part's sum; of equal factors one stands for both, and of no factor the
        number of places."""
        wanted = part_factors(s, part)
        if not wanted:
            return old.seen
        return next(v for p, v in old.held.items() if part_factors(s, p) == wanted)

    def stand_in(self, s: State, v: Vector) -> Ex:
        """A value near the final one, and not empty: of a sum, what it comes to if it
        goes on like this."""
        value = v.held[whole(s)]
        kind = value.dtype
        neutral, near = Lit(0.0, kind), value
        if s.monoid == "sum":
            rate = Op("div", (Lit(float(self.places), kind), v.seen), kind)
            near = Op("mul", (value, rate), kind)
        if s.monoid in ("sum", "prod"):
            neutral = Lit(1.0, kind)
        none = Op("eq", (value, identity(s.monoid, kind)), BOOL)
        return Op("select", (none, neutral, near), kind)

    def shifted(self, s: State, shift: Shift, old: Vectors) -> Ex:
        """What a correction comes to, from the old states to those defined."""
        before = {r: self.stand_in(self._state(r), old[r]) for r in s.needs}

        def changed(c: Changed) -> Ex:
            new = self.value(c.expr)
            return Op(INVERSE[c.op], (new, self._was(c.expr, before)), new.dtype)

        moved = correction(shift, changed, self.value, self.fold.dtype)
        return convert(moved, self.acc_type(s.root))

    def _state(self, root: int) -> State:
        return next(s for s in self.states if s.root == root)

    def _was(self, e: int, before: dict[int, Ex]) -> Ex:
        """Expression `e` where the states have the values of `before`."""
        with self.scope() as body:
            for x in each(self.runs):
                self.hide(x)
            for r, value in before.items():
                self.define(r, self.result(r, value))
            result = self.let(self.value(e), "w")
        self.scopes[-1].body += body
        return result

    def product_of(self, parts: Sequence[int]) -> Ex:
        """The factors `parts` times one another, as the fold computes."""
        term, *more = (convert(self.value(p), self.fold.dtype) for p in parts)
        for x in more:
            term = Op("mul", (term, x), self.fold.dtype)
        return term

    # ---- wide states ----

    def correct(self, sums: str, at: Ex, by: Ex) -> None:
        """Puts a sum right; what is empty stays so, though `by` may be infinite."""
        value = Load(sums, at, by.dtype)
        none = Op("eq", (value, Lit(0.0, by.dtype)), BOOL)
        kept = Op("select", (none, value, Op("mul", (value, by), by.dtype)), by.dtype)
        self.emit(Store(sums, at, kept))

    def sum_up(self, s: State, total: Ex, scale: Sequence[Ex]) -> None:
        """The state at a column is its sum times the factors of its row."""
        for by in scale:
            total = Op("mul", (total, by), total.dtype)
        self.define(s.root, self.result(s.root, total))

    # ---- after the pass ----

    def ends(self, i: Ex) -> Vectors:
        """The vectors of row `i` after the pass; from here on its states are true."""
        ends: Vectors = {}
        for s in self.fold.rows:
            ends[s.root] = self.read(s, i, self.number(self.places))
            self.define(s.root, self.result(s.root, self._ended(s, ends)))
        return ends

    def _ended(self, s: State, ends: Vectors) -> Ex:
        """The state's true value, with the factors that waited."""
        held = ends[s.root].held
        value = (held if self.at_once else self.moved(s, ends, guarded=False))[whole(s)]
        for a in s.after:
            value = Op("mul", (value, convert(self.value(a), value.dtype)), value.dtype)
        return value

    def scale(self, s: State, ends: Vectors) -> list[Ex]:
        """The factors of a wide state that are the same for the whole row."""
        shift = None if self.at_once else s.shift
        out = [] if shift is None else [self.shifted(s, shift, ends)]
        out += [convert(self.value(a), self.acc_type(s.root)) for a in s.after]
        return [self.let(x, "c") for x in out]
