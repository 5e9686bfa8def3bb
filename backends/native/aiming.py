"""Aims launches at the arrays of a call by one foreign function, `aim.c`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from .libraries import address_of
from .toolchain import Toolchain

_ITEM = ctypes.pythonapi.PyTuple_GetItem
_HEAD = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
_FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)


class Place(NamedTuple):
    """An array that a call expects, and where in the table its address goes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    spots: Sequence[int]
    written: bool = False  # then it must be writeable, and nothing else lie there


class _Port(ctypes.Structure):
    _fields_ = (("descr", ctypes.c_void_p), ("shape", ctypes.c_void_p),
                ("spots", ctypes.c_void_p), ("nd", ctypes.c_int64),
                ("count", ctypes.c_int64), ("itemsize", ctypes.c_int64),
                ("written", ctypes.c_int64))  # fmt: skip


class _Arrays(ctypes.Structure):
    _fields_ = (("table", ctypes.c_void_p), ("ports", ctypes.c_void_p),
                ("count", ctypes.c_int64), ("kind", ctypes.c_void_p),
                ("item", ctypes.c_void_p), ("head", ctypes.c_int64))  # fmt: skip


class Aim:
    """`at`, called with a tuple of as many objects as there are places: 1 where they
    are arrays of these types that lie in order, and then their addresses stand in
    `table`; else 0."""

    def __init__(
        self, library: ctypes.CDLL, table: Any, places: Sequence[Place]
    ) -> None:
        ports = (_Port * len(places))()
        held: list[Any] = [library, table, places, ports]
        for port, (dtype, shape, spots, written) in zip(ports, places, strict=True):
            sizes = (ctypes.c_ssize_t * len(shape))(*shape)
            where = (ctypes.c_int64 * len(spots))(*spots)
            held += sizes, where
            port.descr, port.nd, port.count = id(dtype), len(shape), len(spots)
            port.itemsize, port.written = dtype.itemsize, written
            port.shape, port.spots = map(ctypes.addressof, (sizes, where))
        item = ctypes.cast(_ITEM, ctypes.c_void_p).value
        expected = _Arrays(
            ctypes.addressof(table), ctypes.addressof(ports), len(places),
            id(np.ndarray), item, _HEAD,
        )  # fmt: skip
        self._held = (*held, expected)  # what the function is told the addresses of
        run = _FUNCTION(address_of(library, "rw_aim"))
        self.at: Callable[[tuple[Any, ...]], int] = partial(
            run, ctypes.addressof(expected)
        )


@cache
def library(toolchain: Toolchain) -> ctypes.CDLL | None:
    """What `Aim` takes; None where arrays do not lie in memory as NumPy's C interface
    says: of another interpreter, or another NumPy."""
    source = files(__package__).joinpath("aim.c").read_text("utf-8")
    made = toolchain.library(source, False, ("rw_aim",))
    return made if _holds(made) else None


def _holds(made: ctypes.CDLL) -> bool:
    """Whether arrays that fit are told from those that do not."""
    table = (ctypes.c_void_p * 3)()
    f32 = np.dtype(np.float32)
    places = Place(f32, (2, 3), (2, 0), True), Place(f32, (), (1,))
    aim = Aim(made, table, places)
    x, y = np.zeros((2, 3), f32), np.zeros((), f32)
    fixed = x.copy()
    fixed.flags.writeable = False
    wrong = (x.astype(np.float64), x[:, ::-1], x.T, x[:1], x.reshape(3, 2),
             np.zeros((2, 3), ">f4"), x.view(np.recarray), [0.0] * 6, None,
             fixed)  # fmt: skip
    inside = x[1, 2:].reshape(())
    if any(aim.at((a, y)) for a in wrong) or aim.at((x, x)) or aim.at((x, inside)):
        return False
    if not aim.at((x, y)):
        return False
    return list(table) == [a.__array_interface__["data"][0] for a in (x, y, x)]


__all__ = ["Aim", "Place", "library"]
