"""Functions of the namespace on arrays that are there: outside any trace.

The call is traced by itself and its small graph evaluated by the reference: what a
function means is written once, and its result has the dtype, the shape and the values
that the graph has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array

from .building import apart
from .complex.dispatch import holds_complex, of_pairs
from .errors import TraceError
from .pair import joined, tracers_in
from .trace import rebuilt
from .tracer import is_tracing, tracing


def eager(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, which builds nodes, under its public name: where no graph is being built it
    gives NumPy arrays."""

    traced = apart(f)

    @functools.wraps(f)
    def call(*args: Any, **keywords: Any) -> Any:
        if holds_complex(args, keywords):
            own = of_pairs(name)
            return (
                apart(own)(*args, **keywords)
                if is_tracing()
                else (_run(name, own, args, keywords))
            )
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
    several = isinstance(result, list | tuple)
    made = cast(Sequence[Any], result) if several else [result]
    graph = builder.build([x.node for part in made for x in tracers_in(part)])
    if graph.symbols:
        raise TraceError(f"xp.{name}: the size {graph.symbols[0]} has no value outside "
                         "a trace: take it from the shape of an array")  # fmt: skip
    given = list(graph.data.values())
    found = iter([_own(a, given) for a in evaluate(graph, {}).values()])
    arrays = [_filled(part, found) for part in made]
    if several:
        return rebuilt(result, arrays)
    return _shared(name, args, keywords, arrays[0])


def _filled(part: Any, found: Iterator[Array]) -> Any:
    """The arrays of a part of the result; what is no array as it is."""
    arrays = [next(found) for _ in tracers_in(part)]
    return joined(*arrays) if len(arrays) == 2 else arrays[0] if arrays else part


def _shared(
    name: str, args: Sequence[Any], keywords: Mapping[str, Any], made: Any
) -> Any:
    """The argument itself, or a view of it, where the function gives that in a trace
    as well: `copy` says whether it does."""
    x = args[0] if args else None
    whole = (
        type(x) is np.ndarray
        and x.dtype.isnative
        and (x.dtype == getattr(made, "dtype", None))
    )
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
