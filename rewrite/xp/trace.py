"""`trace`: runs array code once on tracers and keeps the graph that it built."""

from __future__ import annotations

import functools
import inspect
from collections.abc import (
    Callable,
    Container,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from itertools import chain, count
from operator import getitem
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Poly
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import TensorType

from .building import TraceBuilder
from .captured import Capture, is_read_apart
from .pair import ComplexTracer, is_complex_array, joined, parts_of
from .promote import as_dtype
from .reads import ARGUMENTS, Captured, Spot, is_data
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
from .weak import Number, noticing


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of a tensor in a structure of arguments or results."""

    label: str


@dataclass(frozen=True, slots=True)
class Apart:
    """The place of an object among the arguments, which is known by its class and what
    is read of it; the object itself is not kept."""

    kind: type[Any]


@dataclass(frozen=True)
class Traced:
    """A graph, and where its inputs and outputs stand in the function's own values.

    `arguments` and `result` are structures like the function's, with a `Leaf` for each
    tensor; what is not a tensor stands there as it was.  `captured` is what else the
    function reads.  Inputs that it updates in place have an alias that must be.
    """

    graph: Graph
    arguments: Any
    result: Any
    captured: Captured = field(default_factory=Captured)
    numbers: tuple[tuple[str, Number, DType], ...] = ()  # inputs, by label


def children(tree: Any) -> Iterator[tuple[str, Any]] | None:
    """The parts of a tuple, list, dict or complex array with their names, or None for
    a leaf."""
    if type(tree) is np.ndarray and tree.dtype.kind != "c":  # most leaves are
        return None
    if isinstance(tree, dict | Mapping):
        items = cast(Mapping[Any, Any], tree).items()
        return ((str(k), v) for k, v in items)
    own = parts_of(tree)
    if own is not None:
        return iter(own._asdict().items())
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
    return rebuilt(tree, made)


def rebuilt(tree: Any, made: Sequence[Any]) -> Any:
    """A structure like `tree` of other parts."""
    if isinstance(tree, Mapping):
        return dict(zip(cast(Mapping[Any, Any], tree), made, strict=True))
    if is_complex_array(tree):
        return joined(*made)
    if hasattr(tree, "_fields"):
        return type(tree)(*made)
    return type(tree)(made)


def leaves(tree: Any) -> dict[str, Any]:
    """The tensors of a structure of arguments by their label, arrays as `plain`."""
    result: dict[str, Any] = {}

    def keep(path: str, leaf: Any) -> None:
        if is_tensor(leaf):
            result[path] = plain(leaf) if is_array(leaf) else leaf

    for name, part in cast(Mapping[str, Any], tree).items():
        map_tree(keep, part, name)
    return result


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
    result = list(names) if names is not None else _parameters(f, len(examples))
    if len(result) != len(examples) or len(set(result)) != len(result):
        raise TraceError(
            f"{len(examples)} different names expected for the arguments, "
            f"found {result}"
        )
    return dict(zip(result, examples, strict=True))


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
    f: Callable[..., Any], arguments: Mapping[str, Any], name: str = "",
    *, capture: bool = False, keywords: tuple[str, ...] = (),
    numbers: Container[str] = (),
) -> Traced:  # fmt: skip
    """Traces `f` on arguments that are named for the graph.

    With `capture`, arrays that `f` reads beside its arguments are inputs as well; they
    are constants otherwise, as they are now.  The last arguments are passed by
    `keywords`; captured `numbers` come with each call.
    """
    builder = TraceBuilder(name or getattr(f, "__name__", "graph"))
    with noticing(), tracing(builder):
        places = {k: map_tree(_as_leaf, v, k) for k, v in arguments.items()}
        tracers = [map_tree(as_input, v, k) for k, v in arguments.items()]
        captured_input = functools.partial(_captured_input, builder)
        reader = Capture(captured_input, numbers) if capture else None
        called = f
        if reader is not None:
            called = reader.root(f)
            tracers = [
                _noting(reader, x, Spot(getitem, ARGUMENTS, i, name))
                for i, (name, x) in enumerate(zip(arguments, tracers, strict=True))
            ]
        first = len(tracers) - len(keywords)
        named = dict(zip(keywords, tracers[first:], strict=True))
        outputs = Outputs(builder)
        structure = map_tree(outputs.keep, called(*tracers[:first], **named), "")
        outputs.keep_updates()
    captured = Captured() if reader is None else reader.finish()
    captured = captured.unchanged(list(arguments.values()))
    graph = _without_unread(builder.build(outputs.nodes), captured.labels)
    return Traced(graph, places, structure, captured, tuple(builder.numbers))


class Outputs:
    """The outputs of a traced function by label; arrays that it updates among them."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder, self.nodes = builder, dict[str, int]()

    def keep(self, path: str, leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, str):
            return leaf
        for label, tracer in self.builder.updated().items():
            if tracer is leaf:
                return Leaf(_update_of(label))
        label = path.removeprefix(".") or "out0"
        label = unique(f"out{label}" if label[0].isdigit() else label, self.nodes)
        node = lift(leaf).node
        self.builder.check_current(node)
        self.nodes[label] = node
        return Leaf(label)

    def keep_updates(self) -> None:
        for source, tracer in self.builder.updated().items():
            label = _update_of(source)
            if label in self.nodes:
                raise TraceError(f"no result can be called {label!r}: {source!r} is "
                                 "updated in place")  # fmt: skip
            self.nodes[label] = tracer.node
            self.builder.alias(label, source, "must")


def _update_of(label: str) -> str:
    """The output that is an input, updated."""
    return f"{label}.new"


def _captured_input(
    builder: TraceBuilder, label: str, value: Any
) -> tuple[str, Tracer]:
    """Of the whole trace, wherever within it the array is read."""
    taken = {n.attrs[0] for n in builder.nodes if n.op == "input"}
    label = unique(label, taken)
    with tracing(builder):
        return label, as_input(label, value)


def _noting(reader: Capture, tree: Any, spot: Spot) -> Any:
    """An argument whose objects note what is read of them."""
    if isinstance(tree, Tracer | ComplexTracer | Number) or is_data(tree):
        return tree
    parts = children(tree)
    if parts is None:
        return reader.child(tree, spot.get or getitem, spot.base, spot.key, spot.name)
    keys = cast(Any, tree) if isinstance(tree, Mapping) else range(len(tree))
    made = [
        _noting(reader, x, Spot(getitem, spot, k, f"{spot.name}.{k}"))
        for k, (_, x) in zip(keys, parts, strict=True)
    ]
    return rebuilt(tree, made)


def _without_unread(graph: Graph, labels: Container[str]) -> Graph:
    """Without the inputs among `labels` that no output depends on."""
    live = graph.live
    kept = [
        i for i, n in enumerate(graph.nodes)
        if i in live or n.op != "input" or n.attrs[0] not in labels
        or any(a.input == n.attrs[0] for a in graph.aliases)
    ]  # fmt: skip
    if len(kept) == len(graph.nodes):
        return graph
    unread = set(range(len(graph.nodes))) - set(kept)
    for i, n in enumerate(graph.nodes):  # what is made of those is not read either
        if unread.intersection(n.args):
            unread.add(i)
    kept = [i for i in range(len(graph.nodes)) if i not in unread]
    place = {old: new for new, old in enumerate(kept)}
    nodes = tuple(
        replace(graph.nodes[i], args=tuple(place[a] for a in graph.nodes[i].args))
        for i in kept
    )
    outputs = tuple((label, place[i]) for label, i in graph.outputs)
    return replace(graph, nodes=nodes, outputs=outputs)


def _as_leaf(path: str, leaf: Any) -> Any:
    if is_tensor(leaf):
        return Leaf(path)
    return Apart(cast(type[Any], type(leaf))) if is_read_apart(leaf) else leaf


def as_input(path: str, leaf: Any) -> Any:
    if not is_tensor(leaf):
        return leaf
    t, builder = _type_of(path, leaf), current()
    made = wrap(builder.input(path, t.dtype, t.shape))
    if isinstance(builder, TraceBuilder):
        builder.take(path, made)
    return made


def _type_of(path: str, leaf: Any) -> TensorType:
    if isinstance(leaf, Tracer):
        return leaf.type
    if not isinstance(leaf, TensorType):
        array = plain(leaf)
        return TensorType(as_dtype(array.dtype), array.shape)
    result: Any = leaf.dtype
    if not isinstance(result, DType):
        raise TraceError(
            f"argument {path!r}: the dtype of a TensorType is one of rewrite's, such "
            f"as xp.float32, found {result!r}"
        )
    shape: Any = leaf.shape
    several = isinstance(shape, tuple | list)
    sizes = cast(Sequence[Any], shape) if several else (None,)
    if not all(isinstance(d, Poly) or hasattr(d, "__index__") for d in sizes):
        raise TraceError(
            f"argument {path!r}: the shape of a TensorType is a tuple of whole numbers "
            f"and symbols, found {shape!r}"
        )
    return leaf
