"""A model against what another framework recorded of it, node by node.

A record is an array for each name: all inputs, and some outputs and nodes.  Nodes are
computed as the model says (the reference evaluator), so the first that is off was read
or exported wrongly; outputs are also computed by the optimized program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import DType, from_numpy, spelled
from rewrite.egraph.ir.evaluate import bind_inputs, evaluate
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.text import node_lines

from ..core.labels import close, labels

READ = "as read"  # where a value comes from: the model's own meaning
# Of floats by their bits, relative: what frameworks differ by that sum in other orders.
TOLERANCES = {64: 1e-9, 32: 1e-4, 16: 1e-2, 8: 0.25}
BF16_TOLERANCE = 4e-2


class BadRecord(ValueError):
    """A record that does not fit the model; the message says what to do."""


@dataclass(frozen=True)
class Record:
    """What was recorded, by name: inputs; and nodes, outputs among them, by number."""

    inputs: Mapping[str, Array]
    values: Mapping[str, Array]
    nodes: Mapping[str, int]
    unknown: tuple[str, ...]  # names of neither


@dataclass(frozen=True)
class Row:
    """One recorded value beside the computed one.  Errors are those of the worst
    element; `relative` is to its magnitude or the root mean square, what is larger."""

    name: str
    where: str  # READ, or the device
    line: str  # of the graph's text
    absolute: float
    relative: float
    tolerance: float
    wrong: int  # elements beyond the tolerance
    finite: int  # elements that are recorded as finite numbers
    size: int
    at: tuple[int, ...]  # the worst element
    found: float
    recorded: float

    @property
    def agrees(self) -> bool:
        return self.wrong == 0


@dataclass(frozen=True)
class Verdict:
    """The rows in the graph's order, those of the optimized program last."""

    rows: tuple[Row, ...]
    sources: tuple[str, ...] = ()  # recorded values that the first one off is made of

    @property
    def first(self) -> Row | None:
        return next((r for r in self.rows if not r.agrees), None)

    def json(self) -> dict[str, Any]:
        first = self.first
        rows = [asdict(r) | {"agrees": r.agrees} for r in self.rows]
        return {
            "agrees": first is None,
            "first": None if first is None else {"name": first.name,
                                                 "where": first.where,
                                                 "made_of": list(self.sources)},
            "rows": [{k: _finite(v) for k, v in r.items()} for r in rows],
        }  # fmt: skip


def _finite(value: Any) -> Any:
    """JSON has no infinities: their names are text."""
    bad = isinstance(value, float) and not np.isfinite(value)
    return str(value) if bad else value


# ---- names ---------------------------------------------------------------------------


def places(graph: Graph) -> dict[str, int]:
    """The node that each name stands for: of outputs, then nodes, then `%12`."""
    result = dict(graph.outputs)
    for i, (node, label) in enumerate(zip(graph.nodes, labels(graph), strict=True)):
        for name in (node.name, label):
            if name and node.op != "input":
                result.setdefault(name, i)
    return result


def matched(graph: Graph, arrays: Mapping[str, Array]) -> Record:
    """A record read as inputs and values of the graph's nodes."""
    given = {n.attrs[0]: n for n in graph.inputs}
    for label, node in given.items():
        if label not in arrays:
            raise BadRecord(f"input {label!r} ({node.type}) is missing: record it "
                            f"under that name; {_names(arrays)}")  # fmt: skip
    inputs = {k: as_input(k, arrays[k], n.dtype) for k, n in given.items()}
    sizes, known = bind_inputs(graph, inputs), places(graph)
    values: dict[str, Array] = {}
    for name in (k for k in arrays if k in known and k not in given):
        node = graph.nodes[known[name]]
        shape = dims.bind_shape(node.shape, sizes)
        values[name] = as_value(name, arrays[name], node.dtype, shape)
    unknown = tuple(k for k in arrays if k not in known and k not in given)
    if not values:
        raise BadRecord(f"no output and no node of the model is in it: record one, as "
                        f"{_some(known)}; {_names(arrays)}")  # fmt: skip
    return Record(inputs, values, {k: known[k] for k in values}, unknown)


