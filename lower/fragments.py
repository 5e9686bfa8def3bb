"""Where threads hold a product of their group (`loops.Mma`): the fragments of the
instructions that multiply 16 x 16 by 16 x 8 elements, one warp of 32 threads each.

A warp has a rectangle of the product; element (i, j) of a fragment lies in the thread
i mod 8 * 4 + j / 2.  Groups of four warps multiply 64 x 16 by 16 x n elements, 16 rows
for each warp.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..egraph.ir.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, DType

WARP = 32
ROWS, COLUMNS, DEPTH = 16, 8, 16  # of one instruction
PAIR = 16  # columns of the right side that are read at once
FOUR = 4  # warps of a group
HIGH, WIDEST = 64, 256  # rows of a group's instruction, and columns at most
HALVES = (BF16, F16)  # that all instructions multiply
EIGHTS = (F8E4M3, F8E5M2)  # those of groups alone, where sides lie along k; f32, too
MORE = 64  # that may be added to halves of bytes, which bf16 then has all of
LOST = 13  # low bits of f32 that they do not see


class Part(NamedTuple):
    """Of an axis: so many places, which warps, threads, or elements of one are."""

    rows: bool  # of the product; else its columns
    who: str  # warp, thread, element
    size: int


def parts(
    m: int, n: int, threads: int, across: int, warps: int = 1
) -> tuple[Part, ...]:
    """High digits of each axis first; threads and elements are numbered in order."""
    down = threads // WARP // warps // across
    if warps == FOUR:
        return (
            Part(True, "warp", down), Part(False, "warp", across),
            Part(True, "element", m // down // HIGH), Part(True, "warp", FOUR),
            Part(False, "element", n // across // COLUMNS), Part(True, "element", 2),
            Part(True, "thread", 8), Part(False, "thread", 4),
            Part(False, "element", 2),
        )  # fmt: skip
    return (
        Part(True, "warp", down), Part(False, "warp", across),
        Part(True, "element", m // down // ROWS), Part(True, "element", 2),
        Part(False, "element", n // across // COLUMNS),
        Part(True, "thread", 8), Part(False, "thread", 4), Part(False, "element", 2),
    )  # fmt: skip


def left_parts(m: int, k: int, threads: int, of: DType) -> tuple[Part, ...]:
    """Of a left side that the threads of groups hold, one group under the other: those
    of two bytes as a product, those of four by single columns."""
    if of in HALVES:
        return parts(m, k, threads, 1, FOUR)
    down = threads // WARP // FOUR
    return (
        Part(True, "warp", down), Part(True, "element", m // down // HIGH),
        Part(True, "warp", FOUR), Part(False, "element", k // depth(of)),
        Part(False, "element", 2), Part(True, "element", 2),
        Part(True, "thread", 8), Part(False, "thread", 4),
    )  # fmt: skip


def depth(of: DType) -> int:
    """Of an instruction of a group: 32 bytes of each row."""
    return 2 * DEPTH // of.itemsize


def seen(side: Any) -> Any:
    """An array as instructions of groups take it: f32 towards zero, to 10 bits."""
    if side.dtype != F32.numpy:
        return side.astype(np.float32)
    bits = np.ascontiguousarray(side).view(np.uint32) >> LOST << LOST
    return bits.view(np.float32)


def refusal(
    m: int, n: int, k: int, threads: int, across: int, warps: int = 1, deep: int = HIGH
) -> str | None:
    """Why a group cannot multiply so; `deep`: of k, in a panel."""
    if warps == FOUR:
        down = max(threads // WARP // FOUR // max(across, 1), 1)
        wide = n // max(across, 1)
        whole = threads == down * across * WARP * FOUR and n == wide * across
        even = wide % (COLUMNS if across == 1 else HIGH) == 0  # groups begin in panels
        fits = m % (down * HIGH) == 0 and even and HIGH <= wide <= WIDEST
        fits = fits and whole and k % deep == 0 and min(m, k) > 0
        return None if fits else f"groups of warps do not share {m} x {n} x {k} out"
    if warps != 1:
        return f"instructions of {warps} warps"
    if threads % WARP or across < 1 or threads // WARP % across:
        return f"{threads} threads do not make warps, {across} side by side"
    down = threads // WARP // across
    if m % (down * ROWS) or n % (across * PAIR) or k % DEPTH or not m * n * k:
        return f"{down} x {across} warps do not share a product of {m} x {n} x {k} out"
    return None


class Quads(NamedTuple):
    """A product m x n x k of one warp that holds both sides: four neighbours have rows
    of the left side, and of the right one columns, of which each has as many places of
    k in a row.  Which of those an instruction meets at once is alike for both sides,
    so that a thread may have neighbours in memory."""

    m: int
    n: int
    k: int

    @property
    def refusal(self) -> str | None:
        m, n, k = self
        fits = min(self) > 0 and not (m % ROWS or n % COLUMNS or k % DEPTH)
        return None if fits else f"a warp does not multiply {m} x {n} x {k}"

    def sides(self) -> tuple[Any, Any, Any]:
        """By thread and element rows of the left side, columns of the right one, and
        places of k of both."""
        thread, *_ = np.indices((WARP, 1))
        m, n = (np.arange(size // COLUMNS) for size in (self.m, self.n))
        place = thread % 4 * (self.k // 4) + np.arange(self.k // 4)
        return m * COLUMNS + thread // 4, n * COLUMNS + thread // 4, place

    def sums(self) -> tuple[Any, Any]:
        """By thread and element its row and its column."""
        return _placed(
            (Part(True, "element", self.m // COLUMNS),
             Part(False, "element", self.n // COLUMNS), Part(True, "thread", 8),
             Part(False, "thread", 4), Part(False, "element", 2)),
            WARP, self.m * self.n // WARP,
        )  # fmt: skip


@cache
def places(
    m: int, n: int, threads: int, across: int, warps: int = 1
) -> tuple[Any, Any]:
    """By thread and element its row and its column."""
    return _placed(parts(m, n, threads, across, warps), threads, m * n // threads)


@cache
def left_places(m: int, k: int, threads: int, of: DType) -> tuple[Any, Any]:
    return _placed(left_parts(m, k, threads, of), threads, m * k // threads)


def _placed(made: tuple[Part, ...], threads: int, each: int) -> tuple[Any, Any]:
    rows = columns = np.zeros((threads, each), np.int64)
    thread, element = np.indices(rows.shape)
    weight = {True: 1, False: 1}
    left = {"thread": thread, "element": element}
    for p in reversed(made):
        who = "element" if p.who == "element" else "thread"
        digit, left[who] = left[who] % p.size, left[who] // p.size
        if p.rows:
            rows = rows + digit * weight[True]
        else:
            columns = columns + digit * weight[False]
        weight[p.rows] *= p.size
    return rows, columns
