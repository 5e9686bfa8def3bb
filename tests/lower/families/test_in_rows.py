"""Columns whose sums lie along what they are summed over: a matrix by a vector, then
what is dear of each element. Sums are vectors along rows, the rest along places."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rewrite.egraph.ir.dtypes import BF16, F16, F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.nests.plan import lie_along
from rewrite.lower.families.rows import COLUMN, ROW
from rewrite.lower.model import model_of
from tests.replay.planned import CAPS

from ..harness import check_compiled, check_interpreted, kernel_of

MODEL = model_of(CAPS)


def gate(seed: int) -> Kernel:
    """Of one to three products, of matrices that lie as they are or turned, of sums or
    of maxima, with more that is the same for a row."""
    rng = random.Random(seed)
    b = Builder()
    n, k = rng.choice((2, 7, 40, 112)), rng.choice((8, 9, 31, 96, 112))
    kind = rng.choice((F32, F32, F16, BF16))
    x = b.expand(b.input("x", kind, (1, k)), (n, k))
    terms: list[int] = []
    for i in range(rng.choice((1, 2, 3))):
        w = b.input(f"w{i}", kind, (n, k))
        if rng.random() < 0.2:
            w = b.permute(b.input(f"t{i}", kind, (k, n)), (1, 0))
        monoid = "max" if rng.random() < 0.2 else "sum"
        terms.append(b.cast(b.reduce(monoid, b.bin("mul", w, x), [1]), F32))
    y = b.input("y", F32, (n, 1))
    for t in terms:
        y = b.un(rng.choice(("tanh", "sigmoid")), b.bin("add", y, t))
    return normalise(kernel_of(b, [y]))


@pytest.mark.parametrize("seed", range(16))
def test_interpreted(seed: int) -> None:
    check_interpreted(COLUMN, gate(seed), CAPS, seed % 2 > 0)


def test_compiled() -> None:
    kernels = [gate(seed) for seed in range(40)]
    inside = [lie_along(k, s, COLUMN.plan(k, MODEL).vector)
              for k in kernels for s in COLUMN.plan(k, MODEL).steps]  # fmt: skip
    assert sum(inside) > 20
    check_compiled([(k, COLUMN) for k in kernels])


def matrix(n: int, k: int, turned: bool) -> Kernel:
    b = Builder()
    w = b.input("w", F32, (k, n) if turned else (n, k))
    w = b.permute(w, (1, 0)) if turned else w
    x = b.expand(b.input("x", F32, (1, k)), (n, k))
    return normalise(
        kernel_of(b, [b.un("tanh", b.reduce("sum", b.bin("mul", w, x), [1]))])
    )


def test_rows_are_told_from_columns() -> None:
    for turned in (False, True):
        kernel = matrix(64, 96, turned)
        todo = COLUMN.plan(kernel, MODEL)
        (sums,) = (s for s in todo.steps if s.roots)
        assert lie_along(kernel, sums, todo.vector) is not turned
        assert not lie_along(kernel, sums, None)


def test_what_is_dear_of_each_is_priced_as_a_vector() -> None:
    """A row takes it element by element, which one thread feels."""
    kernel, alone = matrix(112, 112, False), replace(MODEL, units=1)
    column, row = (f.parts(kernel, alone) for f in (COLUMN, ROW))
    assert column.scalar < 0.95 * row.scalar, (column, row)
