"""rewrite: a declarative tensor-graph optimizer on e-graphs."""

import os

# In a checkout the sibling folders (egraph/, extract/, ...) are subpackages of this
# one, as pyproject.toml maps them; this lets `python` started at the root find them.
_root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if os.path.exists(os.path.join(_root, "egraph", "ir", "ops.py")):
    __path__.append(_root)

TYPE_CHECKING = False  # without `typing`, which takes its time before a command starts
if TYPE_CHECKING:
    from .api import Jit, Optimized, compile_graph, constant, jit, load, optimize
    from .transforms import (
        checkpoint,
        grad,
        jvp,
        stop_gradient,
        value_and_grad,
        vjp,
        vmap,
    )

from .version import VERSION  # noqa: E402

__version__ = VERSION
_API = (
    "Jit", "Optimized", "compile_graph", "constant", "jit", "load", "optimize",
)  # fmt: skip
_FRONTS = ("jax", "onnx", "torch")  # packages, with libraries of their own
__all__ = [
    "Jit", "Optimized", "checkpoint", "compile_graph", "constant", "grad", "jit", "jvp",
    "load", "optimize", "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Imports the library when it is first asked for: the command has to be able to
    take a Ctrl-C before (entry.py)."""
    if name in _FRONTS:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api, transforms

    home = api if name in _API else transforms
    return globals().setdefault(name, getattr(home, name))
