"""JAX as this front end sees it: jaxprs, their equations and values."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dtypes import BY_NAME
from rewrite.egraph.ir.ops import TensorType

try:
    jax: Any = importlib.import_module("jax")
except ImportError as e:
    raise ImportError("rewrite.jax needs JAX: pip install 'rewrite[jax]'") from e

core: Any = importlib.import_module("jax.extend.core")
primitives: Any = importlib.import_module("jax.extend.core.primitives")
lax: Any = jax.lax

type Jaxpr = Any  # open or closed
type Equation = Any
type Aval = Any

_TYPES = {d.numpy: d for d in BY_NAME.values()}

# Equations that stand for the equations of another jaxpr, and the parameter it is.
# A derivative that somebody wrote is that of the whole (`altered`).
INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
}  # fmt: skip
# Jaxprs that are run by an equation, by the parameters that hold them.
BODIES = {
    "scan": ("jaxpr",), "while": ("cond_jaxpr", "body_jaxpr"), "cond": ("branches",),
}  # fmt: skip
# Equations whose derivative is not that of what they compute.
ALTERING = frozenset(
    ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "stop_gradient",
     "custom_lin", "custom_transpose_call", "linear_call")
)  # fmt: skip


def type_of(aval: Aval) -> TensorType | None:
    """None: not a tensor of numbers (a key, an abstract token)."""
    dtype = getattr(aval, "dtype", None)
    if dtype is None or not isinstance(dtype, np.dtype) or dtype not in _TYPES:
        return None
    return TensorType(_TYPES[dtype], tuple(map(int, aval.shape)))


def opened(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """The open jaxpr and its constants."""
    if isinstance(jaxpr, core.ClosedJaxpr) and hasattr(jaxpr, "jaxpr"):
        return jaxpr.jaxpr, list(jaxpr.consts)
    return jaxpr, []


def inlined(eqn: Equation) -> Jaxpr | None:
    """The jaxpr that an equation stands for, where it is no more than that."""
    name = INLINED.get(eqn.primitive.name)
    if name is None or name not in eqn.params or eqn.params[name].effects:
        return None
    if name == "jaxpr" and not _unplaced(eqn.params):
        return None
    return eqn.params[name]


def _unplaced(params: dict[str, Any]) -> bool:
    """Whether a jit says nothing of devices."""
    asked = [s for k in ("in_shardings", "out_shardings") for s in params.get(k, ())]
    return all(type(s).__name__ == "UnspecifiedValue" for s in asked)


def bodies(eqn: Equation) -> Iterator[tuple[str, Jaxpr]]:
    for name in BODIES.get(eqn.primitive.name, ()):
        yield from ((name, jaxpr) for jaxpr in several(eqn.params[name]))


def several(value: Any) -> Sequence[Any]:
    """A parameter that may hold one thing or many."""
    return cast(Sequence[Any], value) if isinstance(value, tuple | list) else (value,)


def within(jaxpr: Jaxpr) -> Iterator[Equation]:
    """All equations, those of jaxprs in parameters too."""
    for eqn in opened(jaxpr)[0].eqns:
        yield eqn
        for value in eqn.params.values():
            for inner in several(value):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    yield from within(inner)


def altered(jaxpr: Jaxpr) -> bool:
    """Whether a derivative is not that of what is computed."""
    return any(e.primitive.name in ALTERING for e in within(jaxpr))


def is_literal(atom: Any) -> bool:
    return isinstance(atom, core.Literal)
