"""A program tuned: its kernels by what they take, each searched, then all together.

Kernels run on what the program puts before them: it runs once, each buffer in memory of
its own, on inputs of the caller's.  Steps before the first run are left as they are.
What is found is kept at once, so that an interrupt costs only what was not yet tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np

from rewrite.backends import scratch
from rewrite.backends.devices import device as device_named
from rewrite.backends.executable import Executable
from rewrite.cache.learned import database as measured_file
from rewrite.cache.learned import learn
from rewrite.core.compiled import Compiled
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.text.describe import describe
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Choice, Choices, digest
from rewrite.lower.database import Database, Entry
from rewrite.lower.families.library import LIBRARY
from rewrite.lower.lower import choose
from rewrite.lower.model import Family, model_of
from rewrite.lower.program import Invoke
from rewrite.lower.registry import candidates_for
from rewrite.lower.search import Space
from rewrite.tuning.measure import (
    APART,
    Subject,
    fill,
    kernel_timers,
    launches,
    turns,
    whole,
)

from ..cache import kept
from .climb import MARGIN, Climb, Found, Limits, Trial, middle
from .crew import Crew, crew, quiet
from .worker import Job, Setup, Turn

SHORT = 0.5  # seconds: less than a compilation and a trial take
ROUGH = 3  # turns that tell which kernels matter
WHOLE = 25  # turns of the program before and after
ROOM = 4 << 30  # bytes of address space of a trial, beside eight times its operands


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may take."""

    seconds: float = 60.0
    trials: int = 1_000_000  # of each kernel
    jobs: int = 2  # processes that compile
    limit: float = 60.0  # seconds for one compilation or trial
    again: bool = True  # kernels that were searched before as well


@dataclass(frozen=True, slots=True)
class KernelTuned:
    """What was found for a distinct kernel."""

    label: str
    digest: str
    launches: int
    own: Choice  # the family's own decision
    best: Choice
    own_seconds: float  # of a launch; 0 where it was not reached
    seconds: float
    trials: tuple[Trial, ...]

    @property
    def refused(self) -> tuple[Trial, ...]:
        return tuple(t for t in self.trials if t.ratio is None)


@dataclass(frozen=True, slots=True)
class Tuned:
    """A program's kernels, and the program before and after."""

    kernels: tuple[KernelTuned, ...]
    before: float = 0.0  # seconds of a run; 0 where it was not timed
    after: float = 0.0
    interrupted: bool = False
    kept: bool = True  # in the database
    dropped: bool = False  # since the program as a whole got slower
    quiet: bool = False  # a library's calls were dropped, since they slow the rest

    @property
    def choices(self) -> Choices:
        """What is to be lowered otherwise."""
        return {k.digest: k.best for k in self.kernels if k.best != k.own}


