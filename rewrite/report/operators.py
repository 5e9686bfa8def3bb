"""The operators of an ONNX model as boxes of a page, constants at their users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from rewrite.onnx.proto import array_of
from rewrite.onnx.value import ModelError
from rewrite.onnx.write.reading import captures

from .network import (
    Network,
    State,
    element_text,
    elements,
    plain,
    tensor_text,
    type_text,
)
from .words import path_of

_SHOWN = 8  # elements of a constant
_LINES, _WIDE = 2, 34  # of one kind in a box, and their characters
_DETAIL = 200  # characters of an attribute in a tooltip

# The value that an attribute has where none is meant, though it has no default.
_NEUTRAL = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}


@dataclass(frozen=True, slots=True)
class OperatorView:
    """An operator, or a value that none of them makes; as `account.NodeView`, of which
    it has what pages draw.  The nodes of a network come first, with their numbers."""

    id: int
    kind: str  # the operator's name
    op: str  # with the number that it takes, if it is one
    text: str  # the node's name, else that of its first output
    type: str
    details: tuple[str, ...]  # constants and attributes, in a few lines
    line: str  # all of it
    args: tuple[int, ...]
    outputs: tuple[str, ...]
    scope: tuple[str, ...]
    state: State | str
    same: tuple[int, ...]  # nodes of the other model that are this one
    named: bool = False
    part: None = None
    copy: int = 0
    kernels: tuple[int, ...] = ()


def operators(
    net: Network, state: Sequence[State], same: Sequence[int | None]
) -> list[OperatorView]:
    """The nodes, then the values that they read and none of them makes, in an order in
    which those come first that are made first."""
    made = {o: k for k, n in enumerate(net.nodes) for o in n.output if o}
    given: dict[str, int] = {}  # values that none makes
    result: list[OperatorView] = []
    for k, node in enumerate(net.nodes):
        args: list[int] = []
        for name in _operands(net, node):
            at = made.get(name, k)
            known = (
                at if at < k else given.setdefault(name, len(net.nodes) + len(given))
            )
            args.append(known)
        twin = same[k]
        result.append(_operator(net, k, tuple(dict.fromkeys(args)), state[k],
                               () if twin is None else (twin,)))  # fmt: skip
    for name in dict.fromkeys(net.outputs):
        if name not in made:
            given.setdefault(name, len(net.nodes) + len(given))
    return [*(_value(net, name, i) for name, i in given.items()), *result]


def _operands(net: Network, node: onnx.NodeProto) -> list[str]:
    """What a node and its subgraphs read, without constants."""
    names = dict.fromkeys((*node.input, *captures(node)))
    return [n for n in names if n and n not in net.constants]


def _value(net: Network, name: str, i: int) -> OperatorView:
    kind = net.types.get(name, "")
    outputs = (plain(name),) if name in net.outputs else ()
    return OperatorView(i, "input", plain(name), plain(name), kind, (), plain(name), (),
                        outputs, (), "", ())  # fmt: skip


def _operator(
    net: Network, k: int, args: tuple[int, ...], state: State, same: tuple[int, ...]
) -> OperatorView:
    node = net.nodes[k]
    constants = [(w, n) for w, n in named_inputs(net, node) if n in net.constants]
    kind = plain(node.op_type)
    lone = _scalar(net.constants[constants[0][1]]) if len(constants) == 1 else ""
    words = [] if lone else [_constant(net, w, n) for w, n in constants]
    first = next(filter(None, node.output), "")
    outputs = tuple(plain(o) for o in node.output if o in net.outputs)
    return OperatorView(
        k, kind, f"{kind} {lone}".strip(), plain(node.name or first),
        net.types.get(first, ""), (*_wrapped(words), *_wrapped(_attributes(net, node))),
        _line(net, node), args, outputs, path_of(plain(node.name)), state, same,
    )  # fmt: skip


def _constant(net: Network, word: str, name: str) -> str:
    t = net.constants[name]
    text = None if t is None else _elements(t)
    return f"{word}={text}" if text else f"{word} {net.types.get(name, '')}"


def _line(net: Network, node: onnx.NodeProto) -> str:
    """Domain, operator and name; inputs, attributes and outputs, a line each."""

    def typed(name: str) -> str:
        t = net.constants.get(name)
        text = _elements(t) if t is not None else None
        words = (plain(name), net.types.get(name, ""), text or "")
        return " ".join(filter(None, words))

    domain = f"{plain(node.domain)}." if node.domain else ""
    lines = [f"{domain}{plain(node.op_type)} {plain(node.name)}".rstrip()]
    inputs = named_inputs(net, node)
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
    for word in map(_short, words):
        if lines and len(lines[-1]) + 3 + len(word) <= _WIDE:
            lines[-1] += f" · {word}"
        else:
            lines.append(word)
    if len(lines) > _LINES:
        lines[_LINES - 1] += " · …"
    return lines[:_LINES]


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


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


__all__ = ["OperatorView", "named_inputs", "operators"]
