"""Which operands a kernel may overwrite, as the family that runs it is lowered."""

from __future__ import annotations

from dataclasses import replace

from ..extract.memory.lifetimes import Pairs, Reuse, pointwise, same_place
from ..extract.schedule.kernel import Kernel, Output, bits
from .axes import normalise
from .choice import Choices
from .device import Caps
from .lower import NONE, LoweringError, choose, decide
from .model import DeviceModel, model_of


class InPlace:
    """`Reuse` for a device; each kernel is looked at once."""

    def __init__(
        self, model: DeviceModel, strict: bool, choices: Choices = NONE
    ) -> None:
        self.model, self.strict, self.choices = model, strict, choices
        self.memo: dict[Kernel, Pairs] = {}

    def __call__(self, kernel: Kernel) -> Pairs:
        if kernel not in self.memo:
            self.memo[kernel] = self._pairs(kernel)
        return self.memo[kernel]

    def _pairs(self, kernel: Kernel) -> Pairs:
        if not same_place(kernel):
            return ()
        kernel = normalise(kernel)
        try:
            family, holes = decide(kernel, self.model, self.strict, self.choices)
        except LoweringError:
            return ()
        numbers = {o.slot: k for k, o in enumerate(kernel.outputs) if not o.update}

        def may(out: int, slot: int) -> bool:
            read = loads(kernel, slot)
            return family.overwrites(kernel, self.model, numbers[out], read, holes)

        return tuple(pair for pair in same_place(kernel) if may(*pair))


def loads(kernel: Kernel, slot: int) -> int:
    """Bits of the expressions that load from a slot."""
    return bits(
        tuple(
            i
            for i, e in enumerate(kernel.exprs)
            if e.op == "load" and e.attr[0] == slot
        )
    )


def settled(
    kernel: Kernel, pairs: Pairs, caps: Caps | None = None, strict: bool = False
) -> Kernel:
    """Without the outputs before an update that would store what lies there already:
    an operand, where it and the output are one memory by `pairs`.  With them, if a
    device is quicker so: they are shared out in another way."""
    if not kernel.updates:
        return kernel

    def there(o: Output) -> bool:
        e = kernel.exprs[o.expr]
        same = o.update is None and e.op == "load" and (o.slot, e.attr[0]) in pairs
        return same and e.attr[1:] == (o.offset, ())

    made = replace(kernel, outputs=tuple(o for o in kernel.outputs if not there(o)))
    if caps is None:
        return made
    both = (
        choose(normalise(k), model_of(caps), strict)[1].seconds for k in (made, kernel)
    )
    return made if next(both) <= next(both) else kernel


def reuse_of(caps: Caps | None, strict: bool, choices: Choices = NONE) -> Reuse:
    """What a device's kernels may overwrite; without `caps`, an interpreter's."""
    if caps is None or caps.interprets:
        return pointwise
    return InPlace(model_of(caps), strict, choices) if caps.overlap else nothing


def nothing(kernel: Kernel) -> Pairs:
    return ()


__all__ = ["InPlace", "reuse_of", "settled"]
