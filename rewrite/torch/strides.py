"""Views by strides, aimed at the tensor that owns the memory.

In eager PyTorch the view of a view shows any of the memory.  A view that a graph makes
has memory of its own, with its own elements alone: who looks beyond them looks at what
it is a view of.
"""

from __future__ import annotations

from typing import Any

from .library import GraphModule
from .reading import name_of
from .site import base_of
from .sizes import expression

STRIDED = "aten.as_strided.default"


def aim_at_bases(module: GraphModule) -> None:
    """In place, where the memory is that of a tensor that the model makes."""
    for node in list(module.graph.nodes):
        if name_of(node) == STRIDED:
            _aim(node)
    module.recompile()


def _aim(node: Any) -> None:
    source, size, stride, *offset = node.args
    base = base_of(source)
    start = source.meta["val"].storage_offset()
    if base is source or base.op != "call_function" or expression(start) is not None:
        return
    first = offset[0] if offset and offset[0] is not None else start
    node.args = (base, size, stride, first)
