"""Dropout as a product with a mask that is drawn apart.

As one operator dropout cuts a model in two wherever it stands.  Its mask depends on no
value: eager PyTorch draws all of them before the first graph runs, in their order and
with the numbers that it would draw anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import getitem
from typing import Any

from .library import FxNode, GraphModule, Tensor, torch
from .reading import name_of
from .sizes import expression

DROPOUT = "aten.native_dropout.default"


def drawn(
    shape: Sequence[int], strides: Sequence[int], dtype: Any, p: float, device: Any
) -> Tensor:
    """A mask as eager PyTorch draws it for a tensor of this form."""
    like = torch.empty_strided(tuple(shape), tuple(strides), dtype=dtype, device=device)
    return torch.native_dropout(like, p, True)[1]


def draw_apart(module: GraphModule) -> None:
    """Takes dropouts of known sizes apart, in place."""
    for node in list(module.graph.nodes):
        if name_of(node) == DROPOUT and _is_plain(node):
            _take_apart(module.graph, node)
    module.recompile()


def _is_plain(node: FxNode) -> bool:
    x, p, train = node.args
    value = x.meta["val"]
    sized = all(expression(n) is None for n in (*value.shape, *value.stride()))
    users = all(u.target is getitem for u in node.users)
    return sized and users and bool(train) and p < 1


def _take_apart(graph: Any, node: FxNode) -> None:
    x, p, _ = node.args
    value = x.meta["val"]
    with graph.inserting_before(node):
        form = tuple(value.shape), tuple(value.stride()), value.dtype, p, value.device
        mask = _added(
            graph, node, drawn, form, torch.empty_like(value, dtype=torch.bool)
        )
        kept = _added(graph, node, torch.ops.aten.mul.Tensor, (x, mask), value)
        y = _added(graph, node, torch.ops.aten.mul.Tensor, (kept, 1 / (1 - p)), value)
    for user in list(node.users):
        user.replace_all_uses_with(mask if user.args[1] else y)
        graph.erase_node(user)
    graph.erase_node(node)


def _added(graph: Any, near: FxNode, f: Any, args: tuple[Any, ...], value: Any) -> Any:
    made = graph.call_function(f, args)
    # A tensor of its own: what is traced as one tensor counts as sharing memory.
    own = torch.empty_like(value)
    made.meta = {"stack_trace": near.meta.get("stack_trace"), "val": own}
    return made
