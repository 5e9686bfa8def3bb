"""What rounds of a loop make of operands that are the same in all of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from ...extract.schedule.kernel import Host, nbytes
from ...lower.program import Invoke, Program
from .inner import Body


def by_inputs(
    program: Program,
) -> tuple[list[Invoke | Host], list[Invoke | Host]]:
    """Of the steps that are not for each run, those of data alone, and the others."""
    given = {b for b, x in enumerate(program.schedule.buffers) if x.kind == "input"}
    return _apart(program.once, given)


def _apart(
    steps: Sequence[Invoke | Host], given: Container[int]
) -> tuple[list[Invoke | Host], list[Invoke | Host]]:
    """The steps that read nothing of `given`, at first or second hand, and the rest."""
    made: set[int] = set()
    first: list[Invoke | Host] = []
    rest: list[Invoke | Host] = []
    for s in steps:
        if any(b in given or b in made for b in s.args):
            rest.append(s)
            made.update(_made(s))
        else:
            first.append(s)
    return first, rest


def _made(s: Invoke | Host) -> tuple[int, ...]:
    return (s.out,) if isinstance(s, Host) else s.args[s.kernel.reads :]


class Prologue:
    """It lies in memory of the loop's own, as other loops, with other operands, run
    the same body.  What comes of operands that never change is made once, and the rest
    in each call."""

    def __init__(self, body: Body, moving: Container[int]) -> None:
        """`moving`: inputs of the body that may hold something else in each call."""
        program, self.device = body.program, body.device
        _, steps = by_inputs(program)
        made = dict.fromkeys(b for s in steps for b in _made(s))
        types = [x.type for x in program.schedule.buffers]
        self.own = {b: self.device.alloc(max(nbytes(types[b]), 1)) for b in made}
        buffers = [self.own.get(b, x) for b, x in enumerate(body.buffers)]
        self.once, self.always = (
            body.module.prepare([(s.name, s.args) for s in part], buffers)
            if (part := [s for s in some if isinstance(s, Invoke)])
            else None
            for some in _apart(steps, moving)
        )
        self.forget()

    def forget(self) -> None:
        """What never changed has changed."""
        self._is_made = False

    def renew(self, moved: Mapping[int, Any]) -> None:
        """For a call, whose inputs lie there."""
        runs = (None if self._is_made else self.once, self.always)
        for run in runs:
            if run is not None:
                run.place(moved)
                run()
        self._is_made = True


__all__ = ["Prologue", "by_inputs"]
