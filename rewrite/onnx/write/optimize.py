"""A model in, a cheaper equal model of standard operators out.

What is not proved equal by rules is not changed, and what does not agree when both
models run is not returned: then fewer rules are tried, then none.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

import onnx
import onnx.inliner
import onnx.version_converter

from rewrite.backends.store import replacing
from rewrite.core.options import MOVES, Options, Precision, check_options
from rewrite.egraph.rules.rulefile import RuleFileError, load_rules
from rewrite.egraph.saturate.saturate import saturator

from ..loader import versions_of
from ..model import Model, ModelError, open_model
from . import verify
from .blocks import SINCE
from .bodies import with_bodies
from .emit import emit
from .price import CANDIDATES, DEFAULT
from .reading import Keeper
from .select import Selector

ROUNDS = 15  # of a measurement
ROUNDING = 1e-9  # of sums of predicted seconds
TIE = 0.01  # a difference in time that does not count

type Target = Literal["predicted", "onnxruntime"]


@dataclass(frozen=True, slots=True)
class Size:
    """What a model takes: nodes without constants, bytes of parameters."""

    nodes: int
    parameters: int
    operators: Mapping[str, int]


@dataclass(frozen=True)
class Optimized:
    """The result and what is known of it."""

    model: onnx.ModelProto
    before: Size
    after: Size
    predicted: tuple[float, float] | None  # seconds before and after
    measured: tuple[float, float] | None
    seconds: float  # that it took
    fired: Mapping[str, int]  # how often each rule matched
    error: float | None  # relative difference of outputs; None: not compared
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, Any] | None = None  # some that both models ran on

    def __str__(self) -> str:
        b, a = self.before, self.after
        parts = [
            f"{b.nodes} -> {a.nodes} nodes",
            f"{b.parameters / 1e6:.2f} -> {a.parameters / 1e6:.2f} MB",
        ]
        for word, pair in (("predicted", self.predicted), ("measured", self.measured)):
            if pair is not None:
                parts.append(f"{word} {pair[0] * 1e6:.0f} -> {pair[1] * 1e6:.0f} us")
        if self.error is not None:
            parts.append(f"outputs differ by {self.error:.1e}")
        return ", ".join(parts) + f" ({self.seconds:.2f} s)"

    def summary(self) -> dict[str, Any]:
        """All but the model, as plain values."""
        return {
            "nodes": {"before": self.before.nodes, "after": self.after.nodes},
            "parameter_bytes": {
                "before": self.before.parameters, "after": self.after.parameters,
            },
            "predicted_s": _pair(self.predicted),
            "measured_s": _pair(self.measured),
            "operators": {
                "before": self.before.operators, "after": self.after.operators,
            },
            "error": self.error,
            "compared": self.error is not None,
            "rules": self.fired,
            "optimize_s": self.seconds,
            "notes": list(self.notes),
        }  # fmt: skip


def _pair(values: tuple[float, float] | None) -> dict[str, float] | None:
    return values and {"before": values[0], "after": values[1]}


def optimize(
    model: Model,
    out: str | Path | None = None,
    *,
    rules: Sequence[str | Path] = (),
    precision: Precision = "default",
    effort: int = 2,
    opset: int | None = None,
    dims: Mapping[str, int] | None = None,
    hints: Mapping[str, int] | None = None,
    target: Target = "predicted",
    check: bool = True,
) -> Optimized:
    """The model, optimized; written to `out` where that is given.

    `dims` fixes named dimensions, `hints` says which sizes to expect of others.
    `target="onnxruntime"` lets the clock decide between candidates; they are then
    compared in any case.  With `check`, both models run on random inputs, by ONNX
    Runtime where it is installed.  ValueError: an option that cannot be.
    """
    started = perf_counter()
    files = (rules,) if isinstance(rules, (str, Path)) else tuple(rules)
    check_options(Options(precision, tuple(map(Path, files)), effort))
    if target not in ("predicted", "onnxruntime"):
        raise ValueError(f"target={target!r}: 'predicted' or 'onnxruntime' expected")
    if target == "onnxruntime" and importlib.util.find_spec("onnxruntime") is None:
        raise ModelError("target 'onnxruntime' needs it: pip install onnxruntime")
    source = _source(open_model(model), opset, dims or {})
    request = _Request(
        source, tuple(map(Path, files)), effort, target, check, dict(hints or {})
    )
    result = request.best(precision)
    result = replace(result, seconds=perf_counter() - started)
    if out is not None:
        save(result.model, Path(out))
    return result


@dataclass(frozen=True)
class _Request:
    source: onnx.ModelProto
    rules: tuple[Path, ...]
    effort: int
    target: Target
    check: bool
    hints: Mapping[str, int]

    def best(self, precision: Precision) -> Optimized:
        """By all rules, else without the operators of several steps, else by bitwise
        rules, else the model as it is."""
        notes: list[str] = []
        rich = _opset(self.source) >= SINCE
        levels: list[tuple[Precision, bool]] = [(precision, False), ("strict", False)]
        if rich:
            levels.insert(0, (precision, True))
        for level, whole in dict.fromkeys(levels):
            try:
                result = self.attempt(level, whole)
            except RuleFileError:
                raise
            except Exception as e:
                # A drop-in never fails by its optimizer: less is tried, and said.
                kind = "" if isinstance(e, ModelError) else f"{type(e).__name__}: "
                notes.append(f"with {level} rules: {kind}{e}; fewer were used")
                warnings.warn(f"rewrite: {notes[-1]}", RuntimeWarning, stacklevel=3)
                continue
            return replace(result, notes=(*notes, *result.notes))
        size = size_of(self.source)
        return Optimized(
            self.source, size, size, None, None, 0.0, {}, None, tuple(notes)
        )

    def attempt(self, precision: Precision, whole: bool) -> Optimized:
        rules = load_rules(self.rules or None, precision, goal="operators")
        saturate, moves = saturator(rules), MOVES[self.effort] * 2_000

        def selector(model: onnx.ModelProto) -> Selector:
            reading = Keeper(model, {}).reading()
            return Selector(reading, saturate, _opset(model), self.hints, whole=whole)

        def inner(body: onnx.ModelProto) -> onnx.ModelProto:
            body = with_bodies(body, inner)
            made = emit(body, selector(body).select(DEFAULT, moves))
            verify.well_formed(made, types=False)
            return made

        source = with_bodies(self.source, inner)
        made = selector(source)
        runtimes = CANDIDATES if self.target == "onnxruntime" else (DEFAULT,)
        result = [made.select(r, moves) for r in runtimes]
        models = [emit(source, f) for f in result]
        verdict, best, measured = self.verified(models[0]), 0, None
        notes = [f"not compared: {verdict.unchecked}"] if verdict.unchecked else []
        notes += [verdict.note] if verdict.note else []
        if self.target == "onnxruntime":
            try:
                best, measured = self.fastest(models, verdict.inputs)
            except Exception as e:
                # The runtime is another program: what it refuses, it cannot time.
                notes.append(f"not measured: {verify.line(e)}")
            if best:
                verdict = self.verified(models[best])
        predicted = made.own(DEFAULT), made.cost(result[best], DEFAULT)
        found = Optimized(
            models[best], size_of(self.source), size_of(models[best]), predicted,
            measured, 0.0, made.found.fired,
            None if verdict.inputs is None else verdict.error, tuple(notes),
            verdict.inputs,
        )  # fmt: skip
        return found if self.better(found) else self.kept(found)

    def better(self, found: Optimized) -> bool:
        """No more nodes and no slower, and one of nodes, time, bytes is less; where the
        clock was asked, it decides."""
        if found.measured is not None:
            return found.measured[1] <= found.measured[0]
        assert found.predicted is not None, "it was found by prices"
        nodes = _nodes(self.source.graph), _nodes(found.model.graph)
        pairs = [nodes, found.predicted]
        worse = any(after > before * (1 + ROUNDING) for before, after in pairs)
        pairs.append((found.before.parameters, found.after.parameters))
        return not worse and any(after < before for before, after in pairs)

    def kept(self, found: Optimized) -> Optimized:
        """The model as it is, where what was found is no better."""
        before = found.predicted and (found.predicted[0],) * 2
        timed = found.measured and (found.measured[0],) * 2
        error = None if found.error is None else 0.0
        return replace(
            found, model=self.source, after=found.before, predicted=before,
            measured=timed, error=error,
        )  # fmt: skip

    def verified(self, model: onnx.ModelProto) -> verify.Verdict:
        """`ModelError` where the result is not well formed or not the same."""
        try:
            verify.well_formed(model)
        except ModelError:
            verify.well_formed(model, types=False)
            if _inferred(self.source) and not _agrees(model):
                raise
        if not self.check and self.target == "predicted":
            return verify.Verdict(0.0)
        verdict = verify.compare(self.source, model, self.hints, seed=0)
        if verdict.reason:
            raise ModelError(verdict.reason)
        return verdict

    def fastest(
        self, models: Sequence[onnx.ModelProto], inputs: Mapping[str, Any] | None
    ) -> tuple[int, tuple[float, float]]:
        """The fastest candidate, fewer nodes first where it is a tie, and seconds of
        one thread for the model as it was and for this."""
        if inputs is None:
            raise ModelError("no inputs are known that the model runs on")
        sessions = [verify.session(m, threads=1) for m in (self.source, *models)]
        times: list[list[float]] = [[] for _ in sessions]
        for _ in range(ROUNDS):
            for s, kept in zip(sessions, times, strict=True):
                start = process_time()
                s.run(inputs)
                kept.append(process_time() - start)
        before, *after = (statistics.median(t) for t in times)
        limit = min(after) * (1 + TIE)
        near = [i for i, m in enumerate(after) if m <= limit]
        best = min(near, key=lambda i: (len(models[i].graph.node), i))
        return best, (before, after[best])


def _inferred(model: onnx.ModelProto) -> bool:
    """Whether the standard's type inference takes the model."""
    try:
        verify.well_formed(model)
    except ModelError:
        return False
    return True


