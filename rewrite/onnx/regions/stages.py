"""A model that runs in turns: a compiled graph, then what a host runs, and again.

A stage is made when it is first reached, for then the types of all that it reads are
known.  Sizes that only data decide are numbers at first; one that has changed is a
symbol from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from rewrite.egraph.ir.dtypes import from_numpy
from rewrite.egraph.ir.scalars import Array

from ..order import graphs, reads
from ..types import ELEMENTS
from .piece import Piece
from .sort import Sorted, sort

EXACT = 8  # sets of sizes that a stage is made for, where symbols say less
# A body of none of these is bookkeeping, which costs less than calling a program.
WORK = frozenset(
    ("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "LSTM", "GRU", "RNN",
     "Attention", "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv")
)  # fmt: skip

type Scope = dict[str, Any]
type Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]
type Declared = dict[str, onnx.TypeProto | None]
type Maker = Callable[[onnx.ModelProto], Run]


@dataclass(frozen=True, slots=True)
class Hosted:
    """A node that no graph holds, and why."""

    node: onnx.NodeProto
    reason: str


@dataclass(frozen=True, slots=True)
class Makers:
    """How a model becomes something to call: one of a graph, one that none holds."""

    compiled: Maker
    host: Maker
    bound: Mapping[str, int]  # sizes of named dimensions


class Regions:
    """The nodes of a piece: called with what they read, it adds what they give."""

    def __init__(self, piece: Piece, declared: Declared, makers: Makers) -> None:
        self.piece, self.makers = piece, makers
        self.first = Following(piece, declared, makers)

    def __call__(self, scope: Scope) -> Scope:
        following: Following | None = self.first
        while following is not None:
            stage = following.stage(scope)
            stage.run(scope)
            following = stage.following
            keep = {*self.piece.outputs, *(following.inputs if following else ())}
            scope = {k: v for k, v in scope.items() if k in keep}
        return scope

    def divides(self, scope: Mapping[str, Any]) -> bool:
        """Whether there is anything that no host need run."""
        stage = self.first.stage(scope)
        inside = any(_is_control(h.node) for h in stage.hosted)
        return bool(stage.computed or stage.following or inside)

    @property
    def hosted(self) -> list[Hosted]:
        """Of the stages made so far."""
        return [h for s in self.first.stages() for h in s.hosted]

    @property
    def computed(self) -> int:
        """How many nodes are parts of graphs."""
        return sum(s.computed for s in self.first.stages())


class Following:
    """What is left of a piece at one point, sorted once its inputs are there."""

    def __init__(self, piece: Piece, declared: Declared, makers: Makers) -> None:
        self.piece, self.declared, self.makers = piece, declared, makers
        self.inputs = piece.inputs
        self.made: list[tuple[Declared, Stage]] = []
        self.seen: Declared = {}  # types of what came without a declaration
        self.exact = 0  # stages for given sizes

    def stage(self, scope: Mapping[str, Any]) -> Stage:
        for types, stage in self.made:
            if all(fits(t, scope[n]) for n, t in types.items()):
                return stage
        types = {n: self._type(n, scope[n]) for n in self.inputs}
        result = sort(self.piece, types, self.makers.bound)
        if self.exact < EXACT and any(map(_is_open, types.values())):
            exactly = {n: type_of(scope[n]) for n in self.inputs}
            other = sort(self.piece, exactly, self.makers.bound)
            if len(other.hosted) < len(result.hosted):
                self.exact += 1
                types, result = exactly, other
        made = Stage(self.piece, result, types, self.makers)
        self.made.append((types, made))
        return made

    def _type(self, name: str, value: Any) -> onnx.TypeProto | None:
        known = self.declared.get(name) or self.seen.get(name)
        result = opened(name, known, value) if known else type_of(value)
        if not self.declared.get(name):
            self.seen[name] = result
        return result

    def stages(self) -> list[Stage]:
        found = [s for _, s in self.made]
        return found + [
            after for s in found if s.following for after in s.following.stages()
        ]


class Stage:
    """A graph, then nodes of a host that need no other's results."""

    def __init__(
        self, piece: Piece, level: Sorted, types: Declared, makers: Makers
    ) -> None:
        hosted = [n for n, _ in level.hosted]
        self.hosted = [Hosted(n, r) for n, r in level.hosted]
        self.computed = len(level.front)
        late = level.whole(tuple(level.late))
        after = piece.part(late, piece.outputs)
        self.front = self._front(piece, level, hosted, after)
        self.program: Run | None = None
        self.types = {**types, **level.types}
        self.makers = makers
        self.runs: list[Doing] = []
        inside = [n for n in hosted if _is_control(n)]
        other = [n for n in hosted if not _is_control(n)]
        self.runs += [CONTROL[n.op_type](piece, n, self.types, makers) for n in inside]
        outputs = [o for o in piece.outputs if o in level.sequences]
        if other or outputs:
            made = {o for n in other for o in n.output}
            wanted = [*outputs, *(o for o in self._wanted(after) if o in made)]
            nodes = level.whole((*other, *_makers_of(level, outputs)))
            self.runs.append(HostStep(piece.part(nodes, wanted), makers))
        self.following = Following(after, self.types, makers) if level.late else None

    @staticmethod
    def _wanted(after: Piece) -> list[str]:
        return list(dict.fromkeys((*after.inputs, *after.outputs)))

    def _front(
        self, piece: Piece, level: Sorted, hosted: Sequence[onnx.NodeProto],
        after: Piece,
    ) -> Piece:  # fmt: skip
        """The graph, with what the others read of it."""
        made = {o for n in level.front for o in n.output if o}
        read = {n for node in level.whole(tuple(hosted)) for n in reads(node)}
        read |= set(self._wanted(after))
        plain = {o for n in level.plain for o in n.output} - level.sequences
        outputs = [o for n in level.front for o in n.output if o in read & made]
        inside = [name for n in hosted if _is_control(n) for name in reads(n)]
        outputs += dict.fromkeys(o for o in (*piece.outputs, *inside) if o in plain)
        nodes = level.whole((*level.front, *_makers_of(level, outputs)))
        return piece.part(nodes, outputs)

    def run(self, scope: Scope) -> None:
        if self.front.outputs:
            if self.program is None:
                types = {n: self.types[n] for n in self.front.inputs}
                self.program = self.makers.compiled(self.front.model(_all(types)))
            inputs = {n: scope[n] for n in self.front.inputs}
            scope.update(self.program(inputs))
        for run in self.runs:
            run(scope)


