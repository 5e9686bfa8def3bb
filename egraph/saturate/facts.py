"""What is known of a graph's values before any rule runs: which hold no NaN.

One forward pass keeps a `Range` for each node; what a range cannot say of the rows of a
tensor is asked of `rowfacts.py` where it decides.  Floating inputs are taken to be
finite, but for those that the graph itself tests and those that may be masks.

A size that is a symbol may be 0, and a maximum of nothing is -inf.  What holds of rows
with entries is kept with the sizes that it needs, until a shape that has such a size
makes it true: with no entries, nothing is said.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.dims import MAX_SIZE, Dim
from ..ir.dtypes import I64, DType
from ..ir.evaluate import opened
from ..ir.graph import Graph, Node
from ..ir.ops import TABLE, OpError
from ..ir.ranges import (
    ANY,
    BOOLS,
    LOST,
    Range,
    between,
    binary,
    computed,
    converted,
    of_array,
    point,
    product_sum,
    total,
    unary,
    whole,
)
from ..ir.scalars import MONOIDS
from .constants import count
from .rowfacts import Rows


def nan_free(graph: Graph) -> frozenset[int]:
    """The nodes none of whose entries can be NaN, by the contract `real`."""
    try:
        inner, where = opened(graph)
    except OpError:  # a mean over a symbol: it has no expansion, so nothing is known
        return frozenset()
    facts = Facts(inner)
    return frozenset(i for i, j in enumerate(where) if facts.without_nan(j))


class Facts:
    """The ranges of a graph's nodes, macros opened, and the sizes that must not be 0
    for them to hold."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.nodes = graph, graph.nodes
        self.ranges: list[Range] = []
        self.needs: list[frozenset[Dim]] = []
        self.rows = Rows(graph, self.ranges)
        self.tested = _tested(graph) | _masks(graph)
        for i, node in enumerate(graph.nodes):
            result = self._range(i, node)
            self.needs.append(self._needs(node, result))
            self.ranges.append(self._examined(i, node, result))

    def without_nan(self, i: int) -> bool:
        is_float = self.nodes[i].dtype.is_float
        return not is_float or not (self.ranges[i].nan or self.needs[i])

    def _examined(self, i: int, node: Node, found: Range) -> Range:
        """A constant that may not be finite, as it is."""
        if found.finite or not node.dtype.is_float:
            return found
        value = self.rows.constants.value(i)
        return found if value is None else computed(value, node.dtype)

    def _needs(self, node: Node, found: Range) -> frozenset[Dim]:
        """The sizes that must not be 0: a fold of nothing gives its identity."""
        needs = frozenset[Dim]().union(*(self.needs[a] for a in node.args))
        if node.op in ("reduce", "contract"):
            monoid = node.attr("monoid") if node.op == "reduce" else "sum"
            nothing = point(MONOIDS[monoid].identity(node.dtype), node.dtype)
            if found.join(nothing) != found:
                needs |= {d for d in self._folded(node) if not isinstance(d, int)}
        return needs.difference(node.shape)

    def _folded(self, node: Node) -> list[Dim]:
        full = self.nodes[node.args[0]].shape if node.op == "reduce" else node.attrs[0]
        return [d for d, m in zip(full, node.attr("mask"), strict=True) if m]

    # -- ops --

    def _range(self, i: int, node: Node) -> Range:
        args, t = [self.ranges[a] for a in node.args], node.dtype
        match node.op:
            case "const":
                return point(node.attrs[0], t)
            case "data":
                array = self.graph.data.get(node.attrs[0])
                return _unknown(t) if array is None else of_array(array, t)
            case "iota":
                return _counted(node)
            case "input" if t.is_float:
                return ANY if i in self.tested else whole(t)
            case "call" | "bitcast":
                return _unknown(t)
            case "reduce":
                return self._reduce(node, args[0])
            case "scan":
                return self._scan(node, args[0])
            case "select":
                c, a, b = node.args
                return self._where(c, True, a).join(self._where(c, False, b))
            case "concat":
                return _joined(args)
            case "pad":
                return args[0].join(point(node.attrs[2], t))
            case "gather":
                some = 0 < count(self.nodes[node.args[0]].shape) < float("inf")
                return args[0] if some else args[0].join(point(0, t))
            case "barrier" | "sort":
                return args[0]
            case "reshape" | "permute" | "expand" | "slice" | "window":
                return args[0]
            case "argsort":
                n = self.nodes[node.args[0]].shape[int(node.attrs[0])]
                return _positions(n)
            case "cast":
                return self._cast(node, args[0])
            case _ if t.is_float:
                return self._float(node, args)
            case _:
                return whole(t)

    def _float(self, node: Node, args: list[Range]) -> Range:
        t, same = node.dtype, len(set(node.args)) < len(node.args)
        match (node.op, *node.attrs):
            case ("un", op):
                return unary(op, args[0], t)
            case ("bin", op):
                result = binary(op, args[0], args[1], t, same=same)
                if self.rows.shifted(node) is None:
                    return result
                return replace(result, high=min(result.high, 0.0), above=False)
            case ("contract", *_):
                n = count(self._folded(node))
                return product_sum(args[0], args[1], n, t, same=same)
            case ("scatter", mode, _):
                plain = args[0].finite and args[2].finite
                moved = mode in ("set", "max", "min")
                kept = args[0].join(args[2])
                return kept if moved else whole(t) if plain and not kept.reach else LOST
            case _:
                return ANY

    def _reduce(self, node: Node, x: Range) -> Range:
        (a,), (monoid, mask, _), t = node.args, node.attrs, node.dtype
        n = count(self._folded(node))
        if n == 0:
            return point(MONOIDS[monoid].identity(t), t)
        if monoid in ("max", "min") and not t.is_float:
            return x
        match monoid:
            case "max":
                below = x.below and not self.rows.some(a, mask, "finite")
                return replace(x, low=self.rows.peak(a, mask), below=below)
            case "min":
                return x
            case "sum" if t.is_float:
                result = total(x, n, t)
                # Where none is negative, a sum is no less than the greatest of them.
                peak = self.rows.peak(a, mask) if x.low >= 0 else result.low
                return replace(result, low=max(result.low, peak))
            case "prod" if t.is_float:
                return whole(t) if x.finite and not x.reach and t.bits >= 16 else LOST
            case _:
                return whole(t)

    def _scan(self, node: Node, x: Range) -> Range:
        """Folds of at least one entry, and of no more than the axis has."""
        monoid, axis, t = node.attrs[0], int(node.attrs[1]), node.dtype
        if monoid in ("max", "min"):
            return x
        if monoid == "sum" and t.is_float:
            return x.join(total(x, count([node.shape[axis]]), t))
        if monoid == "prod" and t.is_float:
            return whole(t) if x.finite and not x.reach and t.bits >= 16 else LOST
        return whole(t)

    def _cast(self, node: Node, x: Range) -> Range:
        source = self.nodes[node.args[0]].dtype
        if node.dtype.is_float:
            return converted(x, source, node.dtype)
        return BOOLS if source.kind == "bool" else whole(node.dtype)

    def _where(self, c: int, holds: bool, x: int) -> Range:
        """The entries of x where the condition c holds (or does not)."""
        node, r = self.nodes[c], self.ranges[x]
        match (node.op, *node.attrs):
            case ("un", "not"):
                return self._where(node.args[0], not holds, x)
            case ("un", "isnan") if node.args == (x,) and not holds:
                return replace(r, nan=False)
            case ("un", "isfinite") if node.args == (x,) and holds:
                return r.finite_part
            case _:
                return r


