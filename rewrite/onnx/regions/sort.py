"""Which nodes are read as a graph, which a host runs, and which come after those.

As in `rewrite/torch/partition.py`, a node is read on a trial before it is decided where
it goes.  There a trace has the types of all results; here those of a host's are known
when it has run, so one level is sorted at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import onnx

from rewrite.egraph.ir.dims import Dim

from ..loader import Loader, Scope, versions_of
from ..order import reads
from ..proto import array_of
from ..types import type_proto
from ..value import ModelError, Value
from .piece import Nodes, Piece, Types


@dataclass
class Sorted:
    """A level: `front` is a graph; `plain` are nodes that compute nothing while the
    model runs (shapes, constants, sequences), which every part that reads them has for
    itself; `hosted` have the reason; `late` read what those give."""

    front: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    plain: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    hosted: list[tuple[onnx.NodeProto, str]] = field(
        default_factory=list[tuple[onnx.NodeProto, str]]
    )
    late: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    types: dict[str, onnx.TypeProto] = field(default_factory=dict[str, onnx.TypeProto])
    sequences: set[str] = field(default_factory=set[str])  # among the plain

    def whole(self, nodes: Nodes) -> Nodes:
        """The nodes with the plain ones that they need, in order."""
        made = {o: n for n in self.plain for o in n.output}
        wanted = {id(n) for n in nodes}
        rest = list(nodes)
        extra: list[onnx.NodeProto] = []
        while rest:
            for name in reads(rest.pop()):
                n = made.get(name)
                if n is not None and id(n) not in wanted:
                    wanted.add(id(n))
                    extra.append(n)
                    rest.append(n)
        before = {id(n): k for k, n in enumerate(self.plain)}
        return (*sorted(extra, key=lambda n: before[id(n)]), *nodes)


class Sorter(Loader):
    """Reads what can be read, from inputs of these types; others are opaque."""

    def __init__(
        self, piece: Piece, types: Mapping[str, onnx.TypeProto | None],
        bound: Mapping[str, Dim],
    ) -> None:  # fmt: skip
        super().__init__(piece.head, bound)
        self.piece = piece
        self.values: Scope = {}
        self.opaque: set[str] = set()
        for name in piece.inputs:
            self._input_of(name, types.get(name))

    def _input_of(self, name: str, t: onnx.TypeProto | None) -> None:
        try:
            if t is None:
                raise ModelError("no tensor")
            self.values[name] = self._input(onnx.helper.make_value_info(name, t))
        except ModelError:
            self.opaque.add(name)

    def _stored(self, name: str) -> None:
        """Reads a tensor that is stored, once it is asked for."""
        tensor = self.piece.stored.get(name)
        if tensor is None or name in self.values or name in self.opaque:
            return
        try:
            self.values[name] = Value(known=array_of(tensor), label=name)
        except ModelError:  # of a type that graphs do not have
            self.opaque.add(name)

    def sorted(self) -> Sorted:
        result = Sorted()
        versions = versions_of(self.model.opset_import)
        late: set[str] = set()
        for node in self.piece.nodes:
            names = reads(node)
            for name in names:
                self._stored(name)
            if not late.isdisjoint(names):
                result.late.append(node)
                late.update(node.output)
                continue
            reason = self._reason(node, names, versions)
            if reason:
                result.hosted.append((node, reason))
                late.update(node.output)
            elif all(self._is_plain(o) for o in node.output if o):
                result.plain.append(node)
            else:
                result.front.append(node)
        self._describe(result)
        return result

    def _reason(
        self, node: onnx.NodeProto, names: list[str], versions: dict[str, int]
    ) -> str:
        """Why no graph holds a node; empty if one does."""
        apart = [n for n in names if n in self.opaque]
        if apart:
            return f"{node.op_type} ({node.name}): {apart[0]!r} is no tensor of numbers"
        count, calls = self.count, len(self.b.calls)
        try:
            self.run([node], self.values, versions)
        except ModelError as e:
            self.count, self.depth = count, 0
            return str(e)
        if len(self.b.calls) > calls:
            return f"{node.op_type} ({node.name}): it has no reader"
        return ""

    def _is_plain(self, name: str) -> bool:
        return self.values[name].known is not None or (self.values[name].node is None)

    def _describe(self, result: Sorted) -> None:
        for node in result.front:
            for name in node.output:
                value = self.values.get(name)
                if value is not None and value.node is not None:
                    result.types[name] = type_proto(self.b.type(value.node))
        for node in result.plain:
            for name in node.output:
                if name and self.values[name].known is None:
                    result.sequences.add(name)


def sort(
    piece: Piece, types: Mapping[str, onnx.TypeProto | None], bound: Mapping[str, Dim]
) -> Sorted:
    return Sorter(piece, types, bound).sorted()


__all__ = ["Sorted", "Types", "sort"]
