"""The text form of graphs: `show` prints one, `parse` reads it back exactly.

    graph softmax(x: f32[b, 128]) {
      m: f32[b, 1] = reduce max x mask=[0, 1] acc=f32   ; a comment
      %2: f32[b, 128] = expand m mask=[0, 1]
      y: f32[b, 128] = sub x %2
      return y
      alias y <- x may
    }

A node is `label: type = op operands attributes`.  A bare label is the user's name for
the node, `%label` is an unnamed one, `%label "any text"` has a name that is no word.
Elementwise opcodes stand for themselves.  A leading word or number attribute follows
the op; attributes called `dtype` and `shape` are those of the type, which may be left
out for ops without them.  Arrays of up to `inline` elements stand in the text; larger
ones, and host functions, are handed to `parse` beside it; loops and branches, which are
graphs, follow the graph that calls them.  All NaNs are one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from . import dtypes
from .dtypes import BOOL, DType
from .graph import Const, Graph, Node, attr_kinds, exact
from .ops import Array, Attrs
from .parse import parse
from .tokens import WORD
from .values import FROM_TYPE, KINDS, Bodied

INLINE = 1024
_KEYWORDS = frozenset(("alias", "graph", "return"))


def show(graph: Graph, inline: int = INLINE) -> str:
    """The text of a graph; arrays over `inline` elements are named without values."""
    refs = labels(n.name for n in graph.nodes)
    head = _header_length(graph)
    lines = [_header(graph, head)]
    lines += [f"  {line}" for line in node_lines(graph, inline)[head:]]
    returned = [output(label, refs[i]) for label, i in graph.outputs]
    lines.append(f"  return {', '.join(returned)}".rstrip())
    lines += [
        f"  alias {_word(a.output)} <- {_word(a.input)} {a.kind}" for a in graph.aliases
    ]
    lines.append("}")
    called = {n.attrs[0] for n in graph.nodes if n.op == "call"}
    for target, f in graph.calls.items():
        if target in called and isinstance(f, Bodied):
            lines += _definition(target, f, inline)
    return "\n".join([*lines, ""])


def _definition(target: str, f: Bodied, inline: int) -> list[str]:
    kinds = KINDS[f.kind].attrs
    attrs = [f"{k}={_show_attr(v, kinds[k], BOOL)}" for k, v in f.attrs.items()]
    text = "".join(show(body, inline) for body in f.bodies)
    return [
        f"; {f.shown}", f"{f.kind} {json.dumps(target)} {' '.join(attrs)} {{",
        *(f"  {line}" for line in text.splitlines()), "}",
    ]  # fmt: skip


def node_lines(graph: Graph, inline: int = INLINE) -> list[str]:
    """The line of each node, by its number."""
    refs = labels(n.name for n in graph.nodes)
    return [_line(graph, n, i, refs, inline) for i, n in enumerate(graph.nodes)]


def labels(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """How each is referred to: by its name, where that is a word and not taken."""
    used = set(taken)
    refs: list[str] = []
    for i, name in enumerate(names):
        free = _is_word(name) and name not in used
        refs.append(name if free else f"%{i}")
        used.add(name)
    return refs


def _is_word(text: str) -> bool:
    return text not in _KEYWORDS and re.fullmatch(WORD, text) is not None


def _word(text: str) -> str:
    return text if _is_word(text) else json.dumps(text)


def _header_length(graph: Graph) -> int:
    """The leading inputs, which the header declares; later ones are lines."""
    for i, node in enumerate(graph.nodes):
        plain = node.op == "input" and node.name == node.attrs[0]
        if not (plain and _is_word(node.name)):
            return i
    return len(graph.nodes)


def _header(graph: Graph, head: int) -> str:
    params = [f"{n.name}: {n.type}" for n in graph.nodes[:head]]
    line = f"graph {_word(graph.name)}({', '.join(params)}) {{"
    if len(line) <= 88:
        return line
    body = "".join(f"  {p},\n" for p in params)
    return f"graph {_word(graph.name)}(\n{body}) {{"


def _line(graph: Graph, node: Node, i: int, refs: list[str], inline: int) -> str:
    operand = graph.nodes[node.args[0]].dtype if node.args else node.dtype
    line = applied(node.op, node.attrs, [refs[a] for a in node.args], operand)
    if node.op == "data" and math.prod(graph.data[node.attrs[0]].shape) <= inline:
        line += " " + _show_array(graph.data[node.attrs[0]], node.dtype)
    return f"{named(refs[i], node.name)}: {node.type} = {line}"


def named(ref: str, name: str) -> str:
    """How what has a name is declared."""
    return ref if name in ("", ref) else f"{ref} {json.dumps(name)}"


def applied(op: str, attrs: Attrs, refs: Sequence[str], operand: DType) -> str:
    """An op with its operands and attributes; `operand` is the type of the first, or
    of the result where there is none."""
    kinds = attr_kinds(op)
    opcode = op in ("un", "bin")
    words = [attrs[0] if opcode else op]
    told = [
        (key, _show_attr(value, kind, operand))
        for (key, kind), value in zip(kinds, attrs, strict=True)
        if key not in FROM_TYPE
    ]
    if kinds and kinds[0][1] in ("str", "value"):
        words += [] if opcode else [told[0][1]]
        told = told[1:]
    return " ".join([*words, *refs, *(f"{key}={text}" for key, text in told)])


def _show_attr(value: Any, kind: str, operand: DType) -> str:
    match kind:
        case "str":
            return _word(value)
        case "float":
            return _show_value(float(value), dtypes.F64)
        case "value":
            return _show_value(value, operand)
        case "ints" | "mask" | "shape":
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value)


def _show_value(value: Const, dtype: DType) -> str:
    """The shortest decimal that `dtype` reads as `value`."""
    if dtype.kind == "bool":
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    digits = range(1, 18)
    texts = (f"{value:.{n}g}" for n in digits)
    text = next((t for t in texts if exact(float(t), dtype) == value), repr(value))
    return text if re.search(r"[.e]", text) else text + ".0"


def _show_array(a: Array, dtype: DType) -> str:
    return f"[{', '.join(_show_value(v, dtype) for v in a.ravel().tolist())}]"


def output(label: str, ref: str) -> str:
    return ref if label == ref else f"{_word(label)} = {ref}"


__all__ = ["node_lines", "parse", "show"]
