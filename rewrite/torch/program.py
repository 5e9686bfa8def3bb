"""A traced model that runs: graphs on the device, and eager PyTorch between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from rewrite.backends.forks import Lock
from rewrite.core.notices import log, warn

from .arrays import to_array, to_tensor
from .library import FxNode, Tensor, torch
from .partition import Fallback, Partition, Step, View, nodes_of, partition
from .reading import Part, Port, constant, load, name_of
from .site import COPY, fixed
from .sizes import Sizes, expression

KEPT = 16  # programs of one model, for the sizes used last

type Scope = dict[str, Any]
type Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]
type Compile = Callable[[Part], Run]


def in_layout(tensor: Tensor, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """The tensor with the strides that eager PyTorch gives it; copied where it must."""
    if tensor.stride() == tuple(strides):
        return tensor
    pairs = zip(shape, tensor.stride(), strides, strict=True)
    if all(n == 1 or a == b for n, a, b in pairs) or 0 in shape:
        return tensor.as_strided(tuple(shape), tuple(strides))
    # Axes along which one element is shown again and again have memory for one.
    sizes = [1 if s == 0 else n for n, s in zip(shape, strides, strict=True)]
    made = torch.empty_strided(sizes, tuple(strides), dtype=tensor.dtype)
    source = tensor
    for k, (n, m) in enumerate(zip(shape, sizes, strict=True)):
        source = source if n == m else source.narrow(k, 0, 1)
    return made.copy_(source).expand(tuple(shape))


@dataclass(frozen=True)
class Taken:
    """How an input is taken from the scope."""

    label: str
    name: str
    order: tuple[int, ...] | None  # None: as the tensor's axes stand
    dtype: Any

    @staticmethod
    def of(p: Port) -> Taken:
        dtype = p.node.meta["val"].dtype
        return Taken(p.label, p.node.name, _unless_same(p.order), dtype)


@dataclass(frozen=True)
class Made:
    """How an output becomes a tensor: its axes brought back, its strides checked."""

    label: str
    back: tuple[int, ...] | None
    dtype: Any
    shape: tuple[int, ...] | None  # None: any layout will do
    strides: tuple[int, ...]

    @staticmethod
    def of(p: Port, sizes: Sizes, final: bool) -> Made:
        value = p.node.meta["val"]
        shape, strides = _fixed(value.shape, sizes), _fixed(value.stride(), sizes)
        return Made(p.label, _unless_same(p.back), value.dtype,
                    shape if final else None, strides)  # fmt: skip


def _unless_same(order: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if order == tuple(range(len(order))) else order


class GraphStep:
    """A compiled graph between tensors.  Where it fails, eager PyTorch takes over."""

    def __init__(
        self, part: Part, compiled: Run, sizes: Sizes, final: frozenset[FxNode],
        eager: Sequence[EagerStep] | None,
    ) -> None:  # fmt: skip
        """`eager` are the same nodes; None: an error is shown."""
        self.part, self.compiled, self.eager = part, compiled, eager
        self.broken = False
        self.inputs = [Taken.of(p) for p in part.inputs]
        self.outputs = [Made.of(p, sizes, p.node in final) for p in part.outputs]

    def __call__(self, scope: Scope) -> None:
        if not self.broken:
            try:
                return self._run(scope)
            except Exception as e:
                # Inputs are written to at the end, so nothing has happened yet.
                if self.eager is None:
                    raise
                self.broken = True
                warn(f"a graph runs in eager PyTorch: {type(e).__name__}: {e}")
        for step in self.eager or ():
            step(scope)

    def _run(self, scope: Scope) -> None:
        inputs: dict[str, Any] = {}
        for taken in self.inputs:
            tensor = scope[taken.name]
            if tensor.dtype is not taken.dtype:  # some operators are traced wrongly
                tensor = tensor.to(taken.dtype)
            array = to_array(tensor)
            if taken.order is not None:
                array = array.transpose(taken.order)
            inputs[taken.label] = array
        results = self.compiled(inputs)
        for made in self.outputs:
            tensor = to_tensor(results[made.label], made.dtype)
            if made.back is not None:
                tensor = tensor.permute(made.back)
            if made.shape is not None:
                tensor = in_layout(tensor, made.shape, made.strides)
            scope[made.label] = tensor


class EagerStep:
    """One node as PyTorch runs it."""

    def __init__(self, node: FxNode) -> None:
        self.node = node

    def __call__(self, scope: Scope) -> None:
        node = self.node

        def of(n: FxNode) -> Any:
            return scope[n.name]

        args = torch.fx.node.map_arg(node.args, of)
        keywords = torch.fx.node.map_arg(node.kwargs, of)
        scope[node.name] = node.target(*args, **keywords)


type Doing = GraphStep | EagerStep


class Fixed:
    """A model at known sizes."""

    def __init__(
        self, split: Partition, sizes: Sizes, compile: Compile, failed: list[str],
        name: str, strict: bool,
    ) -> None:  # fmt: skip
        self.partition = split
        self.fallbacks: list[Fallback] = list(split.fallbacks)
        final = nodes_of(split.results)
        runs: list[Doing] = []
        for k, step in enumerate(split.steps):
            if step.nodes or step.updates:
                runs += self._graph(step, sizes, compile, failed, f"{name}_{k}", final,
                                    strict)  # fmt: skip
            runs += [EagerStep(n) for n in step.eager]
        self.runs = _ends(runs, {n.name for n in final})
        self.results = [_result(r, sizes) for r in split.results]

    def _graph(
        self, step: Step, sizes: Sizes, compile: Compile, failed: list[str],
        name: str, final: frozenset[FxNode], strict: bool,
    ) -> list[Doing]:  # fmt: skip
        copies = [
            u for place, new in step.updates.items() for u in place.users
            if name_of(u) == COPY and u.args[1] is new
        ]  # fmt: skip
        nodes = [*step.nodes, *copies]
        eager = [EagerStep(n) for n in nodes]
        try:
            part = load(
                name, step.nodes, step.inputs, step.outputs, step.updates, sizes
            )
            ready = compile(part)
            return [GraphStep(part, ready, sizes, final, None if strict else eager)]
        except Exception as e:
            if strict:
                raise
            # A drop-in never fails by its optimizer: PyTorch runs these nodes.
            why = f"{type(e).__name__}: {e}"
            log.info("a graph of %d nodes runs in eager PyTorch: %s",
                     len(step.nodes), why)  # fmt: skip
            failed.append(why)
            self.fallbacks += [Fallback(n, name_of(n), why) for n in nodes]
            return list[Doing](eager)

    @property
    def graphs(self) -> list[GraphStep]:
        return [r for r, _ in self.runs if isinstance(r, GraphStep)]

    def __call__(self, scope: Scope) -> list[Any]:
        for run, gone in self.runs:
            run(scope)
            for name in gone:
                scope.pop(name, None)
        return [result(scope) for result in self.results]


def _result(r: Any, sizes: Sizes) -> Callable[[Scope], Any]:
    """How a result is found in the scope."""
    if isinstance(r, View):
        name, v = r.base.name, r.value
        shape, strides = _fixed(v.shape, sizes), _fixed(v.stride(), sizes)
        (offset,) = _fixed((v.storage_offset(),), sizes)
        return lambda scope: scope[name].as_strided(shape, strides, offset)
    if isinstance(r, torch.fx.Node):
        return itemgetter(r.name)
    return lambda _: r


def _fixed(values: Sequence[Any], sizes: Sizes) -> tuple[int, ...]:
    return tuple(fixed(*(sizes.dim(v) for v in values)))


def _names(run: Doing) -> list[str]:
    """What a step reads, by name."""
    if isinstance(run, GraphStep):
        return [t.name for t in run.inputs]
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

    A program is made for each set of sizes that comes: one now, at the sizes of the
    trace, the others at their first call.
    """

    def __init__(
        self, module: Any, compile: Compile, name: str, strict: bool = False
    ) -> None:
        self.module, self.compile, self.name = module, compile, name
        self.strict = strict
        self.failed: list[str] = []
        self._places = [n for n in module.graph.nodes if n.op == "placeholder"]
        self._symbols = [
            (k, str(expression(n.meta["val"])))
            for k, n in enumerate(self._places)
            if expression(n.meta.get("val")) is not None
        ]
        self._names = [n.name for n in self._places]
        self._constants = {
            n.name: constant(n) for n in module.graph.nodes if n.op == "get_attr"
        }
        self._ready: OrderedDict[tuple[int, ...], Fixed] = OrderedDict()
        self._lock = Lock()
        self.first = self._fixed(tuple(self._hint(k) for k, _ in self._symbols))

    def _hint(self, place: int) -> int:
        value = self._places[place].meta["val"]
        return int(value.node.hint)

    def _fixed(self, values: tuple[int, ...]) -> Fixed:
        found = self._ready.get(values)
        if found is not None:
            return found
        with self._lock:
            names = (name for _, name in self._symbols)
            sizes = Sizes(dict(zip(names, values, strict=True)))
            split = partition(self.module.graph, sizes)
            made = Fixed(
                split, sizes, self.compile, self.failed, self.name, self.strict
            )
            self._ready[values] = made
            while len(self._ready) > KEPT:
                self._ready.popitem(last=False)
        return made

    def __call__(self, args: list[Any]) -> list[Any]:
        scope = dict(zip(self._names, args, strict=True))
        scope.update(self._constants)
        values = tuple(int(args[k]) for k, _ in self._symbols)
        args.clear()
        return self._fixed(values)(scope)
