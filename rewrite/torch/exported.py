"""Programs of `torch.export` (`model.pt2`) as graphs, weights and all.

A graph has no place for what eager PyTorch would have to run, so all of the program is
read, or an error names the operator that is not.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from rewrite.egraph.ir.graph import Graph

from .compiling import decomposition_table
from .library import FxNode, Tensor, export, torch
from .partition import user_line
from .reading import is_getitem, is_tensor, load, name_of, reason_unread
from .sizes import Sizes, symbols_of


class ExportError(ValueError):
    """A program that cannot be read as a graph."""


def read(path: str | PathLike[str]) -> Graph:
    """The graph of a file of `torch.export.save`.  Such files may hold pickled objects:
    open those that you trust."""
    try:
        program = export.load(str(path))
    except OSError:
        raise
    except Exception as e:
        raise ExportError(f"{path}: no program of torch.export ({e})") from e
    return graph_of(program, str(path))


def graph_of(program: Any, name: str = "exported") -> Graph:
    """The graph of an exported program: parameters, buffers and constants built in."""
    program = program.run_decompositions(decomposition_table())
    signature, nodes = program.graph_signature, list(program.graph.nodes)
    written = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    if written:
        raise ExportError(
            f"{name}: it writes to {', '.join(sorted(written.values()))}; a program "
            "that changes no input or buffer was expected (model.eval() before export)"
        )
    held = _held(program)
    inputs = [n for n in nodes if n.op == "placeholder" and is_tensor(n.meta["val"])]
    names = frozenset[str]().union(*map(_symbols, inputs))
    sizes = Sizes(left=names)
    called = [n for n in nodes if n.op == "call_function" and _gives_tensors(n)]
    for n in called:
        reason = reason_unread(n, sizes)
        if reason:
            line = user_line(n)
            where = f"; {line}" if line else ""
            raise ExportError(f"{name}: {name_of(n)}: {reason}{where}")
    (last,) = (n for n in nodes if n.op == "output")
    results = [n for n in dict.fromkeys(last.args[0]) if isinstance(n, torch.fx.Node)]
    used = [n for n in inputs if n.users]
    part = load("exported", called, used, results, {}, sizes, held)
    if part.views:
        raise ExportError(f"{name}: as_strided reads memory beyond a tensor's elements")
    return part.graph


def _gives_tensors(node: FxNode) -> bool:
    """Sizes are computed by the graph's own polynomials; assertions say nothing."""
    value = node.meta.get("val")
    return is_getitem(node) or is_tensor(value) or isinstance(value, list | tuple)


def _symbols(node: FxNode) -> frozenset[str]:
    return frozenset[str]().union(*map(symbols_of, node.meta["val"].shape))


def _held(program: Any) -> dict[str, Tensor]:
    """What the program holds, by the placeholder that stands for it."""
    s = program.graph_signature
    names = {**s.inputs_to_parameters, **s.inputs_to_buffers,
             **s.inputs_to_lifted_tensor_constants}  # fmt: skip
    values = {**program.constants, **program.state_dict}
    return {place: values[held].detach() for place, held in names.items()}


__all__ = ["ExportError", "graph_of", "read"]
