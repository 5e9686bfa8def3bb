"""Normal forms of folds: flat, without copies, freed of what does not vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Protocol

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.scalars import MONOIDS

from ..meaning.conditions import Atom, Every, at_least, inside, same, substituted
from ..meaning.elements import PRODUCT, Apply, Branch, Elem, Fold, Str, Sym, renamed
from ..meaning.world import World
from .functions import RISING, Ring
from .ieee import Ieee, negative, stripped
from .polynomials import Monomial, Polynomial, atom, plus, symbols_of, symbols_of_all

IDEMPOTENT = frozenset(("max", "min", "any", "all"))
OPPOSITE = {"max": "min", "min": "max"}
DUAL = {"any": "all", "all": "any"}
ORDERED = frozenset(("argmax", "argmin"))
_NUMBERS = count()  # of binders made here: no two are alike


class Normalizer(Ring, Protocol):
    """What folds ask of normal forms (`normal.py`), beside what functions do."""

    @property
    def world(self) -> World: ...

    @property
    def contract(self) -> str: ...

    @property
    def field_of(self) -> Callable[[Str], str]: ...

    @property
    def sign(self) -> Callable[[Elem], int | None]: ...

    @property
    def exact(self) -> bool: ...

    @property
    def ieee(self) -> Ieee: ...

    def of(self, e: Elem) -> Elem: ...

    def whole(self, d: Dim) -> Polynomial: ...


@dataclass(frozen=True)
class Folds:
    normal: Normalizer

    def of(self, e: Fold) -> Elem:
        n, kind = self.normal, self.normal.field_of(e.dtype)
        rounds = kind in ("float", "free") and n.exact
        if isinstance(e.body, Apply) and e.body.op == PRODUCT and not rounds:
            e = replace(e, body=replace(e.body, op="mul", dtype=e.dtype))
        with self._ranged(e):
            body = n.of(e.body)
        acc = e.acc if rounds else ""
        e = replace(e, monoid=n.world.string(e.monoid), body=body, acc=acc)
        if e.monoid in ORDERED:
            return self._chosen_by(e)
        e = self._without_units(self._flattened(e))
        if self._idempotent(e.monoid):
            e = self._without_copies(e)
        dual = DUAL.get(str(e.monoid))
        if dual and isinstance(e.body, Apply) and e.body.op == "not":
            n.used.add("de-morgan")
            inner = self.of(replace(e, monoid=dual, body=e.body.args[0]))
            return Apply("not", (inner,), e.dtype)
        parts = self._split(e, kind)
        if parts is not None:
            return parts
        bounded = self._bounded(e)
        if bounded is not None:
            return bounded
        if kind == "float" and n.contract == "ieee":
            return self._negated(e)
        if kind in ("real", "int") and e.monoid == "sum":
            return n.algebra.element(self._sum(e), e.dtype)
        if kind == "real" and e.monoid in OPPOSITE and self._some(e):
            return self._extreme(e)
        return e if e.binders or not self._drops(e.monoid) else e.body

    def _chosen_by(self, e: Fold) -> Elem:
        """Where something is greatest, without a factor that is a number."""
        n = self.normal
        if n.field_of(e.body.dtype) != "real":
            return e
        with self._ranged(e):
            body = n.polynomial(e.body)
        if not body:
            return e
        first = body[min(body, key=lambda m: tuple(map(n.algebra.key, m)))]
        if first == 1:
            return e
        n.used.add("arg-scale")
        turned = {"argmax": "argmin", "argmin": "argmax"}
        monoid = turned[str(e.monoid)] if first < 0 else e.monoid
        scaled = {m: c / first for m, c in body.items()}
        inner = n.algebra.element(scaled, e.body.dtype)
        return replace(e, monoid=monoid, body=inner)

    def _ranged(self, e: Fold) -> AbstractContextManager[None]:
        ranges = [inside(dims.symbol(s), n) for s, n in e.binders]
        return self.normal.world.path.scope(*ranges)

    def _drops(self, monoid: Str) -> bool:
        """Whether a fold of one element is that element, as the contract has it."""
        return self.normal.contract != "bitwise" or self._idempotent(monoid)

    def _idempotent(self, monoid: Str) -> bool:
        known = ("idempotent", monoid) in self.normal.world.known
        return monoid in IDEMPOTENT or (isinstance(monoid, Sym) and known)

    def _some(self, e: Fold) -> bool:
        """Whether every range holds an element."""
        p = self.normal.world.path
        return all(p.implies(at_least(n, 1)) for _, n in e.binders)

    def _flattened(self, e: Fold) -> Fold:
        inner = e.body
        if self.normal.exact or not isinstance(inner, Fold) or inner.monoid != e.monoid:
            return e
        self.normal.used.add("fold-once")
        binders, body = _apart(inner)
        return replace(e, binders=(*e.binders, *binders), body=body)

    def _without_units(self, e: Fold) -> Fold:
        if not self._drops(e.monoid):
            return e
        p = self.normal.world.path
        units = [s for s, n in e.binders if p.implies(same(n, 1))]
        if not units:
            return e
        self.normal.used.add("fold-one")
        kept = tuple((s, n) for s, n in e.binders if s not in units)
        return replace(e, binders=kept, body=renamed(e.body, dict.fromkeys(units, 0)))

    def _without_copies(self, e: Fold) -> Fold:
        varies, p = symbols_of(e.body), self.normal.world.path
        copies = [
            s for s, n in e.binders if s not in varies and p.implies(at_least(n, 1))
        ]
        if not copies:
            return e
        self.normal.used.add("fold-copies")
        return replace(
            e, binders=tuple((s, n) for s, n in e.binders if s not in copies)
        )

    def _negated(self, e: Fold) -> Elem:
        """Under ==, a sign leaves a sum, a maximum or a minimum."""
        monoid = str(e.monoid)
        if negative(e.body) and monoid in ("sum", *OPPOSITE):
            name = "negated-sum" if monoid == "sum" else "negated-max"
            self.normal.used.add(name)
            turned = OPPOSITE.get(monoid, monoid)
            inner = self._negated(replace(e, monoid=turned, body=stripped(e.body)))
            return self.normal.ieee.neg(inner)
        return e if e.binders else e.body

    def _split(self, e: Fold, kind: str) -> Elem | None:
        """Over a range whose elements differ before and after a place: both parts."""
        body, n = e.body, self.normal
        regroups = kind in ("real", "int", "bool") or (
            n.contract == "ieee" and self._idempotent(e.monoid)
        )
        known = MONOIDS.get(str(e.monoid))
        if known is None or not regroups or not isinstance(body, Branch):
            return None
        body = _apart_conditions(body)
        names = {s for s, _ in e.binders}
        for s, size in e.binders:
            end, first, last = _cut(body, s)
            if first is None or last is None or dims.symbols((end,)) & names:
                continue
            if not n.world.path.implies(Every((at_least(end, 0), at_least(size, end)))):
                continue
            n.used.add("fold-split")
            after = renamed(last, {s: dims.symbol(s) + end})
            parts = (
                replace(e, binders=_resized(e, s, end), body=first),
                replace(e, binders=_resized(e, s, size - end), body=after),
            )
            return n.of(Apply(known.op, parts, e.dtype))
        return None

    def _bounded(self, e: Fold) -> Elem | None:
        """Of the bounds of elements with what does not vary: that bound of theirs."""
        body, names = e.body, {s for s, _ in e.binders}
        if e.monoid not in OPPOSITE or self.normal.contract == "bitwise":
            return None
        if not isinstance(body, Apply) or body.op not in OPPOSITE or not self._some(e):
            return None
        free = [a for a in body.args if not symbols_of(a) & names]
        if len(free) != 1:
            return None
        self.normal.used.add("bounds")
        (rest,) = (a for a in body.args if a != free[0])
        return self.normal.of(
            replace(body, args=(self.of(replace(e, body=rest)), free[0]))
        )

    # -- sums --

    def _sum(self, e: Fold) -> Polynomial:
        """Σ of each term apart, freed of what does not vary."""
        n = self.normal
        if any(n.world.path.implies(same(size, 0)) for _, size in e.binders):
            n.used.add("fold-none")
            return {}
        with self._ranged(e):
            body = n.polynomial(e.body)
        total: Polynomial = {}
        for m, c in body.items():
            total = plus(total, self._summed(e, m, c))
        n.used.add("sum-linear")
        return total

    def _summed(self, e: Fold, m: Monomial, c: Fraction) -> Polynomial:
        n, names = self.normal, {s for s, _ in e.binders}
        varies = [a for a in m if symbols_of(a) & names]
        free = [a for a in m if a not in varies]
        nested = next((a for a in varies if _is_sum(a)), None)
        if isinstance(nested, Fold):
            return self._merged(e, nested, varies, free, c)
        chosen = self._chosen(e, varies)
        if chosen is not None:
            return n.algebra.times({n.algebra.monomial(free): c}, n.polynomial(chosen))
        inner = n.algebra.element({n.algebra.monomial(varies): Fraction(1)}, e.dtype)
        used = symbols_of(inner)
        out: Polynomial = {n.algebra.monomial(free): c}
        for size in (size for s, size in e.binders if s not in used):
            n.used.add("sum-copies")
            out = n.algebra.times(out, n.whole(size))
        kept = tuple((s, size) for s, size in e.binders if s in used)
        if not kept:
            return n.algebra.times(out, n.polynomial(inner)) if varies else out
        return n.algebra.times(out, atom(replace(e, binders=kept, body=inner)))

    def _chosen(self, e: Fold, factors: Sequence[Elem]) -> Elem | None:
        """A product with a choice is a choice of products, which a range may part."""
        choice = next((a for a in factors if isinstance(a, Branch)), None)
        if not isinstance(choice, Branch):
            return None

        def product(part: Elem) -> Elem:
            for f in factors:
                if f is not choice:
                    part = Apply("mul", (part, f), e.dtype)
            return part

        body = replace(choice, yes=product(choice.yes), no=product(choice.no))
        return self._split(replace(e, body=body), "real")

    def _merged(
        self,
        e: Fold,
        nested: Fold,
        varies: list[Elem],
        free: Sequence[Elem],
        c: Fraction,
    ) -> Polynomial:
        """Σ f Σ g = ΣΣ f g."""
        n = self.normal
        n.used.add("fold-once")
        varies.remove(nested)
        binders, product = _apart(nested)
        for v in varies:
            product = Apply("mul", (product, v), e.dtype)
        whole = replace(e, binders=(*e.binders, *binders), body=product)
        return n.algebra.times({n.algebra.monomial(free): c}, self._sum(whole))

    # -- maxima and minima --

    def _extreme(self, e: Fold) -> Elem:
        """Over some elements: freed of terms, of a factor, of what does not fall."""
        n = self.normal
        with self._ranged(e):
            body = n.polynomial(e.body)
        names = {s for s, _ in e.binders}
        free = {m: c for m, c in body.items() if not symbols_of_all(m) & names}
        rest = {m: c for m, c in body.items() if m not in free}
        if free:
            n.used.add("max-shift")
        if not rest:
            return n.algebra.element(free, e.dtype)
        inner = n.algebra.element(rest, e.dtype)
        if isinstance(inner, Apply) and inner.op in RISING:
            n.used.add("max-rising")
            below = self._extreme(replace(e, body=inner.args[0]))
            top = atom(replace(inner, args=(below,)))
        else:
            top = self._scaled(e, rest, names)
        return n.algebra.element(plus(top, free), e.dtype)

    def _scaled(self, e: Fold, rest: Polynomial, names: set[str]) -> Polynomial:
        n, monoid = self.normal, str(e.monoid)
        factor: Polynomial = {(): Fraction(1)}
        if len(rest) == 1:
            ((m, c),) = rest.items()
            out = [a for a in m if not symbols_of(a) & names]
            signs = [n.sign(a) for a in out]
            if None not in signs and (out or c != 1):
                n.used.add("max-scale")
                flips = (c < 0) ^ (sum(s == -1 for s in signs) % 2 == 1)
                monoid = OPPOSITE[monoid] if flips else monoid
                factor = {n.algebra.monomial(out): c}
                inner = n.algebra.monomial(a for a in m if a not in out)
                rest = {inner: Fraction(1)}
        body = n.algebra.element(rest, e.dtype)
        return n.algebra.times(factor, atom(replace(e, monoid=monoid, body=body)))


def _apart(e: Fold) -> tuple[tuple[tuple[str, Dim], ...], Elem]:
    """Its binders under names of their own, and its body."""
    stems = {s: s.split("'")[0] for s, _ in e.binders}
    new = {s: dims.symbol(f"{stem}'{next(_NUMBERS)}") for s, stem in stems.items()}
    binders = tuple((str(new[s]), substituted(n, new)) for s, n in e.binders)
    return binders, renamed(e.body, new)


def _resized(e: Fold, symbol: str, size: Dim) -> tuple[tuple[str, Dim], ...]:
    return tuple((s, size if s == symbol else n) for s, n in e.binders)


def _apart_conditions(e: Branch) -> Branch:
    """Of several conditions the first alone, the others inside."""
    if not isinstance(e.condition, Every) or not e.condition.parts:
        return e
    first, *rest = e.condition.parts
    if not rest:
        return replace(e, condition=first)
    inner = replace(e, condition=Every(tuple(rest)))
    return replace(e, condition=first, yes=inner)


def _cut(e: Branch, symbol: str) -> tuple[Dim, Elem | None, Elem | None]:
    """The place before which a choice is one element, and after which another."""
    c = e.condition
    if not isinstance(c, Atom) or c.equal or isinstance(c.poly, int):
        return 0, None, None
    slope = dict(c.poly.terms).get((symbol,), 0)
    rest = c.poly - slope * dims.symbol(symbol)
    if abs(slope) != 1 or symbol in dims.symbols((rest,)):
        return 0, None, None
    return (rest + 1, e.yes, e.no) if slope < 0 else (-rest, e.no, e.yes)


def _is_sum(e: Elem) -> bool:
    return isinstance(e, Fold) and e.monoid == "sum"
