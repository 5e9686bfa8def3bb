"""A traced model that runs: graphs on the device, and eager PyTorch between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from rewrite.backends.forks import Lock
from rewrite.core.notices import warn

from .draws import draw_apart
from .library import Tensor, torch, unset_fake
from .partition import (
    Fallback,
    Partition,
    Step,
    View,
    nodes_of,
    partition,
    place_of,
)
from .reading import Part, attribute, load, name_of
from .resident import ResidentStep
from .site import COPY
from .sizes import Sizes, expression
from .steps import EagerStep, GraphStep, Run, Scope, numbers
from .strides import aim_at_bases
from .watch import stamp

KEPT = 16  # programs of one model, for the sizes used last
ANEW = 8  # times that a model with its parameters built in is made for other ones

type Compile = Callable[[Part, Mapping[str, int]], Run]
type Tell = Callable[[str], None]
type Doing = GraphStep | EagerStep


@dataclass(frozen=True)
class Graphs:
    """The levels of a model, each with its graph compiled, or the reason why not."""

    split: Partition
    levels: tuple[tuple[Part, Run] | str, ...]

    @property
    def failed(self) -> list[str]:
        return [x for x in self.levels if isinstance(x, str) and x]


class Fixed:
    """A model at known sizes."""

    def __init__(self, graphs: Graphs, sizes: Sizes, strict: bool, tell: Tell) -> None:
        split = graphs.split
        self.fallbacks: list[Fallback] = list(split.fallbacks)
        final = nodes_of(split.results)
        runs: list[Doing] = []
        for each, level in zip(split.steps, graphs.levels, strict=True):
            eager = [EagerStep(n) for n in _nodes(each)]
            if isinstance(level, str):
                runs += eager
                self.fallbacks += [Fallback(n, name_of(n), level) for n in _nodes(each)]
            else:
                part, run = level
                other = None if strict else eager
                step = ResidentStep if split.place.type == "cuda" else GraphStep
                runs.append(step(part, run, sizes, final, other, tell))
            runs += [EagerStep(n) for n in each.eager]
        self.runs = _ends(runs, {n.name for n in final})
        self.results = [_result(r, sizes) for r in split.results]
        self._watches = [r.watch for r in self.graphs if r.kept]

    @property
    def graphs(self) -> list[GraphStep]:
        return [r for r, _ in self.runs if isinstance(r, GraphStep)]

    @property
    def is_restless(self) -> bool:
        """Whether parameters that something is kept of change again and again."""
        return any(w.changes > ANEW for w in self._watches)

    def __call__(self, scope: Scope) -> list[Any]:
        for run, gone in self.runs:
            run(scope)
            for name in gone:
                scope.pop(name, None)
        return [result(scope) for result in self.results]


def _nodes(step: Step) -> list[Any]:
    """The nodes of a level's graph, with those that store onto inputs."""
    copies = [
        u for place, new in step.updates.items() for u in place.users
        if name_of(u) == COPY and u.args[1] is new
    ]  # fmt: skip
    return [*step.nodes, *copies]


def _result(r: Any, sizes: Sizes) -> Callable[[Scope], Any]:
    """How a result is found in the scope."""
    if isinstance(r, View):
        name, v = r.base.name, r.value
        shape, strides = numbers(v.shape, sizes), numbers(v.stride(), sizes)
        starts = v.storage_offset(), r.origin.meta["val"].storage_offset()
        offset, own = numbers(starts, sizes)
        # Where an input begins differs from call to call.
        return lambda scope: scope[name].as_strided(
            shape, strides, scope[name].storage_offset() + offset - own
        )
    if isinstance(r, torch.fx.Node):
        return itemgetter(r.name)
    return lambda _: r


def _names(run: Doing) -> list[str]:
    """What a step reads, by name."""
    if isinstance(run, GraphStep):
        return [t.name for t in run.inputs] + [v.name for _, v in run.views]
    return [n.name for n in run.node.all_input_nodes]


def _ends(
    runs: Sequence[Doing], results: AbstractSet[str]
) -> list[tuple[Doing, list[str]]]:
    """Each step with what nobody reads after it."""
    seen = set(results)
    out: list[tuple[Doing, list[str]]] = []
    for run in reversed(runs):
        last = [n for n in dict.fromkeys(_names(run)) if n not in seen]
        seen.update(last)
        out.append((run, last))
    return out[::-1]


