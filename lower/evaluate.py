"""Expressions of the loop IR as closures over an environment of names."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..egraph.ir.dtypes import BOOL, DType, compute
from ..egraph.ir.scalars import BY_NAME
from .loops import Ex, Lit, Load, Op, Var

type Env = dict[str, Any]
type Value = Callable[[Env], Any]

UNTYPED: Any = operator  # some of it has no types
PLAIN: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "lt": operator.lt,
    "le": operator.le, "eq": operator.eq, "ne": operator.ne, "and": UNTYPED.and_,
    "or": UNTYPED.or_,
}  # fmt: skip


class Trap(RuntimeError):
    """A function that does what the loop IR forbids."""


def outside(env: Env, name: str, at: int) -> Trap:
    return Trap(f"{name}[{at}] of {len(env[name])} elements")


class Values:
    """What statements compute."""

    def place(self, name: str, index: Ex, lanes: int) -> Callable[[Env], Any]:
        at = self.ex(index)

        def place(env: Env) -> Any:
            i = int(at(env))
            if not 0 <= i <= len(env[name]) - lanes:
                raise outside(env, name, i)
            return i

        def places(env: Env) -> Any:
            i = place(env)
            return slice(i, i + lanes)

        return places if lanes > 1 else place

    def load(self, x: Load) -> Value:
        array, to = x.array, x.dtype.numpy
        place = self.place(array, x.index, x.lanes)

        def load(env: Env) -> Any:
            held = env[array]
            found = held[place(env)]
            return found if held.dtype is to else found.astype(to)

        def lanes(env: Env) -> Any:
            return env[array][place(env)].astype(to)  # a copy, whatever is stored next

        return lanes if x.lanes > 1 else load

    # ---- expressions ----

    def ex(self, x: Ex) -> Value:
        match x:
            case Lit(value, dtype):
                number = dtype.numpy.type(value)
                return lambda env: number
            case Var(name):
                return operator.itemgetter(name)
            case Load():
                return self.load(x)
            case Op():
                return self.op(x, [self.ex(a) for a in x.args])

    def op(self, x: Op, args: list[Value]) -> Value:
        if x.op in PLAIN:
            return self.plain(PLAIN[x.op], *x.args)
        special = getattr(self, f"_{x.op}", None)
        if special is not None:
            return special(x, *args)
        f = BY_NAME[x.op].numpy
        want = BOOL.numpy if BY_NAME[x.op].gives_bool else x.dtype.numpy

        def apply(env: Env) -> Any:
            out = f(*(a(env) for a in args))
            if out.dtype != want:
                raise Trap(f"{x.op} gave {out.dtype}, {want} expected")
            return out[()]

        return apply

    def plain(self, f: Callable[..., Any], left: Ex, right: Ex) -> Value:
        """Names and numbers are taken as they are: most of what runs is indices."""
        a, b = self.ex(left), self.ex(right)
        match left, right:
            case Var(n), Var(m):
                return lambda env: f(env[n], env[m])
            case Var(n), Lit():
                number = b({})
                return lambda env: f(env[n], number)
            case _, Lit():
                number = b({})
                return lambda env: f(a(env), number)
            case _, Var(m):
                return lambda env: f(a(env), env[m])
            case _:
                return lambda env: f(a(env), b(env))

    def _select(self, x: Op, test: Value, a: Value, b: Value) -> Value:
        """Both sides are evaluated, as a device may: both must be safe."""

        def select(env: Env) -> Any:
            yes, no = a(env), b(env)
            return yes if test(env) else no

        def lanes(env: Env) -> Any:
            return cast(Any, np.where(test(env), a(env), b(env)))

        return lanes if x.lanes > 1 else select

    def _cast(self, x: Op, a: Value) -> Value:
        to = x.dtype.numpy
        computed = compute(x.dtype) is x.dtype

        def cast(env: Env) -> Any:
            value = a(env)
            same = computed and value.dtype is to
            return value if same else _rounded(value, x.dtype)

        return cast

    def _bitcast(self, x: Op, a: Value) -> Value:
        source, to = cast(Op, x.args[0]).dtype.numpy, x.dtype.numpy

        def bitcast(env: Env) -> Any:
            bits = np.asarray(a(env)).astype(source).view(to)[()]
            return _rounded(bits, x.dtype)

        return bitcast

    def _splat(self, x: Op, a: Value) -> Value:
        return lambda env: np.full(x.lanes, a(env))

    def _fma(self, x: Op, a: Value, b: Value, c: Value) -> Value:
        to = x.dtype.numpy.type
        if x.dtype.bits > 32 or not x.dtype.is_float:
            return lambda env: a(env) * b(env) + c(env)

        def fma(env: Env) -> Any:  # in Python's numbers, which are f64
            return to(float(a(env)) * float(b(env)) + float(c(env)))

        def lanes(env: Env) -> Any:
            return to(np.multiply(a(env), b(env), dtype=np.float64) + c(env))

        return lanes if x.lanes > 1 else fma

    def _ex2(self, x: Op, a: Value) -> Value:
        return lambda env: np.exp2(a(env))

    def _tanh_approx(self, x: Op, a: Value) -> Value:
        return lambda env: np.tanh(a(env))

    def _idiv(self, x: Op, a: Value, b: Value) -> Value:
        return self._divide(UNTYPED.floordiv, a, b)

    def _imod(self, x: Op, a: Value, b: Value) -> Value:
        return self._divide(operator.mod, a, b)

    def _divide(self, divide: Callable[..., Any], a: Value, b: Value) -> Value:
        def positive(env: Env) -> Any:
            n = a(env)
            if n < 0:
                raise Trap(f"a division of {n}")
            return divide(n, b(env))

        return positive


def _rounded(value: Any, dtype: DType) -> Any:
    """A value as `dtype` holds it, in the type that computes it."""
    return value.astype(dtype.numpy).astype(compute(dtype).numpy)
