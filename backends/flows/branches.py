"""Branches on a device: the program of one side or the other.

A side that does not take the sizes of a call, as that of another sampling rate may not,
is known by why: an error only where it is the one to run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...egraph.ir.node import GraphError
from ...egraph.ir.scalars import Array
from ...egraph.looping.branch import Branch
from ...egraph.looping.flow import Run
from ...extract.schedule.kernel import Buffer
from ..binding import fetch
from .inner import UNREAD, Body, Inner, Tables, is_listed

type Side = Body | GraphError


def branching(branch: Branch, sides: Sequence[Side], given: Sequence[Buffer]) -> Inner:
    """What runs a branch on operands that are such buffers."""
    made = Listed if all(map(_is_plain, sides)) else Sides
    return made(branch, sides, given)


def _is_plain(side: Side) -> bool:
    if isinstance(side, GraphError):
        return False
    return is_listed(side) and not side.prologue


class Sides:
    """A branch as calls of programs, on any device."""

    count = 1

    def __init__(
        self, branch: Branch, sides: Sequence[Side], given: Sequence[Buffer]
    ) -> None:
        self.branch, self.sides = branch, sides
        self.bodies: Sequence[Body] = [
            s for s in sides if not isinstance(s, GraphError)
        ]
        self.types = [x.type for x in given]

    def forget(self) -> None:
        """Nothing is kept."""

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        device, branch = self.bodies[0].device, self.branch
        test = fetch(device, args[0], self.types[0])
        read = branch.given(branch.arm(bool(test)))
        arrays = [
            fetch(device, a, t) if k in read else test
            for k, (a, t) in enumerate(zip(args, self.types, strict=True))
        ]
        runs = [self._run(k) for k in range(len(self.sides))]
        device.copy_in(out, branch.folded([test, *arrays[1:]], runs, branch.dtype))

    def _run(self, body: int) -> Run:
        labels = [label for label, _ in self.branch.bodies[body].outputs]

        def run(inputs: Mapping[str, Array]) -> Sequence[Array]:
            side = self.sides[body]
            if isinstance(side, GraphError):
                raise side
            made = side(inputs)
            return [made[label] for label in labels]

        return run


class Listed(Sides):
    """A branch as lists of launches, which read operands and write results where they
    lie."""

    def __init__(
        self, branch: Branch, sides: Sequence[Side], given: Sequence[Buffer]
    ) -> None:
        super().__init__(branch, sides, given)
        self.tables = [Tables(body.runs[0], 1) for body in self.bodies]
        self.runs = [tables.runs(0, 1) for tables in self.tables]
        self.inputs = [self._inputs(k) for k in range(len(sides))]
        self.outputs = [self._outputs(k) for k in range(len(sides))]

    def _inputs(self, body: int) -> list[tuple[int, int]]:
        """The buffer of each input, and its operand."""
        by_label = {p.label: p.b for p in self.bodies[body].ports.inputs}
        pairs = zip(self.branch.inputs_of(body), self.branch.given(body), strict=True)
        return [(by_label.get(n.attrs[0], UNREAD), k) for n, k in pairs]

    def _outputs(self, body: int) -> list[tuple[int, int]]:
        """The buffer of each output, and where in the result it begins, in bytes."""
        ports = {p.label: p for p in self.bodies[body].ports.outputs}
        found: list[tuple[int, int]] = []
        at = 0
        for label, _ in self.branch.bodies[body].outputs:
            port = ports[label]
            found.append((port.b, at))
            at += int(np.prod(port.shape)) * port.dtype.itemsize
        return found

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        value = ctypes.c_bool.from_address(args[0].address).value
        arm = self.branch.arm(value)
        columns = {b: np.asarray([args[k].address]) for b, k in self.inputs[arm]}
        columns |= {b: np.asarray([out.address + at]) for b, at in self.outputs[arm]}
        self.tables[arm].place(columns)
        self.runs[arm]()


__all__ = ["Listed", "Sides", "branching"]
