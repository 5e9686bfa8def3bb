"""Which nodes of a model are parts of a graph, and which run in eager PyTorch.

Steps stand at levels: all nodes of a level that are read make one graph, then the eager
nodes of that level run, in order.  A node is at the level of its operands, or one
above those that are eager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .draws import drawn
from .library import FxNode, torch
from .reading import is_getitem, is_tensor, name_of, places_of, reason_unread
from .site import COPY, base_of, is_written, shown_by, storage_of
from .sizes import Sizes


@dataclass(frozen=True)
class Fallback:
    """A node that eager PyTorch runs, and why."""

    node: FxNode
    operator: str
    reason: str

    @property
    def line(self) -> str:
        """The user's line of code, where it is known."""
        return user_line(self.node)


@dataclass
class Step:
    """The nodes of one level: a graph, then what eager PyTorch runs."""

    nodes: list[FxNode] = field(default_factory=list[Any])
    inputs: list[FxNode] = field(default_factory=list[Any])
    outputs: list[FxNode] = field(default_factory=list[Any])
    updates: dict[FxNode, FxNode] = field(default_factory=dict[Any, Any])
    eager: list[FxNode] = field(default_factory=list[Any])


@dataclass(frozen=True)
class View:
    """A result on the memory of another tensor of the model."""

    base: FxNode
    value: Any  # as traced: its sizes, strides and offset
    origin: FxNode  # as traced, the tensor that it is a view of


@dataclass(frozen=True)
class Partition:
    steps: tuple[Step, ...]
    fallbacks: tuple[Fallback, ...]
    results: tuple[Any, ...]  # of the model: nodes, views, numbers, None
    place: Any  # the device of the tensors that graphs are of


def user_line(node: FxNode) -> str:
    """The last line of the trace of the user's code at which the node was made."""
    trace = node.meta.get("stack_trace") or ""
    lines = [x.strip() for x in trace.splitlines() if x.strip()]
    at = max((i for i, x in enumerate(lines) if x.startswith("File ")), default=-1)
    return " ".join(lines[at : at + 2]) if at >= 0 else ""


def _is_size(node: FxNode) -> bool:
    """Whether a node computes a number."""
    return not isinstance(node.meta.get("val"), list | tuple) and not is_tensor(
        node.meta.get("val")
    )


def place_of(graph: Any) -> Any:
    """The device whose tensors graphs are of: a GPU's where the model has any there."""
    cpu = torch.device("cpu")
    found = (place for n in graph.nodes for place in places_of(n))
    return next((x for x in found if x.type == "cuda" and not x.index), cpu)


def partition(graph: Any, sizes: Sizes) -> Partition:
    """The steps of a traced model."""
    nodes = [n for n in graph.nodes if n.op == "call_function"]
    place = place_of(graph)
    reasons = {n: _elsewhere(n, place) or _reason(n, sizes) for n in nodes}
    _whole_tuples(nodes, reasons)
    for node in nodes:
        if name_of(node) == COPY and reasons.get(node.args[1], "it is an input"):
            reasons[node] = reasons[node] or "what it writes is made elsewhere"
    levels = _levels(nodes, reasons)
    steps = [Step() for _ in range(max(levels.values(), default=0) + 2)]
    for node in nodes:
        step = steps[levels[node] + 1]
        if reasons[node]:
            step.eager.append(node)
        elif name_of(node) == COPY:
            step.updates[node.args[0]] = node.args[1]
        else:
            step.nodes.append(node)
    (output,) = (n for n in graph.nodes if n.op == "output")
    results = tuple(output.args[0])
    copies = {n: n.args[0] for n in nodes if name_of(n) == COPY and not reasons[n]}
    results = _on_bases(tuple(copies.get(r, r) for r in results))
    _connect(steps, results)
    steps = [s for s in steps if s.nodes or s.eager or s.updates]
    found = (
        Fallback(n, name_of(n), r)
        for n, r in reasons.items()
        if r and not _is_size(n) and not is_getitem(n) and n.target is not drawn
    )
    return Partition(tuple(steps), tuple(found), results, place)


