"""A loop: the graph of one round, and what goes from round to round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from ..ir.dims import Dim, Shape
from ..ir.dtypes import BOOL, DType
from ..ir.evaluate import InputError
from ..ir.graph import Graph, GraphError, Node
from ..ir.ops import Array, TensorType
from ..ir.values import KINDS, Kind
from .flow import Flow, Run, check_body, flat


@dataclass(frozen=True, eq=False)
class Loop(Flow):
    """`body` is one round.  Its inputs, and the operands of the call, are in order the
    carries, the sequences, and what is the same in all rounds.  Of a sequence a round
    is given one entry of the first axis, which tells how many rounds there are.

    A loop without a sequence is *open*: its first carry is a truth value, and there is
    another round while it is true.  It stacks nothing.

    `carried` says which output each carry becomes, `stacked` which outputs are kept of
    every round.  Of the `results` number k is the last of carry k, or after these the
    entries of a stack, in the order of the sequences' entries also where the loop runs
    through them in `reverse`.
    """

    body: Graph
    carries: int
    sequences: int
    carried: tuple[int, ...]
    stacked: tuple[int, ...]
    results: tuple[int, ...]
    reverse: bool = False

    kind: ClassVar[str] = "loop"

    def __post_init__(self) -> None:
        check_body(self.body, "a loop's body")
        self._check_places()
        outputs = [i for _, i in self.body.outputs]
        for k, (i, j) in enumerate(zip(self.inputs, self.carried, strict=False)):
            have = self.body.nodes[outputs[j]].type
            if have != i.type:
                raise GraphError(f"carry {k} of a loop is {i.type} and becomes {have}")
        if self.is_open and not self._has_end():
            raise GraphError("a loop without a sequence: iota counts its rounds, or "
                             "its first carry, a truth value, says whether there is "
                             "another")  # fmt: skip
        if len({self.of(r).dtype for r in self.results}) != 1:
            raise GraphError("results of one dtype were expected of a loop")

    def _check_places(self) -> None:
        """All numbers are of something."""
        given, kept = self.carries + self.sequences, self.carries + len(self.stacked)
        outputs = range(len(self.body.outputs))
        known = (
            0 <= self.carries <= given <= len(self.inputs),
            len(self.carried) == self.carries,
            all(j in outputs for j in (*self.carried, *self.stacked)),
            self.results and all(r in range(kept) for r in self.results),
        )
        if not all(known):
            raise GraphError("a loop with a number of something that there is not")

    def _has_end(self) -> bool:
        first = self.inputs[0].type if self.carries else None
        return first == TensorType(BOOL, ()) and not self.stacked

    @property
    def is_open(self) -> bool:
        """Values say how many rounds there are."""
        return not self.sequences

    @property
    def attrs(self) -> Mapping[str, Any]:
        own = {k: getattr(self, k) for k in KIND.attrs}
        return own | {"reverse": int(self.reverse)}

    @property
    def bodies(self) -> tuple[Graph, ...]:
        return (self.body,)

    @property
    def words(self) -> tuple[str, ...]:
        return ("a round",)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.body.inputs

    @property
    def same(self) -> frozenset[str]:
        """The inputs that are the same in all rounds."""
        given = self.inputs[self.carries + self.sequences :]
        return frozenset(n.attrs[0] for n in given)

    @property
    def kept(self) -> tuple[TensorType, ...]:
        return tuple(map(self.of, self.results))

    @property
    def shown(self) -> str:
        made = ", ".join(
            f"{'all of' if self.is_stack(r) else 'the last'} out{self.output(r)}"
            for r in self.results
        )
        carried = " ".join(f"out{j}" for j in self.carried) or "nothing"
        goes = f" while out{self.carried[0]} is true" if self.is_open else ""
        backward = ", backward" if self.reverse else ""
        return f"a loop that carries {carried} on{goes} and gives {made}{backward}"

    def given(self, body: int) -> Sequence[int]:
        return range(len(self.inputs))

    def invariant(self, body: int) -> frozenset[str]:
        return self.same

    def output(self, result: int) -> int:
        """Which of the body's outputs a result is made of."""
        return (*self.carried, *self.stacked)[result]

    def of(self, result: int) -> TensorType:
        """What a round gives of a result."""
        return self.body.nodes[self.body.outputs[self.output(result)][1]].type

    def is_stack(self, result: int) -> bool:
        return result >= self.carries

    def entered(self, operand: int) -> bool:
        return self.carries <= operand < self.carries + self.sequences

    def runs(self, shapes: Sequence[Shape]) -> Dim | None:
        return None if self.is_open else shapes[self.carries][0]

    def shapes(self, runs: Dim | None) -> tuple[Shape, ...]:
        return tuple(
            t.shape if runs is None or not self.is_stack(r) else (runs, *t.shape)
            for r, t in zip(self.results, self.kept, strict=True)
        )

    def turns(self, rounds: int) -> range:
        """The entries of the sequences in the order of the rounds."""
        return range(rounds)[:: -1 if self.reverse else 1]

    def rounds(self, args: Sequence[Array]) -> int:
        """How many there are of operands that fit together; else InputError."""
        sequences = args[self.carries : self.carries + self.sequences]
        counts = {a.shape[0] for a in sequences}
        if len(counts) != 1:
            raise InputError(f"a loop over sequences of {sorted(counts)} entries")
        return counts.pop()

    def folded(self, args: Sequence[Array], runs: Sequence[Run], dtype: DType) -> Array:
        first, last = self.carries, self.carries + self.sequences
        labels = [n.attrs[0] for n in self.inputs]
        state, (run,) = list(args[:first]), runs
        stacks: dict[int, Sequence[Array]] = {}
        turns: Iterable[int] = count()
        if not self.is_open:
            turns = self.turns(self.rounds(args))
        for t in turns:
            if self.is_open and not state[0]:
                break
            entries = [np.asarray(s[t]) for s in args[first:last]]
            given = dict(zip(labels, (*state, *entries, *args[last:]), strict=True))
            made = run(given)
            state = [made[j] for j in self.carried]
            if self.stacked:
                stacks[t] = made
        parts: list[Array] = []
        for r in self.results:
            j = self.output(r)
            every = [stacks[t][j] for t in sorted(stacks)]
            parts += every if self.is_stack(r) else [state[r]]
        return flat(parts, dtype)


def _made(
    body: Graph, *, carries: int, sequences: int, carried: tuple[int, ...],
    stacked: tuple[int, ...], results: tuple[int, ...], reverse: int,
) -> Loop:  # fmt: skip
    return Loop(body, carries, sequences, carried, stacked, results, bool(reverse))


KIND = Kind(
    {"carries": "int", "sequences": "int", "carried": "ints", "stacked": "ints",
     "results": "ints", "reverse": "int"}, 1, _made,
)  # fmt: skip
KINDS[Loop.kind] = KIND

__all__ = ["Loop"]
