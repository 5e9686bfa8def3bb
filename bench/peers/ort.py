"""ONNX Runtime: sessions with inputs and outputs bound, so that nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from rewrite.backends.native.pool import thread_count
from rewrite.egraph.ir.scalars import Array

from .task import Code, Contestant, Entries, Inexpressible, Step, Task

OPSET, IR = 23, 11


class Value:
    """A result in a model that is being written."""

    def __init__(self, writer: Writer, name: str) -> None:
        self.writer, self.name = writer, name

    def __add__(self, other: Any) -> Value:
        return self.writer.node("Add", self, other)

    def __mul__(self, other: Any) -> Value:
        return self.writer.node("Mul", self, other)


class Writer:
    """The language: each word adds a node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[TensorProto] = []

    def constant(self, value: Any) -> Value:
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(value), name))
        return Value(self, name)

    def node(self, op: str, *args: Any, **attributes: Any) -> Any:
        given = [
            a if isinstance(a, Value) else self.constant(np.float32(a)) for a in args
        ]
        return self._add(op, given, 1, attributes)[0]

    def _add(
        self, op: str, args: Sequence[Value], count: int, attributes: dict[str, Any]
    ) -> list[Value]:
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        inputs = [a.name for a in args]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return [Value(self, name) for name in names]

    def multiply(self, x: Value, y: Any, out: None = None) -> Value:
        return x * y

    def gelu(self, x: Value) -> Value:
        return self.node("Gelu", x, approximate="tanh")

    def softmax(self, x: Value, out: None = None) -> Value:
        return self.node("Softmax", x, axis=-1)

    def layer_norm(self, x: Value, gain: Value, bias: Value, out: None = None) -> Value:
        return self.node("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-5)

    def sum(self, x: Value, axes: tuple[int, ...], out: None = None) -> Value:
        over = self.constant(np.array(axes))
        return self.node("ReduceSum", x, over, keepdims=0)

    def transposed(self, x: Value, out: None = None) -> Value:
        return self.node("Transpose", x, perm=[1, 0])

    def matmul(self, a: Value, b: Value, out: None = None) -> Value:
        return self.node("MatMul", a, b)

    def attention(self, q: Value, k: Value, v: Value, out: None = None) -> Value:
        """Of four axes, as the operator has it: faster here than three operators."""
        first = self.constant(np.array([0]))
        four = [self.node("Unsqueeze", x, first) for x in (q, k, v)]
        return self.node("Squeeze", self.node("Attention", *four), first)

    def conv(self, x: Value, w: Value, pad: int, out: None = None) -> Value:
        return self.node("Conv", x, w, pads=[pad] * 4)

    def lstm_cell(
        self, x: Value, h: Value, c: Value, w: Value, u: Value, b: Value, d: Value,
        out: None = None,
    ) -> tuple[Value, Value]:  # fmt: skip
        left = self.node("Gemm", x, w, b, transB=1)
        gates = left + self.node("Gemm", h, u, d, transB=1)
        i, f, g, o = self._add("Split", [gates], 4, {"axis": -1, "num_outputs": 4})
        i, f, o = (self.node("Sigmoid", v) for v in (i, f, o))
        c = f * c + i * self.node("Tanh", g)
        return o * self.node("Tanh", c), c


def written(task: Code) -> bytes:
    """The model of array code: weights are initializers."""
    m = Writer()
    names = [f"x{i}" for i in range(len(task.inputs))]
    weights = [m.constant(w) for w in task.weights]
    result = task.f(m, *(Value(m, name) for name in names), *weights)
    results = result if isinstance(result, tuple) else (result,)
    types = zip(names, task.inputs, strict=True)
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape)
              for n, a in types]  # fmt: skip
    outputs = [helper.make_tensor_value_info(v.name, TensorProto.FLOAT, None)
               for v in results]  # fmt: skip
    graph = helper.make_graph(m.nodes, "code", inputs, outputs, m.stored)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR)
    return model.SerializeToString()


def session(model: bytes | str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_count()
    options.inter_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model, options, providers=providers)


def prepare(task: Task) -> Entries:
    if isinstance(task, Step):
        raise Inexpressible("torch exports no gradient of a convolution")
    if isinstance(task, Code):
        names = (f"x{i}" for i in range(len(task.inputs)))
        inputs = dict(zip(names, task.inputs, strict=True))
        ready = session(written(task))
    else:
        inputs, ready = task.inputs, session(str(task.file))
    return both(ready, inputs)


def both(ready: Any, inputs: dict[str, Array]) -> Entries:
    names = [o.name for o in ready.get_outputs()]
    fresh, fixed = (bound(ready, inputs) for _ in range(2))
    for name in names:
        fresh.bind_output(name)
    first = ready.run(None, inputs)
    out = [np.empty_like(a) for a in first]
    for name, array in zip(names, out, strict=True):
        fixed.bind_ortvalue_output(
            name, onnxruntime.OrtValue.ortvalue_from_numpy(array)
        )

    def pooled() -> Any:
        ready.run_with_iobinding(fresh)
        return fresh.get_outputs()

    def answers(values: Any) -> list[Array]:
        return [v.numpy() for v in values]

    def preallocated() -> Any:
        ready.run_with_iobinding(fixed)
        return out

    return {
        "pooled": Contestant(pooled, answers),
        "preallocated": Contestant(preallocated, list),
    }


def bound(ready: Any, inputs: dict[str, Array]) -> Any:
    binding = ready.io_binding()
    for name, array in inputs.items():
        value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(name, value)
    return binding
