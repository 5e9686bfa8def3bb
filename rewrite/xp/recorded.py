"""Stand-ins for objects while a function that reads them is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from .reads import Spot
from .tracer import TraceError

if TYPE_CHECKING:
    from .captured import Capture

HEAP = 1 << 9  # Py_TPFLAGSHEAPTYPE: of classes that a `class` statement makes
# What Python looks up on the class, and what making or showing an object takes.
_LEFT = frozenset(
    f"__{name}__"
    for name in (
        "init", "new", "getattribute", "getattr", "setattr", "delattr", "del", "repr",
        "init_subclass", "class_getitem", "set_name", "subclasshook", "dir", "copy",
        "deepcopy", "reduce", "reduce_ex", "getstate", "setstate", "sizeof", "str",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """Behind a stand-in: the object, where it is found, and who notes what is read."""

    capture: Capture
    value: Any
    spot: Spot


def _of(made: Any) -> Recorded:
    return object.__getattribute__(made, "__dict__")["\0"]


class _Quiet:
    """First base of a stand-in's class: no hook of the user's class hears of it."""

    __slots__ = ()

    def __init_subclass__(cls, **_: Any) -> None:
        """Not the user's, which may keep a list of classes."""

    def __getattribute__(self, name: str) -> Any:
        of = _of(self)
        if name == "__class__":
            return cast(Any, type(of.value))
        if name == "__dict__":
            return of.capture.child(
                of.value.__dict__, getattr, of.spot, name, of.spot.name
            )
        return of.capture.attribute(self, of, name)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(_of(self).value).__name__!r} has no {name!r}")

    def __traced_array__(self) -> Any:
        """Where an operand is expected: for objects that make themselves arrays."""
        of = _of(self)
        return of.capture.as_array(of.value, of.spot)

    def __setattr__(self, name: str, value: Any) -> None:
        of = _of(self)
        if name in getattr(of.value, "__dict__", {}) and getattr(self, name) is value:
            return  # `self.w += 1`: the array itself has changed
        raise TraceError(
            f"{of.spot.name}.{name} is assigned by the function, which compiled code "
            "would not repeat: return the value instead"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise TraceError(f"{_of(self).spot.name}.{name} is deleted by the function: "
                         "compiled code would not repeat that")  # fmt: skip

    def __del__(self) -> None:
        """Not the user's: nothing of theirs ends here."""


def find(kind: type[Any], name: str) -> Any:
    """What the class has under a name, unbound; None: nothing."""
    return next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)


@functools.cache
def is_recordable(kind: type[Any]) -> bool:
    """Whether objects of the class are made and read as `class` statements have it."""
    own = [c for c in kind.__mro__ if c is not object]
    plain = bool(own) and all(c.__flags__ & HEAP for c in own)
    return plain and kind.__getattribute__ is object.__getattribute__


def class_of(kind: type[Any], copied: Callable[[Any], Any]) -> type[Any]:
    """A class whose objects pass for those of `kind` and note what is read of them.

    `copied` makes the copy of a function that reads stand-ins.  `super()` looks for the
    next class after its own, so before each base there is a layer of copies.
    """
    own: dict[str, Any] = {"__module__": kind.__module__}
    for base in reversed(kind.__mro__[:-1]):
        own |= _copies(base, copied, lambda n: n[:2] == "__" == n[-2:])
    order: list[type[Any]] = [_Quiet, kind]
    for base in kind.__mro__[1:-1]:
        inside = _copies(base, copied, lambda _: True)
        order += [type(base.__name__, (), {"__slots__": (), **inside}), base]

    def mro(cls: type[Any]) -> list[type[Any]]:
        return [cls, *order, object]

    meta: Any = type.__new__(type, "Recording", (type(kind),), {"mro": mro})
    return type.__new__(meta, kind.__name__, (_Quiet, kind), own)


def _copies(
    base: type[Any], copied: Callable[[Any], Any], wanted: Callable[[str], bool]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, raw in vars(base).items():
        if name in _LEFT or not wanted(name):
            continue
        if is_function(raw):
            out[name] = copied(raw)
        elif isinstance(raw, property):
            out[name] = property(copied(raw.fget))
        elif isinstance(raw, classmethod | staticmethod):
            bound = cast(Any, raw)
            out[name] = type(bound)(copied(bound.__func__))
    return out


def is_function(raw: Any) -> bool:
    """A function of Python's, or what is traced as one."""
    kind = cast(type[Any], type(raw))
    return kind is FunctionType or hasattr(kind, "__traced__")
