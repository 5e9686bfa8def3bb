"""What changes from call to call of a function: numbers and sizes left open.

A number of Python's that had a second value, and a size that had a third, is no part of
the key any more: one program takes all.  What decides the graph after all (an axis, a
size that is branched on) is fixed again, and has a program for each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.graph import substitute
from rewrite.egraph.ir.ops import TensorType

from .core.sameness import same
from .core.signature import exactly, signature
from .xp.complex_dtypes import any_dtype
from .xp.trace import Traced, children, is_tensor, rebuilt
from .xp.tracer import is_array, plain
from .xp.weak import argument

NUMBERS, SIZES = 2, 3  # different values that open a number, and a size

type Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Varied:
    """A call with what is left open: `examples` to trace, and their key."""

    key: Any
    sizes: tuple[int, ...]  # of the symbols, in order
    numbers: frozenset[str]
    examples: tuple[Any, ...]
    exact: tuple[Any, ...]  # with sizes as they are

    @property
    def bound(self) -> dict[str, int]:
        return {_named(i): n for i, n in enumerate(self.sizes)}


class Habits:
    """What one function's arguments have been so far."""

    def __init__(self) -> None:
        self._numbers: set[str] = set()  # places of numbers left open
        self._axes: set[tuple[str, int]] = set()
        self._fixed: set[str] = set()
        self._closed: set[tuple[str, int]] = set()
        self._exact: set[Any] = set()  # keys with sizes that have their own program
        self._values: dict[Any, set[Any]] = {}

    def key(self, args: tuple[Any, ...], names: Names) -> tuple[Any, tuple[int, ...]]:
        """What tells this call from others, and the sizes that it leaves open."""
        sizes: list[int] = []
        key = (len(args), names, tuple([self._part(i, a, sizes) for i, a in
                                        enumerate(args)]))  # fmt: skip
        if not sizes:
            return key, ()
        result = tuple(sizes)
        if (key, result) in self._exact:
            parts = [self._part(i, a, None) for i, a in enumerate(args)]
            return (len(args), names, tuple(parts)), ()
        return key, result

    def _part(self, at: int, arg: Any, sizes: list[int] | None) -> Any:
        if type(arg) is np.ndarray and not self._axes:
            return arg.dtype, arg.shape

        def tensor(place: str, x: Any) -> Any:
            if sizes is None:
                return x.dtype, tuple(x.shape)
            return x.dtype, self._shape(place, x, sizes)

        return signature(arg, str(at), tensor, self._number)

    def _shape(self, place: str, x: Any, sizes: list[int]) -> tuple[Any, ...]:
        """The shape with open sizes by the number of their symbol: equal sizes have
        the same.  Sizes 0 and 1 stay as they are, for they broadcast."""
        out: list[Any] = []
        for axis, n in enumerate(x.shape):
            if (place, axis) not in self._axes or n < 2:
                out.append(n)
                continue
            if n not in sizes:
                sizes.append(n)
            out.append(_named(sizes.index(n)))
        return tuple(out)

    def _number(self, place: str, x: Any) -> Any:
        return cast(Any, type(x)) if place in self._numbers else exactly(place, x)

    # -- learning --

    def learn(self, args: Sequence[Any]) -> None:
        for i, arg in enumerate(args):
            for place, x in _leaves(arg, str(i)):
                if type(x) in (int, float):
                    self._see(place, (place, type(x)), exactly(place, x))
                elif is_tensor(x):
                    shape = plain(x).shape if is_array(x) else x.shape
                    for axis, n in enumerate(shape):
                        self._see_size(place, axis, n, len(shape))

    def _see(self, place: str, key: Any, value: Any) -> None:
        seen = self._values.setdefault(key, set())
        if len(seen) < NUMBERS:
            seen.add(value)
        if len(seen) >= NUMBERS and place not in self._fixed:
            self._numbers.add(place)

    def _see_size(self, place: str, axis: int, n: Any, rank: int) -> None:
        seen = self._values.setdefault((place, axis, rank), set())
        if len(seen) < SIZES and n > 1:
            seen.add(n)
        if len(seen) >= SIZES and (place, axis) not in self._closed:
            self._axes.add((place, axis))

    def fix(self, places: Iterable[str]) -> None:
        """These numbers decide the graph."""
        self._fixed.update(places)
        self._numbers -= self._fixed

    def close(self, varied: Varied) -> None:
        """The sizes of such calls cannot be symbols."""
        if varied.sizes:
            self._closed |= self._axes
            self._axes.clear()

    def exactly(self, varied: Varied) -> None:
        """At these sizes it is another graph."""
        self._exact.add((varied.key, varied.sizes))

    # -- a call to trace --

    def varied(self, args: tuple[Any, ...], names: Names, labels: Names) -> Varied:
        key, sizes = self.key(args, names)
        order = list(sizes)
        numbers: set[str] = set()

        def example(x: Any, place: str, path: tuple[Any, ...], name: str,
                    open_sizes: bool) -> Any:  # fmt: skip
            parts = None if type(x) is np.ndarray else children(x)
            if parts is not None:
                keys = list(cast(Mapping[Any, Any], x)) if isinstance(x, Mapping) else (
                    range(len(x)))  # fmt: skip
                made = [
                    example(part, f"{place}.{n}", (*path, k), f"{name}.{n}", open_sizes)
                    for k, (n, part) in zip(keys, parts, strict=True)
                ]
                return rebuilt(x, made)
            if type(x) in (int, float) and place in self._numbers:
                numbers.add(place)
                return argument(cast(Any, type(x)), place, path, name)
            if open_sizes and order and is_tensor(x):
                shape = self._shape(place, x, order)
                dims = [symbol(d) if isinstance(d, str) else d for d in shape]
                dtype: Any = any_dtype(x.dtype)
                return TensorType(dtype, tuple(dims))
            return x

        def all_of(open_sizes: bool) -> tuple[Any, ...]:
            return tuple(
                example(x, str(i), (i,), labels[i], open_sizes)
                for i, x in enumerate(args)
            )

        examples, exact = all_of(True), all_of(False)
        return Varied(key, sizes, frozenset(numbers), examples, exact)


def _named(i: int) -> str:
    return f"n{i}"


def _leaves(tree: Any, place: str) -> Iterator[tuple[str, Any]]:
    parts = None if type(tree) is np.ndarray else children(tree)
    if parts is None:
        yield place, tree
        return
    for name, part in parts:
        yield from _leaves(part, f"{place}.{name}")


def agrees(symbolic: Traced, exact: Traced, sizes: Mapping[str, int]) -> bool:
    """Whether a graph with symbols is, at these sizes, what tracing gives there."""
    return symbolic.result == exact.result and same(
        substitute(symbolic.graph, sizes), exact.graph
    )
