"""What a function reads beside its arguments: closures, globals, attributes of objects.

A function is traced as a copy of itself that reads stand-ins.  The copy shares the
code; its cells, globals and `self` hand out a tracer for each array they are asked for,
and note where it came from.  So every read is known, those made through NumPy too, and
nothing that was not read is watched.  `Captured` follows the notes again at each call.

Functions of rewrite, NumPy and the standard library are left as they are.  An object
that cannot be copied so (of an extension type, for instance) is known by identity.
"""

from __future__ import annotations

import enum
import functools
import sys
import sysconfig
from collections.abc import Callable, Container, Sequence
from operator import getitem
from types import (
    CellType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.scalars import Array

from .arrays import is_array, plain
from .constants import is_constant
from .pair import Side, is_complex_array, joined
from .promote import as_dtype
from .reads import Captured, Reads, Spot, is_data
from .recorded import HEAP, Recorded, class_of, find, is_function, is_recordable
from .tracer import TraceError
from .weak import Number

CAPTURED = "captured "  # before the names of places, beside those of arguments
_STDLIB = sysconfig.get_path("stdlib")
_PACKAGES = tuple(sysconfig.get_path(p) for p in ("purelib", "platlib"))
_KEPT = ("__builtins__", "__file__", "__loader__", "__name__", "__package__",
         "__spec__", "__path__")  # fmt: skip


def is_ours(module: str, file: str) -> bool:
    """Whether code is of rewrite, NumPy or the standard library."""
    if module.partition(".")[0] in ("rewrite", "numpy") or file.startswith("<frozen"):
        return True
    return file.startswith(_STDLIB) and not file.startswith(_PACKAGES)


class _Globals(dict[str, Any]):
    """The globals of a copied function; reads of a name come here."""

    def __init__(self, capture: Capture, names: dict[str, Any]) -> None:
        super().__init__({k: names[k] for k in _KEPT if k in names})
        self.capture, self.names = capture, names
        self.first = frozenset(self)

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return super().__getitem__(name)
        value = self.names[name]
        return self.capture.child(value, getitem, self.names, name, name)

    def assigned(self) -> list[str]:
        return sorted(self.keys() - self.first)


class _Names(ModuleType):
    """A stand-in for a module of the user's, or for a class of nothing but values."""

    def __init__(self, capture: Capture, value: Any, prefix: str) -> None:
        super().__init__(value.__name__)
        self.__dict__["\0"] = (capture, value, prefix)

    def __getattribute__(self, name: str) -> Any:
        if name[:2] == "__":
            return super().__getattribute__(name)
        capture, value, prefix = super().__getattribute__("__dict__")["\0"]
        return capture.child(
            getattr(value, name), getattr, value, name, f"{prefix}{name}"
        )


class Capture:
    """Makes stand-ins while a function is traced, and notes what they were asked."""

    def __init__(
        self, make_input: Callable[[str, Any], Any], numbers: Container[str] = ()
    ) -> None:
        """`make_input` is given a label and an array, and gives the label and tracer;
        `numbers` are places whose values come with each call."""
        self.reads = Reads()
        self._numbers = numbers
        self._make_input = make_input
        self._made: dict[int, tuple[Spot, Any]] = {}  # by the id of the original
        self._children: dict[Any, Any] = {}
        self._cells: dict[int, tuple[CellType, CellType, Any, str]] = {}
        self._globals: dict[int, _Globals] = {}
        self._held: list[Any] = []  # whose ids are keys above

    def root(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """The copy of a function that reads stand-ins."""
        return self._stand_in(f, Spot(None, f, None, "self"))

    def child(
        self, value: Any, get: Callable[..., Any], base: Any, key: Any, name: str
    ) -> Any:
        """The stand-in for `get(base, key)`, which is `value`."""
        place = (get, id(base), key)
        if place not in self._children:
            spot = Spot(get, base, key, name)
            self._held.append(base)
            self._children[place] = self._stand_in(value, spot)
        return self._children[place]

    def finish(self) -> Captured:
        """What was read; TraceError for what a compiled function would not repeat."""
        for names in self._globals.values():
            if names.assigned():
                raise _lost(f"the global {names.assigned()[0]!r}")
        for _, made, value, name in self._cells.values():
            if made.cell_contents is not value:
                raise _lost(f"{name!r}, which is not local,")
        return self.reads.finish()

    # -- by kind --

    def _stand_in(self, value: Any, spot: Spot) -> Any:
        if spot.name in self._numbers and type(value) in (int, float):
            self.reads.expect_type(spot, value)
            return self._number(value, spot)
        if is_data(value):
            self.reads.expect_data(spot, value)
            return value
        if id(value) in self._made:
            first, made = self._made[id(value)]
            self.reads.expect_same(first, spot)
            return made
        self._held.append(value)
        if isinstance(value, np.ndarray | np.generic) and not is_constant(value):
            return self._array(cast(Any, value), spot)
        make = self._maker(value)
        if make is not None:
            return make(value, spot)
        if is_array(value) and not isinstance(value, np.ndarray):
            return self.as_array(value, spot)
        if not isinstance(value, ModuleType):
            self.reads.expect_identity(spot, value)
        if isinstance(value, type) and not _is_of_ours(value):
            self._watch_class(value)
        return cast(Any, value)

    def _watch_class(self, kind: type[Any]) -> None:
        """A class itself has no stand-in: all its numbers and text are watched."""
        for base in kind.__mro__[:-1]:
            for name, x in vars(base).items():
                if name[:2] != "__" and is_data(x) and not _is_of_ours(base):
                    place = Spot(getattr, kind, name, f"{kind.__name__}.{name}")
                    self.reads.expect_data(place, getattr(kind, name))

    def _maker(self, value: Any) -> Callable[[Any, Spot], Any] | None:
        kind = cast(type[Any], type(value))
        if kind is FunctionType:
            return self._function
        if hasattr(kind, "__traced__"):  # compiled itself: its function is inlined
            return self._inner
        if hasattr(kind, "__around__"):  # a function made of another
            return self._around
        if kind is MethodType:
            return self._method
        if kind is functools.partial:
            return self._partial
        if kind is list or isinstance(value, tuple):
            return self._sequence
        if isinstance(value, dict):
            return self._mapping
        if kind is SimpleNamespace:
            return self._namespace
        if isinstance(value, ModuleType):
            ours = is_ours(value.__name__, getattr(value, "__file__", None) or "<froze")
            if ours:
                return None
            return lambda m, _: _Names(self, m, f"{m.__name__.rpartition('.')[2]}.")
        if _is_namespace(value) and not _is_of_ours(value):
            return lambda c, spot: _Names(self, c, f"{c.__name__}.")
        return self._object if is_read_apart(value) else None

    def _keep(self, value: Any, spot: Spot, made: Any) -> Any:
        self._made[id(value)] = spot, made
        return made

    def _array(self, value: Any, spot: Spot) -> Any:
        if is_complex_array(value):
            return self._keep(value, spot, self._pair(value, spot))
        try:
            as_dtype(value.dtype)
        except (TypeError, KeyError, ValueError):  # of objects, dates, text
            self.reads.expect_identity(spot, value)
            return value
        label, made = self._make_input(spot.name, value)
        self.reads.expect_array(spot, label, value)
        return self._keep(value, spot, made) if isinstance(value, np.ndarray) else made

    def _pair(self, value: Any, spot: Spot) -> Any:
        """The parts of a complex array, each an input."""
        return joined(*(
            self.child(x.of(value), _part, spot, x, f"{spot.name}.{x.value}")
            for x in Side
        ))  # fmt: skip

    def as_array(self, value: Any, spot: Spot) -> Any:
        """What makes itself an array: read as one at each call."""
        name = f"{spot.name}.array"
        return self.child(plain(value), _plain, spot, name, spot.name)

    def _number(self, value: Any, spot: Spot) -> Number:
        def read(_: Sequence[Any], captured: Sequence[Any]) -> Any:
            return captured[spot.at]

        known_as = f"{CAPTURED}{spot.name}"
        return Number(cast(Any, type(value)), frozenset({known_as}), read, spot.name)

    def _function(self, value: FunctionType, spot: Spot) -> Any:
        self.reads.expect_identity(spot, value)
        return self.function(value)

    def function(self, f: Any) -> Any:
        """The copy of a Python function."""
        if id(f) in self._made:
            return self._made[id(f)][1]
        inner: Any = getattr(cast(type[Any], type(f)), "__traced__", None)
        if inner is not None:
            return self.function(inner(f))
        if type(f) is not FunctionType:
            return f
        if is_ours(str(f.__globals__.get("__name__")), f.__code__.co_filename):
            return f
        self._held.append(f)
        cells = [self._cell(c) for c in f.__closure__ or ()]
        made = FunctionType(
            f.__code__.replace(), self._globals_of(f), f.__name__, None,
            tuple(x for x, _ in cells) or None,
        )  # fmt: skip
        self._keep(f, Spot(None, f, None, f.__name__), made)
        made.__dict__.update(f.__dict__)
        made.__qualname__, made.__doc__ = f.__qualname__, f.__doc__
        made.__annotations__ = {}
        for name, (cell, old) in zip(f.__code__.co_freevars, cells, strict=True):
            if old is not None:
                self._fill(cell, old, name)
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(f, name)
            if value:
                setattr(made, name, self._defaults(f, name, value))
        return made

    def _defaults(self, f: FunctionType, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            named = cast(dict[str, Any], value)
            spot = Spot(getattr, f, name, "")
            return {k: self.child(v, getitem, spot, k, k) for k, v in named.items()}
        spot, values = Spot(getattr, f, name, ""), cast(tuple[Any, ...], value)
        names = f.__code__.co_varnames[: f.__code__.co_argcount][-len(values) :]
        return tuple(
            self.child(v, getitem, spot, i, names[i]) for i, v in enumerate(values)
        )

    def _cell(self, cell: CellType) -> tuple[CellType, CellType | None]:
        """The copy of a cell, and the cell where the copy is still to be filled."""
        if id(cell) in self._cells:
            return self._cells[id(cell)][1], None
        self._held.append(cell)
        return CellType(), cell

    def _fill(self, made: CellType, cell: CellType, name: str) -> None:
        try:
            value = cell.cell_contents
        except ValueError:  # assigned later, if at all
            return
        self._cells[id(cell)] = cell, made, None, name
        if name != "__class__":
            value = self.child(value, getattr, cell, "cell_contents", name)
        made.cell_contents = value
        self._cells[id(cell)] = cell, made, value, name

    def _globals_of(self, f: FunctionType) -> _Globals:
        names = f.__globals__
        if id(names) not in self._globals:
            self._globals[id(names)] = _Globals(self, names)
        return self._globals[id(names)]

    def _inner(self, value: Any, spot: Spot) -> Any:
        self.reads.expect_identity(spot, value)
        f: Any = cast(Any, type(value)).__traced__(value)
        return self._stand_in(f, Spot(None, f, None, spot.name))

    def _method(self, value: MethodType, spot: Spot) -> Any:
        f = self.child(value.__func__, getattr, spot, "__func__", spot.name)
        on = self.child(value.__self__, getattr, spot, "__self__", "self")
        return self._keep(value, spot, MethodType(f, on))

    def _partial(self, value: functools.partial[Any], spot: Spot) -> Any:
        self.reads.expect_identity(spot, value)
        f, args, keywords = (
            self.child(getattr(value, k), getattr, spot, k, spot.name)
            for k in ("func", "args", "keywords")
        )
        return self._keep(value, spot, functools.partial(f, *args, **keywords))

    def _around(self, value: Any, spot: Spot) -> Any:
        self.reads.expect_identity(spot, value)
        inner = self.child(value.f, getattr, spot, "f", spot.name)
        return self._keep(value, spot, cast(Any, type(value)).__around__(value, inner))

    def _sequence(self, value: Any, spot: Spot) -> Any:
        self.reads.expect_shape(spot, value)
        if type(value) is list:  # it may hold itself
            whole = self._keep(value, spot, list[Any]())
            whole += self._parts(cast(list[Any], value), spot)
            return whole
        parts = self._parts(value, spot)
        kind = cast(Any, type(value))
        made = kind(*parts) if hasattr(kind, "_fields") else kind(parts)
        return self._keep(value, spot, made)

    def _parts(self, value: Any, spot: Spot) -> list[Any]:
        return [
            self.child(x, getitem, spot, i, f"{spot.name}.{i}")
            for i, x in enumerate(value)
        ]

    def _mapping(self, value: dict[Any, Any], spot: Spot) -> Any:
        self.reads.expect_shape(spot, value)
        made = self._keep(value, spot, value.copy())
        for k, x in value.items():
            made[k] = self.child(x, getitem, spot, k, f"{spot.name}.{k}")
        return made

    def _namespace(self, value: SimpleNamespace, spot: Spot) -> Any:
        made = self._keep(value, spot, SimpleNamespace())
        inside = self.child(vars(value), getattr, spot, "__dict__", spot.name)
        made.__dict__.update(inside)
        return made

    def _object(self, value: Any, spot: Spot) -> Any:
        try:
            made = object.__new__(class_of(cast(Any, type(value)), self.function))
        except TypeError:  # of a class that makes its objects in its own way
            self.reads.expect_identity(spot, value)
            return value
        self.reads.expect_type(spot, value)
        object.__getattribute__(made, "__dict__")["\0"] = Recorded(self, value, spot)
        return self._keep(value, spot, made)

    def attribute(self, made: Any, of: Recorded, name: str) -> Any:
        """What a stand-in for an object answers."""
        kind = cast(type[Any], type(of.value))
        raw = find(kind, name)
        if isinstance(raw, property):
            return self.function(raw.fget)(made)
        if isinstance(raw, staticmethod):
            return self.function(cast(Any, raw).__func__)
        if isinstance(raw, classmethod):
            return MethodType(self.function(cast(Any, raw).__func__), kind)
        own = getattr(of.value, "__dict__", {})
        if name not in own:
            if isinstance(raw, functools.cached_property):
                return self.function(raw.func)(made)
            if is_function(raw):
                return MethodType(self.function(raw), made)
            if raw is None:
                return self._missing(made, of, name)
        value = getattr(of.value, name)
        label = f"{of.spot.name}.{name}"
        return self.child(value, getattr, of.spot, name, label)

    def _missing(self, made: Any, of: Recorded, name: str) -> Any:
        """What `__getattr__` answers; without it, the absence is noted."""
        answer = find(cast(type[Any], type(of.value)), "__getattr__")
        if answer is not None:
            return self.function(answer)(made, name)
        place = Spot(_or_absent, of.spot, name, f"{of.spot.name}.{name}")
        self.reads.expect_identity(place, _ABSENT)
        raise AttributeError(f"{type(of.value).__name__!r} object has no {name!r}")


_ABSENT = object()


def _or_absent(value: Any, name: str) -> Any:
    return getattr(value, name, _ABSENT)


def _is_namespace(value: Any) -> bool:
    """A class of nothing but values, which is never called."""
    return (
        type(value) is type
        and value.__bases__ == (object,)
        and value.__flags__ & HEAP != 0
        and not any(
            hasattr(cast(type[Any], type(x)), "__get__")
            for k, x in vars(value).items()
            if k[:2] != "__"
        )
        and "__init__" not in vars(value)
    )


def _plain(value: Any, _: str) -> Array:
    return plain(value)


def _part(value: Any, side: Side) -> Array:
    return side.of(value)


def is_read_apart(value: Any) -> bool:
    """Whether an object is known by its class and by what is read of it."""
    kind = cast(type[Any], type(value))
    return kind is SimpleNamespace or (
        is_recordable(kind)
        and not isinstance(value, enum.Enum | type)
        and not hasattr(kind, "__traced__")
        and not _is_of_ours(kind)
    )


@functools.cache
def _is_of_ours(kind: type[Any]) -> bool:
    if kind.__module__ == "builtins":  # or of code that runs under no name
        return not kind.__flags__ & HEAP
    module = sys.modules.get(kind.__module__)
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    built_in = file is None and kind.__module__ in sys.builtin_module_names
    return built_in or is_ours(kind.__module__, file or "")


def _lost(what: str) -> TraceError:
    return TraceError(
        f"{what} is assigned by the function, which compiled code would not repeat: "
        "return the value instead"
    )


__all__ = ["CAPTURED", "Capture", "is_read_apart"]
