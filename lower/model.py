"""What a device costs: a dozen coefficients, and the price of a kernel under them.

All figures are of the whole device.  `Family.cost` fills in the parts; their sum with
weight 0.1 beside the largest gives plateaus a slope, so that a search sees progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from ..egraph.ir.dtypes import DType
from ..extract.schedule.kernel import Cost, Kernel
from .axes import normalise
from .choice import Domains, Holes, hole
from .device import Caps, Curve
from .loops import Function, LoopKind

DOUBT = 8.0  # by so much a prediction of a small kernel may be off


class Parts(NamedTuple):
    """Seconds by what they are spent on."""

    bytes: float = 0.0
    scalar: float = 0.0
    product: float = 0.0


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """Seconds, bytes and operations of one device."""

    name: str
    cpu_like: bool
    launch: float  # seconds a top-level statement
    bandwidth: float  # bytes a second from memory
    cache_bandwidth: float  # bytes a second from the last cache
    cache: int  # bytes of the last cache
    on_chip: int  # bytes a unit keeps close between passes
    units: int  # rows (or groups) that run at once
    group: int  # threads of a group; 1 on a CPU
    scalar: float  # vectorised f32 flops a second of elementwise code
    narrow: float  # slow-down of code that does not vectorise or coalesce
    product: float  # f32 multiply-adds a second of the contract family
    vector_bytes: int = 0
    largest: int = 256  # threads that a group may have
    alone: float = 0.0  # seconds of a launch that one thread runs; 0: as any launch
    # Where it was measured: points (bytes that a kernel moves, seconds), linear in
    # between and from nothing, then at `bandwidth`; without, all at `bandwidth`.
    traffic: Curve = ()
    library: bool = False  # there is one of products
    sorts: bool = False  # and one of sorts
    shared: int = 0  # bytes that a group of threads may have, if more than `on_chip`
    buffers: int = 1 << 16  # that a kernel may read and write, scratch among them
    wide: int = 0  # bytes that a thread reads or stores at once; 0: one element
    # Points (bytes of one access of a thread, share of the bandwidth that they reach).
    widths: Curve = ()
    matrix: float = 0.0  # multiply-adds a second of warps' instructions on 2 bytes
    grouped: float = 0.0  # of those of four warps
    engine: float = (
        0.0  # bytes a second that the engine for copies brings from the cache
    )
    meeting: float = 0.0  # seconds for which a group's threads wait for each other

    def scalar_rate(self, dtype: DType) -> float:
        return self.scalar / max(dtype.itemsize // 4, 1)

    def moving(self, far: float) -> float:
        """Seconds of the bytes that a kernel reads for the first time or stores."""
        left = low = 0.0
        for right, high in self.traffic:
            if far <= right:
                return low + (far - left) * (high - low) / (right - left)
            left, low = right, high
        return low + (far - left) / self.bandwidth

    def share(self, width: int) -> float:
        """Of the bandwidth, that accesses of so many bytes a thread reach."""
        reached = (share for bytes_, share in self.widths if bytes_ <= width)
        least = self.widths[0][1] if self.widths else 1.0
        return max(reached, default=least)

    def outermost(self, parts: Parts, holes: Holes = ()) -> LoopKind:
        """Serial, where sharing the work out costs more than it saves."""
        small = self.cpu_like and max(parts) < self.launch
        return "grid" if hole(holes, "shared", int(not small)) else "serial"

    def sharing(self, parts: Parts) -> Domains:
        """The hole `shared`, where it is not plain which is better."""
        doubtful = self.cpu_like and DOUBT > max(parts) / self.launch > 1 / DOUBT
        return {"shared": (0, 1)} if doubtful else {}

    def product_rate(self, dtype: DType) -> float:
        return self.product / max(dtype.itemsize // 4, 1)


GENERIC_GPU = DeviceModel(
    "gpu", False, 5e-6, 400e9, 1.2e12, 4 << 20, 32 << 10, 40, 256,
    scalar=3e12, narrow=8, product=2e12,
)  # fmt: skip
H200 = DeviceModel(
    "h200", False, 3e-6, 4.2e12, 9e12, 50 << 20, 48 << 10, 264, 256,
    scalar=25e12, narrow=8, product=17.6e12, shared=227 << 10,
    # Beside a copy by 16 bytes; softmax, norms and copies of bf16 and f32 on an H100.
    widths=((1, 0.25), (2, 0.45), (4, 0.7), (8, 0.87), (16, 1.0)), meeting=3e-7,
    matrix=300e12, grouped=427e12, engine=14.5e12,
)  # fmt: skip


def cpu_model(caps: Caps) -> DeviceModel:
    """A CPU by its threads and vector width: 17e9 vectorised f32 flops a 16-byte unit
    and thread, memory shared by the threads."""
    width = max(caps.vector_bytes, 16)
    per_thread = 17e9 * width / 16
    return DeviceModel(
        caps.name, True, 4e-6, min(20e9 * caps.threads, 120e9), 40e9 * caps.threads,
        16 << 20, 256 << 10, caps.threads, 1,
        scalar=per_thread * caps.threads, narrow=width / 8,
        product=20e9 * width / 16 * caps.threads, vector_bytes=caps.vector_bytes,
        library=bool(caps.library),
    )  # fmt: skip


def model_of(caps: Caps) -> DeviceModel:
    """The model of a device by its capabilities, and by what was measured of it."""
    base = replace(
        _by_kind(caps), buffers=caps.max_buffers, wide=caps.wide, sorts=caps.sorts
    )
    rates = base.matrix * (caps.warps >= 1), base.grouped * (caps.warps >= 4)
    base = replace(base, matrix=rates[0], grouped=rates[1])
    return replace(base, **dict(caps.rates))


def _by_kind(caps: Caps) -> DeviceModel:
    """A GPU whose groups may share more than 96 KiB is one for data centres."""
    if caps.cpu_like:
        return cpu_model(caps)
    base = H200 if caps.shared_bytes > 96 << 10 else GENERIC_GPU
    return DeviceModel(
        caps.name, False, base.launch, base.bandwidth, base.cache_bandwidth, base.cache,
        min(base.on_chip, caps.shared_bytes), base.units, caps.threads,
        scalar=base.scalar, narrow=base.narrow, product=base.product,
        largest=caps.max_threads, library=bool(caps.library),
        shared=caps.shared_bytes, widths=base.widths, meeting=base.meeting,
        matrix=base.matrix, grouped=base.grouped, engine=base.engine,
    )  # fmt: skip


class Layout(NamedTuple):
    """How the function of a kernel wants an operand that never changes to lie: as the
    output of `made`, which reads it as it is."""

    slot: int
    made: Kernel


class Family(Protocol):
    """A way to run a class of kernels: legality, price and code."""

    @property
    def name(self) -> str: ...

    def meant(self, model: DeviceModel) -> bool:
        """Whether it is for such a device at all, whatever the kernel."""
        ...

    def accepts(self, kernel: Kernel) -> str | None: ...

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """Seconds, cheap to find, that `cost` cannot be below."""
        ...

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        """What a search may set; together, values may still not fit the device."""
        ...

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        """None where it does not fit the device."""
        ...

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function: ...

    def overwrites(
        self,
        kernel: Kernel,
        model: DeviceModel,
        output: int,
        loads: int,
        holes: Holes = (),
    ) -> bool:
        """Whether the output may lie where the `loads` (bits of expressions, each of
        the element that the output writes at that point) read from: no load is made
        after the store of its element, nor by another unit of work."""
        ...

    def layouts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Layout, ...]:
        """The constant operands that the function expects in another layout."""
        ...

    def form(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Holes:
        """The holes that decide which statements the function has, its own decisions
        among them: kernels of other sizes with the same differ in numbers, mostly."""
        ...


SHOWS = 0.1  # of the seconds that are hidden behind others


class Anywhere:
    """Of a family for every device, whose units may read what others store."""

    def meant(self, model: DeviceModel) -> bool:
        return True

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        return False


class Plain(Anywhere):
    """Of a family whose statements depend little on sizes."""

    def form(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Holes:
        return holes


class AsTheyAre(Plain):
    """Of a family that reads every operand where it lies, as it is."""

    def layouts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Layout, ...]:
        return ()


def total(
    family: str, launches: int, parts: Parts, model: DeviceModel, holes: Holes = ()
) -> Cost:
    """The same units do scalar work and products, one after the other; of memory and
    work most of the shorter is hidden behind the longer."""
    launch = launches * model.launch
    if model.alone and model.outermost(parts, holes) == "serial":  # on one of the units
        launch = launches * model.alone
        once = parts.scalar * model.units, parts.product * model.units
        parts = Parts(parts.bytes, *once)
    return Cost(launch + overlapped(parts), launch, *parts, family)


def overlapped(parts: Parts) -> float:
    """Seconds of parts that run side by side."""
    work = parts.scalar + parts.product
    return max(parts.bytes, work) + SHOWS * min(parts.bytes, work)


def summed(parts: Iterable[Parts]) -> Parts:
    """Of stages, one after the other."""
    return Parts(*(sum(each) for each in zip(*parts, strict=True)))


class Roofline:
    """The least cost over the families, memoised by kernel."""

    def __init__(self, model: DeviceModel, families: Sequence[Family]) -> None:
        self.model, self.families = model, families
        self.memo: dict[Kernel, Cost | None] = {}

    def __call__(self, kernel: Kernel) -> Cost | None:
        if kernel not in self.memo:
            self.memo[kernel] = self._least(kernel)
        return self.memo[kernel]

    def floor(self, written: int) -> float:
        """A launch, and the way of what is stored to memory."""
        alone = self.model.alone or self.model.launch
        return min(alone, self.model.launch) + self.model.moving(written)

    def _least(self, kernel: Kernel) -> Cost | None:
        result = cheapest(normalise(kernel), self.families, self.model)
        return result[1] if result else None


def cheapest(
    kernel: Kernel, families: Sequence[Family], model: DeviceModel
) -> tuple[Family, Cost] | None:
    """The family with the least cost; the first of equals.  None takes a kernel of more
    buffers than the device binds: the search goes on with smaller ones."""
    if len(kernel.slots) > model.buffers:
        return None
    taken = [f for f in families if f.meant(model) and f.accepts(kernel) is None]
    floors = [(f.floor(kernel, model), i) for i, f in enumerate(taken)]
    best: tuple[float, int, Cost] | None = None
    for low, i in sorted(floors):  # where much costs little, the rest is not looked at
        if best is not None and (low, i) >= best[:2]:
            break
        cost = taken[i].cost(kernel, model)
        if cost is not None and (best is None or (cost.seconds, i) < best[:2]):
            best = cost.seconds, i, cost
    return (taken[best[1]], best[2]) if best else None


def kernel_cost(device: Caps | DeviceModel, families: Sequence[Family]) -> Roofline:
    model = model_of(device) if isinstance(device, Caps) else device
    return Roofline(model, families)
