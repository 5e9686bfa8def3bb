"""Operators without a reader: by the standard's own definition, or run by the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from rewrite.cache.hosted import OnnxNode
from rewrite.egraph.ir.dims import Dim, parse, symbols
from rewrite.egraph.ir.table import TensorType

from .site import Site
from .types import dtype_of, tensor_type, type_proto
from .value import ModelError, Value


def definition(site: Site, domain: str) -> onnx.FunctionProto | None:
    """The function that defines the operator for these operands, if there is one."""
    schema = _schema(site, domain)
    if schema.has_context_dependent_function:
        types = [
            type_proto(site.type(i)).SerializeToString() if site.has(i) else b""
            for i in range(site.count)
        ]
        versions = schema.context_dependent_function_opset_versions
        version = max((v for v in versions if v <= site.opset), default=None)
        if version is not None:
            node = site.node.SerializeToString()
            body = schema.get_context_dependent_function_with_opset_version(
                version, node, types
            )
            return onnx.FunctionProto.FromString(body)
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= site.opset]
        if versions:
            body = schema.get_function_with_opset_version(max(versions))
            return onnx.FunctionProto.FromString(body)
    return None


def defaults(site: Site, domain: str) -> dict[str, onnx.AttributeProto]:
    """What the operator's attributes are where the node does not say."""
    known = _schema(site, domain).attributes
    return {k: a.default_value for k, a in known.items() if a.default_value.name}


def known(name: str, domain: str) -> bool:
    """Whether the standard has the operator, in some version."""
    return onnx.defs.has(name, domain)


def deprecated(node: onnx.NodeProto, versions: Mapping[str, int]) -> bool:
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        schema = onnx.defs.get_schema(node.op_type, versions[domain], domain)
    except onnx.defs.SchemaError:
        return False
    return schema.deprecated


def _schema(site: Site, domain: str) -> Any:
    try:
        return onnx.defs.get_schema(site.kind, site.opset, domain)
    except onnx.defs.SchemaError:
        where = f"the domain {domain or 'ai.onnx'!r} at opset {site.opset}"
        raise ModelError(f"{site.place}: no such operator in {where}") from None


def call(site: Site, domain: str) -> Sequence[Value]:
    """A call for each output; they compute what the reference implementation does."""
    if any(a.HasField("g") or a.graphs for a in site.node.attribute):
        site.fail("the course of its subgraph is only known when it runs")
    types = result_types(site, domain)
    given = [site.x(i) for i in range(site.count) if site.has(i)]
    model = _model(site, domain)
    result: list[Value] = []
    for i, t in enumerate(types):
        if t is None:
            result.append(Value(known=np.zeros(0, np.float32)))
            continue
        target = f"onnx.{site.kind}.{len(site.b.calls)}"
        host = OnnxNode(model, f"y{i}")
        node = site.b.call(target, host, given, t.dtype, t.shape)
        result.append(Value(node))
    return result


def result_types(
    site: Site, domain: str, unknown: Callable[[], Dim] | None = None
) -> list[TensorType | None]:
    """As the standard infers them; sizes that it does not say are those that `unknown`
    gives, or an error."""
    schema = _schema(site, domain)
    names = [f"x{i}" if site.has(i) else "" for i in range(site.count)]
    node = _renamed(site, names)
    types = {n: type_proto(site.type(i)) for i, n in enumerate(names) if n}
    data = {
        n: onnx.numpy_helper.from_array(known)
        for i, n in enumerate(names)
        if n and (known := site.known(i)) is not None and known.dtype != object
    }
    try:
        result = onnx.shape_inference.infer_node_outputs(schema, node, types, data)
    except Exception as e:
        raise ModelError(f"{site.place}: {' '.join(str(e).split())}") from None
    out: list[TensorType | None] = []
    for name in node.output:
        if not name:
            out.append(None)
        elif name not in result:
            site.fail("the type of its result depends on data")
        else:
            out.append(_settled(result[name], site, unknown))
    return out


def _settled(
    info: onnx.TypeProto, site: Site, unknown: Callable[[], Dim] | None
) -> TensorType:
    """A type that was inferred: its symbols are those of the operands."""
    if not info.HasField("tensor_type"):
        return tensor_type(info, site.place, {})
    t = info.tensor_type
    operands = (site.shape(i) for i in range(site.count) if site.has(i))
    given = {a for shape in operands for a in symbols(shape)}
    shape: list[Dim] = []
    for found in t.shape.dim:
        d = _size(found)
        if d is None or symbols((d,)) - given:
            d = unknown() if unknown else None
        if d is None:
            break
        shape.append(d)
    if not t.HasField("shape") or len(shape) < len(t.shape.dim):
        site.fail("the shape of its result depends on data")
    return TensorType(dtype_of(t.elem_type, site.place), tuple(shape))


def _size(d: onnx.TensorShapeProto.Dimension) -> Dim | None:
    if d.HasField("dim_value"):
        return d.dim_value
    try:
        return parse(d.dim_param)  # as `type_proto` spelled it
    except ValueError:
        return None


def _renamed(site: Site, names: Sequence[str]) -> onnx.NodeProto:
    node = onnx.NodeProto()
    node.CopyFrom(site.node)
    del node.input[:]
    node.input.extend(names)
    outputs = [f"y{i}" if o else "" for i, o in enumerate(site.node.output)]
    del node.output[:]
    node.output.extend(outputs)
    return node


def _model(site: Site, domain: str) -> bytes:
    """A model of the node alone, its operands and results numbered."""
    names = [f"x{i}" if site.has(i) else "" for i in range(site.count)]
    node = _renamed(site, names)
    infos = [
        onnx.helper.make_value_info(n, type_proto(site.type(i)))
        for i, n in enumerate(names)
        if n
    ]
    outputs = [onnx.helper.make_empty_tensor_value_info(o) for o in node.output if o]
    graph = onnx.helper.make_graph([node], "call", infos, outputs)
    versions = [onnx.helper.make_opsetid(domain, site.opset)]
    return onnx.helper.make_model(graph, opset_imports=versions).SerializeToString()
