"""Instructions over classes: every way to compute a value with operators of a library.

The classes are those of the e-graph, with more beside them: other shapes and orders of
axes that an operator asks for, several results in one.  Classes that hold the same
elements in the same order form a group, in which a reshape leads from each to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...egraph.ir.dims import Dim
from ...egraph.ir.dtypes import DType, from_numpy
from ...egraph.ir.graph import Const
from ...egraph.ir.ops import LEAVES, VARYING, TensorType
from ...egraph.ir.scalars import Array
from ...egraph.saturate.encode import ENode

FOLDABLE = LEAVES - VARYING
MOST_WAYS = 12  # members of a group between which all reshapes are offered

type Attribute = tuple[str, Any]
type Core = tuple[int, tuple[int, ...]]  # root of a group, sizes without units


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operator on classes (None: an operand left out).  `step`: as the
    program's own operator of this number has it."""

    op: str
    args: tuple[int | None, ...]
    attrs: tuple[Attribute, ...] = ()
    step: int | None = None


@dataclass
class Cell:
    """A class: its type where it is a tensor of known type, its terms, its ways."""

    type: TensorType | None
    terms: tuple[ENode, ...] = ()
    ways: dict[Instruction, None] = field(default_factory=dict[Instruction, None])
    constant: ENode | None = None  # a term of constants alone
    array: Array | None = None


