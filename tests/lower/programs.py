"""Random functions that keep the rules, as text: every kind of statement, with names,
writes and reads that a pass could confuse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rewrite.lower.loops import Function
from rewrite.lower.text import parse

SIZE = 16
POINTS = 3
PARAMS = (
    f"x: f32[{SIZE}], n: i32[{SIZE}], out y: f32[{SIZE * POINTS}], "
    f"out z: i32[{SIZE * POINTS}]"
)
type Draw = Any


@dataclass
class Scope:
    ints: list[str] = field(default_factory=list[str])
    floats: list[str] = field(default_factory=list[str])
    mutable: dict[str, str] = field(default_factory=dict[str, str])  # with its type
    arrays: list[str] = field(default_factory=lambda: ["x"])

    def inner(self) -> Scope:
        return Scope(
            list(self.ints), list(self.floats), dict(self.mutable), list(self.arrays)
        )


class Writer:
    """Names come from a small pool, so that bodies side by side bind the same ones."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.lines = draw, list[str]()
        self.taken: list[str] = []
        self.point = ""  # the name of the loop that is shared out

    def one(self, *of: str) -> str:
        return self.draw(st.sampled_from(of))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def name(self, stem: str) -> str:
        new = next(f"{stem}{i}" for i in range(100) if f"{stem}{i}" not in self.taken)
        self.taken.append(new)
        return new

    # ---- expressions

    def int(self, s: Scope, depth: int = 2) -> str:
        leaves = [str(self.number(0, 9)), *s.ints, *s.ints]
        leaves += [m for m, t in s.mutable.items() if t == "i32"]
        if not depth or self.number(0, 3) == 0:
            return self.one(*leaves)
        a, b = self.int(s, depth - 1), self.int(s, depth - 1)
        by = self.number(1, 6)
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {by})", f"({a} * {b})",
            f"(max({a}, 0) / {by})", f"(max({a}, 0) % {by})", f"min({a}, {b})",
            f"({self.test(s, depth - 1)} ? {a} : {b})", f"n[{self.index(a)}]",
        )  # fmt: skip

    def index(self, of: str) -> str:
        return f"max({of}, 0) % {SIZE}"

    def test(self, s: Scope, depth: int = 1) -> str:
        a, b = self.int(s, depth), self.int(s, depth)
        return f"({a} {self.one('<', '<=', '==', '!=')} {b})"

    def float(self, s: Scope, depth: int = 2) -> str:
        leaves = [self.one("0.0", "-0.0", "1.0", "0.5", "inf"), *s.floats, *s.floats]
        leaves += [m for m, t in s.mutable.items() if t == "f32"]
        if not depth or self.number(0, 4) == 0:
            return self.one(*leaves)
        a, b = self.float(s, depth - 1), self.float(s, depth - 1)
        at = self.index(self.int(s, 1))
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"fma({a}, {b}, {a})",
            f"max({a}, {b})", f"f32({self.int(s, 1)})", f"exp({a})",
            f"({self.test(s)} ? {a} : {b})", *(f"{r}[{at}]" for r in s.arrays),
        )  # fmt: skip

    # ---- statements

    def body(self, s: Scope, depth: int, own: list[str]) -> None:
        """`own`: arrays that may be written here."""
        taken = len(self.taken)
        for _ in range(self.number(1, 4)):
            self.statement(s, depth, own)
        del self.taken[taken:]

    def statement(self, s: Scope, depth: int, own: list[str]) -> None:
        kinds = ["let", "let", "flet", "var", "array", "fetch"]
        kinds += ["store"] * 2 * bool(own)
        kinds += ["assign"] * 2 * bool(s.mutable) + ["loop", "if", "simd"] * (depth > 0)
        match self.one(*kinds):
            case "let":
                value = self.int(s)
                s.ints.append(self.name("a"))
                self.lines.append(f"let {s.ints[-1]}: i32 = {value}")
            case "flet":
                value = self.float(s)
                s.floats.append(self.name("f"))
                self.lines.append(f"let {s.floats[-1]}: f32 = {value}")
            case "var":
                t = self.one("i32", "f32")
                value = self.int(s) if t == "i32" else self.float(s)
                name = self.name("m")
                s.mutable[name] = t
                self.lines.append(f"var {name}: {t} = {value}")
            case "assign":
                name = self.one(*s.mutable)
                whole = s.mutable[name] == "i32"
                value = self.int(s) if whole else self.float(s)
                self.lines.append(f"{name} = {value}")
            case "array":
                self.array(s, own)
            case "store":
                to, at = self.one(*own), self.index(self.int(s))
                value = self.int(s) if to == "z" else self.float(s)
                at = f"{self.point} * {SIZE} + {at}" if to in "yz" else at
                self.lines.append(f"{to}[{at}] = {value}")
            case "fetch":
                out, buffer = self.one("", "out "), self.one("x", "n", "y")
                at = f"{self.number(0, 999)} + {self.int(s)}"
                self.lines.append(f"fetch {out}{buffer}[{at}]")
            case "loop":
                self.loop(s, depth, own)
            case "simd":
                self.simd(s)
            case _:
                self.lines.append(f"if {self.test(s)} {{")
                self.body(s.inner(), depth - 1, list(own))
                self.lines.append("}")

    def array(self, s: Scope, own: list[str]) -> None:
        """Full of something from the start; the scope of its name is this body."""
        name, i = self.name("r"), self.name("i")
        self.lines += [
            f"local {name}: f32[{SIZE}]", f"serial {i} < {SIZE} {{",
            f"{name}[{i}] = {self.float(s, 1)}", "}",
        ]  # fmt: skip
        s.arrays.append(name)
        if self.number(0, 1):
            one = self.name("r")
            self.lines += [f"local {one}: f32[1]", f"{one}[0] = {self.float(s, 1)}"]
            s.floats.append(f"{one}[0]")
        own.append(name)

    def loop(self, s: Scope, depth: int, own: list[str]) -> None:
        i, inner = self.name("i"), s.inner()
        kind, n, by = self.one("serial", "unroll"), self.number(0, 6), self.number(1, 2)
        inner.ints.append(i)
        self.lines.append(f"{kind} {i} < {n} by {by} {{")
        self.body(inner, depth - 1, list(own))
        self.lines.append("}")

    def simd(self, s: Scope) -> None:
        """Each turn writes an element of its own, and reads no other one of these."""
        name, i, k = self.name("r"), self.name("i"), self.name("i")
        inner, nested = s.inner(), self.number(0, 1)
        inner.ints += [i, k] if nested else [i]
        inner.floats += [f"{name}[{i}]", f"{name}[{i}]", f"x[{i}]"]
        head = [f"serial {k} < {self.number(1, 3)} {{"] * nested
        self.lines += [
            f"local {name}: f32[{SIZE}]",
            f"simd {i} < {SIZE} {{", f"{name}[{i}] = x[{i}]", "}",
            f"simd {i} < {SIZE} {{", *head,
            f"{self.one('', 'stream ')}{name}[{i}] = {self.float(inner)}",
            *["}"] * nested, "}",
        ]  # fmt: skip
        s.arrays.append(name)

    # ---- whole functions

    def points(self) -> None:
        g = self.name("g")
        s = Scope(ints=[g])
        self.point = g
        self.lines.append(f"grid {g} < {self.number(1, POINTS)} {{")
        self.body(s, 2, ["y", "z"])
        self.lines.append("}")

    def groups(self) -> None:
        """Threads fill what they share, meet, read it; a total of all of them."""
        b, total = self.name("b"), self.name("m")
        s = Scope(ints=[b])
        self.lines += [
            f"block {b} < 2 {{", f"shared sh: f32[{SIZE}]", f"var {total}: f32 = 0.0",
        ]  # fmt: skip
        again = self.number(0, 1)
        if again:
            k = self.name("i")
            self.lines.append(f"serial {k} < {self.number(1, 3)} {{")
            s.ints.append(k)
        t = self.name("i")
        inner = Scope(ints=[*s.ints, t])
        self.lines.append(f"thread {t} < {SIZE} {{")
        self.body(inner, 1, [])
        self.lines += [f"sh[{t}] = {self.float(inner)}", "}", "barrier"]
        reader = Scope(ints=[*s.ints, t], arrays=["x", "sh"])
        self.lines.append(f"thread {t} < {self.one(str(SIZE), '2')} {{")
        value = self.float(reader)
        self.lines += [f"{total} = {total} + {value}", "}"]
        self.lines += [f"reduce {self.one('sum', 'max')} {total}", "barrier"]
        self.lines += ["}"] * again + [
            f"y[{b} * {SIZE} + {self.index(b)}] = {total}",
            "}",
        ]


@st.composite
def functions(draw: st.DrawFn) -> Function:
    w = Writer(draw)
    draw(st.sampled_from((w.points, w.points, w.groups)))()
    lines = "\n".join(w.lines)
    return parse(f"function f({PARAMS}) threads 3 {{\n{lines}\n}}\n")


def arrays_for(f: Function, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Something in every buffer; small integers, negative ones among them."""
    rng = np.random.default_rng(seed)
    out: list[np.ndarray[Any, Any]] = []
    for p in f.params:
        if p.dtype.is_float:
            made = rng.normal(size=p.size)
        elif p.dtype.kind == "int":
            made = rng.integers(-2, 5, p.size)
        else:
            made = rng.integers(0, 2, p.size)
        out.append(made.astype(p.dtype.numpy))
    return out
