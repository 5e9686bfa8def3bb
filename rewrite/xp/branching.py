"""`cond`: one function or the other, as one branch of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewrite.egraph.ir.dtypes import BOOL
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.looping.build import Arm, add_branch

from .staging import Staged, at_once, filled, replay, stage
from .trace import Leaf, is_tensor, map_tree
from .tracer import TraceError, Tracer, current, lift, wrap


@at_once
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:  # fmt: skip
    """`true_fun(*operands)` where `pred`, one truth value, is true, else
    `false_fun(*operands)`; the other is not run, and is not in the graph where `pred`
    is known while tracing.

    Both give results of the same structure, dtypes and shapes.  To choose element by
    element, use `where`.
    """
    test = lift(pred)
    if test.type != TensorType(BOOL, ()):
        raise TraceError(f"cond: pred is {test.type}: one truth value was expected, "
                         "bool[], as of xp.any(x > 0); xp.where chooses element by "
                         "element")  # fmt: skip
    named = {f"operand{i}": x for i, x in enumerate(operands)}
    one, other = stage(true_fun, named), stage(false_fun, named)
    _check(one, other)
    given = {
        label: lift(x)
        for name, tree in named.items()
        for label, x in _tensors(tree, name).items()
    }
    node = current().nodes[test.node]
    if node.op == "const":  # a flag that is known while tracing
        return _inlined(one if node.attrs[0] else other, given)
    made = add_branch(current(), test.node, (_arm(one, given), _arm(other, given)))
    where = {label: wrap(i) for label, i in zip(one.outputs, made, strict=True)}
    return filled(one.result, where)


def _arm(staged: Staged, given: dict[str, Tracer]) -> Arm:
    around = {label: lift(x) for label, x in staged.around.items()}
    pairs = [(i, (given | around)[k].node) for k, i in staged.inputs.items()]
    return Arm(staged.opened(), pairs, list(staged.outputs.values()))


def _inlined(staged: Staged, given: dict[str, Tracer]) -> Any:
    around = {label: lift(x) for label, x in staged.around.items()}
    made = replay(staged.graph, given | around)
    return filled(staged.result, {k: made[i] for k, i in staged.outputs.items()})


def _tensors(tree: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def keep(label: str, x: Any) -> None:
        if is_tensor(x):
            found[label] = x

    map_tree(keep, tree, name)
    return found


def _check(one: Staged, other: Staged) -> None:
    """Both give the same."""
    shape = [map_tree(lambda _, x: _kind(x), s.result, "") for s in (one, other)]
    if shape[0] != shape[1]:
        raise TraceError(f"cond: true_fun gives {shape[0]} and false_fun {shape[1]}: "
                         "one structure was expected of both")  # fmt: skip
    for label in one.outputs:
        a, b = one.type(label), other.type(label)
        if a != b:
            raise TraceError(f"cond: {label} is {a} of true_fun and {b} of false_fun: "
                             "results have one dtype and one shape, so convert one of "
                             "them")  # fmt: skip


def _kind(x: Any) -> Any:
    return "an array" if isinstance(x, Leaf) else x


__all__ = ["cond"]