class Cover:
    """Grows while tiles add to it; `cells` are numbered, e-classes first."""

    def __init__(
        self, classes: Sequence[tuple[ENode, ...]], types: Sequence[TensorType],
        lift: Callable[[int], Dim] = int,
    ) -> None:  # fmt: skip
        self.cells = [Cell(t, n) for t, n in zip(types, classes, strict=True)]
        self.lift = lift
        self.parts: dict[int, int] = {}  # of classes that hold several results
        self._parent = list(range(len(self.cells)))
        self._members: dict[int, dict[tuple[int, ...], int]] = {}
        self._permuted: dict[tuple[Core, tuple[int, ...]], int] = {}
        self._arrays: dict[tuple[Any, ...], int] = {}
        self._find_constants()
        for c, cell in enumerate(self.cells):
            for node in cell.terms:
                if node.op == "reshape":
                    self._join(c, node.args[0])
        for c in range(len(self.cells)):
            self._enter(c)
        for c, cell in enumerate(self.cells):
            for node in cell.terms:
                if node.op == "permute":
                    self._note_permutation(c, node)

    def _note_permutation(self, c: int, node: ENode) -> None:
        source = self.shape(node.args[0])
        order = _ranked([p for p in node.attrs[0] if source[p] != 1])
        key = (self._root(node.args[0]), without_units(source))
        self._permuted.setdefault((key, order), c)

    # ---- classes -------------------------------------------------------------------

    def type(self, c: int) -> TensorType:
        result = self.cells[c].type
        assert result is not None, "only tensors of known type have terms"
        return result

    def shape(self, c: int) -> tuple[int, ...]:
        return self.type(c).shape  # pyright: ignore[reportReturnType]  # at the witness

    def dims(self, shape: Iterable[int]) -> tuple[Dim, ...]:
        """Sizes at the witness as what they stand for."""
        return tuple(map(self.lift, shape))

    def fixed(self, shape: Iterable[int]) -> bool:
        return all(isinstance(d, int) for d in self.dims(shape))

    def add(self, kind: TensorType | None, *terms: ENode) -> int:
        c = len(self.cells)
        self.cells.append(Cell(kind, terms))
        self._parent.append(c)
        for node in terms:
            if all(self.cells[a].constant for a in node.args):
                self.cells[c].constant = node
        if kind is not None:
            self._enter(c)
        return c

    def way(
        self, c: int, op: str, args: Sequence[int | None], *attrs: Attribute
    ) -> None:
        if c not in args:
            self.cells[c].ways[Instruction(op, tuple(args), attrs)] = None

    # ---- constants -----------------------------------------------------------------

    def _find_constants(self) -> None:
        """Classes with a term of constants alone, each over such found before it."""
        users: dict[int, list[tuple[int, ENode]]] = {}
        ready: list[int] = []
        missing: dict[tuple[int, ENode], int] = {}
        for c, cell in enumerate(self.cells):
            if not self.fixed(self.shape(c)):
                continue
            for node in cell.terms:
                if node.op in FOLDABLE and not cell.constant:
                    cell.constant = node
                    ready.append(c)
                elif node.args and node.op not in VARYING:
                    missing[c, node] = len(set(node.args))
                    for a in set(node.args):
                        users.setdefault(a, []).append((c, node))
        while ready:
            for c, node in users.get(ready.pop(0), ()):
                missing[c, node] -= 1
                if not missing[c, node] and not self.cells[c].constant:
                    self.cells[c].constant = node
                    ready.append(c)

    def number(self, c: int) -> Const | None:
        """The value of a class that is one number everywhere."""
        for node in self.cells[c].terms:
            if node.op == "const":
                return node.attrs[0]
        return None

    def array(self, a: Array) -> int:
        """The class of an array that the program stores."""
        key = (str(a.dtype), a.shape, a.tobytes())
        if key not in self._arrays:
            c = self.add(None)
            self.cells[c].type = TensorType(from_numpy(a.dtype), a.shape)
            self.cells[c].array = np.asarray(a, order="C")
            self.way(c, "constant", ())
            self._arrays[key] = c
        return self._arrays[key]

    def full(self, value: Const, dtype: DType, shape: tuple[int, ...] = ()) -> int:
        node = ENode("const", (), (value, dtype, shape))
        key = ("full", repr(value), dtype, shape)
        if key not in self._arrays:
            c = self._arrays[key] = self.add(TensorType(dtype, shape), node)
            self.cells[c].constant = node
        return self._arrays[key]

    # ---- what a library calls them -------------------------------------------------

    def offer_transpose(self, c: int, source: int, perm: tuple[int, ...]) -> None:
        """The way to `c` from `source` by a permutation of its axes."""
        raise NotImplementedError

    def offer_reshape(self, c: int, shape: tuple[int, ...], source: int) -> None:
        """The way to `c` from another member of its group."""
        raise NotImplementedError

    # ---- other shapes and orders of a class ------------------------------------------

    def _root(self, c: int) -> int:
        while self._parent[c] != c:
            self._parent[c] = self._parent[self._parent[c]]
            c = self._parent[c]
        return c

    def _join(self, a: int, b: int) -> None:
        a, b = sorted((self._root(a), self._root(b)))
        self._parent[b] = a

    def _enter(self, c: int) -> None:
        self.members(c).setdefault(self.shape(c), c)

    def members(self, c: int) -> dict[tuple[int, ...], int]:
        """The classes of the same elements, by shape."""
        return self._members.setdefault(self._root(c), {})

    def reshaped(self, c: int, shape: Sequence[int]) -> int:
        want = tuple(shape)
        result = self.members(c).get(want)
        if result is None:
            node = ENode("reshape", (c,), (want,))
            result = len(self.cells)
            self.cells.append(Cell(TensorType(self.type(c).dtype, want), (node,)))
            self._parent.append(self._root(c))
            if self.cells[c].constant:
                self.cells[result].constant = node
            self._enter(result)
        return result

    def permuted(self, c: int, perm: Sequence[int]) -> int:
        """A class that holds `c` with its axes in another order."""
        shape = self.shape(c)
        target = tuple(shape[p] for p in perm)
        moved = _ranked([p for p in perm if shape[p] != 1])
        sources = [(k, _picked(q, moved)) for k, q in self.orbit(c)]
        for (root, core), order in sources:
            if order == _ranked(order) == tuple(range(len(core))):
                return self.reshaped(self.of_core(root, core)[0], target)
        known = next((self._permuted[s] for s in sources if s in self._permuted), None)
        if known is None:
            kind = TensorType(self.type(c).dtype, target)
            known = self.add(kind, ENode("permute", (c,), (tuple(perm),)))
            self._permuted[sources[0]] = known
        result = self.reshaped(known, target)
        for (root, core), order in sources:
            for d in self.of_core(root, core):
                if len(self.shape(d)) == len(target):
                    axes = _with_units(order, self.shape(d), target)
                    self.offer_transpose(result, d, axes)
        return result

    def orbit(self, c: int) -> list[tuple[Core, tuple[int, ...]]]:
        """Cores (groups at a shape without units) that the core of `c` is a permutation
        of, with that permutation."""
        start = (self._root(c), without_units(self.shape(c)))
        result = {start: tuple(range(len(start[1])))}
        todo = [start]
        while todo and len(result) < MOST_WAYS:
            key = todo.pop(0)
            for d in self.of_core(*key):
                for node in self.cells[d].terms:
                    if node.op != "permute":
                        continue
                    e = node.args[0]
                    source = (self._root(e), without_units(self.shape(e)))
                    if source not in result:
                        axes = [p for p in node.attrs[0] if self.shape(e)[p] != 1]
                        result[source] = _picked(_ranked(axes), result[key])
                        todo.append(source)
        return list(result.items())

    def of_core(self, root: int, core: tuple[int, ...]) -> list[int]:
        """The members of a group that differ from `core` by units alone."""
        return [c for s, c in self.members(root).items() if without_units(s) == core]

    def reshapes(self) -> None:
        """The ways between the members of each group; once all members are there."""
        for root in sorted(self._members):
            members = self._members[root]
            if len(members) < 2 or len(members) > MOST_WAYS:
                continue
            for shape, c in members.items():
                for source in members.values():
                    if source != c:
                        self.offer_reshape(c, shape, source)


def without_units(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(d for d in shape if d != 1)


def _ranked(axes: Sequence[int]) -> tuple[int, ...]:
    """Each by its place among them."""
    order = sorted(axes)
    return tuple(order.index(a) for a in axes)


def _picked(perm: Sequence[int], by: Sequence[int]) -> tuple[int, ...]:
    return tuple(perm[i] for i in by)


def _with_units(
    order: Sequence[int], source: Sequence[int], target: Sequence[int]
) -> tuple[int, ...]:
    """A permutation of the axes of `source` to `target`, whose others go by `order`."""
    places = [i for i, d in enumerate(source) if d != 1]
    units = iter([i for i, d in enumerate(source) if d == 1])
    others = iter([places[i] for i in order])
    return tuple(next(units) if d == 1 else next(others) for d in target)
