"""Loops whose later rounds change nothing: those of a recurrent layer beyond the
longest of its sequences, where states stay as they are and outputs are a constant."""

from __future__ import annotations

from typing import NamedTuple

from ..ir.graph import Const, Graph
from ..rules.tables import widens
from .loop import Loop

LAYOUT = ("reshape", "expand", "permute", "cast")


class Ends(NamedTuple):
    """A round in which the entry of a sequence is below nothing of `limit` is idle: it
    leaves carries as they are and stacks constants, by the number of the output."""

    sequence: int  # operands of the loop
    limit: int
    idle: dict[int, Const]


def ends_of(loop: Loop) -> Ends | None:
    """None: each round may matter, or changes what it gives."""
    if loop.is_open:
        return None
    body = loop.body
    inputs = {body.nodes.index(n): k for k, n in enumerate(loop.inputs)}
    tests: set[tuple[int, int]] = set()
    idle: dict[int, Const] = {}
    for j in {*loop.carried, *loop.stacked}:
        made = body.nodes[body.outputs[j][1]]
        if made.op != "select":
            return None
        test, _, other = made.args
        tests.add(_below(body, test, inputs))
        carries = [k for k, c in enumerate(loop.carried) if c == j]
        if any(inputs.get(other) != k for k in carries):
            return None
        if j in loop.stacked:
            source = body.nodes[_source(body, other)]
            if source.op != "const":
                return None
            idle[j] = source.attrs[0]
    if len(tests) != 1:
        return None
    ((sequence, limit),) = tests
    same = limit >= loop.carries + loop.sequences
    return Ends(sequence, limit, idle) if loop.entered(sequence) and same else None


def _below(body: Graph, i: int, inputs: dict[int, int]) -> tuple[int, int]:
    """The inputs of which a test says that the one is below the other; -1: none."""
    test = body.nodes[_source(body, i)]
    if test.op != "bin" or test.attrs[0] != "lt":
        return -1, -1
    a, b = (_source(body, x) for x in test.args)
    scalar = body.nodes[a].type.shape == ()
    whole = body.nodes[a].type.dtype.is_int and body.nodes[b].type.dtype.is_int
    return (inputs.get(a, -1), inputs.get(b, -1)) if scalar and whole else (-1, -1)


def _source(body: Graph, i: int) -> int:
    """What a node shows in another place, or as a wider number."""
    n = body.nodes[i]
    while n.op in LAYOUT:
        (inner,) = n.args
        if not widens(body.nodes[inner].type.dtype, n.type.dtype):
            break
        i, n = inner, body.nodes[inner]
    return i


__all__ = ["Ends", "ends_of"]
