"""Whether two models give the same: the checker, then both on random inputs."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import onnx

from rewrite.egraph.ir.scalars import Array

from ..exact import distance, exact
from ..hosts import session
from ..types import DTYPES, fixed
from ..value import ModelError

# (first axis, others) of symbolic dimensions, tried until two fit the model: what is
# large grows with the first.
SIZES = ((2, 16), (3, 2), (2, 3), (1, 1), (4, 4), (8, 8))
TRIES = 32  # of sizes up to 4 at random: one may have to be the sum of others
# (first axis, others), where strides want more entries, or multiples of a power of 2
IMAGES = ((2, 64), (1, 64), (1, 32), (1, 128), (1, 320), (1, 512))
SIGNALS = ((1, 512), (2, 512), (1, 1600), (1, 4096))  # long on last axes alone
NUMBERS = 8  # that whole numbers are compared with, tried as values of inputs
DRAWS = 2
LIMIT = 1 << 31  # bytes: the checker takes no larger model
# Largest difference, relative to the largest value, by bits of the significand.
TOLERANCE = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}
NEAR = 2.0  # times the distance of the model itself: as many roundings, other ones

WHOLE = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)

type Size = onnx.TensorShapeProto.Dimension
type Run = Callable[[Mapping[str, Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`error` is the largest relative difference; `reason` says what does not agree,
    `unchecked` why the models, or some outputs, could not be compared; `inputs` are
    some they ran on.  Where the model itself is far from exact, `error` is from f64, as
    a `note` says; it is None where no output has a finite value."""

    error: float | None
    reason: str = ""
    unchecked: str = ""
    inputs: Mapping[str, Any] | None = None
    note: str = ""


def well_formed(model: onnx.ModelProto, *, types: bool = True) -> None:
    """`ModelError` where the checker refuses the model; `types`: its inference too."""
    if model.ByteSize() >= LIMIT:
        return
    try:
        checker: Any = onnx.checker
        checker.check_model(model, full_check=types)
    except Exception as e:
        raise ModelError(" ".join(str(e).split())) from None


def compare(
    before: onnx.ModelProto, after: onnx.ModelProto, hints: Mapping[str, int], seed: int
) -> Verdict:
    """Both on a few random inputs, at several sizes where sizes are symbolic."""
    try:
        first = runner(before)
    except Exception as e:
        return Verdict(0.0, unchecked=f"the model as given does not load ({line(e)})")
    try:
        second = runner(after)
    except Exception as e:
        return Verdict(0.0, f"the result does not load ({line(e)})")
    error, done, why, note = 0.0, 0, "", ""
    finite: set[int] = set()  # outputs with a value that says something
    ran: Mapping[str, Any] | None = None
    try:
        next(drawn(before, hints, seed))
    except Exception as e:
        return Verdict(0.0, unchecked=f"it does not run on random inputs ({line(e)})")
    for inputs in drawn(before, hints, seed):
        try:
            want = first(inputs)
        except Exception as e:
            why = line(e)
            continue  # sizes or values that the model itself does not take
        try:
            got = second(inputs)
        except Exception as e:
            return Verdict(error, f"the result fails where the model runs ({line(e)})")
        apart = [difference(a, b) for a, b in zip(want, got, strict=True)]
        allowed = [tolerance(o) for o in before.graph.output]
        if not all(map(operator.le, apart, allowed)):
            result = _nearer(before, inputs, want, got)
            if result is None:
                return _differs(before, apart, allowed)
            apart, note = (
                [result[1]],
                f"off f64 by {result[1]:.1e}, the model itself by ",
            )
            note += f"{result[0]:.1e}"
        error = max((error, *apart))
        finite |= {k for k, a in enumerate(want) if _finite(a)}
        done, ran = done + 1, ran or inputs
        if done == DRAWS:
            break
    unchecked = "" if done else f"it does not run on random inputs ({why})"
    if _symbols(before) and done == 1:
        unchecked = "it runs at one size alone"
    void = [o.name for k, o in enumerate(before.graph.output) if k not in finite]
    if done and void:
        names = ", ".join(map(repr, void))
        unchecked = f"on random inputs no value of the output {names} is finite"
    result = Verdict(error, unchecked=unchecked, inputs=ran, note=note)
    return replace(result, error=None) if done and not finite else result


