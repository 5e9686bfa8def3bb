"""The Python face: `optimize`, `jit`, `compile_graph`, `load`.

import rewrite as rw
from rewrite import xp

fast = rw.jit(lambda x, w: xp.nn.softmax(x @ w))
y = fast(x, w)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from operator import index
from pathlib import Path
from typing import Any, cast

import numpy as np

from rewrite.backends.binding import deliver
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import Device

from .core import bundle
from .core.costs import CostModel
from .core.kernels import KernelInfo, show_kernels
from .core.notices import warn
from .core.options import Options, Precision
from .core.signature import TENSOR, signature, static_key
from .optimized import OptimizedGraph
from .pipeline import optimize_graph
from .report.explanation import Explanation
from .xp.trace import (
    Leaf,
    Traced,
    bind_names,
    children,
    leaves,
    map_tree,
    trace_tree,
)
from .xp.tracer import TraceError, plain


class Optimized:
    """An optimized function: called like the original, on NumPy arrays."""

    def __init__(self, traced: Traced, compiled: OptimizedGraph) -> None:
        self.traced, self.compiled = traced, compiled
        trees = traced.arguments
        self._static = {k: static_key(tree, k) for k, tree in trees.items()}
        self._places = [
            p for i, tree in enumerate(trees.values()) for p in _places(tree, (i,))
        ]
        self._result_places = _places(traced.result, ())
        self._row = _row(traced.result)

    @functools.cached_property
    def _result_key(self) -> Any:
        return static_key(self.traced.result, "out")

    def inputs(self, *args: Any) -> dict[str, Array]:
        """The arrays in the arguments by the graph's input names."""
        if len(args) != len(self._static):
            names = ", ".join(self._static)
            expected = f"{len(self._static)} arguments ({names})"
            raise InputError(f"{expected} expected, found {len(args)}")
        for (name, was), arg in zip(self._static.items(), args, strict=True):
            key = TENSOR if type(arg) is np.ndarray else static_key(arg, name)
            if key != was:
                raise InputError(
                    f"argument {name!r} is not what it was when it was optimized: pass "
                    "what changes as an array, or use rewrite.jit"
                )
        return self._arrays(args)

    def _arrays(self, args: Sequence[Any]) -> dict[str, Array]:
        return {
            label: plain(args[path[0]] if len(path) == 1 else _at(args, path))
            for label, path in self._places
        }

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """The result; with `out`, arrays in the structure of the result, in those."""
        return self._results(self.inputs(*args), out)

    def run(self, args: Sequence[Any], out: Any = None) -> Any:
        """As a call, of arguments whose structure is known to be that of the first."""
        return self._results(self._arrays(args), out)

    def _results(self, inputs: Mapping[str, Array], out: Any) -> Any:
        given = None if out is None else self._targets(out)
        results = self.compiled(inputs, given)
        tree = self.traced.result
        if type(tree) is Leaf:
            return results[tree.label]
        if self._row is not None:
            return tuple([results[label] for label in self._row])

        def pick(_: str, leaf: Any) -> Any:
            return results[leaf.label] if isinstance(leaf, Leaf) else leaf

        return map_tree(pick, tree, "")

    def _targets(self, out: Any) -> dict[str, Array]:
        """The caller's arrays by the graph's output names."""
        row = self._row
        if row is not None and type(out) is tuple:
            arrays = cast(tuple[Any, ...], out)
            if len(row) == len(arrays) and all(type(a) is np.ndarray for a in arrays):
                return dict(zip(row, arrays, strict=True))
        places = self._result_places
        if static_key(out, "out") != self._result_key:
            expected = ", ".join(".".join(map(str, p)) or "an array" for _, p in places)
            raise InputError(
                f"out: arrays in the structure of the result expected ({expected})"
            )
        return {label: _at(out, path) for label, path in places}

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

    def save(self, path: str | Path) -> None:
        """Writes a bundle, which `rewrite.load` runs without the e-graph engine."""
        trees = (self.traced.arguments, self.traced.result)
        bundle.save(self.compiled, Path(path), trees)

    def explain(
        self, node: str = "", kernel: str = "", *, ablate: bool = False,
        run: bool = True,
    ) -> Explanation:  # fmt: skip
        """The whole decision, each step of its proof checked: `str` of it is text,
        `.json()` data, `.html()` a page (docs/explain.md).  `run`: measure errors."""
        return self.compiled.explain(node, kernel, ablate=ablate, run=run)


def _row(tree: Any) -> tuple[str, ...] | None:
    """The labels of a plain tuple of tensors, as most functions return."""
    if type(tree) is not tuple:
        return None
    parts = [x for x in cast(tuple[Any, ...], tree) if type(x) is Leaf]
    plain = len(parts) == len(cast(tuple[Any, ...], tree))
    return tuple(x.label for x in parts) if plain else None


