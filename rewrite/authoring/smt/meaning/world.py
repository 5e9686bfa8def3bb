"""Where terms are given their meaning: what is assumed of the left side, and must be
shown of the right one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BY_NAME, compute

from .conditions import Cond, all_same, inside, negated, same
from .elements import Access, Elem, Str, Sym, walk
from .paths import BOUND, Infeasible, Path, Unsupported


class Failed(Exception):
    """Something that the right side needs and nothing shows; the message says what, and
    `needs` which law or premise would show it."""

    def __init__(self, message: str, needs: str = "") -> None:
        super().__init__(message)
        self.needs = needs


@dataclass(frozen=True, slots=True)
class Flat:
    """The position with the same row-major number as `index` has in `shape`."""

    shape: tuple[Dim, ...]
    index: tuple[Dim, ...]


type Index = tuple[Dim, ...] | Flat
# ("takes", opcode, dtype), ("acc", accumulator, dtype), …: what the op table asks.
type Want = tuple[Str, ...]


@dataclass(frozen=True)
class Tensor:
    dtype: Str
    shape: tuple[Dim, ...]
    at: Callable[[Index], Elem]


@dataclass
class World:
    """One path, and what is known of strings, sizes and reaches on it."""

    path: Path
    right: bool = False  # what a term needs must be shown, not assumed
    eager: bool = False  # split on unit sizes at every reshape
    strings: dict[str, Str] = field(default_factory=dict[str, Str])
    wants: tuple[list[Want], list[Want]] = field(default_factory=lambda: ([], []))
    # Slices of the left side: (start, step, count, size); all they reach is inside.
    reaches: list[tuple[Dim, Dim, Dim, Dim]] = field(
        default_factory=list[tuple[Dim, Dim, Dim, Dim]]
    )
    known: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])
    # Values that indices are read from: the integer that stands for each.
    read: Callable[[Elem], Dim] | None = None
    _depth: int = 0
    _indices: dict[Elem, Dim] = field(default_factory=dict[Elem, Dim])
    _split: dict[Flat, dict[tuple[Dim, ...], tuple[Dim, ...]]] = field(
        default_factory=dict[Flat, dict[tuple[Dim, ...], tuple[Dim, ...]]]
    )

    # -- what holds --

    def need(self, c: Cond, what: str) -> None:
        if not self.right:
            self.path.assume(c)
        elif not self.path.implies(c):
            raise Failed(what)

    def want(self, *want: Str) -> None:
        self.wants[self.right].append(want)

    def string(self, s: Str) -> Str:
        while isinstance(s, Sym) and s.name in self.strings:
            s = self.strings[s.name]
        return s

    def agree(self, a: Str, b: Str, what: str) -> None:
        """Two strings are one: found so on the left, needed on the right."""
        a, b = self.string(a), self.string(b)
        if a == b:
            return
        if self.right:
            raise Failed(what)
        if isinstance(a, Sym):
            self.strings[a.name] = b
        elif isinstance(b, Sym):
            self.strings[b.name] = a
        else:
            raise Infeasible

    def wide(self, dtype: Str) -> Str:
        """The dtype it is computed in."""
        dtype = self.string(dtype)
        if isinstance(dtype, Sym):
            return self.string(Sym(f"wide({dtype})"))
        return compute(BY_NAME[dtype]).name

    def fits(self, a: Sequence[Dim], b: Sequence[Dim], what: str) -> None:
        if len(a) != len(b):
            if self.right:
                raise Failed(what)
            raise Infeasible
        self.need(all_same(a, b), what)

    # -- indices --

    @contextmanager
    def binders(
        self, sizes: Sequence[tuple[int, Dim]]
    ) -> Generator[dict[int, tuple[str, Dim]]]:
        """A bound symbol for each axis, in range inside."""
        self._depth += 1
        names = {a: f"{BOUND}{self._depth}.{a}" for a, _ in sizes}
        bound = {a: (names[a], self.path.normal(n)) for a, n in sizes}
        ranges = [inside(dims.symbol(s), n) for s, n in bound.values()]
        try:
            with self.path.scope(*ranges):
                yield bound
        finally:
            self._depth -= 1

    def index_of(self, e: Elem) -> Dim:
        """The integer that a value is, where it serves as an index."""
        if self.read is not None:
            return self.read(e)
        if _bound_in(e):
            raise Unsupported("indices from data below a sum")
        if e not in self._indices:
            self._indices[e] = self.path.fresh("index", None)
        return self._indices[e]

    def number(self, shape: Sequence[Dim], index: Sequence[Dim]) -> Dim:
        """The row-major number of a position."""
        at: Dim = 0
        for n, i in zip(shape, index, strict=True):
            at = at * self.path.normal(n) + self.path.normal(i)
        return at

    def explicit(self, index: Index, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        """The coordinates of a position."""
        if not isinstance(index, Flat):
            return index
        number = self.number(index.shape, index.index)
        bound = any(s.startswith(BOUND) for s in dims.symbols((number,)))
        result = self.matched(index, shape, split=bound)
        if result is not None:
            return result
        if bound:
            raise Unsupported("a general reshape below a sum")
        return self._coordinates(number, tuple(map(self.path.normal, shape)))

    def matched(
        self, flat: Flat, shape: Sequence[Dim], *, split: bool
    ) -> tuple[Dim, ...] | None:
        """Coordinates where the shapes differ in axes of size 1 only.  Without `split`
        no case distinction is made for it."""
        if self._equal(flat.shape, shape):
            return flat.index
        units = [self._units(s, split) for s in (flat.shape, shape)]
        if None in units:
            return None
        old, new = ([i for i, u in enumerate(us or ()) if not u] for us in units)
        if not self._equal([flat.shape[i] for i in old], [shape[i] for i in new]):
            return None
        place = dict(zip(new, old, strict=True))
        return tuple(
            flat.index[place[i]] if i in place else 0 for i in range(len(shape))
        )

    def _equal(self, a: Sequence[Dim], b: Sequence[Dim]) -> bool:
        if len(a) != len(b):
            return False
        pairs = zip(a, b, strict=True)
        return all(self.path.implies(same(x, y)) for x, y in pairs)

    def _units(self, shape: Sequence[Dim], split: bool) -> list[bool] | None:
        out: list[bool] = []
        for n in shape:
            one = same(n, 1)
            if split or self.eager:
                out.append(bool(self.path.decide(one)))
            elif self.path.implies(one):
                out.append(True)
            elif self.path.implies(same(n, 0)) or not self._may_be_one(n):
                out.append(False)
            else:
                return None
        return out

    def _may_be_one(self, n: Dim) -> bool:
        return not self.path.implies(negated(same(n, 1)))

    def _coordinates(self, number: Dim, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Unknown coordinates, the same for the same number in the same shape."""
        known = self._split.setdefault(Flat((), (number,)), {})
        if shape not in known:
            known[shape] = tuple(self.path.fresh("at") for _ in shape)
            for i, n in zip(known[shape], shape, strict=True):
                self.path.assume(inside(i, n))
        return known[shape]

    def leaf(self, name: str, dtype: Str, shape: tuple[Dim, ...]) -> Tensor:
        """An input: any function of its indices."""

        def at(index: Index) -> Elem:
            if isinstance(index, Flat):
                result = self.matched(index, shape, split=False)
                if result is None:
                    number = self.number(index.shape, index.index)
                    return Access(name, (number,), dtype, flat=True)
                index = result
            return Access(name, tuple(map(self.path.normal, index)), dtype)

        return Tensor(dtype, shape, at)


def _bound_in(e: Elem) -> bool:
    return any(
        s.startswith(BOUND)
        for x in walk(e)
        if isinstance(x, Access)
        for s in dims.symbols(x.index)
    )
