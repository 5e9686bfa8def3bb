"""The loop IR: what a family makes of a kernel and an emitter prints.

Scalars are in their compute type: a load from an `f16` parameter yields `f32`, a store
rounds (see `dtypes.compute`).  Index arithmetic is in I32, or I64 where a buffer needs
it.  Integers in index arithmetic are never negative where `idiv` or `imod` see them.

Loop kinds
  grid    independent iterations, any order, any unit (threads, work-items)
  block   independent iterations, each run by one group of `Function.threads` threads
  thread  inside `block`: the iterations are dealt out to the group's threads, thread t
          taking t, t + threads, ...; no value crosses iterations but through arrays in
          `shared` space and `Barrier`, or `GroupReduce`
  serial  in order
  simd    in order, and independent: the emitter may vectorise
  unroll  in order, written out

A function has one or more top-level `grid` or `block` loops, or none; such a loop
stands inside its own kind alone, and a `block` loop with nothing beside it.  Top-level
statements run in order, each finished before the next begins (an emitter for a device
without a grid-wide barrier makes a launch of each; `Function.scratch` arrays live
across them, a variable only if not mutable).

`verify` holds functions to all this; `text` prints and parses them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import copysign, prod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..egraph.ir.dtypes import BF16, F16, F32, F64, DType
from ..extract.schedule.kernel import Kernel

type LoopKind = Literal["grid", "block", "thread", "serial", "simd", "unroll"]
type Space = Literal["local", "shared"]  # per thread (per iteration), per group


@dataclass(frozen=True, slots=True)
class Var:
    """A named value; `lanes` > 1 is a short vector (CPU register tiles only)."""

    name: str
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Lit:
    """A number; 0.0 and -0.0 are two, though they compare equal."""

    value: float | int | bool
    dtype: DType
    lanes: ClassVar[int] = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lit) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.value, self.value == 0 and copysign(1, self.value), self.dtype


@dataclass(frozen=True, slots=True)
class Load:
    """`lanes` consecutive elements of `array` from `index` on."""

    array: str
    index: Ex
    dtype: DType  # of the result: the compute type
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Op:
    """An opcode of `scalars.BY_NAME`, or one of: `select` (c, a, b), `cast`, `bitcast`
    (from the argument's type to `dtype`), `splat` (a scalar to all lanes), `fma`
    (a * b + c, the product rounded or not), `ex2` (2**a of f32 to 22 bits, 0 for one
    that is subnormal) and `tanh_approx` (of f32, to 11 bits), both for devices whose
    warps multiply, `idiv`, `imod` (of integers that are not negative).  Only in an
    `fma` may a device leave a product unrounded."""

    op: str
    args: tuple[Ex, ...]
    dtype: DType
    lanes: int = 1


type Ex = Var | Lit | Load | Op


@dataclass(frozen=True, slots=True)
class For:
    """`for var in 0 .. extent`; with `step`, var counts 0, step, 2 * step, ..."""

    var: Var
    extent: int
    kind: LoopKind
    body: tuple[Stmt, ...]
    step: int = 1


@dataclass(frozen=True, slots=True)
class Let:
    """Names a value once; scope is the rest of the enclosing body.  One that is `held`
    stays in a register for all that use it, which registers suffice for: gcc would read
    a vector from memory at each use, more often than a processor can."""

    var: Var
    value: Ex
    mutable: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Assign:
    """A new value for a `mutable` variable."""

    var: Var
    value: Ex


@dataclass(frozen=True, slots=True)
class Array:
    """An uninitialised array; scope is the rest of the enclosing body."""

    name: str
    dtype: DType  # stored as such: compute types only, but any in shared space; of
    # two bytes, an array of a thread's own is for `Pack` and `Mma`
    size: int
    space: Space = "local"
    # Elements of a row, if columns of pieces of 16 bytes are read at once: pieces of a
    # row lie so that those of a column are in different banks.  Where exactly is the
    # emitter's matter; an access of several elements stays in a piece.
    swizzle: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    array: str
    index: Ex
    value: Ex
    lanes: int = 1
    stream: bool = False  # a hint: past the caches, nothing reads it soon


@dataclass(frozen=True, slots=True)
class Fetch:
    """A hint that what lies at `index` of a buffer is soon read, or written: memory may
    begin to bring it.  The place may lie outside of the buffer."""

    array: str
    index: Ex
    write: bool = False


@dataclass(frozen=True, slots=True)
class If:
    cond: Ex
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the group reach it; shared stores before it are seen after."""


@dataclass(frozen=True, slots=True)
class GroupReduce:
    """Each thread brings `var` (mutable); afterwards each holds the group's total.

    Reached by all threads of the group.  `monoid` names an entry of `MONOIDS`.  With a
    `width`, a power of two that divides the group, each holds the total of the `width`
    threads around it: those whose number is the same but for what `width` leaves.
    """

    var: Var
    monoid: str
    width: int = 0  # 0: all


# Types of both sides and of the result; small floats are multiplied and summed in f32.
PRODUCTS = (
    (F32, F32), (F64, F64), (F16, F16), (F16, F32), (BF16, BF16), (BF16, F32),
)  # fmt: skip


ROW = 128  # bytes side by side, where a matrix of `Mma` lies in panels
PANEL = 64  # elements of two bytes there


def panel(dtype: DType) -> int:
    """Elements side by side in a panel."""
    return ROW // dtype.itemsize


class Matrix(NamedTuple):
    """Element (i, j) lies at `at` + `down` * i + `across` * j; one of the two is 1.
    With `apart`, what lies side by side does so in panels of as many as rows are apart,
    which are so far from each other."""

    array: str
    at: Ex
    down: int
    across: int
    apart: int = 0

    def span(self, rows: int, columns: int) -> int:
        """Elements from the first to the last."""
        return self.place(rows - 1, columns - 1) + 1

    def place(self, i: Any, j: Any) -> Any:
        """From `at` on, of a number or of arrays of them."""
        if not self.apart:
            return i * self.down + j * self.across
        side, other, step = (i, j, self.across) if self.down == 1 else (j, i, self.down)
        return side // step * self.apart + side % step + other * step


@dataclass(frozen=True, slots=True)
class Gemm:
    """`out` = `a` times `b`, m x k times k x n, none of them 0, by the library of a
    device that has one (`Caps.library`), of types in `PRODUCTS`.  It has threads of its
    own: outside of all loops but serial ones."""

    m: int
    n: int
    k: int
    out: Matrix
    a: Matrix
    b: Matrix

    @property
    def matrices(self) -> tuple[tuple[Matrix, int, int], ...]:
        """With rows and columns."""
        m, n, k = self.m, self.n, self.k
        return (self.out, m, n), (self.a, m, k), (self.b, k, n)


class Row(NamedTuple):
    """Elements of a buffer from `at` on, `step` apart."""

    array: str
    at: Ex
    step: int


@dataclass(frozen=True, slots=True)
class Sort:
    """The `count` first of `n` elements in order (`kernel.Order`), or their places, by
    the host's library, which works in the bytes of an array.  In so many parts by all
    threads, outside of all loops but serial ones; without, by the thread itself."""

    n: int
    count: int
    descending: bool
    places: bool
    out: Row
    source: Row
    work: str
    parts: int = 0

    @property
    def rows(self) -> tuple[tuple[Row, int], ...]:
        """With the elements of each."""
        return (self.out, self.count), (self.source, self.n)


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """`lanes` elements of a buffer to an array in shared space, or zeros where the test
    fails, while the thread goes on.  From here to the `Await` that ends it the place
    may hold anything.  In a thread loop."""

    array: str
    index: Ex
    source: str
    at: Ex
    lanes: int
    where: Ex | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """What each thread has begun to copy since the last one is a group of its own."""


@dataclass(frozen=True, slots=True)
class Await:
    """A barrier, before which each thread waits for its groups, all but the `pending`
    latest ones, and for products of several warps, all but so many."""

    pending: int
    products: int = 0


@dataclass(frozen=True, slots=True)
class Mma:
    """`out` += `a` times `b`, m x k times k x n, by all threads of the group together.

    `a` and `b` lie in shared space and are of one type of two bytes, `out` is f32 and
    lies in the threads' own arrays, as `fragments.parts` says.  An instruction is of so
    many `warps`, and `across` of those stand side by side.  Of four, it goes on until
    an `Await`, a `Settle` or a `Free` ends it, or the loop around it: nothing else
    touches `out` before, and both sides stay as they are.  Four also multiply f8, and
    f32 without its last 13 bits (`fragments.seen`), where both sides lie along k.  The
    left side of those of two bytes may be `own`: threads hold it in `a.array` as they
    would hold a product of m x k.  A
    `fresh` one of four is `out` = `a` times `b`, whatever `out` was.  An `own` one of
    one warp is of each warp by itself, which holds both sides (`fragments.Quads`)."""

    m: int
    n: int
    k: int
    across: int
    out: str
    a: Matrix
    b: Matrix
    warps: int = 1
    own: bool = False
    fresh: bool = False

    @property
    def matrices(self) -> tuple[tuple[Matrix, int, int], ...]:
        """Those in shared space, with rows and columns."""
        right = self.b, self.k, self.n
        if self.own:
            return (right,) if self.warps > 1 else ()
        return (self.a, self.m, self.k), right


@dataclass(frozen=True, slots=True)
class Settle:
    """Each thread waits for products of four warps, all but so many.  All that were
    added up in `sums` are done.  What `made` holds is computed before, beside them."""

    left: int
    sums: tuple[str, ...]
    made: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """What a thread holds in `source`, of f32, rounded to the type of `to`, its own
    array of as many elements of two bytes, for products (`Mma.own`) alone.

    With `bits`, `source` is of bytes: small integers of 8 bits, or halves of bytes.  Of
    each `run` of bytes first the low halves, then the high ones; `more` is added."""

    to: str
    source: str
    bits: int = 0
    more: int = 0
    run: int = 0


class Windows(NamedTuple):
    """How rows of a box lie in a tensor one after the other, as windows of an image do:
    along each axis but the first and the last one, the innermost first, at `first` and
    on by `steps`, so many times (`counts`), then on along the next axis; at last along
    the last one, by 1."""

    first: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]


