"""Loops and branches put into a graph: a call for the results of each dtype, with what
that needs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ir import dims
from ..ir.dims import Dim, Shape, numel
from ..ir.dtypes import BOOL
from ..ir.graph import Builder, Graph, Node, attr_dims
from .branch import Branch
from .flow import Flow
from .loop import Loop

AGAIN = 0  # the key of barriers that mark nothing


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was written, in a builder of its own: nodes of that, and for each
    input the operand around the loop.  Without a sequence the first carry says whether
    there is another round."""

    b: Builder
    carries: Sequence[tuple[int, int]]  # input, operand
    sequences: Sequence[tuple[int, int]]  # the operand has an axis more, in front
    same: Sequence[tuple[int, int]]
    carried: Sequence[int]  # what each carry becomes
    stacked: Sequence[int]


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a branch, likewise: `given` are its inputs, each with its operand."""

    b: Builder
    given: Sequence[tuple[int, int]]
    results: Sequence[int]


def call_name(b: Builder, kind: str, name: str) -> str:
    """What no other call of a graph is called."""
    return f"{kind} {b.call_number()} {name}".strip()


def add_loop(b: Builder, of: Round, reverse: bool = False) -> list[int]:
    """Nodes of `b`: the last of each carry, then the stacks of all rounds.

    Results of other dtypes are those of another loop: a call gives one array.
    """
    every = (*of.carried, *of.stacked)
    where: dict[int, int] = {}
    if not of.sequences:  # it ends when this is so
        where[0] = b.const(False, BOOL)
    for results in _by_dtype(of.b, every, where):
        loop, args = _cut(b, of, results, reverse)
        parts = _called(b, "loop", of.b.name, loop, args)
        where |= dict(zip(results, parts, strict=True))
    return [where[r] for r in range(len(every))]


def add_branch(b: Builder, test: int, arms: tuple[Arm, Arm]) -> list[int]:
    """Nodes of `b`: the results of the first arm where `test` is true, else those of
    the second, which are of the same types.  They are calls for each dtype likewise."""
    where: dict[int, int] = {}
    for results in _by_dtype(arms[0].b, arms[0].results):
        cut = [_cut_arm(b, arm, [arm.results[r] for r in results]) for arm in arms]
        args = [test]
        places: list[tuple[int, ...]] = []
        for _, operands in cut:
            args += [a for a in operands if a not in args[1:]]
            places.append(tuple(args.index(a, 1) for a in operands))
        (one, _), (other, _) = cut
        branch = Branch(one, other, (places[0], places[1]))
        parts = _called(b, "cond", arms[0].b.name, branch, args)
        where |= dict(zip(results, parts, strict=True))
    return [where[r] for r in range(len(arms[0].results))]


def _by_dtype(
    b: Builder, results: Iterable[int], but: Container[int] = ()
) -> Iterable[list[int]]:
    """Places among the results, those of one dtype together."""
    found: dict[str, list[int]] = {}
    for r, node in enumerate(results):
        if r not in but:
            found.setdefault(b.type(node).dtype.name, []).append(r)
    return found.values()


def _called(
    b: Builder, kind: str, name: str, flow: Flow, args: Sequence[int]
) -> list[int]:
    """The results of a call."""
    runs = flow.runs([b.shape(a) for a in args])
    *starts, whole = flow.starts(runs)
    flat = b.call(call_name(b, kind, name), flow, args, flow.dtype, (whole,))
    made: list[int] = []
    for shape, start in zip(flow.shapes(runs), starts, strict=True):
        part = b.slice(flat, (start,), (numel(shape),), (1,))
        made.append(b.reshape(part, shape))
    return made


def _cut(
    b: Builder, of: Round, results: Sequence[int], reverse: bool
) -> tuple[Loop, list[int]]:
    """The loop that gives these results alone, and its operands."""
    count = len(of.carries)
    carries = {r for r in results if r < count}
    if not of.sequences:
        carries.add(0)
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
    same += _arrays(b, of.b, live)
    given = [*(of.carries[k] for k in kept), *sequences, *same]
    sizes = _untold([of.b.nodes[i] for i in live], [of.b.shape(i) for i, _ in given])
    made = list(dict.fromkeys(wanted))
    body = _body(of.b, [i for i, _ in given], sizes, consts, live, made)
    outputs = [made.index(i) for i in wanted]
    place = {k: n for n, k in enumerate(kept)}
    return Loop(
        body, len(kept), len(sequences),
        tuple(outputs[: len(kept)]), tuple(outputs[len(kept) :]),
        tuple(place[r] if r < count else len(kept) + stacks.index(r - count)
              for r in results),
        reverse,
    ), [*(a for _, a in given), *_as_long(b, sizes)]  # fmt: skip


def _cut_arm(b: Builder, arm: Arm, wanted: Sequence[int]) -> tuple[Graph, list[int]]:
    """The graph that gives these results alone, and its operands."""
    live = _live(arm.b, wanted)
    given = [(i, a) for i, a in arm.given if i in live]
    consts = {i: b.nodes[a] for i, a in given if b.nodes[a].op == "const"}
    given = [g for g in given if g[0] not in consts]
    given += _arrays(b, arm.b, live)
    shapes = [arm.b.shape(i) for i, _ in given]
    sizes = _untold([arm.b.nodes[i] for i in live], shapes)
    body = _body(arm.b, [i for i, _ in given], sizes, consts, live, wanted)
    return body, [*(a for _, a in given), *_as_long(b, sizes)]


def _arrays(b: Builder, of: Builder, live: Iterable[int]) -> list[tuple[int, int]]:
    """The arrays that a body reads, each with its node in `b`."""
    found = [i for i in sorted(live) if of.nodes[i].op == "data"]
    return [(i, b.array(of.data[of.nodes[i].attrs[0]])) for i in found]


def _as_long(b: Builder, sizes: Iterable[str]) -> list[int]:
    return [b.const(False, BOOL, (dims.symbol(s),)) for s in sizes]


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
) -> Graph:  # fmt: skip
    """A graph of these inputs and these results, in order."""
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
    return b.build(_outputs(b, [where[i] for i in wanted]))


def _outputs(b: Builder, nodes: Iterable[int]) -> list[int]:
    """What is handed on as it was given, or twice, is a value of its own."""
    made: list[int] = []
    for node in nodes:
        given = b.nodes[node].op == "input" or node in made
        made.append(b.add("barrier", (node,), (AGAIN,)) if given else node)
    return made


__all__ = ["Arm", "Round", "add_branch", "add_loop", "call_name"]
