"""Rows of the engine as a frozen e-graph, numbered by structure.

Engine ids depend on the order of events, so nothing here keeps them.  Each class is
known by its flattest term: a class has a height (the least height of any of its terms)
and a hash (the least hash of its e-nodes of that height).  Sorting by both numbers the
classes; the same two keys order the e-nodes of a class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..ir import dtypes
from ..ir.constructors import SIGNATURES
from ..ir.graph import Const
from ..ir.macros import MACROS
from ..ir.ops import TABLE, OpError, TensorType
from .encode import Encoded, EncodeError, ENode, Names, Row, decode, show, value_of
from .engine import Tables

LABELLED = ("Input", "Data", "Call")


@dataclass(frozen=True)
class EGraph:
    classes: tuple[tuple[ENode, ...], ...]
    types: tuple[TensorType, ...]
    own: tuple[int, ...]  # encoded row -> class
    choice: dict[int, int]
    number: dict[int, int]  # the engine's number of a class in `tables` -> class


@dataclass(frozen=True, slots=True)
class _Key:
    """Where a row stands in the order: height, then hash."""

    height: int
    digest: bytes


def kids(row: Row) -> tuple[int, ...]:
    """The term fields of a row."""
    kinds = SIGNATURES[row[0]]
    if kinds.endswith("T"):
        return tuple(row[-1])
    return tuple(x for k, x in zip(kinds, row[1:], strict=True) if k == "t")


def with_kids(row: Row, to: Mapping[int, object]) -> tuple[object, ...]:
    """The row with its term fields renamed."""
    kinds = SIGNATURES[row[0]]
    if kinds.endswith("T"):
        return (*row[:-1], tuple(to[x] for x in row[-1]))
    fields = zip(kinds, row[1:], strict=True)
    return (row[0], *(to[x] if k == "t" else x for k, x in fields))


def read(
    tables: Tables, encoded: Encoded, roots: Sequence[int], *, check: bool = False
) -> EGraph:
    """The classes below `roots` (rows of `encoded`) as an e-graph.

    `check` asks of every e-node what the builder asks of a node; an `EncodeError`
    shows the first that is none.
    """
    rows, home = _rows(tables)
    node_class: dict[int, int] = dict(tables["Node"])
    by_class: dict[int, list[Row]] = {}
    for row in rows:
        by_class.setdefault(home[row], []).append(row)
    live = _reachable(by_class, (node_class[r] for r in roots))
    if check:
        _check_leaves([r for c in live for r in by_class[c]], encoded)
    keys = _keys([r for c in live for r in by_class[c]], home, encoded.names)
    order = sorted(live, key=lambda c: _rank(min_key(by_class[c], keys)))
    number = {c: i for i, c in enumerate(order)}
    for c in order:
        by_class[c].sort(key=lambda r: _rank(keys[r]))
    own = tuple(number[node_class[i]] for i in range(len(encoded.rows)))
    types = _types(tables, order, by_class)
    classes = _decode(order, by_class, number, encoded.names)
    if check:
        _check_types(classes, types)
    return EGraph(
        classes,
        types,
        own,
        _own_choice(encoded, node_class, home, by_class, number),
        number,
    )


def _rows(tables: Tables) -> tuple[list[Row], dict[Row, int]]:
    rows: list[Row] = []
    home: dict[Row, int] = {}
    for head in SIGNATURES:
        for *inputs, output in tables.get(head, ()):
            row: Row = (head, *inputs)
            rows.append(row)
            home[row] = output
    return rows, home


def _reachable(by_class: Mapping[int, list[Row]], roots: Iterable[int]) -> list[int]:
    todo, seen = list(roots), dict[int, None]()
    while todo:
        c = todo.pop()
        if c not in seen:
            seen[c] = None
            for row in by_class[c]:
                todo.extend(kids(row))
    return list(seen)


def _rank(key: _Key) -> tuple[int, bytes]:
    return key.height, key.digest


def min_key(rows: Sequence[Row], keys: Mapping[Row, _Key]) -> _Key:
    return min((keys[r] for r in rows if r in keys), key=_rank)


def _keys(
    rows: Sequence[Row], home: Mapping[Row, int], names: Names
) -> dict[Row, _Key]:
    """Height and hash of every row, level by level from the leaves."""
    waiting: dict[int, list[Row]] = {}
    missing: dict[Row, int] = {}
    ready: list[Row] = []
    for row in rows:
        need = set(kids(row))
        missing[row] = len(need)
        for c in need:
            waiting.setdefault(c, []).append(row)
        if not need:
            ready.append(row)
    keys: dict[Row, _Key] = {}
    digests: dict[int, bytes] = {}
    height = 0
    while ready:
        fresh: dict[int, bytes] = {}
        for row in ready:
            key = keys[row] = _Key(height, _digest(row, digests, names))
            c = home[row]
            if c not in digests:
                fresh[c] = min(fresh.get(c, key.digest), key.digest)
        digests.update(fresh)
        ready, height = _unlocked(fresh, waiting, missing), height + 1
    return keys


def _digest(row: Row, digests: Mapping[int, bytes], names: Names) -> bytes:
    if row[0] in LABELLED:  # its number tells where the label came, not what it is
        row = (row[0], names.label(row[1]), *row[2:])
    text = repr(with_kids(row, digests)).encode()
    return hashlib.blake2b(text, digest_size=12).digest()


def _unlocked(
    fresh: Iterable[int], waiting: Mapping[int, list[Row]], missing: dict[Row, int]
) -> list[Row]:
    ready: list[Row] = []
    for c in fresh:
        for row in waiting.get(c, ()):
            missing[row] -= 1
            if not missing[row]:
                ready.append(row)
    return ready


def _decode(
    order: Sequence[int],
    by_class: Mapping[int, list[Row]],
    number: Mapping[int, int],
    names: Names,
) -> tuple[tuple[ENode, ...], ...]:
    def value(c: int) -> Const:
        for row in by_class[c]:
            if row[0] in ("Const", "Odd"):
                return value_of(row)
        raise EncodeError("the value of a Pad is a constant of rank 0")

    def one(row: Row) -> ENode:
        try:
            node = decode(row, names, value)
        except (EncodeError, ValueError, ArithmeticError) as e:
            raise EncodeError(f"{show(row, '#{}')}: {e}") from None
        return ENode(node.op, tuple(number[a] for a in node.args), node.attrs)

    return tuple(tuple(map(one, by_class[c])) for c in order)


def _types(
    tables: Tables, order: Sequence[int], by_class: Mapping[int, list[Row]]
) -> tuple[TensorType, ...]:
    shapes = dict(tables["shape"])
    kinds = dict(tables["dtype"])
    out: list[TensorType] = []
    for c in order:
        if c not in shapes or c not in kinds:
            raise EncodeError(
                f"{show(by_class[c][0], '#{}')}: its operands do not fit, or its "
                "opcode or macro is unknown"
            )
        try:
            out.append(TensorType(dtypes.of(kinds[c]), shapes[c]))
        except ValueError as e:
            raise EncodeError(f"{show(by_class[c][0], '#{}')}: {e}") from None
    return tuple(out)


# ---- what rules from elsewhere have made ---------------------------------------------


def _check_leaves(rows: Iterable[Row], encoded: Encoded) -> None:
    """Inputs, arrays and calls are the graph's; operands of a call may be replaced."""
    known = {_origin(r) for r in encoded.rows}
    for row in rows:
        if row[0] in LABELLED and _origin(row) not in known:
            raise EncodeError(
                f"{show(row, '#{}')}: the graph has no such {row[0].lower()}"
            )


