"""Families keep the rules of the loop IR, and each rule that is broken is named."""

from __future__ import annotations

from itertools import product

import pytest

from rewrite.lower.registry import FAMILIES
from rewrite.lower.text import parse
from rewrite.lower.verify import VerifyError, faults, verify
from tests.backends.functions import CASES as BY_HAND
from tests.backends.functions import Case
from tests.lower.families.test_families import BY_NAME, CAPS, KERNELS, TAKEN
from tests.lower.harness import lowered
from tests.lower.replay import ALL_CAPS, functions

HEAD = "function f(x: f32[64], out y: f32[64], scratch s: f32[8]"


@pytest.mark.parametrize("case", BY_HAND, ids=lambda c: c.function.name)
def test_by_hand(case: Case) -> None:
    assert faults(case.function) == ()


@pytest.mark.parametrize("caps", ALL_CAPS)
def test_what_is_chosen(caps: str) -> None:
    for name, f in functions(caps).items():
        assert faults(f) == (), name


def test_every_family() -> None:
    assert {family for _, family in TAKEN} < {f.name for f in FAMILIES}
    for name, family in TAKEN:
        for caps, strict in product(CAPS.values(), (False, True)):
            f = lowered(BY_NAME[family], KERNELS[name], caps, strict)
            assert faults(f) == (), (name, family)


