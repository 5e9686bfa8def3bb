"""Calls that only aim launches at arrays: what a call costs beside its kernels counts
where those take microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..egraph.ir.scalars import Array
from .binding import Port, Ports
from .host_memory import maker
from .native.aiming import Aim, Place


@runtime_checkable
class Tabled(Protocol):
    """Prepared launches that read the addresses of their buffers from a table and are
    done when they return; `spots` says where in it a buffer is, by its number."""

    table: Any
    spots: dict[int, list[int]]

    def aim(self, places: Sequence[Place]) -> Aim | None:
        """What puts the addresses of arrays there; None: nothing can."""
        ...

    def __call__(self) -> None: ...


class Order(NamedTuple):
    """The labels of what a call gets and gives, by place."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Straight:
    """A program that is one run of such launches and writes to nothing but results, and
    to inputs that are to be updated."""

    def __init__(
        self, inputs: Sequence[Port], outputs: Sequence[Port], run: Tabled,
        aims: tuple[Aim, Aim],
    ) -> None:  # fmt: skip
        self.order = _order(inputs, outputs)
        at = {p.b: k for k, p in enumerate(inputs)}
        # Of each result what makes it, or the place of the input that it updates.
        self.makers = [
            maker(p.shape, p.dtype) if p.onto is None else at[p.onto] for p in outputs
        ]
        where = {o: at[p.b] for p in inputs for o in p.written}
        # Places of inputs: the first holds what the second is to hold.
        self.copies = [
            (where[p.b], at[p.onto]) for p in outputs
            if p.onto is not None and where[p.b] != at[p.onto]
        ]  # fmt: skip
        self.moved = {p.b: None for p in (*inputs, *outputs)}
        self.run, (self._inputs, self._outputs) = run, aims

    @staticmethod
    def of(
        ports: Ports, runs: Sequence[object], order: Order | None = None
    ) -> Straight | None:
        """None, where a call has more to do or to look at, or another order is wanted
        of the same labels than there are."""
        every = (*ports.inputs, *ports.outputs)
        free = [p.b for p in ports.outputs if p.onto is None]
        written = {o: p.b for p in ports.inputs for o in p.written}
        apart = len({*free}) == len(free) and all(pair in ports.must for pair in
                    written.items())  # fmt: skip
        apart = apart and all(
            p.free if p.onto is None else p.b in written for p in ports.outputs
        )
        known = all(p.dtype.isbuiltin == 1 and prod(p.shape) for p in every)
        if not (apart and known and len(runs) == 1 and isinstance(runs[0], Tabled)):
            return None
        run, order = runs[0], order or _order(ports.inputs, ports.outputs)
        inputs, outputs = (
            _sorted(some, labels)
            for some, labels in zip((ports.inputs, ports.outputs), order, strict=True)
        )
        if inputs is None or outputs is None:
            return None
        onto = {p.onto for p in outputs}
        to = run.aim([_place(p, run, p.b in onto) for p in inputs])
        of = run.aim([_place(p, run) for p in outputs])
        return Straight(inputs, outputs, run, (to, of)) if to and of else None

    def __call__(self, given: tuple[Any, ...]) -> tuple[Array, ...] | None:
        """The results, of as many objects as there are inputs; None, with nothing run,
        where one is not an array of its port's type that lies in order in memory."""
        if not self._inputs.at(given):
            return None
        results = tuple([m() if callable(m) else given[m] for m in self.makers])
        aimed = self._outputs.at(results)
        assert aimed, "new arrays lie in order"
        self.run()
        for source, target in self.copies:
            given[target][...] = given[source]
        return results


def _order(inputs: Sequence[Port], outputs: Sequence[Port]) -> Order:
    return Order(tuple(p.label for p in inputs), tuple(p.label for p in outputs))


def _sorted(ports: Sequence[Port], labels: Sequence[str]) -> list[Port] | None:
    by_label = {p.label: p for p in ports}
    same = len(labels) == len(ports) and by_label.keys() == set(labels)
    return [by_label[x] for x in labels] if same else None


def _place(p: Port, run: Tabled, written: bool = False) -> Place:
    """With where its address goes, which is where those of what lies on it go.  An
    output that updates an input is aimed at with that."""
    both = (p.b, *p.written) if p.onto is None else ()
    spots = tuple(x for b in both for x in run.spots.get(b, ()))
    return Place(p.dtype, p.shape, spots, written)
