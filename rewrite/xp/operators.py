"""What Python's operators and NumPy's methods do to a traced array.

Each is a function of the namespace, found by name in `functions`: the modules that
define them work on tracers themselves, so that this one cannot import them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn, Self

from .errors import INSTEAD, TraceError, instead_of

functions: dict[str, Callable[..., Any]] = {}  # the package fills it
"""The functions of `rewrite.xp` by name, and `__getitem__` and the like."""


class _Public:
    """The functions of the namespace as attributes, looked up when they are called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functions[name]


public = _Public()

_LAYOUT = "how an array lies in memory is not known in a trace"
_VALUES = "its values are not known in a trace: return the array"
_ATTRIBUTES = {
    "base": _LAYOUT, "ctypes": _LAYOUT, "data": _LAYOUT, "flags": _LAYOUT,
    "itemsize": _LAYOUT, "nbytes": _LAYOUT, "strides": _LAYOUT, "view": _LAYOUT,
    "item": _VALUES, "tobytes": _VALUES, "tolist": _VALUES, "numpy": _VALUES,
    "fill": "arrays are values: use xp.full_like(x, value)",
    "flat": "use xp.reshape(x, -1)",
}  # fmt: skip


def _no_value(what: str, instead: str) -> NoReturn:
    raise TraceError(
        f"{what} needs the array's values, which are not known while the graph is "
        f"traced: {instead}"
    )


def _call(name: str, *args: Any, **keywords: Any) -> Any:
    return functions[name](*args, **keywords)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    op: Callable[[Any, Any], Any] = getattr(operator, name)

    def f(self: Any, other: Any) -> Any:
        return _call("__updated__", self, op(self, other))

    return f


class Operators:
    """The part of a traced array that looks like a NumPy array."""

    __slots__ = ()

    # -- what needs values --

    def __bool__(self) -> NoReturn:
        _no_value("'if', 'while', 'and', 'or', 'not'", "use xp.where(c, a, b), &, |, "
                  "~; xp.cond and xp.while_loop run functions as values say; or pass a "
                  "flag as a Python bool, not as an array")  # fmt: skip

    def __float__(self) -> NoReturn:
        _no_value("float(x)", "keep it an array, xp.astype(x, xp.float64) converts; or "
                  "pass it as a Python number")  # fmt: skip

    def __int__(self) -> NoReturn:
        _no_value("int(x)", "keep it an array, xp.astype(x, xp.int64) converts; or "
                  "pass it as a Python number")  # fmt: skip

    def __complex__(self) -> NoReturn:
        _no_value("complex(x)", "keep it an array, xp.astype(x, xp.complex64) makes "
                  "it complex; or pass it as a Python number")  # fmt: skip

    def __index__(self) -> NoReturn:
        _no_value("a Python index", "use x[i] or xp.take(x, i, axis=..) with an array "
                  "i; or pass it as a Python number")  # fmt: skip

    def __contains__(self, value: Any) -> NoReturn:
        _no_value("'in'", "xp.any(x == value) is an array that tells")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _no_value("a NumPy array", "call the function of rewrite.xp with this name "
                  "instead, xp.asarray for np.array; fill arrays of xp.zeros, not of "
                  "np.zeros; x.filled(v) makes a plain array of a masked one"
                  )  # fmt: skip

    def __format__(self, spec: str) -> str:
        if spec:
            _no_value(f"the format {spec!r}", "print what the function returns")
        return repr(self)

    # -- in place --

    def __setitem__(self, key: Any, value: Any) -> None:
        _call("__setitem__", self, key, value)

    __iadd__ = _in_place("add")
    __isub__ = _in_place("sub")
    __imul__ = _in_place("mul")
    __itruediv__ = _in_place("truediv")
    __ifloordiv__ = _in_place("floordiv")
    __imod__ = _in_place("mod")
    __ipow__ = _in_place("pow")
    __imatmul__ = _in_place("matmul")
    __iand__ = _in_place("and_")
    __ior__ = _in_place("or_")
    __ixor__ = _in_place("xor")
    __ilshift__ = _in_place("lshift")
    __irshift__ = _in_place("rshift")

    # -- what is not there --

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # probes of protocols
            raise AttributeError(name)
        if name in _ATTRIBUTES:
            hint = _ATTRIBUTES[name]
        elif name in functions and name not in INSTEAD:
            hint = f"use xp.{name}(x)"
        elif f"nn.{name}" in functions:
            hint = f"use xp.nn.{name}(x)"
        else:
            hint = instead_of(name, (n for n in dir(type(self)) if n[0] != "_"))
        raise AttributeError(f"a traced array has no {name!r}: {hint}", name=name)

    # -- other libraries --

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return _call("__array_namespace__")

    def __array_ufunc__(self, *args: Any, **keywords: Any) -> Any:
        return _call("__array_ufunc__", *args, **keywords)

    def __array_function__(self, *args: Any) -> Any:
        return _call("__array_function__", *args)

    # -- arithmetic --

    def __getitem__(self, key: Any) -> Self:
        return _call("__getitem__", self, key)

    def __add__(self, other: Any) -> Self:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Self:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Self:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Self:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Self:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Self:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Self:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return _call("divide", other, self)

    def __floordiv__(self, other: Any) -> Self:
        return _call("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Self:
        return _call("floor_divide", other, self)

    def __mod__(self, other: Any) -> Self:
        return _call("remainder", self, other)

    def __rmod__(self, other: Any) -> Self:
        return _call("remainder", other, self)

    def __divmod__(self, other: Any) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Self, Self]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Self:
        return _call("pow", self, other)

    def __rpow__(self, other: Any) -> Self:
        return _call("pow", other, self)

    def __matmul__(self, other: Any) -> Self:
        return _call("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Self:
        return _call("matmul", other, self)

    def __neg__(self) -> Self:
        return _call("negative", self)

    def __pos__(self) -> Self:
        return _call("positive", self)

    def __abs__(self) -> Self:
        return _call("abs", self)

    # -- bits and comparisons --

    def __invert__(self) -> Self:
        return _call("bitwise_invert", self)

    def __and__(self, other: Any) -> Self:
        return _call("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Self:
        return _call("bitwise_and", other, self)

    def __or__(self, other: Any) -> Self:
        return _call("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Self:
        return _call("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Self:
        return _call("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Self:
        return _call("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Self:
        return _call("bitwise_left_shift", self, other)

    def __rlshift__(self, other: Any) -> Self:
        return _call("bitwise_left_shift", other, self)

    def __rshift__(self, other: Any) -> Self:
        return _call("bitwise_right_shift", self, other)

    def __rrshift__(self, other: Any) -> Self:
        return _call("bitwise_right_shift", other, self)

    def __lt__(self, other: Any) -> Self:
        return _call("less", self, other)

    def __le__(self, other: Any) -> Self:
        return _call("less_equal", self, other)

    def __gt__(self, other: Any) -> Self:
        return _call("greater", self, other)

    def __ge__(self, other: Any) -> Self:
        return _call("greater_equal", self, other)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return _call("equal", self, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return _call("not_equal", self, other)

    __hash__ = object.__hash__
