"""What threads of a group touch of what they share, and which touches never meet.

An index is a sum of multiples of names whose intervals are known.  A name that is bound
outside of thread loops has one value for all threads, or no form at all; each name is
bound at one place (`unique`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..intervals import Interval, Linear, extremes, interval, linear, of_loop, of_type
from ..loops import (
    Array,
    AsyncCopy,
    Beside,
    Ex,
    For,
    Function,
    If,
    Let,
    Load,
    Mma,
    Stmt,
    Store,
    Var,
)
from ..walking import bodies, subterms, trips, values
from .rebuild import arrays_of, bound, constant_arrays, variables_of

TOGETHER = "shared buffers"  # that may be one memory
LATER = "turns between"


class Touch(NamedTuple):
    """`lanes` elements from `form` on, anywhere if it has none; `thread` is the loop
    around it that is dealt out."""

    memory: str
    stores: bool
    form: Linear | None
    lanes: int
    thread: Var | None
    step: int
    late: bool = False  # it ends with an `Await`, and what comes before reads elsewhere


class Touches:
    def __init__(self, function: Function) -> None:
        self.constant = constant_arrays(function)
        self.threads = function.threads
        self.known: dict[str, Interval] = {}
        self.forms: dict[str, Linear] = {}
        self.memory = {
            p.name: TOGETHER if p.shared else p.name
            for p in (*function.params, *function.scratch)
            if p.writable or p.shared
        }
        self._learn(function.body, False)

    # ---- indices

    def _learn(self, body: tuple[Stmt, ...], threaded: bool) -> None:
        for s in body:
            match s:
                case For(var):
                    self.known[var.name] = of_loop(s)
                    self.forms[var.name] = Linear(((var.name, 1),), 0)
                    self._learn(s.body, threaded or s.kind == "thread")
                case If() | Beside():
                    for inner in bodies(s):
                        self._learn(inner, threaded)
                case Let(var, value, False) if var.dtype.is_int and var.lanes == 1:
                    self._let(var, value, threaded)
                case Array(name, space="shared"):
                    self.memory[name] = name
                case _:
                    pass

    def _let(self, var: Var, value: Ex, threaded: bool) -> None:
        self.known[var.name] = interval(value, self.known)
        form = self.form(value)
        if form is None and (threaded or self._uniform(value)):
            form = Linear(((var.name, 1),), 0)
        if form is not None:
            self.forms[var.name] = form

    def form(self, x: Ex) -> Linear | None:
        """None where it may wrap around, too."""
        form = linear(x, self.forms)
        if form is None:
            return None
        whole = of_type(x.dtype)
        return form if extremes(form, self.known).within(*whole) else None

    def _uniform(self, x: Ex) -> bool:
        return variables_of(x) <= self.forms.keys() and arrays_of(x) <= self.constant

    # ---- touches

    def of(self, body: Iterable[Stmt], thread: For | None = None) -> list[Touch]:
        return list(dict.fromkeys(self._of(body, thread)))

    def _of(self, body: Iterable[Stmt], thread: For | None) -> Iterator[Touch]:
        for s in body:
            yield from self.heads(s, thread)
            if isinstance(s, Store) and s.array in self.memory:
                yield self._touch(s.array, s.index, s.lanes, True, thread)
            if isinstance(s, AsyncCopy):
                made = self._touch(s.array, s.index, s.lanes, True, thread)
                yield made._replace(late=True)
            if isinstance(s, For) and trips(s):
                yield from self._of(s.body, s if s.kind == "thread" else thread)
            if isinstance(s, If | Beside):  # what is beside meets by rings alone
                yield from self._of(s.body, thread)

    def heads(self, s: Stmt, thread: For | None = None) -> Iterator[Touch]:
        """What the statement itself reads."""
        if isinstance(s, Mma):
            for x, _, _ in s.matrices:
                yield Touch(self.memory[x.array], False, None, 1, None, 1)
        for v in values(s):
            for x in subterms(v):
                if isinstance(x, Load) and x.array in self.memory:
                    yield self._touch(x.array, x.index, x.lanes, False, thread)

    def _touch(
        self, array: str, index: Ex, lanes: int, stores: bool, thread: For | None
    ) -> Touch:
        var, step = (thread.var, thread.step) if thread else (None, 1)
        form = self.form(index)
        return Touch(self.memory[array], stores, form, lanes, var, step)

    # ---- which of them meet

    def clash(
        self, before: Iterable[Touch], after: Iterable[Touch], back: For | None = None
    ) -> bool:
        """Whether of two of them one stores, and two threads may do them to the same
        element; those after in a later turn of the loop `back`, if one is given."""
        if self.threads == 1:
            return False
        later = list(after)
        return any(
            (a.stores or b.stores)
            and a.memory == b.memory
            and not self.apart(a, b, back)
            for a in before
            for b in later
        )

    def apart(self, a: Touch, b: Touch, back: For | None) -> bool:
        """Whether they touch different elements, or the same thread touches both."""
        if a.form is None or b.form is None:
            return False
        known = dict(self.known)
        other = b.form
        if back is not None:
            other = self._later(b.form, back, known)
        gap = a.form.plus(other, -1)
        far = extremes(gap, known)
        if far.high <= -a.lanes or far.low >= b.lanes:
            return True
        return self._own(a, b, gap, back is not None, known)

    def _later(self, form: Linear, loop: For, known: dict[str, Interval]) -> Linear:
        """The form in a later turn of the loop, whose names have other values then."""
        inside = set(bound(loop.body))
        step, turns = loop.step, trips(loop)
        known[LATER] = Interval(step, max(turns - 1, 1) * step)
        made = Linear((), form.const)
        for name, c in form.terms:
            new = name
            if name in inside:
                new = f"{name}'"
                known[new] = known[name]
            made = made.plus(Linear(((new, c),), 0))
            if name == loop.var.name:
                made = made.plus(Linear(((LATER, c),), 0))
        return made

    def _own(
        self, a: Touch, b: Touch, gap: Linear, later: bool, known: dict[str, Interval]
    ) -> bool:
        """Whether only turns of one number meet, which one thread has in both loops:
        all but the number moves by less than a turn does."""
        if a.thread is None or b.thread is None or a.form is None or b.form is None:
            return False
        each = dict(a.form.terms).get(a.thread.name, 0) * a.step
        if each != dict(b.form.terms).get(b.thread.name, 0) * b.step:
            return False
        numbers = (a.thread.name, b.thread.name + "'" * later)
        rest = tuple((n, c) for n, c in gap.terms if n not in numbers)
        off = extremes(Linear(rest, gap.const), known)
        return abs(each) - max(map(abs, off)) >= max(a.lanes, b.lanes)
