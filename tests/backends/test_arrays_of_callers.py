"""The arrays that a caller has: strided, reversed, broadcast, Fortran's, read-only,
unaligned, of the other byte order; as inputs, and as outputs where they are written.

The numpy device took what is not contiguous as it lay, and failed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.core.compiled import Compiled
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Builder

from .harness import RUNNABLE, open_device

SHAPE = (4, 6)
type Array = np.ndarray


def values() -> Array:
    return np.arange(24, dtype=np.float32).reshape(SHAPE) - 7


def unaligned(a: Array) -> Array:
    raw = bytearray(a.nbytes + 1)
    made = np.frombuffer(raw, np.float32, a.size, 1).reshape(a.shape)
    made[...] = a
    return made


def strided(a: Array) -> Array:
    made = np.zeros((a.shape[0] * 2, a.shape[1] * 3), a.dtype)[1::2, 2::3]
    made[...] = a
    return made


def frozen(a: Array) -> Array:
    made = a.copy()
    made.flags.writeable = False
    return made


WAYS: dict[str, Callable[[Array], Array]] = {
    "plain": np.copy, "strided": strided, "fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1], "unaligned": unaligned,
    "part": lambda a: np.concatenate([a, a, a], 1)[:, 6:12],
}  # fmt: skip
READ = {**WAYS, "read-only": frozen}


@pytest.fixture(scope="module", params=("numpy", *RUNNABLE))
def compiled(request: pytest.FixtureRequest) -> Compiled:
    open_device(request.param)
    b = Builder()
    x, y = b.input("x", F32, SHAPE), b.input("y", F32, SHAPE)
    z = b.bin("add", b.bin("mul", x, b.const(3.0, F32, SHAPE)), y)
    out = {"z": z, "s": b.reduce("max", z, (1,))}
    return compile_graph(b.build(out), request.param, fallback=False, effort=1)


@pytest.mark.parametrize("way", READ)
def test_inputs(compiled: Compiled, way: str) -> None:
    x, y = READ[way](values()), values()[::-1]
    got = compiled({"x": x, "y": y})
    np.testing.assert_array_equal(got["z"], values() * 3 + values()[::-1])
    np.testing.assert_array_equal(got["s"], got["z"].max(1, keepdims=True))
    np.testing.assert_array_equal(x, values())


def test_broadcast_inputs(compiled: Compiled) -> None:
    row = np.broadcast_to(values()[:1], SHAPE)
    one = np.broadcast_to(np.float32(2.5), SHAPE)
    got = compiled({"x": row, "y": one})
    np.testing.assert_array_equal(got["z"], row * 3 + np.float32(2.5))


def test_one_array_twice(compiled: Compiled) -> None:
    x = strided(values())
    np.testing.assert_array_equal(compiled({"x": x, "y": x})["z"], values() * 4)


@pytest.mark.parametrize("way", WAYS)
def test_outputs(compiled: Compiled, way: str) -> None:
    out = {"z": WAYS[way](values()), "s": np.zeros((8, 2), np.float32)[::2, 1:]}
    got = compiled({"x": values(), "y": values()}, out)
    assert got["z"] is out["z"]
    np.testing.assert_array_equal(out["z"], values() * 4)
    np.testing.assert_array_equal(out["s"], (values() * 4).max(1, keepdims=True))


def test_outputs_that_are_refused(compiled: Compiled) -> None:
    """Written in part, or in every place at once."""
    inputs = {"x": values(), "y": values()}
    s = np.zeros((4, 1), np.float32)
    wide = np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), SHAPE, (0, 4))
    for z in (frozen(values()), np.broadcast_to(values()[:1], SHAPE), wide):
        with pytest.raises(InputError, match="'z'"):
            compiled(inputs, {"z": z, "s": s})


def test_the_other_byte_order_is_said(compiled: Compiled) -> None:
    x = values()
    swapped = x.astype(x.dtype.newbyteorder())
    with pytest.raises(InputError, match=r"input 'x': f32\[4, 6\] expected, found >f4"):
        compiled({"x": swapped, "y": x})
    with pytest.raises(InputError, match=r"output 'z': f32\[4, 6\] expected"):
        compiled({"x": x, "y": x}, {"z": swapped, "s": np.zeros((4, 1), np.float32)})
