"""The coefficients of a device, measured: what a launch costs, and the rates.

Each is fitted to kernels that little else has a part in.  A rate that a kernel's cost
divides its work by is corrected by measured over predicted, so that it is the rate at
which the model's own count of the work is done, whatever it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from statistics import linear_regression, median

import numpy as np

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.kernel import Cost, Launch
from rewrite.lower.device import Curve, Device
from rewrite.lower.loops import For
from rewrite.lower.model import DeviceModel, kernel_cost, model_of
from rewrite.lower.registry import families_for

from ..core.compiled import Compiled
from ..core.inputs import random_arrays
from ..core.options import Options
from ..core.planning import own_plan
from .measure import ROUNDS, Progress, Subject, Timer, kernel_timers, turns

QUIET = 0.25  # of the turns, the quickest: other work of the machine only adds
DEEP = 24  # operations on each element, where they shall be what counts
LEAST = 1e-7  # seconds of a launch that is lost in the noise of the rest


@dataclass(frozen=True, slots=True)
class Sizes:
    """Elements of f32 that lie in the first caches, in the last one, and in neither;
    the sides of products; and elements that fill one cache after the other."""

    near: tuple[int, ...]
    cache: tuple[int, ...]
    memory: tuple[int, int]
    products: tuple[int, ...]
    traffic: tuple[int, ...] = ()
    tiny: tuple[int, ...] = ()  # too little to share out


CPU = Sizes(
    (1 << 13, 1 << 14, 3 << 13, 1 << 15), (1 << 16, 1 << 17, 1 << 18),
    (1 << 24, 1 << 25), (256, 384, 512), tuple(1 << k for k in range(11, 24, 2)),
    (16, 32, 64),
)  # fmt: skip
# A GPU has to be filled: less than some 100,000 threads leave units idle.
GPU = Sizes(
    (1 << 19, 1 << 20, 3 << 19, 1 << 21), (1 << 20, 3 << 19, 1 << 21),
    (1 << 26, 1 << 27), (1024, 1536, 2048),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A coefficient of a device model: as it was assumed, and as it is."""

    name: str
    assumed: float
    measured: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A device as it is: its coefficients, and what its caches make of traffic."""

    single: tuple[Found, ...]
    traffic: Curve  # of `DeviceModel`

    @property
    def rates(self) -> dict[str, float | Curve]:
        """What is kept of it."""
        return {**{f.name: f.measured for f in self.single}, "traffic": self.traffic}


@dataclass(frozen=True, slots=True)
class Probe:
    """A kernel that tells of one coefficient, and its size."""

    of: str
    size: int
    graph: Graph


def flat(n: int, deep: int) -> Graph:
    """One or many operations on each of n elements."""
    b = Builder("probe")
    y = x = b.input("x", F32, (n,))
    for _ in range(deep):
        y = b.bin("sub", b.bin("mul", y, x), x)
    return b.build({"y": b.un("neg", y)})


def product(n: int) -> Graph:
    """Of matrices that lie as a register tile reads them: of multiply-adds alone."""
    b = Builder("probe")
    x, w = b.input("x", F32, (n, n)), b.input("w", F32, (n, n))
    return b.build({"y": b.matmul(x, w)})


def probes(cpu_like: bool) -> list[Probe]:
    sizes = CPU if cpu_like else GPU
    return [
        *(Probe("alone", n, flat(n, 0)) for n in sizes.tiny),
        *(Probe("cache", n, flat(n, 0)) for n in sizes.cache),
        *(Probe("memory", n, flat(n, 0)) for n in sizes.memory),
        *(Probe("traffic", n, flat(n, 0)) for n in sizes.traffic),
        *(Probe("scalar", n, flat(n, DEEP)) for n in sizes.near),
        *(Probe("product", n, product(n)) for n in sizes.products),
    ]


def calibrate(
    device: Device, rounds: int = ROUNDS,
    tell: Progress = lambda what, done, of: None,
) -> Measured:  # fmt: skip
    """The coefficients of a device, beside those that its kind is assumed to have."""
    model = model_of(replace(device.caps(), rates=()))
    asked = probes(model.cpu_like)
    made = [_program(p.graph, device, model) for p in asked]
    times = turns([timer for timer, *_ in made], rounds, tell)
    seconds = [float(np.quantile(t, QUIET)) for t in times]
    costs = [cost for _, cost, _ in made]
    return fitted(model, asked, seconds, costs, [shared for *_, shared in made])


def _program(
    graph: Graph, device: Device, model: DeviceModel
) -> tuple[Timer, Cost, bool]:
    """A timer of the graph's one kernel, what the model says of it, and whether threads
    share it out."""
    price = kernel_cost(model, families_for(strict=False))
    options = Options(fallback=False)
    c = Compiled(graph, own_plan(graph, price), device, options, 0.0, choices={})
    (launch,) = c.schedule().steps
    assert isinstance(launch, Launch)
    cost, ready = price(launch.kernel), c.executable()
    assert cost is not None and ready is not None
    (timer,) = kernel_timers(Subject(ready, random_arrays(graph, {}, 0))).values()
    body = c.functions()[0].body
    return timer, cost, any(isinstance(s, For) and s.kind == "grid" for s in body)


def fitted(
    model: DeviceModel, asked: Sequence[Probe], seconds: Sequence[float],
    costs: Sequence[Cost], shared: Sequence[bool],
) -> Measured:  # fmt: skip
    """The coefficients that explain these times of probes."""

    def of(what: str) -> list[int]:
        return [i for i, p in enumerate(asked) if p.of == what]

    deep = of("scalar")
    lines = linear_regression(
        [costs[i].scalar for i in deep], [seconds[i] for i in deep]
    )
    launch = max(lines.intercept, LEAST)
    ratios = [
        (seconds[i] - launch - costs[i].scalar * lines.slope) / costs[i].product
        for i in of("product")
    ]  # some panels are packed before they are multiplied
    small, large = of("memory")
    more = asked[large].size - asked[small].size
    moved = 2 * F32.itemsize  # bytes of an element, read and written
    values = {
        "launch": launch,
        "cache_bandwidth": median(
            moved * asked[i].size / max(seconds[i] - launch, LEAST) for i in of("cache")
        ),
        "bandwidth": moved * more / max(seconds[large] - seconds[small], LEAST),
        "scalar": model.scalar / max(lines.slope, 1e-3),
        "product": model.product / max(median(ratios), 1e-3),
    }
    if alone := of("alone"):
        values["alone"] = median(seconds[i] for i in alone)
    net = [(moved * asked[i].size, seconds[i] - launch * shared[i])
           for i in of("traffic")]  # fmt: skip
    assumed = {**asdict(model), "alone": model.alone or model.launch}
    result = tuple(Found(k, assumed[k], v) for k, v in values.items())
    return Measured(result, _traffic(net, values["bandwidth"]))


def _traffic(points: Sequence[tuple[int, float]], bandwidth: float) -> Curve:
    """Bytes and their seconds, rising.  Noise only adds: nothing is slower than memory,
    and a point is left out where more bytes took no longer."""
    kept: list[tuple[float, float]] = []
    for size, seconds in reversed(points):
        seconds = min(seconds, size / bandwidth)
        if 0 < seconds < (kept[-1][1] if kept else inf):
            kept.append((float(size), seconds))
    return tuple(reversed(kept))


__all__ = ["Found", "Measured", "Probe", "calibrate", "fitted", "probes"]
