"""`vmap`: a function of one, for many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.ops import TensorType

from ..xp.functions.manipulation import moveaxis
from ..xp.staging import arguments, stage
from ..xp.trace import Leaf, is_tensor, map_tree
from ..xp.tracer import TraceError, Tracer, lift, wrap
from .batching import Batch, batched, expanded
from .transformed import transformed
from .trees import spread_over


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """The function that applies `f` along an axis of its arguments, all at once.

    `in_axes` says which axis, for all arguments, or for each in a tuple; None: the
    same for all.  In place of an axis, a structure of them like the argument's may
    stand.  `out_axes` says where the axis goes in the results.  Keyword arguments are
    mapped along their first axis.
    """

    def law(f: Callable[..., Any], args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
        axes = in_axes if isinstance(in_axes, int | None) else tuple(in_axes)
        pairs = spread_over(axes, tuple(args), "vmap: in_axes")
        pairs += spread_over(0, dict(kw), "vmap: in_axes")
        count = _count(pairs)
        values: dict[str, Batch] = {}
        turn = iter(pairs)

        def one(label: str, x: Any) -> Any:
            axis, _ = next(turn)
            if not is_tensor(x):
                return x
            t = lift(x)
            if axis is None:
                values[label] = Batch(wrap(t.node), False)
                return TensorType(t.dtype, t.shape)
            front = moveaxis(t, axis, 0)
            values[label] = Batch(wrap(front.node), True)
            return TensorType(t.dtype, front.shape[1:])

        named = arguments(f, args, kw)
        examples = {k: map_tree(one, v, k) for k, v in named.items()}
        staged = stage(f, examples, tuple(kw))
        around = {k: Batch(v, False) for k, v in staged.around.items()}
        made = batched(staged.graph, values | around, count)
        return _placed(staged.result, made, out_axes, count)

    return transformed(law, f)


def _count(pairs: Sequence[tuple[int | None, Any]]) -> Dim:
    """The size of the axis, which all mapped arrays have."""
    sizes: list[Dim] = []
    for axis, x in pairs:
        if axis is None:
            continue
        if not is_tensor(x):
            if isinstance(x, int | float):
                raise TraceError(f"vmap: {x!r} has no axis to map: in_axes=None says "
                                 "that an argument is the same for all")  # fmt: skip
            continue
        shape = lift(x).shape
        if not -len(shape) <= axis < len(shape):
            raise TraceError(f"vmap: {lift(x).type} has no axis {axis}: in_axes= says "
                             "which axis of each argument is mapped, None: none"
                             )  # fmt: skip
        sizes.append(shape[axis])
    if not sizes:
        raise TraceError("vmap: no array is mapped: in_axes= names an axis of one")
    if len(set(sizes)) > 1:
        shown = ", ".join(map(str, dict.fromkeys(sizes)))
        raise TraceError(f"vmap: axes of one size expected, found {shown}")
    return sizes[0]


def _placed(result: Any, made: Mapping[str, Batch], axes: Any, count: Dim) -> Any:
    where = iter(spread_over(axes, result, "vmap: out_axes"))

    def put(_: str, leaf: Any) -> Any:
        axis, _ = next(where)
        if not isinstance(leaf, Leaf):
            return leaf
        value = made[leaf.label]
        if axis is None:
            return _single(value, leaf.label)
        return moveaxis(expanded(value, count), 0, axis)

    return map_tree(put, result, "")


def _single(value: Batch, label: str) -> Tracer:
    if value.mapped:
        raise TraceError(f"vmap: out_axes=None, and the result {label!r} is not the "
                         "same for all")  # fmt: skip
    return value.array


__all__ = ["vmap"]
