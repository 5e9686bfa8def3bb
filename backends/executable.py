"""Running a program on a device: buffers, uploads, launches, results.

Temporaries live in one arena; constant arrays are uploaded once.  Inputs and outputs
are the caller's own memory where the device takes it, else copied.  Ops without a
family run on the host where they stand, on arrays copied out and in again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..egraph.ir.dtypes import described
from ..egraph.ir.evaluate import InputError, apply
from ..egraph.ir.graph import Graph, GraphError
from ..egraph.ir.ops import TensorType
from ..egraph.ir.scalars import Array
from ..egraph.looping.branch import Branch
from ..egraph.looping.flow import Flow
from ..egraph.looping.loop import Loop
from ..extract.schedule.assemble import concrete
from ..extract.schedule.kernel import Buffer, Host, nbytes
from ..lower.device import Device, Module, Prepared
from ..lower.program import Invoke, Program
from .binding import Binding, Ports, fetch
from .flows import beside
from .flows.branches import branching
from .flows.inner import Inner
from .flows.prologue import by_inputs
from .flows.rounds import looping
from .straight import Order, Straight

type Shapes = Sequence[tuple[int, ...]]
# The programs of the bodies of a loop or a branch, by target and operands; why a side
# has none at these sizes.
type BodiesOf = Callable[[str, Shapes], tuple[Executable | GraphError, ...] | None]


class Executable:
    """A compiled program bound to device memory.  Not reentrant."""

    def __init__(
        self,
        program: Program,
        graph: Graph,
        device: Device,
        module: Module | None = None,
        bodies_of: BodiesOf | None = None,
    ) -> None:
        """`module` holds the program's functions where they are compiled already;
        `bodies_of` gives what its loops and branches run."""
        self.program, self.graph, self.device = program, graph, device
        self.module = module or load(program, device)
        self.buffers = self._allocate()
        for b, x in enumerate(program.schedule.buffers):
            if x.kind == "data":
                array = np.ascontiguousarray(graph.data[x.label])
                device.copy_in(self.buffers[b], array)
        self.inner: Mapping[int, Inner] = self._running(bodies_of) if bodies_of else {}
        self._moved: Mapping[int, None] = {}  # buffers, by the last call
        self.lent = False
        self._groups: Mapping[int, beside.Group] = {}
        first, prologue = by_inputs(program)
        self.runs = self._prepared(first)
        self.launch()
        self._drop((*prologue, *program.steps))
        self.runs = self._prepared(program.steps)
        self.ports = Ports(program, graph.aliases)
        # What is kept of constant inputs, and of which: None says of no known.
        self.prologue = self._prepared(prologue)
        self.constant_inputs = frozenset(
            x.label
            for b, x in enumerate(program.schedule.buffers)
            if x.kind == "input" and any(b in s.args for s in prologue)
        )
        self.witness: object = None  # of what was last made of constant inputs
        self._straight = Straight.of(self.ports, self.runs)
        self._hosts = any(isinstance(run, Host) for run in self.runs)
        self._groups = beside.groups_of(self.runs, self.inner)

    def _prepared(self, steps: Sequence[Invoke | Host]) -> list[Prepared | Host]:
        """Runs of launches, and the steps of the host between them."""
        out: list[Prepared | Host] = []
        for host, run in groupby(steps, lambda s: isinstance(s, Host)):
            if host:
                out += [s for s in run if isinstance(s, Host)]
            else:
                calls = [(s.name, s.args) for s in run if isinstance(s, Invoke)]
                out.append(self.module.prepare(calls, self.buffers))
        return out

    def _running(self, bodies_of: BodiesOf) -> dict[int, Inner]:
        """What runs each loop and branch, by the buffer of its result."""
        found = dict[int, Inner]()
        for out, target, flow, given in flows_of(self.program, self.graph):
            bodies = bodies_of(target, [concrete(x.type) for x in given])
            if bodies is not None:
                found[out] = _running(flow, bodies, given)
        return found

    def _allocate(self) -> list[Any]:
        memory, device = self.program.memory, self.device
        offsets, placed = dict(memory.offsets), dict(memory.in_place)
        self.arena = device.alloc(max(memory.arena, 1))
        out: list[Any] = []
        for b, x in enumerate(self.program.schedule.buffers):
            size = max(nbytes(x.type), 1)
            if b in offsets:
                out.append(device.view(self.arena, offsets[b], size))
            elif b not in placed:
                out.append(device.alloc(size))
            else:
                out.append(None)
        for b, source in placed.items():
            out[b] = out[source]
        return out

    def _drop(self, steps: Sequence[Invoke | Host]) -> None:
        """Data that none of the later steps reads is not needed again."""
        program = self.program
        needed = {b for _, b in program.schedule.outputs}
        for s in steps:
            needed.update(s.args)
        for b, x in enumerate(program.schedule.buffers):
            if x.kind in ("data", "kept") and b not in needed:
                self.device.free(self.buffers[b])
                self.buffers[b] = None

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None,
        witness: object = None,
    ) -> dict[str, Array]:  # fmt: skip
        """Runs once.  With `out`, results are written into the caller's arrays.  With
        the `witness` of the call before, which says that the constant inputs hold what
        they held then, what was made of them is used again."""
        stale = bool(self.prologue) and (witness is None or witness != self.witness)
        if out is None and not stale and (results := self._aim(inputs)) is not None:
            return results
        for p in self.ports.inputs if self.lent else ():
            self._own(p.b)
        call = Binding(self.ports, self.device, self.buffers)
        call.take(inputs)
        call.offer(out)
        if stale:
            self.witness = None
            self._renew(call.moved)
            self.witness = witness
        self._place(call.moved)
        self._run(self.runs, call.moved)
        return call.results()

    def straight(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """Runs once where a call has nothing to do but to aim the launches at plain
        arrays; else None, and nothing has run."""
        return None if self.prologue else self._aim(inputs)

    def _aim(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """As `straight`, where what is kept of constant inputs holds."""
        straight = self._straight
        if straight is None:
            return None
        labels, named = straight.order
        results = self.aimed(straight, tuple([inputs.get(x) for x in labels]))
        return None if results is None else dict(zip(named, results, strict=True))

    def ordered(self, order: Order | None = None) -> Straight | None:
        """What runs such calls with arrays by place, in this order."""
        return None if self.prologue else Straight.of(self.ports, self.runs, order)

    def aimed(
        self, straight: Straight, given: tuple[Any, ...]
    ) -> tuple[Array, ...] | None:
        # First, so that the next call moves them back whenever an interrupt comes.
        self._moved = straight.moved
        return straight(given)

    def _renew(self, moved: Mapping[int, Any]) -> None:
        """Makes anew what is kept of constant inputs."""
        inputs = {p.b: moved.get(p.b, self.buffers[p.b]) for p in self.ports.inputs}
        for run in self.prologue:
            if not isinstance(run, Host):
                run.place(inputs)
        for x in self.inner.values():
            x.forget()
        self._run(self.prologue, moved)

    @property
    def kept_bytes(self) -> int:
        """What is kept of data and constant inputs, as it lies for kernels."""
        return sum(
            nbytes(x.type)
            for b, x in enumerate(self.program.schedule.buffers)
            if x.kind == "kept" and self.buffers[b] is not None
        )

    def launch(self) -> None:
        """The steps alone, on what the buffers hold."""
        self._place({})
        self._run(self.runs, {})

    def lend(self) -> None:
        """Gives back the memory of inputs that nothing is written to: whoever calls
        brings their own."""
        self.lent = True
        for p in self.ports.inputs:
            if not p.written and self.buffers[p.b] is not None:
                self.device.free(self.buffers[p.b])
                self.buffers[p.b] = None
                self._moved = {**self._moved, p.b: None}

    def _own(self, b: int) -> Any:
        """A buffer of the program's, made again where it was given back."""
        if self.buffers[b] is None:
            size = nbytes(self.program.schedule.buffers[b].type)
            self.buffers[b] = self.device.alloc(max(size, 1))
        return self.buffers[b]

    def run_on(self, moved: Mapping[int, Any]) -> None:
        """Runs once on these buffers by number, and waits for nothing."""
        self._place(moved)
        self._start(self.runs, moved)

    @property
    def placed(self) -> object:
        """What the launches are aimed at; another object after any other call."""
        return self._moved

    def again(self, placed: object) -> bool:
        """Runs as the last call did, if launches are still aimed so and the host has
        nothing to do; else nothing has run."""
        if placed is not self._moved or self._hosts:
            return False
        self._start(self.runs, {})
        return True

    def _place(self, moved: Mapping[int, Any]) -> None:
        """Aims the launches at the caller's memory, and away from the last caller's."""
        back = {b: self._own(b) for b in self._moved.keys() - moved.keys()}
        # Whatever of it is placed when an interrupt comes, or another thread forks.
        self._moved = dict.fromkeys((*self._moved, *moved))
        for run in self.runs:
            if not isinstance(run, Host):
                run.place({**back, **moved})
        self._moved = dict.fromkeys(moved)

    def _run(self, runs: Sequence[Prepared | Host], moved: Mapping[int, Any]) -> None:
        self._start(runs, moved)
        self.device.sync()

    def _start(self, runs: Sequence[Prepared | Host], moved: Mapping[int, Any]) -> None:
        for run in runs:
            if not isinstance(run, Host):
                run()
            elif (group := self._groups.get(run.out)) is None:
                self._host(run, moved)
            elif run is group[0][0]:
                beside.run(group, lambda b: moved.get(b, self.buffers[b]))

    def _host(self, step: Host, moved: Mapping[int, Any]) -> None:
        self.device.sync()
        buffers = {b: moved.get(b, self.buffers[b]) for b in (*step.args, step.out)}
        if (inner := self.inner.get(step.out)) is not None:
            return inner([buffers[b] for b in step.args], buffers[step.out])
        types = [x.type for x in self.program.schedule.buffers]
        args = [fetch(self.device, buffers[b], types[b]) for b in step.args]
        value = run_host(step, args, types[step.out], self.graph.calls)
        self.device.copy_in(buffers[step.out], value)

    def close(self) -> None:
        """Gives the memory back."""
        memory = self.program.memory
        shared = {b for b, _ in (*memory.offsets, *memory.in_place)}
        for b, buffer in enumerate(self.buffers):
            if b not in shared and buffer is not None:
                self.device.free(buffer)
        self.device.free(self.arena)