class Tensor(NamedTuple):
    """A buffer as the engine for copies sees it: along each axis, the innermost first,
    so many elements, so far apart, and of a box so many.  Beyond them are zeros.

    A box that walks has `sizes[1]` rows.  Its corner is where the first row begins, and
    then, for each axis that it walks along, how far the rows lie from there: all the
    same, an entry of the windows."""

    source: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]  # the first is 1
    sizes: tuple[int, ...]
    windows: Windows | None = None

    def places(self, corner: tuple[int, ...]) -> tuple[Any, Any]:
        """Of a box's elements, in order: where they are, and whether they are any."""
        if self.windows is not None:
            return self._walked(corner, self.windows)
        at, there = 0, True
        rank = len(self.sizes)
        for d, first in enumerate(corner):
            shape = [-1 if i == rank - 1 - d else 1 for i in range(rank)]
            x = (np.arange(self.sizes[d]) + first).reshape(shape)
            at = at + x * self.strides[d]
            there = there & (x >= 0) & (x < self.extents[d])
        return np.ravel(at), np.ravel(there)

    def begins(self, corner: tuple[int, ...]) -> bool:
        """Whether a row is where a box's first one is to be."""
        every = zip(corner[1:], *(self.windows or ((), (), ())), strict=False)
        return all(
            not (at - first) % step and 0 <= at - first < step * count
            for at, first, step, count in every
        )

    def _walked(self, corner: tuple[int, ...], walk: Windows) -> tuple[Any, Any]:
        rank, number = len(self.sizes), corner[len(self.sizes) - 1]
        every = list(zip(corner[1 : rank - 1], *walk, strict=True))
        for at, first, step, count in reversed(every):
            number = number * count + (at - first) // step
        left = np.arange(self.sizes[1]) + number
        x = np.arange(self.sizes[0]) + corner[0]
        at, there = x, (x >= 0) & (x < self.extents[0])
        for d, (_, first, step, count) in enumerate(every, 1):
            x = (left % count * step + first + corner[rank - 1 + d])[:, None]
            left = left // count
            at = at + x * self.strides[d]
            there = there & (x >= 0) & (x < self.extents[d])
        x = left[:, None]
        at = at + x * self.strides[-1]
        there = there & (x >= 0) & (x < self.extents[-1])
        return np.ravel(at), np.ravel(there)


