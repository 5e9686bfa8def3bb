"""Case distinctions: a computation over unknown integers, run once for each case.

What a rule computes from its sizes and masks branches: a size is 1 or is not, a mask is
set or is not.  `explore` runs a function with a `Path`; where the path cannot tell
which way a condition goes it takes one way, assumes so, and the function is run again
for the other.  Runs are deterministic, so what the solver said is kept between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, Poly

from .conditions import (
    Atom,
    Cond,
    Every,
    Guess,
    Some,
    Zeros,
    at_least,
    below,
    formula,
    holds,
    known,
    negated,
    replaced,
    same,
    simpler,
    solver,
    substituted,
    symbols,
    value,
)

BOUND = (
    "@"  # symbols of fold binders start with it; no case distinction is made on them
)
QUERY_MS = 2000
ANSWERS = 200_000
GUESSES = 24  # assignments that are tried before the solver is asked


type Answer = tuple[dict[str, int] | None, bool]  # a model, or whether there is none
_SOLVERS: list[Any] = []
_ANSWERS: dict[tuple[frozenset[Cond], Cond], Answer] = {}  # alike on many paths


class Infeasible(Exception):
    """No instance takes this path."""


class OutOfTime(Exception):
    """The time allowed for a rule is spent."""


class Unsupported(Exception):
    """Outside of what the encoding can say; the message says what, in a few words."""


type Memo = dict[tuple[tuple[int, ...], int], bool]


@dataclass
class Path:
    """One case: the choices made, and the facts that follow from them."""

    trail: Sequence[int] = ()
    memo: Memo = field(default_factory=dict[Any, bool])
    deadline: float = float("inf")
    taken: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    facts: list[Cond] = field(default_factory=list[Cond])
    scoped: list[Cond] = field(default_factory=list[Cond])
    by: dict[str, Dim] = field(default_factory=dict[str, Dim])
    _nonneg: set[str] = field(default_factory=set[str])
    _models: list[dict[str, int]] = field(
        default_factory=lambda: [Guess(i) for i in range(GUESSES)]
    )
    _made: int = 0
    _asked: int = 0
    _solver: Any = None
    _sure: bool = False  # the solver's last answer was a refusal
    _sent: int = 0

    # -- symbols and facts --

    def fresh(self, stem: str, least: int | None = 0) -> Dim:
        """A new unknown integer, at least `least`."""
        self._made += 1
        s = dims.symbol(f"{stem}.{self._made}")
        if least is not None:
            self.assume(at_least(s, least))
        return s

    def normal(self, d: Dim) -> Dim:
        """The polynomial with known equalities used; equal forms become one."""
        return substituted(d, self.by)

    def assume(self, c: Cond) -> None:
        c = self._normal(c)
        truth = known(c)
        if truth is False:
            raise Infeasible
        if truth is None:
            if isinstance(c, Every):
                for p in c.parts:
                    self.assume(p)
                return
            self._add(c)

    def _add(self, c: Cond) -> None:
        if isinstance(c, Atom) and c.equal and not self.scoped and self._solve(c.poly):
            return
        if isinstance(c, Atom) and not (c.equal or self.scoped) and _single(c.poly):
            self._nonneg |= dims.symbols((c.poly,))
        (self.scoped if self.scoped else self.facts).append(c)
        before = self._models
        self._models = [m for m in before if holds(c, m)]
        if before and not self._models:
            self._mend(before[0], c)

    def _mend(self, model: dict[str, int], c: Cond) -> None:
        """A model of the facts so far becomes one of a new fact, too, if one can."""
        result = self._solution(c)
        if result:
            self._models.append(Guess(0, {**model, **result}))

    def _solution(self, c: Cond) -> dict[str, int] | None:
        """Values that satisfy a condition and the facts that it touches, directly or
        through others; None where the solver finds none."""
        cone = self._cone(symbols(c))
        key = (frozenset(cone), c)
        if key not in _ANSWERS:
            if len(_ANSWERS) > ANSWERS:
                _ANSWERS.clear()
            _ANSWERS[key] = self._fresh_solution([*cone, c])
        result, self._sure = _ANSWERS[key]
        return result

    def _fresh_solution(self, facts: Sequence[Cond]) -> Answer:
        z3, s = solver(), self._idle()
        s.push()
        s.add(*map(formula, facts))
        answer = s.check()
        result = self._values(s.model()) if answer == z3.sat else None
        s.pop()
        return result, answer == z3.unsat

    def _cone(self, about: frozenset[str]) -> list[Cond]:
        """The facts that speak of symbols, or of symbols that such facts speak of."""
        rest = list(dict.fromkeys((*self.facts, *self.scoped)))
        out: list[Cond] = []
        while True:
            result = [f for f in rest if symbols(f) & about]
            if not result:
                return out
            out += result
            rest = [f for f in rest if not symbols(f) & about]
            about = about.union(*map(symbols, result))

    @staticmethod
    def _idle() -> Any:
        """The process's solver for small questions; nothing stays in it."""
        if not _SOLVERS:
            _SOLVERS.append(solver().Solver())
            _SOLVERS[0].set("timeout", QUERY_MS)
        return _SOLVERS[0]

    def _solve(self, p: Dim) -> bool:
        """Uses `p == 0` as a substitution, where a symbol stands alone in it."""
        assert not isinstance(p, int)
        inner = {s for mono, _ in p.terms if len(mono) > 1 for s in mono}
        for mono, c in reversed(p.terms):
            if len(mono) == 1 and abs(c) == 1 and mono[0] not in inner:
                result = {mono[0]: -c * (p - c * dims.symbol(mono[0]))}
                self.by = {
                    k: substituted(d, result) for k, d in self.by.items()
                } | result
                # The solver keeps the fact too: other facts speak of the symbol.
                self.facts.append(Atom(p, equal=True))
                self._revise(result)
                return True
        return False

    def _revise(self, by: Mapping[str, Dim]) -> None:
        """Guesses that agree with substitutions, and still with all facts."""
        for m in self._models:
            for symbol, to in by.items():
                m[symbol] = value(to, m)
        every = (*self.facts, *self.scoped)
        self._models = [m for m in self._models if all(holds(f, m) for f in every)]

    @contextmanager
    def scope(self, *conditions: Cond) -> Generator[None]:
        """Facts that hold inside only: the ranges of bound symbols."""
        kept, models, count = list(self.scoped), list(self._models), len(self.facts)
        extra = [self._normal(c) for c in conditions]
        self.scoped = [*kept, *(extra or [Every(())])]
        # Copies: a guess of a bound symbol's value is one for this scope alone.
        inner = [Guess(i, m) for i, m in enumerate(models)]
        self._models = [m for m in inner if all(holds(c, m) for c in extra)]
        try:
            yield
        finally:
            self.scoped, self._models = kept, models
            if len(self.facts) > count:  # a case was made inside
                self._revise(self.by)

    def _normal(self, c: Cond) -> Cond:
        return self._simpler(replaced(c, self.by) if self.by else c)

    def _simpler(self, c: Cond) -> Cond:
        match c:
            case Atom():
                return simpler(c, self._nonneg)
            case Every(parts):
                return Every(tuple(map(self._simpler, parts)))
            case Some(parts):
                return Some(tuple(map(self._simpler, parts)))

    # -- questions --

    def implies(self, c: Cond) -> bool:
        """Whether the facts make it true; False where the solver cannot tell."""
        c = self._normal(c)
        truth = known(c)
        if truth is not None and (truth or not self.scoped):
            return truth
        if isinstance(c, Every):
            return all(self.implies(p) for p in c.parts)
        return self._plainly(c) or self._ask(c)

    def _plainly(self, c: Cond) -> bool:
        if isinstance(c, Some):
            return any(self._plainly(p) for p in c.parts)
        if not isinstance(c, Atom) or c.equal or isinstance(c.poly, int):
            return known(c) is True
        if self._natural(c.poly):
            return True
        return any(
            isinstance(f, Atom) and not f.equal and self._natural(c.poly - f.poly)
            for f in (*self.scoped, *self.facts)
        )

    def _natural(self, d: Dim) -> bool:
        """A sum of natural numbers."""
        if isinstance(d, int):
            return d >= 0
        return all(k >= 0 and set(mono) <= self._nonneg for mono, k in d.terms)

    def _ask(self, c: Cond) -> bool:
        self._asked += 1
        key = (tuple(t for t, _ in self.taken), self._asked)
        if key not in self.memo:
            self.memo[key] = self._check(c)
        return self.memo[key]

    def _check(self, c: Cond) -> bool:
        if not all(holds(c, m) for m in self._models):
            return False
        if time.process_time() > self.deadline:
            raise OutOfTime
        result = self._solution(negated(c))
        if result and self._models:
            self._models.append(Guess(0, {**self._models[0], **result}))
        return result is None and self._sure

    def synced(self) -> Any:
        """A solver that holds the facts outside of scopes."""
        if self._solver is None:
            self._solver = solver().Solver()
            self._solver.set("timeout", QUERY_MS)
        fresh = self.facts[self._sent :]
        self._solver.add(*(formula(f) for f in fresh))
        self._sent = len(self.facts)
        return self._solver

    def _values(self, model: Any) -> dict[str, int]:
        return Zeros({d.name(): model[d].as_long() for d in model.decls()})

    def decide(self, c: Cond) -> bool | None:
        """Which way it goes; None if that depends on a bound symbol."""
        c = self._normal(c)
        truth = known(c)
        if truth is not None:
            return truth
        if self.implies(c):
            return True
        if self.implies(negated(c)):
            return False
        if any(s.startswith(BOUND) for s in symbols(c)):
            return None
        way = self.choose(2)
        with self._outside():
            self.assume(negated(c) if way else c)
        return not way

    @contextmanager
    def _outside(self) -> Generator[None]:
        """A case holds everywhere, also where it came up below a binder."""
        kept, self.scoped = self.scoped, []
        try:
            yield
        finally:
            self.scoped = kept

    def choose(self, n: int) -> int:
        """One of n cases, each on a run of its own."""
        if n == 0:
            raise Infeasible
        at = len(self.taken)
        pick = self.trail[at] if at < len(self.trail) else 0
        self.taken.append((pick, n))
        return pick

    def pick(self, d: Dim, most: int) -> int:
        """The number that `d` is, of 0 .. most - 1: a case for each."""
        d = self.normal(d)
        if isinstance(d, int):
            return d
        k = self.choose(most)
        self.assume(same(d, k))
        return k

    def bit(self, d: Dim) -> bool:
        """Whether an entry of a 0/1 mask is set."""
        return bool(self.decide(same(d, 1)))

    def feasible(self) -> bool:
        """Whether integers satisfy the facts; True where the solver cannot tell."""
        if self._models:
            return True
        z3, s = solver(), self.synced()
        return s.check(*map(formula, self.scoped)) != z3.unsat

    def model(
        self, small: Sequence[Dim], most: int, wishes: Sequence[tuple[Dim, int]]
    ) -> dict[str, int] | None:
        """Integers that satisfy the facts; these polynomials at most `most` if that can
        be, and the wishes, in turn, that can be granted."""
        z3, s = solver(), self.synced()
        for some in (
            [below(d, most + 1) for d in small],
            *([same(*w)] for w in wishes),
        ):
            s.push()
            s.add(*map(formula, some))
            if s.check() != z3.sat:
                s.pop()
        values = self._values(s.model()) if s.check() == z3.sat else None
        self._solver = None  # its stack is not needed again
        return values


def _single(p: Dim) -> bool:
    return isinstance(p, Poly) and len(p.terms) == 1 and len(p.terms[0][0]) == 1 and (
        p.terms[0][1] > 0
    )  # fmt: skip


def explore[T](
    run: Callable[[Path], T], deadline: float = float("inf")
) -> Iterator[tuple[Path, T | None]]:
    """The result of every path; None where no instance takes it."""
    memo: Memo = {}
    todo: list[list[int]] = [[]]
    while todo:
        trail = todo.pop()
        path = Path(trail, memo, deadline)
        try:
            result = run(path)
        except Infeasible:
            result = None
        for at in range(len(trail), len(path.taken)):
            before = [t for t, _ in path.taken[:at]]
            todo += [[*before, k] for k in range(1, path.taken[at][1])]
        yield path, result
