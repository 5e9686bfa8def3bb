"""NumPy's functions called on traced arrays: `np.exp(x)`, `np.sum(x, axis=0)`, ...

A universal function goes by its name, other functions by `numpy_functions`.  What the
namespace has not is an error that says what there is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from . import numpy_functions, numpy_linalg
from .building import apart
from .complex.dispatch import holds_complex
from .errors import TraceError, instead_of
from .functions.running import running
from .operators import functions, public
from .pair import operand
from .tracer import Tracer

FUNCTIONS = numpy_functions.FUNCTIONS | numpy_linalg.FUNCTIONS
# Universal functions whose name is another in the namespace.
_UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "conjugate": "conj", "fabs": "abs",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "power": "pow",
    "right_shift": "bitwise_right_shift", "rint": "round",
}  # fmt: skip
_REDUCTIONS = {
    "add": "sum", "logical_and": "all", "logical_or": "any", "maximum": "max",
    "minimum": "min", "multiply": "prod",
}  # fmt: skip
# Functions that know no complex numbers; what stands before their names.
_RAW = {
    f"{numpy_functions.__package__}.functions.{name}": prefix
    for name, prefix in (
        ("elementwise", ""), ("linear", ""), ("manipulation", ""), ("creation", ""),
        ("linalg", "linalg."), ("fft", "fft."),
    )
}  # fmt: skip
_FLAT = {"any": "max", "all": "min"}  # of running folds


def array_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """NumPy's protocol: a universal function, or a method of one, of traced arrays."""
    name = ufunc.__name__
    said = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    if keywords.pop("out", None) is not None:
        _no_out(said)
    if method == "reduce" and name in _REDUCTIONS:
        return _reduce(said, _REDUCTIONS[name], inputs[0], keywords)
    if method == "accumulate" and name in _REDUCTIONS:
        return _accumulate(said, _REDUCTIONS[name], inputs[0], keywords)
    ours = functions.get(_UFUNCS.get(name, name))
    if ours is None or method not in ("__call__", "outer"):
        _unknown(said, name)
    taken = {"axis"} if name == "vecdot" else set[str]()
    _only(said, keywords, taken)
    if method == "outer":
        a, b = map(operand, inputs)
        inputs = public.reshape(a, (*a.shape, *(1,) * b.ndim)), b
    return ours(*inputs, **keywords)


def _reduce(said: str, name: str, x: Any, keywords: dict[str, Any]) -> Any:
    widens = name in ("sum", "prod")
    _only(said, keywords, {"axis", "keepdims"} | ({"dtype"} if widens else set()))
    return functions[name](x, **{"axis": 0, **keywords})


def _accumulate(said: str, name: str, x: Any, keywords: dict[str, Any]) -> Any:
    _only(said, keywords, {"axis"} | ({"dtype"} if name in ("sum", "prod") else set()))
    x = operand(x)
    if name in ("any", "all"):
        x = x != 0
    axis, dtype = keywords.get("axis", 0), keywords.get("dtype")
    if not isinstance(x, Tracer):
        return functions[f"cumulative_{name}"](x, axis=axis, dtype=dtype)
    return running(_FLAT.get(name, name), x, axis, dtype)


def array_function(
    f: Callable[..., Any], _: Any, args: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """NumPy's protocol: any of its other functions."""
    module = f.__module__.removeprefix("numpy").removeprefix(".")
    said = f"np.{module}.{f.__name__}" if module else f"np.{f.__name__}"
    if f not in FUNCTIONS:
        _unknown(said, f.__name__)
    ours = FUNCTIONS[f]
    given = {k: v for k, v in keywords.items() if v is not np._NoValue}  # pyright: ignore
    if given.pop("out", None) is not None:
        _no_out(said)
    try:
        bound = inspect.signature(ours).bind(*args, **given)
    except TypeError as e:
        raise TraceError(f"{said} of a traced array: {e}; it takes "
                         f"{_parameters(ours)}") from None  # fmt: skip
    if bound.arguments.get("out") is not None:
        _no_out(said)
    if ours.__module__ in _RAW and holds_complex(args, given):
        part = f"{_RAW[ours.__module__]}{ours.__name__}"
        ours = functions[part]
    return apart(ours)(*bound.args, **bound.kwargs)


def _parameters(f: Callable[..., Any]) -> str:
    """The names in a signature, without types."""
    known = inspect.signature(f)
    plain = [p.replace(annotation=p.empty) for p in known.parameters.values()]
    return str(known.replace(parameters=plain, return_annotation=known.empty))


def _only(said: str, keywords: Mapping[str, Any], taken: set[str]) -> None:
    more = sorted(set(keywords) - taken)
    if more:
        raise TraceError(f"{said} of a traced array takes no {more[0]}=: use xp.where "
                         "for where=, xp.astype for dtype=")  # fmt: skip


def _no_out(said: str) -> NoReturn:
    raise TraceError(f"{said}: out= would write to an array, and arrays in a trace are "
                     "values: write x = .., and pass out= to the optimized function"
                     )  # fmt: skip


def _unknown(said: str, name: str) -> NoReturn:
    hint = instead_of(name, functions)
    raise TraceError(
        f"{said} of a traced array: rewrite.xp has no such function: {hint}"
    )