def _unknown(t: DType) -> Range:
    return ANY if t.is_float else whole(t)


def _joined(parts: list[Range]) -> Range:
    out = parts[0]
    for r in parts[1:]:
        out = out.join(r)
    return out


def _positions(n: Dim) -> Range:
    """Along an axis of `n` elements."""
    return between(0.0, float(max(n - 1, 0) if isinstance(n, int) else MAX_SIZE))


def _counted(node: Node) -> Range:
    counted = _positions(node.shape[int(node.attrs[0])])
    return converted(counted, I64, node.dtype) if node.dtype.is_float else counted


# ---- inputs that the graph asks about ------------------------------------------------

# A value tested for NaN behind these is the input itself, scaled or picked from.
_PLAIN = frozenset(("neg", "abs", "add", "sub", "mul", "div", "max", "min"))


def _tested(graph: Graph) -> frozenset[int]:
    """Inputs whose entries the graph tests for NaN: it expects some."""
    todo = [n.args[0] for n in graph.nodes if _is_test(n)]
    seen = set[int]()
    while todo:
        i = todo.pop()
        if i not in seen:
            seen.add(i)
            todo.extend(_passed_on(graph, graph.nodes[i]))
    return frozenset(i for i in seen if graph.nodes[i].op == "input")


def _masks(graph: Graph) -> frozenset[int]:
    """Inputs that come to a maximum as terms: -inf is how a mask says no."""
    todo = [n.args[0] for n in graph.nodes if n.op == "reduce" and n.attrs[0] == "max"]
    seen = set[int]()
    while todo:
        i = todo.pop()
        n = graph.nodes[i]
        if i not in seen:
            seen.add(i)
            moved = n.op in ("cast", "select", "gather") or TABLE[n.op].view
            term = n.op in ("un", "bin") and n.attrs[0] in _PLAIN
            varying = [a for a in n.args if not _constant(graph, a)]
            if moved or (term and (n.attrs[0] != "mul" or len(varying) == 1)):
                todo.extend(n.args)
    return frozenset(i for i in seen if graph.nodes[i].op == "input")


def _is_test(n: Node) -> bool:
    unequal = n.op == "bin" and n.attrs[0] in ("ne", "eq") and n.args[0] == n.args[1]
    return unequal or (n.op == "un" and n.attrs[0] in ("isnan", "isfinite"))


def _passed_on(graph: Graph, n: Node) -> list[int]:
    """The operands whose NaN are those of the node, others being constant."""
    if n.op == "gather":
        return [n.args[0]]
    if n.op in ("cast", "select") or TABLE[n.op].view:
        return list(n.args)
    if n.op not in ("un", "bin") or n.attrs[0] not in _PLAIN:
        return []
    varying = [a for a in n.args if not _constant(graph, a)]
    return varying if len(varying) == 1 else []


def _constant(graph: Graph, i: int) -> bool:
    """A constant or an array of the graph, moved or not."""
    while TABLE[graph.nodes[i].op].view and graph.nodes[i].op != "concat":
        (i,) = graph.nodes[i].args
    return graph.nodes[i].op in ("const", "data", "iota")
