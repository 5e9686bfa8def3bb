"""Nodes of ATen as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Poly
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.ir.ops import OpError
from rewrite.xp.errors import TraceError
from rewrite.xp.tracer import Tracer, current, tracing, wrap

from . import ops  # noqa: F401  # pyright: ignore[reportUnusedImport]  # readers register themselves
from .arrays import DTYPES, inverse, storage_order, to_array
from .library import FxNode, Tensor, torch
from .site import READERS, PartBuilder, Site, Strided, Unread, dtype_of
from .sizes import Sizes, Unsized, expression

GETITEM = "getitem"
PLACES = ("cpu", "cuda")  # whose memory kernels read and write


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def name_of(node: FxNode) -> str:
    """The operator of a node."""
    return str(node.target) if node.op == "call_function" else node.op


def is_getitem(node: FxNode) -> bool:
    return getattr(node.target, "__name__", "") == GETITEM


def read(site: Site, scope: Mapping[FxNode, Any]) -> Any:
    """A node's results as tracers; what they are in the trace is checked."""
    node = site.node

    def of(arg: Any) -> Any:
        if isinstance(arg, torch.fx.Node):
            if arg in scope:
                return scope[arg]
            return site.sizes.dim(arg.meta["val"])
        if isinstance(arg, torch.dtype):
            return DTYPES.get(arg)
        if isinstance(arg, list | tuple):
            return [of(a) for a in cast(Sequence[Any], arg)]
        return arg

    args = [of(a) for a in node.args]
    keywords = {k: of(v) for k, v in node.kwargs.items()}
    if is_getitem(node):
        made = args[0][args[1]]
    else:
        made = READERS[name_of(node)](site, *args, **keywords)
    made = list(cast(Sequence[Any], made)) if isinstance(made, list | tuple) else made
    _check(site, made)
    return made


def _check(site: Site, made: Any) -> None:
    many = isinstance(made, list)
    values = site.value() if many else [site.value()]
    for found, value in zip(cast(list[Any], made) if many else [made], values,
                            strict=True):  # fmt: skip
        if found is None:
            continue
        _check_place(value)
        dtype, shape = dtype_of(value), site.sizes.shape(value.shape)
        if found.dtype is not dtype or found.shape != shape:
            raise Unread(f"it was read as {found.type}, not as {dtype}{list(shape)}")


def reason_unread(node: FxNode, sizes: Sizes) -> str:
    """Why a node cannot be part of a graph; empty where it can."""
    if not is_getitem(node) and name_of(node) not in READERS:
        return "it has no reader"
    try:
        _try(node, sizes)
    except (Unread, Unsized, TraceError, GraphError, OpError) as e:
        return str(e)
    except Exception as e:
        # What a reader trips over is a form that it does not know: PyTorch runs it.
        return f"its reader fails ({type(e).__name__}: {e})"
    return ""


def _try(node: FxNode, sizes: Sizes) -> None:
    """Reads a node alone, on inputs like its operands."""
    builder, scope = PartBuilder("trial"), dict[FxNode, Any]()
    with tracing(builder):
        for i, arg in enumerate(node.all_input_nodes):
            value = arg.meta["val"]
            if isinstance(value, list | tuple):
                parts = cast(Sequence[Any], value)
                scope[arg] = [
                    _input(v, f"x{i}_{k}", sizes) for k, v in enumerate(parts)
                ]
            elif is_tensor(value):
                scope[arg] = _input(value, f"x{i}", sizes)
        read(Site(node, sizes), scope)


def _check_place(value: Any) -> None:
    if value.device.type not in PLACES:
        raise Unread(f"a tensor on {value.device}")
    if value.layout is not torch.strided:
        raise Unread(f"a tensor in the layout {value.layout}")


def _input(value: Any, label: str, sizes: Sizes) -> Any:
    if not is_tensor(value):
        return None
    _check_place(value)
    shape = sizes.shape(value.shape)
    return wrap(current().input(label, dtype_of(value), shape))


def places_of(node: FxNode) -> frozenset[Any]:
    """The devices of the tensors that a node reads and makes."""
    found = (n.meta.get("val") for n in (node, *node.all_input_nodes))
    leaves: list[Any] = torch.utils._pytree.tree_leaves(list(found))
    return frozenset(v.device for v in leaves if is_tensor(v))


def attribute(node: FxNode) -> Any:
    """What a node reads off the traced module."""
    found: Any = node.graph.owning_module
    for name in node.target.split("."):
        found = getattr(found, name)
    return found


