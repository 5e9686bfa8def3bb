"""The builder of a graph that is traced: constants copied, arrays updated in place.

Updating an array gives its tracer a new node.  In NumPy its views would show the
change; tracers of views do not, so using one of them after the change is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Builder, Const
from rewrite.egraph.ir.ops import Attrs
from rewrite.egraph.ir.scalars import Array

from .constants import is_constant
from .pair import tracers_in
from .tracer import Scope, TraceError, Tracer, current, is_tracing
from .weak import Number

_VIEWS = frozenset({"slice", "reshape", "permute", "expand", "window"})


class TraceBuilder(Scope):
    """A builder that knows the tracers of its inputs."""

    def __init__(self, name: str = "graph", outer: Builder | None = None) -> None:
        super().__init__(name, outer)
        self.given: dict[str, tuple[Tracer, int]] = {}  # by label: the input's node
        self.numbers: list[tuple[str, Number, DType]] = []
        self._inputs: dict[tuple[int, DType], int] = {}  # of numbers, which live there
        self._seen: dict[int, int] = {}  # a view's node -> what it is a view of
        self._outdated: set[int] = set()
        self._unstored: tuple[Tracer, int, int] | None = None

    def add(
        self, op: str, args: Sequence[int] = (), attrs: Attrs = (), name: str = "",
        share: bool = True,
    ) -> int:  # fmt: skip
        for i in args:
            self.check_current(i)
        node = super().add(op, args, attrs, name, share)
        if op in _VIEWS and self._root(args[0]) not in self._memo.values():
            self._seen[node] = args[0]
        return node

    def array(self, value: Array, label: str = "") -> int:
        """A constant array as it is now."""
        return super().array(value if is_constant(value) else np.array(value), label)

    def const(self, value: Const, dtype: DType, shape: Sequence[Dim] = ()) -> int:
        """A number that comes with each call is an input of the dtype asked for."""
        number: Any = value
        if type(number) is not Number:
            return super().const(value, dtype, shape)
        if self.outer is not None:
            outer = Tracer(self.outer, self.outer.const(value, dtype))
            node = self.receive(outer).node
            return self.expand(self.reshape(node, (1,) * len(shape)), shape)
        key = id(number), dtype
        if key not in self._inputs:
            taken = {n.attrs[0] for n in self.nodes if n.op == "input"}
            tried = (f"{number.name}_{i}" for i in count(2))
            label = next(x for x in chain((number.name,), tried) if x not in taken)
            self._inputs[key] = self.input(label, dtype, ())
            self.numbers.append((label, number, dtype))
        node = self._inputs[key]
        return self.expand(self.reshape(node, (1,) * len(shape)), shape)

    def take(self, label: str, tracer: Tracer) -> None:
        """Says which tracer stands for an input."""
        self.given[label] = tracer, tracer.node

    def updated(self) -> dict[str, Tracer]:
        """The inputs that the function has changed, by label."""
        self._check_stored()
        return {k: t for k, (t, node) in self.given.items() if t.node != node}

    def update(self, x: Tracer, node: int, since: int) -> None:
        """Makes `x` the array of a node, as an assignment in place does; a node that
        was there before node `since` is some other array's."""
        self._check_stored()
        if node < since or node in self._seen or self.nodes[node].op == "input":
            node = self.add("cast", (node,), (x.dtype,))
        old = x.node
        if old not in self._memo.values():
            self._outdated.add(old)
        object.__setattr__(x, "node", node)

    def own(self, x: Tracer, since: int) -> None:
        """Says that `x`, the result of a call that began at node `since`, is no view
        of what was made in the call, since nothing else can show that."""
        if self._root(x.node) >= since:
            self._seen.pop(x.node, None)

    # `x[key] += v` takes a view of x, updates the view, and assigns it to x[key].

    def is_view(self, x: Tracer) -> bool:
        """Whether other arrays may show what changes in this one."""
        if any(t is x for t, _ in self.given.values()):
            return False
        return x.node in self._seen or self.nodes[x.node].op == "input"

    def update_view(self, x: Tracer, node: int) -> Tracer:
        """What a view shall hold, to be assigned next to where it is a view of."""
        self._check_stored()
        made = Tracer(self, node)
        self._unstored = made, x.node, len(self.nodes)
        return made

    def store(self, x: Tracer, key: Any, value: Any) -> None:
        """Before `x[key] = value`: whether that is what a view was updated for."""
        if self._unstored is None or self._unstored[0] is not value:
            return
        _, view, count = self._unstored
        if len(self.nodes) == count and self._path(x[key].node) == self._path(view):
            self._unstored = None

    def _check_stored(self) -> None:
        if self._unstored is not None:
            shown = self._unstored[0].type
            raise TraceError(
                f"{shown} is a view of another array, which would change with it: "
                "assign to that array itself, as in x[1:3] += y, or copy it first, "
                "with x.copy()"
            )

    def _path(self, node: int) -> tuple[Any, ...]:
        """How a view is taken, and of what."""
        if node not in self._seen:
            return (node,)
        own = self.nodes[node]
        return (own.op, own.attrs, *self._path(self._seen[node]))

    def check_current(self, node: int) -> None:
        """TraceError for a view of what has been changed since."""
        if self._outdated and self._root(node) in self._outdated:
            raise TraceError(
                f"{self.type(node)} is a view of an array that was changed in place "
                "since: take the view again after the change, or a copy before it"
            )

    def _root(self, node: int) -> int:
        while node in self._seen:
            node = self._seen[node]
        return node


def apart[**P, R](f: Callable[P, R]) -> Callable[P, R]:
    """`f`; the array that it makes in a trace is no view of arrays that only `f` saw.

    xp.mean ends in a reshape, and xp.zeros in an expand.
    """

    @functools.wraps(f)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        builder = current() if is_tracing() else None
        since = 0 if builder is None else len(builder.nodes)
        result = f(*args, **keywords)
        if isinstance(builder, TraceBuilder):
            for x in tracers_in(result):
                builder.own(x, since)
        return result

    return call


def of_tracer(x: Tracer) -> TraceBuilder:
    """The builder that may change the array in place."""
    if x.builder is not current():
        raise TraceError(f"{x.type} is updated in place by a function that is "
                         "differentiated or mapped, and comes from around it: copy it "
                         "first, with x.copy()")  # fmt: skip
    if not isinstance(x.builder, TraceBuilder):
        raise TraceError("arrays change in place only where a function is traced")
    return x.builder


__all__ = ["TraceBuilder", "apart", "of_tracer"]
