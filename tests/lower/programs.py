"""Random functions that keep the rules, as text: every kind of statement, with names,
writes and reads that a pass could confuse.

In *calm* ones numbers stay small integers where the data are, so that nothing rounds,
and no step magnifies what another one rounded: what passes may reassociate.
"""

from __future__ import annotations

from collections.abc import Callable
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

    def __init__(self, draw: Draw, calm: bool) -> None:
        self.draw, self.lines, self.calm = draw, list[str](), calm
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
        value = self.free(s, depth)
        return f"min(max({value}, -4.0), 4.0)" if self.calm else value

    def free(self, s: Scope, depth: int) -> str:
        """Not held within bounds."""
        numbers = ("0.0", "1.0", "2.0", "-1.0")
        if not self.calm:
            numbers = ("0.0", "-0.0", "1.0", "0.5", "inf")
        leaves = [self.one(*numbers), *s.floats, *s.floats]
        leaves += [m for m, t in s.mutable.items() if t == "f32"]
        if not depth or self.number(0, 4) == 0:
            return self.one(*leaves)
        a, b = self.free(s, depth - 1), self.free(s, depth - 1)
        at = self.index(self.int(s, 1))
        whole = self.int(s, 1)
        if self.calm:
            whole = f"min(max({whole}, -4), 4)"
        wild = [] if self.calm else [f"exp({a})"]
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"fma({a}, {b}, {a})",
            f"({a} * {b} + {a})", f"max({a}, {b})", f"f32({whole})", *wild,
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
        kinds += ["assign"] * 2 * bool(s.mutable)
        kinds += ["loop", "if", "simd", "sum", "nest"] * (depth > 0)
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
            case "sum":
                self.sum(s)
            case "nest":
                self.nest(s)
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
        nested = self.number(0, 3) == 0
        if nested:
            inner.ints.append(self.name("i"))
            self.lines.append(f"{kind} {inner.ints[-1]} < 2 {{")
        self.body(inner, depth - 1, list(own))
        self.lines += ["}"] * (1 + nested)

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

    def sum(self, s: Scope) -> None:
        """A variable that a loop updates, in each turn or in some, and that seldom does
        something else in it."""
        m, i = self.name("m"), self.name("i")
        inner = s.inner()
        inner.ints.append(i)
        n, by = self.number(7, 14), self.number(1, 2)
        first = self.one("0.0", "1.0", "4.0", "-4.0")
        other = self.number(0, 3) == 0
        self.lines += [f"var {m}: f32 = {first}"]
        self.lines += [f"var {m}also: f32 = 0.0"] * other
        self.lines += [f"serial {i} < {n * by} by {by} {{"]
        if self.number(0, 1):
            self.body(inner, 0, [])
        self.update(m, inner)
        if other:
            self.lines.append(f"{m}also = {m}also + min(max({m}, -4.0), 4.0)")
        elif self.number(0, 5) == 0:
            self.update(m, inner)
        self.lines.append("}")
        for name in (m, f"{m}also")[: 1 + other]:
            s.floats.append(self.name("f"))
            self.lines.append(f"let {s.floats[-1]}: f32 = min(max({name}, -4.0), 4.0)")

    def update(self, m: str, s: Scope) -> None:
        array, of = self.one("x", "x", *s.arrays), self.one(s.ints[-1], *s.ints)
        a, b = self.float(s, 1), f"{array}[{self.index(of)}]"
        sign = self.one("1.0", "-1.0")
        some = self.number(0, 2) == 0
        self.lines += [f"if {self.test(s)} {{"] * some
        self.lines += [
            f"{m} = " + self.one(
                f"{m} + {a}", f"{b} + {m}", f"{m} - {b}", f"{m} + {a} * {b}",
                f"fma({a}, {b}, {m})", f"max({m}, {b})", f"min({a}, {m})",
                f"{m} * {sign}", f"{b} - {m}", f"{m} - {a} * {b}", f"{a} * {b} - {m}",
                f"{b} * {b} + {m}", f"{m} + {b} * 2.0", f"{m} + {a} * {b} + {b}",
            )
        ]  # fmt: skip
        self.lines += ["}"] * some

    def nest(self, s: Scope) -> None:
        """Turns that run apart, each with a loop in order over neighbouring elements;
        those that lie outside are not read."""
        name, i, k, m, q = (self.name(x) for x in ("r", "i", "i", "m", "a"))
        inner = s.inner()
        inner.ints += [i, k]
        turns, terms = self.one("2", "4", "5", str(SIZE)), self.number(1, 9)
        by = self.number(1, 2)
        first = self.one(str(self.number(0, 12)), q, *s.ints)
        at = f"{first} + {i} * {self.number(0, 3)} + {k} * {self.number(-1, 3)}"
        self.lines += [
            f"local {name}: f32[{SIZE}]",
            f"simd {i} < {SIZE} {{", f"{name}[{i}] = 1.0", "}",
            f"{self.one('simd', 'serial')} {i} < {turns} {{", f"var {m}: f32 = 0.0",
            f"let {q} = {i} * {i}",
            f"serial {k} < {terms * by} by {by} {{",
            f"if (0 <= {at}) & ({at} < {SIZE}) {{",
        ]  # fmt: skip
        self.lines += [
            f"{m} = {m} + "
            + self.one(f"x[{at}]", f"f32(n[{at}])", f"x[{at}] * x[{i}]"),
            "}",
        ]
        if self.number(0, 1):
            self.update(m, inner)
        self.lines += ["}", f"{name}[{i}] = min(max({m}, -4.0), 4.0)", "}"]
        s.arrays.append(name)

    # ---- whole functions

    def points(self) -> None:
        self.grid(lambda s: self.body(s, 2, ["y", "z"]))

    def sums(self) -> None:
        self.grid(self.sum)

    def nests(self) -> None:
        self.grid(self.nest)

    def grid(self, body: Callable[[Scope], None]) -> None:
        """What the body leaves is stored, so that it shows."""
        g = self.name("g")
        s = Scope(ints=[g])
        self.point = g
        self.lines.append(f"grid {g} < {self.number(1, POINTS)} {{")
        body(s)
        left = [
            *s.floats[-4:],
            *(f"{r}[{k}]" for r in s.arrays[1:4] for k in (0, 1, 4)),
        ]
        for k, value in enumerate(left):
            self.lines.append(f"y[{g} * {SIZE} + {k}] = {value}")
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

    def team(self) -> None:
        """Threads that fill and read what they share, in many ways, and meet after each
        of them, whether or not they must."""
        b, total = self.name("b"), self.name("m")
        s = Scope(ints=[b])
        self.lines += [
            f"block {b} < 2 {{", f"shared sh: f32[{SIZE}]", f"shared ti: f32[{SIZE}]",
            f"var {total}: f32 = 0.0",
        ]  # fmt: skip
        for array in ("sh", "ti"):
            t = self.name("i")
            self.lines += [f"thread {t} < {SIZE} {{", f"{array}[{t}] = x[{t}]", "}"]
            self.lines.append("barrier")
        for _ in range(self.number(1, 4)):
            match self.one("plain", "plain", "loop", "if", "reduce"):
                case "loop":
                    k = self.name("i")
                    again = s.inner()
                    again.ints.append(k)
                    self.lines.append(f"serial {k} < {self.number(0, 9)} {{")
                    for _ in range(self.number(1, 3)):
                        self.turn(again, b, total)
                    self.lines.append("}")
                case "if":
                    self.lines.append(f"if {self.test(s)} {{")
                    for _ in range(self.number(1, 3)):
                        self.turn(s, b, total)
                    self.lines.append("}")
                case "reduce":
                    self.lines.append(f"reduce sum {total}")
                    self.lines.append(f"{total} = min({total}, 9.0)")
                case _:
                    self.turn(s, b, total)
        self.lines += [f"reduce max {total}", f"y[{b} * {SIZE}] = {total}", "}"]

    def turn(self, s: Scope, b: str, total: str) -> None:
        """What threads do between two meetings: no two of them touch one element, if
        one of them stores it."""
        t, k = self.name("i"), self.name("i")
        base = f"{b} * {SIZE}"
        to, other = self.one(("sh", "ti"), ("ti", "sh"))
        own, back = f"{to}[{t}]", f"{to}[{SIZE - 1} - {t}]"
        of = Scope(ints=[*s.ints, t], floats=[f"{other}[{t}]", f"{other}[3]"])
        of.arrays = ["x", other]
        value = self.float(of)
        all_read = [own, back, f"{to}[{t} / 2]", f"{to}[5]", f"y[{base} + {t}]"]
        last = self.number(2, SIZE)
        read = self.one(*all_read, *[f"{to}[{t} + 1]"] * (last < SIZE))
        wide = [
            f"thread {t} < {SIZE // 2} {{", f"serial {k} < 2 {{",
            f"{to}[{t} * 2 + {k}] = {value}", "}", "}",
        ]  # fmt: skip
        near = f"x[{t} + {k} * {self.number(0, 2)}]"
        sums = [
            f"thread {t} < 8 {{", f"serial {k} < {self.number(2, 4)} {{",
            f"{to}[{t}] = {to}[{t}] + {near}", "}", f"{own} = min({own}, 4.0)", "}",
        ]  # fmt: skip
        self.lines += self.one(
            [f"thread {t} < {SIZE} {{", f"{own} = {value}", "}"],
            [f"thread {t} < {last} {{", f"{back} = {value}", "}"],
            [f"thread {t} < {SIZE} by 2 {{", f"{own} = {value}", "}"],
            [f"thread {t} < {last} {{", f"{total} = {total} + {read}", "}"],
            [f"thread {t} < {last} {{", f"y[{base} + {t}] = {own}", "}"],
            [f"{to}[2] = {other}[{self.number(0, 3)}]"],
            [f"{total} = {total} + {to}[{self.number(0, 3)}]"],
            wide, sums,
        )  # fmt: skip
        self.lines.append("barrier")


@st.composite
def functions(draw: st.DrawFn, calm: bool = False, about: str = "") -> Function:
    """`about`: the one kind of function to draw, by the method that writes it."""
    w = Writer(draw, calm)
    every = ("points", "points", "groups", "team", "sums", "nests")
    getattr(w, about or draw(st.sampled_from(every)))()
    lines = "\n".join(w.lines)
    return parse(f"function f({PARAMS}) threads 3 {{\n{lines}\n}}\n")


def arrays_for(
    f: Function, seed: int = 0, whole: bool = False
) -> list[np.ndarray[Any, Any]]:
    """Something in every buffer; small integers, negative ones among them.  With
    `whole`, floats are such integers, too."""
    rng = np.random.default_rng(seed)
    out: list[np.ndarray[Any, Any]] = []
    for p in f.params:
        if p.dtype.is_float and not whole:
            made = rng.normal(size=p.size)
        elif p.dtype.is_float or p.dtype.kind == "int":
            made = rng.integers(-2, 5, p.size)
        else:
            made = rng.integers(0, 2, p.size)
        out.append(made.astype(p.dtype.numpy))
    return out
