"""Kernels and schedules as data: what extraction chooses and lowering receives.

A `Kernel` is a set of stored outputs over one space of loops.  Its body is a DAG of
scalar expressions; movement ops are gone, folded into the index of each load.  An axis
is a loop *name*: a reduction binds axes, and an axis that a reduction binds may be free
elsewhere (softmax reads its row three times over one axis).  Two kernels that are equal
as data compile to the same code whatever they read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, prod
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...egraph.ir.dtypes import DType, compute
from ...egraph.ir.ops import Attrs, TensorType


class Div(NamedTuple):
    """`floor(value / by)`, an index atom; `value` is never negative."""

    value: Affine
    by: int


class Mod(NamedTuple):
    """`value mod by`, an index atom; `value` is never negative."""

    value: Affine
    by: int
    is_mod: bool = True  # keeps a Mod unequal to a Div: both are tuples


class Val(NamedTuple):
    """The integer value of expression `expr`, already clipped: a gathered index."""

    expr: int


type Atom = int | Div | Mod | Val  # an int is an axis number


class Affine(NamedTuple):
    """`const + sum(coef * atom)`, terms sorted, coefficients not 0."""

    terms: tuple[tuple[Atom, int], ...] = ()
    const: int = 0


class Cond(NamedTuple):
    """`low <= value < high`."""

    value: Affine
    low: int
    high: int


class Expr(NamedTuple):
    """One scalar expression; `args` are numbers of earlier expressions.

    op       args      attr
    load     -         (slot, offset: Affine, guard: tuple[Cond, ...])
                       the element of buffer `slot`; 0 where the guard fails, and no
                       access is made there
    const    -         `exactly(value)`
    index    -         (Affine,)           a loop position as a number
    inside   -         (tuple[Cond, ...],) bool: all conditions hold
    select   c, a, b   ()
    cast     a         ()                  to `dtype`
    bitcast  a         ()                  to `dtype`
    reduce   a         (monoid, axes: tuple[int, ...], acc: DType)
    reduce   a, i      (argmax | argmin, axes, acc): the least integer `i` of those
                       where `a` is best; a NaN is better than any number
    scan     a         (monoid, axes, acc): of the values along `axes`, the outermost
                       first, those up to here
    <opcode> a [, b]   ()                  an entry of `scalars.BY_NAME`
    """

    op: str
    args: tuple[int, ...]
    attr: tuple[Any, ...]
    dtype: DType


class Update(NamedTuple):
    """How an output changes what lies there: by `set`, or an opcode of it and the
    value.  Along the axes `serial`, in their order, points may meet in one element and
    come one after the other; points that differ elsewhere never meet."""

    mode: str
    when: int  # a bool: where it is false, the point is left out
    serial: tuple[int, ...]


class Order(NamedTuple):
    """Along `axes`, the outermost first, an output is in the order of its values, of
    which the first ones are `kept`; or their places among those before.  It is
    that of the op `sort`: stable, NaN the greatest, both zeros equal."""

    axes: tuple[int, ...]
    kept: int
    descending: bool
    places: bool


class Output(NamedTuple):
    """Expression `expr` is stored to buffer `slot` for every point of `axes`.  Outputs
    are in order: an update follows the output that fills its buffer."""

    slot: int
    expr: int
    axes: tuple[int, ...]
    offset: Affine
    update: Update | None = None
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """Buffers are numbered by slot: the `reads` first, then the outputs, in order."""

    extents: tuple[int, ...]  # by axis number
    exprs: tuple[Expr, ...]  # topological
    free: tuple[int, ...]  # by expression: bit set of the axes it varies along
    outputs: tuple[Output, ...]
    slots: tuple[tuple[DType, int], ...]  # element type and count of each buffer
    reads: int  # slots below this number are only read
    constant: int = 0  # bit set of the slots read that hold the same in every run
    over: int = 0  # of those read that an update may change where they lie

    def axes_of(self, bits: int) -> tuple[int, ...]:
        return tuple(a for a in range(len(self.extents)) if bits >> a & 1)

    @property
    def updates(self) -> bool:
        return any(o.update for o in self.outputs)

    @property
    def orders(self) -> bool:
        return any(o.order for o in self.outputs)

    @property
    def reductions(self) -> tuple[int, ...]:
        return tuple(i for i, e in enumerate(self.exprs) if e.op == "reduce")

    @property
    def scans(self) -> tuple[int, ...]:
        return tuple(i for i, e in enumerate(self.exprs) if e.op == "scan")


# ---- what an expression is computed from ---------------------------------------------


def bits(axes: tuple[int, ...]) -> int:
    out = 0
    for a in axes:
        out |= 1 << a
    return out


def exactly(value: float) -> tuple[Any, ...]:
    """What a constant is known by; -0.0, which equals 0.0, by its sign as well."""
    return (value, "-") if value == 0 and copysign(1, value) < 0 else (value,)


def out_of_order(kernel: Kernel) -> str | None:
    """Why the scans of a kernel are no walk along one line: they share their loops,
    which all outputs have, and nothing is reduced or changed beside them."""
    orders = {kernel.exprs[i].attr[1] for i in kernel.scans}
    if not orders:
        return None
    over = {bits(o.axes) for o in kernel.outputs}
    beside = kernel.updates or kernel.orders or bool(kernel.reductions)
    if beside or len(orders) > 1 or len(over) > 1:
        return "its scans stand beside loops of another order"
    inside = not any(bits(axes) & ~every for axes in orders for every in over)
    return None if inside else "its scans go along loops that outputs lack"


# The terms of an outer product may ask for an inner one at more points than it has
# values: scores inside the sum of weighted rows, for each of their columns.  One such
# step is attention, whose families keep the scores of a row.  Two of them, the one
# inside the other, no family keeps: the work is that of all loops at once.
AGAIN = 1  # reductions computed again, one inside another, that a kernel may hold
FEW = 1 << 20  # points of all its loops, up to which that is no matter


def computed_again(kernel: Kernel) -> str | None:
    """Why a kernel does its work many times over, if it does."""
    if len(kernel.reductions) <= AGAIN + 1 or prod(kernel.extents) <= FEW:
        return None
    below, depth = _below(kernel), dict.fromkeys(kernel.reductions, 0)
    for outer in reversed(kernel.reductions):
        bound = bits(kernel.exprs[outer].attr[1])
        for inner in below[outer]:
            free = kernel.free[inner]
            again = free & bound and (kernel.free[outer] | bound) & ~free
            depth[inner] = max(depth[inner], depth[outer] + bool(again))
    if max(depth.values()) <= AGAIN:
        return None
    return "its reductions would be computed again and again inside one another"


def _below(kernel: Kernel) -> dict[int, frozenset[int]]:
    """By reduction: the nearest ones that its terms are computed from."""
    met: list[frozenset[int]] = []
    found: dict[int, frozenset[int]] = {}
    for i, e in enumerate(kernel.exprs):
        under = frozenset[int]().union(*(met[a] for a in needs(e)))
        if e.op == "reduce":
            found[i], under = under, frozenset((i,))
        met.append(under)
    return found


def expr_affines(e: Expr) -> list[Affine]:
    """The index forms in `e`, also those inside others."""
    if e.op == "load":
        return subforms(e.attr[1], *(c.value for c in e.attr[2]))
    if e.op == "index":
        return subforms(e.attr[0])
    if e.op == "inside":
        return subforms(*(c.value for c in e.attr[0]))
    return []


def subforms(*forms: Affine) -> list[Affine]:
    """The forms and those that they divide."""
    found = list(forms)
    for v in found:  # which grows
        found += [a.value for a, _ in v.terms if type(a) is Div or type(a) is Mod]
    return found


def gathered(e: Expr) -> tuple[int, ...]:
    """The expressions whose integer values index `e`."""
    if e.op == "load" and not e.attr[2]:
        for a, _ in e.attr[1].terms:
            if type(a) is not int:
                break
        else:
            return ()  # most loads: sums of loops
    found: list[int] = []
    for v in expr_affines(e):
        found += values(v)
    return tuple(found)


def values(v: Affine) -> list[int]:
    """The expressions whose integer values are terms of `v`."""
    return [atom.expr for atom, _ in v.terms if type(atom) is Val]


def stored(o: Output) -> tuple[int, ...]:
    """The expressions that an output is computed from."""
    if o.update is None:
        return (o.expr,)
    places = (i for v in subforms(o.offset) for i in values(v))
    return (o.expr, o.update.when, *places)


def needs(e: Expr) -> tuple[int, ...]:
    """The expressions that `e` is computed from."""
    return e.args if e.op not in ("load", "index", "inside") else gathered(e)


def factors(kernel: Kernel, e: int, strict: bool = True) -> tuple[int, ...]:
    """The factors of a product; strictly, of one without rounding in between."""
    x = kernel.exprs[e]
    rounds = strict and compute(x.dtype) is not x.dtype
    if x.op not in ("mul", "square") or not x.dtype.is_float or rounds:
        return (e,)
    left, right = x.args if x.op == "mul" else x.args * 2
    return (*factors(kernel, left, strict), *factors(kernel, right, strict))


class Buffer(NamedTuple):
    """A value in memory.  `kind`: input, data, kept (the same in every run), temp or
    output."""

    type: TensorType
    kind: str
    label: str


class Launch(NamedTuple):
    """Run `kernel` on buffers; `args[s]` is the buffer of slot `s`."""

    kernel: Kernel
    args: tuple[int, ...]


class Host(NamedTuple):
    """An op that the host runs with its NumPy meaning."""

    op: str
    attrs: Attrs
    args: tuple[int, ...]
    out: int


type Step = Launch | Host


def reads_of(step: Step) -> tuple[int, ...]:
    """The buffers that a step reads."""
    return step.args[: step.kernel.reads] if isinstance(step, Launch) else step.args


def writes_of(step: Step) -> tuple[int, ...]:
    return step.args[step.kernel.reads :] if isinstance(step, Launch) else (step.out,)


@dataclass(frozen=True)
class Schedule:
    """Steps in order over numbered buffers, at concrete sizes.  The first `once` of
    them write the buffers that are kept: they run when a program is made."""

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[str, int], ...]  # an output may be an input or data buffer
    aliases: tuple[tuple[int, int, str], ...] = ()  # (output, input, must | may)
    once: int = 0


class Cost(NamedTuple):
    """Predicted seconds of one kernel and the parts they come from."""

    seconds: float
    launch: float
    bytes: float
    scalar: float
    product: float
    family: str


class KernelCost(Protocol):
    """The only cost interface; None where no family accepts the kernel."""

    def __call__(self, kernel: Kernel) -> Cost | None: ...


@runtime_checkable
class Bounded(KernelCost, Protocol):
    """A cost that can say of a kernel before it is traced: no less."""

    def floor(self, written: int) -> float:
        """Seconds, no more than any kernel costs that stores so many bytes."""
        ...


def nbytes(t: TensorType) -> int:
    """Bytes of a tensor of concrete size."""
    total = t.dtype.itemsize
    for n in t.shape:
        assert isinstance(n, int)
        total *= n
    return total
