"""Calls of core ATen that PyTorch's own samples (`op_db`) come down to.

Each sample runs in eager PyTorch, forwards and, where it can, backwards; operators that
are not core are taken apart as the backend's table does.  Each call of a core operator
is a sample of that operator, so convolutions and gradients, which no entry of `op_db`
names, have samples as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from rewrite.torch.arrays import DTYPES
from rewrite.torch.compiling import decomposition_table

EACH = 2  # calls of one operator and dtype kept of one entry of op_db
TRIED = 24  # samples of one entry and dtype that are run
LARGEST = 1 << 18  # elements of an argument


def core() -> dict[str, list[Any]]:
    """Overloads tagged as core, by the name of their operator."""
    found = dict[str, list[Any]]()
    for name in dir(aten):
        packet = getattr(aten, name)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            overloads = [getattr(packet, o) for o in packet.overloads()]
            tagged = [o for o in overloads if torch.Tag.core in o.tags]
            if tagged:
                found[name] = tagged
    return found


@dataclass(frozen=True)
class Call:
    """An overload, by name, with its arguments."""

    overload: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def function(self) -> Any:
        space, packet, overload = self.overload.split(".")
        return getattr(getattr(getattr(torch.ops, space), packet), overload)

    @property
    def dtype(self) -> Any:
        """That of the widest tensor argument, which is what a sample was drawn in."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        found = [x.dtype for x in leaves if isinstance(x, torch.Tensor)]
        floats = [d for d in found if d.is_floating_point]
        return (floats or found or [self.kwargs.get("dtype") or torch.float32])[0]


def _form(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.dtype, tuple(x.shape), x.stride()
    return repr(x)


def _own(x: Any) -> Any:
    """A tensor with memory of its own, in which it lies as it did."""
    if not isinstance(x, torch.Tensor):
        return x
    made = torch.empty(0, dtype=x.dtype)
    memory = x.untyped_storage().clone()
    return made.set_(memory, x.storage_offset(), x.shape, x.stride())


def owned(call: Call) -> Call:
    """The same call on memory of its own."""
    args, kwargs = pytree.tree_map(_own, (call.args, call.kwargs))
    return Call(call.overload, args, kwargs)


def _is_plain(x: Any) -> bool:
    """Whether an argument has a place in a graph: no complex or sparse tensors."""
    if isinstance(x, torch.dtype):
        return x in DTYPES
    if not isinstance(x, torch.Tensor):
        return not isinstance(x, complex)
    strided = x.layout is torch.strided and not x.is_neg()
    return strided and x.dtype in DTYPES and x.numel() <= LARGEST


def _resized(
    x: Any, size: Any, corners: bool, *by: float | None
) -> tuple[Any, tuple[Any, ...]]:
    named = (None, list(by)) if by and all(by) else (size, None)
    return aten.upsample_bilinear2d.vec, (x, named[0], corners, named[1])


def _repeated(x: Any, size: Any, *by: float | None) -> tuple[Any, tuple[Any, ...]]:
    named = (None, list(by)) if by and all(by) else (size, None)
    return aten.upsample_nearest2d.vec, (x, *named)


aten = torch.ops.aten
# In eager PyTorch these reach a mode only in another overload.
_AS_CORE = {
    aten.upsample_bilinear2d.default: _resized,
    aten.upsample_nearest2d.default: _repeated,
}


@dataclass
class Recorder(TorchDispatchMode):
    """Keeps calls of core operators, of each form one."""

    calls: dict[tuple[str, Any], list[Call]] = field(default_factory=dict)
    seen: set[Any] = field(default_factory=set)
    counts: dict[Any, int] = field(default_factory=dict)
    entry: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.table = decomposition_table()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.core in func.tags:
            self._keep(func, args, kwargs)
            return func(*args, **kwargs)
        if func in _AS_CORE:
            self._keep(*_AS_CORE[func](*args, **kwargs), {})
            return func(*args, **kwargs)
        with self:
            if func in self.table:
                made = self.table[func](*args, **kwargs)
            else:
                made = func.decompose(*args, **kwargs)
        return func(*args, **kwargs) if made is NotImplemented else made

    def _keep(self, func: Any, args: Any, kwargs: Any) -> None:
        """Keeps a call, unless one of its form is kept or its entry has enough."""
        leaves = pytree.tree_leaves((args, kwargs))
        if not all(map(_is_plain, leaves)):
            return
        form = str(func), *map(_form, leaves)
        call = Call(str(func), tuple(args), dict(kwargs))
        where = str(func), call.dtype
        if form in self.seen or self.counts.get((where, self.entry), 0) >= EACH:
            return
        self.seen.add(form)
        self.counts[where, self.entry] = self.counts.get((where, self.entry), 0) + 1
        self.calls.setdefault(where, []).append(owned(call))


def _run(recorder: Recorder, info: Any, sample: Any, backwards: bool) -> None:
    with recorder:
        result = info.op(sample.input, *sample.args, **sample.kwargs)
        if not backwards:
            return
        given = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
        leaves = [t for t in given if isinstance(t, torch.Tensor) and t.requires_grad]
        ends = [t for t in pytree.tree_leaves(result)
                if isinstance(t, torch.Tensor) and t.requires_grad]  # fmt: skip
        if leaves and ends:
            ones = [torch.ones_like(t) for t in ends]
            torch.autograd.grad(ends, leaves, ones, allow_unused=True)


def _samples(info: Any, dtype: Any) -> Iterator[tuple[Any, bool]]:
    if info.supports_dtype(dtype, "cpu"):
        for s in islice(info.sample_inputs("cpu", dtype), TRIED):
            yield s, False
    known = dtype in info.supported_backward_dtypes("cpu") and info.supports_autograd
    if known:
        for s in islice(info.sample_inputs("cpu", dtype, requires_grad=True), TRIED):
            yield s, True


def spread(calls: Sequence[Call], most: int) -> list[Call]:
    """So many calls, evenly from the first to the last."""
    if len(calls) <= most:
        return list(calls)
    return [calls[k * len(calls) // most] for k in range(most)]


def recorded(dtypes: Sequence[Any], most: int, only: str = "") -> dict[str, list[Call]]:
    """At most so many calls of each overload and dtype, by overload."""
    from torch.testing._internal.common_methods_invocations import op_db

    recorder = Recorder()
    for info in op_db:
        if only and only not in info.name:
            continue
        recorder.entry = info.formatted_name
        for dtype in dtypes:
            torch.manual_seed(0)
            _record(recorder, info, dtype)
    found: dict[str, list[Call]] = {}
    for (overload, _), calls in recorder.calls.items():
        found.setdefault(overload, []).extend(spread(calls, most))
    return found


def _record(recorder: Recorder, info: Any, dtype: Any) -> None:
    try:
        for sample, backwards in _samples(info, dtype):
            with suppress(Exception):  # what PyTorch itself refuses is no sample
                _run(recorder, info, sample, backwards)
    except Exception:
        return  # nor are those that it cannot draw
