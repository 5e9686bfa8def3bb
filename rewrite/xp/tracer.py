"""`Tracer`: an array that is not there yet; using it adds nodes to a graph.

Everything in this package ends in `Builder` calls.  Broadcasting and promotion, which
array code leaves to the library, become explicit `expand` and `cast` nodes here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, cast

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, Poly, Shape
from rewrite.egraph.ir.dtypes import BOOL, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import BY_NAME as SCALARS
from rewrite.egraph.ir.scalars import FLOAT, Array

from .arrays import DEVICE, is_array, is_scalar, plain, refuse_mask
from .errors import ShapeError, TraceError
from .methods import Methods
from .operators import Operators
from .promote import Scalar, as_dtype, default_dtype, float_of, promoted, weakly, widest

type Operand = Tracer | Array | Scalar

_active: ContextVar[Builder | None] = ContextVar("builder", default=None)


@contextmanager
def tracing(builder: Builder) -> Generator[Builder]:
    """Makes `builder` the one that array code adds to."""
    token = _active.set(builder)
    try:
        yield builder
    finally:
        _active.reset(token)


def is_tracing() -> bool:
    return _active.get() is not None


def current() -> Builder:
    builder = _active.get()
    if builder is None:
        raise TraceError("nothing is being traced here: a traced array has a meaning "
                         "only in the traced function; return it from there"
                         )  # fmt: skip
    return builder


@dataclass(frozen=True, slots=True, eq=False)
class Tracer(Methods):
    """The array computed by node `node` of the graph under construction."""

    builder: Builder
    node: int

    @property
    def type(self) -> TensorType:
        return self.builder.type(self.node)

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return self.type.rank

    @property
    def size(self) -> Dim:
        return dims.numel(self.shape)

    @property
    def device(self) -> str:
        return DEVICE

    @property
    def real(self) -> Tracer:
        return self

    @property
    def imag(self) -> Tracer:
        """Zeros, of an array that is real."""
        return wrap(self.builder.const(0, self.dtype, self.shape))

    def conj(self) -> Tracer:
        return self

    conjugate = conj

    def __repr__(self) -> str:
        return f"Tracer({self.type})"

    def __len__(self) -> int:
        if not self.ndim or not isinstance(self.shape[0], int):
            raise TraceError(f"len() of {self.type}: its first size is not a number")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.ndim or not isinstance(self.shape[0], int):
            raise TraceError(f"iteration over {self.type}: its first size is not a "
                             "number; functions of xp work on all of it")  # fmt: skip
        return (self[i] for i in range(self.shape[0]))


class Scope(Builder):
    """A builder within another trace: what it is given of that becomes an input."""

    def __init__(self, name: str = "graph", outer: Builder | None = None) -> None:
        super().__init__(name)
        self.outer = outer
        self.regions = 0  # that are checkpointed, counted by the outermost
        self.numbered = 0  # calls that have a number in their name, counted likewise
        # By node of `outer`: the input's label, and the array there and here.
        self.received: dict[int, tuple[str, Tracer, Tracer]] = {}

    @property
    def outermost(self) -> Scope:
        """The scope of the whole trace."""
        return self.outer.outermost if isinstance(self.outer, Scope) else self

    def call_number(self) -> int:
        whole = self.outermost
        whole.numbered += 1
        return whole.numbered - 1

    def receive(self, x: Tracer) -> Tracer:
        """What stands here for an array of a trace around this one."""
        outer = self.outer
        if outer is not None and x.builder is not outer and isinstance(outer, Scope):
            x = outer.receive(x)
        if x.builder is not outer:
            raise TraceError(f"{x} belongs to another trace: return it from there "
                             "and hand it to this one as an argument")  # fmt: skip
        if x.node not in self.received:
            label = f"around {len(self.received)}"
            made = Tracer(self, self.input(label, x.dtype, x.shape))
            self.received[x.node] = label, x, made
        return self.received[x.node][2]


# ---- from Python values to nodes -----------------------------------------------------


def received(builder: Builder, x: Tracer) -> Tracer:
    """What stands in `builder` for an array of another trace."""
    scope = builder if isinstance(builder, Scope) else Scope()
    return scope.receive(x)


def wrap(node: int) -> Tracer:
    return Tracer(current(), node)


def lift(value: Any, dtype: DType | None = None) -> Tracer:
    """A tracer for any operand; `dtype` is what a Python scalar becomes."""
    builder = current()
    if isinstance(value, Tracer):
        return value if value.builder is builder else received(builder, value)
    if is_scalar(value):
        return wrap(builder.const(value, dtype or default_dtype(value)))
    if is_array(value):
        stand_in: Any = getattr(cast(Any, type(value)), "__traced_array__", None)
        if stand_in is not None:
            return stand_in(value)
        array = plain(value)
        result = as_dtype(array.dtype)
        if array.ndim == 0:
            return wrap(builder.const(array.item(), result))
        return wrap(builder.array(array))
    raise TraceError("an array or a number was expected, found "
                     f"{type(value).__name__}{_instead(value)}")  # fmt: skip


def _instead(value: Any) -> str:
    """What can stand for an operand that is no array."""
    if value is None:
        return ": compare with 'is None'"
    if isinstance(value, list | tuple):
        return ": xp.asarray makes an array of numbers, xp.stack of arrays"
    if isinstance(value, Poly):
        return f": the size {value} has no value yet; xp.mean divides by it"
    if isinstance(value, complex | Operators):
        return ": this takes real numbers, as of xp.real(x), xp.imag(x), xp.abs(x)"
    return ""


def promote(*operands: Any) -> list[Tracer]:
    """The operands as arrays of one dtype; Python scalars adopt that of the arrays."""
    arrays = {i: lift(x) for i, x in enumerate(operands) if not is_scalar(x)}
    if not arrays:
        return _promote_scalars(operands)
    common = reduce(promoted, (x.dtype for x in arrays.values()))
    for i, x in enumerate(operands):
        if i not in arrays:
            common = weakly(common, x)
    return [
        astype(arrays[i], common) if i in arrays else lift(x, common)
        for i, x in enumerate(operands)
    ]


def _promote_scalars(values: Sequence[Any]) -> list[Tracer]:
    dtype = default_dtype(widest(values))
    return [lift(v, dtype) for v in values]


def broadcast(*operands: Tracer) -> list[Tracer]:
    builder = current()
    try:
        return [wrap(n) for n in builder.broadcast(*(x.node for x in operands))]
    except ValueError:
        shown = " and ".join(str(x.type) for x in operands)
        raise ShapeError(f"{shown} do not broadcast together") from None


def astype(x: Operand, dtype: Any) -> Tracer:
    """`x` converted to `dtype`; floats become integers by truncation."""
    x = lift(x)
    return wrap(x.builder.cast(x.node, as_dtype(dtype)))


def floats(x: Operand) -> Tracer:
    """`x` in the floats in which NumPy computes functions of its dtype."""
    x = lift(x)
    return astype(x, float_of(x.dtype))


def unary(op: str, x: Operand) -> Tracer:
    x = floats(x) if SCALARS[op].takes == FLOAT else lift(x)
    return wrap(x.builder.un(op, x.node))


# Truth values are added and multiplied as logic, as NumPy does.
_OF_TRUTHS = {"add": "or", "mul": "and", "max": "or", "min": "and"}


def binary(op: str, a: Operand, b: Operand) -> Tracer:
    left, right = promote(a, b)
    if op == "div" and not left.dtype.is_float:
        left, right = astype(left, F64), astype(right, F64)
    if left.dtype is BOOL:
        op = _OF_TRUTHS.get(op, op)
    left, right = broadcast(left, right)
    return wrap(left.builder.bin(op, left.node, right.node))


def select(c: Tracer, a: Tracer, b: Tracer) -> Tracer:
    c, a, b = broadcast(c, a, b)
    return wrap(c.builder.select(c.node, a.node, b.node))


def named(x: Operand, name: str) -> Tracer:
    """Gives the node behind `x` the name by which reports speak of it.

    Inputs keep the name of their argument.
    """
    x = lift(x)
    nodes = x.builder.nodes
    if nodes[x.node].op != "input":
        nodes[x.node] = replace(nodes[x.node], name=name)
    return x


__all__ = [
    "Operand", "Scope", "TraceError", "Tracer", "astype", "binary", "broadcast",
    "current", "floats", "is_array", "is_scalar", "is_tracing", "lift", "named",
    "plain", "promote", "refuse_mask", "select", "tracing", "unary", "wrap",
]  # fmt: skip