@dataclass
class Search:
    """A search on its way: what it is about, and what is found so far."""

    compiled: Compiled
    subject: Subject  # as lowered without a search
    budget: Budget
    families: Sequence[Family]
    tell: Callable[[str, int, int], None]
    until: float = field(init=False)
    found: dict[str, Found] = field(default_factory=dict[str, Found])
    kept: bool = False  # so far, in the database

    def __post_init__(self) -> None:
        self.until = monotonic() + self.budget.seconds
        device, strict = self.compiled.device, self.compiled.strict
        device_named(
            device.name
        )  # as workers will: DeviceError for one of another kind
        self.database: Database | None = kept.database(device, strict)
        self.kept = self.database is not None
        self.before = self.database.read() if self.database else {}
        self.model = model_of(device.caps())
        kernels = {digest(s.kernel): s.kernel for s in launches(self.subject.ready)}
        skipped = () if self.budget.again else self.before
        self.kernels = {k: v for k, v in kernels.items() if k not in skipped}

    def own(self, kernel: Kernel) -> Choice:
        family, _ = choose(normalise(kernel), self.model, self.compiled.strict)
        return Choice(family.name)

    def _laid_out(self, kernel: Kernel) -> frozenset[int]:
        """The slots that its own family wants laid out otherwise."""
        kernel = normalise(kernel)
        family, _ = choose(kernel, self.model, self.compiled.strict)
        return frozenset(x.slot for x in family.layouts(kernel, self.model))

    def run(self) -> bool:
        """Whether it came to its end: False after an interrupt."""
        device = self.compiled.device
        with scratch.place() as place:
            try:
                largest = _operands(self.subject, self.kernels, place, self._laid_out)
                weights = self._weights()
                room = ROOM + 8 * largest if device.caps().cpu_like else 0
                setup = Setup(device.name, tuple(self.families), self.compiled.strict,
                              self.budget.limit, room)  # fmt: skip
                with crew(setup, self.budget.jobs) as workers:
                    self._kernels(workers, weights, place)
            except KeyboardInterrupt:
                return False
        return True

    def _weights(self) -> dict[str, float]:
        """Seconds of each kernel in a run, roughly; the longest first."""
        timers = kernel_timers(self.subject)
        with quiet(kept.folder()):
            times = turns(list(timers.values()), ROUGH)
        took = {name: min(t) for name, t in zip(timers, times, strict=True)}
        total: dict[str, float] = {}
        for step in launches(self.subject.ready):
            key = digest(step.kernel)
            if key in self.kernels:
                total[key] = total.get(key, 0.0) + took[step.name]
        return dict(sorted(total.items(), key=lambda x: -x[1]))

    def _kernels(self, workers: Crew, weights: Mapping[str, float], at: Path) -> None:
        """Each kernel has its part of the time that is left."""
        left = sum(weights.values())
        for i, (key, weight) in enumerate(weights.items()):
            begin = monotonic()
            share = (self.until - begin) * weight / left
            left -= weight
            if share < SHORT:
                continue
            limits = Limits(begin + share, self.budget.trials)
            kernel, own = self.kernels[key], self.own(self.kernels[key])
            space = Space(kernel, self.model, self.families)
            job, known = Job(kernel, str(at / key)), self.before.get(key)

            what = f"kernel {i + 1} of {len(weights)}"
            tell = partial(self._told, key, what, begin, limits)
            climb = Climb(workers, job, space, own, limits, tell, kept.folder())
            self.found[key] = climb.found
            climb.run(known.choice if known else None)
            self._keep(key, climb.found)

    def _told(
        self, key: str, what: str, begin: float, limits: Limits, found: Found
    ) -> None:
        """Of a trial: what has been found is kept, and how far the search is."""
        self._keep(key, found)
        spent = (monotonic() - begin) / (limits.until - begin)
        spent = max(spent, len(found.trials) / limits.trials)
        self.tell(what, min(round(100 * spent), 100), 100)

    def _keep(self, key: str, found: Found) -> None:
        """Also that nothing is better: the next search need not wonder."""
        if self.database is None or not found.seconds:
            return
        entry = Entry(key, found.best, found.seconds, found.own_seconds)
        if entry != self.before.get(key):
            self._write([entry])

    def _write(self, entries: Sequence[Entry]) -> None:
        assert self.database is not None
        try:
            self.database.write(entries)
        except OSError:  # said in the report
            self.kept = False

    def restore(self, keys: Collection[str]) -> None:
        """What was known of these kernels before this search."""
        for key in keys:
            result = self.found[key]
            result.best, result.seconds = result.own, result.own_seconds
            old = self.before.get(key)
            if old is not None and self.database is not None:
                self._write([old])
            else:
                self._keep(key, result)

    def report(self) -> tuple[KernelTuned, ...]:
        uses = Counter(digest(s.kernel) for s in launches(self.subject.ready))
        out: list[KernelTuned] = []
        for key, kernel in self.kernels.items():
            own = self.own(kernel)
            f = self.found.get(key) or Found(own, own)
            out.append(KernelTuned(
                describe(kernel), key, uses[key], f.own, f.best, f.own_seconds,
                f.seconds, tuple(f.trials),
            ))  # fmt: skip
        return tuple(sorted(out, key=lambda k: -k.own_seconds * k.launches))