def _makers_of(level: Sorted, names: Sequence[str]) -> list[onnx.NodeProto]:
    return [n for n in level.plain if not set(names).isdisjoint(n.output)]


def _all(types: Declared) -> dict[str, onnx.TypeProto]:
    return {n: t for n, t in types.items() if t is not None}


class HostStep:
    """Nodes as a host runs them."""

    def __init__(self, piece: Piece, makers: Makers) -> None:
        self.piece, self.makers = piece, makers
        self.inputs = piece.inputs
        self.ready: dict[tuple[Any, ...], Run] = {}

    def __call__(self, scope: Scope) -> None:
        inputs = {n: scope[n] for n in self.inputs}
        types = {n: host_type(v) for n, v in inputs.items()}
        key = tuple(t.SerializeToString() for t in types.values())
        run = self.ready.get(key)
        if run is None:
            run = self.ready[key] = self.makers.host(self.piece.model(types))
        scope.update(run(inputs))


class Branch:
    """An `If` whose condition is known when it runs: its branches are compiled."""

    def __init__(
        self, piece: Piece, node: onnx.NodeProto, types: Declared, makers: Makers
    ) -> None:
        self.node = node
        arms = {a.name: piece.body(a.g) for a in node.attribute if a.HasField("g")}
        self.arms = {k: Regions(p, types, makers) for k, p in arms.items()}
        self.inputs = {k: p.inputs for k, p in arms.items()}

    def __call__(self, scope: Scope) -> None:
        taken = np.asarray(scope[self.node.input[0]]).reshape(-1)[0]
        arm = "then_branch" if taken else "else_branch"
        result = _run(self.arms[arm], {n: scope[n] for n in self.inputs[arm]})
        scope.update(zip(self.node.output, result, strict=True))


