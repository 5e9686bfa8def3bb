"""Whether two terms are equal as a contract promises: on drawn inputs, in batches.

`bitwise` and `ieee`: at their own dtypes, with zeros of both signs, infinities, NaN and
the limits of the dtype.  `real`: exactly, up to how constants round, on finite inputs;
and stable under stress (`stress.py`).  `approx`: exactly and in the working precision,
up to the tolerance that it states.  `unstable`: exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir.dtypes import DType, compute
from ..ir.graph import Graph
from ..ir.macros import MACROS
from ..ir.ops import Array, TensorType
from .accumulators import narrower
from .agreement import Promise, differ
from .drawn import (
    BRINKS,
    EXACT,
    STRESS,
    TAME,
    Draw,
    Profile,
    at_magnitude,
    brinks,
    inverse,
    limits_of,
    ordinary,
    overflows_easily,
)
from .fault import Fault, Kind
from .instances import Pair
from .oracle import Mode, Oracle
from .stress import (
    AGAIN,
    Tally,
    errors,
    one_is_infinite,
    overflows_sooner,
    told,
    vanishes,
)
from .truth import Noisy, compared, equal_values

type Strained = tuple[int, Pair, int, DType]  # a pair, its right side, their dtype

MIXED = 3  # draws of sizes that differ, at each magnitude
DOUBTS = 6  # pairs that are drawn again, the worst first


@dataclass
class Judge:
    """Judges pairs of one graph; every draw covers all of them at once."""

    graph: Graph
    pairs: Sequence[Pair]
    promise: Promise
    seed: int = 0
    stress: bool = True
    one: bool = False  # stops at the first fault of any pair
    found: dict[int, Fault] = field(default_factory=dict[int, Fault])

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        typed = [p for p in self.pairs if not self._ill_typed(p)]
        self.open = [i for i, p in enumerate(self.pairs) if p in typed]
        self.leaves: dict[int, tuple[Sequence[float], Sequence[str]]] = {}
        self.alone: dict[int, Oracle] = {}
        self.below = {i: self._below(self.pairs[i]) for i in self.open}
        ends = [n for p in typed for n in (p.left, p.right) if n is not None]
        self.oracle = self.strained = Oracle(self._only(ends))

    # -- what can be said without values --

    def _ill_typed(self, p: Pair) -> bool:
        i = self.pairs.index(p)
        if p.right is None:
            self.found[i] = Fault(p, "term", p.reason)
            return True
        a, b = self._type(p.left), self._type(p.right)
        if a != b:
            self.found[i] = Fault(p, "type", f"the left side is {a}, the right one {b}")
            return True
        if self.promise.contract == "unstable":
            return False
        narrow = narrower(self.graph, p.left, p.right, self.promise.one_way)
        if narrow:
            self.found[i] = Fault(p, "accumulator", narrow)
        return bool(narrow)

    def _type(self, node: int) -> TensorType:
        return self.graph.nodes[node].type

    def _only(self, ends: Iterable[int]) -> Graph:
        named = tuple((f"n{n}", n) for n in sorted(set(ends)))
        return Graph(self.graph.nodes, named)

    def _below(self, p: Pair) -> frozenset[int]:
        return self._only([n for n in (p.left, p.right) if n is not None]).live

    def _numbers(self, i: int) -> Sequence[float]:
        return self._leaves(i)[0]

    def _labels(self, i: int) -> Sequence[str]:
        return self._leaves(i)[1]

    def _leaves(self, i: int) -> tuple[Sequence[float], Sequence[str]]:
        """The constants of a pair and its inputs, looked up once for all draws."""
        if i not in self.leaves:
            nodes = [self.graph.nodes[n] for n in sorted(self.below[i])]
            numbers = [float(n.attrs[0]) for n in nodes if n.op == "const"]
            labels = [n.attrs[0] for n in nodes if n.op == "input"]
            self.leaves[i] = numbers, labels
        return self.leaves[i]

    # -- draws --

    def faults(self) -> dict[int, Fault]:
        """The first fault of each pair that has one, by its number."""
        if self.open:
            if self.promise.is_exact:
                self._same((*EXACT, *EXACT[:2], *EXACT[1:2]), "own")
            else:
                self._same(TAME + TAME, "exact")
            if not self.promise.finite:
                self._same(EXACT[:2], "own")
            if self.promise.contract == "approx":
                self._same(TAME, "working")
            if self.promise.contract == "real" and self.stress:
                self._stable()
        return self.found

    @property
    def _done(self) -> bool:
        return self.one and bool(self.found)

    def _inputs(
        self, profile: Profile, of: Iterable[int] | None = None
    ) -> dict[str, Array]:
        out: dict[str, Array] = {}
        types = {n.attrs[0]: n.type for n in self.oracle.inputs}
        for i in self.open if of is None else of:
            draw = Draw(self.rng, profile, self._numbers(i))
            for label in self._labels(i):
                if label not in out:
                    out[label] = draw.array(types[label])
        return out

    def _left(self) -> Iterator[tuple[int, Pair, int]]:
        """The pairs without a fault so far, with the node of their right side."""
        for i in self.open:
            p = self.pairs[i]
            if i not in self.found and p.right is not None:
                yield i, p, p.right

    def blame(
        self, i: int, kind: Kind, detail: str, profile: str, mode: Mode,
        inputs: dict[str, Array], values: tuple[Array, Array], bad: Array,
    ) -> None:  # fmt: skip
        where = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
        mine = {k: inputs[k] for k in self._labels(i)}
        at = tuple(int(k) for k in where)
        fault = Fault(self.pairs[i], kind, detail, profile, mode, mine, *values, at)
        self.found[i] = fault

    def _same(self, profiles: Sequence[Profile], mode: Mode) -> None:
        for profile in profiles:
            if self._done:
                return
            inputs = self._inputs(profile)
            values = self.oracle.values(inputs, mode)
            for i, p, right in self._left():
                a, b = values[p.left], values[right]
                assert a is not None and b is not None
                a, b, bad = self.differ(i, inputs, (a, b), mode)
                if bad.any():
                    kind: Kind = "value"
                    self.blame(i, kind, "", profile, mode, inputs, (a, b), bad)

    def differ(
        self, i: int, inputs: dict[str, Array], values: tuple[Array, Array], mode: Mode
    ) -> tuple[Array, Array, Array]:
        """Both sides of a pair, and where they differ; exact ones with as many digits
        as that takes."""
        p = self.pairs[i]
        a, b = values
        t, rounds = self._type(p.left), self.rounds(i)
        bad = differ(a, b, t, self.promise, rounds)
        if not bad.any() or mode != "exact" or not t.dtype.is_float or p.right is None:
            return a, b, bad
        a, b = equal_values(self._own(i), (p.left, p.right), inputs, values, bad > 0)
        known = ~(np.isnan(a) | np.isnan(b))
        again = differ(a, b, t, self.promise, rounds)
        return a, b, np.where(known, again, bad)

    def _own(self, i: int) -> Oracle:
        """Of the two sides of a pair alone."""
        if i not in self.alone:
            p = self.pairs[i]
            self.alone[i] = Oracle(
                self._only(n for n in (p.left, p.right) if n is not None)
            )
        return self.alone[i]

    def exactly(
        self, i: int, inputs: dict[str, Array], wide: Array,
        sides: tuple[Array, Array], noisy: Noisy | None = None,
    ) -> Array:  # fmt: skip
        """The value of a pair's left side, as far as the right one asks for it."""
        left = self.pairs[i].left
        dtype = self._type(left).dtype
        return compared(self._own(i), left, inputs, wide, sides, dtype, noisy)

    def rounds(self, i: int) -> bool:
        """Whether constants, rounded to the dtype, have a part in a pair."""
        nodes = (self.graph.nodes[n] for n in self.below[i])
        return any(n.op in ("const", "pad") or n.op in MACROS or n.op == "un"
                   for n in nodes)  # fmt: skip

    # -- stability --

    def _stable(self) -> None:
        mine = [n for _, p, right, _ in self._floats() for n in (p.left, right)]
        self.strained = Oracle(self._only(mine))
        doubts: list[tuple[float, int, Profile]] = []
        for profile in STRESS if mine else ():
            for _ in range(2):
                if self._done:
                    return
                result = self._strained(profile)
                # Tensors that outweigh others strain ranges: any order of a sum has
                # some such inputs on which it is the worse one.
                doubts += result if profile != "lopsided" else []
        doubts.sort(reverse=True)
        seen = set[tuple[int, str]]()
        for _, i, profile in doubts:
            if self._done:
                return
            if (i, profile) not in seen and i not in self.found and len(seen) < DOUBTS:
                seen.add((i, profile))
                self._settle(i, profile)
        self._brinks()

    @property
    def can_strain(self) -> bool:
        """Whether any pair can be put under stress, where the contract asks for it."""
        return self.promise.contract != "real" or any(True for _ in self._floats())

    def _floats(self, *, minute: bool = False) -> Iterator[Strained]:
        """Pairs to strain: floats, with constants far from the limits of their dtype,
        accumulated as kernels do: a wider sum is more exact than the same elsewhere.

        Those with a constant near the lower limit are strained apart (`minute`).
        """
        for i, p, right in self._left():
            dtype = self._type(p.left).dtype
            if not dtype.is_float:
                continue
            least, usual = float(limits_of(dtype).smallest_normal), ordinary(dtype)
            odd = [c for c in self._numbers(i) if not usual(c)]
            if bool(odd) != minute or not all(least <= abs(c) < 1 for c in odd):
                continue
            nodes = (self.graph.nodes[n] for n in self.below[i])
            sums = [n for n in nodes if n.op in ("reduce", "scan", "contract")]
            if all(n.attrs[2] is compute(n.dtype) for n in sums):
                yield i, p, right, dtype

    def _strained(self, profile: Profile) -> list[tuple[float, int, Profile]]:
        """One draw: what is infinite on one side, and what looks worse."""
        inputs = self._inputs(profile)
        own = self.strained.values(inputs, "working")
        exact = self.strained.values(inputs, "exact")

        @functools.cache
        def runs(k: int) -> list[Array | None]:
            return self.strained.noisy(inputs, k)

        doubts: list[tuple[float, int, Profile]] = []
        for i, p, right, dtype in self._floats():
            a, b, e = own[p.left], own[right], exact[p.left]
            assert a is not None and b is not None and e is not None
            if not a.size:
                continue
            e = self.exactly(i, inputs, e, (a, b), lambda _, k: runs(k))
            bad = one_is_infinite(a, b, e, dtype)
            if self.promise.one_way:
                bad &= np.isfinite(a.astype(np.float64))
            if bad.any():
                self.blame(i, "infinite", "", profile, "working", inputs, (a, b), bad)
                continue
            result = errors(a, b, e, dtype)
            worst = np.nan_to_num(result.worse, nan=0.0)
            if not self.promise.one_way:
                worst = np.maximum(worst, np.nan_to_num(result.better, nan=0.0))
            if worst.max() > 1:
                doubts.append((float(worst.max()), i, profile))
        return doubts

    def _settle(self, i: int, profile: Profile) -> None:
        """Draws a pair again and again: is one side worse as a habit?"""
        p = self.pairs[i]
        assert p.right is not None
        alone = self._own(i)
        dtype, tally, back = self._type(p.left).dtype, Tally(), Tally()
        worst, shown = 0.0, None
        for _ in range(AGAIN):
            inputs = self._inputs(profile, [i])
            own, exact = (alone.values(inputs, m) for m in ("working", "exact"))
            a, b, e = own[p.left], own[p.right], exact[p.left]
            assert a is not None and b is not None and e is not None
            e = self.exactly(i, inputs, e, (a, b))
            result = errors(a, b, e, dtype)
            tally.add(result)
            back.add(type(result)(result.right, result.left, result.unit))
            size = np.nan_to_num(result.worse, nan=0.0)
            if not self.promise.one_way:
                size = np.maximum(size, np.nan_to_num(result.better, nan=0.0))
            if size.max() > worst:
                worst, shown = float(size.max()), (inputs, (a, b), size, e)
        other = back.settled and not self.promise.one_way
        if shown is None or not (tally.settled or other):
            return
        inputs, values, size, exact_value = shown
        k = int(np.argmax(size))
        detail = told("right" if tally.settled else "left", worst, exact_value, k)
        self.blame(i, "error", detail, profile, "working", inputs, values, size)

    def _brinks(self) -> None:
        """Inputs as large as the left side can bear, and all of one magnitude.

        Where little makes a dtype overflow, some may be as small as others are large;
        and any value between may be stored, and is then infinite at its own dtype.
        """
        mine = [*self._floats()]
        narrow = [f for f in mine if overflows_easily(f[3])]
        stored = Oracle(self._only([n for _, p, r, _ in narrow for n in (p.left, r)]))
        for k in range(BRINKS if mine else 0):
            self._overflows(self.strained, mine, "working", self._at_brink(mine, k))
            for _ in range(MIXED if narrow else 0):
                inputs = self._at_brink(narrow, k, mixed=True)
                self._overflows(stored, narrow, "own", inputs)
        self._vanishing()

    def _vanishing(self) -> None:
        """Large inputs beside constants so small that products of them are none."""
        mine = [*self._floats(minute=True)]
        oracle = Oracle(self._only([n for _, p, r, _ in mine for n in (p.left, r)]))
        for k in range(3 if mine else 0):  # what single inputs can bear
            inputs = self._at_brink(mine, k)
            own, exact = (oracle.values(inputs, m) for m in ("working", "exact"))
            for i, p, right, dtype in mine:
                a, b, e = own[p.left], own[right], exact[p.left]
                assert a is not None and b is not None and e is not None
                bad = vanishes(a, b, e, dtype)
                if bad.any() and i not in self.found:
                    self.blame(i, "lost", "", "brink", "working", inputs, (a, b), bad)

    def _at_brink(
        self, pairs: Sequence[Strained], k: int, *, mixed: bool = False
    ) -> dict[str, Array]:
        mine = {i for i, *_ in pairs}
        inputs = self._inputs("ordinary", [i for i in self.open if i not in mine])
        types = {n.attrs[0]: n.type for n in self.oracle.inputs}
        for i, _, _, dtype in pairs:
            size = brinks(dtype)[k]
            sizes = [size, -size, inverse(size, dtype)] if mixed else [size]
            for label in self._labels(i):
                scale = sizes[int(self.rng.integers(len(sizes)))]
                inputs[label] = at_magnitude(types[label], scale, self.rng)
        return inputs

    def _overflows(
        self, oracle: Oracle, pairs: Sequence[Strained], mode: Mode,
        inputs: dict[str, Array],
    ) -> None:  # fmt: skip
        values = oracle.values(inputs, mode)
        for i, p, right, dtype in pairs:
            a, b = values[p.left], values[right]
            assert a is not None and b is not None
            bad = overflows_sooner(a, b, dtype)
            if bad.any() and i not in self.found:
                self.blame(i, "overflow", "", "brink", mode, inputs, (a, b), bad)


__all__ = ["Fault", "Judge"]
