"""Kernels of a CUDA graph that start before those before them have ended.

Each kernel lets the next one start once all of its own blocks run, and waits itself for
the one before (`rw_begin` in its text) before it reads or writes: launching one takes
no time beside it.  As each waits for the end of the one before, which has waited too, a
kernel sees what all before it have stored.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...lower.emit.dialects import CUDA
from .tensor_maps import checked


def waits(text: str) -> bool:
    """Whether kernels of this text wait: some that were kept by earlier versions do
    not."""
    return f"  {CUDA.begin}\n" in text


def overlap(graph: Any) -> None:
    """Has all launches of a captured graph overlap, which must be of kernels that
    wait."""
    cu: Any = import_module("cuda.bindings.driver")
    # Bindings of CUDA 12 have dependencies of two kinds; those with data are newer.
    edges, remove, add = (
        getattr(cu, f"{name}_v2", None) or getattr(cu, name)
        for name in (
            "cuGraphGetEdges", "cuGraphRemoveDependencies", "cuGraphAddDependencies",
        )
    )  # fmt: skip
    *_, count = checked(edges(graph))
    if not count:
        return
    sources, targets, before, _ = checked(edges(graph, count))
    after = [_programmatic(cu) for _ in range(count)]
    checked(remove(graph, sources, targets, before, count))
    checked(add(graph, sources, targets, after, count))


def _programmatic(cu: Any) -> Any:
    edge = cu.CUgraphEdgeData()
    kind, port = cu.CUgraphDependencyType, cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
    edge.type = kind.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
    edge.from_port = int(port)
    return edge


__all__ = ["overlap", "waits"]
