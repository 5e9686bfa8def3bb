"""From chosen terms to a `Kernel`: walk down from the stored values, indexing as we go.

Each value is met as an *occurrence*: a class at an index, one affine form per axis.
Movement ops only change the index.  A reduction binds loops: those over which its
operand already occurs (so softmax reads one row by one loop name), else a loop of that
extent that only reductions use, else a new one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from ...egraph.ir.dtypes import BOOL, I32, I64, DType, compute
from ...egraph.ir.ranges import whole
from .affine import ZERO, Digit, Ranges, always, atoms
from .chosen import ELEMENTWISE, READS, SORTS, VIEWS, Term, Terms, Untraceable
from .kernel import Affine, Cond, Val
from .movement import Index, operand_index

MOVED = VIEWS - {"pad", "concat", "gather"}  # by `operand_index` alone
LOGICAL = {"add": "or", "mul": "and", "max": "or", "min": "and"}  # of truth values
DEEP = 8  # elementwise ops and movements above what parts of a `concat` read
NEAR = 24  # classes below a reduction that are looked for
MAX_OCCURRENCES = 300  # bounds the work of one trace, hence of a search

type Guard = tuple[Cond, ...]
type Read = tuple[int, Index]  # a class, and where


class Conflict(Exception):
    """A reduction would bind a digit of a loop that cannot be split."""


class Occurrence:
    """A value at an index.  `kind` is an `Expr` op, or same, guarded or clip."""

    __slots__ = ("args", "bound", "cls", "dtype", "guard", "index", "kind", "payload")

    def __init__(self, cls: int, index: Index, guard: Guard, dtype: DType) -> None:
        self.cls, self.index, self.guard, self.dtype = cls, index, guard, dtype
        self.kind = ""
        self.args: list[int] = []
        self.payload: Any = None
        self.bound: list[int | Digit] = []


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


class Tracer:
    """Builds one kernel.  `stored` are the classes that are read, not computed."""

    def __init__(self, terms: Terms, stored: Container[int], share: bool) -> None:
        self.terms, self.stored, self.share = terms, stored, share
        self.extents: list[int] = []
        self.ranges = Ranges(self.extents)
        self.axis: list[Affine] = []
        self.occ: list[Occurrence] = []
        self.number: dict[tuple[int, Index, Guard], int] = {}
        self.of_class: dict[int, list[int]] = {}
        self.todo: list[int] = []
        self.reductions: list[int] = []
        self.outer: set[int] = set()  # loops of the outputs
        self.roots: list[tuple[int, int]] = []
        self.scattered: Scattered | None = None
        self.sorted: Sorted | None = None

    # ---- top down: occurrences -------------------------------------------------------

    def loop(self, extent: int) -> Affine:
        self.extents.append(extent)
        self.axis.append(Affine(((len(self.extents) - 1, 1),)))
        return self.axis[-1]

    def meet(self, c: int, index: Index, guard: Guard = ()) -> int:
        key = (c, index, guard)
        found = self.number.get(key)
        if found is None:
            found = self.number[key] = len(self.occ)
            self.occ.append(Occurrence(c, index, guard, self.terms.type(c).dtype))
            self.of_class.setdefault(c, []).append(found)
            self.todo.append(found)
            if found > MAX_OCCURRENCES:
                raise Untraceable("the kernel would hold too many values")
        return found

    def pseudo(
        self, kind: str, args: list[int], payload: Any, at: Occurrence, dtype: DType
    ) -> int:
        """An occurrence of no class: a selection, a product, a clipped index."""
        o = Occurrence(-1, at.index, at.guard, dtype)
        o.kind, o.args, o.payload = kind, args, payload
        self.occ.append(o)
        return len(self.occ) - 1

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
        for n in self._shape(c):
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
        return 0 not in self._shape(c) and self._shape(node.args[0])[axis] > 1

    def _sorted(self, c: int, node: Term) -> None:
        """Over the loops of what is sorted, of which the result keeps some."""
        (a,) = node.args
        index = tuple(self.loop(n) if n > 1 else ZERO for n in self._shape(a))
        self.outer.update(range(len(self.extents)))
        self.sorted = Sorted(c, node.attrs[0], node)
        self.roots.append((c, self.meet(a, index)))

    def _scatter(self, c: int, node: Term, index: Index) -> None:
        """The base is stored everywhere; then, over loops of which the one along the
        axis is another, what is scattered."""
        base, which, value = node.args
        mode, axis = cast(tuple[str, int], node.attrs)
        self.roots.append((c, self.meet(base, index)))
        n, count = self._shape(c)[axis], self._shape(which)[axis]
        if 0 in (*self._shape(c), count):
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
        for v, n in zip(o.index, self._shape(o.cls), strict=True):
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

    def _shape(self, c: int) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.terms.type(c).shape)

    def visit(self, i: int) -> None:
        o = self.occ[i]
        c = o.cls
        node = self.terms.node(c)
        op = node.op
        if 0 in self._shape(c):  # no element is ever asked for
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
            self._pad(o, node)
        elif op == "concat":
            self._concat(o, node)
        elif op == "gather":
            self._gather(o, node)
        elif op in SORTS and not self._several(c, node):
            o.kind, o.payload = "const", 0  # of one element, its place
            if op == "sort":
                o.kind, o.args = "same", [self.meet(node.args[0], o.index, o.guard)]
        elif op in MOVED:
            o.kind = "same"
            (a,) = node.args
            shapes = self._shape(a), self._shape(c)
            index = operand_index(op, node.attrs, o.index, *shapes, self.ranges)
            o.args = [self.meet(a, index, o.guard)]
        else:
            o.kind, o.payload = "foreign", op  # refused if its value is needed

    def _guarded(self, guard: Guard, conds: Iterable[Cond]) -> tuple[Guard, Guard]:
        """(conditions that may fail, the guard with them added)"""
        new = tuple(c for c in conds if not always(c, self.ranges))
        return new, (*guard, *(c for c in new if c not in guard))

    def _pad(self, o: Occurrence, node: Term) -> None:
        low, _, value = node.attrs
        (a,) = node.args
        source = self._shape(a)
        if 0 in source:
            o.kind, o.payload = "const", value
            return
        moved = tuple(
            v if n == 0 else self.ranges.combine([(v, 1)], -n)
            for v, n in zip(o.index, low, strict=True)
        )
        conds = [Cond(v, 0, n) for v, n in zip(moved, source, strict=True)]
        new, guard = self._guarded(o.guard, conds)
        inside = self.meet(a, moved, guard)
        if not new:
            o.kind, o.args = "same", [inside]
            return
        other = self.pseudo("const", [], value, o, o.dtype)
        o.kind, o.payload, o.args = "guarded", new, [inside, other]

    def _concat(self, o: Occurrence, node: Term) -> None:
        axis: int = node.attrs[0]
        at, start = o.index[axis], 0
        parts: list[tuple[Guard, int]] = []
        if (alike := self._alike(o, node, axis)) is not None:
            self._digits(o, node, axis, alike)
            return
        for a in node.args:
            n = self._shape(a)[axis]
            if n:
                new, guard = self._guarded(o.guard, [Cond(at, start, start + n)])
                index = list(o.index)
                index[axis] = self.ranges.combine([(at, 1)], -start) if start else at
                parts.append((new, self.meet(a, tuple(index), guard)))
            start += n
        if not parts:
            o.kind, o.payload = "const", 0
            return
        rest = parts[-1][1]
        for conds, arg in reversed(parts[1:-1]):
            rest = self.pseudo("guarded", [arg, rest], conds, o, o.dtype)
        if len(parts) == 1 or not parts[0][0]:
            o.kind, o.args = "same", [parts[0][1]]
        else:
            o.kind, o.payload, o.args = "guarded", parts[0][0], [parts[0][1], rest]

    def _alike(self, o: Occurrence, node: Term, axis: int) -> Index | None:
        """The index of all parts, where they are as long, unlike, and read the same
        elements, as both halves of bytes do: these are read once then, and not tested
        for each part."""
        at, (first, *rest) = o.index[axis], node.args
        n = self._shape(first)[axis]
        unlike = len({*node.args}) > 1  # else each is one array, repeated
        if not unlike or n == 0 or any(self._shape(a)[axis] != n for a in rest):
            return None
        if self.ranges.bottom(at) < 0 or self.ranges.top(at) >= n * len(node.args):
            return None
        index = list(o.index)
        index[axis] = self.ranges.window(at, 1, n)
        found = {self._read(a, tuple(index)) for a in node.args}
        return tuple(index) if len(found) == 1 and all(found) else None

    def _read(self, c: int, index: Index, depth: int = DEEP) -> frozenset[Read]:
        """What a value at an index reads, by elementwise ops and movements."""
        node = self.terms.node(c)
        op = node.op
        if op == "const":
            return frozenset()
        if c in self.stored or not depth or op not in (ELEMENTWISE | MOVED):
            return frozenset({(c, index)})
        if op in MOVED:
            (a,) = node.args
            shapes = self._shape(a), self._shape(c)
            index = operand_index(op, node.attrs, index, *shapes, self.ranges)
            return self._read(a, index, depth - 1)
        below = (self._read(a, index, depth - 1) for a in node.args)
        return frozenset(r for part in below for r in part)

    def _digits(self, o: Occurrence, node: Term, axis: int, index: Index) -> None:
        """Of parts that read the same: which one it is, is a digit of the place."""
        count, n = len(node.args), self._shape(node.args[0])[axis]
        part = self.ranges.window(o.index[axis], n, count)
        made = [self.meet(a, index, o.guard) for a in node.args]
        rest = made[-1]
        for k in reversed(range(1, count - 1)):
            conds = (Cond(part, k, k + 1),)
            rest = self.pseudo("guarded", [made[k], rest], conds, o, o.dtype)
        o.kind, o.payload, o.args = "guarded", (Cond(part, 0, 1),), [made[0], rest]

    def _gather(self, o: Occurrence, node: Term) -> None:
        axis: int = node.attrs[0]
        x, which = node.args
        n = self._shape(x)[axis]
        if n == 0:
            o.kind, o.payload = "const", 0
            return
        index = list(o.index)
        index[axis] = ZERO
        if n > 1:  # of one element every index is that element: it is not even read
            index[axis] = self._counted(which, o.index, n) or self._clipped(which, o, n)
        o.kind, o.args = "same", [self.meet(x, tuple(index), o.guard)]

    def _clipped(self, which: int, o: Occurrence, n: int) -> Affine:
        """The value of `which` as a place among `n`."""
        at = self.meet(which, o.index, o.guard)
        clip = self.pseudo("clip", [at], n - 1, o, self.occ[at].dtype)
        self.ranges.val_max[clip] = n - 1
        return Affine(((Val(clip), 1),))

    def _counted(self, which: int, index: Index, n: int) -> Affine | None:
        """The same where `which` is no data, but a position, and stays below `n`."""
        while which not in self.stored:
            node = self.terms.node(which)
            if node.op == "iota":
                v = index[cast(int, node.attrs[0])]
                most = min(n - 1, whole(self.terms.type(which).dtype).high)
                fits = self.ranges.bottom(v) >= 0 and self.ranges.top(v) <= most
                return v if fits else None
            if node.op not in MOVED:
                return None
            (a,) = node.args
            shapes = self._shape(a), self._shape(which)
            index = operand_index(node.op, node.attrs, index, *shapes, self.ranges)
            which = a
        return None

    def _scan(self, o: Occurrence, node: Term) -> None:
        """Over the loops that count its axis, if nothing else does; what is met out of
        that order is stored first."""
        monoid, axis, acc = cast(tuple[str, int, DType], node.attrs)
        n, at = self._shape(o.cls)[axis], o.index[axis]
        beside = (*o.index[:axis], *o.index[axis + 1 :], *(c.value for c in o.guard))
        loops = self.ranges.exact_radix(at, n) if n > 1 else []
        if loops is None or self._involved([at]) & self._involved(beside):
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
            full = self._shape(node.args[0])
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
        full = self._shape(node.args[0])
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
            sizes = self._shape(a)
            index = tuple(
                v if n != 1 else ZERO for v, n in zip(inner, sizes, strict=True)
            )
            factor = self.meet(a, index, o.guard)
            if self.occ[factor].dtype is not acc:
                factor = self.pseudo("cast", [factor], None, o, acc)
            factors.append(factor)
        return self.pseudo("mul", factors, None, o, acc)

    def _involved(self, index: Iterable[Affine]) -> set[int]:
        """The loops that an index varies along, gathered values included."""
        out: set[int] = set()
        for v in index:
            for a in atoms(v):
                if isinstance(a, Val):
                    out |= self._involved(self.occ[a.expr].index)
                elif isinstance(a, Digit):
                    out.add(a.axis)
                elif isinstance(a, int):
                    out.add(a)
        return out

    def _known(
        self, o: Occurrence, node: Term, mask: Sequence[int], full: Sequence[int]
    ) -> Index | None:
        """Where the operand already occurs at the kept index, over loops to bind."""
        if node.op == "contract" or 0 in full or not self.share:
            return None
        kept = tuple(ZERO if m else v for v, m in zip(o.index, mask, strict=True))
        outside = self._involved((*kept, *(c.value for c in o.guard)))
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
        taken = self._involved((*kept, *(c.value for c in o.guard))) | self.outer
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
