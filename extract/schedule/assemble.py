"""The second half of tracing: loops split into digits, then expressions and a `Kernel`.

A loop whose digits divide one another becomes an axis for each digit, so that indices
are sums of axes; one whose digits do not keeps whole and is indexed by `Div` and `Mod`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, cast

from ...egraph.ir.dtypes import BOOL, I32, I64, DType
from ...egraph.ir.ops import TensorType
from ...egraph.rules.tables import widens
from ..dag.postorder import postorder
from .affine import Digit, Ranges, atoms, map_atoms
from .chosen import SORTS, Terms, Untraceable
from .kernel import (
    Affine,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Order,
    Output,
    Update,
    Val,
    bits,
    computed_again,
    exactly,
    out_of_order,
)
from .movement import Index
from .occurrences import Guard, Occurrence
from .trace import Conflict, Scattered, Sorted, Tracer

ALONE = SORTS | {"scatter"}  # ops that are stored by a kernel of their own


@dataclass(frozen=True, slots=True)
class Traced:
    """A kernel and the classes behind its slots: `reads`, then `writes`."""

    kernel: Kernel
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    members: tuple[int, ...]  # classes computed inside
    repeated: frozenset[int]  # those of them that are met at several indices


class Assembler:
    """Splits loops into the digits that are used, then builds the expressions."""

    def __init__(self, tracer: Tracer) -> None:
        self.t = tracer
        self.extents: list[int] = []
        self.digits: list[list[tuple[int, int, int]]] = []  # by loop: (axis, low, high)
        self._split()
        self.ranges = Ranges(self.extents)
        self.exprs: list[Expr] = []
        self.free: list[int] = []
        self.memo: dict[Expr, int] = {}
        self.done: dict[int, int] = {}
        self.slots: dict[int, int] = {}
        self.affines: dict[Affine, Affine] = {}

    def _split(self) -> None:
        """Numbers the axes: each loop, or the digits of it that some index uses."""
        bound = {a for o in self.t.occ for a in o.bound if isinstance(a, Digit)}
        cuts: list[set[int]] = [{1, n} for n in self.t.extents]
        for a in self._used() | bound:
            cuts[a.axis] |= {a.low, a.high}
        for loop, n in enumerate(self.t.extents):
            points = sorted(cuts[loop], reverse=True)
            if n > 1 and any(a % b for a, b in pairwise(points)):
                if any(a.axis == loop for a in bound):
                    raise Conflict
                points = [n, 1]
            if n <= 1:
                points = [n, 1]
            self.digits.append([])
            for high, low in pairwise(points):
                self.digits[loop].append((len(self.extents), low, high))
                self.extents.append(high // low)

    def _used(self) -> set[Digit]:
        """The digits that some index asks for; most indices are sums of loops."""
        found: set[Digit] = set()
        for o in self.t.occ:
            for v in _values(o):
                for loop, _ in v.terms:
                    if type(loop) is not int:
                        found.update(a for a in atoms(v) if isinstance(a, Digit))
                        break
        return found

    def _atom(self, a: object) -> Affine:
        """A loop, digit or gathered value over the final axes."""
        if isinstance(a, Val):
            return Affine(((Val(self.done[a.expr]), 1),))
        if isinstance(a, Digit):
            loop, low, high = a
        else:
            assert isinstance(a, int)
            loop, low, high = a, 1, max(self.t.extents[a], 1)
        inside = [
            (axis, place // low)
            for axis, place, top in self.digits[loop]
            if low <= place and top <= high
        ]
        if inside:
            return Affine(tuple(inside))
        whole = Affine(((self.digits[loop][0][0], 1),))  # a loop that does not split
        above = Affine(((Div(whole, low), 1),)) if low > 1 else whole
        return Affine(((Mod(above, high // low), 1),))

    def affine(self, v: Affine) -> Affine:
        found = self.affines.get(v)
        if found is None:
            for a in atoms(v):
                if isinstance(a, Val):
                    top = self.t.ranges.val_max[a.expr]
                    self.ranges.val_max[self.done[a.expr]] = top
            found = self.affines[v] = map_atoms(v, self._atom, self.ranges)
        return found

    def conds(self, guard: Guard) -> Guard:
        return tuple(Cond(self.affine(c.value), c.low, c.high) for c in guard)

    def bits(self, v: Affine) -> int:
        out = 0
        for a in atoms(v):
            if isinstance(a, Val):
                out |= self.free[a.expr]
            elif isinstance(a, int):
                out |= 1 << a
        return out

    def expr(
        self,
        op: str,
        args: tuple[int, ...],
        attr: tuple[Any, ...],
        dtype: DType,
        free: int = 0,
    ) -> int:
        e = Expr(op, args, attr, dtype)
        key = self.memo.get(e)
        if key is None:
            key = self.memo[e] = len(self.exprs)
            self.exprs.append(e)
            for a in args:
                free |= self.free[a]
            self.free.append(free)
        return key

    def _build(self, top: int) -> int:
        """Builds occurrence `top` and what it needs, children first."""
        for i in postorder([top], lambda i: () if i in self.done else self._needs(i)):
            if i not in self.done:
                self.done[i] = self._make(i)
        return self.done[top]

    def _needs(self, i: int) -> list[int]:
        o = self.t.occ[i]
        if o.kind not in ("load", "index", "guarded"):
            return o.args
        gathered = [a.expr for v in _values(o) for a in atoms(v) if isinstance(a, Val)]
        return o.args + gathered if gathered else o.args

    def _make(self, i: int) -> int:
        o = self.t.occ[i]
        args = tuple(self.done[a] for a in o.args)
        match o.kind:
            case "same":
                return args[0]
            case "load":
                return self._load(o)
            case "const":
                return self.expr("const", (), exactly(o.payload), o.dtype)
            case "index":
                v = self.affine(o.payload)
                return self.expr("index", (), (v,), o.dtype, self.bits(v))
            case "guarded":
                return self._guarded(o.payload, args)
            case "clip":
                return self._clip(args[0], o.payload)[1]
            case "fits":
                return self.expr("eq", self._clip(args[0], o.payload), (), BOOL)
            case "reduce":
                return self._reduce(o, args)
            case "scan":
                return self._scan(o, args)
            case "cast":
                return self._cast(args[0], o.dtype)
            case "foreign":
                raise Untraceable(f"{o.payload} runs on its own")
            case _:
                return self.expr(o.kind, args, (), o.dtype)

    def _offset(self, c: int, index: Index) -> Affine:
        """The row-major position of the index in a class."""
        place, parts = 1, list[tuple[Affine, int]]()
        shape = concrete(self.t.terms.type(c))
        for v, n in zip(reversed(index), reversed(shape), strict=True):
            parts.append((self.affine(v), place))
            place *= n
        return self.ranges.combine(parts)

    def _load(self, o: Occurrence) -> int:
        slot = self.slots.setdefault(o.cls, len(self.slots))
        offset, guard = self._offset(o.cls, o.index), self.conds(o.guard)
        free = self.bits(offset)
        for c in guard:
            free |= self.bits(c.value)
        return self.expr("load", (), (slot, offset, guard), o.dtype, free)

    def _guarded(self, conds: Guard, args: tuple[int, ...]) -> int:
        inside = self.conds(conds)
        free = 0
        for c in inside:
            free |= self.bits(c.value)
        test = self.expr("inside", (), (inside,), BOOL, free)
        return self.expr("select", (test, *args), (), self.exprs[args[0]].dtype)

    def _cast(self, a: int, to: DType) -> int:
        """To a float, of an integer that lost nothing on its way there."""
        x = self.exprs[a]
        if x.op == "cast" and to.is_float:
            (inner,) = x.args
            own = self.exprs[inner].dtype
            if own.is_int and x.dtype.is_float and widens(own, x.dtype):
                return self._cast(inner, to)
        return self.expr("cast", (a,), (), to)

    def _clip(self, a: int, top: int) -> tuple[int, int]:
        """`a` and `min(max(a, 0), top)` in a type that holds both."""
        have = self.exprs[a].dtype
        narrow = have.bits < 32 or have is I32
        wide = I32 if narrow and top < 1 << 31 else I64
        if have is not wide:
            a = self.expr("cast", (a,), (), wide)
        low = self.expr("max", (a, self.expr("const", (), (0,), wide)), (), wide)
        last = self.expr("const", (), (top,), wide)
        return a, self.expr("min", (low, last), (), wide)

    def _reduce(self, o: Occurrence, args: tuple[int, ...]) -> int:
        monoid, acc = o.payload
        bound = 0
        for a in o.bound:
            bound |= self.bits(self._atom(a))
        axes = tuple(a for a in range(len(self.extents)) if bound >> a & 1)
        e = Expr("reduce", args, (monoid, axes, acc), o.dtype)
        if e not in self.memo:
            self.memo[e] = len(self.exprs)
            self.exprs.append(e)
            free = 0
            for a in args:
                free |= self.free[a]
            self.free.append(free & ~bound)
        return self.memo[e]

    def _scan(self, o: Occurrence, args: tuple[int, ...]) -> int:
        monoid, acc = o.payload
        axes = tuple(a for x in o.bound for a in _numbers(self._atom(x)))
        return self.expr("scan", args, (monoid, axes, acc), o.dtype, bits(axes))

    def kernel(self) -> Traced:
        """The kernel of all roots; Untraceable where they have no loop in common."""
        t = self.t
        made = [self._output(i) for _, i in t.roots]
        sets = [set(axes) for _, axes, _ in made]
        widest = max(sets, key=len)
        if not all(s <= widest or s & widest for s in sets):
            raise Untraceable("the outputs run over different loops")
        update = self._update(t.scattered) if t.scattered else None
        reads, writes = tuple(self.slots), tuple(c for c, _ in t.roots)
        types = [t.terms.type(c) for c in (*reads, *writes)]
        slots = tuple((x.dtype, prod(concrete(x))) for x in types)
        outputs = tuple(Output(len(reads) + k, *m) for k, m in enumerate(made))
        if update:
            outputs += (update._replace(slot=len(reads)),)
        if t.sorted:
            outputs = (self._in_order(outputs[0], t.sorted, t.roots[0][1]),)
        kernel = Kernel(
            tuple(self.extents), tuple(self.exprs), tuple(self.free), outputs, slots,
            len(reads),
        )  # fmt: skip
        if reason := out_of_order(kernel) or computed_again(kernel):
            raise Untraceable(reason)
        passive = ("load", "const", "index", "foreign")
        inside = (o.cls for o in t.occ if o.cls >= 0 and o.kind not in passive)
        own = (c for c in writes if t.terms.node(c).op in ALONE)
        members = tuple(dict.fromkeys((*inside, *own)))
        repeated = frozenset(c for c in members if len(t.of_class.get(c, ())) > 1)
        return Traced(kernel, reads, writes, members, repeated)

    def _output(self, i: int) -> tuple[int, tuple[int, ...], Affine]:
        """(expression, axes from the outermost, offset)"""
        e, o = self._build(i), self.t.occ[i]
        axes = tuple(a for v in o.index for a in self._axes(v))
        return e, axes, self._offset(o.cls, o.index)

    def _axes(self, v: Affine) -> tuple[int, ...]:
        """The loops of an index, which are the digits of one, from the outermost."""
        return _numbers(self.affine(v))

    def _in_order(self, o: Output, s: Sorted, i: int) -> Output:
        index = self.t.occ[i].index
        _, descending, count, *_ = s.node.attrs
        axes, places = self._axes(index[s.axis]), s.node.op == "argsort"
        order = Order(axes, count, bool(descending), places)
        return o._replace(offset=self._offset(s.cls, index), order=order)

    def _update(self, s: Scattered) -> Output:
        """Its slot is that of the output before it."""
        value, when = self._build(s.value), self._build(s.when)
        serial = self._axes(s.along)
        rest = (v for i, v in enumerate(s.to) if i != s.axis)
        axes = (*(a for v in rest for a in self._axes(v)), *serial)
        for v in s.to:
            for a in atoms(v):
                if isinstance(a, Val):
                    self._build(a.expr)
        update = Update(s.mode, when, serial)
        return Output(0, value, axes, self._offset(s.cls, s.to), update)


def _numbers(v: Affine) -> tuple[int, ...]:
    """The axes of a sum of axes, from the outermost."""
    return tuple(a for a, _ in v.terms if isinstance(a, int))


def _values(o: Occurrence) -> Iterator[Affine]:
    yield from o.index
    for c in o.guard:
        yield c.value


def with_constants(traced: Traced, constant: Container[int]) -> Traced:
    """The kernel as it is where these classes hold the same in every run; a kernel all
    of whose values do runs once, and nothing is prepared for it."""
    known = [s for s, c in enumerate(traced.reads) if c in constant]
    if not known or all(c in constant for c in (*traced.reads, *traced.writes)):
        return traced
    kernel = replace(traced.kernel, constant=bits(tuple(known)))
    return replace(traced, kernel=kernel)


def with_over(traced: Traced, over: Container[tuple[int, int]]) -> Traced:
    """The update as it is where the output may lie on an input that is read."""
    if not over or not traced.kernel.updates:
        return traced
    (root,) = traced.writes
    known = tuple(s for s, c in enumerate(traced.reads) if (root, c) in over)
    return replace(traced, kernel=replace(traced.kernel, over=bits(known)))


def concrete(t: TensorType) -> tuple[int, ...]:
    """The shape of a type whose sizes are all numbers."""
    return cast(tuple[int, ...], t.shape)


def build_kernel(terms: Terms, roots: Sequence[int], stored: Container[int]) -> Traced:
    """The kernel that stores `roots`, reading `stored` classes, inputs and data."""
    inside = Except(stored, frozenset(roots))

    def size(c: int) -> int:
        return -prod(concrete(terms.type(c)))

    def build(share: bool) -> Traced:
        tracer = Tracer(terms, inside, share)
        alone = next((c for c in roots if terms.node(c).op in ALONE), None)
        if len(roots) > 1 and alone is not None:
            op = terms.node(alone).op
            raise Untraceable(f"a {op} is stored by a kernel of its own")
        for c in sorted(roots, key=size):
            tracer.root(c)
        return Assembler(tracer).kernel()

    try:
        return build(share=True)
    except Conflict:
        return build(share=False)


class Except:
    """`stored` without the kernel's own outputs, which are computed inside."""

    def __init__(self, stored: Container[int], but: frozenset[int]) -> None:
        self.stored, self.but = stored, but

    def __contains__(self, c: object) -> bool:
        return c not in self.but and cast(int, c) in self.stored
