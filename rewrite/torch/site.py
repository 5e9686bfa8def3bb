"""One node of a traced model, as the code that reads its operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import Dim, Poly
from rewrite.egraph.ir.dtypes import BOOL, I64, DType
from rewrite.xp.tracer import Tracer, astype, current, is_scalar, lift, wrap

from .arrays import DTYPES
from .library import FxNode, torch
from .orders import OrderedBuilder
from .sizes import Sizes

type Reader = Callable[..., Any]

READERS: dict[str, Reader] = {}


class Unread(Exception):
    """Why a node is not read; eager PyTorch runs it."""


def op(*names: str) -> Callable[[Reader], Reader]:
    """Registers the reader of operators of ATen, called as they are: `f(site, ...)`."""

    def register(reader: Reader) -> Reader:
        for name in names:
            whole = name.startswith(("prims.", "transformers."))
            READERS[name if whole else f"aten.{name}"] = reader
        return reader

    return register


@dataclass(slots=True)
class Site:
    """What a reader may ask of its node besides the operands."""

    node: FxNode
    sizes: Sizes

    def value(self, which: int | None = None) -> Any:
        found = self.node.meta["val"]
        return found if which is None else found[which]

    @property
    def dtype(self) -> DType:
        return dtype_of(self.value())

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.sizes.shape(self.value().shape)

    def wants(self, which: int) -> bool:
        """Whether anybody takes this one of several results."""
        return any(
            getattr(user.target, "__name__", "") != "getitem" or user.args[1] == which
            for user in self.node.users
        )

    @property
    def overwrites(self) -> bool:
        """Whether the result is stored onto an input of the model."""
        return any(str(user.target) == COPY for user in self.node.users)

    def own(self, *operands: Any) -> list[Tracer]:
        """Operands in the dtype of the result."""
        return [in_dtype(x, self.dtype) for x in operands]

    def meet(self, *operands: Any) -> list[Tracer]:
        """Two operands in the dtype in which PyTorch lets them meet."""
        raw = [_meta(a) for a in self.node.args[: len(operands)]]
        common = DTYPES[torch.result_type(*raw)]
        return [in_dtype(x, common) for x in operands]


SCATTERED = "aten.as_strided_scatter.default"
COPY = "aten.copy_.default"


def base_of(node: FxNode) -> FxNode:
    """The first tensor on whose memory a node's lies, through views of its dtype."""
    key, dtype = storage_of(node), node.meta["val"].dtype
    while node.op == "call_function" and node.args:
        source = node.args[0]
        if not isinstance(source, torch.fx.Node):
            break
        value = source.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype != dtype:
            break
        if storage_of(source) != key:
            break
        node = source
    return node


def shown_by(node: FxNode) -> FxNode | None:
    """The input that holds what the node makes when the model is done: the memory of
    inputs that overlap, which is one tensor here, with what was written to it."""
    if str(node.target) != SCATTERED:
        return None
    for u in node.users:
        if str(u.target) == COPY and u.args[1] is node:
            place = u.args[0]
            here, there = node.meta["val"], place.meta["val"]
            same = here.shape == there.shape and here.stride() == there.stride()
            return place if same and place.op == "placeholder" else None
    return None


def is_written(place: FxNode) -> bool:
    """Whether an input holds something else when the model is done."""
    return any(str(u.target) == COPY and u.args[0] is place for u in place.users)


def storage_of(node: FxNode) -> int:
    value = node.meta["val"]
    strided = value.layout is torch.strided
    return value.untyped_storage()._cdata if strided else id(value)


def dtype_of(value: Any) -> DType:
    if value.dtype not in DTYPES:
        raise Unread(
            f"{str(value.dtype).removeprefix('torch.')} is no dtype of a graph"
        )
    return DTYPES[value.dtype]


def _meta(arg: Any) -> Any:
    value = arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg
    return 1 if isinstance(value, torch.SymInt) else value


@dataclass(frozen=True, slots=True)
class Strided:
    """Memory of an input of the model, wherever it is at a call, by strides."""

    name: str  # of the input
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    moves: bool  # whether the offset is from where the input begins, not its memory

    def of(self, tensor: Any) -> Any:
        first = self.offset + (tensor.storage_offset() if self.moves else 0)
        return tensor.as_strided(self.shape, self.strides, first)


class PartBuilder(OrderedBuilder):
    """A builder that knows the sizes that the graph takes as numbers, and the views
    that it takes beside the tensors they are of."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.numbers: dict[Poly, Tracer] = {}
        self.views: dict[Strided, Tracer] = {}


def number(size: Poly) -> Tracer:
    """A symbolic size as an operand: an input, for it may be no size of a tensor."""
    builder = current()
    assert isinstance(builder, PartBuilder)
    if size not in builder.numbers:
        label = f"number{len(builder.numbers)}"
        builder.numbers[size] = wrap(builder.input(label, I64, ()))
    return builder.numbers[size]


def strided(view: Strided, dtype: DType) -> Tracer:
    """A view as an operand: an input, for it may show more than the tensor does."""
    builder = current()
    assert isinstance(builder, PartBuilder)
    if view not in builder.views:
        label = f"view{len(builder.views)}"
        builder.views[view] = wrap(builder.input(label, dtype, view.shape))
    return builder.views[view]


def in_dtype(x: Any, dtype: DType) -> Tracer:
    if isinstance(x, Poly):
        return astype(number(x), dtype)
    if is_scalar(x):
        return lift(_fitting(x, dtype), dtype)
    return astype(lift(x), dtype)


def stored(x: Any, dtype: DType) -> Tracer:
    """A number as it is written into a tensor: cut off, and wrapped around."""
    if not is_scalar(x) or not dtype.is_int:
        return in_dtype(x, dtype)
    low, span = int(np.iinfo(dtype.numpy).min), 1 << dtype.bits
    return in_dtype((int(x) - low) % span + low, dtype)


def _fitting(x: Any, dtype: DType) -> Any:
    if dtype is BOOL:
        return bool(x)
    if not dtype.is_int or not isinstance(x, float):
        return x
    if not x.is_integer():
        raise Unread(f"the number {x} among integers")
    return int(x)


def axis(dim: int, rank: int) -> int:
    """PyTorch counts an axis from either end; a tensor of rank 0 has one."""
    return dim % max(rank, 1)


def axes(dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
    """The axes named; all where none is."""
    if not rank:
        return ()
    chosen = [dims] if isinstance(dims, int) else list(dims or ())
    return tuple(sorted(axis(d, rank) for d in chosen)) or tuple(range(rank))


def fixed(*values: Dim) -> list[int]:
    """Sizes that a reader must know."""
    for v in values:
        if not isinstance(v, int):
            raise Unread(f"the size {v} must be known")
    return [int(v) for v in values]  # pyright: ignore[reportArgumentType]
