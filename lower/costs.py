"""Cost models beside the roofline: what a kernel is counted to cost, by a name or by a
function of the user's.

A model is a `KernelCost`: a kernel in, its cost out, None for one that no family runs.
Counts are made into seconds at a rate of the device, since the ops that the host runs
are priced in seconds, too.  The parts of a cost stay those of the roofline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real

from ..egraph.ir.scalars import BY_NAME
from ..extract.schedule.kernel import Cost, Kernel
from ..extract.text.describe import describe
from .axes import normalise, numel
from .model import DeviceModel, Roofline

TIE = 1e-3  # of the roofline's seconds, added to a count: which of equals is better
NODE = 1e-6  # seconds

type Own = Callable[[Kernel], float | Cost | None]


class CostError(ValueError):
    """A cost model of the user's that fails, or whose answer is no cost."""


# ---- what is counted -----------------------------------------------------------------


def nodes(kernel: Kernel) -> int:
    """The kernel and its scalar expressions, loads and constants aside."""
    return 1 + sum(e.op not in ("load", "const") for e in kernel.exprs)


def bytes_moved(kernel: Kernel) -> int:
    """Bytes of the elements read and of those written, each once a kernel.

    Loads at several offsets of a buffer count each, up to the whole buffer.
    """
    read: dict[int, int] = {}
    for e, free in zip(kernel.exprs, kernel.free, strict=True):
        if e.op == "load":
            points = numel(kernel.extents, kernel.axes_of(free))
            read[e.attr[0]] = read.get(e.attr[0], 0) + points
    moved = 0
    for slot, points in read.items():
        dtype, count = kernel.slots[slot]
        moved += min(points, count) * dtype.itemsize
    for o in kernel.outputs:
        points = numel(kernel.extents, o.axes)
        moved += points * kernel.slots[o.slot][0].itemsize
    return moved


def flops(kernel: Kernel) -> int:
    """Scalar operations, each once for every point of the loops that it varies along,
    by their weights in `egraph/ir/scalars.py`; a reduction is one for each term."""
    total = 0
    for e, free in zip(kernel.exprs, kernel.free, strict=True):
        points = numel(kernel.extents, kernel.axes_of(free))
        if e.op == "reduce":
            total += points * numel(kernel.extents, e.attr[1])
        elif e.op == "scan":
            total += points
        elif e.op in BY_NAME:
            total += points * BY_NAME[e.op].flops
    for o in kernel.outputs:
        if o.order:
            line = numel(kernel.extents, o.order.axes)
            total += numel(kernel.extents, o.axes) * line.bit_length()
    return total


COUNTS: Mapping[str, Callable[[Kernel, DeviceModel], float]] = {
    "nodes": lambda kernel, _: nodes(kernel) * NODE,
    "bytes": lambda kernel, model: bytes_moved(kernel) / model.bandwidth,
    "flops": lambda kernel, model: flops(kernel) / model.scalar,
}


# ---- models --------------------------------------------------------------------------


class Counted:
    """The seconds of a count, and a share of the roofline's to tell equals apart."""

    def __init__(self, name: str, roofline: Roofline) -> None:
        self.count, self.roofline = COUNTS[name], roofline
        self.memo: dict[Kernel, Cost | None] = {}

    def __call__(self, kernel: Kernel) -> Cost | None:
        if kernel not in self.memo:
            self.memo[kernel] = self._counted(kernel)
        return self.memo[kernel]

    def _counted(self, kernel: Kernel) -> Cost | None:
        cost = self.roofline(kernel)
        if cost is None:
            return None
        seconds = self.count(normalise(kernel), self.roofline.model)
        return cost._replace(seconds=seconds + TIE * cost.seconds)


class Asked:
    """What a function of the user's says of kernels that some family runs.

    It is asked once about kernels that are equal after `normalise`.
    """

    def __init__(self, own: Own, roofline: Roofline) -> None:
        self.own, self.roofline = own, roofline
        self.memo: dict[Kernel, Cost | None] = {}

    def __call__(self, kernel: Kernel) -> Cost | None:
        kernel = normalise(kernel)
        if kernel not in self.memo:
            cost = self.roofline(kernel)
            self.memo[kernel] = cost and self._ask(kernel, cost)
        return self.memo[kernel]

    def _ask(self, kernel: Kernel, cost: Cost) -> Cost | None:
        try:
            said: object = self.own(kernel)
        except Exception as e:
            raise self._error(kernel, f"raised {type(e).__name__}: {e}") from e
        if said is None:
            return None
        seconds = said.seconds if isinstance(said, Cost) else said
        if isinstance(seconds, bool) or not isinstance(seconds, Real):
            raise self._error(kernel, f"says {said!r}")
        if not (isfinite(seconds) and seconds >= 0):
            raise self._error(kernel, f"says {seconds} seconds")
        if isinstance(said, Cost):
            return said
        return cost._replace(seconds=float(seconds))

    def _error(self, kernel: Kernel, what: str) -> CostError:
        name = model_name(self.own)
        loops = ", ".join(map(str, kernel.extents))
        return CostError(
            f"cost model {name} {what} of the kernel `{describe(kernel)}` over loops "
            f"of [{loops}]; a finite number of seconds, 0 or more, was expected, or a "
            "Cost, or None to refuse"
        )


def model_name(own: Own) -> str:
    return getattr(own, "__name__", type(own).__name__)


__all__ = [
    "COUNTS", "TIE", "Asked", "CostError", "Counted", "Own", "bytes_moved", "flops",
    "model_name", "nodes",
]  # fmt: skip