def _agrees(model: onnx.ModelProto) -> bool:
    """Whether inference takes the model but for the shapes that outputs are said to
    have: some files say wrong ones, which shows once shapes are constants."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    for info in out.graph.output:
        info.type.tensor_type.ClearField("shape")
    try:
        onnx.shape_inference.infer_shapes(out, check_type=True, strict_mode=True)
    except Exception:
        return False
    return True


def _opset(model: onnx.ModelProto) -> int:
    return versions_of(model.opset_import).get("", 1)


def _source(
    model: onnx.ModelProto, opset: int | None, dims: Mapping[str, int]
) -> onnx.ModelProto:
    """Valid, without functions of its own, at the opset and sizes asked for."""
    verify.well_formed(model, types=False)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    if opset is not None and opset != _opset(model):
        last = onnx.defs.onnx_opset_version()
        if not 1 <= opset <= last:
            raise ModelError(f"opset {opset}: 1 to {last} was expected")
        try:
            model = onnx.version_converter.convert_version(model, opset)
        except Exception as e:
            why = " ".join(str(e).split()).rpartition("failed: ")[2]
            raise ModelError(
                f"opset {opset}: onnx cannot convert the model ({why}); newer opsets "
                "are reached more often than older ones"
            ) from None
    return bind(model, dims) if dims else model


def bind(model: onnx.ModelProto, dims: Mapping[str, int]) -> onnx.ModelProto:
    """A copy with numbers for named dimensions."""
    for name, size in dims.items():
        if type(size) is not int or not 0 <= size < 1 << 62:
            raise ModelError(f"dimension {name!r}: a size was expected, found {size!r}")
    out = onnx.ModelProto()
    out.CopyFrom(model)
    known: set[str] = set()
    for info in (*out.graph.input, *out.graph.output, *out.graph.value_info):
        for d in info.type.tensor_type.shape.dim:
            if d.dim_param:
                known.add(d.dim_param)
                if d.dim_param in dims:
                    d.dim_value = dims[d.dim_param]
    unknown = sorted(set(dims) - known)
    if unknown:
        names = ", ".join(sorted(known)) or "none"
        raise ModelError(f"no dimension is called {', '.join(unknown)}; here: {names}")
    return out


def size_of(model: onnx.ModelProto) -> Size:
    kinds = Counter(n.op_type for n in model.graph.node if n.op_type != "Constant")
    tensors = list(model.graph.initializer)
    constants = (n for n in model.graph.node if n.op_type == "Constant")
    tensors += [a.t for n in constants for a in n.attribute if a.name == "value"]
    return Size(kinds.total(), sum(map(_bytes, tensors)), dict(kinds.most_common()))


def _nodes(graph: onnx.GraphProto) -> int:
    """With those of bodies, without constants."""
    inner = (a.g for n in graph.node for a in n.attribute if a.HasField("g"))
    own = sum(n.op_type != "Constant" for n in graph.node)
    return own + sum(map(_nodes, inner))


def _bytes(t: onnx.TensorProto) -> int:
    if t.data_type == onnx.TensorProto.STRING:
        return sum(map(len, t.string_data))
    bits = 8 * onnx.helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
    name = onnx.TensorProto.DataType.Name(t.data_type)
    bits = 4 if "INT4" in name or "FLOAT4" in name else 2 if "INT2" in name else bits
    return math.prod(t.dims) * bits // 8


def save(model: onnx.ModelProto, path: Path) -> None:
    """Whole or not at all; arrays lie beside it where one file cannot hold them."""
    if model.ByteSize() >= verify.LIMIT:
        module: Any = onnx
        module.save_model(
            model, str(path), save_as_external_data=True, location=f"{path.name}.data"
        )
        return
    with replacing(path) as part:
        part.write_bytes(model.SerializeToString())
