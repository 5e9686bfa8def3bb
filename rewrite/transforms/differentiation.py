"""Derivatives of array code: `grad`, `value_and_grad`, `vjp`, `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..xp.functions.creation import ones, zeros_like
from ..xp.pair import Parts
from ..xp.staging import Staged, arguments, at_once, emit, filled, stage
from ..xp.trace import Leaf, map_tree
from ..xp.tracer import TraceError, Tracer, is_array, is_tracing, lift
from .tape import Tape, linearize, pullback, pushforward
from .transformed import transformed
from .trees import floats, paired, tensors


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Any:
    """The function that gives f's value and its gradient by the arguments `argnums`.

    `f` returns a scalar array; with `has_aux`, a pair of it and whatever else, which
    comes with the value: `((value, aux), gradient)`.  The gradient has the structure
    of the argument (tuples, lists, dicts), and is a tuple where `argnums` is one.
    """

    def law(f: Callable[..., Any], args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
        linear = _Linear.of(f, args, kw, argnums, "grad")
        label = linear.scalar(has_aux)
        one = ones((), dtype=linear.tape.values[label].dtype)
        return linear.value(), linear.back({label: one})

    return transformed(law, f)


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Any:
    """The function that gives the gradient of `f` by the arguments `argnums`.

    As `value_and_grad`, without the value; with `has_aux`, `(gradient, aux)`.
    """

    def law(f: Callable[..., Any], args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
        linear = _Linear.of(f, args, kw, argnums, "grad")
        label = linear.scalar(has_aux)
        slopes = linear.back({label: ones((), dtype=linear.tape.values[label].dtype)})
        return (slopes, linear.value()[1]) if has_aux else slopes

    return transformed(law, f)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """f(*primals) and its derivative along `tangents`, which are like `primals`.

    With `has_aux`, `f` returns a pair, and so does this: what varies, its derivative,
    and whatever else.
    """

    def law(f: Callable[..., Any], args: Sequence[Any], _: Mapping[str, Any]) -> Any:
        values, along = args
        if len(values) != len(along):
            raise TraceError(
                f"jvp: {len(values)} tangents expected, found {len(along)}"
            )
        linear = _Linear.of(f, values, {}, range(len(values)), "jvp")
        tangent = linear.ahead(along, has_aux)
        value = linear.value()
        return (value[0], tangent, value[1]) if has_aux else (value, tangent)

    return transformed(law, f)(tuple(primals), tuple(tangents))


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """f(*primals), and the function from cotangents of that to those of `primals`.

    With `has_aux`, `f` returns a pair of what varies and whatever else, which comes
    third.
    """
    if not is_tracing():
        primals = tuple(map_tree(_kept, primals, ""))
        value = at_once(f)(*primals)

        def pull(cotangent: Any) -> Any:
            return at_once(lambda: vjp(f, *primals, has_aux=has_aux)[1](cotangent))()

        return (value[0], pull, value[1]) if has_aux else (value, pull)
    linear = _Linear.of(f, primals, {}, range(len(primals)), "vjp")

    def back(cotangent: Any) -> Any:
        return linear.back(linear.cotangents(cotangent, has_aux))

    value = linear.value()
    return (value[0], back, value[1]) if has_aux else (value, back)


def stop_gradient(x: Any) -> Any:
    """`x`, a structure of arrays, as a constant to derivatives."""

    def stopped(_: str, leaf: Any) -> Any:
        if not (is_array(leaf) or isinstance(leaf, Tracer)):
            return leaf
        t = lift(leaf)
        return emit("bitcast", (t.dtype,), t) if t.dtype.is_float else t

    return at_once(map_tree)(stopped, x, "")


def _kept(_: str, x: Any) -> Any:
    return np.array(x) if is_array(x) else x


class _Linear:
    """A function linearized at its arguments, in the current trace."""

    def __init__(
        self, staged: Staged, tape: Tape, by: Any, name: str, what: str
    ) -> None:
        """`by` is the structure of what it is differentiated by."""
        self.staged, self.tape, self.by = staged, tape, by
        self.name, self.what = name, what

    @staticmethod
    def of(
        f: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any],
        argnums: int | Sequence[int], what: str,
    ) -> _Linear:  # fmt: skip
        named = arguments(f, args, keywords)
        names = list(named)[: len(args)]
        chosen = [argnums] if isinstance(argnums, int) else list(argnums)
        for i in chosen:
            if not -len(args) <= i < len(args):
                raise TraceError(f"{what}: argument {i} of {len(args)} does not exist: "
                                 "argnums= counts those passed by place")  # fmt: skip
        for i in chosen:
            named[names[i]] = floats(named[names[i]], names[i], what)
        wanted = {k for i in chosen for k in tensors(named[names[i]], names[i])}
        staged = stage(f, named, tuple(keywords))
        given = {k: v for n, x in named.items() for k, v in tensors(x, n).items()}
        tape = linearize(staged.graph, {**given, **staged.around}, wanted)
        by = [map_tree(lambda k, _: Leaf(k), named[names[i]], names[i]) for i in chosen]
        tree = by[0] if isinstance(argnums, int) else tuple(by)
        return _Linear(staged, tape, tree, getattr(f, "__name__", "the function"), what)

    def value(self) -> Any:
        return filled(self.staged.result, self.tape.values)

    def _main(self, has_aux: bool) -> Any:
        """The part of the result that varies."""
        result = self.staged.result
        if not has_aux:
            return result
        if not isinstance(result, tuple) or len(cast(Any, result)) != 2:
            raise TraceError(f"{self.what}: with has_aux, {self.name} returns a pair "
                             "of what is differentiated and what is not")  # fmt: skip
        return cast(Any, result)[0]

    def scalar(self, has_aux: bool) -> str:
        """The label of the one number that `grad` differentiates."""
        leaf = self._main(has_aux)
        if isinstance(leaf, Parts):
            raise TraceError(f"grad: {self.name} returns a complex array, and one real "
                             "number was expected: xp.real or xp.abs of it, or use "
                             "rewrite.vjp")  # fmt: skip
        if not isinstance(leaf, Leaf):
            hint = "" if has_aux else ": with has_aux=True it may return (value, aux)"
            raise TraceError(f"grad: {self.name} returns a {type(leaf).__name__}, and "
                             f"one scalar array was expected{hint}")  # fmt: skip
        t = self.tape.values[leaf.label]
        if t.shape != ():
            raise TraceError(f"grad: {self.name} returns {t.type}, and a scalar was "
                             "expected: reduce it, as by xp.sum, or use rewrite.vjp"
                             )  # fmt: skip
        if not t.dtype.is_float:
            raise TraceError(f"grad: {self.name} returns {t.type}, and only floats "
                             "have a derivative")  # fmt: skip
        return leaf.label

    def back(self, cotangents: Mapping[str, Tracer]) -> Any:
        """Cotangents in the structure of what it is differentiated by."""
        found = pullback(self.tape, cotangents)
        for label in self.tape.inputs:
            if label not in found:
                found[label] = zeros_like(self.primals[label])
        return filled(self.by, found)

    @property
    def primals(self) -> Mapping[str, Tracer]:
        return self.tape.given

    def cotangents(self, tree: Any, has_aux: bool) -> dict[str, Tracer]:
        found: dict[str, Tracer] = {}
        for leaf, t in paired(self._main(has_aux), tree, f"{self.what}: cotangent"):
            if isinstance(leaf, Leaf):
                value = self.tape.values[leaf.label]
                if value.dtype.is_float:
                    found[leaf.label] = self._like(t, value, "cotangent")
        return found

    def ahead(self, tangents: Sequence[Any], has_aux: bool) -> Any:
        """Tangents of the result, in its structure."""
        along: dict[str, Tracer] = {}
        for leaf, t in paired(self.by, tuple(tangents), f"{self.what}: tangent"):
            along[leaf.label] = self._like(t, self.primals[leaf.label], "tangent")
        found = pushforward(self.tape, along)

        def tangent(_: str, leaf: Any) -> Any:
            if not isinstance(leaf, Leaf):
                return leaf
            value = self.tape.values[leaf.label]
            return found[leaf.label] if leaf.label in found else zeros_like(value)

        return map_tree(tangent, self._main(has_aux), "")

    def _like(self, t: Any, value: Tracer, what: str) -> Tracer:
        made = lift(t, value.dtype)
        if made.type != value.type:
            raise TraceError(f"{self.what}: a {what} of {value.type} was expected, "
                             f"found {made.type}")  # fmt: skip
        return made


__all__ = ["grad", "jvp", "stop_gradient", "value_and_grad", "vjp"]
