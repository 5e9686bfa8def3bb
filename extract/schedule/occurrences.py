"""Values as a kernel meets them: a class at an index, one affine form per axis."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, cast

from ...egraph.ir.dtypes import DType
from .affine import Digit, Ranges, always, atoms
from .chosen import Terms, Untraceable
from .kernel import Affine, Cond, Val
from .movement import Index

MAX_OCCURRENCES = 300  # bounds the work of one trace, hence of a search

type Guard = tuple[Cond, ...]


class Occurrence:
    """A value at an index.  `kind` is an `Expr` op, or same, guarded or clip."""

    __slots__ = ("args", "bound", "cls", "dtype", "guard", "index", "kind", "payload")

    def __init__(self, cls: int, index: Index, guard: Guard, dtype: DType) -> None:
        self.cls, self.index, self.guard, self.dtype = cls, index, guard, dtype
        self.kind = ""
        self.args: list[int] = []
        self.payload: Any = None
        self.bound: list[int | Digit] = []


class Occurrences:
    """All that one kernel meets, and the loops that the indices are over.  `stored` are
    the classes that are read, not computed."""

    def __init__(self, terms: Terms, stored: Container[int]) -> None:
        self.terms, self.stored = terms, stored
        self.extents: list[int] = []
        self.ranges = Ranges(self.extents)
        self.axis: list[Affine] = []
        self.occ: list[Occurrence] = []
        self.number: dict[tuple[int, Index, Guard], int] = {}
        self.of_class: dict[int, list[int]] = {}
        self.todo: list[int] = []  # met, but not what they are computed from

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

    def shape(self, c: int) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.terms.type(c).shape)

    def guarded(self, guard: Guard, conds: Iterable[Cond]) -> tuple[Guard, Guard]:
        """(conditions that may fail, the guard with them added)"""
        new = tuple(c for c in conds if not always(c, self.ranges))
        return new, (*guard, *(c for c in new if c not in guard))

    def involved(self, index: Iterable[Affine]) -> set[int]:
        """The loops that an index varies along, gathered values included."""
        out: set[int] = set()
        for v in index:
            for a in atoms(v):
                if isinstance(a, Val):
                    out |= self.involved(self.occ[a.expr].index)
                elif isinstance(a, Digit):
                    out.add(a.axis)
                elif isinstance(a, int):
                    out.add(a)
        return out
