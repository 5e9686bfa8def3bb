"""A graph over one more axis, the first, along which its inputs are many.

Ops are rank-polymorphic: each attribute that speaks of axes grows by one in front, by
its name (`GROWN`), and operands that are the same for all are expanded.  Few ops need
a law of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.ir.graph import Builder, Graph, Node
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.node import attr_kinds
from rewrite.egraph.looping.branch import Branch
from rewrite.egraph.looping.flow import Flow, flow_of
from rewrite.egraph.looping.loop import Loop

from ..xp.functions.creation import broadcast_to, zeros
from ..xp.functions.lapack import lapack_of
from ..xp.functions.manipulation import concat, moveaxis, reshape, slice_axis
from ..xp.functions.statistical import any as any_of
from ..xp.staging import copied, emit, replay
from ..xp.tracer import TraceError, Tracer, lift, select, tracing
from .inside import Inside, branch


@dataclass(frozen=True, slots=True)
class Batch:
    """A value: the same for all, or one for each along its first axis."""

    array: Tracer
    mapped: bool


type Grown = Callable[[Any, Dim], Any]


def _axis(axis: int, _: Dim) -> int:
    return axis + 1


def _same(value: Any, _: Dim) -> Any:
    return value


def _front(value: int) -> Grown:
    return lambda values, _: (value, *values)


def _whole(values: tuple[Dim, ...], count: Dim) -> tuple[Dim, ...]:
    return (count, *values)


# What becomes of an attribute, by its name and kind, where an axis is put in front.
GROWN: dict[tuple[str, str], Grown] = {
    ("axis", "int"): _axis,
    ("perm", "ints"): lambda perm, _: (0, *(p + 1 for p in perm)),
    ("mask", "mask"): _front(0),
    ("shape", "shape"): _whole,
    ("full", "shape"): _whole,
    ("low", "shape"): _front(0),
    ("high", "shape"): _front(0),
    ("start", "shape"): _front(0),
    ("size", "shape"): _whole,
    ("step", "ints"): _front(1),
    **dict.fromkeys(
        (
            ("op", "str"), ("kind", "str"), ("monoid", "str"), ("mode", "str"),
            ("value", "value"), ("dtype", "dtype"), ("acc", "dtype"),
            ("target", "str"), ("token", "int"), ("key", "int"), ("descending", "int"),
            ("count", "dim"), ("size", "int"),
            ("stride", "int"), ("dilation", "int"),
            ("eps", "float"), ("scale", "float"),
        ),
        _same,
    ),
}  # fmt: skip

ALONE = frozenset(("call", "conv"))  # with a law of their own
# Operands that may have size 1 where others have more: these need no expansion.
_BROADCAST = {"contract": (0, 1), "layer_norm": (1, 2), "rms_norm": (1,)}


def grown(node: Node, count: Dim) -> tuple[Any, ...]:
    kinds = attr_kinds(node.op)
    return tuple(
        GROWN[kind](v, count) for v, kind in zip(node.attrs, kinds, strict=True)
    )


def batched(graph: Graph, inputs: Mapping[str, Batch], count: Dim) -> dict[str, Batch]:
    """The outputs by label, in the current builder."""
    many = _many(graph, {k: v.mapped for k, v in inputs.items()})

    def each(i: int, args: Sequence[Tracer]) -> Tracer:
        node = graph.nodes[i]
        if not many[i]:
            return copied(node, args)
        values = [Batch(x, many[a]) for x, a in zip(args, node.args, strict=True)]
        if flow := flow_of(node, graph.calls):
            return _flows(flow, values, count)
        return _batched(node, values, count, graph.calls)

    made = replay(graph, {k: v.array for k, v in inputs.items()}, each)
    return {
        k: Batch(x, many[i]) for k, i in graph.outputs if (x := made[i]) is not None
    }


def _many(graph: Graph, mapped: Mapping[str, bool]) -> list[bool]:
    """Which nodes are one for each."""
    many: list[bool] = []
    for node in graph.nodes:
        own = node.op == "input" and mapped[node.attrs[0]]
        many.append(own or any(many[a] for a in node.args))
    return many


def _batched(
    node: Node, args: Sequence[Batch], count: Dim,
    calls: Mapping[str, Callable[..., object]],
) -> Tracer:  # fmt: skip
    if node.op == "call" and not lapack_of(node, calls):
        return _one_by_one(node, args, count)
    if node.op == "conv":
        return _convolutions(node, args, count)
    lone = _BROADCAST.get(node.op, ())
    full = [
        _fronted(v.array) if i in lone and not v.mapped else expanded(v, count)
        for i, v in enumerate(args)
    ]
    return emit(node.op, grown(node, count), *full, name=node.name)


def _fronted(x: Tracer) -> Tracer:
    return reshape(x, (1, *x.shape))


def expanded(value: Batch, count: Dim) -> Tracer:
    """One for each, be they equal."""
    x = value.array
    return x if value.mapped else broadcast_to(_fronted(x), (count, *x.shape))


def _convolutions(node: Node, args: Sequence[Batch], count: Dim) -> Tracer:
    """More images are one batch of images; many filters are a product with windows."""
    x, w, bias = args
    if w.mapped or bias.mapped:
        b = Builder()
        labels = ("x", "w", "bias")
        inputs = [b.input(k, v.array.dtype, v.array.shape[v.mapped :])
                  for k, v in zip(labels, args, strict=True)]  # fmt: skip
        made = MACROS["conv"].expand(b, inputs, node.attrs)
        whole = b.build({"y": made})
        return batched(whole, dict(zip(labels, args, strict=True)), count)["y"].array
    images = x.array
    first, rest = images.shape[1], images.shape[2:]
    many = reshape(images, (count * first, *rest))
    y = emit("conv", node.attrs, many, w.array, bias.array, name=node.name)
    return reshape(y, (count, *node.shape))


def _flows(flow: Flow, args: Sequence[Batch], count: Dim) -> Tracer:
    match flow:
        case Loop() if flow.is_open:
            return _open_loops(flow, args, count)
        case Loop():
            return _loops(flow, args, count)
        case Branch():
            return _branches(flow, args, count)
        case _:
            raise TypeError(f"a {type(flow).__name__} is neither a loop nor a branch")


def _branches(flow: Branch, args: Sequence[Batch], count: Dim) -> Tracer:
    """One branch of many; where each has its own truth value, both sides and a choice
    between them."""
    test = args[0]

    def side(k: int) -> list[Tracer]:
        given = {
            n.attrs[0]: Batch(lift(args[p].array), args[p].mapped)
            for n, p in zip(flow.inputs_of(k), flow.given(k), strict=True)
        }
        made = batched(flow.bodies[k], given, count)
        return [expanded(made[label], count) for label, _ in flow.bodies[k].outputs]

    if not test.mapped:
        parts = branch(test.array, flow.if_true.name, side)
        return concat([_flat(x) for x in parts], axis=1)
    if_true, if_false = (concat([_flat(x) for x in side(k)], axis=1) for k in (0, 1))
    return select(reshape(test.array, (count, 1)), if_true, if_false)


def _open_loops(loop: Loop, args: Sequence[Batch], count: Dim) -> Tracer:
    """One loop of many, which runs until all are done; those that are stay as they
    are."""
    mapped = _mapped(loop, [v.mapped for v in args])
    inside, given = Inside(loop.body.name), dict[str, Batch]()
    apart = mapped[0]  # each has its own truth value
    if apart:
        mapped = _mapped(loop, [True] * loop.carries + mapped[loop.carries :])
        inside.carry("any goes on", any_of(expanded(args[0], count)))
    for k, (n, v) in enumerate(zip(loop.inputs, args, strict=True)):
        label = n.attrs[0]
        if k < loop.carries:
            made = inside.carry(label, expanded(v, count) if mapped[k] else v.array)
        else:
            made = inside.same(label, v.array)
        given[label] = Batch(made, mapped[k])
    before = [given[n.attrs[0]].array for n in loop.inputs[: loop.carries]]
    with tracing(inside.b):
        values = list(batched(loop.body, given, count).values())
        after = [
            expanded(values[j], count) if mapped[k] else values[j].array
            for k, j in enumerate(loop.carried)
        ]
        if apart:
            goes = before[0]
            after = [
                select(reshape(goes, (count,) + (1,) * (x.ndim - 1)), x, old)
                for x, old in zip(after, before, strict=True)
            ]
            after = [any_of(after[0]), *after]
        inside.carried = after
    last, _ = inside.close(False)
    own = last[int(apart) :]
    parts = [expanded(Batch(own[r], mapped[r]), count) for r in loop.results]
    return concat([_flat(x) for x in parts], axis=1)


def _loops(loop: Loop, args: Sequence[Batch], count: Dim) -> Tracer:
    """One loop, whose rounds are of many."""
    mapped = _mapped(loop, [v.mapped for v in args])
    first = loop.carries + loop.sequences
    inside, given = Inside(loop.body.name), dict[str, Batch]()
    for k, (n, v) in enumerate(zip(loop.inputs, args, strict=True)):
        x, label = v.array, n.attrs[0]
        if k < loop.carries:
            made = inside.carry(label, expanded(v, count) if mapped[k] else x)
        elif k < first:
            made = inside.entry(label, moveaxis(x, 1, 0) if v.mapped else x)
        else:
            made = inside.same(label, x)
        given[label] = Batch(made, mapped[k])
    stacks = [r for r in loop.results if loop.is_stack(r)]
    with tracing(inside.b):
        values = list(batched(loop.body, given, count).values())
        inside.carried = [
            expanded(values[j], count) if mapped[k] else values[j].array
            for k, j in enumerate(loop.carried)
        ]
        inside.stacked = [expanded(values[loop.output(r)], count) for r in stacks]
    last, stacked = inside.close(loop.reverse)
    parts = {k: expanded(Batch(x, mapped[k]), count) for k, x in enumerate(last)}
    parts |= {r: moveaxis(x, 1, 0) for r, x in zip(stacks, stacked, strict=True)}
    flat = [_flat(parts[r]) for r in loop.results]
    return concat(flat, axis=1)


def _mapped(loop: Loop, given: Sequence[bool]) -> list[bool]:
    """Which of a loop's operands are one for each, where a carry that becomes so is so
    from the first round on."""
    found, body = list(given), loop.body
    while True:
        mapped = dict(zip((n.attrs[0] for n in loop.inputs), found, strict=True))
        many = _many(body, mapped)
        outputs = [many[i] for _, i in body.outputs]
        more = [k for k, j in enumerate(loop.carried) if outputs[j] and not found[k]]
        if not more:
            return found
        for k in more:
            found[k] = True


def _flat(x: Tracer) -> Tracer:
    return reshape(x, (x.shape[0], numel(x.shape[1:])))


def _one_by_one(node: Node, args: Sequence[Batch], count: Dim) -> Tracer:
    """A foreign function knows nothing of more axes: it is called for each."""
    if not isinstance(count, int):
        raise TraceError(f"vmap of the call {node.attrs[0]!r} over the symbolic size "
                         f"{count}: call it with arrays of a fixed size")  # fmt: skip
    target, _, dtype, shape = node.attrs
    parts: list[Tracer] = []
    for i in range(count):
        own = [
            reshape(slice_axis(v.array, 0, i, 1), v.array.shape[1:])
            if v.mapped else v.array
            for v in args
        ]  # fmt: skip
        token = len(own[0].builder.nodes) if own else i
        parts.append(_fronted(emit("call", (target, token, dtype, shape), *own)))
    return concat(parts, axis=0) if parts else zeros((0, *shape), dtype=dtype)


__all__ = ["ALONE", "GROWN", "Batch", "batched", "expanded", "grown"]
