"""Exact values where the widest type of the machine does not decide them.

1 - sigmoid(60) is 1e-26, and 0 if computed so in any type of the machine: measured
against that, the better side is the worse one.  So whether a value is known is asked by
noise: all is computed once more with every rounding moved a little at random, as in the
stochastic arithmetic of Vignes; digits that both runs share are digits of the value.
Where too few are shared, the same is done with decimals of 50, 100, … digits until
enough are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, Inexact, localcontext
from itertools import cycle
from math import prod
from typing import Any

import numpy as np

from ..ir.dtypes import DType
from ..ir.evaluate import apply
from ..ir.graph import Node
from ..ir.ops import Array, TensorType
from ..ir.scalars import BY_NAME, MONOIDS, SExpr
from .decimals import INF, OPERATIONS, Operation, context
from .drawn import limits_of
from .oracle import Oracle

PART = 64  # of what two sides are apart: how well the value must be known
FINE = 2.0**-52  # relative: a part of what `agreement.py` lets values differ by
RUNS = 2  # with noise: one may be like the plain one by chance
DIGITS = (50, 100, 200, 400)
SUMS = frozenset({"add", "sub"})
DECIMAL = DType("decimal", "float", 1024, np.dtype(object))

# How far apart two runs may be, for a value to be known well enough.
type Enough = Callable[[Array], Array]
type Noisy = Callable[[Mapping[str, Array], int], Sequence[Array | None]]


def settled(
    oracle: Oracle, node: int, inputs: Mapping[str, Array], wide: Array,
    asked: Array, enough: Enough, noisy: Noisy | None = None,
) -> Array:  # fmt: skip
    """`wide`, the values of a node in the widest type, with what is asked for mended.

    What no number of digits decides, as which way a tie falls, is NaN.
    """
    unknown = asked & ~np.isfinite(wide)
    for seed in range(RUNS):
        other = (noisy or oracle.noisy)(inputs, seed)[node]
        assert other is not None
        unknown |= asked & ~_alike(wide, other, enough)
    if not unknown.any():
        return wide
    out = np.array(wide, np.longdouble)
    for digits in DIGITS:
        (one, all_of_it), (two, _) = (
            _values(oracle, node, inputs, digits, k) for k in (1, -1)
        )
        if not all_of_it and digits < DIGITS[-1]:
            continue
        known = unknown & (_alike(one, two, enough) | (_odd(one) & (one == two)))
        out[known] = one[known]
        unknown = unknown & ~known
        if not unknown.any():
            return out
    out[unknown] = np.nan
    return out


def compared(
    oracle: Oracle, node: int, inputs: Mapping[str, Array], wide: Array,
    sides: tuple[Array, Array], dtype: DType,
    noisy: Noisy | None = None,
) -> Array:  # fmt: skip
    """The value that two sides of a law are measured against under stress.

    Where both sides agree to a few ulp neither can be called worse; elsewhere it must
    be known to a small part of their distance.
    """
    info = limits_of(dtype)
    with np.errstate(all="ignore"):
        a, b = (x.astype(np.longdouble) for x in sides)
        gap = np.abs(a - b)
        size = np.minimum(np.abs(a), np.abs(b))
        free = 4 * float(info.eps) * size + 4 * float(info.smallest_subnormal)
        one = np.isfinite(a) != np.isfinite(b)
        asked = one | (np.isfinite(gap) & (gap > free))
    if not asked.any():
        return wide
    part = np.where(one, float(info.max) / 4, gap) / PART
    return settled(oracle, node, inputs, wide, asked, lambda _: part, noisy)


def equal_values(
    oracle: Oracle, nodes: tuple[int, int], inputs: Mapping[str, Array],
    wide: tuple[Array, Array], asked: Array,
) -> list[Array]:  # fmt: skip
    """Both sides of a law over the reals, where they seem to differ."""

    def enough(a: Array) -> Array:
        return FINE * (1 + np.abs(a))

    return [
        settled(oracle, n, inputs, w, asked, enough)
        for n, w in zip(nodes, wide, strict=True)
    ]


def _alike(a: Array, b: Array, enough: Enough) -> Array:
    with np.errstate(all="ignore"):
        both = np.isfinite(a) & np.isfinite(b)
        return both & (np.abs(a - b) <= enough(a))


def _odd(a: Array) -> Array:
    return np.isinf(a)


def _values(
    oracle: Oracle, node: int, inputs: Mapping[str, Array], digits: int, sign: int
) -> tuple[Array, bool]:
    """The values of a node with so many digits, each rounding moved up, or down; and
    whether every term of every sum has a digit in it.

    Noise does not show a term that was lost: with x + 1e200 all of x is, and a softmax
    of that is 0 or 1 whatever the noise.
    """
    with localcontext(context(digits)) as c:
        run = _Decimals(oracle, c, sign)
        result = run.value(oracle.where[node], inputs, {})
    flat = [_rounded(x) for x in result.reshape(-1)]
    return np.array(flat, np.longdouble).reshape(result.shape), not run.lost


def _rounded(x: Decimal) -> np.longdouble:
    """To the widest type, in which what is beyond it is infinite."""
    beyond = x.is_finite() and x.adjusted() >= int(np.finfo(np.longdouble).maxexp * 0.3)
    return np.longdouble(str(INF.copy_sign(x) if beyond else x))


@functools.lru_cache(maxsize=16)
def _moves(digits: int, sign: int) -> tuple[Decimal, ...]:
    """Factors that move what was rounded within its last digits, drawn once; a prime
    number of them, so that lines of equal length take different ones."""
    drawn = np.random.default_rng(digits + sign).integers(2_000_000, 9_000_000, 1021)
    part, finer = Decimal(10) ** -digits / 1_000_000, context(digits + 6)
    return tuple(finer.add(1, sign * int(n) * part) for n in drawn)


class _Decimals:
    """One run: floats are arrays of decimals, all else is as ever."""

    def __init__(self, oracle: Oracle, c: Context, sign: int) -> None:
        self.oracle, self.context, self.sign = oracle, c, sign
        self.finer = context(c.prec + 6)
        self.moves = cycle(_moves(c.prec, sign))
        self.lost = False  # whether a term of a sum was beyond its last digit

    def value(
        self, i: int, inputs: Mapping[str, Array], seen: dict[int, Array]
    ) -> Array:
        if i not in seen:
            node = self.oracle.nodes[i]
            assert node is not None, "an operand of a live node is live"
            args = [self.value(k, inputs, seen) for k in node.args]
            seen[i] = self._value(node, args, inputs)
        return seen[i]

    def _value(
        self, node: Node, args: Sequence[Array], inputs: Mapping[str, Array]
    ) -> Array:
        floats = [a for a in args if a.dtype == object]
        out = TensorType(DECIMAL, node.shape) if node.dtype.is_float else node.type
        match node.op:
            case "input" | "data":
                leaf = inputs if node.op == "input" else self.oracle.data
                return _decimals(leaf[node.attrs[0]], node)
            case "const" | "iota":
                return _decimals(apply(node.op, [], node.attrs, node.type), node)
            case "un" | "bin" if floats:
                return self._scalar(node, args)
            case "reduce" if floats:
                return self._folded(node.attrs[0], args[0], node.attrs[1])
            case "scan" if floats:
                return self._scanned(node.attrs[0], args[0], node.attrs[1])
            case "contract" if floats:
                full, mask, _ = node.attrs
                product = self._mapped("mul", [np.broadcast_to(a, full) for a in args])
                return self._folded("sum", product, mask)
            case "pad" if floats:
                low, high, value = node.attrs
                attrs = low, high, Decimal(float(value))
                return np.asarray(apply("pad", list(args), attrs, out))
            case "cast":
                return self._cast(args[0], node)
            case "bitcast":
                return self._bits(args[0], node)
            case _:
                return np.asarray(apply(node.op, list(args), node.attrs, out))

    # -- elementwise --

    def _scalar(self, node: Node, args: Sequence[Array]) -> Array:
        opcode = node.attrs[0]
        tree = BY_NAME[opcode].expansion
        if tree is not None:
            return self._opened(tree, args[0])
        result = self._mapped(opcode, args)
        return result.astype(np.bool_) if BY_NAME[opcode].gives_bool else result

    def _opened(self, tree: SExpr, a: Array) -> Array:
        """A composite opcode, by its expansion."""
        if isinstance(tree, str):
            return a
        if not isinstance(tree, tuple):
            return np.full(a.shape, Decimal(tree), object)
        head, *rest = tree
        return self._mapped(str(head), [self._opened(r, a) for r in rest])

    def _mapped(self, opcode: str, args: Sequence[Array]) -> Array:
        made = np.frompyfunc(self._noted(opcode), len(args), 1)(*args)
        return np.asarray(made, object)

    def _noted(self, opcode: str) -> Operation:
        """The operation; of what it rounds, moved at random within the last digits."""
        flags, f, is_sum = self.context.flags, OPERATIONS[opcode], opcode in SUMS

        def moved(*args: Any) -> Any:
            flags[Inexact] = False
            result = f(*args)
            if not flags[Inexact] or not isinstance(result, Decimal):
                return result
            if is_sum and all(args):
                terms = (self.context.abs(a) for a in args)
                self.lost = self.lost or result.copy_abs() in terms
            return self.finer.multiply(result, next(self.moves))

        return moved

    # -- the rest --

    def _folded(self, name: str, a: Array, mask: Sequence[int]) -> Array:
        """All axes of the mask at once, in the order in which they stand."""
        monoid = MONOIDS[name]
        axes = [i for i, m in enumerate(mask) if m]
        shape = tuple(1 if m else n for n, m in zip(a.shape, mask, strict=True))
        kept = [i for i in range(a.ndim) if i not in axes]
        count = prod(a.shape[i] for i in axes)  # -1 says none of what is empty
        sizes = (*(a.shape[i] for i in kept), count)
        flat = np.transpose(a, [*kept, *axes]).reshape(sizes)
        start = Decimal(float(monoid.identity(DECIMAL)))
        join = np.frompyfunc(self._noted(monoid.op), 2, 1)
        result = np.full(flat.shape[:-1], start, object)
        for k in range(flat.shape[-1]):
            result = np.asarray(join(result, flat[..., k]), object)
        return result.reshape(shape)

    def _scanned(self, name: str, a: Array, axis: int) -> Array:
        join = np.frompyfunc(self._noted(MONOIDS[name].op), 2, 1)
        result = np.moveaxis(a, axis, 0).copy()
        for k in range(1, len(result)):
            result[k] = join(result[k - 1], result[k])
        return np.moveaxis(result, 0, axis)

    def _cast(self, a: Array, node: Node) -> Array:
        if node.dtype.is_float:
            return a if a.dtype == object else _decimals(a, node)
        if a.dtype != object or node.dtype.kind == "bool":
            return np.asarray(apply("cast", [a != 0 if a.dtype == object else a],
                                    node.attrs, node.type))  # fmt: skip
        numbers = [int(x) if x.is_finite() else 0 for x in a.reshape(-1)]
        top = 1 << node.dtype.bits
        bits = np.array([n % top for n in numbers], f"u{node.dtype.itemsize}")
        return bits.view(node.dtype.numpy).reshape(a.shape)

    def _bits(self, a: Array, node: Node) -> Array:
        of = self.oracle.nodes[node.args[0]]
        assert of is not None
        plain = a.astype(np.float64).astype(of.dtype.numpy) if a.dtype == object else a
        return _decimals(apply("bitcast", [plain], node.attrs, node.type), node)


def _decimals(a: Array, node: Node) -> Array:
    """Floats, and what is cast to floats, as decimals."""
    if not node.dtype.is_float:
        return a
    whole_numbers = a.dtype.kind in "iub"
    flat = [Decimal(int(x) if whole_numbers else float(x)) for x in a.reshape(-1)]
    out: Array = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(a.shape)


__all__ = ["Noisy", "compared", "equal_values"]
