"""Functions in C that differ in numbers alone, compiled once.

A program at another size has, most often, the same functions with other numbers: where
loops end, how far rows lie apart.  Its text is taken apart into a form, which is all
but the numbers, and those.  Where a form comes again, the numbers that have changed
become values that a launch brings along, in the place before its buffers; the others
stay.

A number has its type in C as part of the form, and so has what its array is rounded up
to, so that an open text means what the closed one does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...egraph.ir.scalars import Array

_TOKEN = re.compile(
    r"^[ ]*#[^\n]*"  # a directive stays as it is
    r"|/\*.*?\*/\n*"  # and a comment goes
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|\[(?P<room>\d+)\](?= __attribute__)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?[fu]?)(?![\w.])",
    re.M | re.S,
)
_FUNCTION = re.compile(r"^(static )?void (\w+)\(([^)]*)\) \{\n", re.M)
_KINDS = {"i": "i32", "l": "i64", "u": "u32", "w": "u64", "f": "f32", "d": "f64"}


class Form(NamedTuple):
    """A text without its numbers, and those in order; `kinds` of a letter each, `a` for
    the size of an array."""

    text: str
    numbers: tuple[str, ...]
    kinds: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A function as it was compiled: `open` are the numbers that a launch brings."""

    form: Form
    open: frozenset[int] = frozenset()

    def fits(self, form: Form) -> bool:
        """Whether it computes what the function with these numbers does."""
        same = self.form.text == form.text
        return same and _differing(self.form, form) <= self.open

    def values(self, form: Form) -> Array | None:
        """What a launch brings, eight bytes each; None: nothing."""
        given = [
            _bits(form.numbers[i], form.kinds[i]) for i in _valued(form, self.open)
        ]
        return np.frombuffer(b"".join(given), np.int64).copy() if given else None


def form_of(text: str) -> Form:
    numbers: list[str] = []
    kinds: list[str] = []

    def blank(m: re.Match[str]) -> str:
        number, kind = _number(m)
        if number is None:
            return "" if m[0].startswith("/*") else m[0]
        numbers.append(number)
        kinds.append(kind)
        return f"[{_room(number)}]" if kind == "a" else f"?{kind}"

    return Form(_TOKEN.sub(blank, text), tuple(numbers), "".join(kinds))


def unit_for(form: Form, known: Iterable[Unit]) -> Unit:
    """One to compile: of the functions of this form, open where it differs from that
    which leaves the most numbers as they are, for those are what makes code fast."""
    candidates = [
        unit.open | _differing(unit.form, form)
        for unit in known
        if unit.form.text == form.text
    ]
    return Unit(form, min(candidates, key=len, default=frozenset[int]()))


def _differing(a: Form, b: Form) -> frozenset[int]:
    pairs = zip(a.numbers, b.numbers, strict=True)
    return frozenset(i for i, (x, y) in enumerate(pairs) if x != y)


def open_text(text: str, unit: Unit) -> str:
    """The text, in which open numbers are variables."""
    if not unit.open:
        return text
    place = {i: k for k, i in enumerate(_valued(unit.form, unit.open))}
    count = iter(range(len(unit.form.numbers)))
    used: set[int] = set()

    def name(m: re.Match[str]) -> str:
        number, kind = _number(m)
        i = -1 if number is None else next(count)
        if number is None or i not in unit.open:
            return m[0]
        if kind == "a":
            return f"[{_room(number)}]"
        used.add(i)
        return f"rw_{i}"

    heads = list(_FUNCTION.finditer(text))
    points = {m[2] for m in heads if not _takes_table(m)}
    out = [_TOKEN.sub(name, text[: heads[0].start()])]
    for m, end in zip(heads, [*(m.start() for m in heads[1:]), len(text)], strict=True):
        used.clear()
        body = _TOKEN.sub(name, text[m.end() : end])
        for point in points:
            body = re.sub(rf"\b{point}\(", f"{point}(rw_n, ", body)
        lets = [_let(i, unit.form.kinds[i], place[i]) for i in sorted(used)]
        if _takes_table(m):
            head, table = m[0], ["  const i64 *rw_n = rw_b[-1];\n"]
        else:
            params = f"const i64 *restrict rw_n, {m[3].lstrip()}"
            head, table = f"static void {m[2]}({params}) {{\n", []
        out += [head, *table, *lets, body]
    return "".join(out)


def _takes_table(m: re.Match[str]) -> bool:
    return m[3].startswith("void *const *rw_b")


def _let(i: int, kind: str, at: int) -> str:
    value = f"rw_n[{at}]" if kind not in "fd" else f"((const double *)rw_n)[{at}]"
    return f"  const {_KINDS[kind]} rw_{i} = {value};\n"


def _valued(form: Form, open: frozenset[int]) -> list[int]:
    return [i for i in sorted(open) if form.kinds[i] != "a"]


def _number(m: re.Match[str]) -> tuple[str | None, str]:
    """A token's number and its kind, where it has one."""
    if m["room"] is not None:
        return m["room"], "a"
    text: str | None = m["number"]
    if text is None:
        return None, ""
    if text.isdecimal():
        return text, "i" if int(text) < 1 << 31 else "l"
    if text.endswith("u"):
        return text, "u" if int(text[:-1]) < 1 << 32 else "w"
    return text, "f" if text.endswith("f") else "d"


def _room(number: str) -> int:
    return 1 << (int(number) - 1).bit_length()


def _bits(text: str, kind: str) -> bytes:
    if kind in "fd":
        value = np.float32(text[:-1]) if kind == "f" else float(text)
        return np.float64(value).tobytes()
    return np.uint64(int(text.rstrip("u"))).tobytes()


__all__ = ["Form", "Unit", "form_of", "open_text", "unit_for"]
