"""A model read for writing it again: a graph, and beside it the model's own nodes.

Operators that rules know something about become ops of the graph.  All others stay as
they are: a call of known type, or, where not even the type is known before the model
runs, a name.  So every valid model can be read, and every value can at least be
computed as the model itself does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx

from rewrite.egraph.ir.dims import Dim, Poly, symbol
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.table import TensorType

from .. import foreign
from ..fold import fold
from ..loader import Loader, Scope, versions_of
from ..order import captures
from ..proto import array_of
from ..ratio import Ratio
from ..site import READERS, Site, results_of
from ..value import ModelError, Value

# Operators that become ops of the graph.  The others' definitions would only hide them.
READ = frozenset(
    """
    Abs Add And BatchNormalization Cast CastLike Ceil Clip Concat ConstantOfShape Conv
    Cos Div Dropout Elu Equal Erf Exp Expand Flatten Floor Gather Gelu Gemm
    GlobalAveragePool Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max Mean Min
    Mish Mul Neg Not Or Pow RMSNormalization Range Reciprocal ReduceL2 ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceSum ReduceSumSquare Relu Reshape Round
    SequenceAt SequenceConstruct Sigmoid Sign Sin Slice Softmax Softplus Split
    SplitToSequence Sqrt Squeeze Sub Sum Swish Tanh Transpose Unsqueeze Where Xor
    """.split()  # noqa: SIM905  # a table of words
)
RANDOM = frozenset(
    ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
     "RandomUniform", "RandomUniformLike")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the model with the values it takes and gives; None: left out."""

    proto: onnx.NodeProto
    operands: tuple[Value | None, ...]
    captured: tuple[tuple[str, Value], ...]  # by its subgraphs
    results: tuple[Value | None, ...]


@dataclass(frozen=True)
class Reading:
    """What a model computes (`graph`), and how it does (`steps`)."""

    graph: Graph
    steps: tuple[Step, ...]
    inputs: Mapping[str, Value]
    initializers: Mapping[str, Value]
    stored: Mapping[str, Value]  # those of types that the graph does not have
    outputs: Mapping[str, Value]


