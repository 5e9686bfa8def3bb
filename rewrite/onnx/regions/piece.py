"""Nodes of a model on their own: what they read, and as a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx

from ..order import reads

type Types = Mapping[str, onnx.TypeProto]
type Nodes = tuple[onnx.NodeProto, ...]


@dataclass(frozen=True)
class Piece:
    """Nodes in order, what they may read that is stored, and the names wanted of them;
    `head` is the model that they are of: its opsets and functions."""

    head: onnx.ModelProto
    nodes: Nodes
    stored: Mapping[str, onnx.TensorProto]
    outputs: tuple[str, ...]

    @property
    def inputs(self) -> list[str]:
        """What must be given."""
        made = {o for n in self.nodes for o in n.output}
        read = [name for n in self.nodes for name in reads(n)] + list(self.outputs)
        return [
            n for n in dict.fromkeys(read) if n not in made and n not in self.stored
        ]

    def part(self, nodes: Iterable[onnx.NodeProto], outputs: Sequence[str]) -> Piece:
        return replace(self, nodes=tuple(nodes), outputs=tuple(outputs))

    def body(self, g: onnx.GraphProto) -> Piece:
        """A graph inside of one of the nodes."""
        stored = {**self.stored, **{t.name: t for t in g.initializer}}
        return Piece(self.head, tuple(g.node), stored, tuple(o.name for o in g.output))

    def model(self, types: Types) -> onnx.ModelProto:
        """As a model, whose inputs have these types."""
        read = {name for n in self.nodes for name in reads(n)} | set(self.outputs)
        out = onnx.ModelProto()
        out.ir_version = max(self.head.ir_version, 4)  # what is stored stays as it is
        out.opset_import.extend(self.head.opset_import)
        out.functions.extend(self.head.functions)
        g = out.graph
        g.name = self.head.graph.name
        g.node.extend(self.nodes)
        g.initializer.extend(t for name, t in self.stored.items() if name in read)
        for name in self.inputs:
            g.input.append(onnx.helper.make_value_info(name, types[name]))
        for name in self.outputs:
            g.output.append(onnx.helper.make_empty_tensor_value_info(name))
        return out


def piece_of(model: onnx.ModelProto) -> Piece:
    g = model.graph
    stored = {t.name: t for t in g.initializer}
    return Piece(model, tuple(g.node), stored, tuple(o.name for o in g.output))
