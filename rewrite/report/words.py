"""What to call the nodes of a graph, and where in the user's program they stand.

A node goes by the user's own name; one without is spelled out over those that have one,
as `exp(scores - max(scores))`.  A scope is the path in front of a name, as
`encoder/layer.0` of `encoder/layer.0/attention.w`; nodes without a name are where what
they read and what reads them have in common.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewrite.egraph.ir.graph import Graph, Node
from rewrite.egraph.ir.ops import READS, axes

DEPTH, LONGEST = 4, 64  # of a description: levels, characters
SHORT = 56  # characters of one that stands in another text
TAIL = 24  # characters of a name within a description
INFIX = {
    "add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "lt": ("<", 0),
    "le": ("<=", 0), "eq": ("==", 0), "ne": ("!=", 0), "and": ("and", -1),
    "or": ("or", -1),
}  # fmt: skip
TIGHT = 9  # binds closer than any operator

type Scope = tuple[str, ...]


class Macro(NamedTuple):
    """An op that was opened, and its operands in the opened graph."""

    op: str
    args: tuple[int, ...]


class Words:
    """Descriptions of the nodes of one graph; each is made when it is asked for."""

    def __init__(
        self, graph: Graph, names: Mapping[int, str] | None = None,
        macros: Mapping[int, Macro] | None = None,
    ) -> None:  # fmt: skip
        self.graph, self.macros = graph, macros or {}
        self.names = names if names is not None else own_names(graph)
        self.folded = folded_constants(graph)
        self.made: dict[tuple[int, int], tuple[str, int]] = {}

    def __call__(self, i: int) -> str:
        return self.names[i] if i in self.names else self.spelled(i)

    def spelled(self, i: int, longest: int = LONGEST) -> str:
        """As deep as it is still short."""
        for depth in range(DEPTH, 1, -1):
            text = self._spelled(i, depth)[0]
            if len(text) <= longest:
                return text
        return self._spelled(i, 1)[0]

    def short(self, i: int) -> str:
        """For use within another text."""
        return self.names[i] if i in self.names else self.spelled(i, SHORT)

    def _operand(self, i: int, depth: int) -> tuple[str, int]:
        """The text and how close it binds."""
        if i in self.names:
            return _tail(self.names[i]), TIGHT
        if i in self.folded:
            return self.folded[i], TIGHT
        node = self.graph.nodes[i]
        if i not in self.macros and (node.op == "expand" or self._only_ones(node)):
            return self._operand(node.args[0], depth)
        return self._spelled(i, depth - 1) if depth else ("…", TIGHT)

    def _only_ones(self, node: Node) -> bool:
        """A reshape that only adds or drops axes of size 1."""
        if node.op != "reshape":
            return False
        shapes = node.shape, self.graph.nodes[node.args[0]].shape
        first, second = ([d for d in s if d != 1] for s in shapes)
        return first == second

    def _spelled(self, i: int, depth: int) -> tuple[str, int]:
        if (i, depth) not in self.made:
            self.made[i, depth] = self._made(i, depth)
        return self.made[i, depth]

    def _made(self, i: int, depth: int) -> tuple[str, int]:
        if i in self.macros:
            return self._called(self.macros[i].op, self.macros[i].args, depth)
        node = self.graph.nodes[i]
        if not node.args:
            return self.folded.get(i, _leaf(node)), TIGHT
        code = node.opcode
        if node.op == "bin" and code in INFIX:
            sign, rank = INFIX[code]
            left, right = (self._operand(a, depth) for a in node.args)
            shown = f"{_within(left, rank)} {sign} {_within(right, rank + 1)}"
            return shown, rank
        if node.op == "un" and code in ("neg", "recip"):
            inner = _within(self._operand(node.args[0], depth), TIGHT)
            return (f"-{inner}", 3) if code == "neg" else (f"1 / {inner}", 2)
        if node.op in ("reduce", "argreduce"):
            return self._called(str(node.attrs[0]), node.args, depth)
        if node.op == "scan":
            return self._called(f"running {node.attrs[0]}", node.args, depth)
        word = {"contract": "matmul", "permute": "transpose"}.get(node.op, code)
        return self._called(word, node.args, depth)

    def _called(self, word: str, args: Sequence[int], depth: int) -> tuple[str, int]:
        shown = ", ".join(self._operand(a, depth)[0] for a in args)
        return f"{word}({shown})", TIGHT


def _tail(name: str) -> str:
    """The last words of a long name: where it is, a reader sees by its scope."""
    if len(name) <= TAIL:
        return name
    words = re.split(r"(?<=[./])", name)
    while len(words) > 1 and sum(map(len, words)) > TAIL:
        words.pop(0)
    return "…" + "".join(words)[-TAIL:]


def _within(part: tuple[str, int], rank: int) -> str:
    text, binds = part
    return text if binds >= rank else f"({text})"


def _leaf(node: Node) -> str:
    match node.op:
        case "input" | "data":
            return str(node.attrs[0])
        case "const":
            return str(node.attrs[0])
        case "iota":
            return f"iota(axis {node.attrs[0]})"
        case _:
            return node.opcode


def own_names(graph: Graph) -> dict[int, str]:
    """The names that nodes have, outputs without one by their label."""
    result: dict[int, str] = {}
    for i, node in enumerate(graph.nodes):
        if node.op in READS:
            result[i] = str(node.attrs[0])
        elif node.name and node.op != "const":
            result[i] = node.name
    for label, i in graph.outputs:
        result.setdefault(i, label)
    return result


def titled(graph: Graph, words: Words, i: int) -> str:
    """The op in a word or two, for a box, with the numbers that it takes."""
    node = graph.nodes[i]
    numbers = [words.folded[a] for a in node.args if a in words.folded]
    return " ".join([title(node), *numbers])


def title(node: Node) -> str:
    match node.op:
        case "un" | "bin":
            return str(node.attrs[0])
        case "reduce":
            return f"{node.attrs[0]} over {','.join(map(str, axes(node.attrs[1])))}"
        case "scan":
            return f"running {node.attrs[0]} along {node.attrs[1]}"
        case "argreduce":
            return f"{node.attrs[0]} over {node.attrs[1]}"
        case "sort" | "argsort":
            return f"{node.op} over {node.attrs[0]}"
        case "contract":
            return "matmul"
        case "const" | "input" | "data":
            return f"{node.attrs[0]}"
        case "iota" | "concat" | "gather":
            return f"{node.op} axis {node.attrs[0]}"
        case "permute":
            return f"permute {','.join(map(str, node.attrs[0]))}"
        case "scatter" | "call":
            return f"{node.op} {node.attrs[0]}"
        case _:
            return node.op


def folded_constants(graph: Graph) -> dict[int, str]:
    """Nodes that are one number whatever their shape, and how their user shows it."""
    result: dict[int, str] = {}
    for i, node in enumerate(graph.nodes):
        if node.op == "const":
            value = node.attrs[0]
            result[i] = f"{value:.6g}" if isinstance(value, float) else str(value)
        elif node.op in ("reshape", "expand", "permute") and node.args[0] in result:
            result[i] = result[node.args[0]]
    return result


# ---- scopes --------------------------------------------------------------------------


def path_of(name: str) -> Scope:
    """The scopes in front of the last word of a name."""
    parts = [p for p in re.split(r"[/:]+", name) if p]
    if len(parts) < 2:
        parts = [p for p in name.split(".") if p]
    else:
        parts = [p for part in parts for p in _dotted(part)]
    return tuple(_numbered(parts)[:-1])


def _dotted(part: str) -> list[str]:
    return [p for p in part.split(".") if p]


def _numbered(parts: Sequence[str]) -> list[str]:
    """`layer`, `0` as one step: a number alone says nothing."""
    out: list[str] = []
    for p in parts:
        if p.isdigit() and out and not out[-1][-1].isdigit():
            out[-1] += f".{p}"
        else:
            out.append(p)
    return out


def scopes(graph: Graph, names: Mapping[int, str]) -> list[Scope]:
    """The scope of every node.

    A name says its own; next, what reads a weight is where the weight is.  All others
    are in what the last operand and the first user have in common, or with the user.
    """
    nodes, live = graph.nodes, graph.live
    own: dict[int, Scope] = {}
    for i in sorted(live):
        path = path_of(names[i]) if i in names else ()
        if not path and nodes[i].args:
            path = next((own[a] for a in nodes[i].args if _weight(nodes, a, own)), ())
        if path:
            own[i] = path
    below = _last_read(nodes, live, own)
    above = _first_used(nodes, live, own)
    top = len(functools.reduce(_common, own.values())) if own else 0  # says nothing
    result: list[Scope] = []
    for i in range(len(nodes)):
        a, b = below.get(i), above.get(i)
        near = a or b or ()
        if a is not None and b is not None:
            both = _common(a, b)
            near = both if len(both) > top else b
        free = nodes[i].op == "input"  # belongs to nobody but by its name
        result.append(own.get(i, () if free else near))
    return result


def _weight(nodes: Sequence[Node], a: int, own: Mapping[int, Scope]) -> bool:
    """A weight or parameter, maybe seen through views."""
    while nodes[a].op in ("reshape", "expand", "permute"):
        a = nodes[a].args[0]
    return nodes[a].op in READS and a in own


def _last_read(
    nodes: Sequence[Node], live: frozenset[int], own: Mapping[int, Scope]
) -> dict[int, Scope]:
    """The scope of what a node reads; the latest operand says more than the others."""
    out: dict[int, Scope] = {}
    for i in sorted(live):
        if i in own:
            out[i] = own[i]
            continue
        known = [a for a in nodes[i].args if a in out]
        if known:
            out[i] = out[max(known)]
    return out


def _first_used(
    nodes: Sequence[Node], live: frozenset[int], own: Mapping[int, Scope]
) -> dict[int, Scope]:
    out: dict[int, Scope] = {}
    user: dict[int, int] = {}
    for i in sorted(live, reverse=True):
        if i in own:
            out[i] = own[i]
        elif i in user and user[i] in out:
            out[i] = out[user[i]]
        for a in nodes[i].args:
            user[a] = i
    return out


def _common(a: Scope, b: Scope) -> Scope:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


# ---- sizes ---------------------------------------------------------------------------


def in_symbols(text: str, dim: Any, values: Mapping[str, int]) -> str:
    """The text of a term at the witness, its sizes as the user's symbols.

    A witness divides no other size, so what it divides among the sizes of a list in
    brackets is a size of its symbol; `dim` says which polynomial.
    """
    if not values:
        return text

    def size(found: re.Match[str]) -> str:
        n = int(found[0])
        is_symbolic = n and any(n % v == 0 for v in values.values())
        return str(dim(n)) if is_symbolic else found[0]

    def listed(found: re.Match[str]) -> str:
        return re.sub(r"\d+", size, found[0])

    return re.sub(r"\[[^\[\]]*\]", listed, text)