class Keeper(Loader):
    """Reads a checked model.  Functions of its own must have been inlined."""

    def __init__(self, model: onnx.ModelProto, bound: Mapping[str, int]) -> None:
        super().__init__(model, bound)
        self.steps: list[Step] = []
        self.calls: dict[tuple[object, ...], int] = {}
        self.cuts: set[int] = set()
        self.unknown = 0  # sizes

    def reading(self) -> Reading:
        g = self.model.graph
        scope: Scope = {}
        for t in g.initializer:
            scope[t.name] = self._stored(t)
        # From IR 4 on a caller may give another value for a listed initializer.
        fixed = set(scope) if self.model.ir_version < 4 else set[str]()
        for info in g.input:
            if info.name not in fixed:
                scope[info.name] = self._given(info)
        for t in g.sparse_initializer:
            scope[t.values.name] = Value(label=t.values.name)
        initializers = {t.name: scope[t.name] for t in g.initializer}
        stored = {name: v for name, v in scope.items() if _bare(v)}
        for info in g.input:
            stored.pop(info.name, None)
        inputs = {i.name: scope[i.name] for i in g.input if i.name not in fixed}
        self.run(g.node, scope, versions_of(self.model.opset_import))
        outputs = {o.name: scope[o.name] for o in g.output}
        anchors = [*outputs.values(), *self._anchors()]
        wanted = {v.node for v in anchors if v.node is not None}
        graph = self.b.build({f"v{i}": i for i in sorted(wanted)})
        return Reading(graph, tuple(self.steps), inputs, initializers, stored, outputs)

    def _stored(self, t: onnx.TensorProto) -> Value:
        try:
            return Value(known=array_of(t), label=t.name)
        except ModelError:
            return Value(label=t.name)  # strings, four bits: carried along

    def _given(self, info: onnx.ValueInfoProto) -> Value:
        try:
            return self._input(info)
        except ModelError:
            return Value(label=info.name)

    def _anchors(self) -> Iterable[Value]:
        """Values that only nodes outside of the graph read."""
        for step in self.steps:
            if any(r is not None and self._outside(r) for r in step.results):
                yield from (v for v in step.operands if v is not None)
                yield from (v for _, v in step.captured)

    def _outside(self, value: Value) -> bool:
        return _bare(value) or value.node in self.cuts

    def _node(
        self, node: onnx.NodeProto, values: list[Value | None],
        versions: dict[str, int], scope: Scope,
    ) -> Sequence[Value]:  # fmt: skip
        domain = "" if node.domain == "ai.onnx" else node.domain
        captured = tuple((n, scope[n]) for n in captures(node) if n in scope)
        results: Sequence[Value] | None = None
        if domain == "" and not captured:
            results = self._as_ops(Site(self.b, node, values, versions[domain]))
        if results is None and not captured and domain in versions:
            results = self._as_calls(Site(self.b, node, values, versions[domain]))
        if results is None:
            results = [Value(label=name) for name in node.output]
        named = [
            v if name else None
            for name, v in zip(node.output, results)  # noqa: B905  # trailing outputs may be unused
        ]
        self.steps.append(Step(node, tuple(values), captured, tuple(named)))
        return results

    def _as_ops(self, site: Site) -> Sequence[Value] | None:
        try:
            result = fold(site)
            if result is None and site.kind in READ:
                result = results_of(READERS[site.kind](site))
        except Exception:
            # What a reader cannot take, it leaves: the node stays as it is.  Whether
            # the model is valid was the checker's question.
            return None
        return result

    def _as_calls(self, site: Site) -> Sequence[Value] | None:
        """Calls, equal for equal nodes; None where a type is not known."""
        try:
            types = self._types(site)
            args = [site.x(i) for i in range(site.count) if site.has(i)]
            return self._calls(site, types, args)
        except Exception:
            return self._as_inputs(site)

    def _as_inputs(self, site: Site) -> Sequence[Value] | None:
        """Results of sizes that nothing tells (two symbols that one may be repeated
        along) are inputs of the graph, of new symbols; the node stays as it is."""
        try:
            types = foreign.result_types(site, site.node.domain, self._unknown)
        except Exception:
            return None
        return [
            Value(label=name) if t is None else self._cut(t)
            for name, t in zip(site.node.output, types, strict=True)
        ]

    def _unknown(self) -> Dim:
        self.unknown += 1
        return symbol(f"unknown{self.unknown}")

    def _cut(self, t: TensorType) -> Value:
        node = self.b.input(f"cut{len(self.cuts)}", t.dtype, t.shape)
        self.cuts.add(node)
        return Value(node)

    def _types(self, site: Site) -> Sequence[TensorType | None]:
        """As the standard infers them; it gives up on many symbolic sizes (windows
        padded to `SAME_UPPER`), so else as the operator's reader makes them."""
        try:
            return foreign.result_types(site, site.node.domain)
        except ModelError:
            if site.key not in READERS:
                raise
            tried = Builder()
            tried.nodes, tried.data = list(self.b.nodes), dict(self.b.data)
            values = [v and replace(v) for v in site.values]  # which keep their nodes
            alone = Site(tried, site.node, values, site.opset)
            made = results_of(READERS[site.key](alone))
            names = zip(site.node.output, made)  # noqa: B905  # trailing outputs may be unused
            return [tried.type(v.node) if name and v.node is not None else None
                    for name, v in names]  # fmt: skip

    def _calls(
        self, site: Site, types: Sequence[TensorType | None], args: Sequence[int]
    ) -> Sequence[Value]:
        present = tuple(site.has(i) for i in range(site.count))
        key = (site.kind, site.node.domain, _attributes(site.node), present)
        token = self.calls.setdefault(key, len(self.calls))
        if site.kind in RANDOM:
            token = self.calls.setdefault((key, len(self.steps)), len(self.calls))
        return [
            Value(label=name) if t is None else self._call(token, i, args, t)
            for i, (name, t) in enumerate(zip(site.node.output, types, strict=True))
        ]

    def _call(self, token: int, i: int, args: Sequence[int], t: TensorType) -> Value:
        attrs = (f"call{token}.{i}", token, t.dtype, t.shape)
        return Value(self.b.add("call", args, attrs))


def _bare(value: Value) -> bool:
    return value.node is None and value.known is None


def _attributes(node: onnx.NodeProto) -> tuple[bytes, ...]:
    return tuple(
        sorted(a.SerializeToString(deterministic=True) for a in node.attribute)
    )


def poly_key(value: Value) -> tuple[Dim | Ratio | float, ...] | None:
    """The entries of a known array that has symbols: dims, or floats made of them."""
    if value.known is None or value.known.dtype != object:
        return None
    entries: list[Dim | Ratio | float] = list(value.known.reshape(-1))
    has = any(isinstance(d, (Poly, Ratio)) for d in entries)
    return tuple(entries) if has else None