def _finite(result: Any) -> bool:
    """Whether a result says something: it has a finite value, or no values at all."""
    if isinstance(result, list):
        return any(map(_finite, cast(list[Any], result)))
    a = np.asarray(result)
    if a.dtype.kind not in "fV" or a.dtype.itemsize > 8:
        return True
    return not a.size or bool(np.isfinite(a.astype(np.float64)).any())


def _differs(
    model: onnx.ModelProto, apart: Sequence[float], allowed: Sequence[float]
) -> Verdict:
    outputs = zip(model.graph.output, apart, allowed, strict=True)
    name, by = next((o.name, d) for o, d, most in outputs if not d <= most)
    return Verdict(by, f"output {name!r} differs by {by:.1e}")


def _nearer(
    model: onnx.ModelProto, inputs: Mapping[str, Any], want: Sequence[Any],
    got: Sequence[Any],
) -> tuple[float, float] | None:  # fmt: skip
    """How far the model's results and those of the other are from what the model gives
    in f64, where these are as near as its own within a factor, or within the tolerance:
    where much cancels, two right results differ."""
    exactly = exact(model, inputs)
    if exactly is None:
        return None
    own = list(map(distance, exactly, want))
    others = list(map(distance, exactly, got))
    near = zip(model.graph.output, own, others, strict=True)
    if all(other <= max(tolerance(o), NEAR * mine) for o, mine, other in near):
        return max(own), max(others)
    return None


def drawn(
    model: onnx.ModelProto, hints: Mapping[str, int], seed: int
) -> Iterator[dict[str, Array]]:
    """Random inputs, of sizes and with numbers that may suit the model."""
    rng = np.random.default_rng(seed)
    numbers = _compared(model) or [None]
    tries = _tries(model, _symbols(model), hints, rng)
    for k, sizes in enumerate(s for s in tries for _ in numbers):
        yield random_inputs(model, sizes, rng, numbers[k % len(numbers)])


def _tries(
    model: onnx.ModelProto,
    names: Sequence[str],
    hints: Mapping[str, int],
    rng: np.random.Generator,
) -> Iterator[dict[str, int]]:  # fmt: skip
    """Sizes for symbolic dimensions that may suit the model."""
    if not names:
        yield from ({} for _ in range(DRAWS))
        return
    if hints:
        yield {n: hints.get(n, SIZES[0][1] + i) for i, n in enumerate(names)}
    lead = _leading(model)
    for few, many in SIZES:
        yield {n: (few if n in lead else many) + i for i, n in enumerate(names)}
    for few, many in IMAGES:
        yield {n: few if n in lead else many for n in names}
    last = _last(model)
    for few, many in SIGNALS:
        yield {n: many if n in last else few for n in names}
    for _ in range(TRIES):
        drawn = rng.integers(1, 5, len(names))
        yield {n: int(d) for n, d in zip(names, drawn, strict=True)}


def line(e: Exception) -> str:
    text = " ".join(str(e).split())
    return text if len(text) < 200 else text[:197] + "..."


def runner(model: onnx.ModelProto, optimized: bool = False) -> Run:
    """By ONNX Runtime where it is installed and takes the model, else by ourselves."""
    try:
        return session(model, optimized).run
    except ImportError:
        pass
    except Exception:
        # Newer than the runtime, or with an operator that it lacks.
        pass
    from ..program import compile

    program = compile(model, fallback=True)
    return lambda inputs: list(program(inputs).values())