def flows_of(
    program: Program, graph: Graph
) -> Iterator[tuple[int, str, Flow, list[Buffer]]]:
    """The loops and branches of a program: result, target, what it is, operands."""
    buffers = program.schedule.buffers
    for s in (*program.once, *program.steps):
        if isinstance(s, Host) and s.op == "call":
            flow = graph.calls.get(s.attrs[0])
            if isinstance(flow, Flow):
                yield s.out, s.attrs[0], flow, [buffers[b] for b in s.args]


def _running(
    flow: Flow, bodies: Sequence[Executable | GraphError], given: Sequence[Buffer]
) -> Inner:
    match flow:
        case Loop():
            (body,) = bodies
            if isinstance(body, GraphError):
                raise body
            return looping(flow, body, given)
        case Branch():
            return branching(flow, bodies, given)
        case _:
            raise TypeError(f"a {type(flow).__name__} is neither a loop nor a branch")


def load(program: Program, device: Device) -> Module:
    """The program's functions, compiled."""
    return device.compile(program.functions, contract=not program.strict)


def run_host(
    step: Host,
    args: list[Array],
    t: TensorType,
    calls: Mapping[str, Callable[..., Any]],
) -> Array:
    """One op by its NumPy meaning, or the caller's own function."""
    if step.op == "call":
        value = np.asarray(calls[step.attrs[0]](*args))
        if value.shape != t.shape or value.dtype != t.dtype.numpy:
            result = described(value)
            raise InputError(f"call {step.attrs[0]!r} returned {result}, not {t}")
        return np.ascontiguousarray(value)
    return np.ascontiguousarray(apply(step.op, args, step.attrs, t))
