"""Functions that differ in numbers alone are compiled once, and mean what they did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.backends.native import toolchain
from rewrite.backends.native.forms import Unit, form_of, open_text, unit_for
from rewrite.core import runner
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder

HOST = device("c").probe()
pytestmark = pytest.mark.skipif(not HOST.ok, reason=HOST.detail)

TEXT = """\
/* a comment of 12 words */

static void k0_0(
    const i64 i1,
    f32 *restrict b0) {{
  f32 acc2[{room}] __attribute__((aligned(64)));
  #pragma GCC unroll 4
  for (i64 i3 = 0; i3 < {n}; i3++) {{
    b0[i3] = {x}f * (f32)((u32)i3 % {u}u) + (f32)(i64){wide};
  }}
}}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {{
  f32 *b0 = rw_b[0];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {{
    const i64 i1 = rw_i;
    k0_0(i1, b0);
  }}
}}

void k_k0(void *const *rw_b) {{
  k0_0_span(rw_b, 0, {n});
}}
"""


def text(n: int = 40, room: int = 33, x: float = 0.5, u: int = 7, wide: int = 9) -> str:
    return TEXT.format(n=n, room=room, x=x, u=u, wide=wide)


def test_a_form_is_all_but_the_numbers() -> None:
    a, b = form_of(text()), form_of(text(n=57, room=60, x=1e-05, u=9))
    assert a.text == b.text
    assert [x for x, y in zip(a.numbers, b.numbers, strict=True) if x != y] == [
        "33", "40", "0.5f", "7u", "40"
    ]  # fmt: skip
    assert not Unit(a).fits(b)
    unit = unit_for(b, [Unit(a)])
    assert unit.fits(a) and unit.fits(b) and not unit.fits(form_of(text(wide=8)))
    values = unit.values(form_of(text(n=3, x=0.25)))
    assert values is not None
    assert values[[0, 2, 3]].tolist() == [3, 7, 3] and values.view("f8")[1] == 0.25


@pytest.mark.parametrize(
    "changed", [{"room": 65}, {"wide": 1 << 40}, {"u": 1 << 33}], ids=str
)
def test_types_and_large_arrays_are_of_the_form(changed: dict[str, Any]) -> None:
    assert form_of(text(**changed)).text != form_of(text()).text


def test_open_numbers_are_read_from_before_the_buffers() -> None:
    made = open_text(text(n=57), unit_for(form_of(text(n=57)), [Unit(form_of(text()))]))
    assert "static void k0_0(const i64 *restrict rw_n, const i64 i1" in made
    assert "k0_0(rw_n, i1, b0);" in made and made.count("rw_b[-1]") == 2
    assert "57" not in made and "unroll 4" in made and "acc2[33]" in made


# ---- programs ------------------------------------------------------------------------


def normal(*shape: int, dtype: str = "f4") -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def normed(x: Any) -> Any:
    return (x - xp.mean(x, axis=-1, keepdims=True)) / (1 + xp.std(x))


def product(x: Any, y: Any) -> Any:
    return xp.maximum(x @ y, 0) + xp.sum(y, axis=0)


def attention(q: Any, k: Any) -> Any:
    s = q @ xp.matrix_transpose(k)
    s = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
    return (s / xp.sum(s, axis=-1, keepdims=True)) @ k


def counts(x: Any) -> Any:
    return xp.cumulative_sum(x, axis=0) + xp.sum(xp.concat([x, x * x], axis=0))


CASES: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "rows": (normed, lambda n: (normal(n, 300),)),
    "columns": (normed, lambda n: (normal(40, n),)),
    "halves": (normed, lambda n: (normal(n, 64, dtype="f2"),)),
    "product": (product, lambda n: (normal(n, 65), normal(65, 33))),
    "inner": (product, lambda n: (normal(30, n), normal(n, 33))),
    "attention": (attention, lambda n: (normal(2, n, 16), normal(2, n, 16))),
    "whole": (counts, lambda n: (normal(n, 5, dtype="f8").astype("i8"),)),
}
SIZES = (5, 9, 17, 40, 57, 300, 64, 41, 1025, 256, 63, 40, 900)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", CASES)
def test_programs_are_right_at_each_size(name: str) -> None:
    f, arguments = CASES[name]
    fast = rw.jit(f, device="c")
    for n in SIZES:
        args = arguments(n)
        want = np.asarray(f(*(a.astype("f8") for a in args)))
        tolerance = 1e-2 if args[0].dtype == "f2" else 1e-4
        got = np.asarray(fast(*args)).astype("f8")
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 10)
    assert fast.graph.symbols


def test_a_new_number_of_rows_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = list[int]()
    compile_ = toolchain._compile  # pyright: ignore[reportPrivateUsage]

    def counted(*args: Any, **kwargs: Any) -> bytes:
        made.append(1)
        return compile_(*args, **kwargs)

    monkeypatch.setattr(toolchain, "_compile", counted)
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    fast = rw.jit(lambda x: x - xp.mean(x, axis=-1, keepdims=True), device="c")
    for n in (600, 701, 802, 903, 1004):
        fast(normal(n, 311))
    before = len(made)
    for n in (700, 711, 811, 999):
        fast(normal(n, 311))
    assert before > 0 and len(made) == before


def test_programs_of_one_code_do_not_meet() -> None:
    fast = rw.jit(normed, device="c")
    inputs = [normal(n, 300) for n in (300, 301, 402, 503, 604, 505)]
    for x in inputs:  # the first before sizes are symbols: they may round otherwise
        near = (x - np.mean(x, axis=-1, keepdims=True)) / (1 + np.std(x))
        np.testing.assert_allclose(fast(x), near, rtol=1e-5, atol=1e-6)
    want = [fast(x).copy() for x in inputs]
    for _ in range(3):
        for x, y in zip(reversed(inputs), reversed(want), strict=True):
            np.testing.assert_array_equal(fast(x), y)


def test_only_the_latest_sizes_keep_their_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "MOST", 4)
    fast = rw.optimize(normed, xp.TensorType(xp.float32, (xp.symbol("n"), 8)))
    for size in range(2, 12):
        fast(normal(size, 8))
    assert len(fast.compiled.sizes) == 4


def test_only_the_latest_shapes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MOST", 4)
    b = Builder()
    x = b.input("x", F32, (symbol("n"), 8))
    made = runner.Runner(b.build([b.un("neg", x)]), lambda sizes, others: None)
    for size in (*range(2, 12), 2, 11):
        x = normal(size, 8)
        (got,) = made({"x": x}).values()
        np.testing.assert_array_equal(got, -x)
    assert len(made._sizes) == 4  # pyright: ignore[reportPrivateUsage]
