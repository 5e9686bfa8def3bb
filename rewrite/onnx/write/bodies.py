"""The graphs inside of If, Loop and Scan: each optimized as a model of its own.

What a body reads from outside becomes an input of that model, so nothing of the course
of the node around it is assumed.  A body whose inputs have no declared type stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx
from onnx import helper

from ..order import captures, graphs
from ..value import ModelError


def with_bodies(
    model: onnx.ModelProto, inner: Callable[[onnx.ModelProto], onnx.ModelProto]
) -> onnx.ModelProto:
    """A copy whose bodies are what `inner` makes of them."""
    if not any(True for n in model.graph.node for _ in graphs(n)):
        return model
    out = onnx.ModelProto()
    out.CopyFrom(model)
    types = _types(model)
    for k, node in enumerate(out.graph.node):
        for i, g in enumerate(graphs(node)):
            alone = _alone(out, g, captures(node), types)
            if alone is None:
                continue
            try:
                made = inner(alone)
            except ModelError:
                continue  # it is valid as it stands
            _replace(g, made.graph, f"{node.name or node.op_type}_{k}_{i}/")
    return out


def _types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """What is known of the types of values outside of bodies."""
    try:
        g = onnx.shape_inference.infer_shapes(model).graph
    except Exception:
        # The standard's inference gives up: declared types remain.
        g = model.graph
    result = {i.name: i.type for i in (*g.input, *g.value_info, *g.output)}
    for t in model.graph.initializer:
        result[t.name] = helper.make_tensor_type_proto(t.data_type, t.dims)
    return result


def _alone(
    model: onnx.ModelProto, body: onnx.GraphProto, outside: list[str],
    types: Mapping[str, onnx.TypeProto],
) -> onnx.ModelProto | None:  # fmt: skip
    """The body as a model that takes what it captures; None where a type is missing."""
    if any(not i.type.WhichOneof("value") for i in body.input):
        return None
    wanted = [n for n in outside if n in _read(body)]
    if any(n not in types for n in wanted):
        return None
    alone = onnx.ModelProto()
    alone.ir_version = max(model.ir_version, 4)  # initializers are constants here
    alone.opset_import.extend(model.opset_import)
    alone.graph.CopyFrom(body)
    alone.graph.input.extend(helper.make_value_info(n, types[n]) for n in wanted)
    return alone


def _read(g: onnx.GraphProto) -> set[str]:
    result = {o.name for o in g.output}
    for node in g.node:
        result.update((*node.input, *captures(node)))
    return result


def _replace(body: onnx.GraphProto, made: onnx.GraphProto, prefix: str) -> None:
    """New nodes and constants, under names that stand nowhere else."""
    kept = {i.name for i in made.input} | {o.name for o in made.output}
    inside = [t.name for t in made.initializer]
    inside += [o for n in made.node for o in n.output if o]
    names = {n: prefix + n for n in inside if n not in kept}
    for t in made.initializer:
        t.name = names.get(t.name, t.name)
    for node in made.node:
        for i, name in enumerate(node.output):
            node.output[i] = names.get(name, name)
        node.name = prefix + node.name
        rename(node, names)
    del body.node[:], body.initializer[:], body.value_info[:]
    body.node.extend(made.node)
    body.initializer.extend(made.initializer)


def rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """What a node and its bodies read from outside, under other names."""
    for i, name in enumerate(node.input):
        node.input[i] = names.get(name, name)
    rename_inside(node, names)


def rename_inside(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    for g in graphs(node):
        own = {i.name for i in g.input} | {t.name for t in g.initializer}
        own |= {o for inner in g.node for o in inner.output}
        free = {old: new for old, new in names.items() if old not in own}
        for inner in g.node:
            rename(inner, free)
        for o in g.output:
            o.name = free.get(o.name, o.name)
