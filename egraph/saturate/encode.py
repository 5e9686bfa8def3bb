"""Graph <-> e-graph terms: flat text in, rows out, one table for both directions.

Every size must be a number: bind symbols to witness primes first (`primes.witness`).
What comes from a model by name (input labels, array labels, call targets) is sent as a
number, so it can never be read as rule text.  Macros are sent whole; rules expand them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from ..ir import dtypes
from ..ir.constructors import EXACT_INT, SIGNATURES, number
from ..ir.dtypes import DType
from ..ir.graph import Const, Graph, Node, exact
from ..ir.macros import MACROS
from ..ir.ops import TensorType
from ..rules.sexpr import quoted
from .engine import EngineError

type Field = Any  # str | int | float | tuple[int, ...]
type Row = tuple[str, *tuple[Field, ...]]  # constructor, then its fields


class EncodeError(EngineError):
    """A graph that the e-graph cannot hold; the message names the node."""


@dataclass(frozen=True, slots=True)
class ENode:
    """One op on classes; `attrs` as in `ops.TABLE` and `macros.MACROS`."""

    op: str
    args: tuple[int, ...]
    attrs: tuple[Any, ...]


@dataclass(frozen=True)
class Names:
    """What the numbers in rows stand for."""

    labels: dict[str, int]

    def code(self, label: str) -> str:
        return f"n{self.labels[label]}"

    def label(self, code: str) -> str:
        return self.by_number[int(code[1:])]

    @functools.cached_property
    def by_number(self) -> tuple[str, ...]:
        return tuple(self.labels)


@dataclass(frozen=True)
class Encoded:
    """Rows in topological order; a tensor field is the number of an earlier row."""

    rows: tuple[Row, ...]
    where: tuple[int | None, ...]  # graph node -> row; None: dead
    names: Names
    types: Mapping[int, TensorType] = field(default_factory=dict[int, TensorType])
    nan_free: frozenset[int] = frozenset()  # rows that analysis found to hold no NaN

    def row(self, node: int) -> int:
        """The row of a live graph node."""
        row = self.where[node]
        assert row is not None, "dead nodes have no row"
        return row

    @property
    def heads(self) -> frozenset[str]:
        """The constructors that it has."""
        return frozenset(row[0] for row in self.rows)

    @property
    def text(self) -> str:
        lines = ["(function Node (i64) T :no-merge)"]
        for i, row in enumerate(self.rows):
            lines.append(f"(set (Node {i}) {show(row)})")
            if i in self.types:  # what the rules would find level by level
                kind = self.types[i]
                lines.append(f"(set (shape (Node {i})) {_vector(kind.shape)})")
                lines.append(f"(set (dtype (Node {i})) {quoted(kind.dtype.name)})")
        lines += [f"(nan-free (Node {i}))" for i in sorted(self.nan_free)]
        return "\n".join(lines)


# ---- values --------------------------------------------------------------------------


def constant(value: Const, dtype: DType, shape: Sequence[int]) -> Row:
    """`Const` where f64 holds the value as itself and rules may compute, else `Odd`."""
    if isinstance(value, float):
        minus_zero = not value and math.copysign(1, value) < 0
        plain = math.isfinite(value) and not minus_zero
    else:
        plain = abs(int(value)) <= EXACT_INT
    if plain:
        return ("Const", float(value), dtype.name, tuple(shape))
    return ("Odd", repr(value), dtype.name, tuple(shape))


def value_of(row: Sequence[Field]) -> Const:
    """The Python value of a `Const` or `Odd` row, rounded to its dtype."""
    if row[0] not in ("Const", "Odd"):
        raise EncodeError(f"({row[0]} …) stands where only a constant can")
    dtype = _dtype(row[2])
    if row[0] == "Const":
        return exact(row[1] + 0.0, dtype)  # + 0.0: a folded -0.0 is 0.0
    return exact(float(row[1]) if dtype.is_float else int(row[1]), dtype)


def _dtype(name: str) -> DType:
    """The dtype that a field of a row names."""
    if name not in dtypes.BY_NAME:
        raise EncodeError(f"{name!r} stands where a dtype is named")
    return dtypes.of(name)


# ---- graph -> rows -------------------------------------------------------------------


@dataclass
class _Encoder:
    graph: Graph
    rows: list[Row] = field(default_factory=list[Row])
    memo: dict[Row, int] = field(default_factory=dict[Row, int])

    def add(self, row: Row) -> int:
        if row not in self.memo:
            self.memo[row] = len(self.rows)
            self.rows.append(row)
        return self.memo[row]

    def node(self, node: Node, args: list[int], names: Names) -> int:
        if node.op == "concat":
            whole = args[0]
            for part in args[1:]:
                whole = self.add(("Concat", whole, part, node.attrs[0]))
            return whole
        if node.op == "pad":
            value = self.add(constant(node.attrs[2], node.dtype, ()))
            return self.add(("Pad", args[0], *node.attrs[:2], value))
        return self.add(_row(node, args, names))


def _plain(value: Any) -> Field:
    return value.name if isinstance(value, DType) else value


def _row(node: Node, args: Sequence[int], names: Names) -> Row:
    attrs = tuple(map(_plain, node.attrs))
    match node.op:
        case "const":
            return constant(node.attrs[0], node.dtype, attrs[2])
        case "input" | "data":
            return (node.op.capitalize(), names.code(attrs[0]), *attrs[1:])
        case "call":
            return ("Call", names.code(attrs[0]), *attrs[1:], tuple(args))
        case "slice":  # the step of a single element means nothing: one form of it
            start, size, step = attrs
            steps = tuple(1 if n == 1 else d for n, d in zip(size, step, strict=True))
            return ("Slice", *args, start, size, steps)
        case "un" | "bin" | "reduce" | "argreduce" | "scan" | "scatter":
            return (node.op.capitalize(), attrs[0], *args, *attrs[1:])
        case op if op in MACROS:
            mask, number = _macro_fields(node)
            return (f"Macro{len(args)}", op, *args, mask, number)
        case op if op.capitalize() in SIGNATURES:
            return (op.capitalize(), *args, *attrs)
        case op:
            raise EncodeError(
                f"{op} has no constructor: name one in SIGNATURES "
                f"(egraph/ir/constructors.py) and declare it in rules/ir.egg"
            )


def _macro_fields(node: Node) -> tuple[tuple[int, ...], float]:
    """Vector and number, the number rounded to the dtype as in the expansion."""
    kinds = [k for _, k in MACROS[node.op].attrs]
    vector = next((i for i, k in enumerate(kinds) if k in ("mask", "ints")), None)
    mask = () if vector is None else node.attrs[vector]
    number = node.attrs[kinds.index("float")] if "float" in kinds else 0.0
    return mask, float(exact(number, node.dtype))


def _check_sizes(i: int, node: Node) -> None:
    shown = f"node {i} ({node.name or node.op}: {node.type})"
    flat = [*node.shape]
    for a in node.attrs:
        flat.extend(a if isinstance(a, tuple) else (a,))  # type: ignore[arg-type]
    if any(type(d).__name__ == "Poly" for d in flat):
        raise EncodeError(f"{shown} has a symbolic size; bind symbols first")


def names_of(*graphs: Graph) -> Names:
    """One numbering of the labels of all the graphs."""
    labels = [
        n.attrs[0] for g in graphs for n in g.nodes if n.op in ("input", "data", "call")
    ]
    return Names({label: i for i, label in enumerate(dict.fromkeys(labels))})


def encode(
    graph: Graph,
    names: Names | None = None,
    nan_free: AbstractSet[int] = frozenset(),
) -> Encoded:
    """The live part of a graph of concrete sizes as rows; `nan_free` are nodes."""
    names = names or names_of(graph)
    encoder, live = _Encoder(graph), graph.live
    where: list[int | None] = []
    types: dict[int, TensorType] = {}
    for i, node in enumerate(graph.nodes):
        if i not in live:
            where.append(None)
            continue
        _check_sizes(i, node)
        args = [r for a in node.args if (r := where[a]) is not None]
        row = encoder.node(node, args, names)
        where.append(row)
        types[row] = node.type
    facts = frozenset(r for i, r in enumerate(where) if i in nan_free and r is not None)
    return Encoded(tuple(encoder.rows), tuple(where), names, types, facts)


# ---- rows -> text --------------------------------------------------------------------


def _vector(v: Sequence[Any], one: Callable[[Any], str] = str) -> str:
    return f"(vec-of {' '.join(map(one, v))})" if v else "(vec-empty)"


def show(row: Row, ref: str = "(Node {})") -> str:
    """A row as a term; `ref` says how an earlier row is named."""
    parts = [row[0]]
    for kind, x in zip(SIGNATURES[row[0]], row[1:], strict=True):
        match kind:
            case "t":
                parts.append(ref.format(x))
            case "T":
                parts.append(_vector(x, ref.format))
            case "v":
                parts.append(_vector(x))
            case "s":
                parts.append(quoted(x))
            case _:
                parts.append(number(x))
    return f"({' '.join(parts)})"


# ---- rows -> e-nodes -----------------------------------------------------------------


def decode(row: Row, names: Names, value: Callable[[int], Const]) -> ENode:
    """A row of classes as an e-node; `value` gives the constant of a class."""
    head, f = row[0], row[1:]
    match head:
        case "Const" | "Odd":
            return ENode("const", (), (value_of(row), _dtype(f[1]), f[2]))
        case "Input" | "Data":
            return ENode(head.lower(), (), (names.label(f[0]), _dtype(f[1]), f[2]))
        case "Iota":
            return ENode("iota", (), (f[0], _dtype(f[1]), f[2]))
        case "Un" | "Bin":
            return ENode(head.lower(), f[1:], f[:1])
        case "Scatter":
            return ENode("scatter", f[1:4], (f[0], f[4]))
        case "Reduce" | "Argreduce" | "Scan":
            return ENode(head.lower(), f[1:2], (f[0], f[2], _dtype(f[3])))
        case "Pad":
            return ENode("pad", f[:1], (f[1], f[2], value(f[3])))
        case "Call":
            attrs = (names.label(f[0]), f[1], _dtype(f[2]), f[3])
            return ENode("call", f[4], attrs)
        case "Macro1" | "Macro2" | "Macro3":
            return _macro(f)
        case _:
            n = SIGNATURES[head].count("t")
            attrs = (_dtype(x) if isinstance(x, str) else x for x in f[n:])
            return ENode(head.lower(), f[:n], tuple(attrs))


def _macro(f: tuple[Field, ...]) -> ENode:
    name, *args, mask, number = f
    if name not in MACROS:
        raise EncodeError(f"unknown macro {name!r}; known: {', '.join(MACROS)}")
    by_kind: Mapping[str, Any] = {"mask": mask, "ints": mask, "float": number}
    attrs = tuple(by_kind[k] for _, k in MACROS[name].attrs)
    return ENode(name, tuple(args), attrs)
