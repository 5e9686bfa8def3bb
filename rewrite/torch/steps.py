"""The steps of a program: a compiled graph, or one node as PyTorch runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.scalars import Array

from .arrays import to_array, to_tensor
from .library import FxNode, Tensor, torch
from .reading import Part, Port
from .site import fixed
from .sizes import Sizes
from .watch import Watch

type Scope = dict[str, Any]
type Run = Callable[..., Mapping[str, Any]]


def numbers(values: Sequence[Any], sizes: Sizes) -> tuple[int, ...]:
    return tuple(fixed(*(sizes.dim(v) for v in values)))


def in_layout(tensor: Tensor, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """The tensor with the strides that eager PyTorch gives it; copied where it must."""
    if tensor.stride() == tuple(strides):
        return tensor
    pairs = zip(shape, tensor.stride(), strides, strict=True)
    if all(n == 1 or a == b for n, a, b in pairs) or 0 in shape:
        return tensor.as_strided(tuple(shape), tuple(strides))
    # Axes along which one element is shown again and again have memory for one.
    sizes = [1 if s == 0 else n for n, s in zip(shape, strides, strict=True)]
    made = torch.empty_strided(
        sizes, tuple(strides), dtype=tensor.dtype, device=tensor.device
    )
    source = tensor
    for k, (n, m) in enumerate(zip(shape, sizes, strict=True)):
        source = source if n == m else source.narrow(k, 0, 1)
    return made.copy_(source).expand(tuple(shape))


@dataclass(frozen=True)
class Taken:
    """How an input is taken from the scope."""

    label: str
    name: str
    order: tuple[int, ...] | None  # None: as the tensor's axes stand
    dtype: Any

    @staticmethod
    def of(p: Port) -> Taken:
        dtype = p.node.meta["val"].dtype
        return Taken(p.label, p.node.name, _unless_same(p.order), dtype)

    def tensor(self, tensor: Tensor) -> Tensor:
        """With its axes in the order of memory."""
        if tensor.dtype is not self.dtype:  # some operators are traced wrongly
            tensor = tensor.to(self.dtype)
        return tensor if self.order is None else tensor.permute(self.order)

    def array(self, tensor: Tensor) -> Array:
        return to_array(self.tensor(tensor))


@dataclass(frozen=True)
class Made:
    """How an output becomes a tensor: its axes brought back, its strides checked."""

    label: str
    back: tuple[int, ...] | None
    dtype: Any
    shape: tuple[int, ...] | None  # None: any layout will do
    strides: tuple[int, ...]

    @staticmethod
    def of(p: Port, sizes: Sizes, final: bool) -> Made:
        value = p.node.meta["val"]
        shape, strides = numbers(value.shape, sizes), numbers(value.stride(), sizes)
        return Made(p.label, _unless_same(p.back), value.dtype,
                    shape if final else None, strides)  # fmt: skip

    def delivered(self, tensor: Tensor) -> Tensor:
        if self.back is not None:
            tensor = tensor.permute(self.back)
        if self.shape is not None:
            tensor = in_layout(tensor, self.shape, self.strides)
        return tensor


def _unless_same(order: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if order == tuple(range(len(order))) else order


class GraphStep:
    """A compiled graph between tensors.  Where it fails, eager PyTorch takes over."""

    def __init__(
        self, part: Part, compiled: Run, sizes: Sizes, final: frozenset[FxNode],
        eager: Sequence[EagerStep] | None, tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`eager` are the same nodes; None: an error is raised, not told."""
        self.tell = tell
        self.part, self.compiled, self.eager = part, compiled, eager
        self.sizes = sizes
        self.broken = False
        # Arrays of parameters, which are the same in most calls.
        self.known: dict[str, tuple[Tensor, int, Array]] = {}
        self.inputs = [Taken.of(p) for p in part.inputs]
        self.views = part.views
        self.numbers = {
            label: np.asarray(dims.bind(size, sizes.bound), np.int64)
            for label, size in part.numbers
        }
        self.outputs = [Made.of(p, sizes, p.node in final) for p in part.outputs]
        # The parameters that something is kept of, with what they are called.
        self.kept = [(t.name, t.label) for t in self.inputs if t.label in _kept_of(part,
                     compiled)]  # fmt: skip
        self.watch = Watch()

    def __call__(self, scope: Scope) -> None:
        if not self.broken:
            try:
                return self._run(scope)
            except Exception as e:
                # Inputs are written to at the end, so nothing has happened yet.
                if self.eager is None:
                    raise
                self.broken = True
                self.tell(f"a graph runs in eager PyTorch: {type(e).__name__}: {e}")
        for step in self.eager or ():
            step(scope)

    def _run(self, scope: Scope) -> None:
        inputs: dict[str, Any] = dict(self.numbers)
        for taken in self.inputs:
            tensor = scope[taken.name]
            known = self.known.get(taken.label)
            if known and known[0] is tensor and known[1] == tensor.data_ptr():
                inputs[taken.label] = known[2]
                continue
            array = inputs[taken.label] = taken.array(tensor)
            if type(tensor) is torch.nn.Parameter:
                self.known[taken.label] = tensor, tensor.data_ptr(), array
        for label, v in self.views:
            inputs[label] = to_array(v.of(scope[v.name]))
        results = self._results(scope, inputs)
        for made in self.outputs:
            tensor = to_tensor(results[made.label], made.dtype)
            scope[made.label] = made.delivered(tensor)

    def _results(self, scope: Scope, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.kept:
            return self.compiled(inputs)
        tensors = [scope[name] for name, _ in self.kept]
        witness = self.watch.witness(tensors, [inputs[label] for _, label in self.kept])
        return self.compiled(inputs, witness=witness)


def _kept_of(part: Part, compiled: Any) -> frozenset[str]:
    """The inputs that a program makes something of which it keeps."""
    if not part.constant_inputs:
        return frozenset()
    ready = compiled.executable()
    return ready.constant_inputs if ready is not None else frozenset()


class EagerStep:
    """One node as PyTorch runs it."""

    def __init__(self, node: FxNode) -> None:
        self.node = node

    def __call__(self, scope: Scope) -> None:
        node = self.node

        def of(n: FxNode) -> Any:
            return scope[n.name]

        args = torch.fx.node.map_arg(node.args, of)
        keywords = torch.fx.node.map_arg(node.kwargs, of)
        scope[node.name] = node.target(*args, **keywords)
