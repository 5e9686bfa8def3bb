"""Graphs that an e-graph holds beside the best one: all its forms, and any choice."""

from __future__ import annotations

import random

from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.saturate.choose import add_node
from rewrite.egraph.saturate.saturate import Saturated


def all_forms(saturated: Saturated, source: Graph) -> Graph:
    """One graph that computes every e-node; output `c.i` is e-node i of class c.

    Classes are sorted by height, so the first e-node of each uses earlier classes only.
    """
    b = Builder(source.name)
    b.data, b.calls = dict(source.data), dict(source.calls)
    where: dict[int, int] = {}
    outputs: dict[str, int] = {}
    for c, nodes in enumerate(saturated.classes):
        where[c] = outputs[f"{c}.0"] = add_node(b, nodes[0], where, "")
    for c, nodes in enumerate(saturated.classes):
        for i, node in enumerate(nodes[1:], 1):
            outputs[f"{c}.{i}"] = add_node(b, node, where, "")
    return b.build(outputs)


def random_choice(saturated: Saturated, seed: int) -> dict[int, int]:
    """An acyclic choice, every e-node that can be had in a random order."""
    rng = random.Random(seed)
    users: dict[int, list[tuple[int, int]]] = {}
    missing: dict[tuple[int, int], set[int]] = {}
    for c, nodes in enumerate(saturated.classes):
        for i, node in enumerate(nodes):
            missing[c, i] = set(node.args)
            for a in missing[c, i]:
                users.setdefault(a, []).append((c, i))
    ready = [key for key, need in missing.items() if not need]
    choice: dict[int, int] = {}
    while ready:
        k = rng.randrange(len(ready))
        ready[k], ready[-1] = ready[-1], ready[k]
        c, i = ready.pop()
        if c in choice:
            continue
        choice[c] = i
        for key in users.get(c, ()):
            missing[key].discard(c)
            if not missing[key]:
                ready.append(key)
    return choice
