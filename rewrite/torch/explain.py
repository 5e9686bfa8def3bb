"""What became of a model of PyTorch: its graphs, kernels and fallbacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rewrite.core.compiled import Compiled
from rewrite.core.kernels import show_kernels
from rewrite.egraph.ir.printable import printable
from rewrite.report.explanation import Explanation

from .compiling import backend, listening
from .library import torch
from .program import GraphStep, Program

LINES = 8  # rules, and fallbacks of one kind, that the text shows


@dataclass(frozen=True)
class Missed:
    """A node that eager PyTorch runs: why, and where the user's code asks for it."""

    operator: str
    reason: str
    line: str


@dataclass(frozen=True)
class GraphView:
    """One graph of a model, forward or backward."""

    name: str
    nodes: int  # of ATen
    compiled: tuple[Compiled, ...]
    fallbacks: tuple[Missed, ...]

    @property
    def share(self) -> float:
        """The part of the nodes that eager PyTorch runs."""
        return len(self.fallbacks) / self.nodes if self.nodes else 0.0

    @property
    def seconds(self) -> tuple[float, float]:
        """Predicted, as written and as optimized; of the compiled graphs."""
        plans = [c.plan for c in self.compiled]
        return sum(p.own_seconds for p in plans), sum(p.seconds for p in plans)

    @property
    def kernels(self) -> tuple[int, int]:
        """As many as nodes compute anything, and as there are."""
        plans = [c.plan for c in self.compiled]
        return sum(p.own_kernels for p in plans), sum(len(p.groups) for p in plans)

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule matched."""
        total = Counter[str]()
        for c in self.compiled:
            total.update(c.plan.fired)
        return {name: n for name, n in total.most_common() if n}

    @property
    def kept_bytes(self) -> int:
        """Memory of what is made of parameters and kept while they do not change."""
        ready = (None if c.source.symbols else c.executable() for c in self.compiled)
        return sum(x.kept_bytes for x in ready if x is not None)

    def explain(self, which: int = 0, **asked: Any) -> Explanation:
        """The whole decision about one compiled graph, proved (docs/explain.md)."""
        from rewrite.report.explain import account

        return account(self.compiled[which], **asked)

    def __str__(self) -> str:
        (own, now), (before, after) = self.seconds, self.kernels
        rows = [
            f"{self.name}: {self.nodes} nodes, {len(self.fallbacks)} in eager PyTorch; "
            f"{before} kernels as written, {after} as optimized; predicted "
            f"{own * 1e6:.1f} us, then {now * 1e6:.1f} us"
        ]
        if self.kept_bytes:
            rows.append(f"  {self.kept_bytes} bytes made of parameters are kept")
        for c in self.compiled:
            rows += ["  " + row for row in show_kernels(c.kernels()).splitlines()]
        rows += [f"  eager: {row}" for row in self._missed()]
        if self.rules:
            top = list(self.rules.items())[:LINES]
            rest = len(self.rules) - len(top)
            named = ", ".join(f"{name} {n}" for name, n in top)
            rows.append(f"  rules: {named}" + (f", and {rest} others" if rest else ""))
        return printable("\n".join(rows), keep="\n")

    def _missed(self) -> list[str]:
        kinds = Counter((m.operator, m.reason) for m in self.fallbacks)
        lines = {(m.operator, m.reason): m.line for m in reversed(self.fallbacks)}
        return [
            f"{operator}{f' ({n} times)' if n > 1 else ''}: {reason}"
            + (
                f"; first in {lines[operator, reason]}"
                if lines[operator, reason]
                else ""
            )
            for (operator, reason), n in kinds.most_common()
        ]


@dataclass(frozen=True)
class Report:
    """All graphs of a model, in the order in which they were compiled."""

    graphs: tuple[GraphView, ...]

    @property
    def share(self) -> float:
        """The part of all nodes that eager PyTorch runs."""
        nodes = sum(g.nodes for g in self.graphs)
        missed = sum(len(g.fallbacks) for g in self.graphs)
        return missed / nodes if nodes else 0.0

    def __str__(self) -> str:
        if not self.graphs:
            return "PyTorch found no graph to compile: see torch._dynamo.explain"
        return "\n".join(map(str, self.graphs))


def explain(
    model: Callable[..., Any], *inputs: Any, mode: str | None = None,
    options: Mapping[str, Any] | None = None, **named: Any,
) -> Report:  # fmt: skip
    """Compiles `model` on inputs and says what became of it.

    Where the call records gradients, the backward graph is compiled as well, and no
    gradient is kept.  `mode` and `options` are those of the backend.
    """
    heard: list[Program] = []
    token = listening.set(heard)
    torch.compiler.reset()
    try:
        chosen = {"cache": False, **(options or {})}
        made = torch.compile(model, backend=partial(backend, mode=mode, options=chosen))
        differentiate(made(*inputs, **named))
    finally:
        listening.reset(token)
        torch.compiler.reset()
    return Report(tuple(view(p) for p in heard))


def differentiate(result: Any) -> None:
    """Computes the gradients of a result, so that its backward graph is compiled."""
    outputs = [
        t
        for t in torch.utils._pytree.tree_leaves(result)
        if isinstance(t, torch.Tensor) and t.grad_fn is not None
    ]
    leaves: dict[int, Any] = {}
    todo, seen = [t.grad_fn for t in outputs], set[Any]()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves[id(node.variable)] = node.variable
        todo += [n for n, _ in node.next_functions]
    if leaves:
        ones = [torch.ones_like(t) for t in outputs]
        torch.autograd.grad(outputs, list(leaves.values()), ones, allow_unused=True)


def view(program: Program) -> GraphView:
    """What is to be said of one program, at the sizes of its trace."""
    first = program.first
    nodes = [n for n in program.module.graph.nodes if n.op == "call_function"]
    return GraphView(
        program.name,
        len(nodes),
        tuple(_compiled(first.graphs)),
        tuple(Missed(f.operator, f.reason, f.line) for f in first.fallbacks),
    )


def _compiled(steps: Sequence[GraphStep]) -> list[Compiled]:
    return [s.compiled for s in steps if isinstance(s.compiled, Compiled)]
