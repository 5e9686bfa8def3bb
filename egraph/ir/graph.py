"""The tensor graph: frozen nodes in topological order, outputs, aliases.

`Graph` is data; `Builder` makes one, checking every node as it is added so that an
error names the node at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from . import dims, primes
from .dims import Dim, Shape
from .dtypes import I64, DType, compute, from_numpy
from .invariants import check_aliases, check_data, check_labels, check_order
from .macros import MACROS
from .node import Alias, GraphError, Node, attr_kinds, known_op, plain
from .ops import TABLE, Array, Attrs, OpError, TensorType
from .primes import USUAL

MANY = 4096  # slices of slices that are looked at

type Const = float | int | bool


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order; outputs by name; arrays and host functions aside.

    Whoever makes one, names are one thing each and arrays are what their nodes say;
    only an array may be missing, of a graph that is not to be run as it is.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, int], ...]
    name: str = "graph"
    aliases: tuple[Alias, ...] = ()
    data: Mapping[str, Array] = field(default_factory=dict[str, Array])
    calls: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]]
    )

    def __post_init__(self) -> None:
        check_order(self.nodes, self.outputs)
        check_labels(self.nodes, self.outputs)
        check_data(self.nodes, self.data)
        check_aliases(self.nodes, self.outputs, self.aliases)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(n for n in self.nodes if n.op == "input")

    @property
    def symbols(self) -> tuple[str, ...]:
        every = (d for n in self.nodes for d in (*n.shape, *attr_dims(n)))
        return tuple(sorted(dims.symbols(every)))

    @property
    def live(self) -> frozenset[int]:
        """The nodes that an output depends on."""
        todo, seen = [i for _, i in self.outputs], set[int]()
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                todo.extend(self.nodes[i].args)
        return frozenset(seen)

    def __len__(self) -> int:
        return len(self.nodes)


class Builder:
    """Builds a `Graph` node by node.  Methods return node numbers."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.data: dict[str, Array] = {}
        self.calls: dict[str, Callable[..., Any]] = {}
        self._aliases: list[Alias] = []
        self._memo: dict[tuple[Any, ...], int] = {}

    # -- the one way in --

    def add(
        self, op: str, args: Sequence[int] = (), attrs: Attrs = (), name: str = "",
        share: bool = True,
    ) -> int:  # fmt: skip
        """Adds a node after checking it; equal unnamed constants are shared."""
        types = [self._operand(op, name, a) for a in args]
        attrs = plain(attrs)
        node = Node(op, tuple(args), attrs, self._infer(op, types, attrs, name), name)
        if share and op in ("const", "iota") and not name:
            key = (op, repr(attrs[0]), *attrs[1:])
            if key not in self._memo:
                self._memo[key] = self._append(node)
            return self._memo[key]
        return self._append(node)

    def _append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _operand(self, op: str, name: str, i: int) -> TensorType:
        if not 0 <= i < len(self.nodes):
            raise GraphError(
                f"{self._at(op, name)}: operand {i} is not an earlier node"
            )
        return self.nodes[i].type

    def _at(self, op: str, name: str) -> str:
        return f"{name or f'%{len(self.nodes)}'} = {op}"

    def _infer(
        self, op: str, types: Sequence[TensorType], attrs: Attrs, name: str
    ) -> TensorType:
        if not known_op(op):
            known = ", ".join((*TABLE, *MACROS))
            raise GraphError(f"{self._at(op, name)}: unknown op; known: {known}")
        entry = TABLE[op] if op in TABLE else MACROS[op]
        try:
            wants = len(entry.attrs)
            if len(attrs) != wants:
                raise OpError(f"{wants} attributes expected, found {len(attrs)}")
            if entry.arity is not None and len(types) != entry.arity:
                raise OpError(f"{entry.arity} operands expected, found {len(types)}")
            if entry.arity is None and not types and op != "call":
                raise OpError("at least one operand expected")
            return entry.infer(types, attrs)
        except OpError as e:
            shown = ", ".join(map(str, types))
            raise GraphError(f"{self._at(op, name)}({shown}): {e}") from None

    # -- leaves --

    def input(self, label: str, dtype: DType, shape: Sequence[Dim]) -> int:
        if any(n.op == "input" and n.attrs[0] == label for n in self.nodes):
            raise GraphError(f"there are two inputs called {label!r}")
        return self.add("input", (), (label, dtype, tuple(shape)), label)

    def const(self, value: Const, dtype: DType, shape: Sequence[Dim] = ()) -> int:
        return self.add("const", (), (exact(value, dtype), dtype, tuple(shape)))

    def array(self, value: Array, label: str = "") -> int:
        """A constant array, kept with the graph under `label`."""
        fresh = (f"data{i}" for i in range(len(self.data) + 1))
        label = label or next(f for f in fresh if f not in self.data)
        if label in self.data:
            raise GraphError(f"there are two arrays called {label!r}")
        self.data[label] = value
        return self.add("data", (), (label, from_numpy(value.dtype), value.shape))

    def iota(self, axis: int, dtype: DType, shape: Sequence[Dim]) -> int:
        return self.add("iota", (), (axis, dtype, tuple(shape)))

    # -- elementwise --

    def un(self, op: str, a: int) -> int:
        return self.add("un", (a,), (op,))

    def bin(self, op: str, a: int, b: int) -> int:
        """Operands of one shape; see `broadcast` to make them so."""
        return self.add("bin", (a, b), (op,))

    def select(self, c: int, a: int, b: int) -> int:
        return self.add("select", (c, a, b))

    def cast(self, a: int, dtype: DType) -> int:
        return a if self.type(a).dtype == dtype else self.add("cast", (a,), (dtype,))

    # -- movement; each returns its operand where nothing would change --

    def reshape(self, a: int, shape: Sequence[Dim]) -> int:
        same = self.shape(a) == tuple(shape)
        return a if same else self.add("reshape", (a,), (tuple(shape),))

    def permute(self, a: int, perm: Sequence[int]) -> int:
        same = tuple(perm) == tuple(range(len(self.shape(a))))
        return a if same else self.add("permute", (a,), (tuple(perm),))

    def expand(self, a: int, shape: Sequence[Dim]) -> int:
        have = self.shape(a)
        mask = tuple(int(h == 1 and w != 1) for h, w in zip(have, shape, strict=False))
        same = have == tuple(shape)
        return a if same else self.add("expand", (a,), (tuple(shape), mask))

    def pad(self, a: int, low: Sequence[Dim], high: Sequence[Dim], value: Const) -> int:
        value = exact(value, self.type(a).dtype)
        return self.add("pad", (a,), (tuple(low), tuple(high), value))

    def slice(
        self, a: int, start: Sequence[Dim], size: Sequence[Dim], step: Sequence[int]
    ) -> int:
        return self.add("slice", (a,), (tuple(start), tuple(size), tuple(step)))

    def window(
        self, a: int, axis: int, size: int, stride: int = 1, dilation: int = 1
    ) -> int:
        """All windows of a fixed-size axis; their elements form a new last axis."""
        n = self.shape(a)[axis]
        if not isinstance(n, int):
            raise GraphError(f"window over the symbolic axis {axis} needs a count")
        count = max(0, (n - dilation * (size - 1) - 1) // stride + 1)
        return self.add("window", (a,), (axis, count, size, stride, dilation))

    def concat(self, parts: Sequence[int], axis: int) -> int:
        return parts[0] if len(parts) == 1 else self.add("concat", parts, (axis,))

    # -- reductions, products, indexing, macros --

    def reduce(self, monoid: str, a: int, over: Iterable[int]) -> int:
        """Over the axes `over`, accumulated in the dtype's compute type."""
        t, chosen = self.type(a), {i % max(len(self.shape(a)), 1) for i in over}
        mask = tuple(int(i in chosen) for i in range(t.rank))
        return self.add("reduce", (a,), (monoid, mask, compute(t.dtype)))

    def scan(self, monoid: str, a: int, axis: int) -> int:
        """Each element folded with those before it, accumulated as `reduce` does."""
        return self.add("scan", (a,), (monoid, axis, compute(self.type(a).dtype)))

    def contract(self, a: int, b: int, full: Sequence[Dim], mask: Sequence[int]) -> int:
        acc = compute(self.type(a).dtype)
        return self.add("contract", (a, b), (tuple(full), tuple(mask), acc))

    def matmul(self, a: int, b: int) -> int:
        """NumPy's matmul for operands of rank >= 2, batch axes broadcast."""
        rank = max(len(self.shape(a)), len(self.shape(b)))
        a, b = (
            self.reshape(x, (1,) * (rank - len(self.shape(x))) + self.shape(x))
            for x in (a, b)
        )
        (*_, m, k), (*_, _, n) = self.shape(a), self.shape(b)
        lead = [y if x == 1 else x for x, y in zip(self.shape(a)[:-2], self.shape(b))]  # noqa: B905
        a = self.reshape(a, (*self.shape(a)[:-2], m, 1, k))
        order = (*range(rank - 2), rank - 1, rank - 2)
        b = self.permute(b, order)
        b = self.reshape(b, (*self.shape(b)[:-2], 1, n, self.shape(b)[-1]))
        full = (*lead, m, n, k)
        c = self.contract(a, b, full, (*([0] * rank), 1))
        return self.reshape(c, full[:-1])

    def gather(self, a: int, index: int, axis: int) -> int:
        return self.add("gather", (a, index), (axis,))

    def sort(
        self, a: int, axis: int, descending: bool = False, count: Dim | None = None
    ) -> int:
        """Sorted along the axis; `count`: the first ones alone."""
        kept = self.shape(a)[axis] if count is None else count
        return self.add("sort", (a,), (axis, int(descending), kept))

    def argsort(
        self, a: int, axis: int, descending: bool = False, count: Dim | None = None,
        dtype: DType = I64,
    ) -> int:  # fmt: skip
        """Where the sorted elements come from."""
        kept = self.shape(a)[axis] if count is None else count
        return self.add("argsort", (a,), (axis, int(descending), kept, dtype))

    def macro(self, op: str, args: Sequence[int], *attrs: Any) -> int:
        return self.add(op, args, attrs)

    def call(
        self, target: str, f: Callable[..., Any], args: Sequence[int],
        dtype: DType, shape: Sequence[Dim],
    ) -> int:  # fmt: skip
        """A foreign function of arrays.  Each call is its own: none are merged."""
        self.calls[target] = f
        return self.add("call", args, (target, len(self.nodes), dtype, tuple(shape)))

    def call_number(self) -> int:
        """What no call has had in its name so far, here or where this will be put."""
        return len(self.calls)

    # -- helpers --

    def type(self, i: int) -> TensorType:
        return self.nodes[i].type

    def shape(self, i: int) -> Shape:
        return self.nodes[i].type.shape

    def broadcast(self, *args: int) -> list[int]:
        """Operands expanded to their common shape, NumPy's way (aligned right)."""
        rank = max(len(self.shape(a)) for a in args)
        padded = [(1,) * (rank - len(self.shape(a))) + self.shape(a) for a in args]
        full: list[Dim] = []
        for column in zip(*padded, strict=True):
            sizes = {d for d in column if d != 1}
            if len(sizes) > 1:
                shown = " and ".join(str(self.type(a)) for a in args)
                raise GraphError(f"{shown} do not broadcast together")
            full.append(sizes.pop() if sizes else 1)
        pairs = zip(args, padded, strict=True)
        return [self.expand(self.reshape(a, p), full) for a, p in pairs]

    def alias(
        self, output: str, source: str, kind: Literal["must", "may"] = "may"
    ) -> None:
        self._aliases.append(Alias(output, source, kind))

    def build(self, outputs: Sequence[int] | Mapping[str, int]) -> Graph:
        """The finished graph.  Unnamed outputs are called `out0`, `out1`, ..."""
        if not isinstance(outputs, Mapping):
            outputs = {f"out{i}": n for i, n in enumerate(outputs)}
        named = tuple(outputs.items())
        return Graph(
            tuple(self.nodes), named, self.name, tuple(self._aliases),
            dict(self.data), dict(self.calls),
        )  # fmt: skip


def witness(graph: Graph, hints: Mapping[str, int] | None = None) -> dict[str, int]:
    """Sizes to decide at, primes, within what slices of fixed sizes allow."""
    most: dict[str, int] = {}
    for node in graph.nodes:
        if node.op != "slice":
            continue
        starts, sizes, _ = node.attrs
        for n, start, size in zip(
            graph.nodes[node.args[0]].shape, starts, sizes, strict=True
        ):
            ends = [dims.greatest(-start, 0)]
            if isinstance(n, int):
                ends.append(dims.greatest(start + size, n))
            for name, limit in filter(None, ends):
                most[name] = min(limit, most.get(name, limit))
    parts = (dims.part(d) for n in graph.inputs for d in n.shape)
    hints = {s: USUAL // c for s, c in filter(None, parts)} | dict(hints or {})
    shapes = [d for n in graph.nodes for d in (n.shape, attr_dims(n))]
    return primes.witness(shapes, hints, most, _counted(graph), _places(graph))


def _places(graph: Graph) -> frozenset[int]:
    """Where slices of slices may begin.  A size that is the same number there would be
    taken for that place, and no type tells."""
    by_length: dict[Dim, set[tuple[int, int]]] = {}  # what slices of such axes take
    for node in graph.nodes:
        if node.op == "slice":
            shape = graph.nodes[node.args[0]].shape
            for n, start, size in zip(shape, *node.attrs[:2], strict=True):
                if isinstance(start, int) and isinstance(size, int) and size != n:
                    by_length.setdefault(n, set()).add((start, size))
    todo = [part for parts in by_length.values() for part in parts]
    reached = set(todo)
    places: set[int] = set()
    while todo and len(reached) < MANY:
        start, size = todo.pop()
        inner = {(start + a, n) for a, n in by_length.get(size, ())}
        places |= {a for a, _ in inner}
        todo += inner - reached
        reached |= inner
    return frozenset(places - {0})


def attr_dims(node: Node) -> tuple[Dim, ...]:
    """The sizes and places among the attributes of a node."""
    out: list[Dim] = []
    for value, (_, kind) in zip(node.attrs, attr_kinds(node.op), strict=True):
        out += value if kind == "shape" else [value] if kind == "dim" else []
    return tuple(out)


def _counted(graph: Graph) -> set[int]:
    """Numbers that constants are one over: no size at the witness may look like one."""
    values = {n.attrs[0] for n in graph.nodes if n.op == "const" and n.dtype.is_float}
    over = {1 / abs(v) for v in values if v and 1e-9 < abs(v) < 1}
    return {round(n) for n in over if abs(n - round(n)) < 1e-3 * n}


def exact(value: Const, dtype: DType) -> Const:
    """`value` as the dtype holds it: a float, an int or a bool."""
    if dtype.kind == "bool":
        return bool(value)
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        if not info.min <= int(value) <= info.max or int(value) != value:
            raise GraphError(f"{value!r} is not a value of {dtype}")
        return int(value)
    with np.errstate(all="ignore"):
        return float(np.asarray(value, np.float64).astype(dtype.numpy))


def substitute(graph: Graph, values: Mapping[str, int]) -> Graph:
    """The graph with its symbols bound to sizes; checked again at these sizes."""
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    for node in graph.nodes:
        kinds = attr_kinds(node.op)
        attrs = tuple(
            bind_attr(a, k, values) for a, (_, k) in zip(node.attrs, kinds, strict=True)
        )
        b.nodes.append(
            Node(node.op, node.args, attrs, b._infer(  # pyright: ignore[reportPrivateUsage]
                node.op, [b.type(i) for i in node.args], attrs, node.name), node.name)
        )  # fmt: skip
    out = b.build(dict(graph.outputs))
    return Graph(
        out.nodes, out.outputs, graph.name, graph.aliases, graph.data, graph.calls
    )


def bind_attr(value: Any, kind: str, values: Mapping[str, int]) -> Any:
    if kind == "shape":
        return dims.bind_shape(value, values)
    return dims.bind(value, values) if kind == "dim" else value


__all__ = [
    "Alias",
    "Builder",
    "Const",
    "Graph",
    "GraphError",
    "Node",
    "attr_kinds",
    "exact",
    "substitute",
    "witness",
]  # fmt: skip
