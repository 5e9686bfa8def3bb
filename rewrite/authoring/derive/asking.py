"""A question asked of the rules, and again with the laws of order beside them."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import (
    Goal,
    Precision,
    RuleSet,
    check,
    load_rules,
    read_text,
    select,
)

from .derivation import Answer, derive

ORDERS = "orders.egg"


def ask(
    left: Graph, right: Graph, paths: Sequence[Path] = (),
    precision: Precision = "default", goal: Goal = "kernels", *, shorten: bool = True,
) -> Answer:  # fmt: skip
    """By the rules of optimization and of `paths`; where they do not show it, by those
    of `ORDERS` as well, which make every order of every sum."""
    rules = load_rules(paths, precision, goal=goal)
    answer = derive(left, right, rules, shorten=shorten)
    if answer.verdict != "not shown":
        return answer
    again = derive(left, right, with_orders(rules, goal), shorten=shorten)
    return again if again.verdict == "equal" else answer


def with_orders(rules: RuleSet, goal: Goal = "kernels") -> RuleSet:
    text = read_text(importlib.resources.files(__package__) / ORDERS, ORDERS)
    orders = replace(check(text, ORDERS, rules.files), bundled=True)
    return select((*rules.files, orders), rules.precision, goal)


__all__ = ["ORDERS", "ask", "with_orders"]
