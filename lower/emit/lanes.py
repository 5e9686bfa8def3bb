"""Short vectors in the C family: an operation without a vector form runs lane by lane,
in a helper that the compiler turns into vector instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...egraph.ir.dtypes import BOOL, DType, compute
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
        of = dict(zip("abc", params, strict=False))
        body = self.lane_loop if self.dialect.lane_loop else self.lane_list
        lines = [f"  {v} r;", *body(form, result, of, lanes), "  return r;"]
        if name in self.dialect.whole:  # which a compiler reads in half the time
            test, at_once = self.dialect.whole[name]
            at_once = f"  return {at_once.format(a='a', b='b', c='c')};"
            lines = [f"#ifdef {test}", at_once, "#else", *lines, "#endif"]
        start = f"{self.dialect.helper} {v} {name}({head}) {{"
        self.helpers[name] = "\n".join((start, *lines, "}", ""))
        return name

    def lane_list(
        self, form: str, result: str, params: Mapping[str, str], lanes: int
    ) -> list[str]:
        """One statement a lane, into the vector r."""
        lines: list[str] = []
        for i in range(lanes):
            names = ("r", *params)
            at = {p: self.dialect.lane.format(a=p, i=i, x=f"{i:x}") for p in names}
            lines.append(f"  {at['r']} = {form.format(**at)};")
        return lines

    def lane_loop(
        self, form: str, result: str, params: Mapping[str, str], lanes: int
    ) -> list[str]:
        """A loop over copies in memory, which compile to registers."""
        of = {"r": result, **params}
        at = {p: f"rw_{p}[i]" for p in of}
        return [
            "  " + " ".join(f"{t} rw_{p}[{lanes}];" for p, t in of.items()),
            *(f"  memcpy(rw_{p}, &{p}, sizeof {p});" for p in params),
            "  #pragma omp simd",
            f"  for (int i = 0; i < {lanes}; i++) {at['r']} = {form.format(**at)};",
            "  memcpy(&r, rw_r, sizeof r);",
        ]

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

    def integer_fma(self, args: list[str], dtype: DType, lanes: int) -> str:
        if lanes == 1 or self.dialect.infix:
            return "({} * {} + {})".format(*args)
        t, form = lane_of(dtype), "({a} * {b} + {c})"
        name = self.lanewise(f"rw_fma_{t}_x{lanes}", t, [t, t, t], form, lanes)
        return f"{name}({', '.join(args)})"

    def contracted(self, args: list[str], dtype: DType, lanes: int) -> str:
        """a * b + c in a helper in which the compiler may make one operation of it."""
        v = self.type(dtype, lanes)
        name = f"rw_fma_{v}"
        head = f"{self.dialect.helper} {v} {name}({v} a, {v} b, {v} c) {{\n"
        body = f"{head}{self.dialect.contract}  return a * b + c;\n}}\n"
        self.helpers.setdefault(name, body)
        return f"{name}({', '.join(args)})"

    def load_lanes(
        self, array: str, index: str, element: str, lanes: int, fits: bool
    ) -> str:
        """Consecutive elements; one by one where the vector form does not fit."""
        v = self.vector(element, lanes)
        form = self.dialect.load_lanes
        if fits:
            return form.format(v=v, n=lanes, a=array, i=index)
        name = f"rw_gather_{element}_x{lanes}"
        if name not in self.helpers:
            lane = self.dialect.lane
            at = (lane.format(a="r", i=i, x=f"{i:x}") for i in range(lanes))
            sets = "".join(f"  {r} = a[{i}];\n" for i, r in enumerate(at))
            head = f"{self.dialect.helper} {v} {name}(const {element} *a)"
            self.helpers[name] = f"{head} {{\n  {v} r;\n{sets}  return r;\n}}\n"
        return f"{name}({array} + {index})"

    def store_lanes(
        self, array: str, index: str, value: str, element: str, lanes: int, fits: bool
    ) -> str:
        v = self.vector(element, lanes)
        form = self.dialect.store_lanes
        if fits:
            return form.format(v=v, n=lanes, a=array, i=index, b=value)
        lane = self.dialect.lane
        at = (lane.format(a="rw_v", i=i, x=f"{i:x}") for i in range(lanes))
        sets = " ".join(f"{array}[{index} + {i}] = {x};" for i, x in enumerate(at))
        return f"{{ const {v} rw_v = {value}; {sets} }}"

    def convert_lanes(self, text: str, source: str, to: str, lanes: int) -> str:
        """Integers of one width as another, for elements of small floats."""
        if lanes == 1:
            return f"({to}){text}"
        v, form = self.vector(to, lanes), self.dialect.convert
        self.vector(source, lanes)
        name = f"rw_convert_{source}_{to}_x{lanes}"
        if form and name not in self.dialect.whole:
            return form.format(a=text, v=v, n=lanes, c=C_TYPES[to])
        return f"{self.lanewise(name, to, [source], f'({to}){{a}}', lanes)}({text})"

    def splat(self, text: str, dtype: DType, lanes: int) -> str:
        t = lane_of(dtype)
        v, name = self.vector(t, lanes), f"rw_splat_{t}_x{lanes}"
        if name not in self.helpers:
            lane = self.dialect.lane
            at = (lane.format(a="r", i=i, x=f"{i:x}") for i in range(lanes))
            sets = "".join(f"  {r} = a;\n" for r in at)
            body = f"  {v} r;\n{sets}  return r;\n"
            if self.dialect.splat:  # one broadcast, where lanes in turn would be many
                each = ", ".join("a" * lanes)
                made = self.dialect.splat.format(v=v, a="a", i=each)
                body = f"  return {made};\n"
            head = f"{self.dialect.helper} {v} {name}({t} a) {{\n"
            self.helpers[name] = f"{head}{body}}}\n"
        return f"{name}({text})"
