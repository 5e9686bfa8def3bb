"""An optimized graph for a device, as data; what runs it stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from rewrite.backends.executable import Executable, Shapes, flows_of
from rewrite.egraph.ir.dims import bind_shape
from rewrite.egraph.ir.graph import Graph, GraphError, substitute, witness
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.looping.flow import Flow, flow_of
from rewrite.extract.memory.place import MemoryPlan, plan_memory
from rewrite.extract.paused import collector_paused
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.kernel import Schedule
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.alike import Forms
from rewrite.lower.choice import Choices
from rewrite.lower.device import Device, Module
from rewrite.lower.loops import Function
from rewrite.lower.lower import NONE, tiles
from rewrite.lower.program import Invoke, build
from rewrite.lower.text import show_all
from rewrite.lower.tiles.text import show

from ..cache.shelf import Built, Kept, used_by, without_bodies
from .costs import cost_for
from .fitting import device_reuse
from .kernels import KernelInfo, kernel_infos
from .notices import warn
from .options import Options
from .runner import Runner, Sizes

type Bodies = tuple[Compiled, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A body that a graph runs as values say: its plan, its sizes, and how often it
    runs, which None leaves to values."""

    target: str
    flow: Flow
    number: int  # of the bodies
    made: Compiled
    sizes: Mapping[str, int]
    runs: int | None


