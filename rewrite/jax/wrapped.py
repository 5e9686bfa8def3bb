"""`jit`: traced as `jax.jit` traces, optimized, traced again by whatever is around."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from rewrite.core.options import Asked, Options

from .library import Jaxpr, altered, core, jax
from .program import Made, optimize
from .writing import weak

OPTIONS = ("precision", "rules", "effort", "fallback")


@overload
def jit(f: Callable[..., Any], **keywords: Any) -> Any: ...
@overload
def jit(**keywords: Any) -> Callable[[Callable[..., Any]], Any]: ...
def jit(f: Callable[..., Any] | None = None, **keywords: Any) -> Any:
    """`jax.jit` of a function that computes the same, cheaper where that is clear.

    `precision`, `rules`, `effort` and `fallback` are as for `rewrite.jit`; all other
    keywords (`static_argnums`, `donate_argnums`, …) are those of `jax.jit`.  What it
    returns may be differentiated, batched and compiled as what `jax.jit` returns:
    derivatives are those of `f`, its own rules included.
    """
    if f is None:
        return functools.partial(jit, **keywords)
    options = asked(keywords)

    @functools.wraps(f)
    def optimized(*args: Any, **named: Any) -> Any:
        made, leaves, tree = traced(f, args, named, options)
        return jax.tree.unflatten(tree, call(made, leaves))

    return jax.jit(optimized, **keywords)


def asked(keywords: dict[str, Any]) -> Options:
    """Our own options, taken out of `keywords`."""
    own: Asked = {k: keywords.pop(k) for k in OPTIONS if k in keywords}  # pyright: ignore[reportAssignmentType]
    return Options.of(**own)


def traced(
    f: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], options: Options
) -> tuple[Made, list[Any], Any]:
    """The function for these arguments, optimized; the arrays among them; its tree."""
    leaves, tree = jax.tree.flatten((tuple(args), named))
    arrays = [i for i, x in enumerate(leaves) if is_array(x)]
    results: list[Any] = []

    def flat(*given: Any) -> Any:
        every = list(leaves)
        for i, x in zip(arrays, given, strict=True):
            every[i] = x
        a, n = jax.tree.unflatten(tree, every)
        out, shape = jax.tree.flatten(f(*a, **n))
        results.append(shape)
        return out

    given = [leaves[i] for i in arrays]
    jaxpr = jax.make_jaxpr(flat)(*map(_spec, given))
    return optimize(jaxpr, options), given, results[-1]


def is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _spec(x: Any) -> Any:
    aval = jax.typeof(x)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak(aval))


def call(made: Made, args: Sequence[Any]) -> Any:
    """The jaxpr run on arrays or tracers.

    A derivative that is not that of what is computed (`custom_jvp`, `stop_gradient`)
    cannot be read off the optimized jaxpr: then it is taken of the jaxpr as it was.
    """
    new = core.jaxpr_as_fun(made.after)
    if not made.changed or not altered(made.before):
        return new(*args)
    return _with_derivative(made.before, new)(*args)


def _with_derivative(before: Jaxpr, new: Callable[..., Any]) -> Callable[..., Any]:
    old = core.jaxpr_as_fun(before)

    @jax.custom_jvp
    def run(*args: Any) -> Any:
        return new(*args)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        zero = jax.custom_derivatives.SymbolicZero
        moving = [i for i, t in enumerate(tangents) if not isinstance(t, zero)]

        def along(*some: Any) -> Any:
            every = list(primals)
            for i, x in zip(moving, some, strict=True):
                every[i] = x
            return old(*every)

        chosen = [primals[i] for i in moving]
        return jax.jvp(along, chosen, [tangents[i] for i in moving])

    run.defjvp(jvp, symbolic_zeros=True)
    return run
