"""Frozen data as bytes, and back: what plans and programs are made of, nothing else.

The format is pickle's.  The reader makes the classes listed here and refuses any other
name, so that bytes from elsewhere can describe a program but run nothing.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

from rewrite.egraph import dims, dtypes, graph, table
from rewrite.extract import kernel, memory, plan
from rewrite.lower import device, loops, program

from .xp.trace import Leaf

KNOWN: tuple[Any, ...] = (
    dtypes.of, dims.Poly, table.TensorType, graph.Node, graph.Alias, graph.Graph,
    kernel.Affine, kernel.Div, kernel.Mod, kernel.Val, kernel.Cond, kernel.Expr,
    kernel.Output, kernel.Kernel, kernel.Buffer, kernel.Launch, kernel.Host,
    kernel.Schedule, memory.MemoryPlan, plan.Part, plan.Plan, program.Invoke,
    program.Program, loops.Function, loops.Param,
    device.Caps, device.Grid, device.KernelSource, Leaf,
)  # fmt: skip
# Sets are no literals of the format.
_BY_NAME = {(c.__module__, c.__qualname__): c for c in (*KNOWN, frozenset, set)}


def schema() -> str:
    """Changes with what the classes hold: bytes are read by what wrote them."""
    fields = ((c.__qualname__, *_fields(c)) for c in KNOWN)
    return hashlib.sha256(repr(sorted(fields)).encode()).hexdigest()


def _fields(c: Any) -> tuple[str, ...]:
    named: Any = getattr(c, "_fields", None) or getattr(c, "__dataclass_fields__", ())
    return tuple(named)


class FrozenError(ValueError):
    """Bytes that are not frozen data."""


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return _BY_NAME[module_name, global_name]
        except KeyError:
            name = f"{module_name}.{global_name}"
            raise FrozenError(f"{name} is no part of a program") from None


def freeze(value: Any) -> bytes:
    """The bytes of a value, which `thaw` is sure to read."""
    data = pickle.dumps(value, protocol=5)
    thaw(data)
    return data


def thaw(data: bytes) -> Any:
    try:
        return _Reader(io.BytesIO(data)).load()
    except FrozenError:
        raise
    except Exception as e:  # a reader of bytes meets every kind of error
        raise FrozenError(f"no frozen data ({e})") from e


__all__ = ["FrozenError", "freeze", "schema", "thaw"]
