"""Which turns of a pass a mask leaves nothing of, or all, as tests of axes.

A term that is chosen by a test, against the identity of a running maximum or minimum,
is that identity all over a turn's tile where the test fails at all of its points.  The
other states of the pass are not changed either, if what they take in is then 0, or
their own identity.

Where a pass only adds up, a term that is chosen against a constant by which all that is
added comes to 0 is as good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite

from ...egraph.ir.dtypes import BOOL, I32, DType, compute
from ...egraph.ir.scalars import MONOIDS
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Affine, Kernel
from ..families.nests.values import add, convert, mul, rounded
from ..loops import Ex, Lit, Op

type Ends = tuple[Ex, Ex]  # of what a value is over a tile


def alive(
    kernel: Kernel, states: tuple[State, ...], ends: Callable[[int], Ends], index: DType
) -> Ex | None:
    """A test that fails only in turns that change no state; None: no turn is known to.
    `ends` of an axis of the kernel: its first and last place in a turn."""
    for s in states:
        if s.monoid not in ("max", "min") or len(s.factors) != 1:
            continue
        chosen = _chosen(kernel, s.factors[0], s.monoid)
        if chosen is None:
            continue
        if _changes_nothing(kernel, states, chosen, s.monoid):
            test = kernel.exprs[chosen].args[0]
            return _Bounds(kernel, ends, index).possible(test)
    if all(s.monoid == "sum" and not s.needs for s in states):
        return _adds_nothing(kernel, states, _Bounds(kernel, ends, index))
    return None


def _adds_nothing(
    kernel: Kernel, states: tuple[State, ...], bounds: _Bounds
) -> Ex | None:
    """A test that holds where some sum is added to."""
    for e, x in enumerate(kernel.exprs):
        if x.op != "select":
            continue
        for at in (2, 1):
            other = kernel.exprs[x.args[at]]
            known = {e: float(other.attr[0])} if other.op == "const" else {}
            if not known or not all(_unchanged(kernel, s, known) for s in states):
                continue
            test = x.args[0]
            found = bounds.possible(test) if at == 2 else bounds.uncertain(test)
            if found is not None:
                return found
    return None


def doubtful(
    kernel: Kernel, e: int, holds: bool, ends: Callable[[int], Ends], index: DType
) -> Ex | None:
    """A test that holds in all turns in which expression `e` holds at some point, or
    fails at some; None: that may be in any."""
    made = _Bounds(kernel, ends, index)
    return made.possible(e) if holds else made.uncertain(e)


def closing(kernel: Kernel, states: tuple[State, ...]) -> tuple[int, float] | None:
    """A term, and its value where a place is none: then the place changes no state."""
    for s in states:
        if s.monoid in ("max", "min") and len(s.factors) == 1:
            (term,) = s.factors
            if _changes_nothing(kernel, states, term, s.monoid):
                return term, _none(kernel, term, s.monoid)
    return None


def _none(kernel: Kernel, e: int, monoid: str) -> float:
    return float(MONOIDS[monoid].identity(compute(kernel.exprs[e].dtype)))


def _changes_nothing(
    kernel: Kernel, states: tuple[State, ...], e: int, monoid: str
) -> bool:
    """Whether no state does where `e` is the identity of its monoid."""
    known = {e: _none(kernel, e, monoid)}
    return all(_unchanged(kernel, s, known) for s in states)


def _chosen(kernel: Kernel, e: int, monoid: str) -> int | None:
    """The choice against the identity that a term is."""
    x = kernel.exprs[e]
    while x.op == "cast" and x.dtype.is_float:
        e = x.args[0]
        x = kernel.exprs[e]
    if x.op != "select":
        return None
    other = kernel.exprs[x.args[2]]
    none = MONOIDS[monoid].identity(compute(x.dtype))
    return e if other.op == "const" and float(other.attr[0]) == none else None


def _unchanged(kernel: Kernel, s: State, known: Mapping[int, float]) -> bool:
    values = [_value(kernel, f, known) for f in s.factors]
    if s.monoid == "sum":
        return 0.0 in values
    none = float(MONOIDS[s.monoid].identity(compute(kernel.exprs[s.root].attr[2])))
    return values == [none]


def _value(kernel: Kernel, e: int, known: Mapping[int, float]) -> float | None:
    """What an expression comes to, whatever finite values the others have."""
    if e in known:
        return known[e]
    x = kernel.exprs[e]
    if x.op == "const":
        return float(x.attr[0])
    args = [_value(kernel, a, known) for a in x.args]
    match x.op, args:
        case "cast", [a]:
            return a if x.dtype.is_float else None
        case "sub" | "add", [a, None] if a is not None and not isfinite(a):
            return a
        case "exp" | "exp2", [a] if a == -inf:
            return 0.0
        case "mul", [a, b] if a and b:
            return a * b
        case "mul" | "div", [a, _] if a == 0.0:
            return 0.0
        case "mul", [_, b] if b == 0.0:
            return 0.0
        case _:
            return None


class _Bounds:
    """What integers are at least and at most over a turn's tile."""

    def __init__(
        self, kernel: Kernel, ends: Callable[[int], Ends], index: DType
    ) -> None:
        self.kernel, self.ends, self.index = kernel, ends, index

    def possible(self, e: int) -> Ex | None:
        """A test that holds wherever the expression does at some point."""
        x = self.kernel.exprs[e]
        if x.op == "and":
            both = [t for a in x.args if (t := self.possible(a)) is not None]
            return Op("and", tuple(both), BOOL) if len(both) == 2 else next(
                iter(both), None
            )  # fmt: skip
        if x.op == "not":
            return self.uncertain(x.args[0])
        if x.op not in ("lt", "le"):
            return None
        left, right = (self.of(a) for a in x.args)
        if left is None or right is None:
            return None
        return Op(x.op, (left[0], right[1]), BOOL)

    def uncertain(self, e: int) -> Ex | None:
        """A test that holds wherever the expression fails at some point."""
        x = self.kernel.exprs[e]
        if x.op == "not":
            return self.possible(x.args[0])
        if x.op in ("and", "or"):
            made = [self.uncertain(a) for a in x.args]
            some = [t for t in made if t is not None]
            if len(some) == 2:
                return Op("or" if x.op == "and" else "and", tuple(some), BOOL)
            return next(iter(some), None) if x.op == "or" else None
        if x.op not in ("lt", "le"):
            return None
        left, right = (self.of(a) for a in x.args)
        if left is None or right is None:
            return None
        return Op("le" if x.op == "lt" else "lt", (right[0], left[1]), BOOL)

    def of(self, e: int) -> Ends | None:
        x = self.kernel.exprs[e]
        if x.op == "index":
            return self.affine(x.attr[0])
        if x.op == "const":
            one = Lit(x.attr[0], compute(x.dtype))
            return one, one
        made = [self.of(a) for a in x.args]
        args = [m for m in made if m is not None]
        if len(args) < len(made):
            return None
        match x.op, args:
            case "cast", [(low, high)] if x.dtype is not BOOL:
                to = compute(x.dtype)  # what is rounded keeps its order
                low, high = (rounded(convert(v, to), x.dtype) for v in (low, high))
                return low, high
            case "add", [(a, b), (c, d)]:
                return _op("add", a, c), _op("add", b, d)
            case "sub", [(a, b), (c, d)]:
                return _op("sub", a, d), _op("sub", b, c)
            case "neg", [(a, b)]:
                return Op("neg", (b,), b.dtype), Op("neg", (a,), a.dtype)
            case "abs", [(a, b)]:
                under = Op("neg", (b,), b.dtype)
                least = _op("max", _op("max", a, under), Lit(0, a.dtype))
                return least, _op("max", b, Op("neg", (a,), a.dtype))
            case _:
                return None

    def affine(self, v: Affine) -> Ends | None:
        low: Ex = Lit(v.const, self.index)
        high: Ex = low
        for a, c in v.terms:
            if not isinstance(a, int):
                return None
            first, last = self.ends(a)
            least, most = (first, last) if c > 0 else (last, first)
            low, high = add(low, mul(least, c)), add(high, mul(most, c))
        return convert(low, I32), convert(high, I32)


def _op(op: str, a: Ex, b: Ex) -> Ex:
    return Op(op, (a, b), a.dtype)