@dataclass(frozen=True, eq=False)
class Compiled:
    """A plan on a device; a call, with a mapping of inputs, runs it.  `bodies` are
    plans of the bodies of its loops and branches, by target."""

    source: Graph
    chosen: Plan | Callable[[], Plan]  # a kept plan is read when it is asked for
    device: Device
    options: Options
    optimize_seconds: float = 0.0
    shelf: Kept | None = None  # where its programs are kept
    choices: Choices = field(default_factory=lambda: NONE)  # how kernels are lowered
    bodies: Mapping[str, Bodies] = field(default_factory=dict[str, "Bodies"])
    runner: Runner = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "runner", Runner(self.source, self._program))

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None,
        witness: object = None,
    ) -> dict[str, Array]:  # fmt: skip
        """The outputs by name; with `out`, written into the caller's arrays.  Equal
        witnesses say of two calls that the plan's constant inputs hold the same."""
        return self.runner(inputs, out, witness)

    @cached_property
    def plan(self) -> Plan:
        return self.chosen if isinstance(self.chosen, Plan) else self.chosen()

    @property
    def was_kept(self) -> bool:
        """The plan was found on disk, not made."""
        return not isinstance(self.chosen, Plan)

    @property
    def strict(self) -> bool:
        return self.options.precision == "strict"

    def lowered_as(self, choices: Choices) -> Compiled:
        """The same plan, its kernels lowered as is chosen here."""
        return replace(self, choices=choices)

    # ---- programs ------------------------------------------------------------------

    def executable(self, sizes: Mapping[str, int] | None = None) -> Executable | None:
        """The program for these sizes, compiled once; None: the evaluator runs."""
        return self.runner.executable(sizes or {})

    @property
    def sizes(self) -> tuple[Sizes, ...]:
        """The sizes that it was compiled for so far."""
        return self.runner.sizes

    def _program(
        self, sizes: Mapping[str, int], others: Sequence[Executable]
    ) -> Executable | None:
        try:
            return self._executable(sizes, others)
        except Exception as e:
            # A drop-in never fails by its optimizer: the reference still runs.
            if not self.options.fallback:
                raise
            if isinstance(e, GraphError):
                substitute(self.source, sizes)  # raises: none runs at these sizes
            warn(f"{self.device.name} cannot run this program ({e}); using NumPy")
            return None

    def _executable(
        self, sizes: Mapping[str, int], others: Sequence[Executable]
    ) -> Executable:
        """The program for these sizes; of `others`, at other sizes, serves again what
        can."""
        made = self.built(sizes, [x.program.forms for x in reversed(others)])
        module = self._module(made, [x.module for x in others])
        return Executable(made.program, self.source, self.device, module, self._bodies)

    def _module(self, made: Built, earlier: Sequence[Module]) -> Module:
        """Compiled, while this thread makes the programs of the bodies."""
        functions = made.program.functions
        build = partial(
            self.device.build, made.source, functions, not self.strict, earlier
        )
        inner = list(flows_of(made.program, self.source)) if self.bodies else []
        if not inner:
            return build()
        with ThreadPoolExecutor(1) as thread:
            module = thread.submit(build)
            for _, target, _, given in inner:
                self._bodies(target, [concrete(x.type) for x in given])
            return module.result()

    def _bodies(
        self, target: str, shapes: Shapes
    ) -> tuple[Executable | GraphError, ...] | None:
        """The programs of the bodies of a loop or a branch whose operands have these
        shapes, or why one does not take them."""
        flow = self.source.calls[target]
        if target not in self.bodies or not isinstance(flow, Flow):
            return None
        made = [
            _refusal(body.source, flow.sizes(k, shapes))
            or body.executable(flow.sizes(k, shapes))
            for k, body in enumerate(self.bodies[target])
        ]
        ready = tuple(x for x in made if x is not None)
        return ready if len(ready) == len(made) else None

    def inner(self, sizes: Mapping[str, int]) -> Iterator[Planned]:
        """The bodies of each loop and branch at these sizes."""
        nodes = self.source.nodes
        for node in nodes if self.bodies else ():
            flow = flow_of(node, self.source.calls)
            if flow is None:
                continue
            target = node.attrs[0]
            shapes = [bind_shape(nodes[a].shape, sizes) for a in node.args]
            runs = flow.runs(shapes)
            assert runs is None or isinstance(runs, int)
            for k, body in enumerate(self.bodies.get(target, ())):
                own = flow.sizes(k, shapes)
                if _refusal(body.source, own) is None:
                    yield Planned(target, flow, k, body, own, runs)

    @collector_paused()
    def built(self, sizes: Mapping[str, int], others: Sequence[Forms] = ()) -> Built:
        """The program for these sizes and its text: kept, or made and kept.  `others`:
        forms of the program at other sizes, taken where they are about as good."""
        caps, shelf = self.device.caps(), self.shelf
        result = shelf.built(sizes, caps, self.choices) if shelf else None
        if result is None:
            steps = scheduled(self.plan, sizes)
            program = build(
                steps, caps, strict=self.strict, choices=self.choices, others=others
            )
            most = self.options.memory
            if most is not None and program.memory.arena > most:
                program = build(steps, caps, strict=self.strict)  # it overwrites more
            source = self.device.emit(program.functions)
            used = used_by(program, self.choices)
            result = Built(without_bodies(program), source, used)
            if shelf:
                shelf.keep_built(sizes, caps, result)
        return result

    # ---- to look at ----------------------------------------------------------------

    def likely(self, sizes: Mapping[str, int] | None) -> dict[str, int]:
        """Sizes for looking at a program: those given, the hints, else the witness."""
        if not self.source.symbols:
            return {}
        return {**witness(self.source), **self.options.hints, **(sizes or {})}

    def schedule(self, sizes: Mapping[str, int] | None = None) -> Schedule:
        return scheduled(self.plan, self.likely(sizes))

    def memory(self, sizes: Mapping[str, int] | None = None) -> MemoryPlan:
        """Where temporaries lie, how many bytes they take, and the least they could."""
        reuse = device_reuse(self.device, self.strict, self.choices)
        return plan_memory(self.schedule(sizes), reuse)

    def functions(self, sizes: Mapping[str, int] | None = None) -> tuple[Function, ...]:
        """The lowered kernels."""
        caps = self.device.caps()
        steps = self.schedule(sizes)
        return build(steps, caps, strict=self.strict, choices=self.choices).functions

    def code(self, sizes: Mapping[str, int] | None = None) -> str:
        """The source text that the device compiles."""
        return self.device.source(self.functions(sizes))

    def loops(self, sizes: Mapping[str, int] | None = None) -> str:
        """The lowered kernels as text, before any device's language."""
        return show_all(self.functions(sizes))

    def tiles(self, sizes: Mapping[str, int] | None = None) -> str:
        """The kernels as tile programs, where families of those were chosen."""
        caps = self.device.caps()
        built = build(
            self.schedule(sizes), caps, strict=self.strict, choices=self.choices
        )
        texts: dict[str, str] = {}
        for step in (*built.once, *built.steps):
            if isinstance(step, Invoke):
                made = tiles(step.kernel, caps, step.name, self.strict, self.choices)
                other = f"; {step.name}: loops, written by the family {made}\n"
                texts[step.name] = other if isinstance(made, str) else show(made)
        return "\n".join(texts.values())

    def kernels(self, sizes: Mapping[str, int] | None = None) -> list[KernelInfo]:
        """The kernels in order, with predicted cost.  Of an open loop one round counts,
        of a branch its dearer side."""
        price = cost_for(self.device, self.options.precision, self.options.cost)
        inner: dict[str, float] = {}
        for x in self.inner(self.likely(sizes)):
            once = sum(k.seconds for k in x.made.kernels(x.sizes) if not k.once)
            seconds = once * (1 if x.runs is None else x.runs)
            inner[x.target] = max(seconds, inner.get(x.target, 0.0))
        return kernel_infos(self.schedule(sizes), price, self.choices, inner)


def _refusal(graph: Graph, sizes: Mapping[str, int]) -> GraphError | None:
    """Why a graph does not take these sizes, if it does not."""
    try:
        substitute(graph, sizes)
    except GraphError as e:
        return e
    return None


def scheduled(plan: Plan, sizes: Mapping[str, int]) -> Schedule:
    return schedule(plan.graph, plan.groups, sizes, plan.constant_inputs)


__all__ = ["Bodies", "Compiled", "Planned"]
