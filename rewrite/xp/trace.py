"""`trace`: runs array code once on tracers and keeps the graph that it built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import TensorType

from .promote import as_dtype
from .tracer import (
    TraceError,
    Tracer,
    current,
    is_array,
    lift,
    plain,
    refuse_mask,
    tracing,
    wrap,
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of a tensor in a structure of arguments or results."""

    label: str


@dataclass(frozen=True)
class Traced:
    """A graph, and where its inputs and outputs stand in the function's own values.

    `arguments` and `result` are structures like the function's, with a `Leaf` for each
    tensor; what is not a tensor stands there as it was.
    """

    graph: Graph
    arguments: Any
    result: Any


def children(tree: Any) -> Iterator[tuple[str, Any]] | None:
    """The parts of a tuple, list or dict with their names, or None for a leaf."""
    if type(tree) is np.ndarray:  # most leaves are
        return None
    if isinstance(tree, dict | Mapping):
        items = cast(Mapping[Any, Any], tree).items()
        return ((str(k), v) for k, v in items)
    if isinstance(tree, tuple | list):
        parts = cast(Sequence[Any], tree)
        names: Sequence[Any] = getattr(parts, "_fields", range(len(parts)))
        pairs = zip(names, parts, strict=True)
        return ((str(name), part) for name, part in pairs)
    return None


def map_tree(f: Callable[[str, Any], Any], tree: Any, path: str) -> Any:
    """The structure with `f(path, leaf)` at each leaf."""
    if type(tree) is Leaf:
        return f(path, tree)
    parts = children(tree)
    if parts is None:
        return f(path, tree)
    made = [map_tree(f, part, f"{path}.{name}") for name, part in parts]
    if isinstance(tree, Mapping):
        return dict(zip(cast(Mapping[Any, Any], tree), made, strict=True))
    if hasattr(tree, "_fields"):
        return type(tree)(*made)
    return type(tree)(made)


def leaves(tree: Any) -> dict[str, Any]:
    """The tensors of a structure of arguments by their label, arrays as `plain`."""
    found: dict[str, Any] = {}

    def keep(path: str, leaf: Any) -> None:
        if is_tensor(leaf):
            found[path] = plain(leaf) if is_array(leaf) else leaf

    for name, part in cast(Mapping[str, Any], tree).items():
        map_tree(keep, part, name)
    return found


def is_tensor(x: Any) -> bool:
    if type(x) is np.ndarray:
        return True
    refuse_mask(x)
    return is_array(x) or isinstance(x, TensorType | Tracer)


def unique(label: str, taken: Container[str]) -> str:
    """`label`, or the first of label_2, label_3, ... that is not taken."""
    tried = chain((label,), (f"{label}_{i}" for i in count(2)))
    return next(x for x in tried if x not in taken)


def trace(f: Callable[..., Any], *examples: Any, names: Sequence[str] | None = None,
          name: str = "") -> Graph:  # fmt: skip
    """The graph of `f` on arguments like `examples`.

    Arrays give a type; a `TensorType` may have symbolic sizes.  Tuples, lists and dicts
    of them are walked; numbers and all else are handed to `f` as they are.  Inputs are
    called after `names`, or the parameters of `f`, with `.key` for what is inside.
    """
    return trace_tree(f, bind_names(f, examples, names), name).graph


def bind_names(
    f: Callable[..., Any], examples: Sequence[Any], names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The arguments by name: `names`, or the parameters of `f`."""
    found = list(names) if names is not None else _parameters(f, len(examples))
    if len(found) != len(examples) or len(set(found)) != len(found):
        raise TraceError(
            f"{len(examples)} different names expected for the arguments, found {found}"
        )
    return dict(zip(found, examples, strict=True))


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:  # a builtin without a signature
        parameters = ()
    names = [p.name for p in parameters if p.kind in positional][:count]
    for i in range(len(names), count):
        names.append(unique(f"arg{i}", names))
    return names


def trace_tree(
    f: Callable[..., Any], arguments: Mapping[str, Any], name: str = ""
) -> Traced:
    """Traces `f` on positional arguments that are named for the graph."""
    builder = Builder(name or getattr(f, "__name__", "graph"))
    with tracing(builder):
        places = {k: map_tree(_as_leaf, v, k) for k, v in arguments.items()}
        tracers = [map_tree(_as_input, v, k) for k, v in arguments.items()]
        result = f(*tracers)
        outputs: dict[str, int] = {}

        def output(path: str, leaf: Any) -> Any:
            if leaf is None or isinstance(leaf, str):
                return leaf
            label = path.removeprefix(".") or "out0"
            label = f"out{label}" if label[0].isdigit() else label
            label = unique(label, outputs)
            outputs[label] = lift(leaf).node
            return Leaf(label)

        structure = map_tree(output, result, "")
    return Traced(builder.build(outputs), places, structure)


def _as_leaf(path: str, leaf: Any) -> Any:
    return Leaf(path) if is_tensor(leaf) else leaf


def _as_input(path: str, leaf: Any) -> Any:
    if not is_tensor(leaf):
        return leaf
    t = _type_of(path, leaf)
    return wrap(current().input(path, t.dtype, t.shape))


def _type_of(path: str, leaf: Any) -> TensorType:
    if isinstance(leaf, Tracer):
        return leaf.type
    if not isinstance(leaf, TensorType):
        array = plain(leaf)
        return TensorType(as_dtype(array.dtype), array.shape)
    found: Any = leaf.dtype
    if not isinstance(found, DType):
        raise TraceError(
            f"argument {path!r}: the dtype of a TensorType is one of rewrite's, such "
            f"as xp.float32, found {found!r}"
        )
    return leaf
