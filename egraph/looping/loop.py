"""A loop as data: the graph of one round, and what goes from round to round.

A `Loop` is the host function of a `call` node, so that all that knows calls knows
loops: none are merged or looked into, and the host runs them by their NumPy meaning,
which is `Loop.at`.  What can run rounds faster reads the fields instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir import dims
from ..ir.dims import Dim, Shape
from ..ir.dtypes import F64, DType
from ..ir.evaluate import (
    InputError,
    Precision,
    bind_inputs,
    evaluate_fixed,
    expand_macros,
)
from ..ir.graph import Graph, GraphError, Node, substitute
from ..ir.ops import Array, TensorType


@dataclass(frozen=True, eq=False)
class Loop:
    """`body` is one round.  Its inputs, and the operands of the call, are in order the
    carries, the sequences, and what is the same in all rounds.  Of a sequence a round
    is given one entry of the first axis, which tells how many rounds there are.

    The body's outputs are different nodes and none is an input.  `carried` says which
    output each carry becomes, `stacked` which outputs are kept of every round.

    The call gives one array without axes but one: its `results` one after the other,
    which are of one dtype; number k is the last of carry k, or after these the entries
    of a stack, in the order of the sequences' entries also where the loop runs through
    them in `reverse`.
    """

    body: Graph
    carries: int
    sequences: int
    carried: tuple[int, ...]
    stacked: tuple[int, ...]
    results: tuple[int, ...]
    reverse: bool = False

    def __post_init__(self) -> None:
        outputs = [i for _, i in self.body.outputs]
        own = {self.body.nodes[i].op for i in outputs}
        if len(set(outputs)) != len(outputs) or own & {"input", "data"}:
            raise GraphError("a loop's body has an output twice, or one it was given")
        if not self.sequences:
            raise GraphError("a loop without a sequence: iota counts its rounds")
        for k, (i, j) in enumerate(zip(self.inputs, self.carried, strict=False)):
            have = self.body.nodes[outputs[j]].type
            if have != i.type:
                raise GraphError(f"carry {k} of a loop is {i.type} and becomes {have}")
        if len({self.of(r).dtype for r in self.results}) != 1:
            raise GraphError("results of one dtype were expected of a loop")

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.body.inputs

    @property
    def same(self) -> frozenset[str]:
        """The inputs that are the same in all rounds."""
        given = self.inputs[self.carries + self.sequences :]
        return frozenset(n.attrs[0] for n in given)

    @property
    def dtype(self) -> DType:
        """Of its results."""
        return self.of(self.results[0]).dtype

    @property
    def shown(self) -> str:
        """What is done with the body's inputs and outputs, in words."""
        kept = ", ".join(
            f"{'all of' if self.is_stack(r) else 'the last'} out{self.output(r)}"
            for r in self.results
        )
        carried = " ".join(f"out{j}" for j in self.carried) or "nothing"
        backward = ", backward" if self.reverse else ""
        return f"a loop that carries {carried} on and gives {kept}{backward}"

    def output(self, result: int) -> int:
        """Which of the body's outputs a result is made of."""
        return (*self.carried, *self.stacked)[result]

    def of(self, result: int) -> TensorType:
        """What a round gives of a result."""
        return self.body.nodes[self.body.outputs[self.output(result)][1]].type

    def is_stack(self, result: int) -> bool:
        return result >= self.carries

    def shape(self, result: int, rounds: Dim) -> Shape:
        own = self.of(result).shape
        return (rounds, *own) if self.is_stack(result) else own

    def starts(self, rounds: Dim) -> tuple[Dim, ...]:
        """Where each result begins among the elements of the call's, and their end."""
        at: list[Dim] = [0]
        for r in self.results:
            at.append(at[-1] + dims.numel(self.shape(r, rounds)))
        return tuple(at)

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

    def sizes(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        """Of the body's symbols, for operands of these shapes."""
        first, last = self.carries, self.carries + self.sequences
        given: dict[str, Array] = {}
        for k, (n, shape) in enumerate(zip(self.inputs, shapes, strict=True)):
            entry = shape[1:] if first <= k < last else shape
            given[n.attrs[0]] = np.broadcast_to(np.zeros((), n.dtype.numpy), entry)
        return bind_inputs(self.body, given)

    def __call__(self, *args: Array) -> Array:
        return self.at(args, "own")

    def at(self, args: Sequence[Array], precision: Precision) -> Array:
        """The meaning: round after round."""
        sizes = self.sizes([a.shape for a in args])
        body = expand_macros(substitute(self.body, sizes))

        def round_of(given: Mapping[str, Array]) -> Sequence[Array]:
            return list(evaluate_fixed(body, given, precision).values())

        wide = precision == "f64" and self.dtype.is_float
        return self.folded(args, round_of, F64 if wide else self.dtype)

    def folded(
        self, args: Sequence[Array],
        round_of: Callable[[Mapping[str, Array]], Sequence[Array]], dtype: DType,
    ) -> Array:  # fmt: skip
        """The result where `round_of` gives the outputs of a round by its inputs."""
        rounds = self.rounds(args)
        first, last = self.carries, self.carries + self.sequences
        labels = [n.attrs[0] for n in self.inputs]
        state = list(args[:first])
        kept: list[Sequence[Array]] = [()] * rounds
        for t in self.turns(rounds):
            entries = [np.asarray(s[t]) for s in args[first:last]]
            given = dict(zip(labels, (*state, *entries, *args[last:]), strict=True))
            kept[t] = made = round_of(given)
            state = [made[j] for j in self.carried]
        flat = [np.empty(0, dtype.numpy)]
        for r in self.results:
            j = self.output(r)
            flat += [m[j] for m in kept] if self.is_stack(r) else [state[r]]
        return np.concatenate([np.ravel(part) for part in flat])


def loops_of(graph: Graph) -> Iterator[tuple[str, Loop]]:
    """The loops of a graph that its results depend on, by target."""
    for i in sorted(graph.live):
        node = graph.nodes[i]
        made = graph.calls.get(node.attrs[0]) if node.op == "call" else None
        if isinstance(made, Loop):
            yield node.attrs[0], made


__all__ = ["Loop", "loops_of"]
