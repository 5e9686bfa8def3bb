"""Predicted seconds of a jaxpr as XLA runs it on a CPU, and of single operators.

XLA computes elementwise operators where they are read.  What is stored are results
of reductions, products and foreign operators, what these read, and outputs; a function
that is dear is stored where two read it.  Each stored value is a kernel, which takes
time for bytes, entries and a launch.  The coefficients are rough: they order programs,
they do not predict a clock (`python -m bench.models.jax_cpu` prints measured times).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from rewrite.egraph.ir.ops import TensorType
from rewrite.extract.operators.cover import Instruction

from .flat import Flat, Step, Value, flatten
from .library import Jaxpr, bodies, type_of

ALIASES = frozenset(("reshape", "squeeze", "expand_dims", "stop_gradient", "copy"))
MOVES = frozenset(
    ("transpose", "slice", "rev", "pad", "concatenate", "broadcast_in_dim", "iota",
     "split", "unstack", "broadcast", "concat", "full")
)  # fmt: skip
DEAR = {
    "exp": 8, "exp2": 8, "expm1": 10, "log": 8, "log1p": 10, "erf": 10, "tanh": 8,
    "logistic": 10, "sigmoid": 10, "sin": 14, "cos": 14, "pow": 20, "atan": 16,
    "div": 3, "sqrt": 3, "rsqrt": 4, "recip": 3, "rem": 8, "erf_inv": 20,
}  # fmt: skip
PLAIN = frozenset(
    """
    neg abs sign floor ceil round is_finite not square add add_any sub mul max min and
    or xor eq ne lt le gt ge select_n clamp convert_element_type integer_pow
    one_minus_square isfinite relu select cast bitcast_convert_type shift_left
    shift_right_logical shift_right_arithmetic
    """.split()  # noqa: SIM905  # a table of words
)
FUSED = ALIASES | MOVES | PLAIN | DEAR.keys()
OWN = 0.98  # ties go to what is there
TURNS = 16  # of a loop of which nothing is known


@dataclass(frozen=True, slots=True)
class Runtime:
    """What time is spent on."""

    launch: float = 2e-6  # seconds for a kernel
    bandwidth: float = 10e9  # bytes per second
    flops: float = 60e9  # of products whose operands are read many times, in f32
    point: float = 3e-10  # seconds for an entry of simple arithmetic
    fused: float = 0.1  # the part of elementwise results that is stored, for choosing


DEFAULT = Runtime()
# Other weights lead to other programs; the price of whole programs decides.
CANDIDATES = (DEFAULT, Runtime(fused=1.0), Runtime(fused=0.0, launch=0.0))


def entries(t: TensorType | None, axes: Sequence[int] | None = None) -> float:
    """Of a tensor, or of some axes; jaxprs have concrete sizes."""
    if t is None:
        return 1.0
    chosen = t.shape if axes is None else [t.shape[i] for i in axes]
    return float(math.prod(cast(Sequence[int], chosen)))


def size(t: TensorType | None) -> float:
    return entries(t) * t.dtype.itemsize if t is not None else 8.0


# ---- single operators, for choosing among them ---------------------------------------


def seconds(
    run: Runtime, how: Instruction,
    args: Sequence[TensorType | None], out: Sequence[TensorType | None],
) -> float:  # fmt: skip
    """Of one operator, where `Cover` offers it."""
    name, own = how.op, 1.0 if how.step is None else OWN
    if name in ("input", "project"):
        return 0.0
    moved = sum(map(size, args)) + sum(map(size, out))
    made = sum(map(entries, out))
    if name == "constant":
        return 1e-12 * moved
    if name in ALIASES:
        return 1e-9
    if name in FUSED:
        stored = run.fused * sum(map(size, out)) / run.bandwidth
        return own * (1e-8 + made * run.point * DEAR.get(name, 1) + stored)
    work = _products(how, args, out) / run.flops
    read = sum(map(entries, args)) * run.point
    return own * (run.launch + moved / run.bandwidth + work + read)


def _products(
    how: Instruction, args: Sequence[TensorType | None],
    out: Sequence[TensorType | None],
) -> float:  # fmt: skip
    first, result = args[0] if args else None, out[0] if out else None
    if first is None or result is None:
        return 0.0
    attrs = dict(how.attrs)
    if how.op in ("dot", "dot_general"):
        return 2 * entries(result) * entries(first, attrs["sums"][0])
    if how.op in ("conv", "conv_general_dilated"):
        by = args[1]
        return 2 * entries(result) * entries(by) / entries(by, (attrs.get("out", 0),))
    return 0.0


# ---- whole programs ------------------------------------------------------------------


def program(jaxpr: Jaxpr, run: Runtime = DEFAULT) -> float:
    """Of a jaxpr, loops with all their turns."""
    return _Program(flatten(jaxpr), run).seconds()


class _Program:
    def __init__(self, flat: Flat, run: Runtime) -> None:
        self.flat, self.run = flat, run
        self.made = {v: s for s in flat.steps for v in s.results}
        self.users: dict[Value, list[Step]] = {}
        for s in flat.steps:
            for v in dict.fromkeys(s.operands):
                self.users.setdefault(v, []).append(s)

    def seconds(self) -> float:
        stored = self.stored()
        total = sum(self.kernel(v, stored) for v in stored if v in self.made)
        return total + sum(self.foreign(s) for s in self.flat.steps if not fuses(s))

    def stored(self) -> dict[Value, None]:
        """Values that lie in memory, by the step that makes them."""
        roots = dict.fromkeys(map(self.root, self.flat.outputs))
        for s in self.flat.steps:
            if not fuses(s):
                operands = s.operands
                if _is_product(s):  # it reads transposed operands as they are
                    operands = tuple(map(self.untransposed, operands))
                roots.update(dict.fromkeys(map(self.root, operands)))
            elif s.name in DEAR:
                users = [u for v in s.results for u in self.users.get(v, ())]
                if len(users) > 1:
                    roots.update(dict.fromkeys(s.results))
            if not fuses(s) or s.name.startswith("reduce_"):
                roots.update(dict.fromkeys(s.results))
        return {v: None for v in roots if v.known is None}

    def root(self, v: Value) -> Value:
        """The value that holds the entries of `v`, in the same order."""
        while v in self.made and self.made[v].name in ALIASES:
            v = self.made[v].operands[0]
        return v

    def untransposed(self, v: Value) -> Value:
        while v in self.made and self.made[v].name in (*ALIASES, "transpose"):
            v = self.made[v].operands[0]
        return v

    def kernel(self, v: Value, stored: dict[Value, None]) -> float:
        """Of computing one value from those that are stored."""
        made = self.made[v]
        if not fuses(made):
            return 0.0
        run, work = self.run, 0.0
        read: dict[Value, None] = {}
        todo, seen = [made], {made.results}
        while todo:
            s = todo.pop()
            work += self.work(s)
            for a in map(self.root, s.operands):
                step = self.made.get(a)
                if a in stored or step is None or not fuses(step):
                    read[a] = None
                elif step.results not in seen:
                    seen.add(step.results)
                    todo.append(step)
        moved = sum(size(type_of(a.aval)) for a in (*read, v) if a.known is None)
        return run.launch + moved / run.bandwidth + work

    def work(self, s: Step) -> float:
        if s.name in ALIASES or s.name == "broadcast_in_dim":
            return 0.0
        wide = s.operands if s.name.startswith("reduce_") else s.results
        count = sum(entries(type_of(v.aval)) for v in wide)
        far = 4 if s.name == "transpose" else 1  # entries of other lines
        return count * self.run.point * DEAR.get(s.name, far)

    def foreign(self, s: Step) -> float:
        run, inner = self.run, list(bodies(s.equation))
        if inner:
            inside = [program(b, run) for _, b in inner]
            if s.name == "cond":
                return run.launch + max(inside)
            turns = int(s.equation.params.get("length", TURNS))
            return run.launch + turns * (sum(inside) + run.launch)
        types = [type_of(v.aval) for v in (*s.operands, *s.results)]
        moved = sum(map(size, types)) / run.bandwidth
        return run.launch + moved + _work(s, run)


def fuses(s: Step) -> bool:
    """Whether XLA may compute an equation where it is read."""
    return s.name in FUSED or s.name in _REDUCTIONS


_REDUCTIONS = frozenset(
    f"reduce_{m}" for m in ("sum", "max", "min", "prod", "and", "or")
)


def _is_product(s: Step) -> bool:
    return s.name in ("dot_general", "conv_general_dilated")


def _work(s: Step, run: Runtime) -> float:
    """Arithmetic of products; other operators are taken to do a little per entry."""
    if s.name == "dot_general":
        (sums, _), _ = s.equation.params["dimension_numbers"]
        shape = s.operands[0].aval.shape
        return 2 * _count(s) * math.prod(shape[i] for i in sums) / run.flops
    if s.name == "conv_general_dilated":
        filters = s.operands[1].aval.shape
        out = filters[s.equation.params["dimension_numbers"].rhs_spec[0]]
        return 2 * _count(s) * math.prod(filters) / max(out, 1) / run.flops
    return sum(entries(type_of(v.aval)) for v in s.operands) * run.point * 4


def _count(s: Step) -> float:
    return entries(type_of(s.results[0].aval))
