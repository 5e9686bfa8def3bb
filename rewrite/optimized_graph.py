"""An optimized graph as callers hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.scalars import Array

from .core import bundle
from .core.compiled import Compiled
from .report.explain import account
from .report.explanation import Explanation


class OptimizedGraph(Compiled):
    """An optimized graph: call it with a mapping of inputs."""

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None,
        witness: object = None,
    ) -> dict[str, Array]:  # fmt: skip
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = ", ".join(f"{n.attrs[0]!r}: …" for n in self.source.inputs)
            raise InputError(
                f"arrays by name were expected, as in f({{{names}}}), found a "
                f"{type(inputs).__name__}"
            )
        return super().__call__(inputs, out, witness)

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
