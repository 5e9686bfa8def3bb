"""An account limited to one node of the user's or to one kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..core.labels import Unknown, close
from .account import Account, KernelView, NodeView, StepView


def focused[A: Account](whole: A, node: str = "", kernel: str = "") -> A:
    """What became of the node, or what the kernel is: its kernels, the steps that touch
    what it computes, their pieces and rules.  Both graphs stay whole."""
    numbers = {k.number for k in whole.kernels}
    steps = set(range(len(whole.steps)))
    only: list[str] = []
    if node:
        result = _node(whole, node)
        mine = [s for s in whole.steps if _touches(s, result.id)]
        numbers &= {
            *result.kernels,
            *_makers(whole, mine if not result.kernels else []),
        }
        steps &= {s.number for s in mine}
        only.append(f"node {result.text}")
    if kernel:
        chosen = _kernel(whole, kernel)
        numbers &= {chosen.number}
        inside = {n.id for n in whole.after if chosen.number in n.kernels}
        steps &= {s.number for s in whole.steps if _makes(s, inside)}
        only.append(f"kernel {chosen.number}")
    return _limited(whole, numbers, steps, " in ".join(only))


def _limited[A: Account](whole: A, numbers: set[int], steps: set[int], only: str) -> A:
    chosen = tuple(s for s in whole.steps if s.number in steps)
    kernels = tuple(k for k in whole.kernels if k.number in numbers)
    explained = {k.like for k in kernels if k.like is not None} - numbers
    kernels += tuple(k for k in whole.kernels if k.number in explained)
    parts = {k.part for k in kernels} | {s.part for s in chosen}
    rules = {s.rule for s in chosen}
    return replace(
        whole,
        kernels=kernels,
        steps=chosen,
        pieces=tuple(p for p in whole.pieces if p.number in parts),
        rules=tuple(r for r in whole.rules if r.name in rules),
        only=only,
    )


def _node(whole: Account, word: str) -> NodeView:
    known: dict[str, NodeView] = {}
    for n in whole.before:
        for label in n.labels:
            known.setdefault(label, n)
    for n in whole.before:
        if n.named:
            known.setdefault(n.text, n)
    if word not in known:
        names = [k for k in known if not k.startswith("%")] or list(known)
        raise Unknown(f"no node is called {word!r}; {close(word, names)}")
    return known[word]


def _kernel(whole: Account, word: str) -> KernelView:
    """By number, as `3` or `k3`, or by a value that it stores."""
    known: dict[str, KernelView] = {}
    for k in whole.kernels:
        for label in (f"k{k.number}", str(k.number), *(v.text for v in k.values)):
            known.setdefault(label, k)
    if word not in known:
        numbers = f"kernels are k0 to k{len(whole.kernels) - 1}"
        names = [v.text for k in whole.kernels for v in k.values if v.how == "stored"]
        near = "" if word.strip("k").isdigit() else f"; {close(word, names)}"
        raise Unknown(f"no kernel is called {word!r}: {numbers}{near}")
    return known[word]


def _touches(step: StepView, node: int) -> bool:
    return any(node in use for use in step.nodes_before)


def _makes(step: StepView, nodes: set[int]) -> bool:
    return any(not nodes.isdisjoint(use) for use in step.nodes_after)


def _makers(whole: Account, steps: Iterable[StepView]) -> set[int]:
    """Kernels that compute what the steps make."""
    made = {i for s in steps for use in s.nodes_after for i in use}
    return {k for n in whole.after if n.id in made for k in n.kernels}
