"""Families that do what no family may: for trials, which have to survive them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.extract.schedule.kernel import Cost, Kernel
from rewrite.lower.choice import Domains, Holes
from rewrite.lower.device import Caps
from rewrite.lower.families.rows import ROW
from rewrite.lower.loops import For, Function, Lit, Load, Op, Stmt, Store, Var
from rewrite.lower.model import AsTheyAre, DeviceModel

AT = Var("i", I64)


@dataclass(frozen=True)
class Wild(AsTheyAre):
    """As `row`, but for what it writes; `name` says what is wrong."""

    name: str

    def accepts(self, kernel: Kernel) -> str | None:
        return ROW.accepts(kernel)

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        return ROW.cost(kernel, model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        return False

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        made = ROW.lower(kernel, caps, name, strict)
        if self.name == "sleepy":
            time.sleep(3600)
        if self.name == "hungry":
            bytearray(1 << 45)
        if self.name == "wrong":
            return replace(made, body=())
        out, n = made.params[-1].name, made.params[-1].size
        return replace(made, body=_bodies(out, n)[self.name])


def _bodies(out: str, n: int) -> dict[str, tuple[Stmt, ...]]:
    one = Lit(1.0, F32)
    place = Op("imod", (AT, Lit(n, I64)), I64)
    more = Op("add", (Load(out, place, F32), one), F32)
    return {
        "crash": (Store(out, Lit(1 << 44, I64), one),),
        "endless": (For(AT, 1 << 60, "serial", (Store(out, place, more),)),),
        "nonsense": (Store("nowhere", Lit(0, I64), one),),
        # Right where every element is the same: it wins by not reading its input.
        "constant": (For(AT, n, "simd", (Store(out, AT, Lit(1 / 512, F32)),)),),
    }


__all__ = ["Wild"]
