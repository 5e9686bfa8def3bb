"""rewrite: a declarative tensor-graph optimizer on e-graphs."""

from pathlib import Path

# In a checkout the sibling folders (egraph/, extract/, ...) are subpackages of this
# one, as pyproject.toml maps them; this lets `python` started at the root find them.
_root = Path(__file__).resolve().parent.parent
if (_root / "egraph" / "ir" / "ops.py").exists():
    __path__.append(str(_root))

from .api import (  # noqa: E402
    Jit,
    Optimized,
    compile_graph,
    constant,
    jit,
    load,
    optimize,
)
from .version import VERSION  # noqa: E402

__version__ = VERSION
__all__ = [
    "Jit",
    "Optimized",
    "compile_graph",
    "constant",
    "jit",
    "load",
    "optimize",
]
