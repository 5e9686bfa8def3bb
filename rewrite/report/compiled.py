"""The page of an optimized graph: its own schedule beside the chosen one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewrite.egraph.evaluate import expand_macros
from rewrite.egraph.graph import Graph
from rewrite.egraph.rulefile import load_rules
from rewrite.egraph.ruleset import RuleSet
from rewrite.extract.plan import Plan
from rewrite.extract.schedule import own_groups

from .page import KernelRow, RuleRow, Side, before_after_html

if TYPE_CHECKING:
    from rewrite.compile import Compiled


def compiled_html(compiled: Compiled, sizes: Mapping[str, int] | None = None) -> str:
    """The offline page; `sizes` are those of the dimension symbols, where there are."""
    before = _own(compiled)
    sides = (
        Side(before.plan.graph, (), _rows(before, sizes)),
        Side(
            compiled.plan.graph,
            kernel_members(compiled.plan.graph, compiled.plan.groups),
            _rows(compiled, sizes),
        ),
    )
    return before_after_html(*sides, rule_rows(compiled), compiled.source.name)


def kernel_members(
    graph: Graph, groups: Sequence[Sequence[int]]
) -> tuple[frozenset[int], ...]:
    """All nodes computed in each kernel, given those that it stores.

    A node that several kernels compute for themselves is in each of them.
    """
    stored = {i for roots in groups for i in roots}
    found: list[frozenset[int]] = []
    for roots in groups:
        inside, todo = set(roots), list(roots)
        while todo:
            for a in graph.nodes[todo.pop()].args:
                if a not in inside and a not in stored and graph.nodes[a].args:
                    inside.add(a)
                    todo.append(a)
        found.append(frozenset(inside))
    return tuple(found)


def _own(compiled: Compiled) -> Compiled:
    """The same graph on the same device, every op a kernel."""
    graph, chosen = expand_macros(compiled.source), compiled.plan
    plan = Plan(
        graph, own_groups(graph), chosen.own_seconds, chosen.own_seconds,
        chosen.own_kernels,
    )  # fmt: skip
    return type(compiled)(compiled.source, plan, compiled.device, compiled.options, 0.0)


def _rows(compiled: Compiled, sizes: Mapping[str, int] | None) -> list[KernelRow]:
    return [
        KernelRow(
            k.label,
            0.0 if k.once else k.seconds,
            k.bytes,
            f"{k.family}, once" if k.once else k.family,
            f"writes {', '.join(k.writes)}",
        )
        for k in compiled.kernels(sizes)
    ]


def rule_rows(compiled: Compiled) -> list[RuleRow]:
    """The rules that fired on the way, the most frequent first."""
    options = compiled.options
    return fired_rows(compiled.plan.fired, load_rules(options.rules, options.precision))


def fired_rows(fired: Mapping[str, int], rules: RuleSet) -> list[RuleRow]:
    known = {r.name: r for r in rules.rules}
    rows: list[RuleRow] = []
    for name, times in sorted(fired.items(), key=lambda x: (-x[1], x[0])):
        if name in known and times:
            rule = known[name]
            rows.append(RuleRow(name, times, str(rule.place), rule.contract, rule.doc))
    return rows
