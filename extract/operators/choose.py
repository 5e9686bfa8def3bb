"""The cheapest ways to compute outputs: a cover as a plain e-graph, what is picked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...egraph.ir.ops import TensorType
from ..dag.dag import Node, Problem, extract
from ..dag.postorder import postorder
from .cover import Cover, Instruction

type Types = Sequence[TensorType | None]
type Price = Callable[[Instruction, Types, Types], float]  # of operands and results


def results_of(t: Cover) -> dict[int, list[int]]:
    """The results of classes that hold several."""
    result: dict[int, list[int]] = {}
    for c, cell in enumerate(t.cells):
        for w in cell.ways:
            if w.op == "project" and w.args[0] is not None:
                result.setdefault(w.args[0], []).append(c)
    return result


def problem(t: Cover, outputs: Iterable[int], price: Price) -> Problem:
    """The plain e-graph of all ways, with their predicted seconds."""
    results = results_of(t)
    classes: list[tuple[Node, ...]] = []
    for c, cell in enumerate(t.cells):
        nodes: list[Node] = []
        out = [t.cells[r].type for r in results.get(c, [])] or [cell.type]
        for w in cell.ways:
            children = tuple(a for a in w.args if a is not None)
            args = [t.cells[a].type for a in children]
            nodes.append(Node(price(w, args, out), children))
        classes.append(tuple(nodes))
    return Problem(tuple(classes), tuple(outputs))


def chosen(t: Cover, p: Problem, moves: int) -> tuple[dict[int, Instruction], float]:
    """One instruction for each class that is needed, operands first; what they cost."""
    choice = extract(p, moves)
    picked = choice.picked
    order = postorder(p.roots, lambda c: p.classes[c][picked[c]].children)
    return {c: list(t.cells[c].ways)[picked[c]] for c in order}, choice.cost
