"""What macros mean: their expansion in `egraph/ir/macros.py`, read back from a witness.

The expansion is built by the graph's own builder at sizes that are distinct primes, one
for each size that is not a number; each prime in the result is the size it stands for,
and a constant that is one over a product of them is one over the product of the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F64, DType
from rewrite.egraph.ir.graph import Builder, Node, attr_kinds
from rewrite.egraph.ir.macros import MACROS

from .conditions import Some, same
from .elements import NUMBER, Apply, Elem, Literal, Str, Variable, Whole, number
from .language import as_number
from .paths import Unsupported
from .tensors import MEANINGS, bits
from .world import Failed, Tensor, World

FIRST_PRIME = 1009
STAND_IN = 0.7310585786300049  # of a macro's own number, such as its eps


@dataclass
class Witness:
    """Sizes as primes, and back."""

    w: World
    primes: dict[Dim, int] = field(default_factory=dict[Dim, int])

    def size(self, d: Dim) -> int:
        d = self.w.path.normal(d)
        if self.w.path.decide(same(d, 1)):
            return 1
        if isinstance(d, int):
            if d >= FIRST_PRIME:
                raise Unsupported("a macro over sizes of 1009 and more")
            return d
        for other, prime in self.primes.items():
            if self.w.path.implies(same(d, other)):
                return prime
        self.primes[d] = next_prime(max(self.primes.values(), default=FIRST_PRIME - 1))
        return self.primes[d]

    def dim(self, n: int) -> Dim:
        """The size, or the product of sizes, that a number stands for."""
        out: Dim = 1
        for d, p in self.primes.items():
            while n > 1 and n % p == 0:
                out, n = out * d, n // p
        return out * n

    def value(self, v: float, own: Any) -> Elem:
        if v == STAND_IN:
            return as_number(own)
        if math.isnan(v):
            return Variable("1/0")
        over = round(1 / v) if v and abs(v) < 1 / 2 else 0
        if over >= FIRST_PRIME and 1 / over == v:
            return self._one_over(over)
        return number(v)

    def _one_over(self, n: int) -> Elem:
        """The mean of nothing is a number that no one knows."""
        factors = [d for d, p in self.primes.items() if n % p == 0]
        if any(self.w.path.decide(same(d, 0)) for d in factors):
            return Variable("1/0")
        return Apply("div", (number(1), Whole(self.dim(n))), NUMBER)


def next_prime(n: int) -> int:
    n += 1
    while any(n % k == 0 for k in range(2, math.isqrt(n) + 1)):
        n += 1
    return n


def macro(w: World, name: str, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """The tensor that a macro is; `attrs` as in `egraph/ir/macros.py`."""
    dtype = w.string(args[0].dtype)
    for a in args[1:]:
        w.agree(dtype, a.dtype, "the dtypes of a macro's operands differ")
    w.want("float", w.string(dtype))
    kinds = [k for _, k in MACROS[name].attrs]
    fixed, own = _attributes(w, name, args, attrs, kinds)
    _broadcasts(w, name, args)
    witness = Witness(w)
    b = Builder()
    inputs = [
        b.input(f"x{i}", F64, [witness.size(n) for n in a.shape])
        for i, a in enumerate(args)
    ]
    root = b.macro(name, inputs, *fixed)
    root = MACROS[name].expand(b, inputs, b.nodes[root].attrs)
    return _read(w, b, dict(zip(inputs, args, strict=True)), root, witness, dtype, own)


def _attributes(
    w: World, name: str, args: Sequence[Tensor], attrs: Sequence[Any], kinds: list[str]
) -> tuple[list[Any], Any]:
    fixed: list[Any] = []
    own: Any = None
    for a, kind in zip(attrs, kinds, strict=True):
        if kind == "mask":
            if len(a) != len(args[0].shape):
                w.fits(args[0].shape, a, "a mask of another rank")
            fixed.append(tuple(map(int, bits(w, a))))
            if not any(fixed[-1]):
                w.need(Some(()), f"{name} over no axis")
        else:
            own = a
            fixed.append(STAND_IN)
    return fixed, own


def _broadcasts(w: World, name: str, args: Sequence[Tensor]) -> None:
    """Each further operand has the first one's sizes, or 1; attention has its own."""
    first = args[0].shape
    if name == "attention":
        _attention(w, args)
        return
    for a in args[1:]:
        if len(a.shape) != len(first):
            w.fits(a.shape, first, "an operand of another rank")
        for n, m in zip(a.shape, first, strict=True):
            w.need(Some((same(n, 1), same(n, m))), "an operand that does not broadcast")
            if not w.path.decide(same(n, 1)):
                w.need(same(n, m), "an operand that does not broadcast")


def _attention(w: World, args: Sequence[Tensor]) -> None:
    q, k, v = (a.shape for a in args)
    what = "[.., s, d], [.., t, d], [.., t, e] are needed"
    for s in (q, k, v):
        if len(s) != len(q) or len(s) < 2:
            if w.right:
                raise Failed(what)
            w.path.assume(Some(()))
    w.fits((*q[:-2], *q[:-2]), (*k[:-2], *v[:-2]), what)
    w.fits((q[-1], k[-2]), (k[-1], v[-2]), what)


def _read(
    w: World, b: Builder, inputs: Mapping[int, Tensor], root: int, witness: Witness,
    dtype: Str, own: Any,
) -> Tensor:  # fmt: skip
    env: dict[int, Tensor] = dict(inputs)
    for i, node in enumerate(b.nodes[: root + 1]):
        if i in env or (node.op in MACROS and i != root and not _needed(b, i, root)):
            continue
        args = [env[a] for a in node.args]
        if node.op in MACROS:
            attrs = [own if a == STAND_IN else a for a in node.attrs]
            env[i] = macro(w, node.op, args, attrs)
        else:
            env[i] = node_meaning(w, node, args, witness, dtype, own)
    return env[root]


def _needed(b: Builder, i: int, root: int) -> bool:
    """Whether the root is made of node i; the whole macro itself is not."""
    todo = [root]
    while todo:
        n = todo.pop()
        if n == i:
            return True
        todo.extend(b.nodes[n].args)
    return False


def node_meaning(
    w: World, node: Node, args: Sequence[Tensor], witness: Witness, dtype: Str, own: Any
) -> Tensor:
    """A node of an expansion, its numbers read back."""
    attrs: list[Any] = []
    for a, (_, kind) in zip(node.attrs, attr_kinds(node.op), strict=True):
        if kind == "shape":
            attrs.append(tuple(witness.dim(int(n)) for n in a))
        elif kind == "dim":
            attrs.append(witness.dim(int(a)))
        elif isinstance(a, DType):
            attrs.append(w.wide(dtype) if node.op in ("reduce", "contract") else dtype)
        else:
            attrs.append(a)
    if node.op == "const":
        attrs[0] = Literal(witness.value(float(node.attrs[0]), own), w.string(dtype))
    if node.op == "pad":
        zero = Literal(number(node.attrs[2]), w.string(dtype))
        value = MEANINGS["const"](w, (), (zero, dtype, ()))
        return MEANINGS["pad"](w, (*args, value), attrs[:2])
    return MEANINGS[node.op](w, args, attrs)
