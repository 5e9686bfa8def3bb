"""Control flow as data: graphs that run as values say, as one node of another.

A `Flow` is the host function of a `call` node, so that all that knows calls knows it:
none are merged or looked into, and the host runs them by their NumPy meaning, which is
`Flow.at`.  What can run its bodies faster reads the fields instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..ir import dims
from ..ir.dims import Dim, Shape
from ..ir.dtypes import F64, DType
from ..ir.evaluate import Precision, bind_inputs, evaluate_fixed, expand_macros
from ..ir.graph import Graph, GraphError, Node, substitute
from ..ir.ops import Array, TensorType

type Sizes = tuple[int, ...]
# What gives the outputs of a body by its inputs.
type Run = Callable[[Mapping[str, Array]], Sequence[Array]]


class Flow(ABC):
    """The outputs of each body are different nodes and none is an input.

    The call gives one array without axes but one: its results one after the other,
    which are of one dtype.
    """

    kind: ClassVar[str]  # the word for it in the text of graphs

    @property
    @abstractmethod
    def attrs(self) -> Mapping[str, Any]:
        """What else it is, in the text of graphs."""

    @property
    @abstractmethod
    def bodies(self) -> tuple[Graph, ...]: ...

    @property
    @abstractmethod
    def words(self) -> tuple[str, ...]:
        """What reports call one run of each body."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """What is done with the bodies' inputs and outputs, in words."""

    @property
    @abstractmethod
    def kept(self) -> tuple[TensorType, ...]:
        """What a run of a body gives of each result."""

    @abstractmethod
    def given(self, body: int) -> Sequence[int]:
        """The operands that a body's inputs are, in order."""

    @abstractmethod
    def invariant(self, body: int) -> frozenset[str]:
        """The inputs of a body that hold the same in many runs."""

    @abstractmethod
    def runs(self, shapes: Sequence[Shape]) -> Dim | None:
        """How often bodies run for operands of these shapes; None: values tell."""

    @abstractmethod
    def entered(self, operand: int) -> bool:
        """Whether a run is given one entry of an operand's first axis."""

    @abstractmethod
    def folded(self, args: Sequence[Array], runs: Sequence[Run], dtype: DType) -> Array:
        """The result where bodies are run by these."""

    @property
    def dtype(self) -> DType:
        """Of its results."""
        return self.kept[0].dtype

    def shapes(self, runs: Dim | None) -> tuple[Shape, ...]:
        """Of the results."""
        return tuple(t.shape for t in self.kept)

    def starts(self, runs: Dim | None) -> tuple[Dim, ...]:
        """Where each result begins among the elements of the call's, and their end."""
        at: list[Dim] = [0]
        for shape in self.shapes(runs):
            at.append(at[-1] + dims.numel(shape))
        return tuple(at)

    def inputs_of(self, body: int) -> tuple[Node, ...]:
        return self.bodies[body].inputs

    def sizes(self, body: int, shapes: Sequence[Sizes]) -> dict[str, int]:
        """Of a body's symbols, for operands of these shapes."""
        given: dict[str, Array] = {}
        for n, k in zip(self.inputs_of(body), self.given(body), strict=True):
            entry = shapes[k][self.entered(k) :]
            given[n.attrs[0]] = np.broadcast_to(np.zeros((), n.dtype.numpy), entry)
        return bind_inputs(self.bodies[body], given)

    def check(self, operands: Sequence[TensorType], result: TensorType) -> None:
        """GraphError where a call cannot have such operands or such a result."""
        if result.dtype is not self.dtype or result.rank != 1:
            raise GraphError(f"this gives {self.dtype}[..], not {result}")
        for k in range(len(self.bodies)):
            for n, at in zip(self.inputs_of(k), self.given(k), strict=True):
                if at >= len(operands):
                    raise GraphError(f"operand {at} of {len(operands)} is missing")
                x = operands[at]
                rank = n.type.rank + self.entered(at)
                if x.dtype is not n.dtype or x.rank != rank:
                    raise GraphError(f"operand {at} is {x}, which {n.type} is not of")

    def __call__(self, *args: Array) -> Array:
        return self.at(args, "own")

    def at(self, args: Sequence[Array], precision: Precision) -> Array:
        """The meaning."""
        shapes = [a.shape for a in args]
        wide = precision == "f64" and self.dtype.is_float

        @cache
        def fixed(body: int) -> Graph:
            sizes = self.sizes(body, shapes)
            return expand_macros(substitute(self.bodies[body], sizes))

        def run_of(body: int) -> Run:
            return lambda given: list(
                evaluate_fixed(fixed(body), given, precision).values()
            )

        runs = [run_of(k) for k in range(len(self.bodies))]
        return self.folded(args, runs, F64 if wide else self.dtype)


def check_body(body: Graph, what: str) -> None:
    outputs = [i for _, i in body.outputs]
    own = {body.nodes[i].op for i in outputs}
    if len(set(outputs)) != len(outputs) or own & {"input", "data"}:
        raise GraphError(f"{what} has an output twice, or one it was given")


def flat(parts: Sequence[Array], dtype: DType) -> Array:
    """One after the other."""
    return np.concatenate([np.empty(0, dtype.numpy), *map(np.ravel, parts)])


def flow_of(node: Node, calls: Mapping[str, Callable[..., object]]) -> Flow | None:
    made = calls.get(node.attrs[0]) if node.op == "call" else None
    return made if isinstance(made, Flow) else None


def flows_of(graph: Graph) -> Iterator[tuple[str, Flow]]:
    """Those of a graph that its results depend on, by target."""
    for i in sorted(graph.live):
        node = graph.nodes[i]
        if made := flow_of(node, graph.calls):
            yield node.attrs[0], made


__all__ = ["Flow", "Run", "Sizes", "check_body", "flat", "flow_of", "flows_of"]
