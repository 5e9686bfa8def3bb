"""The derivative of every op: by a rule, by its expansion, or the reason why not.

A test walks the op table: an op that stands in none of the three is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rewrite.egraph.ir.graph import Node
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.ir.slopes import SLOPES

from ...xp.functions.lapack import lapack_of
from ...xp.tracer import TraceError, Tracer, current, wrap
from ..linear import Linear, Rule
from . import elementwise, indexing, lapack, macros, movement, reduction

type Expansion = Callable[[Node, Sequence[Tracer]], Tracer]
type Calls = Mapping[str, Callable[..., object]]  # the host functions of a graph

RULES: dict[str, Rule] = {
    "un": elementwise.opcode, "bin": elementwise.opcode, "select": elementwise.select,
    "cast": elementwise.cast, **dict.fromkeys(movement.MOVED, movement.moved),
    "concat": movement.concat, "reduce": reduction.reduce, "scan": reduction.scan,
    "contract": reduction.contract, "gather": indexing.gather,
    "scatter": indexing.scatter, "sort": indexing.sort, "softmax": macros.softmax,
    "log_softmax": macros.log_softmax, "logsumexp": macros.logsumexp,
    "conv": macros.conv,
}  # fmt: skip

# Ops whose results vary with no operand, and why.
CONSTANT: dict[str, str] = {
    "input": "a leaf", "const": "a leaf", "data": "a leaf", "iota": "a leaf",
    "argreduce": "a position, which jumps", "argsort": "positions, which jump",
    "bitcast": "bits, which jump; of the operand's own dtype, it is stop_gradient",
}  # fmt: skip

# Ops that raise, and what to do.
UNKNOWN: dict[str, str] = {
    "call": "a foreign function has none: put rewrite.stop_gradient around what it is "
    "called with, or write it in array code",
}


def expansion_of(node: Node, calls: Calls) -> Expansion | None:
    """How the op is written in others, where those are what is differentiated."""
    kind = node.attrs[0] if node.attrs else None
    match node.op:
        case "un" if node.attrs[0] not in SLOPES and BY_NAME[node.attrs[0]].expansion:
            return _composite
        case "reduce" if kind == "prod":
            return reduction.products
        case "scan" if kind != "sum":
            return reduction.steps
        case "scatter" if kind not in ("set", "add"):
            return indexing.folded
        case op if op in MACROS and op not in RULES:
            return _macro
        case "call":
            return _hosted(node, calls)
        case _:
            return None


def _composite(node: Node, args: Sequence[Tracer]) -> Tracer:
    tree = BY_NAME[node.attrs[0]].expansion
    assert tree is not None
    return elementwise.value(tree, {"a": args[0]}, node.dtype)


def _hosted(node: Node, calls: Calls) -> Expansion | None:
    f = lapack_of(node, calls)
    expand = lapack.EXPANSIONS.get(f.name) if f else None
    return (lambda _, args: expand(f, args)) if f and expand else None


def _macro(node: Node, args: Sequence[Tracer]) -> Tracer:
    expand = MACROS[node.op].expand
    return wrap(expand(current(), [a.node for a in args], node.attrs))


def maps(
    node: Node, args: Sequence[Tracer], y: Tracer, calls: Calls
) -> Sequence[Linear | None]:
    """The linear maps by which a result varies with each operand."""
    f = lapack_of(node, calls)
    if f and f.name in lapack.RULES:
        return lapack.RULES[f.name](f, args, y)
    if f:
        raise TraceError(f"the derivative of {node.name or f.target}: eig, and what "
                         "the host computes of complex matrices, have none"
                         )  # fmt: skip
    if node.op not in RULES:
        call = node.attrs[0] if node.op == "call" else ""
        reason = UNKNOWN.get(node.op, "it has no rule in rewrite/transforms")
        called = f"{node.op} {call!r}" if call else node.op
        raise TraceError(f"the derivative of {node.name or called}: {reason}")
    return RULES[node.op](node, args, y)


__all__ = ["CONSTANT", "RULES", "UNKNOWN", "expansion_of", "maps"]
