"""Constants that a rule computes: each must be a value that its dtype can hold.

Over the reals a product of two constants is a constant, whatever its size; in a graph
one beyond the dtype's range is an infinity, and one below its least normal value has
lost its digits, or is 0.  So the premises must keep a computed constant in range,
whatever the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .instance import NumberFact
from .meaning.conditions import at_least, solver
from .meaning.elements import Apply, Elem, Number, Str, Variable, Whole, number, walk
from .meaning.paths import Unsupported
from .meaning.world import World
from .theory.normal import Field
from .theory.theories import REAL, Terms

LEAST_RANGE = 127  # every dtype of numbers holds the numbers from 0 to here
LARGEST_TINY = 2**-6  # no float dtype has a greater least normal value

type Constant = tuple[Elem, Str]  # a number and its dtype


@dataclass(frozen=True)
class Held:
    world: World
    field_of: Callable[[Str], Field]
    facts: Sequence[NumberFact]
    query_ms: int = 4000

    def missing(
        self, given: Sequence[Constant], made: Sequence[Constant]
    ) -> Constant | None:
        """A constant of the right side that the left side and the premises do not keep
        in the range of its dtype."""
        known = {(n, self.world.string(d)) for n, d in given}
        for n, d in made:
            dtype = self.world.string(d)
            if (n, dtype) not in known and not self._fits(n, dtype, given):
                return n, dtype
        return None

    def _fits(self, n: Elem, dtype: Str, given: Sequence[Constant]) -> bool:
        if isinstance(n, Number):
            high = 1 if self.field_of(dtype) == "bool" else LEAST_RANGE
            if 0 <= n.value <= high:
                return True
        if self.field_of(dtype) == "bool":
            return self._boolean(n, given)
        if self.field_of(dtype) == "int" and not _whole(n):
            return False
        try:
            return self._shown(n, dtype, given)
        except Unsupported:
            return False

    def _boolean(self, n: Elem, given: Sequence[Constant]) -> bool:
        """A choice among given truth values is one of them."""
        known = {g for g, d in given if self.field_of(d) == "bool"}
        ok = (Apply, Variable)
        return all(
            x in known or (isinstance(x, Apply) and (x.op in ("max", "min") or _not(x)))
            for x in walk(n)
            if isinstance(x, ok)
        )

    def _shown(self, n: Elem, dtype: Str, given: Sequence[Constant]) -> bool:
        z3, terms = solver(), Terms({})
        s = z3.Solver()
        s.set("timeout", self.query_ms)
        for _, d in (*given, (n, dtype)):
            s.add(*self._limits(terms, self.world.string(d)))
        for g, d in given:
            low, high = self._range(terms, self.world.string(d))
            s.add(low <= terms.of(g), terms.of(g) <= high)
        for how, a, b in self.facts:
            s.add(terms.fact(how, a, b, REAL))
        numbers = [n, *(x for _, a, b in self.facts for x in (a, b))]
        s.add(*self._parts(terms, numbers, dtype))
        low, high = self._range(terms, dtype)
        value = terms.of(n)
        inside = z3.And(low <= value, value <= high)
        if self._rounds(dtype) and not _is_sum(n, [g for g, _ in given]):
            sizes = [terms.of(Variable(f"tiny({dtype})"))]
            alike = (g for g, d in given if self.world.string(d) == dtype)
            sizes += [z3.If(x < 0, -x, x) for x in map(terms.of, alike)]
            kept = (z3.And(m != 0, z3.Or(value >= m, value <= -m)) for m in sizes)
            inside = z3.And(inside, z3.Or(value == 0, *kept))
        s.add(z3.Not(inside))
        return s.check() == z3.unsat

    def _rounds(self, dtype: Str) -> bool:
        return self.field_of(dtype) in ("real", "float")

    def _range(self, terms: Terms, dtype: Str) -> tuple[Any, Any]:
        names = (f"{end}({dtype})" for end in ("smallest", "largest"))
        low, high = (terms.of(Variable(n)) for n in names)
        return low, high

    def _limits(self, terms: Terms, dtype: Str) -> Iterator[Any]:
        low, high = self._range(terms, dtype)
        yield high >= LEAST_RANGE
        yield low <= 0
        if self._rounds(dtype):
            least = terms.of(Variable(f"tiny({dtype})"))
            yield from (low == -high, least > 0, least <= LARGEST_TINY)

    def _parts(
        self, terms: Terms, numbers: Sequence[Elem], dtype: Str
    ) -> Iterator[Any]:
        """What roots and counts are.

        A count is taken to be no more than the reciprocal of the least normal value;
        beyond, in f16 from 16,384 on, the reciprocal of the count loses some digits.
        """
        p, tiny = self.world.path, terms.of(Variable(f"tiny({dtype})"))
        for e in {x for n in numbers for x in walk(n)}:
            if isinstance(e, Apply) and e.op == "sqrt":
                root = terms.of(e)
                yield root >= 0
                yield root * root == terms.of(e.args[0])
            elif isinstance(e, Whole):
                least = 1 if p.implies(at_least(e.value, 1)) else 0
                if p.implies(at_least(e.value, least)):
                    yield terms.of(e) >= least
                if self._rounds(dtype):
                    yield terms.of(e) * tiny <= 1


def _is_sum(n: Elem, given: Sequence[Elem]) -> bool:
    """Sums of numbers of a dtype are multiples of its least: none is lost below."""
    match n:  # rounded by Veltkamp's splitting: p - (p - x)
        case Apply("sub", (p, Apply("sub", (q, x)))) if p == q:
            return _is_sum(x, given)
        case _:
            pass
    if isinstance(n, Apply) and n.op in ("add", "sub", "neg"):
        return all(_is_sum(a, given) for a in n.args)
    return n in given


def _not(e: Apply) -> bool:
    """1 - a, of a truth value a."""
    return e.op == "sub" and e.args[0] == number(1)


def _whole(n: Elem) -> bool:
    """Whether it is an integer, where those that it is made of are."""
    return all(
        not (isinstance(x, Number) and x.value.denominator > 1)
        and not (isinstance(x, Apply) and x.op in ("div", "sqrt"))
        for x in walk(n)
    )


__all__ = ["Constant", "Held"]
