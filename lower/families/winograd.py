"""The Winograd family: convolutions with filters of three taps by fewer products."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...extract.schedule.kernel import Kernel
from ..axes import ceil_div
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Function, Param
from ..model import DeviceModel, Layout, Parts, Plain, model_of
from .common import InParts, refusal
from .contract import CONTRACT, epilogue, traffic
from .nests.writer import function, parameters
from .products.filter_tiles import Tiles, domains, seconds, tiles, work
from .products.filtering import Convolution, convolution
from .products.filters import Filters
from .products.products import Contraction
from .products.spread import layout, spread_of


@dataclass(frozen=True, slots=True)
class Winograd(InParts, Plain):
    """One product of which a side slides over three places along some axes."""

    name: str = "winograd"

    def accepts(self, kernel: Kernel) -> str | None:
        return refusal(convolution(kernel))

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        parts = self.parts(kernel, model)
        return {**domains(), **model.sharing(parts)} if parts else {}

    def launches(self, kernel: Kernel, model: DeviceModel) -> int:
        """Filters that may change are spread first."""
        return 1 if _convolution(kernel)[1].fixed else 2

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        c, of = _convolution(kernel)
        t = tiles(of, model, holes)
        return t and _parts(kernel, c, t, model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        return CONTRACT.overwrites(kernel, model, output, loads, holes)

    def layouts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Layout, ...]:
        c, t = _tiled(kernel, model, holes)
        return (layout(kernel, c, t),) if t.of.fixed else ()

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        model, params = model_of(caps), list(parameters(kernel))
        c, t = _tiled(kernel, model, holes)
        spread, scratch = spread_of(kernel, c, t), tuple[Param, ...]()
        if t.of.fixed:
            params[spread.slot] = replace(params[spread.slot], size=spread.size)
        else:
            scratch = (Param("s0", c.dtype, spread.size, True),)
        writer = Filters(kernel, strict, (*params, *scratch), c, t)
        writer.grid = model.outermost(_parts(kernel, c, t, model), holes)
        writer.write()
        return function(name, writer, scratch)


def _convolution(kernel: Kernel) -> tuple[Contraction, Convolution]:
    result = convolution(kernel)
    assert not isinstance(result, str), result
    return result


def _tiled(
    kernel: Kernel, model: DeviceModel, holes: Holes
) -> tuple[Contraction, Tiles]:
    c, of = _convolution(kernel)
    t = tiles(of, model, holes)
    assert t is not None
    return c, t


def _parts(kernel: Kernel, c: Contraction, t: Tiles, model: DeviceModel) -> Parts:
    w, (batch, m, n, k) = work(t), c.sizes(kernel)
    across = ceil_div(n, t.columns)
    shape = w.units // (batch * across), across
    end = batch * epilogue(kernel, c, (m, n), shape, False)
    size = spread_of(kernel, c, t).size * c.dtype.itemsize
    moved = traffic(kernel, c, shape, model)
    scalar = seconds(w._replace(macs=0.0, scalar=w.scalar + end), t.of, model)
    if t.of.fixed:
        moved += max(size - batch * n * k * c.dtype.itemsize, 0) / model.bandwidth
    else:  # stored and read before products begin, not beside them
        scalar += 2 * size / model.bandwidth
    return Parts(moved, scalar, seconds(w._replace(scalar=0.0), t.of, model))


WINOGRAD = Winograd()
