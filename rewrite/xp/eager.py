"""Functions of the namespace on arrays that are there: outside any trace.

The call is traced by itself and its small graph evaluated by the reference: what a
function means is written once, and its result has the dtype, the shape and the values
that the graph has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array

from .building import apart
from .errors import TraceError
from .trace import rebuilt
from .tracer import Tracer, is_tracing, tracing


def eager(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, which builds nodes, under its public name: where no graph is being built it
    gives NumPy arrays."""

    traced = apart(f)

    @functools.wraps(f)
    def call(*args: Any, **keywords: Any) -> Any:
        if is_tracing():
            return traced(*args, **keywords)
        return _run(name, f, args, keywords)

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    return call


def _run(
    name: str, f: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    builder = Builder(name)
    with tracing(builder):
        result = f(*args, **keywords)
    made = _tracers(result)
    graph = builder.build([x.node for x in made])
    if graph.symbols:
        raise TraceError(f"xp.{name}: the size {graph.symbols[0]} has no value outside "
                         "a trace: take it from the shape of an array")  # fmt: skip
    given = list(graph.data.values())
    arrays = [_own(a, given) for a in evaluate(graph, {}).values()]
    if isinstance(result, Tracer):
        return _shared(name, args, keywords, arrays[0])
    return rebuilt(result, arrays) if made else result


def _tracers(result: Any) -> list[Tracer]:
    if isinstance(result, Tracer):
        return [result]
    if isinstance(result, list | tuple):
        return [x for x in cast(Sequence[Any], result) if isinstance(x, Tracer)]
    return []


def _shared(
    name: str, args: Sequence[Any], keywords: Mapping[str, Any], made: Array
) -> Any:
    """The argument itself, or a view of it, where the function gives that in a trace
    as well: `copy` says whether it does."""
    x = args[0] if args else None
    whole = type(x) is np.ndarray and x.dtype.isnative and x.dtype == made.dtype
    copy = keywords.get("copy", name == "astype" or None)
    if name == "reshape" and copy is False:
        return _view(cast(Array, x) if whole else made.copy(), made.shape, x)
    return x if whole and not copy and name in ("asarray", "astype") else made


def _view(x: Array, shape: tuple[int, ...], of: Any) -> Array:
    view = x.reshape(shape)
    if view.size and not (x is of and np.may_share_memory(view, x)):
        raise ValueError("reshape makes a copy of this array: copy=None allows it")
    return view


def _own(value: Array, given: Sequence[Array]) -> Array:
    """The array for the caller alone, who may write to it."""
    whole = value.base is None and value.flags.writeable
    return value if whole and all(value is not a for a in given) else value.copy()
