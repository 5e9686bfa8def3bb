"""`scan` and `while_loop`: a function applied round after round, as one loop of the
graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, I64
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.looping.build import Round, add_loop

from .staging import Staged, at_once, replay, stage
from .trace import Leaf, is_tensor, map_tree
from .tracer import TraceError, Tracer, current, is_scalar, lift, tracing, wrap

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
    carries, sequences = _arrays("scan", init, "carry"), _arrays("scan", xs, "x")
    count = _count(sequences, length)
    entries = {k: TensorType(x.dtype, x.shape[1:]) for k, x in sequences.items()}
    staged = stage(f, {
        "carry": _typed(init, "carry", {k: x.type for k, x in carries.items()}),
        "x": _typed(xs, "x", entries),
    })  # fmt: skip
    carried, stacked = _pair(staged)
    _check("scan", carried, staged, carries)
    inner, given = staged.opened(), staged.inputs
    if not sequences:
        sequences = {"": wrap(current().iota(0, I64, (count,)))}
        given[""] = inner.input("round", I64, ())

    def pairs(arrays: Leaves) -> list[tuple[int, int]]:
        return [(given[k], lift(x).node) for k, x in arrays.items()]

    def nodes(tree: Any) -> list[int]:
        return [staged.outputs[x.label] for x in _leaves(tree)]

    of = Round(
        inner, pairs(carries), pairs(sequences), pairs(dict(staged.around)),
        nodes(carried), nodes(stacked),
    )  # fmt: skip
    made = iter(add_loop(current(), of, reverse))
    return _placed(carried, made), _placed(stacked, made)


@at_once
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any
) -> Any:
    """`body` of the carry, which begins as `init`, again and again while `cond` of it
    is true; the last carry.

    `init` is an array or a structure of them; a carry keeps its structure, dtypes and
    shapes.  `cond` gives one truth value, as of `xp.any(error > 1e-6)`.  Derivatives go
    along (`rewrite.jvp`); for those in reverse use `scan` with a number of rounds.
    """
    carries = _arrays("while_loop", init, "carry")
    example = _typed(init, "carry", {k: x.type for k, x in carries.items()})
    test, staged = stage(cond, {"carry": example}), stage(body, {"carry": example})
    goes_on, carried = _truth(test), staged.result
    _check("while_loop", carried, staged, carries)
    inner, given = staged.opened(), staged.inputs
    same = [(given[k], lift(x).node) for k, x in staged.around.items()]
    before, after = dict(carries), dict[str, Tracer]()
    for label, leaf in zip(carries, _leaves(carried), strict=True):
        after[label] = Tracer(inner, staged.outputs[leaf.label])
    for label, x in test.around.items():
        before[label] = lift(x)
        after[label] = Tracer(inner, inner.input(f"cond {label}", x.dtype, x.shape))
        same.append((after[label].node, before[label].node))
    start = _node(replay(test.graph, before), goes_on)
    with tracing(inner):
        again = _node(replay(test.graph, after), goes_on)
    first = inner.input("goes on", BOOL, ()), start
    of = Round(
        inner, [first, *((given[k], x.node) for k, x in carries.items())], (), same,
        [again, *(after[k].node for k in carries)], (),
    )  # fmt: skip
    _, *made = add_loop(current(), of)
    return _placed(carried, iter(made))


def _truth(test: Staged) -> int:
    """The node of a result that is one truth value."""
    result = test.result
    if isinstance(result, Leaf) and test.type(result.label) == TensorType(BOOL, ()):
        return test.outputs[result.label]
    have = (
        test.type(result.label) if isinstance(result, Leaf) else type(result).__name__
    )
    raise TraceError(f"while_loop: cond gives {have}: one truth value was expected, "
                     "bool[], as of xp.any(x > 0)")  # fmt: skip


def _node(made: Sequence[Tracer | None], i: int) -> int:
    found = made[i]
    assert found is not None, "an output is live"
    return found.node


def _placed(tree: Any, nodes: Iterator[int]) -> Any:
    """The structure with nodes of the current builder in the places of tensors."""

    def placed(_: str, x: Any) -> Any:
        return wrap(next(nodes)) if isinstance(x, Leaf) else x

    return map_tree(placed, tree, "")


def _arrays(what: str, tree: Any, name: str) -> Leaves:
    """The arrays of a structure by label, numbers among them."""
    found: Leaves = {}

    def keep(label: str, x: Any) -> None:
        if is_tensor(x) or is_scalar(x):
            found[label] = lift(x)
        elif x is not None:
            raise TraceError(f"{what}: {label} is a {type(x).__name__}; arrays were "
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


def _check(what: str, carried: Any, staged: Staged, carries: Leaves) -> None:
    """A carry stays what it is."""
    made: dict[str, Leaf] = {}

    def keep(label: str, x: Any) -> None:
        if isinstance(x, Leaf):
            made[label] = x

    map_tree(keep, carried, "carry")
    if list(made) != list(carries):
        raise TraceError(f"{what}: the carry {', '.join(carries)} was expected of the "
                         f"function, found {', '.join(made)}")  # fmt: skip
    for label, x in carries.items():
        have = staged.type(made[label].label)
        if have != x.type:
            raise TraceError(f"{what}: {label} is {x.type} and becomes {have}: a carry "
                             "keeps its dtype and its shape, so convert one of them"
                             )  # fmt: skip


__all__ = ["scan", "while_loop"]
