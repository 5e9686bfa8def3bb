"""Rings of shared tiles: what the verifier refuses shows in values."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import TileVerifyError, faults, verify

SUMS = "m/thread 8, m/register 8, n/register 8, n/thread 8, k/register 16"
EACH, FLAT = "m/register 16, m/thread 4, k/thread 16", "k/register 16, n/thread 64"
ROWS = "m/register 2, m/thread 32, k/thread 2, k/lane 8"
WIDE = "k/register 2, k/thread 8, n/thread 8, n/lane 8"
PRODUCT = """\
tiles product(b0: bf16[8192], b1: bf16[8192], out b2: f32[4096]) {
  grid over m < 64, k < 16, n < 64 team 64 laid SUMS {
    mutable a: f32[m, n] = 0.0
    loop l < 128 by 16 stages 3 {
      wait 2
      ahead {
        x: shared bf16[m, k] laid ROWS = load b0[m * 128 + (l + k)]
      }
      ahead {
        y: shared bf16[k, n] laid WIDE = load b1[(l + k) * 64 + n]
      }
      mma a by x and y over k
    }
    store b2[m * 64 + n] = a over m, n
  }
}
"""
LATE = """\
tiles late(b0: bf16[8192], b1: bf16[8192], out b2: f32[4096]) {
  grid over m < 64, k < 16, n < 64 team 64 laid SUMS {
    mutable a: f32[m, n] = 0.0
    loop l < 128 by 16 stages 4 {
      wait 2 products 1
      mma a by (x: bf16) and (y: bf16) over k warps 4
      wait 2 products 1
      ahead {
        x: shared bf16[m, k] laid ROWS = load b0[m * 128 + (l + k)]
        y: shared bf16[k, n] laid WIDE = load b1[(l + k) * 64 + n]
      }
    }
    store b2[m * 64 + n] = a over m, n
  }
}
"""
LOADED = """\
tiles loaded(b0: f32[8192], b1: f32[8192], out b2: f32[4096]) {
  grid over m < 64, k < 16, n < 64 team 64 laid SUMS {
    mutable a: f32[m, n] = 0.0
    loop l < 128 by 16 stages 2 {
      wait 0
      ahead {
        u: f32[m, k] laid EACH = load b0[m * 128 + (l + k)]
        v: f32[k, n] laid FLAT = load b1[(l + k) * 64 + n]
      }
      mma a by (x: f32) and (y: f32) over k
      ahead {
        w: f32[m, k] laid EACH = exp(u)
        x: shared f32[k, m] laid EACH = copy w
        y: shared f32[k, n] laid FLAT = copy v
      }
    }
    store b2[m * 64 + n] = a over m, n
  }
}
"""
PRODUCT = PRODUCT.replace("SUMS", SUMS).replace("ROWS", ROWS).replace("WIDE", WIDE)
LATE = LATE.replace("SUMS", SUMS).replace("ROWS", ROWS).replace("WIDE", WIDE)
LOADED = LOADED.replace("SUMS", SUMS).replace("EACH", EACH).replace("FLAT", FLAT)
MUTANTS = [
    (
        "one more product goes on",
        LATE,
        "warps 4\n      wait 2 products 1",
        "warps 4\n      wait 2 products 2",
        "overwritten where it may",
    ),
    (
        "a product goes on into its places",
        LATE,
        "warps 4\n      wait 2 products 1\n",
        "warps 4\n",
        "overwritten where it may",
    ),
    (
        "the last copy is not waited for",
        PRODUCT,
        "wait 2",
        "wait 3",
        "'y' is read before",
    ),
    ("no copy is waited for", PRODUCT, "wait 2", "wait 9", "'x' is read before"),
    ("read without a wait", PRODUCT, "      wait 2\n", "", "read before"),
    (
        "waited for after",
        PRODUCT,
        "      wait 2\n      ahead {\n        x",
        "      ahead {\n        x",
        "read before",
    ),
    (
        "overwritten without a meeting",
        PRODUCT,
        "stages 3 {\n      wait 2\n      ahead {",
        "stages 3 {\n      ahead {",
        "overwritten where it may",
    ),
    ("one place for all turns", PRODUCT, "stages 3", "stages 1", "read before"),
    (
        "two places, as if there were three",
        PRODUCT,
        "stages 3",
        "stages 2",
        "read before",
    ),
    ("stages of nothing", PRODUCT, "stages 3", "stages 0", "a loop of 0 stages"),
    ("summed over what is kept", PRODUCT, "over k\n", "over m\n", "summed over one"),
    ("the same side twice", PRODUCT, "by x and y", "by x and x", "no product"),
    ("a sum that does not change", PRODUCT, "mutable a", "a", "no mutable tile"),
    (
        "a side in registers",
        LOADED,
        "by (x: f32)",
        "by (u: f32)",
        "read where it cannot",
    ),
    (
        "a shared tile read by itself",
        PRODUCT,
        "= a over m, n",
        "= (x: bf16) over m, n",
        "'x' is used where",
    ),
    ("another type", PRODUCT, "x: shared bf16", "x: shared f16", "'x' is f16, b0 bf16"),
    (
        "sides of two types",
        LOADED,
        "y: shared f32[k, n]",
        "y: shared bf16[k, n]",
        "a product of f32, f32, bf16",
    ),
    (
        "of another turn",
        LOADED,
        "      mma",
        "      t: f32[m, k] = u\n      mma",
        "'u' runs ahead",
    ),
    (
        "ahead of nothing",
        PRODUCT,
        "    store",
        "    ahead {\n      z: f32[] = 1.0\n    }\n    store",
        "ahead of no loop",
    ),
    (
        "a store ahead",
        LOADED,
        "      ahead {\n        w",
        "      ahead {\n        store b2[l] = 1.0\n        w",
        "a Store runs ahead",
    ),
    ("waits for nothing", PRODUCT, "    store", "    wait 0\n    store", "in no loop"),
    (
        "shared without a ring",
        LOADED,
        "    store",
        "    z: shared f32[m, n] = copy a\n    store",
        "outside of what runs ahead",
    ),
    (
        "a ring in a ring",
        PRODUCT,
        "      mma",
        "      loop j < 2 by 1 {\n        ahead {\n"
        "          z: f32[] = 1.0\n        }\n      }\n      mma",
        "a ring in the loop of",
    ),
    (
        "copied before it is there",
        LOADED,
        "copy w",
        "copy (q: f32)",
        "'q' is used where",
    ),
]


@pytest.mark.parametrize("text", [PRODUCT, LATE, LOADED])
def test_right_programs_pass_and_read_back(text: str) -> None:
    program = verify(parse(text), 48 << 10)
    assert parse(show(program)) == program


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [m[1:] for m in MUTANTS],
    ids=[m[0] for m in MUTANTS],
)
def test_mutants_are_caught(text: str, old: str, new: str, says: str) -> None:
    assert old in text
    found = faults(parse(text.replace(old, new, 1)))
    assert any(says in f for f in found), found


@pytest.mark.parametrize(
    ("right", "old", "new"),
    [
        (PRODUCT, "wait 2", "wait 3"),
        (PRODUCT, "stages 3", "stages 2"),
        (PRODUCT, "      wait 2\n", ""),
        (LATE, "wait 2 products 1", "wait 3 products 1"),
        (LATE, "4\n      wait 2 products 1", "4\n      wait 2 products 2"),
        (LATE, "4\n      wait 2 products 1", "4"),
    ],
)
def test_what_is_late_is_late(right: str, old: str, new: str) -> None:
    """What the verifier says of rings shows in values."""
    values = [np.arange(n, dtype=np.float64) % 7 - 3 for n in (8192, 8192)]
    want = values[0].reshape(64, 128) @ values[1].reshape(128, 64)
    assert old in right
    for text in (right, right.replace(old, new, 1)):
        sides = [v.astype(BF16.numpy) for v in values]
        out = np.zeros(4096, np.float32)
        run(parse(text), [*sides, out])
        assert np.array_equal(out.reshape(64, 64), want) == (text is right)


def test_rings_are_shared() -> None:
    """Three places for two tiles of 64 x 16 elements of two bytes."""
    verify(parse(PRODUCT), 3 * 2 * 64 * 16 * 2)
    with pytest.raises(TileVerifyError, match="12288 bytes are shared, of 12287"):
        verify(parse(PRODUCT), 12287)
