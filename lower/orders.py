"""The memory in which the host's sorts work, as `orders.c` of backends lays it out."""

from __future__ import annotations

from ..egraph.ir.dtypes import ALL, BOOL, U8, DType

KINDS = tuple(d for d in ALL if d is not BOOL)  # as `orders.c` numbers them
ROOM = 1024  # candidates beside the best so far
LEADING, BUCKETS = 1 << 16, 1024  # values of leading bits; buckets at most
LINE = 64  # bytes


def kind_of(dtype: DType) -> int:
    """A truth value is a byte."""
    return KINDS.index(U8 if dtype is BOOL else dtype)


def few(n: int, count: int) -> bool:
    """Whether most elements are left out as they are read."""
    return count <= 4 or count * 16 <= n


def room(dtype: DType, n: int, count: int, places: bool, chunks: int) -> int:
    """Bytes that a call works in; by one thread if `chunks` is 0."""
    key = 8 if dtype.bits == 64 else 4
    if few(n, count):
        each, size = 2 * (2 * count + ROOM), 2 * key
        if not chunks:
            return size * each
        return sum(map(_ahead, (8 * chunks, size * each * chunks,
                                size * count * chunks)))  # fmt: skip
    size = key * (2 if places else 1)
    if not chunks:
        return 2 * size * n
    tables = 4 * LEADING * chunks, 2 * LEADING, 4 * BUCKETS * chunks, 16 * chunks
    return sum(map(_ahead, (*tables, size * n, size * n)))


def _ahead(size: int) -> int:
    return -(-size // LINE) * LINE
