"""A counterexample as people read it: both sides, the tensors, what each side gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import Array
from rewrite.egraph.judge.judge import Fault
from rewrite.egraph.rules.ruleset import Rule

from ..terms import speller
from .shrink import Broken

WRONG = {
    "type": "equates terms of different types",
    "term": "makes what is no term",
    "value": "is not equal",
    "error": "is not stable: it is `approx`, not `real`",
    "infinite": "is not stable: only one side is finite",
    "overflow": "is not stable: the right side overflows first",
    "lost": "is not stable: a constant of the right side has lost its digits",
    "accumulator": "does not keep the accumulator",
}
SHOWN = 64  # values of a tensor that are printed


@dataclass(frozen=True)
class Tensor:
    """A tensor of a counterexample: its name in the terms, its type, its values."""

    name: str
    type: str
    values: Any


@dataclass(frozen=True)
class Counterexample:
    """What went wrong, on the smallest instance found."""

    kind: str
    says: str
    forward: bool  # the rule was read from left to right
    left: str  # terms, as examples are written
    right: str
    tensors: tuple[Tensor, ...]
    left_value: Any
    right_value: Any
    inputs: str  # the profile that the values were drawn from, and the precision
    advice: tuple[str, ...]
    again: str

    def lines(self) -> Iterator[str]:
        for t in self.tensors:
            yield f"{t.name}: {t.type} = {listed(t.values)}"
        if self.left_value is None:
            yield f"left  {self.left}"
            yield f"right {self.right}"
        else:
            yield f"left  {self.left}  gives {listed(self.left_value)}"
            yield f"right {self.right}  gives {listed(self.right_value)}"
        if self.says:
            yield self.says
        yield from self.advice
        yield f"again: {self.again}"


def told(rule: Rule, broken: Broken, again: str, premise: str | None) -> Counterexample:
    """The report of a broken instance."""
    fault = broken.fault
    ends = [n for n in (fault.pair.left, fault.pair.right) if n is not None]
    graph = Graph(broken.graph.nodes, tuple((f"n{n}", n) for n in ends))
    words, where = speller(graph, drawn=True)
    rows = [r for n in ends if (r := where[n]) is not None]
    sides = [words.term(r) for r in rows]
    nodes = [(i, n) for i, n in enumerate(graph.nodes) if n.op == "input"]
    tensors = tuple(
        Tensor(
            words.term(r).partition(":")[0], str(n.type), plain(fault.inputs[n.name])
        )
        for i, n in nodes
        if n.name in fault.inputs and (r := where[i]) is not None
    )
    return Counterexample(
        fault.kind, fault.detail, fault.pair.forward,
        sides[0], sides[1] if len(sides) > 1 else "none",
        tensors, plain(fault.left), plain(fault.right),
        f"{fault.profile}, {fault.mode}" if fault.profile else "",
        tuple(_advice(rule, fault, premise)), again,
    )  # fmt: skip


def _advice(rule: Rule, fault: Fault, premise: str | None) -> Iterator[str]:
    """What may be done next."""
    if premise is not None:
        place = ":when ({})" if not rule.when else "to its :when {}"
        yield f"add {place.format(premise)}, if that is what is meant"
        return
    if fault.kind in ("type", "term"):
        yield "make both sides agree, or add a premise that leaves this instance out"
    elif fault.kind == "accumulator":
        yield (
            "keep the accumulator, or state 'real one-way' if the wider one is made of "
            "the narrower"
        )
    elif fault.kind == "value" and _zeros(fault):
        yield "state ';;@ equal ieee': only the sign of a zero differs"
    elif fault.kind == "value" and _odd_inputs(fault):
        yield "state ';;@ equal real' if it holds of finite numbers, or add a premise"
    elif fault.kind == "value":
        yield "add a premise that leaves this instance out, or refuse the law"
    elif fault.kind == "error" and fault.detail.startswith("the left"):
        yield (
            "state ';;@ equal approx', or 'real one-way' if only the better side is "
            "ever made of the worse one"
        )
    else:
        yield "state ';;@ equal approx', or guard by dtype or by the size of constants"


def _zeros(fault: Fault) -> bool:
    assert fault.left is not None and fault.right is not None
    return np.array_equal(
        fault.left, fault.right, equal_nan=fault.left.dtype.kind == "f"
    )


def _odd_inputs(fault: Fault) -> bool:
    values = [
        v.astype(np.float64) for v in fault.inputs.values() if v.dtype.kind != "b"
    ]
    return any(not np.isfinite(v).all() for v in values)


def plain(a: Array | None) -> Any:
    """Nested lists that JSON can hold: what is not finite as a word."""
    if a is None:
        return None
    shown = cast("Any", a)
    if a.dtype.kind not in "iub" and a.dtype != np.float64:
        # The shortest decimals that are these values in their own dtype.
        values: list[float] = [float(str(x)) for x in a.reshape(-1)]
        shown = cast("Any", np.asarray(values, np.float64)).reshape(a.shape)
    return _plain(shown.tolist())


def _plain(x: Any) -> Any:
    if isinstance(x, list):
        return [_plain(y) for y in x]  # pyright: ignore[reportUnknownVariableType]
    odd = isinstance(x, float) and not np.isfinite(x)
    return str(x) if odd else x


def listed(x: Any) -> str:
    """Values in one line, cut where they are many."""
    if not isinstance(x, list):
        return str(x).removesuffix(".0")
    text = ", ".join(map(listed, x))  # pyright: ignore[reportUnknownArgumentType]
    return f"[{text}]" if len(text) < SHOWN * 12 else f"[{text[: SHOWN * 12]} …]"
