"""`rewrite.jax.jit` computes what `jax.jit` does, and transforms go on around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

import rewrite.jax as ours  # noqa: E402
from bench.models import jax_programs as programs  # noqa: E402
from rewrite.jax.library import altered, inlined  # noqa: E402

# Errors are errors, and little is tried: a test is not a bench.
ASKED: Any = {"fallback": False, "effort": 1}
PROGRAMS = {**programs.models(True), **programs.arrays(True)}
# They take seconds to optimize; `python -m bench.models.jax_cpu` compares them as well.
LONG = {
    "Llama", "Llama, gradients", "attention block, gradients", "a a a x",
    "x (w + a b), gradients", "CNN, gradients",
}  # fmt: skip


def agree(got: Any, want: Any, tolerance: float = 2e-5) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (g.dtype, g.shape, g.weak_type) == (w.dtype, w.shape, w.weak_type)
        a, b = np.asarray(g, np.float64), np.asarray(w, np.float64)
        scale = float(np.abs(b).max(initial=0.0)) or 1.0
        assert np.abs(a - b).max(initial=0.0) <= tolerance * scale


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in LONG])
def test_programs_agree(name: str) -> None:
    f, args = PROGRAMS[name]
    agree(ours.jit(f, **ASKED)(*args), jax.jit(f)(*args))


def test_products_are_put_in_order() -> None:
    f, args = PROGRAMS["a a a x"]
    found = ours.explain(f, *args, **ASKED)
    dots = [e for e in found.jaxpr.jaxpr.eqns if e.primitive.name == "dot_general"]
    assert [e.outvars[0].aval.shape for e in dots] == [(24,)] * 3
    assert found.rules and "predicted" in str(found)


def test_what_gains_nothing_stays() -> None:
    def f(x: Any, key: Any) -> Any:
        return jnp.tanh(x) * jax.random.uniform(key, x.shape)

    found = ours.explain(f, programs.Draw()(8, 8), jax.random.key(0), **ASKED)
    assert not found.made.changed and found.jaxpr is found.made.before
    assert any(name.startswith("random") for name, _ in found.stayed)


def test_bodies_of_loops_are_optimized() -> None:
    def f(a: Any, xs: Any) -> Any:
        def turn(c: Any, x: Any) -> Any:
            return jnp.tanh(a @ a @ (c + x)), c.sum()

        return jax.lax.scan(turn, xs[0], xs, reverse=True)

    d = programs.Draw()
    args = (d(64, 64), d(5, 64))
    found = ours.explain(f, *args, **ASKED)
    (loop,) = [e for e in found.jaxpr.jaxpr.eqns if e.primitive.name == "scan"]
    shapes = [e.outvars[0].aval.shape for e in loop.params["jaxpr"].eqns
              if e.primitive.name == "dot_general"]  # fmt: skip
    assert shapes == [(64,), (64,)]
    agree(ours.jit(f, **ASKED)(*args), jax.jit(f)(*args))
    agree(jax.grad(lambda *x: ours.jit(f, **ASKED)(*x)[0].sum())(*args),
          jax.grad(lambda *x: f(*x)[0].sum())(*args))  # fmt: skip


def through(a: Any, x: Any) -> Any:
    """Its derivative is not that of what it computes."""
    y = a @ a @ x
    kept = y + jax.lax.stop_gradient(jnp.round(y) - y)
    return jnp.sum(jax.nn.relu(kept) * x)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("f", (through, lambda a, x: jnp.sum(jnp.sin(a @ a @ x))))
def test_transforms_go_on_around_it(f: Any) -> None:
    d = programs.Draw()
    a, x = d(24, 24), d(24)
    fast = ours.jit(f, **ASKED)
    assert ours.explain(f, a, x, **ASKED).made.changed
    agree(jax.jit(jax.grad(fast, (0, 1)))(a, x), jax.grad(f, (0, 1))(a, x))
    agree(jax.jvp(fast, (a, x), (a, x)), jax.jvp(f, (a, x), (a, x)))
    many = jax.vmap(fast, (None, 0))(a, a), jax.vmap(f, (None, 0))(a, a)
    agree(*many)
    second = [jax.hessian(g, 1)(a, x) for g in (fast, f)]
    agree(*second)


def test_a_derivative_that_somebody_wrote_is_kept() -> None:
    @jax.custom_vjp
    def f(a: Any, x: Any) -> Any:
        return a @ a @ x

    f.defvjp(lambda a, x: (f(a, x), x), lambda x, g: (jnp.ones((24, 24), "f4"), 3 * g))
    d = programs.Draw()
    a, x = d(24, 24), d(24)
    slopes = jax.grad(lambda *v: ours.jit(f, **ASKED)(*v).sum(), (0, 1))(a, x)
    agree(slopes, (jnp.ones((24, 24), "f4"), jnp.full(24, 3.0, "f4")))
    assert altered(jax.make_jaxpr(f)(a, x))


def test_arguments_are_those_of_jit() -> None:
    def f(tree: dict[str, Any], power: int, *, scale: float) -> dict[str, Any]:
        return {"y": tree["a"] @ tree["x"] ** power * scale, "n": [1]}

    d = programs.Draw()
    tree = {"a": d(24, 24), "x": d(24)}
    fast = ours.jit(f, static_argnums=1, static_argnames="scale", **ASKED)
    agree(fast(tree, 2, scale=0.5), jax.jit(f, static_argnums=1)(tree, 2, scale=0.5))
    assert fast(tree, 3, scale=2.0)["y"].shape == (24,)
    given = jnp.asarray(d(24))
    ours.jit(lambda x: x + 1, donate_argnums=0)(given)
    assert given.is_deleted()


def test_types_are_those_of_jax() -> None:
    def f(x: Any, n: Any) -> Any:
        wide = x.astype(jnp.bfloat16) @ x.T.astype(jnp.bfloat16)
        whole = jnp.arange(5) // 2 + n
        return wide, whole, 2 * n, jnp.asarray(1.5), x > 0, jnp.float16(3) * x[0]

    x = programs.Draw()(4, 4)
    agree(ours.jit(f, **ASKED)(x, 3), jax.jit(f)(x, 3), 1e-2)
    with jax.enable_x64(True):
        agree(ours.jit(f, **ASKED)(x, 3), jax.jit(f)(x, 3), 1e-2)


def test_primitives_are_read_as_what_they_compute() -> None:
    def f(x: Any, y: Any) -> Any:
        return (
            x[::-1, 1:4:2], jnp.split(x, 2, 1), jnp.pad(x, 1, constant_values=2.0),
            jnp.cumsum(x, 1), jax.lax.cummax(x, reverse=True), jnp.argmax(x, 0),
            jnp.clip(x, -0.5, 0.5), x**3, jnp.abs(x) ** -2, jnp.abs(x) ** y,
            jnp.einsum("ij,kj->ki", x, y), jnp.einsum("ij,ij->j", x, y),
            jnp.concatenate([x, y]), jnp.where(x > y, x, y), jnp.any(x > 1, 0),
            jax.nn.logsumexp(x, 1), jnp.isfinite(x), jnp.round(x), jnp.var(x, 1),
            jax.lax.rem(x, y), jnp.sort(x), jnp.prod(x, 0), jax.nn.one_hot([1], 3),
        )  # fmt: skip

    d = programs.Draw()
    x, y = d(4, 6), d(4, 6)
    agree(ours.jit(f, **ASKED)(x, y), jax.jit(f)(x, y))


def test_written_again_they_are_the_same() -> None:
    """What is chosen where nothing need gain: every way to write is a right one."""
    from rewrite.core.options import Options
    from rewrite.jax import program

    for name in ("CNN, gradients", "LSTM scan", "dropout"):
        f, args = PROGRAMS[name]
        jaxpr, shape = jax.make_jaxpr(f, return_shape=True)(*args)
        for made in program.rewritten(jaxpr, Options(effort=0, fallback=False)):
            got = jax.jit(jax.extend.core.jaxpr_as_fun(made))(*jax.tree.leaves(args))
            tree = jax.tree.structure(shape)
            agree(jax.tree.unflatten(tree, got), jax.jit(f)(*args))


def test_effects_and_devices_stay() -> None:
    def f(a: Any, x: Any) -> Any:
        jax.debug.print("{}", x[0], ordered=True)
        return a @ a @ x

    d = programs.Draw()
    assert not ours.explain(f, d(24, 24), d(24), **ASKED).made.changed
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    placed = jax.jit(lambda x: x + 1, in_shardings=here)
    (eqn,) = jax.make_jaxpr(placed)(d(3)).eqns
    assert inlined(eqn) is None


def test_an_error_of_ours_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewrite.jax import program

    def broken(*_: Any) -> Any:
        raise RuntimeError("no e-graph today")

    monkeypatch.setattr(program, "read", broken)
    with pytest.warns(RuntimeWarning, match="no e-graph today"):
        assert ours.jit(lambda x: x * 2)(np.ones(3))[0] == 2
    with pytest.raises(RuntimeError, match="no e-graph today"):
        ours.jit(lambda x: x * 2, fallback=False)(np.ones(3))


def test_the_page_runs() -> None:
    """The example of docs/jax.md, as it is printed there."""
    page = Path(__file__).parents[2] / "docs" / "jax.md"
    blocks = re.findall(r"```(?:python|text)\n(.*?)```", page.read_text("utf-8"), re.S)
    code, shown = blocks[:2]
    scope: dict[str, Any] = {}
    exec(code, scope)
    found = ours.explain(scope["adapted"], *scope["args"])
    assert shown.splitlines()[:2] == str(found).splitlines()[:2]