def _at(tree: Any, path: Sequence[Any]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _places(tree: Any, path: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """The labels of a structure's leaves, and the keys that lead there."""
    if isinstance(tree, Leaf):
        return [(tree.label, path)]
    parts = children(tree)
    if parts is None:
        return []
    keys = cast(Mapping[Any, Any], tree) if isinstance(tree, Mapping) else count()
    pairs = zip(keys, parts, strict=False)
    return [p for key, (_, part) in pairs for p in _places(part, (*path, key))]


def optimize(
    f: Callable[..., Any],
    *examples: Any,
    device: str | Device | None = None,
    precision: Precision = "default",
    rules: Sequence[str | Path] = (),
    effort: int = 2,
    fallback: bool = True,
    hints: Mapping[str, int] | None = None,
    cost: CostModel = "roofline",
    cache: bool = True,
    memory: int | None = None,
) -> Optimized:
    """`f` traced on `examples` (arrays, or types with symbolic sizes) and optimized.

    `rules` are rule files beside the bundled ones, `effort` 0 to 3 bounds the search
    (3: kernels are also tuned by the clock, for up to half a minute; docs/tune.md),
    `hints` are likely values of symbolic sizes.  `cost` is what a kernel costs: as
    predicted ("roofline"), by a count ("nodes", "bytes", "flops"), as `rewrite bench
    --predict --learn` has timed it ("measured"), or what a function of the kernel says.
    With `fallback=False` an error of the optimizer is raised instead of warned of.
    With `cache` what was optimized once is found again on disk, in the folder of the
    user or of $REWRITE_CACHE (`off`: none).  `memory` is the most bytes that
    temporaries may take at once: where the plan takes more, kernels run in another
    order and values are computed again (docs/memory.md).
    """
    traced = trace_tree(f, bind_names(f, examples))
    files, sizes = rule_paths(rules), plain_sizes(hints or {})
    options = Options(precision, files, effort, fallback, sizes, cost, cache, memory)
    made = optimize_graph(traced.graph, device, options)
    return Optimized(traced, OptimizedGraph.of(made))


def rule_paths(rules: Sequence[str | Path] | str | Path) -> tuple[Path, ...]:
    """Rule files; a single one needs no list."""
    one = isinstance(rules, (str, Path))
    return (Path(rules),) if one else tuple(Path(r) for r in rules)


def plain_sizes(hints: Mapping[str, int]) -> dict[str, int]:
    """Python's own integers, whatever kind they are given as."""
    return {name: index(size) for name, size in hints.items()}


def compile_graph(
    graph: Graph,
    device: str | Device | None = None,
    *,
    precision: Precision = "default",
    rules: Sequence[str | Path] = (),
    effort: int = 2,
    fallback: bool = True,
    hints: Mapping[str, int] | None = None,
    cost: CostModel = "roofline",
    cache: bool = True,
    memory: int | None = None,
) -> OptimizedGraph:
    """A graph, optimized: call the result with a mapping of input arrays."""
    files, sizes = rule_paths(rules), plain_sizes(hints or {})
    options = Options(precision, files, effort, fallback, sizes, cost, cache, memory)
    return OptimizedGraph.of(optimize_graph(graph, device, options))


def load(
    path: str | Path,
    device: str | Device | None = None,
    calls: Mapping[str, Callable[..., Any]] | None = None,
) -> Optimized:
    """The function that `Optimized.save` wrote, ready to run.

    `device` is the one that it was optimized for where none is given; `calls` are the
    host functions that it uses, by name.
    """
    compiled, (arguments, result) = bundle.load(Path(path), device, calls)
    traced = Traced(compiled.source, arguments, result)
    return Optimized(traced, OptimizedGraph.of(compiled))


_OPTIONS = (
    "device",
    "precision",
    "rules",
    "effort",
    "fallback",
    "hints",
    "cost",
    "cache",
    "memory",
)


def jit(f: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """A decorator: optimizes at the first call with each set of shapes and types.

    Keyword arguments are those of `optimize`.  What is no array (numbers, strings,
    flags) is part of the key.  If the optimizer fails the function runs as it is, with
    one warning, where it can run without a graph; `fallback=False` raises instead.
    A call takes `out=` as `Optimized` does, unless the function has an `out` itself.
    """
    if f is None:
        return functools.partial(jit, **options)
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise TypeError(
            f"jit has no option {', '.join(sorted(unknown))}; known: "
            f"{', '.join(_OPTIONS)}"
        )
    ready: dict[Any, Optimized | Exception] = {}
    own = _takes(f, "out")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = None if own else kwargs.pop("out", None)
        positional, names = (*args, *kwargs.values()), tuple(kwargs)
        key = (len(args), names, signature(positional))
        if key not in ready:
            target = _positional(f, len(args), names)
            ready[key] = _try(target, positional, options)
        chosen = ready[key]
        if isinstance(chosen, Optimized):
            return chosen.run(positional, out)
        try:
            result = f(*args, **kwargs)
        except (
            TraceError
        ):  # array code cannot run without a graph: what went wrong first
            raise chosen from None
        return result if out is None else _copied(result, out)

    return call


def _takes(f: Callable[..., Any], name: str) -> bool:
    """Whether a keyword is the function's own."""
    try:
        known = inspect.signature(f).parameters.values()
    except ValueError:  # a builtin without a signature
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in known)


def _copied(result: Any, out: Any) -> Any:
    """What the function returned as it is, in the caller's arrays."""
    if static_key(result, "out") != static_key(out, "out"):
        raise InputError("out: arrays in the structure of the result expected")
    deliver(leaves({"result": result}), leaves({"result": out}))
    return out


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
) -> Optimized | Exception:
    try:
        return optimize(f, *args, **options)
    except Exception as e:
        # The contract of a drop-in: the user's function still runs, and says why.
        if options.get("fallback") is False:
            raise
        warn(f"{getattr(f, '__name__', 'function')} runs as written: {e}")
        return e


__all__ = [
    "Array",
    "Optimized",
    "compile_graph",
    "jit",
    "load",
    "optimize",
    "show_kernels",
]
