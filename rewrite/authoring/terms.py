"""Between terms as rule files write them in examples, and graphs.

`egraph/judge/examples.py` describes the language: a lowercase name is a tensor,
`f32[2,3]` unless it says otherwise where it first stands, a number is a constant like
the tensor beside it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.constructors import SIGNATURES, number
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.judge.examples import read
from rewrite.egraph.rules.ruleset import Example
from rewrite.egraph.rules.sexpr import Expr, Place
from rewrite.egraph.saturate.encode import (
    EncodeError,
    Names,
    Row,
    decode,
    encode,
    value_of,
)

type Places = tuple[int | None, ...]  # the row of each node; None: dead

USUAL = ("f32", (2, 3))  # of a tensor that does not say


def graphs_of(left: Expr, right: Expr) -> tuple[Graph, Graph]:
    """Two terms over the same tensors as two graphs with one output each."""
    rows, i, j, _ = read(Example(left, right, left.place))
    assert j is not None
    builder = Builder()
    where = added(builder, rows, left.place)
    graph = builder.build({"out": where[i]})
    return graph, Graph(graph.nodes, (("out", where[j]),), graph.name)


def added(
    builder: Builder, rows: Sequence[Row], place: Place, mark: str = ""
) -> list[int]:
    """The nodes of an example's rows; `mark` tells its tensors from those of others."""
    where: list[int] = []
    for row in rows:
        try:
            where.append(_node(builder, row, where, rows, mark))
        except GraphError as e:
            raise place.error(f"a term that is none: {e}") from None
    return where


def _node(
    b: Builder, row: Row, where: Sequence[int], rows: Sequence[Row], mark: str
) -> int:
    if row[0] in ("Data", "Call"):
        raise GraphError(f"{row[0]} cannot be written as a term; use a .graph file")
    try:
        if row[0] == "Input":
            label, dtype, shape = row[1:]
            return b.input(label + mark, dtypes.of(dtype), shape)
        node = decode(row, Names({}), lambda i: value_of(rows[i]))
    except (EncodeError, ValueError) as e:  # a dtype or a macro that is none
        raise GraphError(str(e)) from None
    return b.add(node.op, [where[a] for a in node.args], node.attrs)


# ---- graphs as terms -----------------------------------------------------------------


@dataclass
class Speller:
    """Spells out nodes of one graph; each input says its type where it first stands."""

    rows: Sequence[Row]
    labels: Mapping[str, str]  # code of an input -> its name here
    names: Mapping[int, str] = field(default_factory=dict[int, str])  # of rows
    said: set[str] = field(default_factory=set[str])

    def term(self, i: int) -> str:
        if i in self.names:
            return self.names[i]
        row = self.rows[i]
        if row[0] == "Input":
            return self._input(row)
        parts = [row[0]]
        for kind, x in zip(SIGNATURES[row[0]], row[1:], strict=True):
            match kind:
                case "t":
                    parts.append(self.term(x))
                case "T":
                    parts.append(f"[{' '.join(map(self.term, x))}]")
                case "v":
                    parts.append(f"[{','.join(map(str, x))}]")
                case "s":
                    parts.append(f'"{x}"')
                case _:
                    parts.append(number(x))
        return f"({' '.join(parts)})"

    def _input(self, row: Row) -> str:
        name = self.labels[row[1]]
        if name in self.said or (row[2], row[3]) == USUAL:
            return name
        self.said.add(name)
        kind = "" if row[2] == "f32" else row[2]
        return f"{name}:{kind}[{','.join(map(str, row[3]))}]"


def speller(graph: Graph, *, drawn: bool = False) -> tuple[Speller, Places]:
    """A speller for a graph of concrete sizes, and the row of each of its nodes.

    `drawn`: labels end in numbers by which draws are told apart, and lose them.
    """
    encoded = encode(graph)
    taken = dict[str, str]()
    for row in encoded.rows:
        if row[0] == "Input":
            label = encoded.names.label(row[1])
            word = _word(label.rstrip("_0123456789") if drawn else label)
            fresh = (f"{word}{n or ''}" for n in itertools.count())
            taken[row[1]] = next(w for w in fresh if w not in taken.values())
    return Speller(encoded.rows, taken), encoded.where


def _word(label: str) -> str:
    """A name that terms may have."""
    word = re.sub(r"\W", "_", label).lower()
    return word if re.match("[a-z]", word) else f"x{word}"


def spelled(graph: Graph, *, drawn: bool = False) -> list[str]:
    """The outputs of a graph as terms."""
    words, where = speller(graph, drawn=drawn)
    rows = [where[i] for _, i in graph.outputs]
    return [words.term(r) for r in rows if r is not None]
