"""The table of workloads: how a variant is made, and what it must become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewrite.egraph.ir.graph import Graph
from rewrite.lower.model import DeviceModel

from .attention import attention
from .convolution import conv
from .draw import Draw
from .judge import (
    MODELS,
    Goal,
    Variant,
    both,
    fewest_products,
    kernels,
    no_copies,
    one_pass,
    reads_once,
    unless_dearer,
)
from .products import chain, qkv, rotary, transposed
from .rows import cross_entropy, layer_norm, moments, softmax

type Maker = Callable[[Draw], Graph | tuple[Graph, int]]


@dataclass(frozen=True)
class Workload:
    """How a variant is made, and what its schedule under a model must be."""

    make: Maker
    goal: Goal
    model: str = "cpu"
    real: str = "cpu"  # the model for the twins of real sizes

    def judged_by(self, real: bool) -> DeviceModel:
        return MODELS[self.real if real else self.model]


# The mean of the losses may be a kernel of its own, which reads a number a row: it
# costs what the last stage of one kernel would.  An operand of a product may be rotated
# or bent first, where that is cheaper than to do it again for each tile.
WORKLOADS: dict[str, Workload] = {
    "softmax": Workload(softmax, kernels(1)),
    "layer_norm": Workload(layer_norm, kernels(1)),
    "cross_entropy": Workload(cross_entropy, both(reads_once("x"), kernels(2))),
    "attention": Workload(attention, kernels(1)),
    "qkv": Workload(qkv, kernels(1)),
    "conv": Workload(conv, kernels(1)),
    "chain": Workload(chain, fewest_products),
    "moments": Workload(moments, both(kernels(1), one_pass), "small", "core"),
    "transposed": Workload(transposed, both(unless_dearer(kernels(1)), no_copies)),
    "rotary": Workload(rotary, unless_dearer(kernels(1))),
}


def variant(workload: str, seed: int, real: bool = False) -> Variant:
    """Variant `seed` of a workload; the same for the same arguments, always."""
    if workload not in WORKLOADS:
        known = ", ".join(WORKLOADS)
        raise ValueError(f"unknown workload {workload!r}; known: {known}")
    d = Draw(workload, seed, real)
    made = WORKLOADS[workload].make(d)
    graph, fewest = made if isinstance(made, tuple) else (made, 0)
    return Variant(seed, graph, d.text, fewest)
