"""What families have in common: the price of a launch, a function by one writer."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...extract.schedule.kernel import Cost, Kernel
from ..choice import Holes
from ..device import Caps
from ..loops import Function, Param
from ..model import DeviceModel, Parts, total
from .nests.writer import Writer, function, parameters


class InParts(ABC):
    """A family of few launches, whose price is that of their parts."""

    name: str

    @abstractmethod
    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        """None where it does not fit the device."""

    def launches(self, kernel: Kernel, model: DeviceModel) -> int:
        return 1

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        parts = self.parts(kernel, model, holes)
        if parts is None:
            return None
        return total(self.name, self.launches(kernel, model), parts, model, holes)


class Written(InParts):
    """One whose function a writer makes, also as a stage of a longer one."""

    @abstractmethod
    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Writer:  # fmt: skip
        """The writer when it is done; `buffers`: those that the slots are."""

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        made = self.write(kernel, caps, parameters(kernel), strict, holes)
        return function(name, made)


def refusal(found: object) -> str | None:
    """Why a kernel is not what was looked for in it, if that is what was found."""
    return found if isinstance(found, str) else None
