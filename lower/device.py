"""What a backend is: the `Device` protocol, its capabilities, its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..egraph.ir.dtypes import DType
from ..egraph.ir.scalars import Array
from .loops import Function, Windows


class DeviceError(RuntimeError):
    """A device that is missing or refuses: names the device and what to do next."""


class CompileError(DeviceError):
    """Source that did not compile; carries the compiler's log."""


type Curve = tuple[tuple[float, float], ...]  # points, rising in both


@dataclass(frozen=True, slots=True)
class Caps:
    """What lowering needs to know of a device."""

    name: str
    cpu_like: bool  # one row an item, explicit tiles; else blocks and shared memory
    dtypes: frozenset[DType]  # that buffers may hold
    threads: int  # parallel units (CPU) or the default group size (GPU)
    max_threads: int  # the largest group
    shared_bytes: int  # on-chip memory of a group
    vector_bytes: int  # widest CPU vector; 0: do not emit `lanes`
    max_buffer: int = 1 << 40  # bytes
    rates: tuple[
        tuple[str, float | Curve], ...
    ] = ()  # measured, by name (`DeviceModel`)
    library: str = ""  # of products, which functions may call (`Gemm`): its name
    sorts: bool = False  # there is a library of sorts, which they may call (`Sort`)
    last_cache: int = (
        0  # bytes, of a CPU; what is larger is written past it; 0: nothing
    )
    overlap: bool = True  # a launch may be given one memory as two buffers
    max_buffers: int = 1 << 16  # that one launch binds
    interprets: bool = False  # it runs kernels as they are: none is lowered or tuned
    # Warps of a GPU that multiply matrices together, at most: 0, 1 (then threads may
    # copy to shared memory while they go on), 4.
    warps: int = 0
    wide: int = 0  # bytes that a thread of a GPU accesses at once; 0: one element


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a device is there, and what it is or why not."""

    ok: bool
    detail: str


LINE = 128  # bytes of a row that is mixed


class TensorMap(NamedTuple):
    """A buffer of a function, by its number, as the engine for copies is told of it
    (`loops.Tensor`): rows of a box are mixed as in swizzled arrays, if they are whole
    lines."""

    buffer: int
    dtype: DType
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    windows: Windows | None = None

    @property
    def mixed(self) -> bool:
        return self.sizes[0] * self.dtype.itemsize == LINE


@dataclass(frozen=True, slots=True)
class Grid:
    """One kernel of a function's: `groups` groups of `threads` threads; `maps` follow
    its buffers."""

    name: str
    groups: int
    threads: int
    shared_bytes: int
    maps: tuple[TensorMap, ...] = ()


class Placed(NamedTuple):
    """Matrices in a buffer of a function, by its number among parameters and scratch:
    element (i, j) of the g-th at `at` + `apart` * g + `down` * i + `across` * j."""

    buffer: int
    dtype: DType
    at: int
    apart: int
    down: int
    across: int


@dataclass(frozen=True, slots=True)
class Products:
    """One call of the device's library: `count` products like a `Gemm` at once."""

    name: str
    count: int
    m: int
    n: int
    k: int
    out: Placed
    a: Placed
    b: Placed


type Start = Grid | Products


@dataclass(frozen=True, slots=True)
class KernelSource:
    """What a device compiles, and how each function of it is started."""

    text: str
    launches: Mapping[str, tuple[Start, ...]]  # by function; none: called as it is


class Prepared(Protocol):
    """Launches in order, to be repeated."""

    def place(self, moved: Mapping[int, Any]) -> None:
        """From now on the buffers of these numbers are others; who places them keeps
        them alive as long as they are used."""
        ...

    def __call__(self) -> None: ...


class Module(Protocol):
    """Compiled functions, by name."""

    def launch(self, name: str, buffers: Sequence[Any], scratch: Any = None) -> None:
        """Starts the function on device buffers, in parameter order."""
        ...

    def prepare(
        self, steps: Sequence[tuple[str, Sequence[int]]], buffers: Sequence[Any]
    ) -> Prepared:
        """Each (function, its arguments' numbers among `buffers`) in order."""
        ...


class Device(Protocol):
    """One small interface; flat buffers of bytes.

    Copies into buffers and launches may return before they are done, and take place in
    the order in which they were asked for; until `sync` the caller leaves the arrays
    alone that it copies from.  `sync` waits, and raises DeviceError with the names of
    the kernels where one of them failed; `copy_out` waits for what it reads.
    """

    name: str

    def probe(self) -> Probe:
        """Never raises."""
        ...

    def caps(self) -> Caps: ...

    def alloc(self, nbytes: int) -> Any:
        """Memory that may hold anything; DeviceError where there is no more."""
        ...

    def free(self, buffer: Any) -> None:
        """Ends its use, and that of its views; without, the last reference does."""
        ...

    def view(self, buffer: Any, offset: int, nbytes: int) -> Any:
        """A part of a buffer, for arena slots; offsets are multiples of 256."""
        ...

    def wrap(self, array: Array) -> Any | None:
        """A contiguous array's own memory as a buffer; None where it must be copied."""
        ...

    def copy_in(self, buffer: Any, array: Array) -> None: ...

    def copy_out(self, buffer: Any, array: Array) -> None: ...

    def source(self, functions: Sequence[Function]) -> str:
        """The text alone, whether or not the device could run it."""
        ...

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        """The text of functions; raises DeviceError for a dtype the device lacks."""
        ...

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> Module:  # fmt: skip
        """What `emit` made of functions, compiled; their bodies are not looked at.
        What serves again of `earlier` modules, of the program at other sizes, need not
        be.

        `contract`: an `fma` may be computed with one rounding.  Products and sums
        have one each in any case.  Raises CompileError with the log.
        """
        ...

    def binary(self, source: KernelSource, contract: bool) -> bytes | None:
        """The compiled form of a source, kept on disk and found there again; None
        where the device hands out none."""
        ...

    def compile(self, functions: Sequence[Function], contract: bool = True) -> Module:
        """`build` of what `emit` makes."""
        ...

    def sync(self) -> None:
        """Waits for all that was launched."""
        ...

    def time(self, run: Callable[[], None]) -> float:
        """Seconds the device spends on what `run` launches."""
        ...
