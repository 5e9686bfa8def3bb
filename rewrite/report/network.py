"""An ONNX model as a picture needs it, and what two models have in common."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import onnx
from onnx import TensorProto, helper, shape_inference

from rewrite.egraph.ir.printable import printable
from rewrite.onnx.proto import array_of
from rewrite.onnx.types import DTYPES
from rewrite.onnx.value import ModelError

SMALL = 1024  # elements of a constant that shape inference may want to read
_LONG = 120  # characters of a name

type State = Literal["kept", "changed", "gone", "new"]


@dataclass(frozen=True)
class Network:
    """The top level of a model; constants are not among its nodes."""

    nodes: tuple[onnx.NodeProto, ...]
    constants: Mapping[str, TensorProto | None]  # None: no plain tensor
    types: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]


def network(model: onnx.ModelProto) -> Network:
    g = model.graph
    constants: dict[str, TensorProto | None] = {t.name: t for t in g.initializer}
    constants |= {s.values.name: None for s in g.sparse_initializer}
    for node in g.node:
        if is_constant(node):
            constants |= dict.fromkeys(node.output, _constant(node))
    return Network(
        tuple(n for n in g.node if not is_constant(n)),
        constants,
        _types(model, constants),
        tuple(i.name for i in g.input if i.name not in constants),
        tuple(o.name for o in g.output),
        {i.domain or "ai.onnx": i.version for i in model.opset_import},
    )


def is_constant(node: onnx.NodeProto) -> bool:
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def _constant(node: onnx.NodeProto) -> TensorProto | None:
    for a in node.attribute:
        match a.name:
            case "value":
                return a.t
            case "value_int":
                return helper.make_tensor("", TensorProto.INT64, (), [a.i])
            case "value_float":
                return helper.make_tensor("", TensorProto.FLOAT, (), [a.f])
            case "value_ints":
                return helper.make_tensor("", TensorProto.INT64, (len(a.ints),), a.ints)
            case "value_floats":
                size = (len(a.floats),)
                return helper.make_tensor("", TensorProto.FLOAT, size, a.floats)
            case _:
                pass
    return None


# ---- types --------------------------------------------------------------------------


def _types(
    model: onnx.ModelProto, constants: Mapping[str, TensorProto | None]
) -> dict[str, str]:
    """Types as text, of all values for which one is declared or follows."""
    result = {name: tensor_text(t) for name, t in constants.items() if t is not None}
    try:
        g = shape_inference.infer_shapes(_light(model), data_prop=True).graph
    except Exception:  # too large, or beyond what onnx infers: what is declared remains
        g = model.graph
    for info in (*g.value_info, *g.output, *g.input):
        result.setdefault(info.name, type_text(info.type))
    return result


def _light(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the elements of its large constants."""
    out = onnx.ModelProto(ir_version=model.ir_version)
    out.opset_import.extend(model.opset_import)
    out.functions.extend(model.functions)
    g, old = out.graph, model.graph
    g.name = old.name
    g.input.extend(old.input)
    g.output.extend(old.output)
    g.value_info.extend(old.value_info)
    g.node.extend(old.node)
    for t in old.initializer:
        if elements(t) <= SMALL:
            g.initializer.append(t)
        else:
            g.initializer.add(name=t.name, data_type=t.data_type, dims=t.dims)
    return out


def elements(t: TensorProto) -> int:
    return functools.reduce(lambda a, b: a * b, t.dims, 1)


def tensor_text(t: TensorProto) -> str:
    return f"{element_text(t.data_type)}[{','.join(map(str, t.dims))}]"


def type_text(t: onnx.TypeProto) -> str:
    kind = t.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return (kind or "unknown").removesuffix("_type")
    inner = t.tensor_type if kind == "tensor_type" else t.sparse_tensor_type
    if not inner.HasField("shape"):
        return f"{element_text(inner.elem_type)}[…]"
    return f"{element_text(inner.elem_type)}[{','.join(map(_dim, inner.shape.dim))}]"


def _dim(d: onnx.TensorShapeProto.Dimension) -> str:
    """A size, by number or name; shape inference makes names of its own."""
    if d.HasField("dim_value"):
        return str(d.dim_value)
    return "?" if d.dim_param.startswith("unk__") else plain(d.dim_param) or "?"


def element_text(number: int) -> str:
    if number in DTYPES:
        return DTYPES[number].name
    names = dict(zip(TensorProto.DataType.values(), TensorProto.DataType.keys()))  # noqa: B905
    return names.get(number, f"type {number}").lower()


def plain(text: str, longest: int = _LONG) -> str:
    """A name on one line and not too long; nothing in it moves other text."""
    shown = printable(text[: longest + 1])
    return shown if len(shown) <= longest else shown[:longest] + "…"


# ---- what is common -----------------------------------------------------------------


@dataclass(frozen=True)
class Fates:
    """What became of each node of the model before, where each of the one after comes
    from, and the nodes of both that are the same one."""

    before: Sequence[State]
    after: Sequence[State]
    same: Sequence[tuple[int, int]]


def fates(before: Network, after: Network) -> Fates:
    """A node is the same where operator and first output are; it is kept where it also
    has the same attributes and inputs, and constants count by their elements."""
    old = {_key(n): k for k, n in enumerate(before.nodes)}
    first: list[State] = ["gone"] * len(before.nodes)
    second: list[State] = ["new"] * len(after.nodes)
    same: list[tuple[int, int]] = []
    for k, node in enumerate(after.nodes):
        at = old.pop(_key(node), None)
        if at is not None:
            kept = _same(before, before.nodes[at], after, node)
            first[at] = second[k] = "kept" if kept else "changed"
            same.append((at, k))
    return Fates(first, second, same)


def _key(node: onnx.NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, next(filter(None, node.output), "")


def _same(
    before: Network, old: onnx.NodeProto, after: Network, new: onnx.NodeProto
) -> bool:
    def value(a: str, b: str) -> bool:
        if a in before.constants and b in after.constants:
            return _equal(before.constants[a], after.constants[b], a == b)
        return a == b and (a in before.constants) == (b in after.constants)

    inputs = [_trimmed(n) for n in (old, new)]
    same = len(inputs[0]) == len(inputs[1]) and all(map(value, *inputs))
    return same and _attributes(old) == _attributes(new)


def _trimmed(node: onnx.NodeProto) -> list[str]:
    names = list(node.input)
    while names and not names[-1]:
        names.pop()
    return names


def _attributes(node: onnx.NodeProto) -> dict[str, bytes]:
    return {a.name: a.SerializeToString(deterministic=True) for a in node.attribute}


def _equal(a: TensorProto | None, b: TensorProto | None, named: bool) -> bool:
    """`named`: whether they have one name, which must do where elements are unknown."""
    if a is None or b is None:
        return named and a is b
    if (a.data_type, list(a.dims)) != (b.data_type, list(b.dims)):
        return False
    if a.raw_data and b.raw_data:
        return a.raw_data == b.raw_data
    try:
        return array_of(a).tobytes() == array_of(b).tobytes()
    except ModelError:  # elements of a kind that is not read, or elsewhere
        return named