def nothing_called(graph: Graph, name: str) -> str:
    """What to say of a name for which the model has nothing."""
    known = list(dict.fromkeys([*places(graph), *(n.attrs[0] for n in graph.inputs)]))
    return f"{name!r} is no input, node or output of the model; {close(name, known)}"


def _names(arrays: Iterable[str]) -> str:
    return f"recorded are {_some(arrays)}"


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - 6} more" if len(every) > 6 else ""
    return (", ".join(every[:6]) or "no arrays") + more


def as_input(name: str, array: Array, dtype: DType) -> Array:
    """An input in the model's dtype; bf16 and the 8-bit floats, which an .npz does not
    hold, from bytes or from floats that they are equal to."""
    array = _typed(array, dtype)
    if array.dtype == dtype.numpy:
        return array
    if dtype.is_float and dtype.bits <= 16 and array.dtype.kind == "f":
        made = array.astype(dtype.numpy)
        if _equal(made.astype(array.dtype), array).all():
            return made
        raise BadRecord(f"input {name!r}: {dtype} expected, and not all of its "
                        f"{spelled(array.dtype)} are such numbers: round it before the "
                        "other framework runs")  # fmt: skip
    raise BadRecord(f"input {name!r}: {dtype} expected, {spelled(array.dtype)} found: "
                    f"record it as the model takes it, {_cast(dtype)}")  # fmt: skip


