"""The contract family: sums of products over tiles, with prologue and epilogue fused."""

from __future__ import annotations

from dataclasses import dataclass

from ...extract.kernel import Cost, Kernel
from ..device import Caps
from ..loops import Function
from ..model import DeviceModel, Parts, total
from .axes import bits, numel
from .panels import Blocking, Panels, blocking
from .plan import each, facts, reach
from .price import occupancy
from .products import Contraction, classify, contiguous
from .writer import function, parameters

PACK = 2.0  # flops worth of packing an element, 8 more where it is transposed


@dataclass(frozen=True, slots=True)
class Contract:
    """Kernels all of whose reductions are sums of products on the same axes."""

    name: str = "contract"

    def accepts(self, kernel: Kernel) -> str | None:
        found = classify(kernel)
        return found if isinstance(found, str) else None

    def cost(self, kernel: Kernel, model: DeviceModel) -> Cost | None:
        c = classify(kernel)
        assert isinstance(c, Contraction)
        sizes = c.sizes(kernel)
        blocks = blocking(sizes, c.dtype.itemsize, model.vector_bytes, model.units)
        if not model.cpu_like:
            return None
        return total(self.name, 1, _parts(kernel, c, blocks, model), model)

    def lower(self, kernel: Kernel, caps: Caps, name: str, strict: bool) -> Function:
        c = classify(kernel)
        assert isinstance(c, Contraction)
        sizes = c.sizes(kernel)
        blocks = blocking(sizes, c.dtype.itemsize, caps.vector_bytes, caps.threads)
        panels = Panels(kernel, strict, parameters(kernel), c, blocks)
        panels.run()
        return function(name, panels)


def _parts(
    kernel: Kernel, c: Contraction, blocks: Blocking, model: DeviceModel
) -> Parts:
    batch, m, n, k = c.sizes(kernel)
    down, across = -(-m // blocks.rows), -(-n // blocks.columns)
    spread = occupancy(batch * down * across, model.units)
    height = -(-m // blocks.height) * blocks.height
    width = -(-n // blocks.width) * blocks.width
    macs = batch * height * width * k * len(c.products)
    left, right = c.sides
    scalar = 0.0
    for sides, count, repeat, inner in (
        (left, batch * m * k, across, c.k), (right, batch * n * k, down, c.n)
    ):  # fmt: skip
        for side in sides:
            flops = _flops(kernel, side, 0) + PACK
            flops += 0 if contiguous(kernel, side, inner) else 4 * PACK
            scalar += flops * count * repeat
    roots = bits(tuple(p.root for p in c.products))
    scalar += batch * m * n * (_flops(kernel, _stored(kernel), roots) + 1)
    rate = model.scalar_rate(c.dtype)
    return Parts(
        _traffic(kernel, c, (down, across), model),
        scalar / rate / spread,
        macs / model.product_rate(c.dtype) / spread,
    )


def _stored(kernel: Kernel) -> tuple[int, ...]:
    return tuple(o.expr for o in kernel.outputs)


def _flops(kernel: Kernel, tops: tuple[int, ...], have: int) -> int:
    """Flops of one evaluation of `tops`, given `have`."""
    f = facts(kernel)
    return sum(f.heavy[e] for e in each(reach(f, bits(tops), have)))


def _traffic(
    kernel: Kernel, c: Contraction, tiles: tuple[int, int], model: DeviceModel
) -> float:
    """Each side is read once per tile of the other one, from the cache if it fits."""
    f = facts(kernel)
    far = near = 0.0
    for sides, repeat in zip(c.sides, (tiles[1], tiles[0]), strict=True):
        for e in each(reach(f, bits(tuple(x for s in sides for x in s)), 0)):
            x = kernel.exprs[e]
            if x.op == "load":
                dtype, count = kernel.slots[x.attr[0]]
                touched = numel(kernel.extents, kernel.axes_of(kernel.free[e]))
                size = min(touched, count) * dtype.itemsize
                far += size * (1 if size <= model.cache else repeat)
                near += size * (repeat - 1) if size <= model.cache else 0
    for o in kernel.outputs:
        far += numel(kernel.extents, o.axes) * kernel.slots[o.slot][0].itemsize
    return far / model.bandwidth + near / model.cache_bandwidth


CONTRACT = Contract()
