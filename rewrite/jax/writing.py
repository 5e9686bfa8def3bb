"""Chosen instructions as a jaxpr: a function that calls `lax`, traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.operators.constants import values
from rewrite.extract.operators.cover import Instruction

from .flat import Flat, Step, Value
from .library import Jaxpr, jax, lax, primitives
from .tiles import Cover

type Writer = Callable[..., Any]  # operands and attributes -> a traced array


def _same(f: Callable[..., Any]) -> Writer:
    """Operands broadcast to one shape; scalars that are known are no arrays then."""

    def write(*args: Any) -> Any:
        shape = np.broadcast_shapes(*(a.shape for a in args))
        return f(*(broadcast(a, shape) for a in args))

    return write


def broadcast(x: Any, shape: Sequence[int]) -> Any:
    if x.shape == tuple(shape):
        return x
    lead = len(shape) - len(x.shape)
    kept = [i for i, n in enumerate(x.shape) if n == shape[lead + i]]
    if len(kept) < len(x.shape):
        x = lax.reshape(x, [x.shape[i] for i in kept])
    return lax.broadcast_in_dim(x, tuple(shape), tuple(lead + i for i in kept))


def _full(value: Any, dtype: Any, shape: Any) -> Any:
    number = np.asarray(value, dtype.numpy)
    return lax.full(shape, number) if shape else number


def _recip(x: Any) -> Any:
    return lax.div(lax.full_like(x, 1), x)


def _relu(x: Any) -> Any:
    return lax.max(x, lax.full_like(x, 0))


def _slice(x: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    """Axes that run backwards are cut first and turned round then."""
    ends = [s + (n - 1) * k for s, n, k in zip(starts, sizes, steps, strict=True)]
    lows = [min(s, e) for s, e in zip(starts, ends, strict=True)]
    highs = [max(s, e) + 1 for s, e in zip(starts, ends, strict=True)]
    part = lax.slice(x, lows, highs, [abs(k) for k in steps])
    back = [i for i, k in enumerate(steps) if k < 0 and sizes[i] > 1]
    return lax.rev(part, back) if back else part


def _pad(x: Any, low: Any, high: Any, value: Any) -> Any:
    fill = np.asarray(value, x.dtype)
    return lax.pad(x, fill, [(a, b, 0) for a, b in zip(low, high, strict=True)])


def _dot(x: Any, y: Any, sums: Any, batch: Any) -> Any:
    return lax.dot_general(x, y, (sums, batch), preferred_element_type=x.dtype)


def _conv(x: Any, w: Any, *rest: Any, frame: Any) -> Any:
    f = Frame.of(frame, len(x.shape) - 2)
    made = lax.conv_general_dilated(
        x, w, f.strides, list(zip(f.lows, f.highs, strict=True)),
        rhs_dilation=f.dilations, feature_group_count=f.groups,
    )  # fmt: skip
    if not rest:
        return made
    return made + lax.broadcast_in_dim(rest[0], made.shape, (1,))


def _round(x: Any) -> Any:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _cast(x: Any, dtype: Any) -> Any:
    return lax.convert_element_type(x, dtype.numpy)


def _transpose(x: Any, perm: Any) -> Any:
    return lax.transpose(x, perm)


def _reshape(x: Any, shape: Any) -> Any:
    return lax.reshape(x, shape)


def _concat(*x: Any, axis: int) -> Any:
    return lax.concatenate(x, axis)


def _argmax(x: Any, axis: int, dtype: Any) -> Any:
    return lax.argmax(x, axis, dtype.numpy)


def _argmin(x: Any, axis: int, dtype: Any) -> Any:
    return lax.argmin(x, axis, dtype.numpy)


def _iota(axis: int, dtype: Any, shape: Any) -> Any:
    return lax.broadcasted_iota(dtype.numpy, shape, axis)


PLAIN = (
    "neg", "abs", "sign", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log1p",
    "sin", "cos", "tanh", "erf", "atan", "floor", "ceil", "square",
)  # fmt: skip
WRITERS: dict[str, Writer] = {
    **{n: getattr(lax, n) for n in PLAIN},
    "round": _round,
    "isfinite": lax.is_finite, "not": lax.bitwise_not, "sigmoid": lax.logistic,
    "recip": _recip, "relu": _relu,
    **{n: _same(getattr(lax, n)) for n in
       ("add", "sub", "mul", "div", "pow", "max", "min", "eq", "ne", "lt", "le")},
    "and": _same(lax.bitwise_and), "or": _same(lax.bitwise_or),
    "xor": _same(lax.bitwise_xor), "select": _same(lax.select),
    "cast": _cast,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast": broadcast, "slice": _slice, "pad": _pad,
    "concat": _concat,
    **{f"reduce_{n}": getattr(lax, f"reduce_{m}") for n, m in
       {"sum": "sum", "max": "max", "min": "min", "prod": "prod", "all": "and",
        "any": "or"}.items()},
    "cumsum": lax.cumsum, "cumprod": lax.cumprod, "cummax": lax.cummax,
    "cummin": lax.cummin,
    "argmax": _argmax,
    "argmin": _argmin,
    "dot": _dot, "conv": _conv,
    "full": _full,
    "iota": _iota,
}  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """Instructions for the classes that are needed, operands first."""

    cover: Cover
    own: Mapping[Value, int]  # the class of each value
    flat: Flat
    instructions: Mapping[int, Instruction]
    data: Mapping[str, Array]
    parameters: Mapping[int, Mapping[str, Any]]  # of steps whose bodies are others


def write(found: Chosen) -> Jaxpr:
    """A jaxpr of the same interface, weak types included."""
    arrays = _constants(found)

    def run(*args: Any) -> list[Any]:
        made: dict[int, Any] = {}
        given = {found.own[v]: x for v, x in zip(found.flat.inputs, args, strict=True)}
        for c, how in found.instructions.items():
            if how.op == "input":
                made[c] = given[c] if c in given else dict(how.attrs)["value"].known
            elif how.op == "constant":
                made[c] = arrays[c]
            elif how.op == "project":
                assert how.args[0] is not None
                made[c] = made[how.args[0]][dict(how.attrs)["index"]]
            else:
                operands = [made[a] for a in how.args if a is not None]
                made[c] = _written(found, how, operands)
        return [as_typed(made[found.own[v]], v.aval) for v in found.flat.outputs]

    avals = [v.aval for v in found.flat.inputs]
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=weak(a)) for a in avals]
    return jax.make_jaxpr(run)(*specs)


def _written(found: Chosen, how: Instruction, operands: Sequence[Any]) -> Any:
    if how.step is None:
        return WRITERS[how.op](*operands, **dict(how.attrs))
    step = found.flat.steps[how.step]
    return bound(step, operands, found.parameters.get(how.step))


def bound(
    step: Step, operands: Sequence[Any], parameters: Mapping[str, Any] | None = None
) -> Any:
    """An equation as it was, in its own context."""
    eqn = step.equation
    params = eqn.primitive.get_bind_params({**eqn.params, **(parameters or {})})
    with eqn.ctx.manager:
        return eqn.primitive.bind(*operands, **params)


def _constants(found: Chosen) -> dict[int, Array]:
    wanted = [c for c, how in found.instructions.items() if how.op == "constant"]
    return values(found.cover, wanted, found.data)


def weak(aval: Any) -> bool:
    return bool(getattr(aval, "weak_type", False))


def as_typed(x: Any, aval: Any) -> Any:
    """With the weakness of a type that callers saw."""
    if weak(aval) == bool(getattr(jax.typeof(x), "weak_type", False)):
        return x
    return primitives.convert_element_type_p.bind(
        x, new_dtype=aval.dtype, weak_type=weak(aval), sharding=None
    )