def as_value(name: str, array: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """A recorded value of this shape; floats may be of another width."""
    array = _typed(array, dtype)
    if array.shape != shape:
        raise BadRecord(f"{name!r}: {dtype}{list(shape)} expected, "
                        f"{list(array.shape)} found: is it another node's value, or in "
                        "another layout?")  # fmt: skip
    floats = dtype.is_float and _is_float(array.dtype)
    if not floats and array.dtype != dtype.numpy:
        found = spelled(array.dtype)
        raise BadRecord(f"{name!r}: {dtype} expected, {found} found: record it as the "
                        f"model computes it, {_cast(dtype)}")  # fmt: skip
    return array


def _cast(dtype: DType) -> str:
    return f"x.astype({dtype.numpy.name!r})"


def _typed(array: Array, dtype: DType) -> Array:
    """NumPy saves bf16 and 8-bit floats as bytes without a type."""
    lost = array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize
    return array.view(dtype.numpy) if lost else array


def _is_float(dtype: np.dtype[Any]) -> bool:
    try:
        return from_numpy(dtype).is_float
    except ValueError:
        return False


# ---- values --------------------------------------------------------------------------


def check(graph: Graph, record: Record, rtol: float | None = None) -> Verdict:
    """The recorded values beside the model's own, in the order of the graph."""
    names = sorted(record.values, key=lambda k: (record.nodes[k], k))
    wanted = tuple((k, record.nodes[k]) for k in names)
    got = evaluate(replace(graph, outputs=wanted, aliases=()), record.inputs)
    verdict = Verdict(_rows(graph, record, got, READ, rtol))
    first = verdict.first
    if first is None:
        return verdict
    return replace(verdict, sources=_sources(graph, record, record.nodes[first.name]))


def with_device(
    verdict: Verdict, graph: Graph, record: Record, got: Mapping[str, Array],
    device: str, rtol: float | None = None,
) -> Verdict:  # fmt: skip
    """The verdict, and the outputs of the optimized program."""
    rows = _rows(graph, record, got, device, rtol)
    return replace(verdict, rows=(*verdict.rows, *rows))


def _rows(
    graph: Graph, record: Record, got: Mapping[str, Array], where: str,
    rtol: float | None,
) -> tuple[Row, ...]:  # fmt: skip
    lines = [line.strip() for line in node_lines(graph, inline=8)]
    return tuple(
        compared(k, where, lines[record.nodes[k]], v, record.values[k], rtol)
        for k, v in got.items()
        if k in record.values
    )


def tolerance(*dtypes: np.dtype[Any]) -> float:
    """Relative, of the coarsest of the dtypes; integers and booleans are exact."""
    every = [from_numpy(d) for d in dtypes]
    return max(_tolerance(d) for d in every)


def _tolerance(dtype: DType) -> float:
    if not dtype.is_float:
        return 0.0
    return BF16_TOLERANCE if dtype.name == "bf16" else TOLERANCES[dtype.bits]


def compared(
    name: str, where: str, line: str, got: Array, want: Array,
    rtol: float | None = None,
) -> Row:  # fmt: skip
    """Equal infinities agree, and NaN with NaN."""
    allowed = tolerance(got.dtype, want.dtype)
    allowed = rtol if rtol is not None and allowed else allowed
    absolute, relative = _errors(got, want)
    wrong = int((relative > allowed).sum())
    if not relative.size:
        return Row(name, where, line, 0.0, 0.0, allowed, 0, 0, 0, (), 0.0, 0.0)
    at = tuple(map(int, np.unravel_index(int(np.argmax(relative)), relative.shape)))
    off, off_relative = float(absolute.max()), float(relative.max())
    finite = int(np.isfinite(want.astype(np.float64)).sum())
    return Row(name, where, line, off, off_relative, allowed, wrong, finite,
               relative.size, at, float(got[at]), float(want[at]))  # fmt: skip


def _errors(got: Array, want: Array) -> tuple[Array, Array]:
    """Of each element: absolute, and relative to its magnitude or that of the rest."""
    same = np.asarray(_equal(got, want))
    if not _is_float(want.dtype):
        wide = [np.where(same, 0, x).astype(object) for x in (got, want)]
        absolute = np.abs(wide[0] - wide[1]).astype(np.float64)
        return absolute, absolute / np.maximum(np.abs(wide[1]).astype(np.float64), 1.0)
    a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
    with np.errstate(all="ignore"):
        gap = np.where(same, 0.0, np.abs(a - b))
        gap = np.nan_to_num(gap, nan=np.inf, posinf=np.inf)
        size = np.maximum(np.nan_to_num(np.abs(b), nan=0.0, posinf=0.0), _typical(b))
        return gap, gap / size


def _typical(values: Array) -> float:
    """The root mean square of what is finite; 1 where all is zero."""
    finite = np.abs(values[np.isfinite(values)])
    most = float(np.max(finite, initial=0.0))
    return most * float(np.sqrt(np.mean((finite / most) ** 2))) if most else 1.0


def _equal(a: Array, b: Array) -> Array:
    return cast(Array, (a == b) | ((a != a) & (b != b)))


def _sources(graph: Graph, record: Record, node: int) -> tuple[str, ...]:
    """The recorded values and inputs that a node is computed from, the nearest."""
    names = {i: k for k, i in record.nodes.items()}
    names |= {i: n.attrs[0] for i, n in enumerate(graph.nodes) if n.op == "input"}
    todo: list[int] = list(graph.nodes[node].args)
    seen, found = set[int](), dict[int, str]()
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        if i in names:
            found[i] = names[i]
        else:
            todo += graph.nodes[i].args
    return tuple(found[i] for i in sorted(found))


def told(row: Row, sources: Sequence[str]) -> list[str]:
    """What to say of the first value that is off."""
    place = row.name + (f"{list(row.at)}" if row.at else "")
    lines = [
        f"diverges first at {row.name}, {row.where}: {row.line}",
        f"  {place} is {row.found:.7g}, recorded {row.recorded:.7g}: off by "
        f"{row.absolute:.2e}, relative {row.relative:.2e}, {row.tolerance:.0e} "
        f"allowed; {row.wrong} of {row.size} elements are",
    ]
    if sources:
        lines.append(f"  it is computed from {', '.join(sources)}, which agree")
    return lines


__all__ = ["BadRecord", "Record", "Row", "Verdict", "check", "compared", "matched",
           "nothing_called", "told", "tolerance", "with_device"]  # fmt: skip
