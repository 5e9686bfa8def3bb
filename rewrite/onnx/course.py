"""What the text of a loop's body says of its course: which states never change, which
ones count, and how often it runs where its condition compares a count with a size.

Exporters write `while i < n` so: the body has no trip count, and carries weights and
limits along as states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from rewrite.egraph.ir.dims import Dim, Poly, floor_div, lower_bound

from .proto import array_of
from .value import Value

# Through these a number is still the same number, or the same state.
SAME = frozenset(("Identity",))
NUMBER = SAME | {"Cast"}
# How a condition continues the loop: the count below the limit, or not above it.
BELOW = {"Less": 0, "LessOrEqual": 1}
ABOVE = {"Greater": 0, "GreaterOrEqual": 1}


@dataclass(frozen=True, slots=True)
class Counter:
    """A state that is `start` at first and goes by `step`."""

    start: int
    step: int
    rank: int = 0

    def after(self, rounds: Dim) -> Dim:
        return rounds * self.step + self.start


@dataclass(frozen=True)
class Course:
    """The body, with the values that the states have at first and those around it."""

    body: onnx.GraphProto
    states: tuple[Value, ...]
    around: Mapping[str, Value]

    @property
    def names(self) -> list[str]:
        """Of the states, as the body reads them."""
        return [i.name for i in self.body.input[2:]]

    @property
    def kept(self) -> dict[str, int]:
        """Places of states that each round hands on as they were, by name."""
        outs = [o.name for o in self.body.output[1:]]
        pairs = zip(self.names, outs, strict=False)
        return {n: k for k, (n, o) in enumerate(pairs) if self.source(o, SAME) == n}

    @property
    def counters(self) -> dict[str, Counter]:
        """States that grow by the same number in each round, by name."""
        found: dict[str, Counter] = {}
        outs = [o.name for o in self.body.output[1:]]
        for name, out, first in zip(self.names, outs, self.states, strict=False):
            start, step = _number(first), self._step(self.source(out, SAME), name)
            if isinstance(start, int) and step:
                found[name] = Counter(start, step, _rank(first))
        return found

    def source(self, name: str, through: frozenset[str]) -> str:
        """Where a value comes from, through operators that change nothing of it."""
        made = self._made
        while name in made and made[name].op_type in through:
            name = made[name].input[0]
        return name

    @property
    def _made(self) -> dict[str, onnx.NodeProto]:
        return {o: n for n in self.body.node for o in n.output}

    def _step(self, name: str, state: str) -> int | None:
        node = self._made.get(name)
        if node is None or node.op_type != "Add":
            return None
        a, b = (self.source(i, SAME) for i in node.input)
        step = self.number(b if a == state else a) if state in (a, b) else None
        return step if isinstance(step, int) else None

    def number(self, name: str) -> Dim | None:
        """What is the same in all rounds and known, of one element."""
        name = self.source(name, NUMBER)
        stored = {t.name: t for t in self.body.initializer}
        if name in self.kept:
            return _number(self.states[self.kept[name]])
        if name in stored:
            return _number(Value(known=array_of(stored[name])))
        node = self._made.get(name)
        if node is not None and node.op_type == "Constant":
            given = {a.name: a for a in node.attribute}
            has = "value" in given
            return _number(Value(known=array_of(given["value"].t))) if has else None
        known = self.around.get(name)
        return None if known is None or node is not None else _number(known)

    @property
    def rounds(self) -> Dim | None:
        """How many there are, if there is one: then the condition has said so."""
        node = self._made.get(self.source(self.body.output[0].name, SAME))
        if node is None or node.op_type not in BELOW | ABOVE:
            return None
        count, limit = node.input if node.op_type in BELOW else reversed(node.input)
        until = self.number(limit)
        found = self._counted(self.source(count, NUMBER))
        if until is None or found is None or found[0].step < 0:
            return None
        counter, later = found
        beyond = (BELOW | ABOVE)[node.op_type]
        # Rounds i = 0, 1, ... after which start + (i + later) step is still below.
        span = until + beyond - counter.start - later * counter.step
        more = _ceil(span, counter.step)
        low = lower_bound(span)
        if low is not None and low >= 0:
            return more + 1
        high = lower_bound(-span)
        return 1 if high is not None and high >= 0 else None

    def _counted(self, name: str) -> tuple[Counter, int] | None:
        """A counter before (0) or after (1) it has gone on."""
        counters = self.counters
        if name in counters:
            return counters[name], 0
        for state, out in zip(self.names, self.body.output[1:], strict=False):
            if state in counters and self.source(out.name, SAME) == name:
                return counters[state], 1
        return None

    def reads(
        self, ready: Callable[[str], bool]
    ) -> Iterator[tuple[onnx.NodeProto, Counter]]:
        """Nodes that read the entry of a tensor whose number counts."""
        counters = {self.body.input[0].name: Counter(0, 1), **self.counters}
        for node in self.body.node:
            if node.op_type != "Gather" or any(a.i for a in node.attribute):
                continue
            at = counters.get(self.source(node.input[1], NUMBER))
            if (
                at is not None
                and not at.rank
                and ready(self.source(node.input[0], SAME))
            ):
                yield node, at


def _ceil(d: Dim, n: int) -> Dim:
    return -floor_div(-d, n)


def _rank(value: Value) -> int:
    return 0 if value.known is None else value.known.ndim


def _number(value: Value) -> Dim | None:
    known = value.known
    if known is None or known.size != 1:
        return None
    entry = known.reshape(-1)[0]
    if isinstance(entry, Poly):
        return entry
    return int(entry) if known.dtype.kind in "iu" else None


__all__ = ["Counter", "Course"]