class Rounds:
    """A `Loop` whose rounds are known when it runs: its body is compiled."""

    def __init__(
        self, piece: Piece, node: onnx.NodeProto, types: Declared, makers: Makers
    ) -> None:
        self.node, (g,) = node, graphs(node)
        self.names = [i.name for i in g.input]
        body = piece.body(g)
        outside = {n: t for n, t in types.items() if n not in self.names}
        self.inputs = [n for n in body.inputs if n not in self.names]
        self.body = Regions(body, outside, makers)

    def _value(self, name: str, scope: Scope) -> Any:
        if not name:
            return None
        return scope[name] if name in scope else _stored(self.body.piece, name)

    def __call__(self, scope: Scope) -> None:
        names = [*self.node.input, *[""] * (2 - len(self.node.input))]
        most, go, *states = [self._value(n, scope) for n in names]
        limit = np.inf if most is None else int(np.asarray(most).reshape(-1)[0])
        outside = {n: scope[n] for n in self.inputs}
        going = True if go is None else bool(np.asarray(go).reshape(-1)[0])
        rows: list[Sequence[Any]] = []
        while going and len(rows) < limit:
            at = np.asarray(len(rows), np.int64)
            given = zip(self.names, [at, np.asarray(going), *states], strict=True)
            again, *out = _run(self.body, {**outside, **dict(given)})
            going, states = bool(np.asarray(again).reshape(-1)[0]), out[: len(states)]
            rows.append(out[len(states) :])
        if not rows and len(self.node.output) > len(states):
            raise ValueError(f"Loop ({self.node.name}): no rounds to stack")
        columns = [np.stack(c) for c in zip(*rows, strict=True)]
        results = [*states, *columns]
        named = zip(self.node.output, results)  # noqa: B905  # trailing outputs may be unused
        scope.update({name: v for name, v in named if name})


def _run(regions: Regions, scope: Scope) -> list[Any]:
    result = regions(scope)
    return [
        result[o] if o in result else _stored(regions.piece, o)
        for o in regions.piece.outputs
    ]


def _stored(piece: Piece, name: str) -> Any:
    return onnx.numpy_helper.to_array(piece.stored[name])


CONTROL = {"If": Branch, "Loop": Rounds}

type Doing = HostStep | Branch | Rounds


def _is_control(node: onnx.NodeProto) -> bool:
    return node.op_type in CONTROL and _works(node)


def _works(node: onnx.NodeProto) -> bool:
    """Whether a body has products in it."""
    inner = [n for g in graphs(node) for n in g.node]
    return any(n.op_type in WORK or _works(n) for n in inner)


# ---- types of what is there ----


def type_of(value: Any) -> onnx.TypeProto | None:
    """Of an array of numbers, with its sizes; None for all else."""
    if not isinstance(value, np.ndarray | np.generic):
        return None
    array: Array = np.asarray(value)  # pyright: ignore[reportUnknownArgumentType]
    try:
        element = ELEMENTS[from_numpy(array.dtype)]
    except (KeyError, TypeError, ValueError):
        return None
    return onnx.helper.make_tensor_type_proto(element, array.shape)


def opened(name: str, known: onnx.TypeProto, value: Any) -> onnx.TypeProto | None:
    """A type that was right before, with a symbol where the size is another now."""
    now = type_of(value)
    if now is None or fits(known, value) or not known.HasField("tensor_type"):
        return known if now is not None else None
    t, n = known.tensor_type, now.tensor_type
    same = t.HasField("shape") and len(t.shape.dim) == len(n.shape.dim)
    if t.elem_type != n.elem_type or not same:
        return now
    pairs = zip(t.shape.dim, n.shape.dim, strict=True)
    shape = [
        a.dim_value if a == b else a.dim_param or f"{name}_{k}"
        for k, (a, b) in enumerate(pairs)
    ]
    return onnx.helper.make_tensor_type_proto(t.elem_type, shape)


def fits(t: onnx.TypeProto | None, value: Any) -> bool:
    now = type_of(value)
    if t is None or now is None:
        return t is now
    if not t.HasField("tensor_type") or not t.tensor_type.HasField("shape"):
        return False
    have, want = now.tensor_type, t.tensor_type
    if have.elem_type != want.elem_type:
        return False
    dims, sizes = want.shape.dim, have.shape.dim
    return len(dims) == len(sizes) and all(
        not d.HasField("dim_value") or d.dim_value == s.dim_value
        for d, s in zip(dims, sizes, strict=True)
    )


def _is_open(t: onnx.TypeProto | None) -> bool:
    return t is not None and any(
        not d.HasField("dim_value") for d in t.tensor_type.shape.dim
    )


def host_type(value: Any) -> onnx.TypeProto:
    """Of anything that runs between nodes; sizes stay open."""
    helper = onnx.helper
    if isinstance(value, list):
        items: list[Any] = [*value]  # pyright: ignore[reportUnknownArgumentType]
        inner = host_type(items[0] if items else np.zeros(0, np.float32))
        return helper.make_sequence_type_proto(inner)
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        element = onnx.TensorProto.STRING
    else:
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_type_proto(element, [None] * array.ndim)
