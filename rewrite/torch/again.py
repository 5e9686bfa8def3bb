"""What a backward graph computes again: scores, which are far larger than what they are
products of.

AOTAutograd has a forward graph keep each value that the backward one reads: weights, of
attention by hand.  Where a device multiplies in one pass what it computes of products,
computing them again costs less than memory does.  So the joint graph is given copies of
what such products are read through, and the forward graph keeps their sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .library import FxNode, GraphModule, partitioners, torch

SUMMED = 256  # terms of a product, at most: what its pass keeps of a side
LARGER = 4  # times as many elements as its sides have, at least
PRODUCTS = ("aten.bmm.default", "aten.mm.default")
VIEWS = (
    "aten.view.default", "aten._unsafe_view.default", "aten.reshape.default",
    "aten.expand.default", "aten.permute.default", "aten.transpose.int",
    "aten.unsqueeze.default", "aten.squeeze.dims", "aten.squeeze.dim",
    "aten.clone.default", "aten.alias.default", "aten.detach.default",
)  # fmt: skip
TAG = "partitioner_tag"
ROWS = ("aten._softmax.default", "aten._to_copy.default")


def partition(
    joint: GraphModule, inputs: Sequence[Any], *, num_fwd_outputs: int, **more: Any
) -> tuple[GraphModule, GraphModule]:
    """PyTorch's own partition, where the backward graph reads no scores."""
    compute_again(joint, num_fwd_outputs)
    return partitioners.default_partition(
        joint, inputs, num_fwd_outputs=num_fwd_outputs, **more
    )


def compute_again(joint: GraphModule, num_fwd_outputs: int) -> int:
    """Gives the backward part copies of scores, and of what is computed of them alone;
    how many nodes these are."""
    graph = joint.graph
    forward = _forward(joint, num_fwd_outputs)
    scores: dict[FxNode, None] = {}
    for n in graph.nodes:
        if n not in forward or n.op != "call_function":
            continue
        if _is_large(n) or (_keeps(n) and any(a in scores for a in _parts(n))):
            scores[n] = None
    after = [n for n in graph.nodes if n not in forward and n.op == "call_function"]
    later = [n for n in after if any(a in scores for a in n.all_input_nodes)]
    if not later:
        return 0
    read = [a for n in later for a in n.all_input_nodes if a in scores]
    needed = {n for n in _above(read, within=scores) if n in scores}
    copies: dict[FxNode, FxNode] = {}

    def again(a: FxNode) -> FxNode:
        return copies.get(a, a)

    with graph.inserting_before(after[0]):
        for n in (n for n in scores if n in needed):
            copies[n] = made = graph.node_copy(n, again)
            if TAG in made.meta:
                made.meta[TAG] = after[0].meta.get(TAG)
    for n in later:
        for a in [a for a in n.all_input_nodes if a in copies]:
            n.replace_input_with(a, copies[a])
    graph.lint()
    joint.recompile()
    return len(copies)


def _forward(joint: GraphModule, num_fwd_outputs: int) -> set[FxNode]:
    """The nodes that PyTorch traced as such; where it does not say, what the forward
    outputs need."""
    nodes = [*joint.graph.nodes]
    told = {n for n in nodes if n.meta.get(TAG) == "is_forward"}
    outputs = nodes[-1].args[0][:num_fwd_outputs]
    return told or _above([n for n in outputs if _is_node(n)])


def _is_node(x: Any) -> bool:
    return isinstance(x, torch.fx.Node)


def _above(nodes: Sequence[FxNode], within: Any = None) -> set[FxNode]:
    """All that these are computed from, and they."""
    todo, seen = [*nodes], set[FxNode]()
    while todo:
        n = todo.pop()
        if n not in seen and (within is None or n in within):
            seen.add(n)
            todo += n.all_input_nodes
    return seen


def _elements(n: FxNode) -> int:
    """How many it has; 0: not known, or no tensor."""
    value = n.meta.get("val")
    sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else (0,)
    return prod(sizes) if all(isinstance(x, int) for x in sizes) else 0


def _is_large(n: FxNode) -> bool:
    """Whether it is a product of sides of two bytes with far fewer elements."""
    if str(n.target) not in PRODUCTS:
        return False
    sides = [a for a in n.args if _is_node(a)]
    small = sum(map(_elements, sides))
    if len(sides) != 2 or not small or n.meta["val"].dtype.itemsize != 2:
        return False
    summed = sides[0].meta["val"].shape[-1]
    return summed <= SUMMED and _elements(n) >= LARGER * small


def _parts(n: FxNode) -> list[FxNode]:
    """The operands with as many elements."""
    return [a for a in n.all_input_nodes if _elements(a) == _elements(n) > 0]


def _keeps(n: FxNode) -> bool:
    """Whether it is computed element by element, or row by row, and always the same."""
    tags = getattr(n.target, "tags", ())
    drawn = torch.Tag.nondeterministic_seeded in tags
    return not drawn and (
        torch.Tag.pointwise in tags or str(n.target) in (*VIEWS, *ROWS)
    )


__all__ = ["compute_again", "partition"]
