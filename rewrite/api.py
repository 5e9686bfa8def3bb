"""The Python face: `optimize`, `jit`, `compile_graph`, `load`.

import rewrite as rw
from rewrite import xp

fast = rw.jit(lambda x, w: xp.nn.softmax(x @ w))
y = fast(x, w)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import Device

from .core import bundle
from .core.kernels import show_kernels
from .core.options import Asked, Options, check_hints
from .jitted import Jit, jit
from .optimized import Optimized
from .optimized_graph import OptimizedGraph
from .pipeline import optimize_graph
from .xp.constants import constant
from .xp.trace import Traced, bind_names, trace_tree


def optimize(
    f: Callable[..., Any],
    *examples: Any,
    device: str | Device | None = None,
    **asked: Unpack[Asked],
) -> Optimized:
    """`f` traced on `examples` (arrays, or types with symbolic sizes) and optimized.

    Arrays that `f` captures (closures, globals, attributes) are read at each call; one
    made by `rewrite.constant` is built in.  Options:

    `precision`: "default" reorders sums and takes numbers to be finite: inf * 0 may be
    0, and x - x is 0 also where x is inf or NaN.  "strict" keeps what NumPy computes,
    those cases and the order of sums included.  "fast" also takes approximations,
    "unstable" also laws by which digits may cancel.
    `rules` are rule files beside the bundled ones, `effort` 0 to 3 bounds the search
    (3: kernels are also tuned by the clock, for up to half a minute; docs/tune.md),
    `hints` are likely values of symbolic sizes.  `cost` is what a kernel costs: as
    predicted ("roofline"), by a count ("nodes", "bytes", "flops"), as `rewrite bench
    --predict --learn` has timed it ("measured"), or what a function of the kernel says.
    With `fallback=False` an error of the optimizer is raised instead of warned of.
    With `cache` what was optimized once is found again on disk, in the folder of the
    user or of $REWRITE_CACHE (`off`: none).  `memory` is the most bytes that
    temporaries may take at once, as 65536 or "64MiB": where the plan takes more,
    kernels run in another order and values are computed again (docs/memory.md).
    """
    options = Options.of(**asked)
    traced = trace_tree(f, bind_names(f, examples), capture=True)
    check_hints(traced.graph, options.hints)
    made = optimize_graph(traced.graph, device, options)
    return Optimized(traced, OptimizedGraph.of(made), function=f)


def compile_graph(
    graph: Graph, device: str | Device | None = None, **asked: Unpack[Asked]
) -> OptimizedGraph:
    """A graph, optimized: call the result with a mapping of input arrays.

    The options are those of `optimize`.
    """
    options = Options.of(**asked)
    if not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"compile_graph: a Graph was expected, found a {type(graph).__name__}; "
            "rewrite.optimize takes a function, rewrite.onnx.compile a model"
        )
    check_hints(graph, options.hints)
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
    compiled, (arguments, result, held) = bundle.load(Path(path), device, calls)
    traced = Traced(compiled.source, arguments, result)
    return Optimized(traced, OptimizedGraph.of(compiled), held)


__all__ = [
    "Array",
    "Jit",
    "Optimized",
    "compile_graph",
    "constant",
    "jit",
    "load",
    "optimize",
    "show_kernels",
]
