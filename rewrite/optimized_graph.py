"""An optimized graph as callers hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from .core import bundle
from .core.compiled import Compiled
from .report.explain import account
from .report.explanation import Explanation


class OptimizedGraph(Compiled):
    """An optimized graph: call it with a mapping of inputs."""

    @staticmethod
    def of(c: Compiled) -> OptimizedGraph:
        known = {f.name: getattr(c, f.name) for f in fields(c) if f.init}
        return OptimizedGraph(**known)

    def save(self, path: str | Path) -> None:
        """Writes a bundle, which `rewrite.load` runs without the e-graph engine."""
        bundle.save(self, Path(path))

    def explain(
        self, node: str = "", kernel: str = "", *, ablate: bool = False,
        run: bool = True, sizes: Mapping[str, int] | None = None,
    ) -> Explanation:  # fmt: skip
        """The whole decision, each step of its proof checked (docs/explain.md)."""
        return account(self, sizes, node=node, kernel=kernel, ablate=ablate, run=run)
