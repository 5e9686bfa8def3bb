"""Loops put into a graph: a call for the results of each dtype, with what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ir import dims
from ..ir.dims import Dim, Shape, numel
from ..ir.dtypes import BOOL
from ..ir.graph import Builder, Graph, Node, attr_dims
from .loop import Loop

TARGET = "loop"  # begins the name of a call that is one
AGAIN = 0  # the key of barriers that mark nothing


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was written, in a builder of its own: nodes of that, and for each
    input the operand around the loop."""

    b: Builder
    carries: Sequence[tuple[int, int]]  # input, operand
    sequences: Sequence[tuple[int, int]]  # the operand has an axis more, in front
    same: Sequence[tuple[int, int]]
    carried: Sequence[int]  # what each carry becomes
    stacked: Sequence[int]


def call_name(b: Builder, name: str) -> str:
    """What no other call of a graph is called."""
    return f"{TARGET} {b.call_number()} {name}".strip()


def add_loop(b: Builder, of: Round, reverse: bool = False) -> list[int]:
    """Nodes of `b`: the last of each carry, then the stacks of all rounds.

    Results of other dtypes are those of another loop: a call gives one array.
    """
    every = (*of.carried, *of.stacked)
    by_dtype: dict[str, list[int]] = {}
    for r, node in enumerate(every):
        by_dtype.setdefault(of.b.type(node).dtype.name, []).append(r)
    where: dict[int, int] = {}
    for results in by_dtype.values():
        loop, args = _cut(b, of, results, reverse)
        rounds = b.shape(args[loop.carries])[0]
        *starts, whole = loop.starts(rounds)
        flat = b.call(call_name(b, of.b.name), loop, args, loop.dtype, (whole,))
        for r, k, start in zip(results, loop.results, starts, strict=True):
            shape = loop.shape(k, rounds)
            part = b.slice(flat, (start,), (numel(shape),), (1,))
            where[r] = b.reshape(part, shape)
    return [where[r] for r in range(len(every))]


def _cut(
    b: Builder, of: Round, results: Sequence[int], reverse: bool
) -> tuple[Loop, list[int]]:
    """The loop that gives these results alone, and its operands."""
    count = len(of.carries)
    carries = {r for r in results if r < count}
    stacks = [r - count for r in results if r >= count]
    while True:
        wanted = [of.carried[k] for k in sorted(carries)]
        wanted += [of.stacked[k] for k in stacks]
        live = _live(of.b, wanted)
        more = {k for k, (i, _) in enumerate(of.carries) if i in live} - carries
        if not more:
            break
        carries |= more
    kept = sorted(carries)
    sequences = [s for s in of.sequences if s[0] in live] or list(of.sequences[:1])
    same = [s for s in of.same if s[0] in live]
    consts = {i: b.nodes[a] for i, a in same if b.nodes[a].op == "const"}
    same = [s for s in same if s[0] not in consts]
    arrays = [i for i in sorted(live) if of.b.nodes[i].op == "data"]
    same += [(i, b.array(of.b.data[of.b.nodes[i].attrs[0]])) for i in arrays]
    given = [*(of.carries[k] for k in kept), *sequences, *same]
    sizes = _untold([of.b.nodes[i] for i in live], [of.b.shape(i) for i, _ in given])
    ends = [b.const(False, BOOL, (dims.symbol(s),)) for s in sizes]
    body, outputs = _body(of.b, [i for i, _ in given], sizes, consts, live, wanted)
    place = {k: n for n, k in enumerate(kept)}
    return Loop(
        body, len(kept), len(sequences),
        tuple(outputs[: len(kept)]), tuple(outputs[len(kept) :]),
        tuple(place[r] if r < count else len(kept) + stacks.index(r - count)
              for r in results),
        reverse,
    ), [*(a for _, a in given), *ends]  # fmt: skip


def _untold(nodes: Iterable[Node], given: Iterable[Shape]) -> list[str]:
    """The symbols that a round reads and that no shape of its inputs tells: it is given
    an array as long as each."""
    read = {s for n in nodes for s in dims.symbols((*n.shape, *attr_dims(n)))}
    told = {s for shape in given for d in shape for s in _told(d)}
    return sorted(read - told)


def _told(d: Dim) -> Iterator[str]:
    names = dims.symbols((d,))
    if dims.solve(d, dims.bind(d, dict.fromkeys(names, 1))) is not None:
        yield from names


def _live(b: Builder, wanted: Iterable[int]) -> set[int]:
    todo, seen = list(wanted), set[int]()
    while todo:
        i = todo.pop()
        if i not in seen:
            seen.add(i)
            todo += b.nodes[i].args
    return seen


def _body(
    of: Builder, given: Sequence[int], sizes: Iterable[str],
    consts: Mapping[int, Node], live: Iterable[int], wanted: Sequence[int],
) -> tuple[Graph, list[int]]:  # fmt: skip
    """A graph of these inputs in order, and which output each of `wanted` is."""
    b = Builder(of.name)
    where = {i: b.add("const", (), n.attrs) for i, n in consts.items()}
    for k, i in enumerate(given):
        node = of.nodes[i]
        label = node.attrs[0] if node.op == "input" else f"array {k}"
        where[i] = b.input(label, node.dtype, node.shape)
    for s in sizes:
        b.input(f"size {s}", BOOL, (dims.symbol(s),))
    for i in sorted(set(live) - where.keys()):
        node = of.nodes[i]
        if node.op == "call":
            b.calls[node.attrs[0]] = of.calls[node.attrs[0]]
        args = [where[a] for a in node.args]
        where[i] = b.add(node.op, args, node.attrs, node.name)
    outputs = _outputs(b, dict.fromkeys(wanted), where)
    order = {i: n for n, i in enumerate(outputs)}
    return b.build(list(outputs.values())), [order[i] for i in wanted]


def _outputs(
    b: Builder, wanted: Iterable[int], where: Mapping[int, int]
) -> dict[int, int]:
    """What a round hands on as it was given it is a value of its own."""
    made: dict[int, int] = {}
    for i in wanted:
        node = where[i]
        given = b.nodes[node].op == "input" or node in made.values()
        made[i] = b.add("barrier", (node,), (AGAIN,)) if given else node
    return made


__all__ = ["Round", "add_loop", "call_name"]
