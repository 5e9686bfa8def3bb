"""The stencil family: reductions over windows, such as depthwise convolutions and
pools, from boxes in which what a window reads lies padded and side by side."""

from __future__ import annotations

from dataclasses import dataclass

from ...extract.schedule.kernel import Cost, Kernel
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Function
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .nests.writer import function, parameters
from .stencils.tiling import HIGHEST, price, stencil
from .stencils.windows import windows
from .stencils.writer import Stencils


@dataclass(frozen=True, slots=True)
class Windowed(AsTheyAre):
    """Reductions over the same axes, of values that neighbouring points share."""

    name: str = "stencil"

    def meant(self, model: DeviceModel) -> bool:
        return model.cpu_like and model.vector_bytes > 0

    def accepts(self, kernel: Kernel) -> str | None:
        result = windows(kernel)
        return result if isinstance(result, str) else None

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        parts = self.parts(kernel, model)
        if parts is None:
            return {}
        return {"height": tuple(range(1, HIGHEST + 1)), **model.sharing(parts)}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        parts = self.parts(kernel, model, holes)
        return parts and total(self.name, 1, parts, model, holes)

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        s = stencil(kernel, model, holes)
        return s and price(kernel, s, model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """Other units of work read what a window reads."""
        return False

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        model = model_of(caps)
        s = stencil(kernel, model, holes)
        assert s is not None
        writer = Stencils(kernel, strict, parameters(kernel), s)
        writer.grid = model.outermost(price(kernel, s, model), holes)
        writer.write()
        return function(name, writer)


STENCIL = Windowed()