def _origin(row: Row) -> tuple[object, ...]:
    return row[:-1] if row[0] == "Call" else row


def _check_types(
    classes: Sequence[Sequence[ENode]], types: Sequence[TensorType]
) -> None:
    for nodes, want in zip(classes, types, strict=True):
        for node in nodes:
            operands = [types[a] for a in node.args]
            try:
                _check_type(node, operands, want)
            except (OpError, ValueError, LookupError, TypeError) as e:
                fields = ", ".join(map(str, (*operands, *node.attrs)))
                raise EncodeError(f"{node.op}({fields}): {e}") from None


def _check_type(node: ENode, operands: Sequence[TensorType], want: TensorType) -> None:
    entry = TABLE[node.op] if node.op in TABLE else MACROS[node.op]
    if entry.arity not in (None, len(operands)):
        raise OpError(f"{entry.arity} operands expected, found {len(operands)}")
    have = entry.infer(operands, node.attrs)
    if have != want:
        raise OpError(f"it is {have}, and stands for {want}")


def _own_choice(
    encoded: Encoded,
    node_class: Mapping[int, int],
    home: Mapping[Row, int],
    by_class: Mapping[int, list[Row]],
    number: Mapping[int, int],
) -> dict[int, int]:
    """Class -> e-node of the graph's own term.  Acyclic: the first writer of a class
    uses only classes that were written before."""
    choice: dict[int, int] = {}
    for i, row in enumerate(encoded.rows):
        c = node_class[i]
        if number.get(c) is not None and number[c] not in choice:
            own: Row = with_kids(row, node_class)  # type: ignore[assignment]
            choice[number[c]] = by_class[c].index(own)
    return choice
