"""Arguments that a function changes in place are changed for the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import InputError

Y = np.arange(12, dtype=np.float32).reshape(3, 4)


def jit(f: Any) -> Any:
    return rw.jit(f, device="numpy", fallback=False)


def array() -> Any:
    return np.arange(12, 24, dtype=np.float32).reshape(3, 4)


def adds(x: Any, y: Any) -> None:
    x += 1.0
    x *= y
    x -= y
    x /= 2


def sets(x: Any, y: Any) -> None:
    x[...] = y
    x[1:3] = 0.5
    x[0, 1:3] = y[0, :2]
    x[-1] = y[0]
    x[:, 0] = y[:, 3]


def steps(x: Any, y: Any) -> None:
    x[::2, ::-1] = y[:2]
    x[1, ::2] += 5


def masks(x: Any, y: Any) -> None:
    x[y > 3] = -1
    x[x > 15] = 2


def rows(x: Any, y: Any) -> None:
    x[np.array([2, 0])] = y[:2]


def chained(x: Any, y: Any) -> Any:
    z = y * 2
    z += x
    x[:] = z
    x **= 2
    return z


WAYS: list[Callable[..., Any]] = [adds, sets, steps, masks, rows, chained]


@pytest.mark.parametrize("device", ["numpy", "c"])
@pytest.mark.parametrize("f", WAYS)
def test_the_callers_array_changes_as_in_numpy(
    f: Callable[..., Any], device: str
) -> None:
    got, want = array(), array()
    fast = rw.jit(f, device=device, fallback=False)
    for _ in range(2):
        a, b = fast(got, Y), f(want, Y)
        np.testing.assert_allclose(got, want, rtol=1e-6)
        if b is None:
            assert a is None
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_an_argument_that_is_returned_is_the_callers_own() -> None:
    def f(x: Any) -> Any:
        x += 1
        return {"x": x, "twice": x * 2}

    x = array()
    got = jit(f)(x)
    assert got["x"] is x
    np.testing.assert_array_equal(x, array() + 1)
    np.testing.assert_array_equal(got["twice"], 2 * x)


def test_out_and_updates_go_together() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x * 2

    x, out = array(), np.empty((3, 4), np.float32)
    assert jit(f)(x, out=out) is out
    np.testing.assert_array_equal(x, array() + 1)
    np.testing.assert_array_equal(out, 2 * x)


def test_strided_foreign_and_nested_arrays() -> None:
    def f(p: dict[str, Any]) -> None:
        p["x"] += 1

    base = np.zeros((6, 4), np.float32)
    jit(f)({"x": base[::2]})
    np.testing.assert_array_equal(base[:, 0], [1, 0, 1, 0, 1, 0])
    swapped = np.zeros(3, ">f4")
    jit(f)({"x": swapped})
    np.testing.assert_array_equal(swapped, [1, 1, 1])


def test_arrays_that_share_memory_are_refused() -> None:
    def f(x: Any, y: Any) -> None:
        x += y

    fast, a = jit(f), array()
    for y in (a, a[::-1]):
        with pytest.raises(InputError, match=r"'x' is updated in place.*of 'y'"):
            fast(a, y)
    np.testing.assert_array_equal(a, array())
    whole = np.zeros((3, 8), np.float32)
    fast(whole[:, ::2], whole[:, 1::2] + 1)
    np.testing.assert_array_equal(whole[0], [1, 0, 1, 0, 1, 0, 1, 0])


def test_what_cannot_be_written_is_refused() -> None:
    def f(x: Any) -> None:
        x += 1

    frozen = array()
    frozen.flags.writeable = False
    with pytest.raises(InputError, match="'x' is updated in place and read-only"):
        jit(f)(frozen)


def test_dtypes_stay_and_values_are_cast_as_in_numpy() -> None:
    def f(i: Any, d: Any, y: Any) -> None:
        i[0] = 1.7
        i[1:] = y
        d[:2] = 0.1
        d += y[0]

    def adds(x: Any) -> None:
        x += 1.5

    got = np.zeros(4, np.int32), np.zeros(3)
    want = np.zeros(4, np.int32), np.zeros(3)
    y = np.array([1.9, -2.9, 3], np.float32)
    jit(f)(*got, y)
    f(*want, y)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError):
        jit(adds)(np.zeros(4, np.int32))


def views(x: Any) -> Any:
    y = x[1:]
    y += 1
    return y


def late(x: Any) -> Any:
    y = x[1:]
    y += 1
    z = x * 2
    x[1:] = y
    return z


def elsewhere(x: Any) -> Any:
    y = x[1:2]
    y += 1
    x[2:3] = y
    return x


def stale(x: Any) -> Any:
    y = x.T
    x += 1
    return y


def stale_result(x: Any) -> Any:
    y = x.reshape(-1)
    x[0] = 1
    return y * 2


@pytest.mark.parametrize("f", [views, late, elsewhere, stale, stale_result])
def test_views_of_what_changes_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="view"):
        jit(f)(array())
    got, want = array(), array()
    with pytest.warns(RuntimeWarning, match="runs as written"):
        a = rw.jit(f, device="numpy")(got)
    np.testing.assert_array_equal(a, f(want))
    np.testing.assert_array_equal(got, want)


def test_copies_are_arrays_of_their_own() -> None:
    def f(x: Any, i: Any) -> Any:
        y, z, total = x * 1, +i, xp.zeros(())
        y += 1
        z = z + 1
        total += xp.sum(x)
        return y, z, total

    x, i = array(), np.arange(3)
    y, z, total = jit(f)(x, i)
    np.testing.assert_array_equal(x, array())
    np.testing.assert_array_equal(i, np.arange(3))
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(z, i + 1)
    assert total == x.sum()


def test_state_that_is_captured_is_updated() -> None:
    class Mean:
        def __init__(self) -> None:
            self.total, self.n = np.zeros(4, np.float32), np.zeros((), np.float32)

        @rw.jit(device="numpy", fallback=False)
        def add(self, x: Any) -> Any:
            self.total += xp.sum(x, axis=0)
            self.n += x.shape[0]
            return self.total / self.n

    m = Mean()
    total = m.total
    for k in (1, 2):
        np.testing.assert_allclose(m.add(Y), Y.mean(axis=0))
        assert m.total is total and m.n == 3 * k
    np.testing.assert_array_equal(total, 2 * Y.sum(axis=0))


def test_optimize_updates_too() -> None:
    fast = rw.optimize(adds, array(), Y, device="numpy", fallback=False)
    got, want = array(), array()
    fast(got, Y)
    adds(want, Y)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def filled(x: Any) -> Any:
    z = np.zeros_like(x)
    z[1:] = x[:-1]
    z *= 2
    return z


def by_rows(x: Any) -> Any:
    z = np.empty_like(x)
    for i in range(len(x)):
        z[i] = x[i] * i
    return z


def copied(x: Any) -> Any:
    a, b, c, d, e = x.copy(), np.copy(x), +x, x.astype(x.dtype), Y.copy()
    for k, z in enumerate((a, b, c, d, e)):
        z[0] = k
        z += 1
    return x + a + b + c + d + e


def means(x: Any) -> Any:
    m, v = x.mean(axis=0), np.var(x, axis=1)
    m -= 1
    v += 1e-5
    return (x - m) / v[:, None]


def taken(x: Any) -> Any:
    z = np.take(x, np.array([2, 0]), axis=0)
    w = x[np.array([0, 1])]
    z *= 3
    w += z
    return w


@pytest.mark.parametrize("f", [filled, by_rows, copied, means, taken])
def test_arrays_that_nothing_else_shows_are_changed(f: Callable[..., Any]) -> None:
    x = array()
    np.testing.assert_allclose(jit(f)(x), f(array()), rtol=1e-5)
    np.testing.assert_array_equal(x, array())


def test_xp_zeros_are_filled() -> None:
    def f(x: Any) -> Any:
        z = xp.zeros((4, 4))
        z[1:] = x
        return z

    np.testing.assert_array_equal(jit(f)(array())[1:], array())
    with pytest.raises(TypeError, match=r"fill arrays of xp\.zeros"):
        jit(lambda x: np.zeros((3, 4)).__setitem__(0, x[0]))(array())


def test_asarray_of_an_array_is_that_array() -> None:
    def f(x: Any) -> Any:
        z = xp.asarray(x)
        z *= 2
        return z

    traced, plain = array(), array()
    assert jit(f)(traced) is traced and f(plain) is plain
    np.testing.assert_array_equal(traced, plain)
    assert xp.asarray(plain, dtype=xp.float64) is not plain


@pytest.mark.parametrize("view", [
    lambda z: z[0], lambda z: z.T, lambda z: z.reshape(-1), np.ravel,
    lambda z: xp.asarray(z)[1:], lambda z: np.expand_dims(z, 0),
])  # fmt: skip
def test_views_of_what_is_made_inside_are_refused(view: Callable[..., Any]) -> None:
    def late(x: Any) -> Any:
        z = x * 2
        v = view(z)
        z += 1
        return v + 1

    def through(x: Any) -> Any:
        z = np.zeros_like(x)
        v = view(z)
        v += 1
        return z

    for f in (late, through):
        with pytest.raises(TypeError, match="is a view of a"):
            jit(f)(array())
