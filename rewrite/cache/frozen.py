"""Frozen data as bytes, and back: what plans and programs are made of, nothing else.

The format is pickle's, each object written as a call of its class.  The reader hands
out what makes the classes listed here, never a class, which bytes could then change,
and refuses any other name.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, cast

from rewrite.egraph.ir import dims, dtypes, graph, table
from rewrite.egraph.looping.branch import Branch
from rewrite.egraph.looping.loop import Loop
from rewrite.egraph.saturate import explore
from rewrite.extract.memory import place
from rewrite.extract.schedule import kernel, part, plan
from rewrite.lower import choice, device, loops, program

from ..xp.functions.lapack import Lapack
from ..xp.pair import Parts
from ..xp.trace import Leaf
from .hosted import OnnxNode
from .opcodes import check

KNOWN: tuple[Any, ...] = (
    dtypes.of, dims.Poly, table.TensorType, graph.Node, graph.Alias, graph.Graph,
    explore.Limit,
    kernel.Affine, kernel.Div, kernel.Mod, kernel.Val, kernel.Cond, kernel.Expr,
    kernel.Update, kernel.Order, kernel.Output, kernel.Kernel, kernel.Buffer,
    kernel.Launch, kernel.Host, kernel.Schedule, place.MemoryPlan, part.Part, plan.Plan,
    program.Invoke, program.Program, loops.Function, loops.Param, loops.Windows,
    choice.Choice,
    device.Grid, device.TensorMap, device.Placed, device.Products, device.KernelSource,
    Leaf, Parts, Loop, Branch, Lapack, OnnxNode,
)  # fmt: skip


def _fields(c: Any) -> tuple[str, ...]:
    named: Any = getattr(c, "_fields", None)
    return named or (tuple(f.name for f in fields(c)) if is_dataclass(c) else ())


_FIELDS = {c: _fields(c) for c in KNOWN}


def _maker(c: Any) -> Callable[..., Any]:
    """What calls a class, bound to it: it has no attributes that could be set."""
    call: Any = type(c).__call__
    return call.__get__(c)


_MAKERS = {(c.__module__, c.__qualname__): _maker(c) for c in KNOWN}


def schema() -> str:
    """Changes with what the classes hold: bytes are read by what wrote them."""
    held = ((c.__qualname__, *names) for c, names in _FIELDS.items())
    return hashlib.sha256(repr(sorted(held)).encode()).hexdigest()


class FrozenError(ValueError):
    """Bytes that are not frozen data."""


class _Writer(pickle.Pickler):
    def reducer_override(self, obj: Any, /) -> Any:
        names = _FIELDS.get(cast(type[Any], type(obj)))
        if names is None:
            return NotImplemented
        return type(obj), tuple(getattr(obj, f) for f in names)


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return _MAKERS[module_name, global_name]
        except KeyError:
            name = f"{module_name}.{global_name}"
            raise FrozenError(f"{name} does not belong in a program") from None


def can_freeze(value: Any) -> bool:
    return type(value) in _FIELDS


def freeze(value: Any) -> bytes:
    """The bytes of a value, which `thaw` is sure to read."""
    out = io.BytesIO()
    _Writer(out, protocol=5).dump(value)
    thaw(out.getvalue(), own=True)
    return out.getvalue()


def thaw(data: bytes, own: bool = False) -> Any:
    """The value, or FrozenError.  Bytes that are not our `own`, of a cache that no
    stranger may write, are looked through first, which takes longer than to read them:
    they take no more time and memory than their length tells."""
    try:
        if not own:
            check(data)
        return _Reader(io.BytesIO(data)).load()
    except FrozenError:
        raise
    except Exception as e:  # a reader of bytes meets every kind of error
        raise FrozenError(f"no frozen data ({e})") from e


__all__ = ["FrozenError", "can_freeze", "freeze", "schema", "thaw"]
