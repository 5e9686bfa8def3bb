"""`Tracer`: an array that is not there yet; using it adds nodes to a graph.

Everything in this package ends in `Builder` calls.  Broadcasting and promotion, which
array code leaves to the library, become explicit `expand` and `cast` nodes here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, Shape
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import Array

from .promote import Scalar, adopts, as_dtype, default_dtype, promoted

type Operand = Tracer | Array | Scalar


class TraceError(TypeError):
    """Array code that has no meaning while its values are not known."""


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
        raise TraceError(
            "rewrite.xp builds a graph: call it inside trace(f, ..) or jit"
        )
    return builder


def _no_value(what: str, instead: str) -> NoReturn:
    raise TraceError(
        f"{what} needs the array's values, which are not known while the graph is "
        f"traced: {instead}"
    )


_python: Any = operator


def _in_place(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def f(self: Any, other: Any) -> Any:
        from .inplace import updated

        return updated(self, op(self, other))

    return f


@dataclass(frozen=True, slots=True, eq=False)
class Tracer:
    """The array computed by node `node` of the graph under construction."""

    builder: Builder
    node: int

    __array_ufunc__ = None  # NumPy arrays leave operators with a tracer to it

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

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import rewrite.xp

        return rewrite.xp

    def __repr__(self) -> str:
        return f"Tracer({self.type})"

    # -- what a tracer cannot do --

    def __bool__(self) -> NoReturn:
        _no_value("'if', 'while', 'and', 'or', 'not'", "use xp.where(c, a, b), &, |, ~")

    def __float__(self) -> NoReturn:
        _no_value("float(x)", "keep it an array; xp.astype(x, xp.float64) converts")

    def __int__(self) -> NoReturn:
        _no_value("int(x)", "keep it an array; xp.astype(x, xp.int64) converts")

    def __index__(self) -> NoReturn:
        _no_value(
            "a Python index", "use x[i] or xp.take(x, i, axis=..) with an array i"
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _no_value("NumPy", "call the function of rewrite.xp with this name instead")

    # -- in place --

    def __setitem__(self, key: Any, value: Any) -> None:
        from .inplace import assign

        assign(self, key, value)

    __iadd__ = _in_place(_python.add)
    __isub__ = _in_place(_python.sub)
    __imul__ = _in_place(_python.mul)
    __itruediv__ = _in_place(_python.truediv)
    __ifloordiv__ = _in_place(_python.floordiv)
    __imod__ = _in_place(_python.mod)
    __ipow__ = _in_place(_python.pow)
    __imatmul__ = _in_place(_python.matmul)
    __iand__ = _in_place(_python.and_)
    __ior__ = _in_place(_python.or_)
    __ixor__ = _in_place(_python.xor)
    __ilshift__ = _in_place(_python.lshift)
    __irshift__ = _in_place(_python.rshift)

    # -- sequence --

    def __len__(self) -> int:
        if not self.ndim or not isinstance(self.shape[0], int):
            raise TraceError(f"len() of {self.type}: its first size is not a number")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Tracer:
        from .indexing import getitem

        return getitem(self, key)

    # -- arithmetic --

    def __add__(self, other: Operand) -> Tracer:
        return binary("add", self, other)

    def __radd__(self, other: Operand) -> Tracer:
        return binary("add", other, self)

    def __sub__(self, other: Operand) -> Tracer:
        return binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Tracer:
        return binary("sub", other, self)

    def __mul__(self, other: Operand) -> Tracer:
        return binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Tracer:
        return binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Tracer:
        return binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tracer:
        return binary("div", other, self)

    def __floordiv__(self, other: Operand) -> Tracer:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Tracer:
        return binary("floordiv", other, self)

    def __mod__(self, other: Operand) -> Tracer:
        return binary("mod", self, other)

    def __rmod__(self, other: Operand) -> Tracer:
        return binary("mod", other, self)

    def __pow__(self, other: Operand) -> Tracer:
        from .elementwise import pow

        return pow(self, other)

    def __rpow__(self, other: Operand) -> Tracer:
        from .elementwise import pow

        return pow(other, self)

    def __matmul__(self, other: Operand) -> Tracer:
        from .linear import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tracer:
        from .linear import matmul

        return matmul(other, self)

    def __neg__(self) -> Tracer:
        return unary("neg", self)

    def __pos__(self) -> Tracer:
        return Tracer(self.builder, self.node)

    def __abs__(self) -> Tracer:
        return unary("abs", self)

    # -- bits and comparisons --

    def __invert__(self) -> Tracer:
        return unary("not", self)

    def __and__(self, other: Operand) -> Tracer:
        return binary("and", self, other)

    def __rand__(self, other: Operand) -> Tracer:
        return binary("and", other, self)

    def __or__(self, other: Operand) -> Tracer:
        return binary("or", self, other)

    def __ror__(self, other: Operand) -> Tracer:
        return binary("or", other, self)

    def __xor__(self, other: Operand) -> Tracer:
        return binary("xor", self, other)

    def __rxor__(self, other: Operand) -> Tracer:
        return binary("xor", other, self)

    def __lshift__(self, other: Operand) -> Tracer:
        return binary("shl", self, other)

    def __rlshift__(self, other: Operand) -> Tracer:
        return binary("shl", other, self)

    def __rshift__(self, other: Operand) -> Tracer:
        return binary("shr", self, other)

    def __rrshift__(self, other: Operand) -> Tracer:
        return binary("shr", other, self)

    def __lt__(self, other: Operand) -> Tracer:
        return binary("lt", self, other)

    def __le__(self, other: Operand) -> Tracer:
        return binary("le", self, other)

    def __gt__(self, other: Operand) -> Tracer:
        return binary("lt", other, self)

    def __ge__(self, other: Operand) -> Tracer:
        return binary("le", other, self)

    def __eq__(self, other: Operand) -> Tracer:  # type: ignore[override]
        return binary("eq", self, other)

    def __ne__(self, other: Operand) -> Tracer:  # type: ignore[override]
        return binary("ne", self, other)

    __hash__ = object.__hash__

    # -- the methods that NumPy arrays have as well --

    @property
    def T(self) -> Tracer:
        from .manipulation import permute_dims

        return permute_dims(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Tracer:
        from .linear import matrix_transpose

        return matrix_transpose(self)

    def reshape(self, *shape: Any) -> Tracer:
        from .manipulation import reshape

        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype: Any) -> Tracer:
        return astype(self, dtype)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        from .statistical import sum

        return sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        from .statistical import mean

        return mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        from .statistical import max

        return max(self, axis=axis, keepdims=keepdims)


# ---- from Python values to nodes -----------------------------------------------------


def wrap(node: int) -> Tracer:
    return Tracer(current(), node)


def refuse_mask(x: Any) -> None:
    if isinstance(x, np.ma.MaskedArray):
        raise TraceError("a masked array would lose its mask: pass x.filled(value), or "
                         "x.data and x.mask as two arrays")  # fmt: skip


def plain(value: Any) -> Array:
    """A NumPy value as an array of no subclass, in the machine's byte order."""
    if type(value) is np.ndarray and value.dtype.isnative:
        return value
    refuse_mask(value)
    array: Array = np.asarray(value)
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def lift(value: Any, dtype: DType | None = None) -> Tracer:
    """A tracer for any operand; `dtype` is what a Python scalar becomes."""
    builder = current()
    if isinstance(value, Tracer):
        if value.builder is not builder:
            raise TraceError(f"{value} belongs to another trace: return it from there "
                             "and hand it to this one as an argument")  # fmt: skip
        return value
    if isinstance(value, bool | int | float):
        return wrap(builder.const(value, dtype or default_dtype(value)))
    if isinstance(value, np.ndarray | np.generic):
        array = plain(value)
        if array.ndim == 0:
            return wrap(builder.const(array.item(), as_dtype(array.dtype)))
        return wrap(builder.array(array))
    raise TraceError(f"an array or a number was expected, found {type(value).__name__}")


