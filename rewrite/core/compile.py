"""The pipeline: a graph in, a compiled program out, for whatever sizes come.

`optimize_graph` does not fail because of the optimizer: where a stage gives up, the
one before it stands (the input's own schedule; the reference evaluator) and one warning
says why.  With `fallback=False` the error is raised instead.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from rewrite.backends.binding import deliver
from rewrite.backends.devices import default_device
from rewrite.backends.devices import device as device_named
from rewrite.backends.executable import Executable
from rewrite.backends.forks import Lock
from rewrite.egraph.ir.evaluate import bind_inputs, evaluate, expand_macros
from rewrite.egraph.ir.graph import Graph, witness
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.memory.place import MemoryPlan, plan_memory
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.schedule.describe import describe
from rewrite.extract.schedule.kernel import KernelCost, Launch, Schedule
from rewrite.extract.schedule.plan import Plan, choose, own_space, plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.choice import Choices, digest
from rewrite.lower.device import Device
from rewrite.lower.loops import Function
from rewrite.lower.model import model_of
from rewrite.lower.program import build
from rewrite.lower.text import show_all

from ..cache.identity import plan_key
from ..cache.kept import choices_for
from ..cache.learned import MeasuredCost
from ..cache.shelf import Built, Kept, Shelf, plans, used_by, without_bodies
from .costs import CostError, cost_for, is_kept, name_of
from .fitting import device_reuse, fitted
from .options import MOVES, Options, check_options

if TYPE_CHECKING:
    from ..report.account import Account

log = logging.getLogger("rewrite")
LEARN = "`rewrite bench MODEL --predict --learn`"
TUNING = 30.0  # seconds that effort 3 spends on trials of kernels


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel of a schedule, as people read it."""

    label: str
    seconds: float  # predicted
    bytes: float
    family: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    once: bool = False  # it runs when the program is made, not in each run


