"""The stencil family: reductions over windows, such as depthwise convolutions and
pools, from boxes in which what a window reads lies padded and side by side."""

from __future__ import annotations

from dataclasses import dataclass

from ...extract.schedule.kernel import Kernel
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Param
from ..model import AsTheyAre, DeviceModel, Parts, model_of
from .common import Written, refusal
from .stencils.tiling import HIGHEST, price, stencil
from .stencils.windows import windows
from .stencils.writer import Stencils


@dataclass(frozen=True, slots=True)
class Windowed(Written, AsTheyAre):
    """Reductions over the same axes, of values that neighbouring points share, so that
    other units of work read what a window reads."""

    name: str = "stencil"

    def meant(self, model: DeviceModel) -> bool:
        return model.cpu_like and model.vector_bytes > 0

    def accepts(self, kernel: Kernel) -> str | None:
        return refusal(windows(kernel))

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        parts = self.parts(kernel, model)
        if parts is None:
            return {}
        return {"height": tuple(range(1, HIGHEST + 1)), **model.sharing(parts)}

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        s = stencil(kernel, model, holes)
        return s and price(kernel, s, model)

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Stencils:  # fmt: skip
        model = model_of(caps)
        s = stencil(kernel, model, holes)
        assert s is not None
        writer = Stencils(kernel, strict, buffers, s)
        writer.grid = model.outermost(price(kernel, s, model), holes)
        writer.write()
        return writer


STENCIL = Windowed()
