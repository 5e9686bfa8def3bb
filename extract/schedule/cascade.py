"""The cascade law: dependent reductions over one axis as one pass over it.

Softmax needs the maximum before the first term of its sum.  Yet the sum may start with
the maximum so far, if what is summed splits: where each term is e = p c q, p free of
the running value, q the same for all terms, and c distributes over the sum, then

    y(q') = y(q) c (q' c⁻¹ q)

so that y is put right whenever the running value, and with it q, changes.  `cascade`
finds the splits of a kernel's reductions; nothing is rewritten.  The correction is kept
as data (`Shift`): pushed through homomorphisms to the leaves, so that exp(m₀ - m₁) is
formed and never exp(-m₁) / exp(-m₀), which overflows.

A factor that splits as a sum is a *moment*: where Σ w a has moved by a := a + δ, it is
Σ w a + δ Σ w, so Σ w runs beside it.  With two of them the state is a vector that moves
by a triangular transform: variance, covariance, Σ eˢ s and entropy are of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ...egraph.ir.dtypes import DType
from ...egraph.ir.scalars import ABSORBING, CHOICES, DISTRIBUTES, HOMOMORPHISMS
from .kernel import Expr, Kernel, bits, factors, needs

MOMENTS = 2  # of a state: its vector has up to four entries


class Changed(NamedTuple):
    """What `expr`, the same for all terms, changes by under `op`: new op⁻¹ old."""

    expr: int
    op: str


class Image(NamedTuple):
    """A homomorphism (or a cast) of a correction."""

    opcode: str
    of: Shift
    dtype: DType


class Joined(NamedTuple):
    """Two corrections in one."""

    op: str
    left: Shift
    right: Shift


class Scaled(NamedTuple):
    """A difference times (or over) a factor that is the same for all terms."""

    opcode: str
    of: Shift
    factor: int


type Shift = Changed | Image | Joined | Scaled


class State(NamedTuple):
    """A reduction that runs: `monoid` over the product of `factors`.

    `shift` corrects it by `op`.  `moments` are places among the factors, and the
    differences by which these move.  `after` are factors that are the same for all
    terms and depend on other states: they wait until the pass is over.
    """

    root: int
    monoid: str
    factors: tuple[int, ...]
    after: tuple[int, ...] = ()
    op: str = "mul"
    shift: Shift | None = None
    moments: tuple[tuple[int, Shift], ...] = ()
    needs: tuple[int, ...] = ()  # the states that `factors` read


class Cascade(NamedTuple):
    """States over `axes` (bits), each after those that it needs."""

    axes: int
    states: tuple[State, ...]


@lru_cache(maxsize=4096)
def cascade(kernel: Kernel, axes: int) -> Cascade | str:
    """The reductions over exactly `axes` as one pass, or why they are none."""
    roots = [r for r in kernel.reductions if bits(kernel.exprs[r].attr[1]) == axes]
    found = _Cascade(kernel, axes, frozenset(roots))
    states: list[State] = []
    for r in roots:  # expressions are topological
        state = found.state(r)
        if isinstance(state, str):
            return state
        states.append(state)
    late = {s.root for s in states if s.after}
    if any(late & set(s.needs) for s in states):
        return "a running value is read whose factors wait for the end"
    if not any(s.needs or s.after for s in states):
        return "no reduction depends on another"
    return Cascade(axes, tuple(states))


@dataclass
class _Cascade:
    kernel: Kernel
    axes: int
    roots: frozenset[int]
    memo: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])

    def varies(self, e: int) -> bool:
        """Whether `e` differs from term to term."""
        return bool(self.kernel.free[e] & self.axes)

    def running(self, e: int) -> frozenset[int]:
        """The states that `e` reads."""
        if e in self.roots:
            return frozenset((e,))
        if e not in self.memo:
            below = (self.running(a) for a in needs(self.kernel.exprs[e]))
            self.memo[e] = frozenset[int]().union(*below)
        return self.memo[e]

    def state(self, r: int) -> State | str:
        monoid: str = self.kernel.exprs[r].attr[0]
        if monoid in CHOICES:
            return f"no correction of a running {monoid} is known"
        (body,) = self.kernel.exprs[r].args
        all_ = factors(self.kernel, body, False) if monoid == "sum" else (body,)
        after = tuple(f for f in all_ if not self.varies(f) and self.running(f))
        terms = tuple(f for f in all_ if f not in after)
        if after and not terms:
            return "a sum of copies"
        needs = frozenset[int]().union(*map(self.running, terms))
        if not needs:
            return State(r, monoid, terms, after)
        reads = tuple(sorted(needs))
        if monoid == "sum":
            return self._sum_of(State(r, monoid, terms, after, needs=reads))
        known = ("add", monoid) in DISTRIBUTES
        shift = self.split(body, "add", monoid) if known else None
        if shift is None:
            return f"no correction of a running {monoid} is known"
        return State(r, monoid, terms, after, "add", shift, needs=reads)

    def _sum_of(self, s: State) -> State | str:
        """With a correction for each factor that reads a state."""
        total: Shift | None = None
        moments: list[tuple[int, Shift]] = []
        for i, f in enumerate(s.factors):
            if not self.running(f):
                continue
            one = self.split(f, "mul", s.monoid)
            if one is not None:
                total = one if total is None else Joined("mul", total, one)
                continue
            one = self.split(f, "add", s.monoid)
            if one is None:
                return "no correction of a running sum is known"
            moments.append((i, one))
        if len(moments) > MOMENTS:
            return "a running sum of too many differences"
        return s._replace(shift=total, moments=tuple(moments))

    def split(self, e: int, op: str, monoid: str) -> Shift | None:
        """By what a running `e` changes under `op` when the states do."""
        if not self.varies(e):
            return Changed(e, op)
        x = self.kernel.exprs[e]
        if x.op == "cast" and x.dtype.is_float:
            inner = self.kernel.exprs[x.args[0]].dtype.is_float
            return self._image(e, x, op, op, monoid) if inner else None
        for (opcode, inner_op), outer in HOMOMORPHISMS.items():
            if opcode == x.op and outer == op:
                return self._image(e, x, op, inner_op, monoid)
        match x.op:
            case "add" | "sub" if op == "add":
                return self._sum(x, x.op == "sub", "neg", op, monoid)
            case "mul" | "div" if op == "mul":
                return self._sum(x, x.op == "div", "recip", op, monoid)
            case "mul" | "div":
                return self._scaled(x, op, monoid)
            case "select":
                return self._select(x, op, monoid)
            case _:
                return None

    def _image(self, e: int, x: Expr, op: str, inner: str, monoid: str) -> Shift | None:
        found = self.split(x.args[0], inner, monoid)
        return None if found is None else Image(x.op, found, x.dtype)

    def _sum(
        self, x: Expr, inverted: bool, inverse: str, op: str, monoid: str
    ) -> Shift | None:
        """Both operands' corrections; the second one's inverse for sub and div."""
        total: Shift | None = None
        for i, a in enumerate(x.args):
            if not self.running(a):
                continue
            one = self.split(a, op, monoid)
            if one is None:
                return None
            if i and inverted:
                one = Image(inverse, one, x.dtype)
            total = one if total is None else Joined(op, total, one)
        return total

    def _scaled(self, x: Expr, op: str, monoid: str) -> Shift | None:
        """(a c q) k = a k c q k for a k that no state changes; as `add` only."""
        for a, k in (x.args, x.args[::-1]):
            if self.running(k) or self.varies(k) or (x.op == "div" and a != x.args[0]):
                continue
            found = self.split(a, op, monoid)
            return None if found is None else Scaled(x.op, found, k)
        return None

    def _select(self, x: Expr, op: str, monoid: str) -> Shift | None:
        """A choice between what splits and what no correction changes."""
        test, *sides = x.args
        if self.running(test):
            return None
        absorbing = ABSORBING.get((op, monoid))
        total: Shift | None = None
        for a in sides:
            c = self.kernel.exprs[a]
            if c.op == "const" and float(c.attr[0]) == absorbing:
                continue
            one = self.split(a, op, monoid) if self.running(a) else None
            if one is None or (total is not None and total != one):
                return None
            total = one
        return total
