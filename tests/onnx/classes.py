"""Whether an operator and its definition in the standard meet in one e-class.

    python -m tests.onnx.classes [-k PATTERN]

The suite has 480 cases twice: by an operator, and `_expanded` into the function that
defines it.  Both are read into one graph over the same inputs; after saturation their
results should be one class.  Where they are not, the rules do not (yet) prove the
operator's reading equal to the standard's text; that the values agree is tested anyway.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import onnx
from onnx.backend.test.loader import load_model_tests

import rewrite.onnx
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import Saturator, saturate, saturator
from rewrite.onnx import ModelError, NeedsInputs

EXPANDED = "_expanded"
NO_GRAPH = "strings, small types or random numbers: no graph, or a host operator"
MASKS = "masks are built by other comparisons; constants are not compared by value"
APART = {  # operator -> why some or all of its cases do not meet
    "AffineGrid": "the grid is counted in another order",
    "Attention": MASKS,
    "Bernoulli": NO_GRAPH,
    "BlackmanWindow": "the window is spelled with other constants",
    "CastLike": NO_GRAPH,
    "CausalConvWithState": "its state is cut from a padded operand in another way",
    "Celu": "exp(x) - 1 cancels near zero; we compute expm1",
    "Elu": "exp(x) - 1 cancels near zero; we compute expm1",
    "FlexAttention": MASKS,
    "Gelu": "the tanh form is recognised only as our own expansion spells it",
    "GroupNormalization": "the text takes E[x²] - E[x]², which cancels",
    "HammingWindow": "the window is spelled with other constants",
    "HannWindow": "the window is spelled with other constants",
    "LayerNormalization": "the text takes E[x²] - E[x]², which cancels",
    "MeanVarianceNormalization": "the text takes E[x²] - E[x]², which cancels",
    "PRelu": "the operands of a product stand the other way round",
    "Range": "the text counts in a loop",
    "ReduceLogSumExp": "the text takes the log of a sum of exponentials as it is",
    "Selu": "exp(x) - 1 cancels near zero; we compute expm1",
    "SequenceMap": NO_GRAPH,
    "Shrink": NO_GRAPH,
    "Softplus": "log(1 + exp(x)) overflows; we compute it without",
}


type Pair = tuple[str, onnx.ModelProto, onnx.ModelProto, dict[str, Any]]


def pairs(pattern: str = "") -> Iterator[Pair]:
    """The operator's model, the expanded one, and inputs of theirs."""
    cases: dict[str, Any] = {c.name: c for c in load_model_tests(kind="node")}
    for name, case in cases.items():
        whole, found, _ = name.partition(EXPANDED)
        if found and pattern in name and whole in cases:
            inputs = [i.name for i in case.model.graph.input]
            given = dict(zip(inputs, case.data_sets[0][0], strict=False))
            yield name, cases[whole].model, case.model, given


def together(a: Graph, b: Graph) -> tuple[Graph, int]:
    """One graph of both over shared inputs, and how many outputs are of the first."""
    made = Builder("both")
    outputs: list[int] = []
    inputs: dict[str, int] = {}
    for k, g in enumerate((a, b)):
        where: list[int] = []
        for n in g.nodes:
            label = n.attrs[0] if n.op in ("input", "data", "call") else ""
            if n.op == "input" and label in inputs:
                where.append(inputs[label])
                continue
            attrs = n.attrs
            if n.op == "data":
                attrs = (f"{label}.{k}", *n.attrs[1:])
                made.data[attrs[0]] = g.data[label]
            where.append(made.add(n.op, [where[i] for i in n.args], attrs))
            if n.op == "input":
                inputs[label] = where[-1]
        outputs += [where[i] for _, i in g.outputs]
    return made.build(outputs), len(a.outputs)


def operator_of(model: onnx.ModelProto) -> str:
    return model.graph.node[-1].op_type


def graph_of(model: onnx.ModelProto, given: dict[str, Any]) -> Graph:
    """With the values of inputs that shapes depend on."""
    try:
        return rewrite.onnx.load(model)
    except NeedsInputs as e:
        return rewrite.onnx.load(model, given={n: given[n] for n in e.names})


def verdict(
    a: onnx.ModelProto, b: onnx.ModelProto, given: dict[str, Any], rules: Saturator
) -> str:
    try:
        left, right = graph_of(a, given), graph_of(b, given)
    except ModelError:
        return "not a graph"
    if any(n.op == "call" for g in (left, right) for n in g.nodes):
        return "host operator"
    names = [label for label, _ in left.outputs]
    if names != [label for label, _ in right.outputs]:
        return "other outputs"
    graph, count = together(left, right)
    found = saturate(graph, rules.rules)
    classes = [found.own[i] for _, i in graph.outputs]
    return "one class" if classes[:count] == classes[count:] else "apart"


def main(pattern: str) -> int:
    rules = saturator(load_rules(goal="operators", precision="fast"))
    told: dict[str, Counter[str]] = {}
    for _, a, b, given in pairs(pattern):
        told.setdefault(operator_of(a), Counter())[verdict(a, b, given, rules)] += 1
    for operator, found in sorted(told.items()):
        line = ", ".join(f"{n} {what}" for what, n in found.items())
        print(f"{operator:28}{line:30}{APART.get(operator, '')}")
    total: Counter[str] = sum(told.values(), Counter())
    print(f"{total.total()} pairs:", dict(total))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1] if "-k" in sys.argv else ""))
