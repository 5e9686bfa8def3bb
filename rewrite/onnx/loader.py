"""A model of ONNX as a graph, node by node.

A node is, first that applies: computed now (`fold`), read by the reader of its operator
(`ops/`), replaced by the operator's own definition in the standard (functions), or a
call that the host runs with ONNX's reference implementation.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import onnx

from rewrite.core.notices import warn
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.ir.scalars import Array

from . import control, foreign, ops  # noqa: F401  # pyright: ignore[reportUnusedImport]  # readers register themselves
from .fold import fold
from .proto import array_of
from .site import READERS, Site, Unknown, Unread, key, results_of
from .types import check_text, disagreement, tensor_type
from .value import Malformed, ModelError, Value, materialise

DEPTH = 32  # of functions within functions
SMALL = 4096  # elements of an input whose value a program may be made for
FEW = 16  # of them, where they are floats: scales, bounds
MOST_NODES = 100_000  # once functions are inlined and loops unrolled
# The first and last version of each domain of the standard.
STANDARD: Mapping[str, tuple[int, int]] = onnx.defs.C.schema_version_map()
INSTALLED = f"the installed onnx {onnx.__version__}"
MENDED = "install a newer onnx, or export the model with an older version"
type Scope = dict[str, Value]


class Loader:
    """Reads one model; `bound` gives sizes to its named dimensions."""

    loops = True  # whether recurrences of many steps are read as loops

    def __init__(
        self, model: onnx.ModelProto, bound: Mapping[str, Dim],
        given: Mapping[str, Array] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.bound, self.given = model, bound, given or {}
        self.wanted: set[str] = set()  # inputs whose values would have said more
        check_text(model.graph.name)
        self.b = Builder(_identifier(model.graph.name))
        self.whole = self.b  # not the body of a loop
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.count = 0  # of nodes read
        self.depth = 0

    def graph(self) -> Graph:
        g = self.model.graph
        scope: Scope = {}
        check_text(*(x.name for x in (*g.initializer, *g.input, *g.output)))
        check_format(self.model)
        check_names(g)
        if g.sparse_initializer:
            raise ModelError("sparse initializers are not read: store dense ones")
        for t in g.initializer:
            scope[t.name] = Value(known=array_of(t), label=t.name)
        for info in g.input:
            if info.name not in scope:  # old files list initializers among the inputs
                scope[info.name] = self._input(info)
        self.run(g.node, scope, versions_of(self.model.opset_import))
        outputs: dict[str, int] = {}
        for info in g.output:
            outputs[info.name] = materialise(self.b, _found(scope, info.name, "output"))
        graph = self.b.build(outputs)
        for info in g.output:
            if lie := disagreement(info, graph.nodes[outputs[info.name]].type):
                warn(f"{lie}: the declaration is not used")
        return graph

    @contextmanager
    def within(self, b: Builder) -> Generator[None]:
        """Nodes are made in the body of a loop."""
        outer, self.b = self.b, b
        self.depth += 1  # what is within has names of its own
        try:
            yield
        finally:
            self.b = outer
            self.depth -= 1

    def divisors(self) -> dict[str, int]:
        """For each symbol, what sizes read so far divide it by, all at once."""
        every = dims.atoms(d for n in self.b.nodes for d in n.shape)
        result: dict[str, int] = {}
        for of, by in (dims.quotient(a) for a in every if dims.is_quotient(a)):
            for s in dims.symbols((of,)):
                result[s] = math.lcm(result.get(s, 1), by)
        return result

    def _input(self, info: onnx.ValueInfoProto) -> Value:
        t = tensor_type(info.type, info.name, self.bound)
        known = self.given.get(info.name)
        try:
            node = self.b.input(info.name, t.dtype, t.shape)
        except GraphError as e:
            raise ModelError(f"input {info.name!r}: {e}") from None
        return Value(node if known is None else None, known)

    def run(
        self, nodes: Sequence[onnx.NodeProto], scope: Scope, versions: dict[str, int]
    ) -> None:
        for node in nodes:
            self.count += 1
            if self.count > MOST_NODES:
                raise ModelError(f"over {MOST_NODES} nodes with functions and loops")
            check_text(node.op_type, node.name, node.domain, *node.input, *node.output)
            where = f"{node.op_type} ({node.name or ', '.join(node.output)})"
            values = [_found(scope, i, where) if i else None for i in node.input]
            fresh = len(self.b.nodes)
            results = self._node(node, values, versions, scope)
            for name, value in zip(node.output, results):  # noqa: B905  # trailing outputs may be unused
                if name:
                    scope[name] = value
                    self._name(name, value, fresh)

    def _name(self, name: str, value: Value, fresh: int) -> None:
        """The model's word for a value, if a node was made for it; within a function,
        that of whoever calls it."""
        i = value.node
        if i is None or i < fresh or self.depth:
            return
        node = self.b.nodes[i]
        if not node.name and node.op not in ("const", "iota"):
            self.b.nodes[i] = replace(node, name=name)

    def _node(
        self, node: onnx.NodeProto, values: list[Value | None],
        versions: dict[str, int], scope: Scope,
    ) -> Sequence[Value]:  # fmt: skip
        domain = "" if node.domain == "ai.onnx" else node.domain
        local = self.functions.get((node.domain, node.op_type, node.overload))
        if local is not None:
            return self._inline(local, node, values)
        if domain not in versions:
            raise ModelError(
                f"{node.op_type} ({node.name}): its domain {domain!r} is not among the "
                f"model's opset_import ({', '.join(map(repr, versions))})"
            )
        self._check(node, versions)
        asked: list[str] = []
        site = Site(self.b, node, values, versions[domain], loops=self.loops)
        why = ""
        if domain == "" or site.key in READERS:
            try:
                result = self._read(site, scope, versions)
                if result is not None:
                    return result
            except Unknown as e:
                asked, why = self._want(e.source), str(e)
            except Unread as e:
                why = str(e)
            except ModelError:
                raise
            except Exception as e:
                # Operands and attributes come from strangers: what a reader trips over
                # is an error of the model, and names the node.
                why = (
                    str(e) if isinstance(e, GraphError) else f"{type(e).__name__}: {e}"
                )
                raise ModelError(f"{site.place}: {why}") from e
        known = foreign.known(node.op_type, domain)
        body = foreign.definition(site, domain) if known else None
        if body is not None:
            return self._inline(body, node, values, foreign.defaults(site, domain))
        if asked:
            raise ModelError(f"{site.place}: {', '.join(asked)} must be known")
        if why and not known:
            raise ModelError(f"{site.place}: {why}")
        return foreign.call(site, domain)

    def _check(self, node: onnx.NodeProto, versions: dict[str, int]) -> None:
        """Attributes and the number of operands, as the standard has them."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            return  # the checker takes names from outside of a subgraph for errors
        if foreign.deprecated(node, versions):
            return  # in the file's own opset it still means what it meant
        if key(domain, node.op_type) in READERS and not foreign.known(
            node.op_type, domain
        ):
            return  # of ONNX Runtime
        context = onnx.checker.C.CheckerContext()
        context.ir_version = self.model.ir_version
        context.opset_imports = versions
        try:
            onnx.checker.check_node(node, context)
        except Exception as e:
            why = " ".join(str(e).split("==>")[0].split())
            raise ModelError(f"{node.op_type} ({node.name}): {why}") from None

    def _read(
        self, site: Site, scope: Scope, versions: dict[str, int]
    ) -> Sequence[Value] | None:
        if not site.domain and site.kind in control.READERS:
            inner = control.Inner(self.run, scope, versions, self.within)
            return control.READERS[site.kind](site, inner)
        known = fold(site)
        if known is not None or site.key not in READERS:
            return known
        results = results_of(READERS[site.key](site))
        if not foreign.known(site.kind, site.domain):
            site.whole(results)  # no checker has seen the node
        return results

    def _want(self, node: int) -> list[str]:
        """Notes the small inputs that a node is computed from; none in a loop, where
        inputs differ from round to round."""
        result: list[str] = []
        if self.b is not self.whole:
            return result
        seen: set[int] = set()
        rest = [node]
        while rest:
            i = rest.pop()
            if i in seen:
                continue
            seen.add(i)
            n = self.b.nodes[i]
            rest += n.args
            count = dims.numel(n.shape)
            most = FEW if n.dtype.is_float else SMALL
            if n.op == "input" and isinstance(count, int) and count <= most:
                result.append(n.attrs[0])
        self.wanted.update(result)
        return result

    def _inline(
        self, f: onnx.FunctionProto, node: onnx.NodeProto, values: list[Value | None],
        defaults: Mapping[str, onnx.AttributeProto] | None = None,
    ) -> Sequence[Value]:  # fmt: skip
        if self.depth >= DEPTH:
            raise ModelError(f"{f.name}: functions are nested over {DEPTH} deep")
        given = {**(defaults or {}), **{a.name: a for a in f.attribute_proto}}
        given |= {a.name: a for a in node.attribute}
        inner: Scope = {}
        absent: set[str] = set()
        for i, name in enumerate(f.input):
            value = values[i] if i < len(values) else None
            if value is None:
                absent.add(name)
            else:
                inner[name] = value
        nodes = [_specialised(n, given, absent) for n in f.node]
        self.depth += 1
        versions = {
            **versions_of(self.model.opset_import),
            **versions_of(f.opset_import),
        }
        self.run(nodes, inner, versions)
        self.depth -= 1
        wanted = zip(f.output, node.output)  # noqa: B905  # trailing outputs may be unused
        return [_found(inner, o, f.name) if n else Value() for o, n in wanted]