# ---- parts of a model ----


@dataclass(frozen=True)
class Port:
    """A tensor that enters or leaves a graph: the array has its axes in `order`."""

    label: str
    node: FxNode
    order: tuple[int, ...]

    @property
    def back(self) -> tuple[int, ...]:
        return inverse(self.order)


@dataclass(frozen=True)
class Part:
    """A graph, and the nodes of the model that its inputs and outputs are."""

    graph: Graph
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: Mapping[str, FxNode]  # by the names of nodes of the graph
    numbers: tuple[tuple[str, Poly], ...] = ()  # inputs that are sizes
    constant_inputs: frozenset[str] = frozenset()  # inputs that are parameters
    views: tuple[tuple[str, Strided], ...] = ()  # inputs that are views of the model's


def load(
    name: str, nodes: Sequence[FxNode], inputs: Sequence[FxNode],
    outputs: Sequence[FxNode], updates: Mapping[FxNode, FxNode], sizes: Sizes,
    constants: Mapping[str, Tensor], constant_inputs: frozenset[str] = frozenset(),
) -> Part:  # fmt: skip
    """The graph of `nodes`.  `updates` says which inputs hold new values afterwards,
    `constants` are built in, `constant_inputs` the same in most calls."""
    builder, scope = PartBuilder(name), dict[FxNode, Any]()
    named: dict[str, FxNode] = {}
    with tracing(builder):
        given: list[Port] = []
        for node in inputs:
            if node.name in constants:
                scope[node] = _built_in(builder, node.name, constants[node.name])
            else:
                given.append(_entered(builder, node, scope, sizes))
        for node in nodes:
            fresh = len(builder.nodes)
            scope[node] = read(Site(node, sizes), scope)
            _name(builder, scope[node], node, fresh, named)
        made: dict[str, int] = {}
        left = [_left(node, scope[node], made) for node in outputs]
        for place, node in updates.items():
            port = next(p for p in given if p.node is place)
            label = f"{port.label}_new"
            made[label] = _permuted(scope[node], port.order).node
            builder.alias(label, port.label, "must")
    numbers = tuple(
        (builder.nodes[x.node].attrs[0], size) for size, x in builder.numbers.items()
    )
    views = tuple((builder.nodes[x.node].attrs[0], v) for v, x in builder.views.items())
    same = frozenset(p.label for p in given if p.node.name in constant_inputs)
    return Part(builder.build(made), tuple(given), tuple(left), named, numbers, same,
                views)  # fmt: skip


def _built_in(builder: PartBuilder, name: str, tensor: Tensor) -> Tracer:
    """In the order in which it lies: convolutions read filters as they read images."""
    order = order_of(tensor)
    array = np.asarray(to_array(tensor.cpu().permute(order)), order="C")
    return wrap(builder.lying(builder.array(array, name), order))


def _entered(
    builder: PartBuilder, node: FxNode, scope: dict[FxNode, Any], sizes: Sizes
) -> Port:
    value = node.meta["val"]
    order = order_of(value)
    shape = sizes.shape(value.shape)
    x = builder.input(node.name, dtype_of(value), [shape[i] for i in order])
    scope[node] = wrap(builder.lying(x, order))
    return Port(node.name, node, order)


def _left(node: FxNode, x: Tracer, made: dict[str, int]) -> Port:
    order = order_of(node.meta["val"])
    made[node.name] = _permuted(x, order).node
    return Port(node.name, node, order)


def _permuted(x: Tracer, order: Sequence[int]) -> Tracer:
    return wrap(x.builder.permute(x.node, order))


def order_of(value: Any) -> tuple[int, ...]:
    """The order of a traced tensor's axes in memory, at the sizes it was traced at."""
    shape, strides = ([_hint(v) for v in vs] for vs in (value.shape, value.stride()))
    return storage_order(shape, strides)


def _hint(value: Any) -> int:
    found = expression(value)
    if found is None:
        return int(value)
    return int(value.node.hint) if value.node.hint is not None else 2


def _name(
    b: Builder, made: Any, node: FxNode, fresh: int, named: dict[str, FxNode]
) -> None:
    """Gives a node of the graph the name it has in the model."""
    if not isinstance(made, Tracer) or made.node < fresh:
        return
    own = b.nodes[made.node]
    if not own.name and own.op not in ("const", "iota"):
        b.nodes[made.node] = replace(own, name=node.name)
        named[node.name] = node
