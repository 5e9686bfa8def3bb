"""The Python face: `optimize`, `jit`, `compile_graph`.

import rewrite as rw
from rewrite import xp

fast = rw.jit(lambda x, w: xp.nn.softmax(x @ w))
y = fast(x, w)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewrite.egraph.graph import Graph
from rewrite.egraph.scalars import Array
from rewrite.lower.device import Device

from .compile import Compiled, KernelInfo, Options, Precision, optimize_graph, warn
from .xp.trace import Leaf, Traced, bind_names, is_tensor, leaves, map_tree, trace_tree


class Optimized:
    """An optimized function: called like the original, on NumPy arrays."""

    def __init__(self, traced: Traced, compiled: Compiled) -> None:
        self.traced, self.compiled = traced, compiled

    def inputs(self, *args: Any) -> dict[str, Array]:
        """The arrays in the arguments by the graph's input names."""
        named = dict(zip(self.traced.arguments, args, strict=True))
        return {k: np.asarray(v) for k, v in leaves(named).items()}

    def __call__(self, *args: Any) -> Any:
        results = self.compiled(self.inputs(*args))

        def pick(_: str, leaf: Any) -> Any:
            return results[leaf.label] if isinstance(leaf, Leaf) else leaf

        return map_tree(pick, self.traced.result, "")

    @property
    def graph(self) -> Graph:
        """The graph as traced."""
        return self.traced.graph

    @property
    def schedule(self) -> str:
        """The chosen kernels, a line each."""
        return show_kernels(self.kernels)

    @property
    def kernels(self) -> list[KernelInfo]:
        return self.compiled.kernels()

    def code(self) -> str:
        """The source text of the kernels."""
        return self.compiled.code()

    def explain(self) -> str:
        """The rules between input and result, each step checked."""
        from .report.explain import explain_text

        return explain_text(self.compiled)


def show_kernels(kernels: Sequence[KernelInfo]) -> str:
    """A schedule as text: predicted time, family, what it computes, what it writes."""
    rows: list[str] = []
    for k in kernels:
        time = f"{k.seconds * 1e6:9.1f} us"
        rows.append(f"{time}  {k.family:<10} {k.label}  ->  {', '.join(k.writes)}")
    return "\n".join(rows)


def optimize(
    f: Callable[..., Any],
    *examples: Any,
    device: str | Device | None = None,
    precision: Precision = "default",
    rules: Sequence[str | Path] = (),
    effort: int = 2,
    fallback: bool = True,
    hints: Mapping[str, int] | None = None,
) -> Optimized:
    """`f` traced on `examples` (arrays, or types with symbolic sizes) and optimized.

    `rules` are rule files beside the bundled ones, `effort` 0 to 3 bounds the search,
    `hints` are likely values of symbolic sizes.  With `fallback=False` an error of the
    optimizer is raised instead of warned of.
    """
    traced = trace_tree(f, bind_names(f, examples))
    files = tuple(Path(r) for r in rules)
    options = Options(precision, files, effort, fallback, dict(hints or {}))
    return Optimized(traced, optimize_graph(traced.graph, device, options))


def compile_graph(
    graph: Graph,
    device: str | Device | None = None,
    *,
    precision: Precision = "default",
    rules: Sequence[str | Path] = (),
    effort: int = 2,
    fallback: bool = True,
    hints: Mapping[str, int] | None = None,
) -> Compiled:
    """A graph, optimized: call the result with a mapping of input arrays."""
    files = tuple(Path(r) for r in rules)
    options = Options(precision, files, effort, fallback, dict(hints or {}))
    return optimize_graph(graph, device, options)


def jit(f: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """A decorator: optimizes at the first call with each set of shapes and types.

    Keyword arguments are those of `optimize`.  What is no array (numbers, strings,
    flags) is part of the key.  If tracing fails the function runs as it is, with one
    warning; `fallback=False` raises instead.
    """
    if f is None:
        return functools.partial(jit, **options)
    ready: dict[Any, Optimized | None] = {}

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        positional, names = (*args, *kwargs.values()), tuple(kwargs)
        key = (len(args), names, signature(positional))
        if key not in ready:
            target = _positional(f, len(args), names)
            ready[key] = _try(target, positional, options)
        chosen = ready[key]
        return f(*args, **kwargs) if chosen is None else chosen(*positional)

    return call


def _positional(
    f: Callable[..., Any], count: int, names: tuple[str, ...]
) -> Callable[..., Any]:
    if not names:
        return f

    def g(*values: Any) -> Any:
        keywords = dict(zip(names, values[count:], strict=True))
        return f(*values[:count], **keywords)

    return g


def _try(
    f: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Optimized | None:
    try:
        return optimize(f, *args, **options)
    except Exception as e:
        # The contract of a drop-in: the user's function still runs, and says why.
        if options.get("fallback") is False:
            raise
        warn(f"{getattr(f, '__name__', 'function')} runs as written: {e}")
        return None


def signature(tree: Any) -> Any:
    """A hashable key: shapes and dtypes of tensors, values of all else."""
    rows: list[Any] = []

    def visit(path: str, leaf: Any) -> None:
        if is_tensor(leaf):
            rows.append((path, str(leaf.dtype), tuple(leaf.shape)))
        else:
            rows.append((path, type(leaf).__name__, repr(leaf)))

    map_tree(visit, tree, "")
    return tuple(rows)


__all__ = ["Array", "Optimized", "compile_graph", "jit", "optimize", "show_kernels"]