def tune(
    compiled: Compiled, inputs: Mapping[str, Array], sizes: Mapping[str, int],
    budget: Budget | None = None, families: Sequence[Family] | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> Tuned:  # fmt: skip
    """Searches how the kernels of a program at these sizes are lowered best."""
    plain = compiled.lowered_as({}).executable(sizes)
    if plain is None:
        return Tuned(())
    subject = Subject(plain, inputs)
    every = candidates_for(compiled.strict) if families is None else families
    search = Search(compiled, subject, budget or Budget(), every, tell)
    if not search.kernels:
        return Tuned(())
    whole_run = search.run()
    result = Tuned(search.report(), interrupted=not whole_run, kept=search.kept)
    if whole_run and result.choices:
        try:
            result = _together(search, result, sizes)
        except KeyboardInterrupt:
            result = replace(result, interrupted=True)
    _learn(compiled, result)
    return result


def _together(search: Search, found: Tuned, sizes: Mapping[str, int]) -> Tuned:
    """The program before and after, in turns.  Kernels that are faster alone may not be
    so together: a library's threads look out for work after a call.  So without its
    calls the program is a contestant too, and if none is faster nothing is changed."""
    every = found.choices
    plain = {k: c for k, c in every.items() if c.family != LIBRARY.name}
    ways = [every, *([plain] if plain != every else [])]
    contestants = [search.subject]
    for choices in ways:
        ready = search.compiled.lowered_as(choices).executable(sizes)
        assert ready is not None, "each of its kernels has run"
        contestants.append(Subject(ready, search.subject.inputs))
    with quiet(kept.folder()):
        times = list(zip(*turns([whole(s) for s in contestants], WHOLE), strict=True))
    best = winner(times)
    left = ways[best - 1] if best else {}
    search.restore(every.keys() - left.keys())
    fastest = best or 1
    return replace(
        found, kernels=search.report(), before=middle(times, 0),
        after=middle(times, fastest), dropped=not best, quiet=best > 1,
    )  # fmt: skip


def winner(times: Sequence[Turn]) -> int:
    """The quickest of the new ones; 0, as before, where that is slower."""
    before, *after = (middle(times, i) for i in range(len(times[0])))
    best = min(range(len(after)), key=lambda i: after[i])
    return 0 if after[best] > before * (1 + MARGIN) else best + 1


def _learn(compiled: Compiled, found: Tuned) -> None:
    """Measured seconds are of kernels as they are lowered: those of the best."""
    path = measured_file(compiled.device, compiled.strict)
    seconds = {k.digest: k.seconds for k in found.kernels if k.seconds}
    if path is not None and kept.folder() is not None and seconds:
        learn(path, seconds)


def _operands(
    subject: Subject, kernels: Mapping[str, Kernel], at: Path,
    laid_out: Callable[[Kernel], Container[int]],
) -> int:  # fmt: skip
    """Writes what each kernel reads, an array a slot; the bytes of the largest.  What
    is laid out for a kernel is not at hand as it was: it gets other numbers."""
    ready, rng = subject.ready, np.random.default_rng(0)
    apart = Executable(
        replace(ready.program, memory=APART), ready.graph, ready.device, ready.module
    )
    fill(apart, subject.inputs)
    apart.launch()
    first: dict[str, Invoke] = {}
    for step in launches(apart):
        first.setdefault(digest(step.kernel), step)
    largest = 0
    for key, kernel in kernels.items():
        (at / key).mkdir()
        for slot, (dtype, count) in enumerate(kernel.slots[: kernel.reads]):
            if slot in laid_out(kernel):
                array = rng.standard_normal(count).astype(dtype.numpy)
            else:
                array = np.empty(count, dtype.numpy)
                ready.device.copy_out(apart.buffers[first[key].args[slot]], array)
            np.save(at / key / f"{slot}.npy", array.view(np.uint8))
        largest = max(largest, sum(t.itemsize * n for t, n in kernel.slots))
    apart.close()
    return largest


__all__ = ["Budget", "KernelTuned", "Tuned", "tune"]
