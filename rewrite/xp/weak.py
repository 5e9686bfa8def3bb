"""Python numbers that a traced function takes as inputs.

A `Number` promotes as the Python number it stands for: it adopts the dtype of the
arrays that it meets.  Arithmetic among such numbers stays Python's own and is repeated
at each call.  Where its value is needed to go on (`if`, `range`, shapes, axes, math),
`NeedsValue` says which argument that was, and it is traced as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, cast

import numpy as np

from rewrite.egraph.ir.dtypes import DType

from .tracer import TraceError, lift

type Read = Callable[[Sequence[Any], Sequence[Any]], Any]  # of arguments, of captures


_needed_now: ContextVar[set[str] | None] = ContextVar("needed", default=None)


class NeedsValue(TraceError):
    """The graph depends on the value of these numbers among the arguments."""

    def __init__(self, paths: frozenset[str]) -> None:
        super().__init__(f"the value of {', '.join(sorted(paths))} decides the graph")
        self.paths = paths


@contextmanager
def noticing() -> Generator[None]:
    """NeedsValue at the end where a value was needed, whoever caught the first one."""
    needed: set[str] = set()
    token = _needed_now.set(needed)
    try:
        yield
    finally:
        _needed_now.reset(token)
        if needed:
            raise NeedsValue(frozenset(needed))


def _need(paths: frozenset[str]) -> NoReturn:
    result = _needed_now.get()
    if result is not None:
        result.update(paths)
    raise NeedsValue(paths)


_python: Any = operator


def _operation(op: Callable[[Any, Any], Any], swap: bool = False) -> Any:
    def f(self: Number, other: Any) -> Any:
        if type(other) is Number or type(other) in (int, float, bool):
            a, b = (other, self) if swap else (self, other)
            return Number.of(op, a, b)
        if isinstance(other, np.ndarray | np.generic):
            array = lift(other)
            return op(array, self) if swap else op(self, array)
        return NotImplemented

    return f


class Number:
    """A Python int or float whose value comes with each call."""

    __array_ufunc__ = None  # NumPy arrays leave operators to it

    def __init__(
        self, kind: type, paths: frozenset[str], value: Read, name: str = "number"
    ) -> None:
        """`paths` are what it is made of, as the caller knows these."""
        self._kind, self.paths, self.value, self.name = kind, paths, value, name

    @staticmethod
    def of(op: Callable[..., Any], *parts: Any) -> Number:
        """The result of an operator, of the type that Python's would have."""
        kinds = [x._kind if type(x) is Number else type(x) for x in parts]
        ones = [kind(1) for kind in kinds]
        paths = frozenset[str]().union(*(x.paths for x in parts if type(x) is Number))
        values = [_value_of(x) for x in parts]

        def value(args: Sequence[Any], captured: Sequence[Any]) -> Any:
            return op(*[v(args, captured) for v in values])

        return Number(cast(Any, type(op(*ones))), paths, value)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Of what it stands for: `isinstance(x, float)` goes on to say so."""
        return self._kind

    def _needed(self, *_: Any) -> NoReturn:
        _need(self.paths)

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _needed
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _needed
    __hash__ = __str__ = __format__ = __round__ = __trunc__ = _needed
    __floor__ = __ceil__ = __array__ = __pow__ = __rpow__ = _needed

    def __repr__(self) -> str:
        return f"Number({', '.join(sorted(self.paths))})"

    __add__, __radd__ = _operation(_python.add), _operation(_python.add, True)
    __sub__, __rsub__ = _operation(_python.sub), _operation(_python.sub, True)
    __mul__, __rmul__ = _operation(_python.mul), _operation(_python.mul, True)
    __truediv__ = _operation(_python.truediv)
    __rtruediv__ = _operation(_python.truediv, True)
    __floordiv__ = _operation(_python.floordiv)
    __rfloordiv__ = _operation(_python.floordiv, True)
    __mod__, __rmod__ = _operation(_python.mod), _operation(_python.mod, True)

    def __neg__(self) -> Number:
        return Number.of(operator.neg, self)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number.of(abs, self)

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._kind, name):  # x.is_integer(), x.real
            self._needed()
        raise AttributeError(f"{self._kind.__name__!r} object has no {name!r}")


def _value_of(x: Any) -> Read:
    def same(_: Sequence[Any], __: Sequence[Any]) -> Any:
        return x

    return x.value if type(x) is Number else same


def argument(kind: type, known_as: str, path: Sequence[Any], name: str) -> Number:
    """The number at a place among the arguments."""

    def value(args: Sequence[Any], _: Sequence[Any]) -> Any:
        result: Any = args
        for step in path:
            result = result[step]
        return result

    return Number(kind, frozenset({known_as}), value, name)


def as_array(value: Any, dtype: DType) -> Any:
    """A number as an input of the graph, rounded as a constant would be."""
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return np.asarray(float(value), np.float64).astype(dtype.numpy)
    return np.asarray(value, dtype.numpy)


__all__ = ["NeedsValue", "Number", "Read", "argument", "as_array", "noticing"]
