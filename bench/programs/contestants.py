"""The programs in each contestant's hands: a call that returns when it is done."""

from __future__ import annotations

import ast
import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.scalars import Array

from .program import Program

OURS = "rewrite"

type Call = Callable[[], Any]  # once; its results are what NumPy takes


def ours(p: Program, arrays: Sequence[Array]) -> Call:
    import rewrite
    from rewrite import xp

    fast = rewrite.optimize(
        _in(xp, p), *arrays, device="c", fallback=False, cache=False
    )
    return lambda: fast(*arrays)


def _in(names: Any, p: Program) -> Callable[..., Any]:
    """The program as a function of arrays, in one namespace."""

    def f(*arrays: Any) -> Any:
        return p.f(names, *arrays)

    return f


def numpy(p: Program, arrays: Sequence[Array]) -> Call:
    return lambda: p.f(np, *arrays)


def jax(p: Program, arrays: Sequence[Array]) -> Call:
    library: Any = importlib.import_module("jax")

    compiled = library.jit(_in(library.numpy, p))
    given = [library.device_put(a) for a in arrays]
    return lambda: library.block_until_ready(compiled(*given))


def torch(p: Program, arrays: Sequence[Array]) -> Call:
    library: Any = importlib.import_module("torch")

    library._dynamo.reset()  # so many compilations of one function and it gives up
    library.set_num_threads(threads())
    names = _TorchNames(library)
    compiled = library.compile(_in(names, p), fullgraph=True, dynamic=False)
    given = [library.from_numpy(a) for a in arrays]
    return library.inference_mode()(lambda: compiled(*given))


class _TorchNames:
    """PyTorch by the names of the Array API standard, where it has others."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def max(self, x: Any, axis: int | None = None) -> Any:
        return self.library.amax(x, () if axis is None else axis)

    def min(self, x: Any, axis: int | None = None) -> Any:
        return self.library.amin(x, () if axis is None else axis)

    def astype(self, x: Any, dtype: Any) -> Any:
        return x.to(dtype)


def numba(p: Program, arrays: Sequence[Array]) -> Call:
    library: Any = importlib.import_module("numba")
    library.set_num_threads(threads())
    warnings.filterwarnings("ignore", category=library.NumbaPerformanceWarning)
    f = closed(p.f, library.njit)
    fast = library.njit(parallel=True, fastmath=True)(f)
    try:
        fast(*arrays)
    except AssertionError:  # its parallel loops take no broadcast over two axes
        fast = library.njit(fastmath=True)(f)
    return lambda: fast(*arrays)


def closed(f: Callable[..., Any], jit: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of the arrays alone, with NumPy as its `xp`: numba takes no module as an
    argument.  What it calls in its own file is closed and compiled, too."""
    tree = ast.parse(inspect.getsource(f))
    (made,) = tree.body
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list = []
    own: dict[str, Any] = f.__globals__
    names: dict[str, Any] = {**own, "xp": np}
    if made.args.args[0].arg == "xp":
        del made.args.args[0]
    for node in ast.walk(made):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = own.get(node.func.id)
            if inspect.isfunction(called) and called.__module__ == f.__module__:
                names[node.func.id] = jit(closed(called, jit))
                node.args = [a for a in node.args if ast.unparse(a) != "xp"]
    exec(compile(tree, inspect.getfile(f), "exec"), names)
    return names[f.__name__]


def threads() -> int:
    from rewrite.backends.native.pool import thread_count

    return thread_count()


CONTESTANTS: Mapping[str, Callable[[Program, Sequence[Array]], Call]] = {
    OURS: ours,
    "NumPy": numpy,
    "jax.jit": jax,
    "torch.compile": torch,
    "numba": numba,
}


def listed(result: Any) -> list[Array]:
    """The results of a program, one or several."""
    if not isinstance(result, tuple):
        return [np.asarray(result)]
    return [np.asarray(x) for x in cast(tuple[Any, ...], result)]
