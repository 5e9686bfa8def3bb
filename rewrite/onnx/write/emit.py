"""Chosen instructions as a model: the caller's interface, names and metadata kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from rewrite.extract.operators.constants import values

from ..order import captures
from .bodies import rename_inside
from .cover import FREE, Instruction
from .select import Selection
from .spelled import MARK, SPELLED


def emit(model: onnx.ModelProto, found: Selection) -> onnx.ModelProto:
    """A copy of `model` with the nodes and constants that were chosen."""
    return _Writer(model, found).write()


class _Writer:
    def __init__(self, model: onnx.ModelProto, found: Selection) -> None:
        self.model, self.found, self.t = model, found, found.cover
        self.taken = {i.name for i in model.graph.input}
        self.taken |= {o.name for o in model.graph.output}
        self.named: dict[int, str] = {}  # class -> the value's name
        self.nodes: list[onnx.NodeProto] = []
        self.node_names: set[str] = set()
        self.read: dict[int, list[tuple[int, int]]] = {}  # the parts of each that are
        for part, how in found.chosen.items():
            if how.op == "project" and how.args[0] is not None:
                index = dict(how.attrs)["index"]
                self.read.setdefault(how.args[0], []).append((index, part))

    def write(self) -> onnx.ModelProto:
        for c, how in self.found.chosen.items():
            if how.op in ("input", "stored"):
                self.named[c] = dict(how.attrs)["name"]
        for name, c in self.found.outputs.items():
            if c not in self.named and c in self.found.chosen:
                self.named[c] = name
        for c, how in self.found.chosen.items():
            if how.op not in FREE:
                self.node(c, how)
        self.outputs()
        return self.assembled()

    # ---- names ---------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        name, k = base, 0
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name

    def name(self, c: int) -> str:
        if c not in self.named:
            how = self.found.chosen[c]
            base = self.found.names.get(c) or f"{how.op.lower()}_{c}"
            self.named[c] = self.fresh(base)
        return self.named[c]

    # ---- nodes ---------------------------------------------------------------------

    def node(self, c: int, how: Instruction) -> None:
        outputs = self.results(c)
        if MARK in how.attrs:
            self.spelled(how, outputs[0])
            return
        made = self.made if how.step is None else self.kept
        node = made(how, outputs)
        self.append(node, node.name or f"{node.op_type}_{len(self.nodes)}")

    def append(self, node: onnx.NodeProto, base: str) -> None:
        """Under a name of its own."""
        node.name, k = base, 0
        while node.name in self.node_names:
            k += 1
            node.name = f"{base}_{k}"
        self.node_names.add(node.name)
        self.nodes.append(node)

    def spelled(self, how: Instruction, output: str) -> None:
        """The nodes that stand for one operator."""
        read = ["" if a is None else self.name(a) for a in how.args]
        nodes = SPELLED[how.op]
        for k, (op, reads, attrs) in enumerate(nodes, 1):
            name = output if k == len(nodes) else self.fresh(f"{output}_{op.lower()}")
            node = helper.make_node(op, [read[i] for i in reads], [name], **attrs)
            self.append(node, f"{op}_{len(self.nodes)}")
            read.append(name)

    def results(self, c: int) -> list[str]:
        """Names of what a node gives; a part that nobody reads is still named."""
        if c not in self.t.parts:
            return [self.name(c)]
        names = [""] * self.t.parts[c]
        for i, part in self.read.get(c, ()):
            names[i] = self.name(part)
        return names

    def made(self, how: Instruction, outputs: Sequence[str]) -> onnx.NodeProto:
        inputs = ["" if a is None else self.name(a) for a in how.args]
        named = [o or self.fresh(f"{how.op.lower()}_unused") for o in outputs]
        attrs: dict[str, Any] = {k: _plain(v) for k, v in how.attrs}  # pyright: ignore[reportUnknownVariableType]
        return helper.make_node(how.op, inputs, named, **attrs)

    def kept(self, how: Instruction, outputs: Sequence[str]) -> onnx.NodeProto:
        assert how.step is not None
        step = self.found.reading.steps[how.step]
        node = onnx.NodeProto()
        node.CopyFrom(step.proto)
        inputs = ["" if a is None else self.name(a) for a in how.args]
        count = len(inputs) - len(step.captured)  # maybe with a bias more
        del node.input[:], node.output[:]
        node.input.extend(inputs[:count])
        pairs = zip(outputs, step.proto.output, strict=False)
        shown = [o or (old and self.fresh(old)) for o, old in pairs]
        node.output.extend(shown)
        names = dict(zip((n for n, _ in step.captured), inputs[count:], strict=True))
        rename_inside(node, names)
        return node

    def outputs(self) -> None:
        """An output that has another name already, or is an input, is copied."""
        for name, c in self.found.outputs.items():
            if self.name(c) != name:
                node = helper.make_node("Identity", [self.name(c)], [name])
                self.append(node, f"copy_{name}")

    # ---- the whole -----------------------------------------------------------------

    def constants(self) -> list[onnx.TensorProto]:
        wanted = [c for c, how in self.found.chosen.items() if how.op == "constant"]
        arrays = values(self.t, wanted, self.found.reading.graph.data)
        out: list[onnx.TensorProto] = []
        for c in wanted:
            if c in self.named:
                array = np.asarray(arrays[c], order="C")
                out.append(numpy_helper.from_array(array, self.named[c]))
        return out

    def assembled(self) -> onnx.ModelProto:
        out = onnx.ModelProto()
        out.CopyFrom(_shell(self.model))
        g = out.graph
        g.node.extend(self.nodes)
        g.initializer.extend(self.constants())
        have = {t.name for t in g.initializer}
        used = {n for node in self.nodes for n in (*node.input, *captures(node))}
        used |= {o.name for o in g.output} | {i.name for i in g.input}
        for t in self.model.graph.initializer:
            if t.name in used and t.name not in have:
                g.initializer.append(t)
        for s in self.model.graph.sparse_initializer:
            if s.values.name in used:
                g.sparse_initializer.append(s)
        if out.ir_version < 4:  # all initializers are inputs there
            known = {i.name for i in g.input}
            g.input.extend(
                helper.make_tensor_value_info(t.name, t.data_type, t.dims)
                for t in g.initializer
                if t.name not in known
            )
        made = {o for node in self.nodes for o in node.output}
        g.value_info.extend(v for v in self.model.graph.value_info if v.name in made)
        return out


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _shell(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without nodes, constants, functions."""
    out = onnx.ModelProto()
    for f, value in model.ListFields():
        if f.name in ("graph", "functions"):
            continue
        if f.is_repeated:
            getattr(out, f.name).extend(value)
        else:
            setattr(out, f.name, value)
    old, g = model.graph, out.graph
    g.name, g.doc_string = old.name, old.doc_string
    g.metadata_props.extend(old.metadata_props)
    g.output.extend(old.output)
    stored = {t.name for t in old.initializer} if model.ir_version < 4 else set[str]()
    g.input.extend(i for i in old.input if i.name not in stored)
    return out
