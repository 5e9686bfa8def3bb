"""Terms to try: products that share an operand, side by side as one.

A proposal is a value that the model does not compute, added to the graph that is
saturated.  Nothing is claimed of it: only where rules prove that a part of it equals a
value of the model can it be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import VARYING

MOST = 16  # products side by side


@dataclass(frozen=True, slots=True)
class Pack:
    """Values of one kind that lie side by side along `axis` of `whole`."""

    whole: int
    members: tuple[int, ...]
    axis: int


def proposed(graph: Graph) -> Graph:
    """The graph with proposals as further outputs."""
    b = _copy(graph)
    same = _numbering(graph)
    fixed = _fixed(graph)
    users = _users(graph, same)
    outputs = dict(graph.outputs)
    for group in _groups(graph, same, fixed):
        pack = _product(b, group)
        while pack is not None:
            last = pack
            pack = _followed(b, pack, users, fixed)
            if pack is None:
                outputs.update(_parts(b, last))
    return b.build(outputs) if len(outputs) > len(graph.outputs) else graph


def _copy(graph: Graph) -> Builder:
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    b.nodes.extend(graph.nodes)
    return b


def _numbering(graph: Graph) -> list[int]:
    """The first node that computes the same as each node."""
    seen: dict[Any, int] = {}
    out: list[int] = []
    for i, n in enumerate(graph.nodes):
        key = (n.op, repr(n.attrs), tuple(out[a] for a in n.args))
        out.append(seen.setdefault(key, i))
    return out


def _fixed(graph: Graph) -> list[bool]:
    """Which values are known before the model runs."""
    out: list[bool] = []
    for n in graph.nodes:
        out.append(n.op not in VARYING and all(out[a] for a in n.args))
    return out


def _users(graph: Graph, same: Sequence[int]) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for i, n in enumerate(graph.nodes):
        if same[i] == i:
            for a in dict.fromkeys(same[a] for a in n.args):
                out.setdefault(a, []).append(i)
    return out


def _groups(
    graph: Graph, same: Sequence[int], fixed: Sequence[bool]
) -> list[tuple[int, ...]]:
    """Products of one left operand by constants that differ along one axis at most."""
    result: dict[Any, dict[int, None]] = {}
    for i in sorted(graph.live):
        n = graph.nodes[i]
        if n.op != "contract" or same[i] != i or not fixed[n.args[1]]:
            continue
        full, mask, acc = n.attrs
        left, right = (graph.nodes[a].shape for a in n.args)
        for axis, size in enumerate(right):
            if (
                left[axis] == 1
                and not mask[axis]
                and isinstance(size, int)
                and size > 1
            ):
                others = [k for k in range(len(full)) if k != axis]
                rest = tuple((full[k], right[k]) for k in others)
                key = (same[n.args[0]], axis, rest, mask, acc)
                result.setdefault(key, {})[i] = None
    return [(axis, *g) for (_, axis, *_), g in result.items() if 1 < len(g) <= MOST]


def _product(b: Builder, group: tuple[int, ...]) -> Pack | None:
    axis, *members = group
    first = b.nodes[members[0]]
    weights = b.concat([b.nodes[i].args[1] for i in members], axis)
    full = list(first.attrs[0])
    full[axis] = b.shape(weights)[axis]
    whole = b.add("contract", (first.args[0], weights), (tuple(full), *first.attrs[1:]))
    return Pack(whole, tuple(members), axis)


def _followed(
    b: Builder, pack: Pack, users: Mapping[int, list[int]], fixed: Sequence[bool]
) -> Pack | None:
    """The pack of what each member's only user makes of it, where these are alike."""
    next_ = [users.get(i, []) for i in pack.members]
    if any(len(u) != 1 for u in next_):
        return None
    nodes = [b.nodes[u[0]] for u in next_]
    members = tuple(u[0] for u in next_)
    if len(set(members)) < len(members) or len({n.op for n in nodes}) > 1:
        return None
    if nodes[0].op == "reshape":
        return _reshaped(b, pack, members)
    if nodes[0].op == "bin":
        return _shifted(b, pack, members, fixed)
    return None


def _reshaped(b: Builder, pack: Pack, members: tuple[int, ...]) -> Pack | None:
    """Axes of size 1 come and go."""
    shapes = [b.shape(i) for i in members]
    before = [b.shape(i) for i in pack.members]
    place = sum(d != 1 for d in before[0][: pack.axis])
    axes = [k for k, d in enumerate(shapes[0]) if d != 1]
    alike = all([d for d in s if d != 1] == [d for d in t if d != 1]
                for s, t in zip(shapes, before, strict=True))  # fmt: skip
    same = {tuple(d == 1 for d in s) for s in shapes}
    if not alike or len(same) > 1:
        return None
    shape = list(shapes[0])
    shape[axes[place]] = b.shape(pack.whole)[pack.axis]
    return Pack(b.reshape(pack.whole, shape), members, axes[place])


def _shifted(
    b: Builder, pack: Pack, members: tuple[int, ...], fixed: Sequence[bool]
) -> Pack | None:
    """The same opcode with a constant row for each member."""
    nodes = [b.nodes[i] for i in members]
    rows: list[int] = []
    for n, member in zip(nodes, pack.members, strict=True):
        other = n.args[1]
        row = b.nodes[other]
        if n.attrs != nodes[0].attrs or n.args[0] != member or row.op != "expand":
            return None
        if not fixed[other] or row.attrs[1][pack.axis]:
            return None
        rows.append(row.args[0])
    if len({b.nodes[n.args[1]].attrs[1] for n in nodes}) > 1:
        return None
    row = b.concat(rows, pack.axis)
    whole = b.bin(nodes[0].attrs[0], pack.whole, b.expand(row, b.shape(pack.whole)))
    return Pack(whole, members, pack.axis)


def _parts(b: Builder, pack: Pack) -> dict[str, int]:
    out: dict[str, int] = {}
    at: Dim = 0
    for i in pack.members:
        shape = b.shape(i)
        start: list[Dim] = [0] * len(shape)
        start[pack.axis] = at
        part = b.slice(pack.whole, start, shape, [1] * len(shape))
        out[f"part{part}"] = part
        at = at + shape[pack.axis]
    return out
