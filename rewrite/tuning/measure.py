"""Seconds of every kernel of compiled programs, alone, beside what was predicted.

A program runs once on real inputs, each buffer in memory of its own, so that all hold
what the program puts there and stay so however often a kernel runs.  Then kernels take
turns, those of all programs and the programs themselves: a slow moment of the machine
meets all alike.  Caches are warm: a launch that is not timed precedes each timing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from rewrite.backends.executable import Executable
from rewrite.backends.flows.inner import Body
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.memory.place import MemoryPlan
from rewrite.extract.schedule.kernel import Cost, Host, Kernel, KernelCost
from rewrite.extract.text.describe import describe
from rewrite.lower.program import Invoke

from ..cache.learned import digest

ROUNDS = 15
ENOUGH = 250e-6  # seconds of one timing: a shorter kernel is launched often within it
MOST = 2000  # launches of one timing
APART = MemoryPlan((), 0, 0, (), ())  # no arena and nothing in place

type Timer = Callable[[], float]  # runs something once; the seconds of it
type Progress = Callable[[str, int, int], None]  # what, done, of


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A distinct kernel of a program."""

    label: str
    cost: Cost  # predicted
    measured: float  # seconds of a launch, median
    digest: str
    launches: int  # of it in the program

    @property
    def family(self) -> str:
        return self.cost.family

    @property
    def predicted(self) -> float:
        """Seconds."""
        return self.cost.seconds


@dataclass(frozen=True, slots=True)
class ProgramTime:
    """A whole program; steps on the host are in its measured time alone."""

    kernels: tuple[KernelTime, ...]
    measured: float  # seconds of a run, median
    hosted: int  # steps that the host runs

    @property
    def predicted(self) -> float:
        """Seconds."""
        return sum(k.predicted * k.launches for k in self.kernels)

    @property
    def summed(self) -> float:
        """Seconds of the kernels as measured alone."""
        return sum(k.measured * k.launches for k in self.kernels)


@dataclass(frozen=True, slots=True)
class Subject:
    """A program and what to run it on."""

    ready: Executable
    inputs: Mapping[str, Array]


def measure(
    subjects: Sequence[Subject],
    price: KernelCost,
    rounds: int = ROUNDS,
    tell: Progress = lambda what, done, of: None,
) -> list[ProgramTime]:
    """Each program and each of its kernels, all in turns."""
    kernels = [kernel_timers(s) for s in subjects]
    timers = [t for result in kernels for t in result.values()]
    timers += [whole(s) for s in subjects]
    seconds = iter(map(median, turns(timers, rounds, tell)))
    alone = [{k: next(seconds) for k in result} for result in kernels]
    return [
        _program(s, price, times, next(seconds))
        for s, times in zip(subjects, alone, strict=True)
    ]


def predicted(ready: Executable | Body, price: KernelCost) -> float:
    """Seconds of the launches of a program and its loops, at its sizes; of a branch
    its dearer side counts."""
    own = sum(_priced(s.kernel, price).seconds for s in launches(ready))
    return own + sum(
        max(predicted(body, price) for body in x.bodies) * x.count
        for x in ready.inner.values()
    )


def launches(ready: Executable | Body) -> list[Invoke]:
    """The steps of a program that are kernels."""
    return [s for s in ready.program.steps if isinstance(s, Invoke)]


def _priced(kernel: Kernel, price: KernelCost) -> Cost:
    cost = price(kernel)
    assert cost is not None, "a kernel that runs has a price"
    return cost


def turns(
    timers: Sequence[Timer],
    rounds: int,
    tell: Progress = lambda what, done, of: None,
) -> list[list[float]]:
    """The times of each timer, one a round."""
    times: list[list[float]] = [[] for _ in timers]
    for r in range(rounds):
        for timer, kept in zip(timers, times, strict=True):
            kept.append(timer())
        tell("rounds", r + 1, rounds)
    return times


def whole(subject: Subject) -> Timer:
    """A timer of the program as it is run, arena and all."""
    ready = subject.ready
    fill(ready, subject.inputs)
    return timer(ready.device.time, lambda n: lambda: _often(ready.launch, n))


def kernel_timers(subject: Subject) -> dict[str, Timer]:
    """A timer for each distinct kernel, by its name in the program."""
    ready = subject.ready
    program = replace(ready.program, memory=APART)
    apart = Executable(program, ready.graph, ready.device, ready.module)
    fill(apart, subject.inputs)
    apart.launch()
    first: dict[str, Invoke] = {}
    for step in launches(apart):
        first.setdefault(step.name, step)
    return {name: _kernel(apart, step) for name, step in first.items()}


def fill(ready: Executable, inputs: Mapping[str, Array]) -> None:
    for b, x in enumerate(ready.program.schedule.buffers):
        if x.kind == "input":
            ready.device.copy_in(ready.buffers[b], inputs[x.label])


def _kernel(apart: Executable, step: Invoke) -> Timer:
    call, module = (step.name, step.args), apart.module
    # As one call: Python takes as long over one as a small kernel.
    return timer(apart.device.time, lambda n: module.prepare([call] * n, apart.buffers))


def _often(run: Callable[[], None], n: int) -> None:
    for _ in range(n):
        run()


def timer(
    clock: Callable[[Callable[[], None]], float],
    repeated: Callable[[int], Callable[[], None]],
) -> Timer:
    """Seconds of one of `repeated(n)`, which runs so often that the clock can tell."""
    once = repeated(1)
    clock(once)  # memory touched, threads awake
    short = min(clock(once) for _ in range(3))
    n = min(max(math.ceil(ENOUGH / max(short, 1e-9)), 1), MOST)
    many = once if n == 1 else repeated(n)
    many()

    def timed() -> float:
        once()
        return clock(many) / n

    return timed


def _program(
    subject: Subject, price: KernelCost, alone: Mapping[str, float], measured: float
) -> ProgramTime:
    steps, invoked = subject.ready.program.steps, launches(subject.ready)
    uses = Counter(s.name for s in invoked)
    first = {s.name: s for s in reversed(invoked)}
    kernels: list[KernelTime] = []
    for name, seconds in alone.items():
        kernel = first[name].kernel
        cost = _priced(kernel, price)
        label = describe(kernel)
        kernels.append(KernelTime(label, cost, seconds, digest(kernel), uses[name]))
    hosted = sum(isinstance(s, Host) for s in steps)
    return ProgramTime(tuple(kernels), measured, hosted)
