"""Where a function found what it read beside its arguments, to be read again.

A `Spot` says how to get there: from the arguments, from the function, or from an object
that stays (a cell, a dict of globals).  `Captured` gets there at each call, in one
pass, and compares what decides about the graph with what was found first.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType, NoneType
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dtypes import spelled

_ATOMS = (int, float, complex, bool, str, bytes, NoneType, EllipsisType)
_GONE = (AttributeError, LookupError, ValueError, TypeError)


class Spot:
    """`get(base, key)`; the base is a spot itself, or an object that stays."""

    __slots__ = ("at", "base", "get", "key", "name")

    def __init__(
        self, get: Callable[[Any, Any], Any] | None, base: Any, key: Any, name: str
    ) -> None:
        """Without `get` it is the base itself."""
        self.get, self.base, self.key, self.name = get, base, key, name
        self.at = 0  # among the values that are read, once all spots are known


ARGUMENTS = Spot(None, None, None, "arguments")  # of the call, as a sequence


def is_data(value: Any) -> bool:
    """Numbers, text and plain structures of them: known by what they are."""
    kind = cast(type[Any], type(value))
    if kind in _ATOMS:
        return True
    if kind is dict:
        return all(is_data(k) and is_data(v) for k, v in value.items())
    return kind in (list, tuple, set, frozenset) and all(map(is_data, value))


def as_bytes(value: Any) -> bytes:
    """Equal where values are, with their types, signs of zeros and NaNs."""
    return marshal.dumps(value, 2)  # this version writes nothing but the values


def _is_simple(value: Any) -> bool:
    """Whether `==` between values of its type tells all."""
    kind = cast(type[Any], type(value))
    return kind in (int, bool, str, bytes, NoneType) or (
        kind is float and value == value and value != 0
    )


class Reads:
    """Notes of one trace."""

    def __init__(self) -> None:
        self.arrays: list[tuple[Spot, str, Any, tuple[int, ...]]] = []
        self.tests: list[tuple[Spot, str, Any]] = []

    def expect_data(self, spot: Spot, value: Any) -> None:
        if spot.get is not None:
            if _is_simple(value):
                self.tests.append((spot, "equal", value))
            else:
                self.tests.append((spot, "data", as_bytes(value)))

    def expect_identity(self, spot: Spot, value: Any) -> None:
        if spot.get is not None:
            self.tests.append((spot, "is", value))

    def expect_type(self, spot: Spot, value: Any) -> None:
        if spot.get is not None:
            self.tests.append((spot, "type", cast(Any, type(value))))

    def expect_shape(self, spot: Spot, value: Any) -> None:
        """Of a list, tuple or dict whose parts are followed one by one."""
        self.expect_type(spot, value)
        if isinstance(value, dict):
            self.tests.append((spot, "keys", tuple(cast(Iterable[Any], value))))
        else:
            self.tests.append((spot, "length", len(value)))

    def expect_same(self, first: Spot, spot: Spot) -> None:
        if first.get is not None and spot is not first:
            self.tests.append((spot, "same", first))
        elif spot.get is not None:
            self.tests.append((spot, "is", first.base))

    def expect_array(self, spot: Spot, label: str, value: Any) -> None:
        self.arrays.append((spot, label, value.dtype, value.shape))

    def finish(self) -> Captured:
        return Captured(self.arrays, self.tests)


class Captured:
    """What a traced function depends on beside the arrays among its arguments."""

    def __init__(
        self,
        arrays: Sequence[tuple[Spot, str, Any, tuple[int, ...]]] = (),
        tests: Sequence[tuple[Spot, str, Any]] = (),
    ) -> None:
        """Arrays by spot, label, dtype and shape; tests by spot and kind."""
        self._order: dict[int, int] = {id(ARGUMENTS): 0}
        self._fixed: list[tuple[Any, Any, Any]] = []
        self._steps: list[tuple[Any, int, Any]] = []
        spots = [*(a[0] for a in arrays), *(t[0] for t in tests),
                 *(t[2] for t in tests if t[1] == "same")]  # fmt: skip
        chain = [s for spot in spots for s in _chain(spot)]
        for s in chain:  # those that need no other come first
            if _is_fixed(s):
                self._place(s, self._fixed, _stays(s.base))
        for s in chain:
            if not _is_fixed(s):
                self._place(s, self._steps, self._order[id(s.base)])
        self.arrays = [(self._order[id(s)], k, d, n) for s, k, d, n in arrays]
        self.labels = tuple(label for _, label, *_ in self.arrays)
        by_kind: dict[str, list[tuple[int, Any]]] = {}
        for spot, kind, expected in tests:
            wanted = self._order[id(expected)] if kind == "same" else expected
            by_kind.setdefault(kind, []).append((self._order[id(spot)], wanted))
        self._by_kind, self._arrays, self._tests = by_kind, arrays, tests
        self.names = {self._order[id(s)]: s.name for s in spots}
        self._equal = [(i, cast(Any, type(x)), x) for i, x in by_kind.get("equal", ())]
        self._is, self._type = by_kind.get("is", []), by_kind.get("type", [])
        common = ("equal", "is", "type")
        self._rarer = [
            (kind, i, x)
            for kind in sorted(by_kind.keys() - common)
            for i, x in by_kind[kind]
        ]

    def __bool__(self) -> bool:
        return bool(self.arrays or self._by_kind)

    def _place(self, spot: Spot, among: list[tuple[Any, Any, Any]], base: Any) -> None:
        if id(spot) not in self._order:
            among.append((spot.get, base, spot.key))
            self._order[id(spot)] = spot.at = len(self._order)

    def read(self, args: Sequence[Any]) -> list[Any] | None:
        """What stands in each place now; None: there is no such place any more."""
        values: list[Any] = [args]
        add = values.append
        try:
            for get, base, key in self._fixed:
                add(get(base, key))
            for get, at, key in self._steps:
                add(get(values[at], key))
        except _GONE:
            return None
        return values

    def holds(self, values: Sequence[Any]) -> bool:
        """Whether all that decides about the graph is what it was."""
        for i, _, dtype, shape in self.arrays:
            a = values[i]
            same = type(a) is np.ndarray and a.dtype is dtype and a.shape == shape
            if not same and not _alike(a, dtype, shape):
                return False
        for i, expected in self._is:
            if values[i] is not expected:
                return False
        for i, kind in self._type:
            if type(values[i]) is not kind:
                return False
        for i, kind, expected in self._equal:
            x = values[i]
            if x is not expected and (type(x) is not kind or x != expected):
                return False
        return all(_holds(kind, values, i, x) for kind, i, x in self._rarer)

    def only_numbers_differ(self, values: Sequence[Any]) -> list[str]:
        """The places of numbers that changed, where nothing else did."""
        names: list[str] = []
        arrays = all(_alike(values[i], d, s) for i, _, d, s in self.arrays)
        for kind, tests in self._by_kind.items():
            for i, expected in tests:
                if _holds(kind, values, i, expected):
                    continue
                if not arrays or kind not in ("equal", "data"):
                    return []
                was = expected if kind == "equal" else marshal.loads(expected)
                if type(was) not in (int, float) or type(values[i]) is not type(was):
                    return []
                names.append(self.names[i])
        return names if arrays else []

    def unchanged(self, args: Sequence[Any]) -> Captured:
        """Without the tests of what the function itself has changed by its tracing."""
        values = self.read(args)
        if values is None or self.holds(values):
            return self

        def holds(spot: Spot, kind: str, expected: Any) -> bool:
            wanted = self._order[id(expected)] if kind == "same" else expected
            return _holds(kind, values, self._order[id(spot)], wanted)

        return Captured(self._arrays, [t for t in self._tests if holds(*t)])

    def changed(self, values: Sequence[Any] | None) -> str:
        """The first place that is not what it was, in words."""
        if values is None:
            return "something that it read is not there any more"
        for i, label, dtype, shape in self.arrays:
            if not _alike(values[i], dtype, shape):
                was = f"{dtype}{list(shape)}"
                now: Any = values[i]
                if hasattr(now, "dtype"):
                    now = f"{spelled(now.dtype)}{list(now.shape)}"
                return f"{label} was {was} and is {now}"
        for kind, tests in self._by_kind.items():
            for i, expected in tests:
                if not _holds(kind, values, i, expected):
                    was = f" was {expected!r} and is" if kind == "equal" else " is now"
                    return f"{self.names[i] or 'a value'}{was} {values[i]!r}"
        return "something that it read has changed"

    def inputs(self, values: Sequence[Any]) -> dict[str, Any]:
        return {label: values[i] for i, label, _, _ in self.arrays}


def _alike(a: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    if not isinstance(a, np.ndarray | np.generic):
        return False
    array = cast(Any, a)
    return bool(array.dtype == dtype and array.shape == shape)


def _holds(kind: str, values: Sequence[Any], i: int, expected: Any) -> bool:
    """One test, as `Captured.holds` makes them all."""
    x = values[i]
    match kind:
        case "is":
            return x is expected
        case "same":
            return x is values[expected]
        case "type":
            return type(x) is expected
        case "length":
            return hasattr(x, "__len__") and len(x) == expected
        case "keys":
            return isinstance(x, dict) and tuple(cast(Any, x)) == expected
        case "data":
            return is_data(x) and as_bytes(x) == expected
        case _:
            return type(x) is type(expected) and x == expected


def _stays(base: Any) -> Any:
    return base.base if isinstance(base, Spot) else base


def _is_fixed(spot: Spot) -> bool:
    """Whether it is found without the arguments and without another spot."""
    base = spot.base
    return not isinstance(base, Spot) or (base.get is None and base is not ARGUMENTS)


def _chain(spot: Spot) -> list[Spot]:
    """A spot after those that lead to it."""
    result: list[Spot] = []
    at: Any = spot
    while isinstance(at, Spot) and at.get is not None:
        result.append(at)
        at = at.base
    return result[::-1]


__all__ = ["ARGUMENTS", "Captured", "Reads", "Spot", "is_data"]