class Compiled:
    """An optimized graph on a device: call it with a mapping of inputs."""

    def __init__(
        self,
        source: Graph,
        chosen: Plan | Callable[[], Plan],
        device: Device,
        options: Options,
        seconds: float,
        shelf: Kept | None = None,
        choices: Choices | None = None,
    ) -> None:
        """`chosen` may be what reads the plan; programs are kept on the `shelf`.
        `choices` say how kernels are lowered; None: as `rewrite tune` has found."""
        self.source = source
        self._chosen = chosen
        self.was_kept = not isinstance(chosen, Plan)  # it was found, not made
        self.shelf = shelf
        self.device = device
        self.options = options
        self.choices = choices_for(device, self.strict) if choices is None else choices
        self.optimize_seconds = seconds
        self._symbolic = bool(source.symbols)
        self._inputs = tuple(n.attrs[0] for n in source.inputs)
        self._sizes: dict[tuple[object, ...], dict[str, int]] = {}  # by shapes
        self._ready: dict[tuple[tuple[str, int], ...], Executable | None] = {}
        self._lock = Lock()  # one call at a time: buffers are shared

    @property
    def plan(self) -> Plan:
        if not isinstance(self._chosen, Plan):
            self._chosen = self._chosen()
        return self._chosen

    def lowered_as(self, choices: Choices) -> Compiled:
        """The same plan, its kernels lowered as is chosen here."""
        return Compiled(
            self.source, self._chosen, self.device, self.options,
            self.optimize_seconds, self.shelf, choices,
        )  # fmt: skip

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs by name; with `out`, written into the caller's arrays."""
        with self._lock:
            ready = self.executable(self._bound(inputs) if self._symbolic else {})
            if ready is not None:
                return ready(inputs, out)
            return self._evaluate(inputs, out)

    def _bound(self, inputs: Mapping[str, Array]) -> dict[str, int]:
        """The sizes that inputs of these shapes have."""
        given = (inputs.get(label) for label in self._inputs)
        shapes = tuple(None if a is None else a.shape for a in given)
        if shapes not in self._sizes:
            self._sizes[shapes] = bind_inputs(self.source, inputs)
        return self._sizes[shapes]

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

    def likely(self, sizes: Mapping[str, int] | None) -> dict[str, int]:
        """Sizes for looking at a program: those given, the hints, else the witness."""
        if not self.source.symbols:
            return {}
        return {**witness(self.source), **self.options.hints, **(sizes or {})}

    def executable(self, sizes: Mapping[str, int] | None = None) -> Executable | None:
        """The program for these sizes, compiled once; None: the evaluator runs."""
        key = tuple(sorted((sizes or {}).items()))
        if key not in self._ready:
            self._ready[key] = self._compile(dict(key))
        return self._ready[key]

    def _compile(self, sizes: Mapping[str, int]) -> Executable | None:
        try:
            return self._executable(sizes)
        except Exception as e:
            # A drop-in never fails by its optimizer: the reference still runs.
            if not self.options.fallback:
                raise
            warn(f"{self.device.name} cannot run this program ({e}); using NumPy")
            return None

    def _executable(self, sizes: Mapping[str, int]) -> Executable:
        if self.device.name == "numpy":  # the interpreter, which needs no text
            steps = schedule(self.plan.graph, self.plan.groups, sizes)
            program = build(steps, None, strict=self.strict)
            return Executable(program, self.plan.graph, self.device)
        made = self.built(sizes)
        functions = made.program.functions
        module = self.device.build(made.source, functions, not self.strict)
        return Executable(made.program, self.source, self.device, module)

    def built(self, sizes: Mapping[str, int]) -> Built:
        """The program for these sizes and its text: kept, or made and kept."""
        caps, shelf = self.device.caps(), self.shelf
        found = shelf.built(sizes, caps, self.choices) if shelf else None
        if found is None:
            steps = schedule(self.plan.graph, self.plan.groups, sizes)
            program = build(steps, caps, strict=self.strict, choices=self.choices)
            most = self.options.memory
            if most is not None and program.memory.arena > most:
                program = build(steps, caps, strict=self.strict)  # it overwrites more
            source = self.device.emit(program.functions)
            used = used_by(program, self.choices)
            found = Built(without_bodies(program), source, used)
            if shelf:
                shelf.keep_built(sizes, caps, found)
        return found

    @property
    def strict(self) -> bool:
        return self.options.precision == "strict"

    @property
    def sizes(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The sizes that it was compiled for so far."""
        return tuple(key for key, ready in self._ready.items() if ready is not None)

    def schedule(self, sizes: Mapping[str, int] | None = None) -> Schedule:
        return schedule(self.plan.graph, self.plan.groups, self.likely(sizes))

    def memory(self, sizes: Mapping[str, int] | None = None) -> MemoryPlan:
        """Where temporaries lie, how many bytes they take, and the least they could."""
        reuse = device_reuse(self.device, self.strict, self.choices)
        return plan_memory(self.schedule(sizes), reuse)

    def functions(self, sizes: Mapping[str, int] | None = None) -> tuple[Function, ...]:
        """The lowered kernels."""
        caps = self.device.caps()
        steps = self.schedule(sizes)
        return build(steps, caps, strict=self.strict, choices=self.choices).functions

    def save(self, path: str | Path) -> None:
        """Writes a bundle, which `rewrite.load` runs without the e-graph engine."""
        from .bundle import save

        save(self, Path(path))

    def explain(
        self, node: str = "", kernel: str = "", *, ablate: bool = False,
        run: bool = True, sizes: Mapping[str, int] | None = None,
    ) -> Account:  # fmt: skip
        """The whole decision, each step of its proof checked (docs/explain.md)."""
        from ..report.explain import account

        return account(self, sizes, node=node, kernel=kernel, ablate=ablate, run=run)

    def code(self, sizes: Mapping[str, int] | None = None) -> str:
        """The source text that the device compiles."""
        return self.device.source(self.functions(sizes))

    def loops(self, sizes: Mapping[str, int] | None = None) -> str:
        """The lowered kernels as text, before any device's language."""
        return show_all(self.functions(sizes))

    def kernels(self, sizes: Mapping[str, int] | None = None) -> list[KernelInfo]:
        """The kernels in order, with predicted cost."""
        steps = self.schedule(sizes)
        price = cost_for(self.device, self.options.precision, self.options.cost)
        out: list[KernelInfo] = []
        for i, step in enumerate(steps.steps):
            once = i < steps.once
            if isinstance(step, Launch):
                names = tuple(_buffer(steps, b) for b in step.args)
                reads, writes = names[: step.kernel.reads], names[step.kernel.reads :]
                cost = price(step.kernel)
                label = describe(step.kernel)
                moved = float(sum(d.itemsize * n for d, n in step.kernel.slots))
                tuned = self.choices.get(digest(step.kernel)) if self.choices else None
                family = cost.family if cost else "none"
                family = tuned.family if tuned else family
                seconds = cost.seconds if cost else float("nan")
                out.append(
                    KernelInfo(label, seconds, moved, family, reads, writes, once)
                )
            else:
                reads = tuple(_buffer(steps, b) for b in step.args)
                writes = (_buffer(steps, step.out),)
                out.append(KernelInfo(step.op, 0.0, 0.0, "host", reads, writes, once))
        return out


def _buffer(steps: Schedule, b: int) -> str:
    x = steps.buffers[b]
    return f"{x.label or f'%{b}'}: {x.type}"


def warn(message: str) -> None:
    """A warning at the user's line, whatever of this package is in between."""
    log.info(message)
    here = (str(Path(__file__).parents[1]),)
    warnings.warn(f"rewrite: {message}", RuntimeWarning, skip_file_prefixes=here)


def pick_device(device: str | Device | None) -> Device:
    if device is None:
        return default_device()
    return device_named(device) if isinstance(device, str) else device


def optimize_graph(
    graph: Graph, device: str | Device | None = None, options: Options | None = None
) -> Compiled:
    """The cheapest equal schedule that the rules and the search find for `graph`."""
    options = options or Options()
    check_options(options)
    target = pick_device(device)
    started = perf_counter()
    price = cost_for(target, options.precision, options.cost)
    if isinstance(price, MeasuredCost) and not price.seconds:
        warn(f"no kernel was measured on {target.name}; {LEARN} does that")
    moves = MOVES[options.effort]
    shelf = _shelf(graph, target, options)
    kept = shelf.plan(graph) if shelf else None
    if kept is not None:
        seconds = perf_counter() - started
        log.info("found the plan of %d nodes in %.3f s", len(graph), seconds)
        return _searched(Compiled(graph, kept, target, options, seconds, shelf))
    rules = load_rules(options.rules or None, options.precision)
    try:
        chosen = plan(graph, saturator(rules), price, moves=moves, hints=options.hints)
    except CostError:
        raise  # there is no schedule without prices
    except Exception as e:
        # A drop-in never fails by its optimizer: its own terms are fused without rules.
        if not options.fallback:
            raise
        warn(f"the rules could not be applied ({e}); scheduling the graph as it is")
        chosen, shelf = own_plan(graph, price, hints=options.hints), None
    if chosen.truncated:  # by the clock: the next time more may be found
        shelf = None
    chosen, whole = _fitted(graph, chosen, target, options, price)
    if shelf and whole:
        shelf.keep_plan(chosen)
    seconds = perf_counter() - started
    log.info("optimized %d nodes in %.3f s", len(graph), seconds)
    shelf = shelf if whole else None
    return _searched(Compiled(graph, chosen, target, options, seconds, shelf))


def _searched(c: Compiled) -> Compiled:
    """With effort 3: lowered as trials of those kernels say that nobody has tried, at
    the sizes that the graph or the hints name."""
    graph, sizes = c.source, c.options.hints
    calls = any(n.op == "call" for n in graph.nodes)  # not ours to call
    known = all(s in sizes for s in graph.symbols)
    if c.options.effort < 3 or c.device.name == "numpy" or calls or not known:
        return c
    from ..commands.terminal import random_arrays
    from ..tuning.tune import Budget, tune

    bound = {s: sizes[s] for s in graph.symbols}
    inputs = random_arrays(graph, bound, 0, deviation=0.1)
    try:
        found = tune(c, inputs, bound, Budget(TUNING, again=False))
    except Exception as e:
        # A drop-in never fails by its optimizer: families decide by themselves.
        if not c.options.fallback:
            raise
        warn(f"kernels could not be tuned ({e})")
        return c
    if found.interrupted:
        raise KeyboardInterrupt
    return c.lowered_as({**c.choices, **found.choices})


def _fitted(
    graph: Graph, chosen: Plan, device: Device, options: Options, price: KernelCost
) -> tuple[Plan, bool]:
    """The plan within the limit of memory, and whether that was reached."""
    reuse = device_reuse(device, options.precision == "strict")
    try:
        return fitted(graph, chosen, options.memory, options.hints, price, reuse), True
    except MemoryLimitError as e:
        if not options.fallback:
            raise
        warn(f"{e}; going on with the plan that takes least")
        return e.plan, False
    except Exception as e:
        # A drop-in never fails by its optimizer: any order of kernels is right.
        if not options.fallback:
            raise
        warn(f"kernels run in the order in which they were found ({e})")
        return chosen, False


def _shelf(graph: Graph, device: Device, options: Options) -> Shelf | None:
    """Where the work for a graph is kept, if it is."""
    if not options.cache or not is_kept(options.cost):
        return None
    store = plans()
    if store.folder is None or not all(f.is_file() for f in options.rules):
        return None  # what is wrong with a file is said by those who load it
    key = plan_key(
        graph, options.rules, options.precision, model_of(device.caps()),
        name_of(options.cost), MOVES[options.effort], options.hints, options.memory,
    )  # fmt: skip
    return Shelf(store, key, options.precision == "strict")


def own_plan(
    graph: Graph,
    price: KernelCost,
    moves: int = 40,
    hints: Mapping[str, int] | None = None,
) -> Plan:
    """A plan without rules: the graph's own terms, fused by the search alone."""
    graph = expand_macros(graph)
    values = witness(graph, hints)
    choice = choose(own_space(graph, values), price, moves)
    return Plan(
        graph, choice.groups, choice.seconds, choice.own_seconds, choice.own_kernels
    )
