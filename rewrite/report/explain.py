"""`rewrite explain`: the rules between a graph and its optimized form, as text.

What is printed has been checked: each use of a rule by evaluating its two sides, the
chain by congruence.  A piece that repeats is explained once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewrite.egraph.explain import Explanation, explain
from rewrite.egraph.graph import Graph, Node, substitute, witness
from rewrite.egraph.rulefile import load_rules
from rewrite.egraph.ruleset import RuleSet
from rewrite.extract.plan import Part

from ..authoring.pieces import cut, interfaces

if TYPE_CHECKING:
    from ..compile import Compiled


def explain_text(compiled: Compiled) -> str:
    """All parts of the plan, each with its steps and the rules it needs."""
    plan, options = compiled.plan, compiled.options
    rules = load_rules(options.rules or None, options.precision)
    before, after = len(compiled.source.live), len(plan.graph.live)
    lines = [
        f"{compiled.source.name}: {before} nodes -> {after}, "
        f"{plan.own_kernels} kernels -> {len(plan.groups)}, predicted "
        f"{plan.own_seconds * 1e6:.1f} -> {plan.seconds * 1e6:.1f} us "
        f"on {compiled.device.name}"
    ]
    names = _names(compiled, rules)
    for i, part in enumerate(plan.parts):
        lines += ["", *_part(i, part, rules, names[i])]
    return "\n".join(lines)


def _names(compiled: Compiled, rules: RuleSet) -> Sequence[Mapping[str, str]]:
    """For each part, the user's words for what it reads and gives."""
    cuts = cut(compiled.source, rules, compiled.options.hints or {})
    if len(cuts.pieces) != len(compiled.plan.parts):  # a plan without rules is one part
        return [{} for _ in compiled.plan.parts]
    return interfaces(compiled.source, cuts)


def _part(i: int, part: Part, rules: RuleSet, names: Mapping[str, str]) -> list[str]:
    times = f", used {part.uses} times" if part.uses > 1 else ""
    found = explained(part, rules, names)
    head = (
        f"part {i}{times}: {len(part.before.live)} nodes -> {len(part.after.live)}, "
        f"{len(found.steps)} steps, each checked"
    )
    lines = [head, *(f"note: {n}" for n in part.notes)]
    width = max((len(s.rule) for s in found.steps), default=0)
    for k, s in enumerate(found.steps, 1):
        lines.append(f"{k:4}  {s.rule:{width}}  {s.left}")
        lines.append(f"{'':4}  {'=':>{width}}  {s.right}    {s.place} ({s.contract})")
    if found.rules:
        lines.append("rules: " + " ".join(found.rules))
        lines.append(f"weakest contract: {weakest(found)}")
    else:
        lines.append("the same terms: only the kernels differ")
    return lines


ORDER = ("bitwise", "ieee", "real")


def weakest(found: Explanation) -> str:
    """The weakest promise among the rules used: what the result as a whole keeps."""

    def rank(contract: str) -> int:
        return ORDER.index(contract) if contract in ORDER else len(ORDER)

    return max((s.contract for s in found.steps), key=rank, default="bitwise")


def explained(
    part: Part, rules: RuleSet, names: Mapping[str, str] | None = None
) -> Explanation:
    """The checked proof for one part, at a witness of its symbolic sizes; `names` are
    words for its inputs and outputs."""
    before, after = (_called(_fixed(g), names or {}) for g in (part.before, part.after))
    if part.before.symbols:
        rules = rules.for_any_size()
    return explain(before, after, rules, nan_free=part.nan_free)


def _called(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with its inputs and outputs called by other names."""

    def named(n: Node) -> Node:
        if n.op != "input" or n.attrs[0] not in names:
            return n
        word = names[n.attrs[0]]
        return replace(n, attrs=(word, *n.attrs[1:]), name=word)

    return replace(
        graph,
        nodes=tuple(map(named, graph.nodes)),
        outputs=tuple((names.get(label, label), i) for label, i in graph.outputs),
    )


def _fixed(graph: Graph) -> Graph:
    values = witness(graph)
    return substitute(graph, values) if values else graph
