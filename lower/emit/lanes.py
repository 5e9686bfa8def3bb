"""Short vectors in the C family: an operation without a vector form runs lane by lane,
in a helper that the compiler turns into vector instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...egraph.dtypes import BOOL, DType, compute
from ..device import DeviceError
from .convert import FORMATS
from .dialects import C_TYPES, Dialect


def held(dtype: DType) -> str:
    """The type of a value."""
    return str(compute(dtype))


def stored(dtype: DType) -> str:
    """The type of an element in memory."""
    if dtype is BOOL:
        return "u8"
    return f"u{dtype.bits}" if dtype in FORMATS else str(dtype)


def lane_of(dtype: DType) -> str:
    """The type of a value in a lane of a vector."""
    return "u8" if dtype is BOOL else held(dtype)


@dataclass(slots=True)
class Lanes:
    """Helper functions by name, each after those it calls."""

    dialect: Dialect
    helpers: dict[str, str] = field(default_factory=dict[str, str])

    def type(self, dtype: DType, lanes: int) -> str:
        return held(dtype) if lanes == 1 else self.vector(lane_of(dtype), lanes)

    def vector(self, element: str, lanes: int) -> str:
        name = f"{element}x{lanes}"
        if not self.dialect.vector:
            raise DeviceError(
                f"{self.dialect.name} has no {name}; lower with lanes=1 for a device "
                "whose caps().vector_bytes is 0"
            )
        form = self.dialect.vector
        text = form.format(t=element, v=name, n=lanes, c=C_TYPES[element])
        self.helpers.setdefault(name, text)
        return name

    def lanewise(
        self, name: str, result: str, params: Sequence[str], form: str, lanes: int
    ) -> str:
        """`name`, defined as `form` on each lane of its parameters a, b, c."""
        v = self.vector(result, lanes)
        if name in self.helpers:
            return name
        types = [self.vector(p, lanes) for p in params]
        head = ", ".join(f"{t} {p}" for t, p in zip(types, "abc", strict=False))
        lines = [f"{self.dialect.helper} {v} {name}({head}) {{", f"  {v} r;"]
        for i in range(lanes):
            at = {p: self.dialect.lane.format(a=p, i=i, x=f"{i:x}") for p in "abcr"}
            lines.append(f"  {at['r']} = {form.format(**at)};")
        self.helpers[name] = "\n".join((*lines, "  return r;", "}", ""))
        return name

    def lane_call(
        self, name: str, sources: Sequence[DType], result: DType, lanes: int
    ) -> str:
        """The scalar helper `name` on vectors."""
        args = ", ".join(f"{{{p}}}" for p in "abc"[: len(sources)])
        kinds = [lane_of(s) for s in sources]
        form = f"{name}({args})"
        return self.lanewise(f"{name}_x{lanes}", lane_of(result), kinds, form, lanes)

    def lane_select(self, args: list[str], dtype: DType, lanes: int) -> str:
        t = lane_of(dtype)
        form = "({a} ? {b} : {c})"
        name = f"rw_select_{t}_x{lanes}"
        return f"{self.lanewise(name, t, ['u8', t, t], form, lanes)}({', '.join(args)})"

    def convert_lanes(self, text: str, source: str, to: str, lanes: int) -> str:
        """Integers of one width as another, for elements of small floats."""
        if lanes == 1:
            return f"({to}){text}"
        name = f"rw_convert_{source}_{to}_x{lanes}"
        return f"{self.lanewise(name, to, [source], f'({to}){{a}}', lanes)}({text})"

    def splat(self, text: str, dtype: DType, lanes: int) -> str:
        t = lane_of(dtype)
        v, name = self.vector(t, lanes), f"rw_splat_{t}_x{lanes}"
        if name not in self.helpers:
            lane = self.dialect.lane
            at = (lane.format(a="r", i=i, x=f"{i:x}") for i in range(lanes))
            sets = "".join(f"  {r} = a;\n" for r in at)
            head = f"{self.dialect.helper} {v} {name}({t} a) {{\n  {v} r;\n"
            self.helpers[name] = f"{head}{sets}  return r;\n}}\n"
        return f"{name}({text})"