def _reason(node: FxNode, sizes: Sizes) -> str:
    if name_of(node) == COPY:
        target, source = node.args[0], node.args[1]
        if target.op != "placeholder" or not isinstance(source, torch.fx.Node):
            return "it writes to what is no input"
        return _unlike(target, source)
    if _is_size(node):
        return "it computes a size"
    return reason_unread(node, sizes)


def _elsewhere(node: FxNode, place: Any) -> str:
    """Which tensors of a node are not where its graph would be."""
    others = sorted(str(x) for x in places_of(node) - {place})
    return f"a tensor on {', '.join(others)}" if others else ""


def _unlike(target: FxNode, source: FxNode) -> str:
    a, b = target.meta["val"], source.meta["val"]
    same = a.shape == b.shape and a.dtype == b.dtype
    return "" if same else "it converts what it writes"


def _whole_tuples(nodes: Sequence[FxNode], reasons: dict[FxNode, str]) -> None:
    """The parts of an eager node's result are taken in Python."""
    for node in nodes:
        if is_getitem(node) and node.args[0] in reasons:
            reasons[node] = reasons[node.args[0]]


FIRST = -1  # the level of eager nodes that read no other: before all graphs


def _levels(
    nodes: Sequence[FxNode], reasons: Mapping[FxNode, str]
) -> dict[FxNode, int]:
    levels: dict[FxNode, int] = {}
    impure = FIRST  # what draws numbers or writes keeps its order
    for node in nodes:
        before = [n for n in node.all_input_nodes if n in levels]
        if name_of(node) == COPY:  # after all that read what was there
            before += [u for u in node.args[0].users if u in levels]
        if reasons[node]:
            level = max((levels[n] for n in before), default=FIRST)
            if _is_impure(node):
                level = impure = max(level, impure)
        else:
            level = max((levels[n] + bool(reasons[n]) for n in before), default=0)
        levels[node] = level
    return levels


def _is_impure(node: FxNode) -> bool:
    target = node.target
    if target is drawn:
        return True
    if is_getitem(node) or not isinstance(target, torch._ops.OpOverload):
        return False
    random = torch.Tag.nondeterministic_seeded in target.tags
    return random or target._schema.is_mutable or target.namespace not in (
        "aten", "prims")  # fmt: skip


def _on_bases(results: Sequence[Any]) -> tuple[Any, ...]:
    """Results that share memory in eager PyTorch share it here, as views of one; so do
    those that show an input, as what is saved for a backward graph often does, or what
    inputs that overlap are to hold: then PyTorch asks of a result where it lies."""
    traced = [r for r in dict.fromkeys(results) if isinstance(r, torch.fx.Node)]
    shared = Counter(storage_of(n) for n in traced if is_tensor(n.meta["val"]))

    def on_base(r: Any) -> Any:
        if not isinstance(r, torch.fx.Node) or not is_tensor(r.meta["val"]):
            return r
        base = base_of(r)
        if base is not r and (place := shown_by(base)) is not None:
            return View(place, r.meta["val"], base)
        is_input = base.op == "placeholder" and not is_written(base)
        known = is_input or (base.op == "call_function" and shared[storage_of(r)] > 1)
        return View(base, r.meta["val"], base) if known and base is not r else r

    return tuple(map(on_base, results))


def nodes_of(results: Sequence[Any]) -> frozenset[FxNode]:
    """The nodes that results are, or are views of."""
    found = (r.base if isinstance(r, View) else r for r in results)
    return frozenset(n for n in found if isinstance(n, torch.fx.Node))


def _connect(steps: Sequence[Step], results: Sequence[Any]) -> None:
    """What each graph reads and what others read of it."""
    final = nodes_of(results)
    for step in steps:
        own = set(step.nodes)
        read = [n for node in step.nodes for n in node.all_input_nodes]
        read += [n for pair in step.updates.items() for n in pair]
        step.inputs = [
            n for n in dict.fromkeys(read) if n not in own and is_tensor(n.meta["val"])
        ]
        step.outputs = [
            n
            for n in step.nodes
            if is_tensor(n.meta["val"])
            and (n in final or any(_outside(u, own, step) for u in n.users))
        ]


def _outside(user: FxNode, own: set[FxNode], step: Step) -> bool:
    """Whether a node that reads a value is not part of the graph that makes it."""
    if name_of(user) == COPY and user.args[0] in step.updates:
        return False
    return user.op != "output" and user not in own
