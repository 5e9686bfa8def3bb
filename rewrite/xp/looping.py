"""`scan`: a function applied entry after entry, as one loop of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.looping.build import Round, add_loop

from .staging import Staged, at_once, stage
from .trace import Leaf, is_tensor, map_tree
from .tracer import TraceError, Tracer, current, is_scalar, lift, wrap

type Leaves = dict[str, Tracer]


@at_once
def scan(
    f: Callable[..., Any], init: Any, xs: Any = None, length: Dim | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`f` for each entry of the first axis of `xs`, one after the other: it takes the
    carry and the entry, and gives the next carry and a result.  The last carry, and the
    results along a new first axis.

    `init` and `xs` are arrays or structures of them; `xs=None` with `length=` is none.
    A carry keeps its structure, dtypes and shapes.  `reverse` begins at the last entry.
    """
    carries, sequences = _arrays(init, "carry"), _arrays(xs, "x")
    count = _count(sequences, length)
    entries = {k: TensorType(x.dtype, x.shape[1:]) for k, x in sequences.items()}
    staged = stage(f, {
        "carry": _typed(init, "carry", {k: x.type for k, x in carries.items()}),
        "x": _typed(xs, "x", entries),
    })  # fmt: skip
    carried, stacked = _pair(staged)
    inner, node = _opened(staged.graph)
    _check(carried, {k: inner.type(i) for k, i in node.items()}, carries)
    if not sequences:
        sequences = {"": wrap(current().iota(0, I64, (count,)))}
        node[""] = inner.input("round", I64, ())

    def pairs(arrays: Leaves) -> list[tuple[int, int]]:
        return [(node[k], lift(x).node) for k, x in arrays.items()]

    of = Round(
        inner, pairs(carries), pairs(sequences), pairs(dict(staged.around)),
        [node[x.label] for x in _leaves(carried)],
        [node[x.label] for x in _leaves(stacked)],
    )  # fmt: skip
    made = iter(add_loop(current(), of, reverse))

    def placed(_: str, x: Any) -> Any:
        return wrap(next(made)) if isinstance(x, Leaf) else x

    return map_tree(placed, carried, ""), map_tree(placed, stacked, "")


def _arrays(tree: Any, name: str) -> Leaves:
    """The arrays of a structure by label, numbers among them."""
    found: Leaves = {}

    def keep(label: str, x: Any) -> None:
        if is_tensor(x) or is_scalar(x):
            found[label] = lift(x)
        elif x is not None:
            raise TraceError(f"scan: {label} is a {type(x).__name__}; arrays were "
                             "expected, or structures of them")  # fmt: skip

    map_tree(keep, tree, name)
    return found


def _typed(tree: Any, name: str, types: dict[str, TensorType]) -> Any:
    return map_tree(lambda k, x: types.get(k, x), tree, name)


def _count(sequences: Leaves, length: Dim | None) -> Dim:
    """How many rounds there are."""
    counts: dict[Dim, str] = {} if length is None else {length: "length"}
    for label, x in sequences.items():
        if not x.ndim:
            raise TraceError(
                f"scan: {label} is {x.type}, which has no axis to go along"
            )
        counts.setdefault(x.shape[0], label)
    if not counts:
        raise TraceError("scan: without xs, length= says how many rounds there are")
    if len(counts) > 1:
        shown = ", ".join(f"{n} ({label})" for n, label in counts.items())
        raise TraceError(f"scan: one number of rounds was expected, found {shown}")
    return next(iter(counts))


def _pair(staged: Staged) -> tuple[Any, Any]:
    made: Any = staged.result
    if isinstance(made, tuple | list):
        parts = list(cast(Sequence[Any], made))
        if len(parts) == 2:
            return parts[0], parts[1]
    raise TraceError("scan: the function must return a pair, the next carry and a "
                     "result of this round (None: there is none)")  # fmt: skip


def _leaves(tree: Any) -> list[Leaf]:
    found: list[Leaf] = []
    map_tree(lambda _, x: found.append(x) if isinstance(x, Leaf) else None, tree, "")
    return found


def _opened(graph: Graph) -> tuple[Builder, dict[str, int]]:
    """A builder with the nodes of a graph, and its inputs and outputs by label."""
    b = Builder(graph.name)
    b.nodes, b.data, b.calls = list(graph.nodes), dict(graph.data), dict(graph.calls)
    labels = {n.attrs[0]: i for i, n in enumerate(graph.nodes) if n.op == "input"}
    return b, labels | dict(graph.outputs)


def _check(carried: Any, types: dict[str, TensorType], carries: Leaves) -> None:
    """A carry stays what it is."""
    made: dict[str, Leaf] = {}

    def keep(label: str, x: Any) -> None:
        if isinstance(x, Leaf):
            made[label] = x

    map_tree(keep, carried, "carry")
    if list(made) != list(carries):
        raise TraceError(f"scan: the carry {', '.join(carries)} was expected of the "
                         f"function, found {', '.join(made)}")  # fmt: skip
    for label, x in carries.items():
        have = types[made[label].label]
        if have != x.type:
            raise TraceError(f"scan: {label} is {x.type} and becomes {have}: a carry "
                             "keeps its dtype and its shape, so convert one of them"
                             )  # fmt: skip


__all__ = ["scan"]