class Program:
    """A model of ATen that is called with a list, which it empties.

    One plan serves all sizes where no reader needs a number, else one is made for each
    set of sizes that comes: for those of the trace now, for others at their first call.
    Inputs at the places `static` change rarely: what depends on nothing else is kept as
    long as they hold the same (`watch.py`).  With `freeze` they are built in, as they
    are at the first call, and anew where they have changed since.
    """

    def __init__(
        self, module: Any, compile: Compile, name: str, strict: bool = False,
        static: Sequence[int] = (), tell: Tell = warn, freeze: bool = False,
    ) -> None:  # fmt: skip
        draw_apart(module)
        aim_at_bases(module)
        self.tell = tell
        self.module, self.compile, self.name = module, compile, name
        self.strict = strict
        places = [n for n in module.graph.nodes if n.op == "placeholder"]
        self._names = [n.name for n in places]
        self._symbols = [
            (k, expression(n.meta["val"]), n.meta["val"])
            for k, n in enumerate(places)
            if expression(n.meta.get("val")) is not None
        ]
        rare = [k for k in static if _is_read_only(places[k])]
        self._static = rare if freeze else []
        # With sizes that change there would be something kept for each of them.
        # Nobody watches what is written to a GPU's memory.
        on_host = place_of(module.graph).type == "cpu"
        plain = not freeze and not self._symbols and on_host
        self._constant_inputs: frozenset[str] = frozenset(
            str(self._names[k]) for k in rare if plain
        )
        self._stamp: tuple[Any, ...] = ()
        self._changes = 0
        self._constants: dict[str, Tensor] = {
            n.name: attribute(n) for n in module.graph.nodes if n.op == "get_attr"
        }
        self._ready: OrderedDict[tuple[int, ...], Fixed] = OrderedDict()
        self._open: Graphs | None = None  # those for all sizes
        self._lock = Lock()
        if not self._static:
            self._start()

    def _start(self) -> None:
        hints = tuple(int(v.node.hint) for _, _, v in self._symbols)
        self._open = self._for_all_sizes(hints) if self._symbols else None
        self.first = self._fixed(hints)

    def _sizes(self, values: Sequence[int]) -> Sizes:
        names = (str(e) for _, e, _ in self._symbols)
        return Sizes(dict(zip(names, values, strict=True)))

    # ---- graphs ----

    def _for_all_sizes(self, hints: tuple[int, ...]) -> Graphs | None:
        """Graphs with symbols; None where that leaves more to eager PyTorch."""
        names = [str(e) for _, e, _ in self._symbols]
        left = Sizes(left=frozenset(names))
        split = partition(self.module.graph, left)
        exact = partition(self.module.graph, self._sizes(hints))
        if len(split.fallbacks) > len(exact.fallbacks):
            return None
        made = self._compiled(split, left, dict(zip(names, hints, strict=True)))
        parts = (level[0] for level in made.levels if not isinstance(level, str))
        return made if all(map(_is_bound, parts)) and not made.failed else None

    def _compiled(
        self, split: Partition, sizes: Sizes, hints: Mapping[str, int]
    ) -> Graphs:
        levels = tuple(
            self._level(k, step, sizes, hints) for k, step in enumerate(split.steps)
        )
        return Graphs(split, levels)

    def _level(
        self, k: int, step: Step, sizes: Sizes, hints: Mapping[str, int]
    ) -> tuple[Part, Run] | str:
        if not step.nodes and not step.updates:
            return ""
        try:
            with unset_fake():
                part = load(f"torch_{k}", step.nodes, step.inputs, step.outputs,
                            step.updates, sizes, self._constants,
                            self._constant_inputs)  # fmt: skip
            return part, self.compile(part, hints)
        except Exception as e:
            # A drop-in never fails by its optimizer: PyTorch runs these nodes.
            if self.strict:
                raise
            return f"{type(e).__name__}: {e}"

    def _fixed(self, values: tuple[int, ...]) -> Fixed:
        found = self._ready.get(values)
        if found is not None:
            return found
        with self._lock:
            sizes = self._sizes(values)
            graphs = self._open
            if graphs is None:
                split = partition(self.module.graph, sizes)
                graphs = self._compiled(split, sizes, {})
            made = Fixed(graphs, sizes, self.strict, self.tell)
            self._ready[values] = made
            while len(self._ready) > KEPT:
                self._ready.popitem(last=False)
        if graphs.failed:
            self.tell(f"a graph runs in eager PyTorch: {graphs.failed[0]}")
        return made

    # ---- calls ----

    def __call__(self, args: list[Any]) -> list[Any]:
        if self._static:
            self._build_in(args)
        scope = dict(zip(self._names, args, strict=True))
        scope.update(self._constants)
        values = tuple([int(args[k]) for k, _, _ in self._symbols])
        args.clear()
        fixed = self._fixed(values)
        if fixed.is_restless:
            fixed = self._of_constant_inputs(values)
        return fixed(scope)

    def _of_constant_inputs(self, values: tuple[int, ...]) -> Fixed:
        """A program that keeps nothing: made to be kept it may take longer to make."""
        with self._lock:
            if self._constant_inputs:
                self._constant_inputs = frozenset[str]()
                self._ready.clear()
        return self._fixed(values)

    def _build_in(self, args: Sequence[Any]) -> None:
        """Makes the program anew where what is built in has changed."""
        now = tuple([stamp(args[k]) for k in self._static])
        if now == self._stamp:
            return
        with self._lock:
            self._changes += bool(self._stamp)
            self._stamp = now
            static = {self._names[k]: args[k] for k in self._static}
            if self._changes > ANEW:
                self._static = []
                self.tell(
                    "parameters change again and again: they are inputs from now on"
                )
                self._constants = {
                    k: v for k, v in self._constants.items() if k not in static
                }
            else:
                self._constants = {**self._constants, **static}
            self._ready.clear()
        self._start()


def _is_read_only(place: Any) -> bool:
    value = place.meta.get("val")
    stored = any(name_of(u) == COPY and u.args[0] is place for u in place.users)
    return isinstance(value, torch.Tensor) and not stored


def _is_bound(part: Part) -> bool:
    """Whether each symbol of a graph is the size of some axis of an input."""
    plain = {
        str(d) for n in part.graph.inputs for d in n.shape if not isinstance(d, int)
    }
    return set(part.graph.symbols) <= plain
