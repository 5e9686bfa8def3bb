"""The operators of an ONNX model as a picture, constants written at their users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from rewrite.onnx.proto import array_of
from rewrite.onnx.value import ModelError
from rewrite.onnx.write.reading import captures

from .layout import Edge, ranks
from .network import (
    Network,
    State,
    element_text,
    elements,
    plain,
    tensor_text,
    type_text,
)
from .svg import Box, boxes_svg, short

COLOURS: Mapping[State, str] = {
    "gone": "hsl(4 80% 90%)",
    "changed": "hsl(45 90% 86%)",
    "new": "hsl(140 48% 86%)",
}
LARGEST = 70_000  # boxes, lines and bends of a picture
_FAR = 9  # ranks between users of a drawn input after which it is drawn again
_REACH = 40  # ranks that a line crosses; beyond, a value is drawn again by name
_SHOWN = 8  # elements of a constant
_LINES, _WIDE = 2, 34  # of one kind in a box, and their characters
_DETAIL = 200  # characters of an attribute in a tooltip

# The value that an attribute has where none is meant, though it has no default.
_NEUTRAL = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}


def operators_svg(
    net: Network, state: Sequence[State], marks: Mapping[str, str]
) -> str | None:
    """The picture; None: it would be too large. `marks` are classes by op_type."""
    if len(net.nodes) + sum(len(n.input) for n in net.nodes) > LARGEST:
        return None
    drawing = _Drawing(net, state, marks)
    boxes, edges = drawing.boxes, drawing.edges
    rank = ranks(len(boxes), edges)
    bends = sum(rank[v] - rank[u] for u, v in edges)
    return None if len(boxes) + bends > LARGEST else boxes_svg(boxes, edges)


class _Drawing:
    """Boxes in topological order, and the edges between them."""

    def __init__(
        self, net: Network, state: Sequence[State], marks: Mapping[str, str]
    ) -> None:
        self.net, self.state, self.marks = net, state, marks
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.made = {o: k for k, n in enumerate(net.nodes) for o in n.output if o}
        self.rank = self._ranks()
        self.place: dict[int, int] = {}  # box by node
        self.again: dict[str, tuple[int, int]] = {}  # box of a value, its user's rank
        for k, node in enumerate(net.nodes):
            sources = [self._source(name, k) for name in self.operands(k)]
            self.place[k] = self._add(self._box(k, node))
            self.edges += [(s, self.place[k]) for s in dict.fromkeys(sources)]
        for name in dict.fromkeys(net.outputs):
            if name not in self.made:
                self._add(self._value(name, "leaf output"))

    def operands(self, k: int) -> list[str]:
        """What node `k` and its subgraphs read, without constants."""
        node = self.net.nodes[k]
        names = dict.fromkeys((*node.input, *captures(node)))
        return [n for n in names if n and n not in self.net.constants]

    def _ranks(self) -> list[int]:
        """Of nodes; a value that comes later than its user is treated as an input."""
        edges: list[Edge] = []
        for k in range(len(self.net.nodes)):
            sources = {self.made.get(n, k) for n in self.operands(k)}
            edges += [(s, k) for s in sorted(sources) if s < k]
        return ranks(len(self.net.nodes), edges)

    def _source(self, name: str, k: int) -> int:
        at, rank = self.made.get(name), self.rank[k]
        if at in self.place and rank - self.rank[at] <= _REACH:
            return self.place[at]
        if name not in self.again or abs(rank - self.again[name][1]) > _FAR:
            self.again[name] = self._add(self._value(name, "leaf")), rank
        return self.again[name][0]

    def _add(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _value(self, name: str, kind: str) -> Box:
        text = self.net.types.get(name, "")
        lines = [("op", short(plain(name))), ("type", short(text))]
        if name in self.made:
            maker = plain(self.net.nodes[self.made[name]].op_type)
            lines[1:1] = [("tag", short(f"from {maker} above"))]
        return Box(tuple(lines), kind, f"{plain(name)} {text}")

    def _box(self, k: int, node: onnx.NodeProto) -> Box:
        net = self.net
        constants = [(w, n) for w, n in named_inputs(net, node) if n in net.constants]
        title = plain(node.op_type)
        lone = _scalar(net.constants[constants[0][1]]) if len(constants) == 1 else ""
        words = [] if lone else [self._constant(w, n) for w, n in constants]
        lines = [("op", short(f"{title} {lone}".strip()))]
        lines += [("name", line) for line in _wrapped(words)]
        lines += [("type", line) for line in _wrapped(_attributes(net, node))]
        first = next(filter(None, node.output), "")
        lines.append(("type", short(net.types.get(first, ""))))
        outputs = [plain(o) for o in node.output if o in net.outputs]
        if outputs:
            lines.append(("tag", short("→ " + ", ".join(outputs))))
        kinds = (self.state[k], self.marks.get(node.op_type, ""))
        kind = " ".join([*filter(None, kinds), *(["output"] if outputs else [])])
        fill = COLOURS.get(self.state[k], "")
        return Box(tuple(lines), kind, self._tooltip(k, node), fill)

    def _constant(self, word: str, name: str) -> str:
        t = self.net.constants[name]
        text = None if t is None else _elements(t)
        return f"{word}={text}" if text else f"{word} {self.net.types.get(name, '')}"

    def _tooltip(self, k: int, node: onnx.NodeProto) -> str:
        def typed(name: str) -> str:
            t = self.net.constants.get(name)
            text = _elements(t) if t is not None else None
            words = (plain(name), self.net.types.get(name, ""), text or "")
            return " ".join(filter(None, words))

        domain = f"{plain(node.domain)}." if node.domain else ""
        head = f"{domain}{plain(node.op_type)} {plain(node.name)}".rstrip()
        lines = [f"{head} ({self.state[k]})"]
        inputs = named_inputs(self.net, node)
        lines += [f"{w}: {typed(n)}" for w, n in inputs[: 4 * _SHOWN]]
        lines += [f"{plain(a.name)} = {_detail(a)}" for a in node.attribute]
        lines += [f"→ {typed(o)}" for o in node.output[: 4 * _SHOWN] if o]
        return "\n".join(lines)


def named_inputs(net: Network, node: onnx.NodeProto) -> list[tuple[str, str]]:
    """The operator's own word for each input that is there, and its name."""
    schema = _schema(net, node)
    formal = [p.name for p in schema.inputs] if schema else []
    last = formal[-1:]
    words = [*formal, *last * (len(node.input) - len(formal))]
    words += ["input"] * (len(node.input) - len(words))
    return [(w, n) for w, n in zip(words, node.input, strict=False) if n]


