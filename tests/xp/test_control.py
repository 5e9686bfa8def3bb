"""`xp.while_loop` and `xp.cond` against Python's own: at once, on NumPy and on c."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device as known
from rewrite.backends.flows.branches import Listed, Sides
from rewrite.backends.flows.rounds import OpenRounds, Turns
from rewrite.egraph.ir.dtypes import BOOL, F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, GraphError
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.text import parse, show
from rewrite.egraph.looping.branch import Branch
from rewrite.egraph.looping.flow import flows_of
from rewrite.egraph.looping.loop import Loop

RNG = np.random.default_rng(5)
N, M = xp.symbol("n"), xp.symbol("m")
DEVICES = ["", "numpy", "c"]  # "": at once
device = pytest.mark.parametrize("device", DEVICES)


def made(f: Any, device: str, *args: Any) -> Any:
    return rw.optimize(f, *args, device=device, fallback=False) if device else f


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


# ---- while_loop ----------------------------------------------------------------------


def collatz(n: Any) -> Any:
    """How many steps to 1, and the greatest number on the way."""

    def step(c: Any) -> Any:
        n, steps, top = c["n"], c["steps"], c["top"]
        n = xp.where(n % 2 == 0, n // 2, 3 * n + 1)
        return {"n": n, "steps": steps + 1, "top": xp.maximum(top, n)}

    init = {"n": n, "steps": xp.asarray(0, dtype=xp.int32), "top": n}
    return xp.while_loop(lambda c: c["n"] != 1, step, init)


@device
def test_a_loop_ends_by_its_values(device: str) -> None:
    f = made(collatz, device, np.int64(1))
    for n, steps, top in ((1, 0, 1), (2, 1, 2), (27, 111, 9232), (97, 118, 9232)):
        last = f(np.int64(n))
        assert (last["n"], last["steps"], last["top"]) == (1, steps, top)
        assert last["steps"].dtype == np.int32


def power(a: Any, x: Any) -> Any:
    """The dominant eigenvector, as far as it still moves; a is captured by both."""

    def step(c: Any) -> Any:
        y = a @ c[0]
        y = y / xp.sqrt(xp.sum(y * y))
        return y, c[0]

    def moves(c: Any) -> Any:
        return xp.sum(xp.abs(c[0] - c[1])) > 1e-5 * xp.max(xp.abs(a))

    return xp.while_loop(moves, step, (x, xp.zeros_like(x)))[0]


@device
def test_what_is_captured_is_read_anew_by_each_call(device: str) -> None:
    x = np.ones(48, np.float32)
    basis = np.linalg.qr(draw(48, 48))[0]
    f = made(power, device, np.eye(48, dtype=np.float32), x)
    for k in (3, 7):
        values = np.full(48, 0.1, np.float32)
        values[k] = 2.0
        a = (basis * values) @ basis.T
        np.testing.assert_allclose(np.abs(f(a, x) @ basis[:, k]), 1, rtol=1e-4)


def test_an_open_loop_is_one_node_and_a_list_of_launches_on_c() -> None:
    x = np.ones(48, np.float32)
    for device, kind in (("c", OpenRounds), ("numpy", Turns)):
        f = made(power, device, np.eye(48, dtype=np.float32), x)
        (loop,) = [flow for _, flow in flows_of(f.compiled.source)]
        assert isinstance(loop, Loop) and loop.is_open
        ready = f.compiled.executable()
        assert [type(r) for r in ready.inner.values()] == [kind]


def shrink(x: Any) -> Any:
    return xp.while_loop(lambda c: xp.any(c > 1), lambda c: c / 2, x)


@device
def test_sizes_are_symbols(device: str) -> None:
    types = (TensorType(F32, (N, M)),)
    f = made(shrink, device, *types)
    for n, m in ((3, 2), (0, 2), (5, 1), (3, 2)):
        x = np.full((n, m), 6, np.float32)
        np.testing.assert_array_equal(f(x), x / 8)


@device
def test_a_round_reads_a_size_that_its_inputs_do_not_tell(device: str) -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]

        def step(c: Any) -> Any:
            return c + xp.sum(xp.ones((n,), dtype=xp.float32))

        return xp.while_loop(lambda c: c < 10, step, x[0])

    fast = made(f, device, TensorType(F32, (N,)))
    for n, want in ((1, 10), (3, 12), (4, 12)):
        assert fast(np.zeros(n, np.float32)) == want


@device
def test_loops_and_branches_in_each_other(device: str) -> None:
    def sums(xs: Any) -> Any:
        """Of each entry, doubled until it is over 100; of odd ones the half."""

        def entry(total: Any, x: Any) -> Any:
            y = xp.while_loop(
                lambda c: c <= 100,
                lambda c: xp.cond(c % 2 == 0, lambda c: c * 2, lambda c: c * 3, c),
                x,
            )
            y = xp.cond(
                y % 2 == 0,
                lambda y: y,
                lambda y: xp.scan(lambda c, _: (c - 1, None), y, length=5)[0],
                y,
            )
            return total + y, y

        return xp.scan(entry, xp.asarray(0), xs)

    def by_hand(xs: Any) -> Any:
        out: list[int] = []
        for x in map(int, xs):
            while x <= 100:
                x *= 2 if x % 2 == 0 else 3
            out.append(x if x % 2 == 0 else x - 5)
        return sum(out), out

    xs = np.asarray([1, 2, 3, 8, 101, 400])
    total, each = made(sums, device, xs)(xs)
    want, wanted = by_hand(xs)
    assert total == want
    np.testing.assert_array_equal(each, wanted)


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_a_carry_that_two_places_share_and_one_that_stays(device: str) -> None:
    def f(x: Any) -> Any:
        def step(c: Any) -> Any:
            a, _, k = c
            return a + k, a + k, k

        return xp.while_loop(lambda c: xp.sum(c[0]) < 50, step, (x, x * 2, x))

    x = np.asarray([1.0, 2.0], np.float32)
    a, b, k = made(f, device, x)(x)
    np.testing.assert_array_equal(a, 17 * x)
    np.testing.assert_array_equal(b, 17 * x)
    np.testing.assert_array_equal(k, x)
    _, b, k = made(f, device, x)(50 * x)  # no round: the second is what it was
    np.testing.assert_array_equal(b, 100 * x)
    np.testing.assert_array_equal(k, 50 * x)


def test_threads_share_an_open_loop() -> None:
    fast = rw.optimize(collatz, np.int64(1), device="c", fallback=False)
    given = [np.int64(n) for n in range(1, 40)]
    want = [int(collatz(n)["steps"]) for n in given]
    with ThreadPoolExecutor(4) as pool:
        have = [int(r["steps"]) for r in pool.map(fast, given * 5)]
    assert have == want * 5


def test_an_open_loop_in_f64_is_the_same_loop() -> None:
    graph = xp.trace(shrink, np.full(3, 6, np.float32))
    x = np.full(3, 6, np.float32)
    (y,) = evaluate(graph, {"x": x}, "f64").values()
    assert y.dtype == np.float64 and (y == 0.75).all()


def test_a_loop_without_an_end_is_no_loop() -> None:
    b = Builder("round")
    x = b.input("x", F32, ())
    body = b.build([b.un("neg", x)])
    with pytest.raises(GraphError, match="first carry, a truth value"):
        Loop(body, 1, 0, (0,), (), (0,))


# ---- cond ----------------------------------------------------------------------------


def choose(x: Any, w: Any) -> Any:
    """Results of two dtypes, one of them as it was given, and twice the same."""

    def one(x: Any, k: Any) -> Any:
        y = xp.tanh(x @ w) * k
        return {"y": y, "again": y, "x": x, "big": y > 0.5}

    def other(x: Any, k: Any) -> Any:
        return {"y": x - k, "again": x + k, "x": x, "big": x < 0}

    return xp.cond(xp.sum(x) > 0, one, other, x, 2.0)


@device
def test_a_branch_is_one_side_or_the_other(device: str) -> None:
    x, w = np.abs(draw(4, 4)), draw(4, 4)
    f = made(choose, device, x, w)
    y = np.tanh(x @ w) * 2
    have = f(x, w)
    for k in ("y", "again"):
        np.testing.assert_allclose(have[k], y, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(have["big"], have["y"] > 0.5)
    have = f(-x, w)
    for k, want in (("y", -x - 2), ("again", -x + 2), ("x", -x), ("big", -x < 0)):
        np.testing.assert_array_equal(have[k], want)


def test_the_other_side_does_not_run() -> None:
    """A side that has no end, where the truth value is another."""

    def f(x: Any) -> Any:
        forever = lambda x: xp.while_loop(lambda c: c >= c, lambda c: c, x)  # noqa: E731
        return xp.cond(x > 0, lambda x: x + 1, forever, x)

    for device in DEVICES:
        assert made(f, device, np.float32(1))(np.float32(2)) == 3


def test_branches_run_as_lists_of_launches_on_c() -> None:
    x, w = draw(4, 4), draw(4, 4)
    for device, kind in (("c", Listed), ("numpy", Sides)):
        ready = made(choose, device, x, w).compiled.executable()
        assert {type(r) for r in ready.inner.values()} == {kind}


@device
def test_branches_of_symbolic_sizes(device: str) -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        return xp.cond(
            xp.any(x > 0),
            lambda: xp.full((n,), 7, dtype=xp.float32),
            lambda: xp.zeros((n,), dtype=xp.float32) - 1,
        )

    fast = made(f, device, TensorType(F32, (N, 2)))
    for n in (2, 0, 3):
        np.testing.assert_array_equal(fast(np.ones((n, 2), np.float32)),
                                      np.full(n, 7 if n else -1))  # fmt: skip
        np.testing.assert_array_equal(fast(-np.ones((n, 2), np.float32)), -np.ones(n))


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_arrays_that_a_side_holds(device: str) -> None:
    table = draw(64, 64)

    def f(x: Any) -> Any:
        return xp.cond(x[0] > 0, lambda x: table @ x, lambda x: table.T @ x, x)

    x = np.abs(draw(64))
    fast = made(f, device, x)
    for now, of in ((x, table), (-x, table.T)):
        np.testing.assert_allclose(fast(now), of @ now, rtol=1e-4, atol=1e-5)


def test_a_flag_that_is_known_leaves_no_branch() -> None:
    x, w = draw(4, 4), draw(4, 4)
    for flag in (True, False):

        def f(x: Any, w: Any, flag: bool = flag) -> Any:
            return xp.cond(flag, lambda y: y @ w, lambda y: xp.tanh(y) * w, x)

        assert not list(flows_of(xp.trace(f, x, w)))
        want = x @ w if flag else np.tanh(x) * w
        np.testing.assert_allclose(f(x, w), want, rtol=1e-5, atol=1e-6)


def test_results_without_arrays_are_what_they_are() -> None:
    assert xp.cond(True, lambda: None, lambda: None) is None


def test_jitted_numbers_come_with_each_call() -> None:
    @rw.jit
    def f(x: Any, bound: float) -> Any:
        return xp.while_loop(lambda c: c < bound, lambda c: c * 2, x)

    for bound in (10.0, 100.0):
        assert f(np.float32(1), bound) == 2 ** np.ceil(np.log2(bound))


def test_a_branch_has_one_type() -> None:
    graphs = []
    for dtype in (F32, BOOL):
        b = Builder("side")
        x = b.input("x", dtype, (2,))
        graphs.append(b.build([b.add("barrier", (x,), (0,))]))
    with pytest.raises(GraphError, match="are of the types"):
        Branch(graphs[0], graphs[1], ((1,), (2,)))


# ---- both ----------------------------------------------------------------------------


def both(x: Any, w: Any) -> Any:
    x = xp.while_loop(lambda c: xp.max(c) > 1, lambda c: c / 2, x)
    return xp.cond(x[0, 0] > 0, lambda x: x @ w, lambda x: x / xp.sum(x), x)


@pytest.mark.parametrize("name", ["opencl", "wgpu", "cuda"])
def test_on_devices_with_memory_of_their_own(name: str) -> None:
    if not known(name).probe().ok:
        pytest.skip(known(name).probe().detail)
    x, w = np.abs(draw(4, 4)) * 9, draw(4, 4)
    fast = rw.optimize(both, x, w, device=name, fallback=False)
    for now in (x, -x):
        np.testing.assert_allclose(fast(now, w), both(now, w), rtol=1e-5, atol=1e-5)
    ready = fast.compiled.executable()
    assert ready is not None
    assert {type(r) for r in ready.inner.values()} == {Turns, Sides}


def test_they_are_saved_shown_and_explained(tmp_path: Path) -> None:
    x, w = np.abs(draw(4, 4)) * 9, draw(4, 4)
    fast = rw.optimize(both, x, w, device="c", fallback=False)
    fast.save(tmp_path / "f.rw")
    again = rw.load(tmp_path / "f.rw")
    for now in (x, -x):
        np.testing.assert_array_equal(fast(now, w), again(now, w))
    ready = again.compiled.executable()
    assert ready is not None
    assert {type(r) for r in ready.inner.values()} == {OpenRounds, Listed}
    graph = fast.compiled.source
    text = show(graph)
    assert "while out0 is true" in text and "a branch that runs one of two" in text
    parsed = parse(text)
    assert show(parsed) == text
    given = {"x": x, "w": w}
    want = evaluate(graph, given).values()
    for a, b in zip(evaluate(parsed, given).values(), want, strict=True):
        np.testing.assert_array_equal(a, b)
    notes = fast.explain(run=False).notes
    assert len(notes) == 3
    assert sum("is a loop, planned apart: in each round" in n for n in notes) == 1
    sides = [n for n in notes if "is a side of a branch" in n]
    assert "if true" in sides[0] and "if false" in sides[1]
    assert "div-recip" in sides[1]
    views = fast.explain(run=False).json()["loops"]
    assert [v["rounds"] for v in views] == [None, 1, 1]


def test_their_kernels_have_a_price() -> None:
    x, w = np.abs(draw(4, 4)) * 9, draw(4, 4)
    kernels = rw.optimize(both, x, w, device="c", fallback=False).compiled.kernels()
    found = {k.family: k.seconds for k in kernels if k.family in ("loop", "cond")}
    assert found.keys() == {"loop", "cond"}
    assert all(0 < s < 1e-3 for s in found.values())


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: xp.while_loop(lambda c: c > 0, lambda c: c, x), "cond gives bool"),
        (lambda x: xp.while_loop(lambda c: 1, lambda c: c, x), "cond gives i64"),
        (lambda x: xp.while_loop(lambda c: (c, c), lambda c: c, x), "gives tuple"),
        (lambda x: xp.while_loop(lambda c: xp.any(c > 0), lambda c: (c, c), x),
         "while_loop: the carry carry was expected"),
        (lambda x: xp.while_loop(lambda c: xp.any(c > 0), lambda c: c > 1, x),
         "while_loop: carry is f32.* and becomes bool.*convert"),
        (lambda x: xp.cond(x > 0, lambda: x, lambda: x), "pred is bool.2.: one truth"),
        (lambda x: xp.cond(1, lambda: x, lambda: x), "pred is i64"),
        (lambda x: xp.cond(True, lambda: x, lambda: (x, x)), "one structure"),
        (lambda x: xp.cond(True, lambda: x, lambda: x > 0), "one dtype and one shape"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(f: Any, says: str) -> None:
    with pytest.raises(xp.TraceError, match=says):
        f(np.zeros(2, np.float32))
