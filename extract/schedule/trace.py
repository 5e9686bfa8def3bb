"""From chosen terms to a `Kernel`: walk down from the stored values, indexing as we go.

Each value is met as an *occurrence* (`occurrences.py`).  Movement ops only change the
index.  A reduction binds loops: those over which its operand already occurs (so softmax
reads one row by one loop name), else a loop of that extent that only reductions use,
else a new one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple, cast

from ...egraph.ir.dtypes import BOOL, I32, I64, DType, compute
from .affine import ZERO, Digit
from .chosen import ELEMENTWISE, READS, SORTS, Term, Terms
from .kernel import Affine, Val
from .movement import Index
from .occurrences import Occurrence, Occurrences
from .sources import MOVED, concat, gather, moved, pad

LOGICAL = {"add": "or", "mul": "and", "max": "or", "min": "and"}  # of truth values
NEAR = 24  # classes below a reduction that are looked for


class Conflict(Exception):
    """A reduction would bind a digit of a loop that cannot be split."""


class Scattered(NamedTuple):
    """What a scatter does after its base is stored; occurrences, but for the index."""

    cls: int
    mode: str
    value: int
    when: int
    axis: int
    to: Index  # of the element that is changed
    along: Affine  # counts what may meet in one element


class Sorted(NamedTuple):
    """What is stored in order: the class, along which axis of its index."""

    cls: int
    axis: int
    node: Term


class Tracer(Occurrences):
    """Builds one kernel."""

    def __init__(self, terms: Terms, stored: Container[int], share: bool) -> None:
        super().__init__(terms, stored)
        self.share = share
        self.reductions: list[int] = []
        self.outer: set[int] = set()  # loops of the outputs
        self.roots: list[tuple[int, int]] = []
        self.scattered: Scattered | None = None
        self.sorted: Sorted | None = None

    # ---- top down: occurrences -------------------------------------------------------

    def root(self, c: int) -> None:
        """Adds an output: where it already occurs over plain loops, or by its shape."""
        node = self.terms.node(c)
        if node.op in SORTS and self._several(c, node):
            self._sorted(c, node)
            self.run()
            return
        for i in self.of_class.get(c, ()):
            if self._covers(self.occ[i]):
                self.roots.append((c, i))
                return
        free = list(range(len(self.extents))) if self.roots else []
        index: list[Affine] = []
        for n in self.shape(c):
            same = next((a for a in free if self.extents[a] == n), None)
            if n == 1:
                index.append(ZERO)
            elif same is None:
                index.append(self.loop(n))
            else:
                free = [a for a in free if a > same]
                index.append(self.axis[same])
        self.outer.update(a for v in index for a, _ in v.terms if isinstance(a, int))
        if node.op == "scatter":
            self._scatter(c, node, tuple(index))
        else:
            self.roots.append((c, self.meet(c, tuple(index))))
        self.run()

    def _several(self, c: int, node: Term) -> bool:
        """Whether a sort has something to do."""
        axis = cast(int, node.attrs[0])
        return 0 not in self.shape(c) and self.shape(node.args[0])[axis] > 1

    def _sorted(self, c: int, node: Term) -> None:
        """Over the loops of what is sorted, of which the result keeps some."""
        (a,) = node.args
        index = tuple(self.loop(n) if n > 1 else ZERO for n in self.shape(a))
        self.outer.update(range(len(self.extents)))
        self.sorted = Sorted(c, node.attrs[0], node)
        self.roots.append((c, self.meet(a, index)))

    def _scatter(self, c: int, node: Term, index: Index) -> None:
        """The base is stored everywhere; then, over loops of which the one along the
        axis is another, what is scattered."""
        base, which, value = node.args
        mode, axis = cast(tuple[str, int], node.attrs)
        self.roots.append((c, self.meet(base, index)))
        n, count = self.shape(c)[axis], self.shape(which)[axis]
        if 0 in (*self.shape(c), count):
            return
        along = self.loop(count) if count > 1 else ZERO
        self.outer.update(a for a, _ in along.terms if isinstance(a, int))
        at = (*index[:axis], along, *index[axis + 1 :])
        place = self.meet(which, at)
        o = self.occ[place]
        clip = self.pseudo("clip", [place], n - 1, o, o.dtype)
        self.ranges.val_max[clip] = n - 1
        to = (*index[:axis], Affine(((Val(clip), 1),)), *index[axis + 1 :])
        when = self.pseudo("fits", [place], n - 1, o, BOOL)
        if self.terms.type(c).dtype is BOOL:
            mode = LOGICAL.get(mode, mode)
        self.scattered = Scattered(c, mode, self.meet(value, at), when, axis, to, along)

    def _covers(self, o: Occurrence) -> bool:
        """Whether the loops of the index run over each element once."""
        seen: set[int] = set()
        for v, n in zip(o.index, self.shape(o.cls), strict=True):
            if n == 1:
                continue
            radix = self.ranges.exact_radix(v, n) or [Digit(-1, 1, 1)]
            loops = {a for a in radix if isinstance(a, int)}
            if len(loops) < len(radix) or seen & loops:
                return False
            seen |= loops
        return not o.guard

    def run(self) -> None:
        while self.todo or self.reductions:
            if self.todo:
                self.visit(self.todo.pop())
            else:
                self.bind(self.reductions.pop(0))

    def visit(self, i: int) -> None:
        o = self.occ[i]
        c = o.cls
        node = self.terms.node(c)
        op = node.op
        if 0 in self.shape(c):  # no element is ever asked for
            o.kind, o.payload = "const", 0
        elif op in READS or c in self.stored:
            o.kind = "load"
        elif op == "const":
            o.kind, o.payload = "const", node.attrs[0]
        elif op == "iota":
            o.kind, o.payload = "index", o.index[node.attrs[0]]
        elif op in ("reduce", "argreduce", "contract"):
            self.reductions.append(i)
        elif op == "scan":
            self._scan(o, node)
        elif op in ("un", "bin", "select", "cast", "bitcast"):
            o.kind = node.attrs[0] if op in ("un", "bin") else op
            o.args = [self.meet(a, o.index, o.guard) for a in node.args]
        elif op == "pad":
            pad(self, o, node)
        elif op == "concat":
            concat(self, o, node)
        elif op == "gather":
            gather(self, o, node)
        elif op in SORTS and not self._several(c, node):
            o.kind, o.payload = "const", 0  # of one element, its place
            if op == "sort":
                o.kind, o.args = "same", [self.meet(node.args[0], o.index, o.guard)]
        elif op in MOVED:
            o.kind = "same"
            o.args = [self.meet(*moved(self, c, node, o.index), o.guard)]
        else:
            o.kind, o.payload = "foreign", op  # refused if its value is needed

    def _scan(self, o: Occurrence, node: Term) -> None:
        """Over the loops that count its axis, if nothing else does; what is met out of
        that order is stored first."""
        monoid, axis, acc = cast(tuple[str, int, DType], node.attrs)
        n, at = self.shape(o.cls)[axis], o.index[axis]
        beside = (*o.index[:axis], *o.index[axis + 1 :], *(c.value for c in o.guard))
        loops = self.ranges.exact_radix(at, n) if n > 1 else []
        if loops is None or self.involved([at]) & self.involved(beside):
            o.kind, o.payload = "foreign", "scan"
            return
        o.args = [self.meet(node.args[0], o.index, o.guard)]
        o.kind, o.payload, o.bound = "same", (monoid, acc), loops
        if loops:
            o.kind = "scan"

    # ---- reductions ------------------------------------------------------------------

    def bind(self, i: int) -> None:
        o = self.occ[i]
        node = self.terms.node(o.cls)
        if node.op == "argreduce":
            self._bind_choice(o, node)
            return
        if node.op == "reduce":
            monoid, mask, acc = node.attrs
            full = self.shape(node.args[0])
        else:
            full, mask, acc = node.attrs
            monoid = "sum"
        inner = self._known(o, node, mask, full) or self._bound(o, mask, full)
        for v, m, n in zip(inner, mask, full, strict=True):
            if m and n != 1:
                o.bound += self._loops(v, n)
        o.kind, o.payload = "reduce", (monoid, acc)
        if node.op == "reduce":
            o.args = [self.meet(node.args[0], inner, o.guard)]
        else:
            o.args = [self._product(node, inner, o, acc)]

    def _bind_choice(self, o: Occurrence, node: Term) -> None:
        """An arg-reduction: of pairs of a term and its position."""
        kind, axis = cast(tuple[str, int], node.attrs[:2])
        full = self.shape(node.args[0])
        n = full[axis]
        if n == 1:
            o.kind, o.payload = "const", 0
            return
        mask = tuple(int(a == axis) for a in range(len(full)))
        inner = self._known(o, node, mask, full) or self._bound(o, mask, full)
        term = self.meet(node.args[0], inner, o.guard)
        dtype = self.occ[term].dtype
        wide = I32 if dtype is BOOL else compute(dtype)
        if dtype is not wide:
            term = self.pseudo("cast", [term], None, o, wide)
        count = I32 if n < 1 << 31 else I64
        at = self.pseudo("index", [], inner[axis], o, count)
        best = self.pseudo("reduce", [term, at], (kind, count), o, count)
        self.occ[best].bound = self._loops(inner[axis], n)
        o.kind, o.args = "cast", [best]
        if o.dtype is count:
            o.kind = "same"

    def _loops(self, v: Affine, n: int) -> list[int | Digit]:
        """The loops that count an axis of size `n`, which `v` is known to do."""
        radix = self.ranges.exact_radix(v, n) if n else None
        if radix is None:
            return [a for a, _ in v.terms if isinstance(a, int)]
        return radix

    def _product(self, node: Term, inner: Index, o: Occurrence, acc: DType) -> int:
        factors: list[int] = []
        for a in node.args:
            sizes = self.shape(a)
            index = tuple(
                v if n != 1 else ZERO for v, n in zip(inner, sizes, strict=True)
            )
            factor = self.meet(a, index, o.guard)
            if self.occ[factor].dtype is not acc:
                factor = self.pseudo("cast", [factor], None, o, acc)
            factors.append(factor)
        return self.pseudo("mul", factors, None, o, acc)

    def _known(
        self, o: Occurrence, node: Term, mask: Sequence[int], full: Sequence[int]
    ) -> Index | None:
        """Where the operand already occurs at the kept index, over loops to bind."""
        if node.op == "contract" or 0 in full or not self.share:
            return None
        kept = tuple(ZERO if m else v for v, m in zip(o.index, mask, strict=True))
        outside = self.involved((*kept, *(c.value for c in o.guard)))
        for c in self._below(node.args[0]):
            for j in self.of_class.get(c, ()):
                p = self.occ[j]
                pairs = zip(o.index, p.index, mask, strict=True)
                if p.guard == o.guard and all(m or v == w for v, w, m in pairs):
                    loops = self._bindable(p, mask, full)
                    if loops is not None and not outside & loops:
                        return p.index
        return None

    def _below(self, c: int) -> Iterator[int]:
        """The class and what it is elementwise computed from, which is wanted at the
        same index: of Σ exp x, x itself may occur already."""
        seen, todo = {c}, [c]
        while todo and len(seen) < NEAR:
            a = todo.pop(0)
            yield a
            node = self.terms.node(a)
            if a not in self.stored and node.op in ELEMENTWISE:
                todo += [x for x in node.args if x not in seen]
                seen.update(node.args)

    def _bindable(
        self, p: Occurrence, mask: Sequence[int], full: Sequence[int]
    ) -> set[int] | None:
        """The loops that count the masked axes at `p`, if each is counted plainly."""
        loops: list[int] = []
        for v, m, n in zip(p.index, mask, full, strict=True):
            if m and n > 1:
                radix = self.ranges.exact_radix(v, n)
                if radix is None:
                    return None
                loops += [a.axis if isinstance(a, Digit) else a for a in radix]
        return set(loops) if len(set(loops)) == len(loops) else None

    def _bound(self, o: Occurrence, mask: Sequence[int], full: Sequence[int]) -> Index:
        kept = [v for v, m in zip(o.index, mask, strict=True) if not m]
        taken = self.involved((*kept, *(c.value for c in o.guard))) | self.outer
        inner: list[Affine] = []
        for v, m, n in zip(o.index, mask, full, strict=True):
            if not m or n == 1:
                inner.append(ZERO if m else v)
                continue
            axis = next(
                (a for a, e in enumerate(self.extents) if e == n and a not in taken),
                len(self.extents),
            )
            if axis == len(self.extents):
                self.loop(n)
            taken.add(axis)
            inner.append(self.axis[axis])
        return tuple(inner)