BROKEN = [
    # names
    ("let a = 1\nlet a = 2", "'a' is bound already"),
    ("let x = 1", "'x' is bound already"),
    ("grid i < 4 {\nserial i < 4 {\n}\n}", "'i' is bound already"),
    ("grid i < 8 {\ny[i] = (v: f32)\n}", "'v' is not in scope"),
    ("grid i < 8 {\nif i < 4 {\nlet v = 1.0\n}\ny[i] = (v: f32)\n}", "'v' is not in"),
    ("grid i < 8 {\ny[i] = f32((i: i64))\n}", "'i' is i32 of 1 lanes, used as i64"),
    ("grid i < 8 {\ny[i] = (z[i]: f32)\n}", "array 'z' is not in scope"),
    ("let a = 1\na = 2", "'a' is not mutable"),
    ("grid i < 8 {\ni = 2\n}", "'i' is not mutable"),
    # types and lanes
    ("grid i < 8 {\ny[i] = i\n}", "'y' is f32 of 1 lanes, its value i32"),
    ("grid i < 8 {\ny[i] = 1.0 + 1.0_f64\n}", "add: f32 of [f32, f64]"),
    ("grid i < 8 {\ny[i] = (x[i] < 1.0: f32)\n}", "lt: f32 of [f32, f32]"),
    ("grid i < 8 {\ny[i] = x[i] + x[i +: 4]\n}", "add: 4 lanes of operands with [1,"),
    ("grid i < 8 {\ny[i +: 4] = x[i +: 2]\n}", "4 lanes, its value f32 of 2 lanes"),
    ("grid i < 8 {\ny[i] = (x[i]: f64)\n}", "'x' holds f32, loaded as f64"),
    ("grid i < 8 {\ny[x[i]] = x[i]\n}", "an index of f32, 1 lanes"),
    ("grid i < 8 {\nif x[i] {\n}\n}", "a condition is bool of 1 lanes, its value f32"),
    ("grid i < 8 {\ny[i] = idiv(x[i], 2.0)\n}", "idiv: of f32"),
    ("grid i < 8 {\ny[i] = exp(i)\n}", "exp: of i32"),
    ("grid i: f32 < 8 {\n}", "a loop over f32"),
    ("let a = 300_i8", "300 is no i8"),
    ("let a = f16(1.0)", "'a' has the storage type f16"),
    ("grid i < 8 {\nlocal a: f8e4m3[3]\n}", "array 'a' has the storage type f8e4m3"),
    ("grid i < 8 {\ny[i] = (bitcast(x[i], f64): f32)\n}", None),
    ("grid i < 8 {\nlet a = bitcast(x[i], i64)\n}", "f32 has not the width of i64"),
    # places
    ("grid i < 8 {\nx[i] = 1.0\n}", "a store to 'x', which is read only"),
    ("grid i < 65 {\ny[i] = 1.0\n}", "'y' of 64 elements, accessed at 0 .. 64"),
    ("grid i < 8 {\ny[i - 1] = 1.0\n}", "accessed at -1 .. 6"),
    ("grid i < 64 by 8 {\ny[i +: 8] = x[i +: 8]\n}", None),
    ("grid i < 64 by 8 {\ny[i +: 8] = x[i + 1 +: 8]\n}", "accessed at 1 .. 64"),
    ("grid i < 8 {\nlet o = i * 8\nserial j < 9 {\ny[i] = x[o + j]\n}\n}",
     "'x' of 64 elements, accessed at 0 .. 64"),
    ("grid i < 8 {\nlocal a: f32[4]\ny[i] = a[i]\n}", "'a' of 4 elements, accessed"),
    ("grid i < 8 {\nif i < 4 {\ny[i + 64] = 1.0\n}\n}", "accessed at 64 .. 71"),
    ("grid i < 8 {\ny[(i - 1) / 2] = 1.0\n}", "a division of a negative number"),
    ("grid i < 8 {\ny[i / 0] = 1.0\n}", "a division by a number that is not positive"),
    ("grid i < 8 {\nserial j < 4 {\ny[j] = 1.0\n}\n}", "two turns of the grid loop"),
    ("grid i < 8 {\nserial j < 4 {\ny[i * 3 + j] = 1.0\n}\n}", "two turns of the grid"),
    ("grid i < 8 {\ny[i * 2 +: 4] = x[i +: 4]\n}", "two turns of the grid loop"),
    ("grid i < 8 {\nsimd j < 4 {\ny[i] = 1.0\n}\n}", "two turns of the simd loop"),
    ("grid i < 8 {\nfetch x[i + 99]\nfetch out y[i]\n}", None),
    ("grid i < 8 {\nfetch x[i / 0]\n}", "a division by a number that is not positive"),
    ("grid i < 8 {\nfetch w[i]\n}", "array 'w' is not in scope"),
    ("grid i < 8 {\nfetch x[x[i]]\n}", "an index of f32"),
    ("grid i < 8 {\nlocal a: f32[4]\nfetch a[i]\n}", "'a' is fetched, which is no"),
    # loops
    ("serial j < 4 {\ngrid i < 8 {\n}\n}", "a grid loop inside of something else"),
    ("block j < 4 {\ngrid i < 8 {\n}\n}", "a grid loop inside of something else"),
    ("block j < 4 {\nlet k = j\nblock i < 8 {\n}\n}", "a block loop beside something"),
    ("block j < 4 {\nblock i < 8 {\nbarrier\n}\n}", None),
    ("grid j < 4 {\nthread i < 8 {\n}\n}", "a thread loop outside of a block"),
    ("block j < 4 {\nthread i < 8 {\nthread k < 8 {\n}\n}\n}", "in a thread loop"),
    ("var a = 0\ngrid i < 8 {\n}", "'a' is not seen by other launches"),
    ("local a: f32[2]\ngrid i < 8 {\n}", "'a' is not seen by other launches"),
    ("grid i < 8 {\nshared a: f32[2]\n}", "shared array 'a' outside of a block"),
    ("block i < 8 {\nthread j < 2 {\nshared a: f32[2]\n}\n}", "where threads part"),
    ("grid i < 8 {\nvar a = 0\nsimd j < 4 {\na = a + j\n}\n}", "carries a value"),
    # threads of a group
    ("grid i < 8 {\nbarrier\n}", "a barrier outside of a block"),
    ("block i < 8 {\nthread j < 4 {\nbarrier\n}\n}", "a barrier in a thread loop"),
    ("block i < 8 {\nvar a = 0\nthread j < 4 {\na = j\n}\nif a < 2 {\nbarrier\n}\n}",
     "a barrier that not all threads reach"),
    ("block i < 8 {\nvar a = 0\nthread j < 4 {\na = j\n}\nreduce max a\nif a < 2 {\n"
     "barrier\n}\n}", None),
    ("block i < 8 {\nvar a = 0\nserial k < 2 {\nif a < 2 {\nbarrier\n}\nthread j < 4 {"
     "\na = j\n}\n}\n}", "a barrier that not all threads reach"),
    ("block i < 8 {\nvar a = 0.0\nthread j < 4 {\na = a + x[j]\n}\ny[i] = a\n}",
     "threads store different values"),
    ("block i < 8 {\nvar a = 0.0\nthread j < 4 {\na = a + x[j]\n}\nreduce sum a\n"
     "y[i] = a\n}", None),
    ("block i < 8 {\nvar a = true\nreduce sum a\n}", "no monoid of bool: 'sum'"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), BROKEN)
def test_rules(body: str, message: str | None) -> None:
    f = parse(f"{HEAD}) threads 4 {{\n{body}\n}}\n")
    if message is None:
        assert verify(f) is f
        return
    with pytest.raises(VerifyError) as e:
        verify(f)
    assert message in str(e.value)


def test_a_fault_shows_its_way() -> None:
    f = parse(f"{HEAD}) {{\ngrid i < 8 {{\ny[i] = x[i + 60]\n}}\n}}\n")
    assert [str(m) for m in faults(f)] == [
        "f: 'x' of 64 elements, accessed at 60 .. 67, in\n"
        "  grid i < 8 {\n    y[i] = x[i + 60]"
    ]
