"""Random graphs written as ONNX by the tiles alone, run, against the evaluator.

    python -m tests.onnx.written [COUNT] [FIRST]

A model of its own nodes can always be written as it is; here nothing is kept, so that
every value comes from what an op of the graph may become.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import show
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import Saturator, saturator
from rewrite.extract.dag.dag import Problem
from rewrite.fuzz import compare, random_graph, random_inputs
from rewrite.fuzz.draw import Mode
from rewrite.onnx.types import type_proto
from rewrite.onnx.value import Value
from rewrite.onnx.write.emit import emit
from rewrite.onnx.write.price import DEFAULT
from rewrite.onnx.write.reading import Reading
from rewrite.onnx.write.select import Selector, problem

OPSET = 20


def reading(graph: Graph) -> Reading:
    """The graph as if a model of no nodes had been read."""
    inputs = {
        n.attrs[0]: Value(i) for i, n in enumerate(graph.nodes) if n.op == "input"
    }
    outputs = {label: Value(i) for label, i in graph.outputs}
    return Reading(graph, (), inputs, {}, {}, outputs)


def makeable(p: Problem) -> set[int]:
    """The classes that have a finite term."""
    found: set[int] = set()
    fresh = True
    while fresh:
        fresh = False
        for c, nodes in enumerate(p.classes):
            if c not in found and any(found.issuperset(n.children) for n in nodes):
                found.add(c)
                fresh = True
    return found


def shell(graph: Graph) -> onnx.ModelProto:
    infos = [
        helper.make_value_info(n.attrs[0], type_proto(n.type)) for n in graph.inputs
    ]
    outs = [helper.make_value_info(label, type_proto(graph.nodes[i].type))
            for label, i in graph.outputs]  # fmt: skip
    g = helper.make_graph([], "g", infos, outs)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", OPSET)],
                             ir_version=10)  # fmt: skip


def written(graph: Graph, rules: Saturator) -> tuple[Graph, onnx.ModelProto]:
    """As many values of the graph as operators can make, and a model of them."""
    every = Graph(
        graph.nodes, tuple((f"v{i}", i) for i in sorted(graph.live)), graph.name, (),
        graph.data, graph.calls,
    )  # fmt: skip
    made = Selector(reading(every), rules, OPSET)
    good = makeable(problem(made.cover, made.outputs, DEFAULT))
    kept = tuple((n, i) for n, i in every.outputs if made.outputs[n] in good)
    part = Graph(graph.nodes, kept, graph.name, (), graph.data, graph.calls)
    made.outputs = {n: made.outputs[n] for n, _ in kept}
    return part, emit(shell(part), made.select(DEFAULT, 5_000))


def run(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    names = [o.name for o in model.graph.output]
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(model).run(None, dict(inputs))
    return dict(zip(names, (np.asarray(a) for a in found), strict=True))


def check(seed: int, mode: Mode, rules: Saturator) -> tuple[Counter[str], str | None]:
    graph = random_graph(seed, mode)
    part, model = written(graph, rules)
    onnx.checker.check_model(model, full_check=True)
    inputs = random_inputs(part, seed, mode)
    used = {i.name for i in model.graph.input}
    got = run(model, {k: v for k, v in inputs.items() if k in used})
    wrong = compare(part, inputs, got, mode)
    if wrong is not None:
        text = onnx.printer.to_text(model)
        wrong = f"seed {seed} ({mode}): {wrong}\n{show(part)}\n{text}"
    return Counter(n.op_type for n in model.graph.node), wrong


def main(count: int, first: int) -> int:
    warnings.simplefilter("ignore")
    rules = saturator(load_rules(goal="operators"))
    used: Counter[str] = Counter()
    bad = 0
    for seed in range(first, first + count):
        for mode in ("exact", "smooth"):
            found, wrong = check(seed, mode, rules)
            used += found
            if wrong is not None:
                bad += 1
                print(wrong, flush=True)
    print(f"{2 * count} graphs, {bad} wrong; operators: {dict(used.most_common())}")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(
        main(*(int(a) for a in [*sys.argv[1:], *["200", "0"][len(sys.argv) - 1 :]]))
    )