def _symbols(model: onnx.ModelProto) -> list[str]:
    result: dict[str, None] = {}
    for info in model.graph.input:
        for k, d in enumerate(info.type.tensor_type.shape.dim):
            if not fixed(d):
                result[size_name(d, info.name, k)] = None
    return list(result)


def size_name(d: Size, tensor: str, axis: int) -> str:
    """What a size is called; "?" and nothing at all stand for one of its own."""
    return d.dim_param if re.search(r"\w", d.dim_param) else f"{tensor}_{axis}"


def _leading(model: onnx.ModelProto) -> set[str]:
    """The names of first axes: how many there are of what the model takes."""
    firsts = ((i.name, i.type.tensor_type.shape.dim[:1]) for i in model.graph.input)
    return {size_name(d, name, 0) for name, dims in firsts for d in dims}


def _last(model: onnx.ModelProto) -> set[str]:
    """The names of last axes: samples of signals, features."""
    infos = [(i.name, i.type.tensor_type.shape.dim) for i in model.graph.input]
    return {size_name(dims[-1], name, len(dims) - 1) for name, dims in infos if dims}


def _compared(model: onnx.ModelProto) -> list[int]:
    """Whole numbers that the model compares scalars with: a choice between cases, such
    as rates of sampling."""
    known = {t.name: t for t in model.graph.initializer}
    known |= {n.output[0]: a.t for n in model.graph.node if n.op_type == "Constant"
              for a in n.attribute if a.name == "value"}  # fmt: skip
    found: dict[int, None] = {}
    for node in model.graph.node:
        for name in node.input if node.op_type == "Equal" else ():
            t = known.get(name)
            if t is not None and t.data_type in WHOLE and not list(t.dims):
                found[int(onnx.numpy_helper.to_array(t))] = None
    return list(found)[:NUMBERS]


def random_inputs(
    model: onnx.ModelProto, sizes: Mapping[str, int], rng: np.random.Generator,
    number: int | None = None,
) -> dict[str, Array]:  # fmt: skip
    """Normal floats, integers 0 and 1 (indices are small everywhere), random bools;
    integers without an axis are `number`, where that is given."""
    stored = {t.name for t in model.graph.initializer}
    out: dict[str, Array] = {}
    for info in model.graph.input:
        if info.name in stored:
            continue
        t = info.type.tensor_type
        if not info.type.HasField("tensor_type") or t.elem_type not in DTYPES:
            raise ModelError(f"input {info.name!r} is not a tensor of numbers")
        if not t.HasField("shape"):
            raise ModelError(f"input {info.name!r} has no declared rank")
        shape = [
            d.dim_value if fixed(d) else sizes[size_name(d, info.name, k)]
            for k, d in enumerate(t.shape.dim)
        ]  # fmt: skip
        dtype = DTYPES[t.elem_type]
        floats = dtype.is_float
        drawn = rng.standard_normal(shape) if floats else rng.integers(0, 2, shape)
        if number is not None and not shape and dtype.is_int:
            drawn = number
        out[info.name] = np.asarray(drawn).astype(dtype.numpy)
    return out


def tolerance(info: onnx.ValueInfoProto) -> float:
    dtype = DTYPES.get(info.type.tensor_type.elem_type)
    return TOLERANCE.get(dtype.name, 0.0) if dtype is not None else 0.0


def difference(a: Any, b: Any) -> float:
    """Relative to the largest finite value; infinite where shapes or NaNs differ."""
    if list in (type(a), type(b)):
        if type(a) is not type(b) or len(a) != len(b):
            return np.inf
        return max(map(difference, a, b), default=0.0)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return np.inf
    if x.dtype.kind not in "fV" or x.dtype.itemsize > 8:
        return 0.0 if np.array_equal(x, y) else np.inf
    x, y = x.astype(np.float64), y.astype(np.float64)
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)):
        return np.inf
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    top = float(np.abs(x[finite]).max())
    return float(np.abs(x[finite] - y[finite]).max()) / (top or 1.0)