def promote(*operands: Any) -> list[Tracer]:
    """The operands as arrays of one dtype; Python scalars adopt that of the arrays."""
    arrays = {
        i: lift(x) for i, x in enumerate(operands) if not isinstance(x, int | float)
    }
    if not arrays:
        return _promote_scalars(operands)
    common: DType | None = None
    for x in arrays.values():
        common = x.dtype if common is None else promoted(common, x.dtype)
    assert common is not None
    for x in operands:
        if isinstance(x, int | float) and not adopts(common, x):
            raise TypeError(
                f"{x!r} cannot become {common}: convert the array with xp.astype(x, ..)"
            )
    return [
        astype(arrays[i], common) if i in arrays else lift(x, common)
        for i, x in enumerate(operands)
    ]


def _promote_scalars(values: Sequence[Any]) -> list[Tracer]:
    widest = max(values, key=lambda v: (isinstance(v, float), not isinstance(v, bool)))
    return [lift(v, default_dtype(widest)) for v in values]


def broadcast(*operands: Tracer) -> list[Tracer]:
    builder = current()
    try:
        return [wrap(n) for n in builder.broadcast(*(x.node for x in operands))]
    except ValueError:
        shown = " and ".join(str(x.type) for x in operands)
        raise TraceError(f"{shown} do not broadcast together") from None


def astype(x: Operand, dtype: Any) -> Tracer:
    """`x` converted to `dtype`; floats become integers by truncation."""
    x = lift(x)
    return wrap(x.builder.cast(x.node, as_dtype(dtype)))


def unary(op: str, x: Operand) -> Tracer:
    x = lift(x)
    return wrap(x.builder.un(op, x.node))


def binary(op: str, a: Operand, b: Operand) -> Tracer:
    left, right = broadcast(*promote(a, b))
    if op == "div" and not left.dtype.is_float:
        raise TypeError(f"division of {left.dtype}: use // or xp.astype(x, xp.float32)")
    return wrap(left.builder.bin(op, left.node, right.node))


def select(c: Tracer, a: Tracer, b: Tracer) -> Tracer:
    c, a, b = broadcast(c, a, b)
    return wrap(c.builder.select(c.node, a.node, b.node))


def named(x: Tracer, name: str) -> Tracer:
    """Gives the node behind `x` the name by which reports speak of it.

    Inputs keep the name of their argument.
    """
    nodes = x.builder.nodes
    if nodes[x.node].op != "input":
        nodes[x.node] = replace(nodes[x.node], name=name)
    return x