def _specialised(
    n: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> onnx.NodeProto:
    """A node of a function, and its subgraphs, with the attributes and operands of the
    call."""
    out = onnx.NodeProto()
    out.CopyFrom(n)
    del out.attribute[:]
    for a in n.attribute:
        if not a.ref_attr_name:
            out.attribute.append(a)
        elif a.ref_attr_name in given:
            out.attribute.append(given[a.ref_attr_name])
            out.attribute[-1].name = a.name
    for a in out.attribute:
        for g in (*((a.g,) if a.HasField("g") else ()), *a.graphs):
            nodes = [_specialised(inner, given, absent) for inner in g.node]
            del g.node[:]
            g.node.extend(nodes)
    for i, name in enumerate(out.input):
        if name in absent:
            out.input[i] = ""
    return out


def _found(scope: Scope, name: str, where: str) -> Value:
    if name not in scope:
        raise ModelError(
            f"{where}: {name!r} is no input, initializer or result of an earlier node"
        )
    return scope[name]


def check_format(model: onnx.ModelProto) -> None:
    """The version of the format; a newer one may hold what this reader would drop."""
    if not 0 < model.ir_version < 1 << 31:
        raise Malformed(f"the IR version {model.ir_version} is none")
    if model.ir_version > onnx.IR_VERSION:
        raise Malformed(
            f"the IR version {model.ir_version} is newer than {onnx.IR_VERSION}, the "
            f"last that {INSTALLED} knows: {MENDED}"
        )


def check_names(g: onnx.GraphProto) -> None:
    """A name stands for one value."""
    made = {i.name: "an input" for i in g.input}
    made |= {t.name: "an initializer" for t in g.initializer}
    for node in g.node:
        for text in (node.op_type, node.name, *node.output):
            check_text(text)
        place = f"{node.op_type} ({node.name or ', '.join(node.output)})"
        for name in filter(None, node.output):
            if name in made:
                raise Malformed(
                    f"{place}: its result {name!r} is {made[name]} already; a name "
                    "stands for one value, rename one"
                )
            made[name] = f"that of {place}"


def versions_of(imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain; of the standard's own only those that there are."""
    for i in imports:
        check_text(i.domain)
        name = i.domain or "ai.onnx"
        known = STANDARD.get("" if name == "ai.onnx" else name)
        if known is not None and not known[0] <= i.version <= known[1]:
            raise Malformed(
                f"the opset {name} {i.version} is none of those that {INSTALLED} "
                f"knows, {known[0]} to {known[1]}: {MENDED}"
            )
        if not 0 <= i.version < 1 << 31:
            raise Malformed(f"the opset {name} {i.version} is none")
    return {"" if i.domain == "ai.onnx" else i.domain: i.version for i in imports}


def _identifier(name: str) -> str:
    kept = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return kept if kept and not kept[0].isdigit() else f"model_{kept}".rstrip("_")
