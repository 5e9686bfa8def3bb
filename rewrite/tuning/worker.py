"""The process that tries choices: it may crash, hang or run out of memory.

Run as `python -m rewrite.tuning FD`: requests come and replies go over the pipe of that
number, after a `Setup`.  A kernel's operands lie in a folder, an array a slot;
what the interpreter makes of them is put beside them by the first who needs it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

import ml_dtypes
import numpy as np

from rewrite.backends.devices import device as device_named
from rewrite.backends.numpy import run_kernel
from rewrite.backends.store import digest, replacing
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise, numel
from rewrite.lower.choice import Choice
from rewrite.lower.device import Device, Module
from rewrite.lower.loops import Function
from rewrite.lower.model import Family, Layout, model_of
from rewrite.tuning.measure import Timer, timer

FAR = 1e-2  # of the largest value: so far off a kernel is wrong, however it sums
FILL = 0x7B  # each byte of an output before a run: no float that a kernel computes
HOPELESS = 6.0  # times as long at once: not worth another run
LOOKS = 3  # times that it is looked at, before that is said
LOST = 1.5  # times as long in the first turns: the rest would change nothing
FIRST = 3  # turns
LAID = 4  # operands laid out in some way, at once
GRACE = 60.0  # seconds beyond the limit, at which a process ends by itself

type Turn = tuple[float, ...]  # seconds of a choice, and of those it is held against


class Setup(NamedTuple):
    """What all requests have in common."""

    device: str
    families: tuple[Family, ...]
    strict: bool
    limit: float = 60.0  # seconds for one request
    memory: int = 0  # bytes of address space; 0: any


class Job(NamedTuple):
    """A kernel, and where its operands lie."""

    kernel: Kernel
    folder: str


class Reference(NamedTuple):
    """Run the interpreter, and `own`: how far off it is says what rounding may do."""

    job: Job
    own: Choice


class Build(NamedTuple):
    """Lower and compile; nothing is run."""

    job: Job
    choice: Choice


class Race(NamedTuple):
    """Check a choice, then time it in turns with others."""

    job: Job
    choice: Choice
    against: tuple[Choice, ...]
    turns: int


class Built(NamedTuple):
    """The digest of the text that was compiled."""

    text: str


class Times(NamedTuple):
    turns: tuple[Turn, ...]


class Refused(NamedTuple):
    """Why a choice is none."""

    reason: str


READY = Built("")  # what a process says when it has begun


type Request = Reference | Build | Race
type Reply = Built | Times | Refused


@dataclass
class Bench:
    """A kernel's operands on the device, and its compiled choices."""

    job: Job
    setup: Setup
    device: Device
    modules: dict[Choice, Module] = field(default_factory=dict[Choice, Module])
    laid: dict[Layout, Any] = field(default_factory=dict[Layout, Any])

    def family(self, choice: Choice) -> Family:
        return next(f for f in self.setup.families if f.name == choice.family)

    def function(self, choice: Choice) -> Function:
        kernel, caps = normalise(self.job.kernel), self.device.caps()
        strict = self.setup.strict
        return self.family(choice).lower(kernel, caps, "k", strict, choice.holes)

    def build(self, choice: Choice) -> Built:
        function = self.function(choice)
        source = self.device.emit([function])
        contract = not self.setup.strict
        self.modules[choice] = self.device.build(source, [function], contract)
        return Built(digest(source.text))

    # ---- operands and results ----

    @cached_property
    def reads(self) -> list[Array]:
        folder, k = Path(self.job.folder), self.job.kernel
        return [
            np.load(folder / f"{i}.npy").view(t.numpy)
            for i, (t, _) in enumerate(k.slots[: k.reads])
        ]

    @cached_property
    def buffers(self) -> list[Any]:
        arrays = (*self.reads, *self._blank())
        held = [self.device.alloc(max(a.nbytes, 1)) for a in arrays]
        for buffer, array in zip(held, arrays, strict=True):
            self.device.copy_in(buffer, array)
        return held

    def operands(self, choice: Choice) -> list[Any]:
        """The buffers, with what never changes laid out as the choice wants it."""
        kernel, model = normalise(self.job.kernel), model_of(self.device.caps())
        held = list(self.buffers)
        for wanted in self.family(choice).layouts(kernel, model, choice.holes):
            held[wanted.slot] = self._laid_out(wanted)
        return held

    def _laid_out(self, wanted: Layout) -> Any:
        if wanted not in self.laid:
            dtype, size = wanted.made.slots[-1]
            out = np.empty(size, dtype.numpy)
            run_kernel(wanted.made, [self.reads[wanted.slot], out], self.setup.strict)
            while len(self.laid) >= LAID:  # whoever uses the oldest still holds it
                del self.laid[next(iter(self.laid))]
            buffer = self.laid[wanted] = self.device.alloc(max(out.nbytes, 1))
            self.device.copy_in(buffer, out)
        return self.laid[wanted]

    def _blank(self) -> list[Array]:
        k = self.job.kernel
        sizes = ((t.numpy, n) for t, n in k.slots[k.reads :])
        return [np.full(n * t.itemsize, FILL, np.uint8).view(t) for t, n in sizes]

    def results(self, choice: Choice) -> tuple[list[Array], float]:
        """What one run writes, and its seconds."""
        blank, module = self._blank(), self._module(choice)
        buffers = self.operands(choice)
        outs = buffers[self.job.kernel.reads :]
        for buffer, array in zip(outs, blank, strict=True):
            self.device.copy_in(buffer, array)
        seconds = self.device.time(lambda: module.launch("k", buffers))
        self.device.sync()
        for buffer, array in zip(outs, blank, strict=True):
            self.device.copy_out(buffer, array)
        return blank, seconds

    def _module(self, choice: Choice) -> Module:
        if choice not in self.modules:
            self.build(choice)
        return self.modules[choice]

    # ---- right or wrong ----

    def reference(self, own: Choice) -> Reply:
        want = self._blank()
        with np.errstate(all="ignore"):
            run_kernel(self.job.kernel, [*self.reads, *want], self.setup.strict)
        got, _ = self.results(own)
        slack = [_slack(self.job.kernel, w, g) for w, g in zip(want, got, strict=True)]
        if None in slack:
            return Refused("without a search it is not what the interpreter computes")
        held = {f"w{i}": w.view(np.uint8) for i, w in enumerate(want)}
        with (
            replacing(Path(self.job.folder) / "want.npz") as part,
            part.open("wb") as f,
        ):
            np.savez(f, allow_pickle=False, slack=np.array(slack, np.float64), **held)
        return Times(())

    @cached_property
    def wanted(self) -> list[tuple[Array, float]]:
        """Each output as it should be, and by how much it may differ."""
        k = self.job.kernel
        with np.load(Path(self.job.folder) / "want.npz") as held:
            slack = held["slack"]
            return [
                (held[f"w{i}"].view(t.numpy), float(slack[i]))
                for i, (t, _) in enumerate(k.slots[k.reads :])
            ]

    def wrong(self, results: Sequence[Array]) -> str | None:
        pairs = zip(results, self.wanted, strict=True)
        for i, (got, (want, slack)) in enumerate(pairs):
            off = _distance(want, got)
            if off > slack:
                return f"output {i} is off by {off:.2g}, {slack:.2g} is rounding"
        return None

    # ---- time ----

    def race(self, r: Race) -> Reply:
        got, _ = self.results(r.choice)  # a library loads much before its first product
        if reason := self.wrong(got):
            return Refused(f"wrong: {reason}")
        if first := self._hopeless(r):
            return Times((first,))
        timers = [self._timer(c) for c in (r.choice, *r.against)]
        turns: list[Turn] = []
        for turn in range(r.turns):
            turns.append(tuple(t() for t in timers))
            if turn + 1 == FIRST and _least(turns, 0) > LOST * _least(turns, 1):
                break
        return Times(tuple(turns))

    def _hopeless(self, r: Race) -> Turn | None:
        """A turn that says so, if no other denies it: one may have been interrupted."""
        once: Turn = ()
        for _ in range(LOOKS):
            once = tuple(self.results(c)[1] for c in (r.choice, *r.against))
            if once[0] <= HOPELESS * once[1]:
                return None
        return once

    def _timer(self, choice: Choice) -> Timer:
        module, buffers = self._module(choice), self.operands(choice)
        call = ("k", tuple(range(len(buffers))))
        return timer(self.device.time, lambda n: module.prepare([call] * n, buffers))