def _schema(net: Network, node: onnx.NodeProto) -> onnx.defs.OpSchema | None:
    version = net.opsets.get(node.domain or "ai.onnx", 1)
    try:
        return onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return None


# ---- text ---------------------------------------------------------------------------


def _wrapped(words: Iterable[str]) -> list[str]:
    """Few lines, of as many words as fit."""
    lines: list[str] = []
    for word in map(short, words):
        if lines and len(lines[-1]) + 3 + len(word) <= _WIDE:
            lines[-1] += f" · {word}"
        else:
            lines.append(word)
    if len(lines) > _LINES:
        lines[_LINES - 1] += " · …"
    return lines[:_LINES]


def _elements(t: TensorProto) -> str | None:
    """The elements, where they are few."""
    if elements(t) > _SHOWN:
        return None
    try:
        a = array_of(t)
    except ModelError:
        return None
    numbers = ",".join(_number(v) for v in a.ravel())
    return numbers if a.ndim == 0 else f"[{numbers}]"


def _scalar(t: TensorProto | None) -> str:
    """The number that an elementwise operator takes from a constant."""
    one = t is not None and elements(t) == 1
    whole = t is not None and t.data_type in (TensorProto.INT32, TensorProto.INT64)
    if t is None or not one or (whole and t.dims):
        return ""
    return (_elements(t) or "").strip("[]")


def _number(v: Any) -> str:
    if v.dtype.kind in "iu":
        limits = np.iinfo(v.dtype)
        ends = {int(limits.max): "max"} | (
            {int(limits.min): "min"} if limits.min else {}
        )
        return ends.get(int(v), str(int(v))) if v.dtype.itemsize > 1 else str(int(v))
    return str(v) if v.dtype.kind in "bc" else f"{float(v):.6g}"


def _attributes(net: Network, node: onnx.NodeProto) -> list[str]:
    """Those that say something: no defaults, nothing that a weight's shape shows."""
    schema = _schema(net, node)
    defaults = schema.attributes if schema else {}
    words: list[str] = []
    for a in node.attribute:
        default = defaults[a.name].default_value if a.name in defaults else None
        plain_value = (
            default is not None and default.type and _detail(default) == _detail(a)
        )
        neutral = a.ints and set(a.ints) == {_NEUTRAL.get(a.name)}
        shown = a.name == "kernel_shape" and len(node.input) > 1
        if not (plain_value or neutral or shown):
            words.append(f"{plain(a.name)}={_detail(a)}")
    return words


def _detail(a: AttributeProto) -> str:
    match a.type:
        case AttributeProto.INT:
            text = element_text(a.i) if a.name in ("to", "dtype") else str(a.i)
        case AttributeProto.FLOAT:
            text = f"{a.f:.6g}"
        case AttributeProto.STRING:
            text = a.s[:_DETAIL].decode("utf-8", "replace")
        case AttributeProto.INTS:
            text = f"[{','.join(map(str, a.ints[:_DETAIL]))}]"
        case AttributeProto.FLOATS:
            text = f"[{','.join(f'{f:.6g}' for f in a.floats[:_DETAIL])}]"
        case AttributeProto.STRINGS:
            few = a.strings[:_SHOWN]
            text = f"[{','.join(s[:_DETAIL].decode('utf-8', 'replace') for s in few)}]"
        case AttributeProto.TENSOR:
            text = tensor_text(a.t)
        case AttributeProto.TYPE_PROTO:
            text = type_text(a.tp)
        case AttributeProto.GRAPH:
            text = f"({len(a.g.node)} nodes, not drawn)"
        case _:
            text = AttributeProto.AttributeType.Name(a.type).lower()
    return plain(text)
