"""Instances of a rule that meet its premises, or break one of them alone.

A draw is read with the premises in mind; where a number, an opcode or a mask that was
free stands in the way, it is drawn again with a value that does not.  Dtypes take
turns, so that every one that a rule admits is met.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir import dtypes
from ..ir.dtypes import BF16, F16, F32, F64, I32, DType
from ..ir.scalars import BY_NAME, MONOIDS
from ..rules.patterns import tensors
from ..rules.premises import Algebra, Reading, Tensor
from ..rules.sexpr import Atom, Expr, Form, variables
from .admitted import admits
from .sample import Sampler
from .terms import CONSTANTS

# The dtypes in turn; floats, on which most depends, more than once.
TURNS = (
    F64, F32, I32, F16, *dtypes.ALL, F32, F64, BF16, F32, F64,
)  # fmt: skip
TRIES = 120  # draws for one instance of one dtype
TRIES_TO_BREAK = 40  # fewer where there may be none
ROUNDS = 3  # of all dtypes before a draw gives up: one alone may be out of luck
BARREN = 1  # dtypes without an instance after so many turns are passed over
STUCK = 12  # draws of the same dtypes, which alone stand in the way


@dataclass
class Lore:
    """What draws of one pattern under its premises have taught so far."""

    # By what is wanted and dtype: turns without an instance, and instances.
    misses: Counter[Any] = field(default_factory=Counter[Any])
    hits: Counter[Any] = field(default_factory=Counter[Any])
    # Dtypes at which a premise never holds (False), or never fails (True).
    fixed: set[tuple[str, int, bool]] = field(
        default_factory=set[tuple[str, int, bool]]
    )

    def hopeless(self, wanted: frozenset[int], dtype: str) -> bool:
        if any(d == dtype and (i in wanted) == holds for d, i, holds in self.fixed):
            return True
        key = (wanted, dtype)
        return self.misses[key] >= BARREN and not self.hits[key]


@dataclass
class Guided:
    """Draws instances of one pattern under its premises."""

    sampler: Sampler
    algebra: Algebra
    pattern: Expr
    when: Sequence[Expr]
    turns: Sequence[DType] = TURNS
    lore: Lore = field(default_factory=Lore)  # one for all that draw the same
    _turn: int = 0
    # The premise that spoils draws of this turn by their dtypes alone, as often, and
    # the dtypes of all its draws.
    _stuck: list[int] = field(default_factory=list[int])
    _drawn: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])

    def __post_init__(self) -> None:
        self._terms = tensors(self.pattern)
        self.turns = [k for k in self.turns if admits(self.pattern, k)]

    def met(self) -> int | None:
        """An instance that meets every premise."""
        return self._next(frozenset())

    def breaking(self, premise: int) -> int | None:
        """An instance that breaks this premise, and no other."""
        return self._next(frozenset((premise,)))

    def any(self) -> int | None:
        """An instance of the pattern, whatever the premises say of it."""
        if not self.turns:
            return None
        kind = self.sampler.rng.choice(self.turns)
        result = (self.sampler.draw(self.pattern, kind) for _ in range(TRIES))
        return next((i for i in result if i is not None), None)

    def _next(self, wanted: frozenset[int]) -> int | None:
        for _ in range(ROUNDS * len(self.turns)):
            kind = self.turns[self._turn % len(self.turns)]
            self._turn += 1
            if self.lore.hopeless(wanted, kind.name):
                continue
            # The easiest instances would be the flattest: a rank has its chance first.
            rank = self.sampler.rng.choice(self.sampler.ranks)
            tries = TRIES_TO_BREAK if wanted else TRIES
            self._stuck, self._drawn = [], set()
            for k in range(tries):
                node = self._one(kind, rank if k < tries // 2 else None, wanted)
                if node is not None:
                    self.lore.hits[wanted, kind.name] += 1
                    return node
                if len(self._stuck) >= STUCK and len(self._drawn) == 1:
                    premise = self._stuck[0]
                    self.lore.fixed.add((kind.name, premise, premise in wanted))
                    break
            self.lore.misses[wanted, kind.name] += 1
        return None

    def _one(self, kind: DType, rank: int | None, wanted: frozenset[int]) -> int | None:
        """One draw, and once more with what was in the way mended."""
        s = self.sampler
        state, size, inputs = s.rng.getstate(), len(s.builder.nodes), s.inputs
        node = s.draw(self.pattern, kind, rank)
        if node is None:
            return None
        result = self._read()
        self._drawn.add(_dtypes_of(result.env))
        if result.failing == wanted:
            return node
        s.forget(size, inputs)
        hints = self._hints(result, wanted)
        if not hints:
            return None
        after = s.rng.getstate()
        s.rng.setstate(state)
        s.hints = hints
        node = s.draw(self.pattern, kind, rank)
        s.hints = {}
        s.rng.setstate(after)
        if node is None or self._read().failing == wanted:
            return node
        s.forget(size, inputs)
        return None

    def _read(self) -> Reading:
        return self.algebra.read(self.when, self.env())

    def env(self) -> dict[str, Any]:
        """What the variables of the latest draw stand for."""
        types = self.sampler.builder.type
        return {
            name: Tensor(x, types(x)) if name in self._terms and type(x) is int else x
            for name, x in self.sampler.bound.items()
        }

    # -- what would have to be drawn instead --

    def _hints(self, found: Reading, wanted: frozenset[int]) -> dict[str, Any]:
        hints: dict[str, Any] = {}
        for i in sorted(found.failing ^ wanted):
            new = self._mended(self.when[i], {**found.env, **hints}, i not in wanted)
            if new is None:
                if self._of_dtypes(self.when[i], found.env):
                    self._stuck.append(i)
                return {}
            hints |= new
        return hints

    def _of_dtypes(self, premise: Expr, env: dict[str, Any]) -> bool:
        """Whether it asks after dtypes and nothing else."""
        if isinstance(premise, Form) and premise.head != "dtype":
            return all(self._of_dtypes(a, env) for a in premise.args)
        if isinstance(premise, Form) or not variables(premise):
            return True
        return env.get(str(premise)) in dtypes.BY_NAME

    def _mended(
        self, premise: Expr, env: dict[str, Any], holds: bool
    ) -> dict[str, Any] | None:
        """Other values for the free variables of a premise, so that it holds or not."""
        assert isinstance(premise, Form)
        free = sorted(variables(premise) & self.sampler.free)
        candidates = [*self._exact(premise, env, free)] if holds else []
        pools = [(name, self._pool(env.get(name))) for name in free]
        for name, pool in pools:
            candidates += [{name: x} for x in pool]
        for new in candidates:
            if self.algebra.holds(premise, {**env, **new}) == holds:
                return new
        return None

    def _exact(
        self, premise: Form, env: dict[str, Any], free: list[str]
    ) -> list[dict[str, Any]]:
        """What a table or an equation itself says."""
        if premise.head in self.algebra.relations:
            rows = list(self.algebra.relations[premise.head])
            self.sampler.rng.shuffle(rows)
            names = list(map(str, premise.args))
            pairs = [dict(zip(names, row, strict=True)) for row in rows]
            # What the row alone binds goes with it, for the premises after it.
            bound = env.keys() - {*free}
            return [{k: v for k, v in p.items() if k not in bound} for p in pairs]
        if premise.head != "=":
            return []
        out: list[dict[str, Any]] = []
        for a in premise.args:
            if isinstance(a, Atom) and a.text in free:
                bound = {k: v for k, v in env.items() if k != a.text}
                if self.algebra.holds(premise, bound):
                    out.append({a.text: bound[a.text]})
        return out

    def _pool(self, like: Any) -> list[Any]:
        """Values of one kind, in random order."""
        rng: random.Random = self.sampler.rng
        match like:
            case int():
                pool: list[Any] = [*range(max(self.sampler.ranks))]
            case float():
                pool = [*CONSTANTS, like * 2, like / 2, -like]
            case str() if like in BY_NAME:
                pool = [n for n, s in BY_NAME.items() if s.arity == BY_NAME[like].arity]
            case str() if like in dtypes.BY_NAME:
                pool = [d.name for d in dtypes.ALL if d.kind == dtypes.of(like).kind]
            case str():
                pool = list(MONOIDS)
            case tuple():
                n = len(like)  # pyright: ignore[reportUnknownArgumentType]
                pool = [tuple(rng.choices((0, 1), k=n)) for _ in range(8)]
                pool += [(0,) * n, (1,) * n]
            case _:
                pool = []
        rng.shuffle(pool)
        return pool


def _dtypes_of(env: dict[str, Any]) -> tuple[str, ...]:
    """Of all tensors of an instance, and where one is bound by itself."""
    result = (x.type.dtype.name if isinstance(x, Tensor) else x for x in env.values())
    return tuple(x for x in result if x in dtypes.BY_NAME)
