"""Loops over what has a margin: in pieces of which most need no guard."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from rewrite.egraph.ir.dtypes import F32, F64, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Affine, Cond, Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.nests.guards import MOST, guards, pieces
from rewrite.lower.families.rows import COLUMN, MAP, ROW
from rewrite.lower.interpret import run as interpret
from rewrite.lower.model import Family, model_of
from rewrite.lower.text import show
from tests.lower.harness import (
    CPU,
    buffers_for,
    c_device,
    check_interpreted,
    close,
    kernel_of,
    lowered,
    on_c,
    reference,
)


def margins(seed: int) -> Kernel:
    """Windows, joins and margins of any sizes, folded or not, behind something."""
    rng = random.Random(seed)
    b = Builder()
    dtype = rng.choice((F32, F32, F64, I32))
    x = b.input("x", dtype, (rng.randint(1, 3), rng.randint(3, 9), rng.randint(3, 40)))
    if rng.random() < 0.4:
        x = b.bin("mul", x, x)
    if rng.random() < 0.3:
        more = b.input("more", dtype, (*b.shape(x)[:2], rng.randint(1, 20)))
        x = b.concat([x, more] if rng.random() < 0.5 else [more, x], 2)
    wide = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(2)]
    low, high = zip((0, 0), *wide, strict=True)
    y = b.pad(x, low, high, rng.choice((0, -3, 5)))
    over: list[int] = []
    for axis in (1, 2):
        if rng.random() < 0.8:
            size, stride = rng.randint(1, 3), rng.randint(1, 3)
            dilation = rng.randint(1, 2)
            n = b.shape(y)[axis]
            if isinstance(n, int) and n > dilation * (size - 1):
                y = b.window(y, axis, size, stride, dilation)
                over.append(len(b.shape(y)) - 1)
    if over and rng.random() < 0.7:
        y = b.reduce(rng.choice(("max", "sum", "min")), y, over)
    if rng.random() < 0.3:
        y = b.bin("add", y, y)
    return kernel_of(b, [y])


KERNELS = [margins(seed) for seed in range(80)]


@pytest.mark.parametrize("family", [ROW, COLUMN, MAP], ids=lambda f: f.name)
def test_generated_margins(family: Family) -> None:
    taken = [k for k in KERNELS if family.accepts(normalise(k)) is None]
    assert len(taken) > 5
    for kernel in taken:
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        interpret(family.lower(normalise(kernel), CPU, "f", False), buffers)
        close(kernel, buffers[kernel.reads :], want)


def test_compiled_by_c() -> None:
    if not c_device().probe().ok:
        pytest.skip(c_device().probe().detail)
    caps = c_device().caps()
    cases = [
        (k, f.lower(normalise(k), caps, f"f{i}{f.name}", False))
        for i, k in enumerate(KERNELS)
        for f in (ROW, COLUMN, MAP)
        if f.accepts(normalise(k)) is None
    ]
    buffers = [buffers_for(k) for k, _ in cases]
    want = [reference(k, b) for (k, _), b in zip(cases, buffers, strict=True)]
    on_c([f for _, f in cases], buffers)
    for (k, _), b, w in zip(cases, buffers, want, strict=True):
        close(k, b[k.reads :], w)


def line(n: int) -> Kernel:
    b = Builder()
    return kernel_of(b, [b.un("exp", b.input("x", F32, (4, n)))])


@pytest.mark.parametrize("seed", range(50))
def test_a_guard_is_decided_in_nearly_all_places(seed: int) -> None:
    """The pieces are the axis; what one piece leaves open holds for some of the other
    axis and not for others."""
    rng = random.Random(seed)
    n = rng.randint(2, 30)
    kernel = line(n)
    step, other, const = rng.choice((-2, -1, 1, 2, 3)), rng.choice((0, 0, 1)), 0
    terms = [(0, other), (1, step)] if other else [(1, step)]
    low = rng.randint(-5, 10)
    cond = Cond(Affine(tuple(terms), const), low, low + rng.randint(1, 20))
    found = pieces(kernel, [cond], 1, n, {})
    assert found[0][0] == 0 and found[-1][1] == n - 1
    assert all(a[1] + 1 == b[0] for a, b in pairwise(found))

    def holds(at: int, beside: int) -> bool:
        return cond.low <= step * at + other * beside < cond.high

    for first, last in found:
        seen = [{holds(i, j) for j in range(4)} for i in range(first, last + 1)]
        assert all(s == seen[0] for s in seen) or any(len(s) == 2 for s in seen)


def test_a_padded_pool_is_guarded_at_its_edges_alone() -> None:
    b = Builder()
    padded = b.pad(b.input("x", F32, (4, 64, 64)), (0, 1, 1), (0, 1, 1), 0.0)
    rows = b.window(padded, 1, 3)
    both = b.window(rows, 2, 3)
    kernel = normalise(kernel_of(b, [b.reduce("max", both, (3, 4))]))
    conds = list(guards(kernel, (1 << len(kernel.exprs)) - 1))
    axis = COLUMN.vector_axis(kernel)
    assert axis is not None and conds
    assert pieces(kernel, conds, axis, 64, {}) == ((0, 0), (1, 62), (63, 63))


def test_many_joined_parts_are_one_loop() -> None:
    """Each piece is code of its own, so that there are few."""
    b = Builder()
    parts = [b.input(f"x{i}", F32, (8, 5 + i)) for i in range(2 * MOST)]
    kernel = normalise(kernel_of(b, [b.un("exp", b.concat(parts, 1))]))
    conds = list(guards(kernel, (1 << len(kernel.exprs)) - 1))
    axis = MAP.vector_axis(kernel)
    assert axis is not None
    assert len(pieces(kernel, conds, axis, kernel.extents[axis], {})) == 1
    assert MAP.cost(kernel, model_of(CPU)) is not None


def joined_sum(rows: tuple[int, int], columns: int, out: int = 3) -> Kernel:
    """A product with the rows of two inputs, one behind the other."""
    b = Builder()
    parts = [b.input(f"x{i}", F32, (n, columns)) for i, n in enumerate(rows)]
    x = b.concat(parts, 0)
    w = b.input("w", F32, (out, sum(rows)))
    full = (out, sum(rows), columns)
    wide = [
        b.expand(b.reshape(w, (out, sum(rows), 1)), full),
        b.expand(b.reshape(x, (1, sum(rows), columns)), full),
    ]
    return kernel_of(b, [b.reduce("sum", b.bin("mul", *wide), (1,))])


@pytest.mark.parametrize("rows", [(5, 7), (130, 140)], ids=["few", "in blocks"])
@pytest.mark.parametrize("family", [ROW, COLUMN], ids=lambda f: f.name)
def test_a_sum_over_joined_rows_asks_no_row(
    family: Family, rows: tuple[int, int]
) -> None:
    kernel = joined_sum(rows, 24)
    assert any(guards(kernel, (1 << len(kernel.exprs)) - 1))
    body = show(lowered(family, kernel, CPU))
    assert "select" not in body and "if " not in body
    check_interpreted(family, kernel, CPU)
