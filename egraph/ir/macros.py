"""Macros: ops kept whole because people name them, each equal to its expansion.

An expansion is written with `Builder` calls; the macro's type, its NumPy meaning and
(for kernels) its body all come from it.  The rules that connect both forms in the
e-graph stand in `rules/macros.egg`; a test holds them against these expansions.

What a macro holds between its operands and its result is computed in no less than f32:
a sum of 300,000 ones is infinite in f16, and the mean of numbers near 1000 is off by up
to 4 in bf16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .convolution import conv_expansion, conv_type
from .dtypes import compute
from .ops import AttrKind, OpError, TensorType, Types, check

if TYPE_CHECKING:
    from .graph import Builder


@dataclass(frozen=True, slots=True)
class Macro:
    """A named op defined by its expansion."""

    name: str
    arity: int
    attrs: tuple[tuple[str, AttrKind], ...]
    infer: Callable[[Types, tuple[Any, ...]], TensorType]
    expand: Expansion


type Expansion = Callable[[Builder, Sequence[int], tuple[Any, ...]], int]


def _widened(expand: Expansion) -> Expansion:
    """The expansion in the dtype that kernels compute in, rounded once, at the end."""

    def run(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
        own = b.type(args[0]).dtype
        wide = [b.cast(a, compute(own)) for a in args]
        return b.cast(expand(b, wide, attrs), own)

    return run


def _axes(mask: Sequence[int]) -> list[int]:
    return [i for i, m in enumerate(mask) if m]


def _like_first(types: Types, attrs: tuple[Any, ...]) -> TensorType:
    x, mask = types[0], attrs[0]
    check(x.dtype.is_float, "a float operand was expected, found {}", x)
    ok = len(mask) == x.rank and all(m in (0, 1) for m in mask) and any(mask)
    said = "a 0/1 mask of length {} with a 1 was expected, found {}"
    check(ok, said, x.rank, mask)
    for t in types[1:]:
        good = t.dtype == x.dtype and t.rank == x.rank
        good = good and all(a in (1, b) for a, b in zip(t.shape, x.shape, strict=True))
        check(good, "{} does not broadcast to {}", t, x)
    return x


def _reduced(types: Types, attrs: tuple[Any, ...]) -> TensorType:
    x = _like_first(types, attrs)
    sizes = zip(x.shape, attrs[0], strict=True)
    return TensorType(x.dtype, tuple(1 if m else d for d, m in sizes))


def _softmax(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (x,), (mask,) = args, attrs
    e = b.un("exp", _shifted(b, x, mask))
    total = b.reduce("sum", e, _axes(mask))
    return b.bin("mul", e, b.expand(b.un("recip", total), b.shape(x)))


def _shifted(b: Builder, x: int, mask: Sequence[int]) -> int:
    top = b.reduce("max", x, _axes(mask))
    return b.bin("sub", x, b.expand(top, b.shape(x)))


def _log_softmax(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (x,), (mask,) = args, attrs
    s = _shifted(b, x, mask)
    total = b.un("log", b.reduce("sum", b.un("exp", s), _axes(mask)))
    return b.bin("sub", s, b.expand(total, b.shape(x)))


def _logsumexp(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    """Where the maximum is infinite, it is the result; less itself it is NaN."""
    (x,), (mask,) = args, attrs
    total = b.un("log", b.reduce("sum", b.un("exp", _shifted(b, x, mask)), _axes(mask)))
    top = b.reduce("max", x, _axes(mask))
    none = b.broadcast(b.const(0.0, b.type(x).dtype), top)[0]
    return b.bin("add", b.select(b.un("isfinite", top), total, none), top)


def _mean(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (x,), (mask,) = args, attrs
    count = 1
    for i in _axes(mask):
        n = b.shape(x)[i]
        if not isinstance(n, int):
            raise OpError(f"mean over the symbolic axis {i} of {b.type(x)}")
        count *= n
    total = b.reduce("sum", x, _axes(mask))
    scale = b.const(1 / count if count else float("nan"), b.type(x).dtype)
    return b.bin("mul", total, b.broadcast(scale, total)[0])


def _normalised(b: Builder, x: int, power: int, mask: Sequence[int], eps: float) -> int:
    """x / sqrt(mean(power squared) + eps), `power` being x or x - mean."""
    var = _mean(b, [b.bin("mul", power, power)], (mask,))
    shift = b.broadcast(b.const(eps, b.type(x).dtype), var)[0]
    scale = b.un("recip", b.un("sqrt", b.bin("add", var, shift)))
    return b.bin("mul", power, b.expand(scale, b.shape(x)))


def _layer_norm(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (x, gain, bias), (mask, eps) = args, attrs
    centred = b.bin("sub", x, b.expand(_mean(b, [x], (mask,)), b.shape(x)))
    y = _normalised(b, x, centred, mask, eps)
    y = b.bin("mul", y, b.expand(gain, b.shape(x)))
    return b.bin("add", y, b.expand(bias, b.shape(x)))


def _rms_norm(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (x, gain), (mask, eps) = args, attrs
    return b.bin("mul", _normalised(b, x, x, mask, eps), b.expand(gain, b.shape(x)))


def _attention_type(types: Types, attrs: tuple[Any, ...]) -> TensorType:
    q, k, v = types
    check(all(t.dtype == q.dtype and t.dtype.is_float for t in types),
          f"one float dtype expected, found {q}, {k}, {v}")  # fmt: skip
    ok = q.rank >= 2 and q.rank == k.rank == v.rank
    ok = ok and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    ok = ok and q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
    check(ok, f"[.., s, d], [.., t, d], [.., t, e] expected, found {q}, {k}, {v}")
    return TensorType(q.dtype, (*q.shape[:-1], v.shape[-1]))


def _attention(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    (q, k, v), (scale,) = args, attrs
    own, rank = b.type(q).dtype, len(b.shape(q))
    swap = (*range(rank - 2), rank - 1, rank - 2)
    wide = (b.cast(x, compute(own)) for x in (q, b.permute(k, swap)))
    scores = b.matmul(*wide)  # which may be beyond f16 before they are scaled
    factor = b.broadcast(b.const(scale, compute(own)), scores)[0]
    mask = (*([0] * (rank - 1)), 1)
    weights = b.macro("softmax", [b.bin("mul", scores, factor)], mask)
    return b.matmul(b.cast(weights, own), v)


MACROS: dict[str, Macro] = {
    m.name: m
    for m in (
        Macro("softmax", 1, (("mask", "mask"),), _like_first,
              _widened(_softmax)),
        Macro("log_softmax", 1, (("mask", "mask"),), _like_first,
              _widened(_log_softmax)),
        Macro("logsumexp", 1, (("mask", "mask"),), _reduced,
              _widened(_logsumexp)),
        Macro("mean", 1, (("mask", "mask"),), _reduced, _widened(_mean)),
        Macro(
            "layer_norm", 3, (("mask", "mask"), ("eps", "float")),
            _like_first, _widened(_layer_norm),
        ),
        Macro("rms_norm", 2, (("mask", "mask"), ("eps", "float")), _like_first,
              _widened(_rms_norm)),
        Macro("attention", 3, (("scale", "float"),), _attention_type, _attention),
        Macro("conv", 3, (("frame", "ints"),), conv_type, conv_expansion),
    )
}  # fmt: skip