def _least(turns: Sequence[Turn], which: int) -> float:
    return min(t[which] for t in turns)


def _slack(kernel: Kernel, want: Array, own: Array) -> float | None:
    """How far an output may be off: by what sums in another order may differ, or four
    times what the kernel as lowered without a search does.  None: that is wrong."""
    if want.dtype.kind in "biu":
        return 0.0 if np.array_equal(want, own) else None
    terms = [numel(kernel.extents, kernel.exprs[r].attr[1]) for r in kernel.reductions]
    scale = float(np.max(np.abs(_plain(want)), initial=0.0))
    digits = -np.log2(float(_eps(want.dtype)))
    rounding = 2.0**-digits * (32 + 4 * max(terms, default=1) ** 0.5) * scale
    off = _distance(want, own)
    return None if off > max(FAR * scale, rounding) else max(rounding, 4 * off)


def _eps(dtype: np.dtype[Any]) -> float:
    return float(cast(Any, ml_dtypes.finfo(dtype)).eps)


def _plain(a: Array) -> Array:
    """Finite values, wide; others are 0."""
    return np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _distance(want: Array, got: Array) -> float:
    """The largest difference; infinite where one is finite and the other is not."""
    if want.dtype.kind in "biu":
        return 0.0 if np.array_equal(want, got) else float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    return float(np.max(np.abs(_plain(want) - _plain(got)), initial=0.0))


# ---- the process ---------------------------------------------------------------------


def answer(bench: Bench, request: Request) -> Reply:
    try:
        match request:
            case Reference():
                return bench.reference(request.own)
            case Build():
                return bench.build(request.choice)
            case Race():
                return bench.race(request)
    except Exception as e:  # whatever it is, it is of this choice, and is reported
        first = (str(e).strip() or "no message").splitlines()[0]
        return Refused(f"{type(e).__name__}: {first}")


def serve(pipe: Connection) -> None:
    """Answers requests until the pipe is closed."""
    setup: Setup = pipe.recv()
    _limit(setup.memory)
    device, bench = device_named(setup.device), None
    device.caps()  # a compiler is looked for, a driver started
    pipe.send(READY)
    while True:
        try:
            request: Request = pipe.recv()
        except EOFError:
            return
        if bench is None or bench.job.folder != request.job.folder:
            bench = Bench(request.job, setup, device)
        _alarm(setup.limit + GRACE)
        pipe.send(answer(bench, request))
        _alarm(0)


def _alarm(seconds: float) -> None:
    """The end of a process that nobody is left to stop."""
    if sys.platform != "win32":
        signal.alarm(int(seconds))


def _limit(memory: int) -> None:
    if memory and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(argv: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it decides
    serve(Connection(int(argv[1])))


__all__ = [
    "Build", "Built", "Job", "Race", "Reference", "Refused", "Reply", "Request",
    "Setup", "Times",
]  # fmt: skip
