"""What is optimized once is found again: plans and programs on disk."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite
from rewrite import xp
from rewrite.backends import store
from rewrite.backends.store import Store
from rewrite.cache.frozen import FrozenError, freeze, thaw
from rewrite.core import compiled
from rewrite.core import planning as pipeline
from rewrite.core.compiled import Compiled
from rewrite.core.options import Options
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.text import parse
from rewrite.pipeline import optimize_graph

pytestmark = pytest.mark.plans

ACROSS = ("softmax y mask=[0, 1, 0]", "softmax y mask=[1, 0, 0]")
SOFTMAX = """graph g(x: f32[8, 16], w: f32[4, 16]) {
  a: f32[8, 1, 16] = reshape x
  c: f32[1, 4, 16] = reshape w
  y: f32[8, 4, 1] = contract a c full=[8, 4, 16] mask=[0, 0, 1] acc=f32
  z: f32[8, 4, 1] = softmax y mask=[0, 1, 0]
  return z
}
"""
KEEP = Options(fallback=False, cache=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pipeline, "plans", lambda: Store(tmp_path / "plans"))
    return tmp_path / "plans"


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on nothing is optimized."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("the optimizer ran")

    return lambda: monkeypatch.setattr(pipeline, "plan_all", fail)


def inputs(graph: Graph, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        n.attrs[0]: rng.standard_normal(n.shape).astype(n.dtype.numpy)
        for n in graph.inputs
    }


def same(a: Compiled, b: Compiled) -> None:
    given = inputs(a.source)
    for label, value in a(given).items():
        assert np.array_equal(b(given)[label], value, equal_nan=True)


@pytest.mark.parametrize("device", ["c", "numpy"])
def test_a_plan_is_found_again(device: str, no_engine: Callable[[], None]) -> None:
    first = optimize_graph(parse(SOFTMAX), device, KEEP)
    assert not first.was_kept
    first(inputs(first.source))
    no_engine()
    again = optimize_graph(parse(SOFTMAX), device, KEEP)
    assert again.was_kept
    same(first, again)
    assert again.plan == first.plan
    assert again.kernels() == first.kernels()
    assert again.code() == first.code()


def test_a_kept_program_needs_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    first = optimize_graph(parse(SOFTMAX), "c", KEEP)
    first(inputs(first.source))
    monkeypatch.setattr(compiled, "schedule", None)
    monkeypatch.setattr(compiled, "build", None)
    again = optimize_graph(parse(SOFTMAX), "c", KEEP)
    same(first, again)
    assert again.was_kept


OTHERS: dict[str, tuple[str, Options]] = {
    "size": (SOFTMAX.replace("8", "9"), KEEP),
    "dtype": (SOFTMAX.replace("f32", "f64"), KEEP),
    "name": (SOFTMAX.replace("return z", "return out = z"), KEEP),
    "axis": (SOFTMAX.replace(*ACROSS), KEEP),
    "precision": (SOFTMAX, Options("strict", fallback=False, cache=True)),
    "effort": (SOFTMAX, Options(effort=1, fallback=False, cache=True)),
    "cost": (SOFTMAX, Options(cost="bytes", fallback=False, cache=True)),
    "hints": (SOFTMAX, Options(hints={"b": 3}, fallback=False, cache=True)),
    "memory": (SOFTMAX, Options(memory=1 << 20, fallback=False, cache=True)),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_differs_is_another_plan(what: str) -> None:
    optimize_graph(parse(SOFTMAX), "c", KEEP)
    text, options = OTHERS[what]
    assert not optimize_graph(parse(text), "c", options).was_kept
    assert optimize_graph(parse(text), "c", options).was_kept


def test_a_name_of_a_cost_model_finds_what_its_other_name_kept() -> None:
    optimize_graph(parse(SOFTMAX), "c", KEEP)
    options = Options(cost="predicted", fallback=False, cache=True)
    assert optimize_graph(parse(SOFTMAX), "c", options).was_kept


@pytest.mark.parametrize("cost", ["measured", lambda kernel: 1e-6])
def test_costs_that_may_change_keep_nothing(cost: Any, folder: Path) -> None:
    options = Options(cost=cost, fallback=False, cache=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that nothing was measured
        for _ in range(2):
            assert not optimize_graph(parse(SOFTMAX), "c", options).was_kept
    assert not folder.exists()


def test_a_changed_rule_file_is_another_plan(tmp_path: Path) -> None:
    mine = tmp_path / "mine.egg"
    law = (
        ";; {}: what is added to itself.\n;;@ equal   real\n"
        ';;@ fires   (Bin "add" (Un "neg" x) x) => (Bin "sub" x x)\n'
        '(rewrite (Bin "add" (Un "neg" x) y) (Bin "sub" y x)\n'
        '         :ruleset algebra :name "mine")\n'
    )
    options = Options(rules=(mine,), fallback=False, cache=True)
    for word in ("Before", "After"):
        mine.write_text(law.format(word))
        assert not optimize_graph(parse(SOFTMAX), "c", options).was_kept
        assert optimize_graph(parse(SOFTMAX), "c", options).was_kept


def test_the_key_is_the_same_in_every_process(tmp_path: Path) -> None:
    code = (
        "from rewrite.pipeline import Options, optimize_graph;"
        "from rewrite.egraph.ir.text import parse;"
        f"c = optimize_graph(parse({SOFTMAX!r}), 'c', Options(cache=True));"
        "print(c.was_kept, c.shelf.key, len(c.executable().program.functions))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "REWRITE_CACHE": str(tmp_path)},
        ).stdout.split()
        for seed in ("1", "2")
    ]  # fmt: skip
    assert [kept for kept, *_ in found] == ["False", "True"]
    assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize("spoil", [
    lambda b: b[:-1], lambda b: b"", lambda b: bytes([b[0] ^ 1]) + b[1:],
    lambda b: b[: len(b) // 2] + bytes([b[len(b) // 2] ^ 1]) + b[len(b) // 2 + 1 :],
])  # fmt: skip
def test_a_spoilt_entry_is_none(spoil: Callable[[bytes], bytes], folder: Path) -> None:
    first = optimize_graph(parse(SOFTMAX), "c", KEEP)
    first(inputs(first.source))
    for path in folder.iterdir():
        path.write_bytes(spoil(path.read_bytes()))
    again = optimize_graph(parse(SOFTMAX), "c", KEEP)
    assert not again.was_kept
    same(first, again)


def weighted(value: float) -> Graph:
    b = Builder()
    x = b.input("x", parse(SOFTMAX).inputs[0].dtype, (4, 64))
    w = b.array(np.full((4, 64), value, np.float32), "w")
    return b.build({"y": b.bin("mul", b.un("exp", x), w)})


def test_arrays_are_those_of_the_graph_at_hand() -> None:
    for value in (2.0, 3.0):
        c = optimize_graph(weighted(value), "c", KEEP)
        given = inputs(c.source)
        want = np.exp(given["x"]) * np.float32(value)
        np.testing.assert_allclose(c(given)["y"], want, rtol=1e-6)
        assert c.was_kept is (value == 3.0)


def called(f: Callable[..., Any]) -> Graph:
    graph = parse(
        "graph g(x: f32[64]) {\n  e: f32[64] = exp x\n"
        "  y: f32[64] = call f e token=0\n  return y\n}\n"
    )
    return Graph(graph.nodes, graph.outputs, graph.name, calls={"f": f})


def test_host_functions_are_those_of_the_graph_at_hand() -> None:
    x = np.ones(64, np.float32)
    for k in (1, 2):
        c = optimize_graph(called(lambda e, k=k: e * np.float32(k)), "c", KEEP)
        np.testing.assert_allclose(c({"x": x})["y"], np.exp(x) * k, rtol=1e-6)
    assert c.was_kept


def test_a_fallback_is_not_kept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no rules today")

    monkeypatch.setattr(pipeline, "plan_all", fail)
    with pytest.warns(RuntimeWarning, match="no rules today"):
        optimize_graph(parse(SOFTMAX), "c", Options(cache=True))
    assert not folder.exists()


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWRITE_CACHE", "off")
    assert store.root() is None
    kept = Store(None)
    kept.write("a", b"b")
    assert kept.read("a") is None


def test_what_was_longest_unused_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LIMIT", 300)
    kept = Store(tmp_path)
    keys = [c * 64 for c in "abc0"]
    for k, at in zip(keys, (100, 200, 300), strict=False):
        kept.write(k, b"x" * 100)
        os.utime(tmp_path / k, (at, at))
    assert kept.read(keys[0]) is not None  # of use just now
    kept.write(keys[3], b"x" * 100)
    found = [kept.read(k) is not None for k in keys]
    assert found == [True, False, True, True]


def test_frozen_bytes_run_nothing() -> None:
    for bad in (os.system, Path, subprocess.Popen):
        with pytest.raises(FrozenError, match="does not belong in a program"):
            thaw(pickle.dumps(bad))
    with pytest.raises(FrozenError):
        thaw(b"garbage")
    with pytest.raises(FrozenError):
        freeze({"a": Path("x")})


def test_jit_finds_what_another_jit_kept(no_engine: Callable[[], None]) -> None:
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 16)
    first = rewrite.jit(lambda x: xp.nn.softmax(x), fallback=False)(x)
    no_engine()
    again = rewrite.jit(lambda x: xp.nn.softmax(x), fallback=False)(x)
    assert np.array_equal(first, again)
    with pytest.raises(AssertionError, match="the optimizer ran"):
        rewrite.jit(lambda x: xp.nn.softmax(x), fallback=False, cache=False)(x)


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "kept.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert np.array_equal(names["y"], names["fast"](names["x"], {"w": names["w"]})["y"])
