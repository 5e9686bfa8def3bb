"""Products by the library of the device: for a search to choose, never by default.

The kernel in stages (`cut.py`): the product into scratch, or into the output if nothing
follows, then what follows as a map.  Whether that is faster is for the clock to say: a
CPU's library has threads of its own, which look out for work after a call; a GPU's may
multiply by units that our kernels do not use.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from ...egraph.ir.dtypes import F32
from ...extract.schedule.kernel import Affine, Kernel
from ..axes import nested, normalise
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import PRODUCTS, Function, Gemm, Matrix, Param, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, summed
from .common import InParts, refusal
from .nests.staged import Cut, parted
from .nests.writer import Writer, parameters
from .products.products import Contraction, Plain, classify, even, steps_along, turned
from .rows import MAP

LARGEST = (1 << 31) - 1  # size or step that libraries count to
CALLS = 64  # on a GPU; more launches than that are no way to multiply


class Lying(NamedTuple):
    """A matrix of a kernel: the buffer, the offset along batches, steps that fit."""

    slot: int
    rest: Affine
    down: int
    across: int


class Call(NamedTuple):
    """A product, and how its sides and its result lie."""

    contraction: Contraction
    matrices: tuple[Lying, Lying, Lying]  # the result first
    small: bool  # the sides are floats of under 32 bits

    def launches(self, kernel: Kernel) -> int:
        """Calls, where one does all products along an axis."""
        counts = [kernel.extents[a] for a in self.contraction.batch]
        return math.prod(counts) // max(counts, default=1)


@dataclass(frozen=True, slots=True)
class Library(InParts, AsTheyAre):
    """Sums of products of two plain operands, and maps of them.  Both sides are read
    until the last cell is complete."""

    name: str = "library"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel) or not all(kernel.extents):
            return "it is no single product"
        if len(kernel.reductions) != 1:
            return "it is no single product"
        first, *rest = (normalise(k) for k in _stages(kernel).stages)
        if any(MAP.accepts(k) is not None for k in rest):
            return "more than a map follows the product"
        return refusal(call_of(first))

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {}

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        """As if it multiplied at the rate of our own products, and packed for free."""
        if not model.library:
            return None
        first, *rest = (normalise(k) for k in _stages(kernel).stages)
        result = _product(first)
        if _calls(first, model) > CALLS or (result.small and model.cpu_like):
            return None
        batch, m, n, k = result.contraction.sizes(first)
        rate = model.product_rate(result.contraction.dtype)
        multiplied = Parts(0.0, 0.0, batch * m * n * k / rate)
        return summed((multiplied, *(MAP.parts(k, model) for k in rest)))

    def launches(self, kernel: Kernel, model: DeviceModel) -> int:
        first, *rest = (normalise(k) for k in _stages(kernel).stages)
        return _calls(first, model) + len(rest)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        made = _stages(kernel)
        scratch = tuple(
            Param(f"s{i}", dtype, size, True)
            for i, (dtype, size) in enumerate(made.scratch)
        )
        buffers = (*parameters(kernel), *scratch)
        first, *rest = (normalise(k) for k in made.stages)
        body: list[Stmt] = _products(first, strict, buffers)
        for k in rest:
            body += MAP.write(k, caps, buffers, strict).body
        return Function(name, parameters(kernel), tuple(body), scratch)


def _stages(kernel: Kernel) -> Cut:
    """The product alone, if that is all that is stored; else it and the rest."""
    (root,) = kernel.reductions
    alone = all(o.expr == root for o in kernel.outputs)
    return Cut((kernel,), ()) if alone else parted(kernel, root)


def _product(first: Kernel) -> Call:
    result = call_of(first)
    assert not isinstance(result, str), result
    return result


def _calls(first: Kernel, model: DeviceModel) -> int:
    return 1 if model.cpu_like else _product(first).launches(first)


def _products(first: Kernel, strict: bool, buffers: tuple[Param, ...]) -> list[Stmt]:
    """A call for each matrix of the batch, a loop for each of its axes."""
    result = _product(first)
    writer = Writer(first, strict, buffers)
    _, m, n, k = result.contraction.sizes(first)
    with ExitStack() as loops:
        for axis in result.contraction.batch:
            i = loops.enter_context(writer.loop("serial", first.extents[axis]))
            writer.at(axis, i)
        out, a, b = (
            Matrix(buffers[x.slot].name, writer.affine(x.rest)[0], x.down, x.across)
            for x in result.matrices
        )
        writer.emit(Gemm(m, n, k, out, a, b))
    return writer.scopes[0].body


@lru_cache(maxsize=4096)
def call_of(kernel: Kernel) -> Call | str:
    """The product that the kernel is, as a library takes it; or why it is none."""
    result = classify(kernel)
    if isinstance(result, str):
        return result
    c = next(iter(result))
    if len(result) != 1 or len(c.products) != 1 or len(kernel.outputs) != 1:
        return "several products"
    root = c.products[0].root
    if kernel.outputs[0].expr != root:
        return "its sums are not what is stored"
    made, summed = kernel.exprs[root].dtype, kernel.exprs[root].attr[2]
    if made is not kernel.slots[kernel.outputs[0].slot][0] or summed is not c.dtype:
        return "its sums are of another type"
    for way in _ways(c):
        matrices = _matrices(kernel, way)
        if matrices is not None:
            return _call(kernel, way, matrices)
    return "an operand does not lie as a matrix"


def _ways(c: Contraction) -> list[Contraction]:
    """The product, its sides exchanged or not; last those of which outer axes of a side
    are a batch, for which the other side stays as it is."""
    result: list[tuple[int, Contraction]] = []
    for way in (c, turned(c)):
        for i, j in product(range(len(way.m)), range(len(way.n))):
            batch = (*way.batch, *way.m[:i], *way.n[:j])
            result.append((i + j, way._replace(batch=batch, m=way.m[i:], n=way.n[j:])))
    return [way for _, way in sorted(result, key=lambda x: x[0])]


def _call(
    kernel: Kernel, c: Contraction, matrices: tuple[Lying, Lying, Lying]
) -> Call | str:
    made, a, b = (kernel.slots[x.slot][0] for x in matrices)
    if a is not b or (a, made) not in PRODUCTS:
        return f"no library multiplies {a} and {b} to {made}"
    if max(*c.sizes(kernel), *(max(x.down, x.across) for x in matrices)) > LARGEST:
        return "it is larger than libraries count"
    return Call(c, matrices, a.bits < F32.bits)


def _matrices(kernel: Kernel, c: Contraction) -> tuple[Lying, Lying, Lying] | None:
    p, o = c.products[0], kernel.outputs[0]
    _, m, n, k = c.sizes(kernel)
    a, b = _side(kernel, c, p.a, c.m), _side(kernel, c, p.b, c.n)
    down, across = (steps_along(kernel, o.offset, axes) for axes in (c.m, c.n))
    if a is None or b is None or down is None or across is None:
        return None
    rest = tuple(t for t in o.offset.terms if t[0] not in (*c.m, *c.n))
    if not all(isinstance(t, int) and t in c.batch for t, _ in rest):
        return None
    out = Lying(o.slot, Affine(rest, o.offset.const), down, across)
    left = Lying(a.slot, a.rest, a.own, a.k)
    right = Lying(b.slot, b.rest, b.k, b.own)
    fitted = _lying(out, m, n), _lying(left, m, k), _lying(right, k, n)
    if None in fitted or fitted[0] is None or fitted[0].across != 1:
        return None
    return fitted  # type: ignore[return-value]


def _side(
    kernel: Kernel, c: Contraction, side: tuple[int, ...], own: tuple[int, ...]
) -> Plain | None:
    """The load that a side is; widened, if it is of small floats."""
    x = kernel.exprs[side[0]]
    if len(side) > 1 or x.dtype is not c.dtype:
        return None
    if x.op == "cast":
        x = kernel.exprs[x.args[0]]
    return even(kernel, c, x, own) if x.op == "load" else None


def _lying(x: Lying, rows: int, columns: int) -> Lying | None:
    """With steps of which one is 1 and the other no less than what it steps over."""
    if x.across == 1 or columns == 1:
        down = x.down if rows > 1 else columns
        return x._replace(down=down, across=1) if down >= columns else None
    if x.down == 1 or rows == 1:
        across = x.across if columns > 1 else rows
        return x._replace(down=1, across=across) if across >= rows else None
    return None


LIBRARY = Library()


__all__ = ["LIBRARY"]
