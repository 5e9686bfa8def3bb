"""What random graphs are drawn from: shapes, constants, operands, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, cast

from rewrite.egraph.ir.dtypes import BOOL, F32, I32, DType
from rewrite.egraph.ir.graph import Builder, GraphError

from .bounds import Bound

type Mode = Literal["exact", "smooth"]

LARGEST = 500  # elements of one tensor
DTYPES = (F32, I32, BOOL)
LIMIT = 24.0  # magnitude that smooth values stay under
_SIZES = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 12)
_INPUT = {"float": Bound(2, 2), "int": Bound(8), "uint": Bound(8), "bool": Bound(1)}


class Drawer:
    """A graph under construction, and random choices of its next parts."""

    def __init__(self, rng: Random, mode: Mode, dtypes: Sequence[DType]) -> None:
        self.rng, self.mode, self.dtypes = rng, mode, tuple(dtypes)
        self.b = Builder()
        self.bound: dict[int, Bound] = {}
        self.rough: set[int] = set()  # nodes whose value is rounded

    def _dtype(self) -> DType:
        if self.mode == "smooth":
            floats = [d for d in self.dtypes if d.is_float]
            return self.rng.choice(floats)
        return self.rng.choice((self.dtypes[0], *self.dtypes))

    def _shape(self) -> tuple[int, ...]:
        shape = [self.rng.choice(_SIZES) for _ in range(self.rng.randint(1, 4))]
        while math.prod(shape) > LARGEST:
            shape.pop()
        if self.rng.random() < 0.04:
            shape[self.rng.randrange(len(shape))] = 0
        return tuple(shape)

    def _input(self, shape: Sequence[int], dtype: DType) -> int:
        count = sum(n.op == "input" for n in self.b.nodes)
        i = self.b.input(f"x{count}", dtype, shape)
        return self._keep(i, _INPUT[dtype.kind])

    def _keep(self, i: int, bound: Bound, rough: bool = False) -> int:
        self.bound[i] = bound
        if rough or any(a in self.rough for a in self.b.nodes[i].args):
            self.rough.add(i)
        return i

    def _pick(self, ok: Callable[[int], bool] = lambda _: True) -> int:
        """A node that is `ok`, more often a late one; GraphError where none is."""
        fit = [i for i in self.bound if ok(i)]
        if not fit:
            raise GraphError("no node fits")
        return fit[max(self.rng.randrange(len(fit)) for _ in range(4))]

    def _ints(self, i: int) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.b.shape(i))

    def _kind(self, i: int) -> str:
        return self.b.type(i).dtype.kind

    def _is_float(self, i: int) -> bool:
        return self._kind(i) == "float"

    def _fits(self, i: int, bound: Bound) -> bool:
        if self.mode == "smooth" and self._is_float(i):
            return bound.top <= LIMIT
        return bound.fits(self.b.type(i).dtype)

    def _checked(self, i: int, bound: Bound, rough: bool = False) -> int | None:
        small = math.prod(self._ints(i)) <= LARGEST
        return self._keep(i, bound, rough) if small and self._fits(i, bound) else None

    def _inexact(self, i: int) -> bool:
        return self.mode == "smooth" and self._is_float(i)

    def _tamed(self, x: int, limit: float) -> int:
        if self.bound[x].top <= limit:
            return x
        return self._keep(self.b.un("tanh", x), Bound(1), rough=True)

    def _positive(self, x: int) -> int:
        """Between 0.5 and 4."""
        base = self._keep(self.b.un("sigmoid", x), Bound(1), rough=True)
        shift = self._constant(base, self.rng.choice((0.5, 1.0, 2.0)))
        return self._keep(self.b.bin("add", base, shift), Bound(3), rough=True)

    def _constant(self, like: int, value: float | None = None) -> int:
        """A constant of the type of `like`, expanded as broadcasting does it."""
        dtype = self.b.type(like).dtype
        chosen = self._value(dtype) if value is None else value
        small = self.b.const(chosen, dtype)
        self.bound[small] = Bound(abs(float(chosen)), 2 if dtype.is_float else 0)
        full = self.b.broadcast(small, like)[0]
        return self._keep(full, self.bound[small])

    def _value(self, dtype: DType) -> float | int | bool:
        if dtype.kind == "bool":
            return self.rng.random() < 0.5
        if dtype.kind == "uint":
            return self.rng.choice((0, 1, 2, 3))
        if dtype.kind == "int":
            return self.rng.choice((-2, -1, 0, 1, 2, 3))
        return self.rng.choice((-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.0, 2.0))

    def _partner(self, x: int) -> int:
        """An operand for `x`: a broadcast node, a constant, itself, or a new input."""
        same = [i for i in self.bound if self._broadcasts(i, x)]
        draw = self.rng.random()
        if draw < 0.7 and same:
            return self.b.broadcast(self.rng.choice(same), x)[0]
        if draw < 0.9:
            return self._constant(x)
        shape = [d if self.rng.random() < 0.6 else 1 for d in self._ints(x)]
        made = self._input(shape, self.b.type(x).dtype)
        return self._keep(self.b.broadcast(made, x)[0], self.bound[made])

    def _broadcasts(self, i: int, x: int) -> bool:
        if self.b.type(i).dtype is not self.b.type(x).dtype:
            return False
        small, big = self._ints(i), self._ints(x)
        pairs = zip(reversed(small), reversed(big), strict=False)
        return len(small) <= len(big) and all(a in (1, b) for a, b in pairs)

    def _bound_of(self, i: int) -> Bound:
        """Also of the reshapes and expansions that broadcasting put before `i`."""
        while i not in self.bound:
            i = self.b.nodes[i].args[0]
        return self.bound[i]
