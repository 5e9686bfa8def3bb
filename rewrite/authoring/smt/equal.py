"""Whether two elements are equal on a path, in the theory that their dtypes ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import ALL
from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES

from .instance import NumberFact
from .meaning.conditions import at_least, formula, inside, same, solver
from .meaning.elements import (
    NUMBER,
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Special,
    Str,
    Sym,
    Variable,
    kids,
    mapped,
    number,
    renamed,
    walk,
    words,
)
from .meaning.paths import Unsupported
from .meaning.world import World
from .missing import needed
from .narrow import Narrow, embeds
from .theory.folds import ORDERED
from .theory.ieee import KEEPS_EQUAL
from .theory.normal import Field, Normal
from .theory.poles import POSITIVE, anonymous, divisors, positive
from .theory.theories import FORMATS, FREE, REAL, Terms

# Opcodes whose laws relate them to others: tried where they are not needed first.
OPENED = words(
    "exp exp2 expm1 log log2 log1p tanh sin cos sigmoid silu softplus gelu_tanh"
)
# Formats that are small enough for the solver's multiplications; all of them must pass.
SMALL = ("f8e5m2", "f16", "bf16")


@dataclass
class Judge:
    """Proves equalities on one path; `used` collects lemmas, `notes` what else."""

    world: World
    contract: str
    field_of: Callable[[Str], Field]
    facts: Sequence[NumberFact] = ()
    both: bool = False  # the right side's divisors are assumed nonzero, too
    query_ms: int = 4000
    used: set[str] = field(default_factory=set[str])
    notes: set[str] = field(default_factory=set[str])
    late: set[str] = field(default_factory=set[str])  # theories the solver left open
    _names: int = 0
    _signs: dict[Elem, int | None] = field(default_factory=dict[Elem, int | None])

    @property
    def exact(self) -> bool:
        return self.contract in ("bitwise", "ieee")

    def equal(self, a: Elem, b: Elem) -> bool:
        if self._compared(a, b):
            return True
        return self._opens(a, b) and self._compared(a, b, deep=True)

    def _opens(self, a: Elem, b: Elem) -> bool:
        result = (x.op for e in (a, b) for x in walk(e) if isinstance(x, Apply))
        return not self.exact and any(op in OPENED for op in result)

    def missing(self, a: Elem, b: Elem) -> str:
        """The equation that could not be shown, and where the solver gave up."""
        late = f"; timeout in: {', '.join(sorted(self.late))}" if self.late else ""
        return needed(a, b, self._normal(self._opens(a, b))) + late

    def _normal(self, deep: bool) -> Normal:
        return Normal(
            self.world, self.field_of, self.contract, self.sign, self.used, deep
        )

    def _compared(self, a: Elem, b: Elem, *, deep: bool = False) -> bool:
        normal = self._normal(deep)
        left, right = normal.of(a), normal.of(b)
        if left == right:
            return True
        left, right = self._without_folds(left, right)
        if left == right:
            return True
        kind = self.field_of(left.dtype)
        strings = [self.world.string(x.dtype) for x in (left, right)]
        if kind != self.field_of(right.dtype) or (
            kind != "real" and strings[0] != strings[1]
        ):
            return False
        if kind in ("real", "int"):
            sides = [normal.polynomial(x) for x in (left, right)]
            if sides[0] == sides[1] and (kind == "real" or integral(sides)):
                self.used.add("ring")
                return True
        return self._solved(left, right)

    # -- poles --

    def moved_pole(self, a: Elem, b: Elem) -> Elem | None:
        """What may be 0, and one side divides by over the reals and the other not."""
        if self.exact:
            return None
        left, right = (list(dict.fromkeys(map(anonymous, divisors(e)))) for e in (a, b))
        judge = replace(self, facts=[*self.facts, *_quotients(a), *_quotients(b)])
        moved = (
            d
            for mine, others in ((left, right), (right, left))
            for d in mine
            if not any(d == o or self.equal(d, o) for o in others)
            and judge._may_be_0(d)
        )
        return next(moved, None)

    def _some(self, f: Fold) -> bool:
        p = self.world.path
        return all(p.implies(at_least(n, 1)) for _, n in f.binders)

    def _may_be_0(self, d: Elem) -> bool:
        if positive(d, self._some):
            self.used.add("positive")
            return False
        d, _ = self._without_folds(d, d)
        names = {str(self.world.string(x.dtype)) for x in walk(d)}
        terms = Terms({n: REAL for n in names if self._choices(n) == (REAL,)})
        try:
            goal = terms.of(d) != 0
        except Unsupported:
            return True
        facts = [*self.world.path.facts, *self.world.path.scoped]
        return self._query(terms, goal, facts, d, d) is not True

    # -- folds --

    def _without_folds(self, a: Elem, b: Elem) -> tuple[Elem, Elem]:
        """Each outer fold as an input of its own; equal ones are the same input.  Below
        an operation that tells -0.0 from 0.0, equality under == is not enough."""
        seen: list[tuple[Fold, Access, Judge]] = []
        bits = replace(self, contract="bitwise") if self.contract == "ieee" else self

        def named(f: Fold, judge: Judge) -> Access:
            for other, name, how in seen:
                if how is judge and judge._alike(f, other):
                    return name
            self._names += 1
            name = Access(f"fold {self._names}", (), f.dtype)
            seen.append((f, name, judge))
            return name

        def walked(e: Elem, judge: Judge) -> Elem:
            if isinstance(e, Fold):
                return named(e, judge)
            if isinstance(e, Apply) and e.op not in KEEPS_EQUAL:
                judge = bits
            return mapped(e, lambda x: walked(x, judge))

        return walked(a, self), walked(b, self)

    def _alike(self, f: Fold, g: Fold) -> bool:
        if f == g:
            return True
        plain = (f.monoid, f.acc, self.world.string(f.dtype), len(f.binders))
        if plain != (g.monoid, g.acc, self.world.string(g.dtype), len(g.binders)):
            return False
        return any(self._matched(f, g, order) for order in self._orders(f))

    def _orders(self, f: Fold) -> Iterator[tuple[int, ...]]:
        n = range(len(f.binders))
        if self.exact or f.monoid in ORDERED:
            return iter([tuple(n)])
        return permutations(n)

    def _matched(self, f: Fold, g: Fold, order: Sequence[int]) -> bool:
        p = self.world.path
        pairs = [(f.binders[i], g.binders[j]) for i, j in enumerate(order)]
        if not all(p.implies(same(m, n)) for (_, m), (_, n) in pairs):
            return False
        self._names += 1
        fresh = [dims.symbol(f"@c{self._names}.{i}") for i in range(len(pairs))]
        left = renamed(
            f.body, {s: k for ((s, _), _), k in zip(pairs, fresh, strict=True)}
        )
        right = renamed(
            g.body, {s: k for (_, (s, _)), k in zip(pairs, fresh, strict=True)}
        )
        ranges = [inside(k, n) for ((_, n), _), k in zip(pairs, fresh, strict=True)]
        with p.scope(*ranges):
            result = self._compared(left, right)
        if result:
            self.used.add("fold-alike")
        return result

    # -- the solver --

    def _solved(self, a: Elem, b: Elem) -> bool:
        """Under every choice of dtypes that is left open."""
        names = sorted(
            {str(self.world.string(x.dtype)) for e in (a, b) for x in walk(e)}
        )
        return all(
            self._interpreted(a, b, dict(zip(names, choice, strict=True)))
            for choice in product(*(self._choices(n) for n in names))
        )

    def _choices(self, name: str) -> Sequence[str]:
        kind = FREE if name == NUMBER else self.field_of(self._string(name))
        match kind:
            case "real":
                return (REAL,)
            case "int":
                return (name,) if name in DTYPES else [d.name for d in ALL if d.is_int]
            case "float":
                return (name,) if name in DTYPES else (*FORMATS, "f8e4m3")
            case "bool":
                return ("bool",)
            case _:
                return (FREE,)

    def _string(self, name: str) -> Str:
        return name if name in DTYPES else Sym(name)

    def _interpreted(self, a: Elem, b: Elem, sorts: dict[str, str]) -> bool:
        if "f8e4m3" in sorts.values():
            if not embeds(a, b):
                return self._exhausted(a, b, sorts)
            self.used.add("embedding")
            sorts = {n: "f16" if s == "f8e4m3" else s for n, s in sorts.items()}
        terms = Terms(sorts)
        try:
            goal = self._goal(terms, a, b)
        except Unsupported:
            return False
        result = self._query(terms, goal, (), a, b)
        if result is not True:
            facts = [*self.world.path.facts, *self.world.path.scoped]
            result = self._query(terms, goal, facts, a, b)
        wide = {name for name, sort in sorts.items() if sort in ("f32", "f64")}
        if result is None and wide and not wide & set(DTYPES):
            # The same law was shown at the small formats before: see `_choices`.
            self.notes.add(f"floats shown at {', '.join(SMALL)}")
            return True
        return result is True

    def _exhausted(self, a: Elem, b: Elem, sorts: dict[str, str]) -> bool:
        result = Narrow(self.world.string, self.contract, self.facts).agree(a, b, sorts)
        if result:
            self.notes.add("f8e4m3 value by value")
        return result

    def _goal(self, terms: Terms, a: Elem, b: Elem) -> Any:
        z3 = solver()
        left, right = terms.of(a), terms.of(b)
        if self.contract == "ieee" and terms.kind(a.dtype) in FORMATS:
            nan = z3.And(z3.fpIsNaN(left), z3.fpIsNaN(right))
            return z3.Or(z3.fpEQ(left, right), nan)
        return left == right

    def _query(
        self, terms: Terms, goal: Any, facts: Sequence[Any], a: Elem, b: Elem
    ) -> bool | None:
        z3 = solver()
        s = z3.Solver()
        s.set("timeout", self.query_ms)
        s.add(*(formula(f) for f in facts))
        s.add(*self._numbers(terms, a, b), *self._divisors(terms, a, b))
        s.add(*terms.side, z3.Not(goal))
        answer = s.check()
        if answer == z3.unknown:
            self.late |= {THEORIES.get(k, k) for k in map(terms.kind, dtypes_of(a, b))}
        return True if answer == z3.unsat else False if answer == z3.sat else None

    def _numbers(self, terms: Terms, a: Elem, b: Elem) -> Iterator[Any]:
        """What premises say of numbers, where the theory can say it."""
        named: dict[str, set[Elem]] = {}
        for x in (x for e in (a, b) for x in walk(e)):
            if isinstance(x, Literal):
                known = named.setdefault(terms.kind(x.dtype), set())
                known |= {n for n in walk(x.number) if isinstance(n, Variable)}
        for kind in sorted(named.keys() - {FREE}):
            for how, x, y in self.facts:
                own = {n for f in (x, y) for n in walk(f) if isinstance(n, Variable)}
                if len(named) > 1 and not own <= named[kind]:
                    continue  # of numbers of another dtype
                try:
                    yield terms.fact(how, x, y, kind)
                except Unsupported:
                    continue

    def _divisors(self, terms: Terms, a: Elem, b: Elem) -> Iterator[Any]:
        sides = (a, b) if self.both else (a,)
        for e in (x for s in sides for x in walk(s)):
            if isinstance(e, Apply) and e.op == "recip" and terms.kind(e.dtype) == REAL:
                yield terms.of(e.args[0]) != 0
        for e in (x for s in (a, b) for x in walk(s)):
            if isinstance(e, Apply) and terms.kind(e.dtype) == REAL:
                if e.op in POSITIVE:
                    self.used.add("positive")
                    yield terms.of(e) > 0
                elif e.op == "sqrt":
                    self.used.add("positive")
                    yield terms.of(e) >= 0

    def sign(self, e: Elem) -> int | None:
        """1 of what the premises make at least 0, -1 of what is at most 0."""
        if e not in self._signs:
            self._signs[e] = self._sign(e)
        return self._signs[e]

    def _sign(self, e: Elem) -> int | None:
        if any(isinstance(x, Access | Fold | Branch | Special) for x in walk(e)):
            return None
        z3, terms = solver(), Terms({})
        for sign in (1, -1):
            s = z3.Solver()
            s.set("timeout", self.query_ms)
            s.add(*(terms.fact(*f, REAL) for f in self.facts))
            s.add(terms.of(e) < 0 if sign == 1 else terms.of(e) > 0)
            if s.check() == z3.unsat:
                return sign
        return None


THEORIES = {
    REAL: "nonlinear real arithmetic", FREE: "uninterpreted values",
    "bool": "truth values",
}  # fmt: skip


def dtypes_of(*sides: Elem) -> set[Str]:
    return {x.dtype for e in sides for x in walk(e) if x.dtype != NUMBER}


def _quotients(e: Elem) -> Iterator[NumberFact]:
    """No number that a rule divides by is 0: there the engine has no quotient."""
    for x in walk(e):
        if isinstance(x, Apply) and x.op == "div" and x.dtype == NUMBER:
            yield "!=", x.args[1], number(0)


def integral(sides: Sequence[dict[tuple[Elem, ...], Any]]) -> bool:
    """Whether polynomials have integer coefficients and no quotients."""
    return all(
        c.denominator == 1
        and not any(
            isinstance(x, Apply) and x.op == "recip" for a in m for x in walk(a)
        )
        for side in sides
        for m, c in side.items()
    )


__all__ = ["Judge", "kids"]