class Box(NamedTuple):
    """A part of a tensor from `corner` on, to `array` from `at` on, element by
    element.  One that `both` want, block 2 i and the next one, in the same turn of the
    ring and at the same place, is brought once: half of it by each, to both."""

    array: str
    at: Ex
    tensor: Tensor
    corner: tuple[Ex, ...]
    both: bool = False

    @property
    def size(self) -> int:
        return prod(self.tensor.sizes)

    @property
    def rows(self) -> int:
        return prod(self.tensor.sizes[1:])


def paired(body: Iterable[Stmt]) -> frozenset[str]:
    """Rings whose places two blocks fill together: free once both have freed them."""
    fills = (s for s in body if isinstance(s, Fill))
    return frozenset(s.ring for s in fills if any(b.both for b in s.boxes))


@dataclass(frozen=True, slots=True)
class Ring:
    """So many `places` in shared arrays, which turns 0, 1, 2, ... of the group take one
    after the other: each is filled, read, and free again.  Scope as of an array."""

    name: str
    places: int


@dataclass(frozen=True, slots=True)
class Beside:
    """`body` by the group, and meanwhile `aside` by one thread of `threads` more, which
    do nothing else: it fills places of rings.  Directly in a block."""

    threads: int
    aside: tuple[Stmt, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """Waits until the place of a turn is free, then begins to copy these boxes: all
    that goes to it in this turn."""

    ring: str
    turn: Ex
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Full:
    """Each thread of the group waits until what fills the place of a turn is there."""

    ring: str
    turn: Ex


@dataclass(frozen=True, slots=True)
class Free:
    """All products but so many are done; then the place of a turn is free."""

    ring: str
    turn: Ex
    products: int


@dataclass(frozen=True, slots=True)
class Send:
    """A product of m x n elements, as threads hold it in `source` (`Mma`, by groups of
    four warps), to a tensor from the box's corner on; nothing beyond it is stored.  The
    box's array has pieces of 16 x 64 elements for each warp, which it takes in turn: it
    rounds elements to one, from which the engine for copies stores them while it goes
    on.  Pieces are read until their next turn, or the group's end.  A `turned` product
    goes to a tensor whose rows are the product's columns, in pieces of 64 x 16."""

    m: int
    n: int
    across: int
    source: str
    box: Box
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Regroup:
    """Of four threads side by side, thread q gets from thread p element
    ((i * 4 + q) * `mid` + h) * `last` + e of `source`, for all i, h < mid and e < last,
    as element ((i * `mid` + h) * 4 + p) * `last` + e of `to`.  Both are the threads'
    own arrays of f32, of one size.  Reached by all threads of the group."""

    to: str
    source: str
    mid: int
    last: int


type Stmt = (
    For
    | Regroup
    | Let
    | Assign
    | Array
    | Store
    | Fetch
    | If
    | Barrier
    | GroupReduce
    | Gemm
    | Sort
    | AsyncCopy
    | Commit
    | Await
    | Mma
    | Settle
    | Pack
    | Ring
    | Beside
    | Fill
    | Full
    | Free
    | Send
)


@dataclass(frozen=True, slots=True)
class Param:
    """A flat buffer of `size` elements.

    Buffers that are `shared` may be one memory; then each element is read, if at all,
    by the iteration that writes it, and before it does.  All others overlap nothing.
    """

    name: str
    dtype: DType
    size: int
    writable: bool
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One lowered kernel.  `scratch` buffers are allocated by the runtime; the `note`
    says what it computes, to people.  For a device that interprets, it has no body and
    the kernel itself."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    scratch: tuple[Param, ...] = ()
    threads: int = 1  # group size of `block` loops
    note: str = field(default="", compare=False, repr=False)
    kernel: Kernel | None = None
