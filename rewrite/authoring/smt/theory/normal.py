"""Normal forms of elements: sums of products over folds that are as small as can be.

Where values are real numbers, or integers that wrap, they form a commutative ring: an
element is a polynomial, and a sum is split into its terms (`folds.py`).  Where values
are floats of an exact contract, only what IEEE 754 says of single operations is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal as OneOf

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.scalars import BY_NAME

from ..meaning.conditions import same
from ..meaning.elements import (
    NUMBER,
    PRODUCT,
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Number,
    Special,
    Str,
    Variable,
    Whole,
    mapped,
    number,
    words,
)
from ..meaning.world import World
from .folds import Folds
from .functions import Functions
from .ieee import KEEPS_EQUAL, Ieee
from .polynomials import ONE, Algebra, Polynomial, atom, expanded, plus

COMPARES = words("lt le eq ne")

type Field = OneOf["real", "int", "bool", "float", "free"]


@dataclass
class Normal:
    """Rewrites elements; `used` collects the names of the lemmas."""

    world: World
    field_of: Callable[[Str], Field]
    contract: str
    sign: Callable[[Elem], int | None]  # of a factor that does not vary, if known
    used: set[str] = field(default_factory=set[str])
    deep: bool = False  # functions are opened into exponentials and their like
    algebra: Algebra = field(default_factory=Algebra)
    _accesses: dict[str, list[Access]] = field(default_factory=dict[str, list[Access]])

    @property
    def exact(self) -> bool:
        return self.contract in ("bitwise", "ieee")

    @property
    def ieee(self) -> Ieee:
        return Ieee(self.contract == "ieee", self.algebra.key, self.used)

    # -- one element --

    def of(self, e: Elem) -> Elem:
        match e:
            case Access():
                return self._access(e)
            case Fold():
                return Folds(self).of(e)
            case Apply("select", _):
                return self._select(self._inside(e))
            case Apply("cast" | "bitcast"):
                return self._converted(self._inside(e))
            case Number() | Variable() | Whole() | Special():
                return e
            case Literal() if self.field_of(e.dtype) not in ("real", "int"):
                return e
            case Branch():
                with self.world.path.scope(e.condition):
                    yes = self.of(e.yes)
                no = self.of(e.no)
                return yes if yes == no else replace(e, yes=yes, no=no)
            case _:
                return self._scalar(e)

    def _inside(self, e: Elem) -> Elem:
        """Its operands, normal.  Equality under == ends at an operation that tells -0.0
        from 0.0."""
        loose = not isinstance(e, Apply) or e.op in KEEPS_EQUAL
        if self.contract != "ieee" or loose:
            return mapped(e, self.of)
        return mapped(e, replace(self, contract="bitwise").of)

    def _access(self, e: Access) -> Access:
        """Of inputs at indices that must be equal, the first seen stands for all."""
        p = self.world.path
        e = replace(e, index=tuple(map(p.normal, e.index)))
        seen = self._accesses.setdefault(e.tensor, [])
        for other in seen:
            if other == e:
                return other
            if (
                len(other.index) == len(e.index)
                and other.flat == e.flat
                and all(
                    p.implies(same(a, b))
                    for a, b in zip(other.index, e.index, strict=True)
                )
            ):
                return other
        seen.append(e)
        return e

    def _select(self, e: Elem) -> Elem:
        assert isinstance(e, Apply)
        c, a, b = e.args
        if a == b:
            return a
        if isinstance(c, Literal) and isinstance(c.number, Number):
            return a if c.number.value else b
        return e

    def _converted(self, e: Elem) -> Elem:
        assert isinstance(e, Apply)
        (x,), w = e.args, self.world
        if w.string(x.dtype) == w.string(e.dtype):
            return x
        if isinstance(x, Apply) and x.op == e.op:
            if e.op == "bitcast":
                self.used.add("bits")
                return self._converted(replace(e, args=x.args))
            key = ("widens", w.string(x.args[0].dtype), w.string(x.dtype))
            if key in w.known:
                self.used.add("widening")
                return self._converted(replace(e, args=x.args))
            if e.op == "cast" and w.string(x.args[0].dtype) == "bool":
                self.used.add("truth-values")
                return self._converted(replace(e, args=x.args))
        real = self.field_of(e.dtype) == "real"
        small = isinstance(x, Literal) and x.number in (number(0), number(1))
        if e.op == "cast" and isinstance(x, Literal) and (real or small):
            self.used.add("constant-cast")
            return Literal(x.number, e.dtype)
        return e

    def _widened(self, e: Elem) -> Elem | None:
        """Comparisons and bounds of values that a cast kept, of the values."""
        assert isinstance(e, Apply)
        first = e.args[0]
        if not all(isinstance(a, Apply) and a.op == "cast" for a in e.args):
            return None
        inner = tuple(a.args[0] for a in e.args if isinstance(a, Apply))
        dtypes = [self.world.string(x.dtype) for x in inner]
        wide = self.world.string(first.dtype)
        known = ("widens", dtypes[0], wide) in self.world.known
        if len(set(dtypes)) > 1 or not known:
            return None
        self.used.add("monotone-cast")
        if e.op in COMPARES:
            return self.of(replace(e, args=inner))
        below = Apply(e.op, inner, dtypes[0])
        return Apply("cast", (self.of(below),), wide)

    def _scalar(self, e: Elem) -> Elem:
        if isinstance(e, Apply) and self._keeps_order(e):
            widened = self._widened(self._inside(e))
            if widened is not None:
                return widened
        kind = self.field_of(e.dtype)
        if kind in ("real", "int"):
            return self.algebra.element(self.polynomial(e), e.dtype)
        e = self._inside(e)
        if isinstance(e, Apply) and e.op == PRODUCT:
            floats = self.field_of(e.args[0].dtype) == "float"
            return self.ieee.of(e) if floats else self.ieee.product(e)
        if isinstance(e, Apply) and kind == "float":
            return self.ieee.of(e)
        if isinstance(e, Apply) and e.op == "isnan" and self._nan_free(e.args[0]):
            self.used.add("no-nan")
            return Literal(number(0), "bool")
        return e

    def _keeps_order(self, e: Apply) -> bool:
        """Which of two zeros a bound is may be another one in another dtype."""
        bounds = e.op in ("max", "min") and self.contract != "bitwise"
        return len(e.args) == 2 and (e.op in COMPARES or bounds)

    def _nan_free(self, x: Elem) -> bool:
        return isinstance(x, Access) and ("nan-free", x.tensor) in self.world.known

    # -- polynomials --

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product, in which no sine is squared."""
        result = self.algebra.times(a, b)
        out: Polynomial = {}
        for m, c in result.items():
            sine = next((x for x, y in pairwise(m) if self.deep and _sine(x, y)), None)
            if not isinstance(sine, Apply):
                out = plus(out, {m: c})
                continue
            self.used.add("circle")
            rest = list(m)
            rest.remove(sine)
            rest.remove(sine)
            cosine = atom(replace(sine, op="cos"))
            square = plus(ONE, self.algebra.times(cosine, cosine), -1)
            out = plus(out, self.times({self.algebra.monomial(rest): c}, square))
        return out

    def polynomial(self, e: Elem) -> Polynomial:
        times = self.times
        match e:
            case Number(v):
                return {(): v} if v else {}
            case Whole(v):
                return self.whole(v)
            case Literal(n):
                return self.polynomial(n)
            case Apply("add", (a, b)):
                return plus(self.polynomial(a), self.polynomial(b))
            case Apply("sub", (a, b)):
                return plus(self.polynomial(a), self.polynomial(b), -1)
            case Apply("neg", (a,)):
                return plus({}, self.polynomial(a), -1)
            case Apply("mul", (Apply("abs", (a,)), Apply("abs", (b,)))) if a == b:
                return times(self.polynomial(a), self.polynomial(a))
            case Apply("mul", (a, b)):
                return times(self.polynomial(a), self.polynomial(b))
            case Apply() if e.dtype == NUMBER or self.field_of(e.dtype) == "real":
                return self._real(e)
            case Fold() | Access() | Branch():
                return self._again(e, self.of(e))
            case _:
                return atom(mapped(e, self.of))

    def _again(self, old: Elem, new: Elem) -> Polynomial:
        """An atom's own polynomial, where it became more than an atom."""
        if new == old or isinstance(new, Fold | Access | Branch):
            return atom(new)
        return self.polynomial(new)

    def whole(self, d: Dim) -> Polynomial:
        """An integer polynomial, its symbols as atoms."""
        d = self.world.path.normal(d)
        if isinstance(d, int):
            return {(): Fraction(d)} if d else {}
        return {
            self.algebra.monomial(Whole(dims.symbol(s)) for s in mono): Fraction(c)
            for mono, c in d.terms
        }

    def _real(self, e: Apply) -> Polynomial:
        """Opcodes of real numbers: quotients, powers, composites."""
        known = BY_NAME.get(e.op) if isinstance(e.op, str) else None
        if known is not None and known.expansion is not None:
            self.used.add("composite")
            return self.polynomial(expanded(known.expansion, e.args[0]))
        times = self.algebra.times
        match e:
            case Apply("div", (a, b)):
                return times(self.polynomial(a), self.inverse(self.polynomial(b)))
            case Apply("recip", (a,)):
                return self.inverse(self.polynomial(a))
            case Apply("pow", (a, b)) if self._power(b) is not None:
                self.used.add("power")
                return self._raised(a, self._power(b) or Fraction(0))
            case Apply("cast" | "bitcast" | "select"):
                return self._again(e, self.of(e))
            case Apply() if e.dtype != NUMBER:
                result = Functions(self).of(e)
                return atom(mapped(e, self.of)) if result is None else result
            case _:
                return atom(mapped(e, self.of))

    def inverse(self, p: Polynomial) -> Polynomial:
        """1 / p, of a product factor by factor."""
        self.used.add("divisors")
        if len(p) == 1:
            ((m, c),) = p.items()
            return {self.algebra.monomial(map(_flipped, m)): 1 / c}
        whole = self.algebra.element(p, NUMBER)
        return atom(Apply("recip", (whole,), NUMBER))

    def _power(self, e: Elem) -> Fraction | None:
        p = self.polynomial(e)
        if any(p) or len(p) > 1:
            return None
        v = p.get((), Fraction(0))
        return v if v.denominator in (1, 2) and abs(v) <= 8 else None

    def _raised(self, a: Elem, n: Fraction) -> Polynomial:
        if n < 0:
            return self.inverse(self._raised(a, -n))
        base, out = self.polynomial(a), ONE
        for _ in range(int(n)):
            out = self.times(out, base)
        if n.denominator == 2:
            root = Apply("sqrt", (self.algebra.element(base, a.dtype),), a.dtype)
            out = self.algebra.times(out, atom(root))
        return out


def _sine(x: Elem, y: Elem) -> bool:
    return isinstance(x, Apply) and x.op == "sin" and x == y


def _flipped(e: Elem) -> Elem:
    if isinstance(e, Apply) and e.op == "recip":
        return e.args[0]
    return Apply("recip", (e,), NUMBER)
