"""Runs a graph: a program for each set of sizes that comes, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewrite.backends.binding import deliver
from rewrite.backends.executable import Executable
from rewrite.backends.forks import Lock
from rewrite.backends.straight import Order
from rewrite.egraph.ir.evaluate import bind_inputs, evaluate
from rewrite.egraph.ir.graph import Graph, substitute
from rewrite.egraph.ir.scalars import Array

type Sizes = tuple[tuple[str, int], ...]
type Make = Callable[[Mapping[str, int], Sequence[Executable]], Executable | None]


MOST = 64  # sizes whose programs are kept, each with its memory


class Runner:
    """Calls of one graph, one at a time: the buffers of a program are shared.

    `make` gives the program for sizes, after those for others, the latest first; None:
    the reference evaluator runs instead.
    """

    def __init__(self, source: Graph, make: Make) -> None:
        self.source, self.make = source, make
        self._symbolic = bool(source.symbols)
        self._inputs = tuple(n.attrs[0] for n in source.inputs)
        self._sizes: dict[tuple[object, ...], dict[str, int]] = {}  # by shapes
        self._ready: dict[Sizes, Executable | None] = {}
        self.lock = Lock()

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None,
        witness: object = None,
    ) -> dict[str, Array]:  # fmt: skip
        with self.lock:
            ready = self.executable(self._bound(inputs) if self._symbolic else {})
            if ready is not None:
                return ready(inputs, out, witness)
            return self._evaluate(inputs, out)

    def straight(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """As a call, where the program is there and takes its inputs as they are;
        else None."""
        with self.lock:
            ready = None if self._symbolic else self._ready.get(())
            return None if ready is None else ready.straight(inputs)

    def ordered(
        self, order: Order
    ) -> Callable[[tuple[Any, ...]], tuple[Array, ...] | None] | None:
        """The same by place, where the program is there and takes it."""
        with self.lock:
            ready = None if self._symbolic else self._ready.get(())
            straight = ready and ready.ordered(order)
        if ready is None or straight is None:
            return None
        lock, aimed = self.lock, ready.aimed

        def run(given: tuple[Any, ...]) -> tuple[Array, ...] | None:
            with lock:
                return aimed(straight, given)

        return run

    def executable(self, sizes: Mapping[str, int]) -> Executable | None:
        key = tuple(sorted(sizes.items()))
        if key in self._ready:
            found = self._ready[key]
            if len(self._ready) > 1:  # the latest last
                del self._ready[key]
                self._ready[key] = found
            return found
        others = [x for x in reversed(self._ready.values()) if x is not None]
        made = self._ready[key] = self.make(dict(key), others)
        if len(self._ready) > MOST:
            del self._ready[next(iter(self._ready))]
        return made

    @property
    def sizes(self) -> tuple[Sizes, ...]:
        """The sizes that there is a program for."""
        return tuple(key for key, ready in self._ready.items() if ready is not None)

    def _bound(self, inputs: Mapping[str, Array]) -> dict[str, int]:
        """The sizes that inputs of these shapes have."""
        given = (inputs.get(label) for label in self._inputs)
        shapes = tuple(getattr(a, "shape", None) for a in given)
        found = self._sizes.get(shapes)
        if found is None:
            found = bind_inputs(self.source, inputs)
            substitute(self.source, found)  # an error at sizes that it does not take
            if None in shapes:  # of what is no array yet
                return found
            self._sizes[shapes] = found
            if len(self._sizes) > MOST:
                del self._sizes[next(iter(self._sizes))]
        return found

    def _evaluate(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        """The reference evaluator's answer, delivered as a device delivers it."""
        result = evaluate(self.source, inputs)
        if out is not None:
            deliver(result, out)
        for a in self.source.aliases:
            if a.kind == "must":
                inputs[a.input][...] = result[a.output]
        return result if out is None else {label: out[label] for label in result}
