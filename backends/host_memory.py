"""Memory of the host for buffers and results, from one pool.

The system clears fresh memory page by page as it is first touched, which takes longer
than most kernels take to write it.  So large arrays lie in blocks that return to the
pool when the last array that shows any part of them is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..egraph.ir.scalars import Array
from .memory import Block, Pool

ALIGN = 64  # bytes: a cache line, the widest vector
SMALL = 1 << 20  # bytes: less than that the C library keeps for the next one itself


def _fresh(nbytes: int) -> Array:
    memory = np.empty(nbytes + ALIGN, np.uint8)  # on huge pages, if there are some
    start = -memory.ctypes.data % ALIGN
    return memory[start : start + nbytes]


def _forget(_: Array) -> None:
    """Nothing: memory goes back with its last reference."""


POOL = Pool("host", _fresh, _forget)


class _Lent:
    """What NumPy keeps as the base of every array in a block."""

    def __init__(self, block: Block[Array], start: int, nbytes: int) -> None:
        self.block = block
        self.__array_interface__ = {
            "version": 3, "data": (start, False), "shape": (nbytes,), "typestr": "|u1",
        }  # fmt: skip


def allocate(nbytes: int) -> tuple[int, Any]:
    """The address of so many bytes, and what keeps them."""
    if nbytes < SMALL:
        memory = _fresh(nbytes)
        return memory.ctypes.data, memory
    block = POOL.take(nbytes)
    return block.raw.ctypes.data, block


def landing(array: Array) -> Array:
    """The array where its bytes lie in order, else a new one of its kind."""
    in_order = array.flags.c_contiguous
    return array if in_order else empty(array.shape, array.dtype)


def flat(array: Array) -> Array:
    """The bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8)


def empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """As `numpy.empty`, aligned and from the pool where it is large."""
    return maker(shape, dtype)()


def maker(shape: Sequence[int], dtype: np.dtype[Any]) -> Callable[[], Array]:
    """What makes such arrays, one a call."""
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < SMALL:
        return partial(np.empty, shape, dtype)

    def pooled() -> Array:
        address, owner = allocate(nbytes)
        return np.asarray(_Lent(owner, address, nbytes)).view(dtype).reshape(shape)

    return pooled
