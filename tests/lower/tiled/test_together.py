"""Teams side by side that bring at once what both want, and tiles whose columns are no
whole panels."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16, F16, F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import coefficient, normalise
from rewrite.lower.evaluate import Trap
from rewrite.lower.fragments import HALVES
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Fill, Function, Send, paired
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import BY_GROUP
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.products import Sides, sides_of
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import faults, verify
from rewrite.lower.verify import faults as loop_faults
from rewrite.lower.verify import verify as verify_loops
from rewrite.lower.walking import walk
from tests.backends import emulate
from tests.effort import draws

from ..harness import buffers_for, close, kernel_of, reference
from .products import random_product
from .test_narrow import few_bits
from .test_products import HOPPER, matmul

SUMS = "m/thread 4, n/register 8, m/register 2, m/thread 8, n/thread 4, n/lane 2"
TEAMS = "team 128 resident 2 together 2"
TOGETHER = f"""\
tiles halves(b0: bf16[32768], b1: bf16[16384], out b2: f32[8192]) {{
  grid g < 2 over m < 64, k < 64, n < 64 {TEAMS} laid {SUMS}, k/register 64 {{
    mutable a: f32[m, n] = 0.0
    loop l < 256 by 64 stages 3 {{
      ahead beside 128 {{
        x: shared bf16[m, k] = load b0[(g * 64 + m) * 256 + (l + k)]
        y: shared bf16[k, n] = load b1[(l + k) * 64 + n]
      }}
      full
      mma a by x and y over k warps 4
      release 1
    }}
    store b2[(g * 64 + m) * 64 + n] = a over m, n
  }}
}}
"""
MUTANTS = {
    "three": ("together 2", "together 3", "3 teams together"),
    "one too many": ("resident 2", "resident 3", "3 teams, 2 together"),
    "an odd instance": ("g < 2 over", "g < 1 over", "1 instances"),
    "nothing in common": ("b1[(l", "b1[g * 0 + (l", "bring nothing together"),
    "turns left out": ("stages 3", "stages 3 where l <= g * 64", "leave turns out"),
}


def halves(function: Function) -> int:
    fills = (s for s in walk(function.body) if isinstance(s, Fill))
    return sum(b.both for s in fills for b in s.boxes)


def test_what_both_want_is_brought_once() -> None:
    program = verify(parse(TOGETHER))
    assert parse(show(program)) == program
    function = verify_loops(lowered(program))
    assert parse_loops(show_loops(function)) == function
    assert halves(function) == 1
    assert paired(tuple(walk(function.body)))
    left = np.arange(32768) % 7 - 3.0
    right = np.arange(16384) % 5 - 2.0
    want = (left.reshape(128, 256) @ right.reshape(256, 64)).ravel()
    sides = [x.astype(BF16.numpy) for x in (left, right)]
    outs = [np.zeros(8192, np.float32) for _ in "ab"]
    run(program, [*sides, outs[0]])
    run_loops(function, [*sides, outs[1]])
    assert all(np.array_equal(out, want) for out in outs)


@pytest.mark.parametrize(("old", "new", "says"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_caught(old: str, new: str, says: str) -> None:
    assert old in TOGETHER
    found = faults(parse(TOGETHER.replace(old, new, 1)))
    assert any(says in f for f in found), found


def test_halves_of_different_boxes_do_not_meet() -> None:
    """Each block's left side is its own: were it brought for both, one would have the
    wrong rows."""
    text = show_loops(lowered(parse(TOGETHER)))
    (own,) = (x for x in text.splitlines() if "= b0 at" in x)
    wrong = parse_loops(text.replace(own, f"{own} both"))
    assert not loop_faults(wrong)
    buffers = [np.ones(32768, BF16.numpy), np.ones(16384, BF16.numpy)]
    with pytest.raises(Trap, match="halves of different boxes"):
        run_loops(wrong, [*buffers, np.zeros(8192, np.float32)])


def test_blocks_bring_halves_two_by_two() -> None:
    text = show_loops(lowered(parse(TOGETHER)))
    assert "block g < 2" in text
    found = [
        str(f)
        for f in loop_faults(parse_loops(text.replace("block g < 2", "block g < 3")))
    ]
    assert any("two by two" in f for f in found), found
    odd = text.replace("64 of 64 by 1, 64 of", "64 of 64 by 1, 60 of")
    found = [str(f) for f in loop_faults(parse_loops(odd))]
    assert any("halves of 60 rows" in f for f in found), found


def made(kernel: Kernel, teams: int, **holes: int) -> TileProgram | str:
    named = {"rows": 64, "depth": 64, "down": 1, "across": 1, "beside": 128, **holes}
    model = replace(model_of(HOPPER), units=2 * teams)
    if BY_GROUP.accepts(kernel) is not None:
        return "no product"
    return BY_GROUP.program(kernel, model, tuple(sorted(named.items())))


def checked(kernel: Kernel, program: TileProgram) -> Function:
    function = verify_loops(lowered(verify(program, 227 << 10)))
    assert parse_loops(show_loops(function)) == function
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run_loops(function, buffers)
    close(kernel, buffers[kernel.reads :], want)
    return function


def sends(function: Function) -> int:
    return sum(isinstance(s, Send) for s in walk(function.body))


def test_random_products_together() -> None:
    """Turned sides, sizes that nothing divides, several instances a team, one under the
    other or abreast; columns that are no whole panels, products that are turned."""
    found = {0: 0, 1: 0}
    for seed in range(draws(40, 4)):
        rng = random.Random(seed)
        m, n, k = (8 * rng.randint(5, 30) for _ in range(3))
        kernel = matmul(m, n, k, rng.choice(("", "a", "b", "ab")), rng.choice(HALVES))
        turned = seed % 2
        program = made(
            kernel, 2 * rng.randint(1, 3), columns=8 * rng.randint(8, 20),
            stages=2 + seed % 3, pairs=rng.randint(1, 2), turned=turned,
        )  # fmt: skip
        if isinstance(program, TileProgram):
            function = checked(kernel, program)
            (o,) = kernel.outputs
            flat = sides_of(BY_GROUP.flat(kernel), HALVES)
            assert isinstance(flat, Sides)
            along = coefficient(o.offset, flat.turned.n) == 1
            assert halves(function) and (sends(function) or along or not turned)
            found[turned] += 1
    assert min(found.values()) >= draws(3, 3), found


def test_random_products_of_any_columns() -> None:
    """Computed and sliced sides, batches, whatever follows."""
    count = sent = 0
    for seed in range(600, 600 + draws(160, 2)):
        kernel = random_product(seed, (BF16, F16))
        columns = (72, 112, 144, 176, 224)[seed % 5]
        program = made(kernel, 1 + seed % 3, columns=columns, stages=2, turned=seed % 2)
        if isinstance(program, TileProgram):
            count += 1
            sent += sends(checked(kernel, program))
    assert count > draws(8, 2) and sent, (count, sent)


@pytest.mark.sweep(2)
@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize(
    ("size", "turned", "holes", "teams"),
    [
        ((100, 200, 136), "", (64, 80, 3, 1, 1, 0), 4),
        ((200, 200, 200), "ab", (64, 96, 2, 1, 1, 0), 2),
        ((136, 200, 64), "a", (128, 160, 4, 2, 0, 0), 1),
        ((240, 200, 72), "b", (128, 176, 2, 2, 2, 0), 2),
        ((200, 256, 72), "", (128, 88, 2, 2, 1, 1), 2),
        ((300, 248, 136), "", (64, 72, 3, 1, 1, 1), 4),
        ((200, 128, 72), "b", (64, 152, 2, 1, 0, 1), 1),
    ],
)
def test_the_text(
    size: tuple[int, int, int], turned: str, holes: tuple[int, ...], teams: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Halves of boxes land where whole ones would; pieces of rows end where rows do."""
    kernel = matmul(*size, turned)
    rows, columns, stages, down, pairs, over = holes
    program = made(
        kernel, teams, rows=rows, columns=columns, stages=stages, down=down,
        pairs=pairs, turned=over,
    )  # fmt: skip
    assert isinstance(program, TileProgram), program
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(program), tmp_path, *buffers), want)


def single(m: int, n: int, k: int, turned: str) -> Kernel:
    """Of the upper bits of f32."""
    b = Builder()
    x = b.input("x", F32, (k, m) if "a" in turned else (m, k))
    w = b.input("w", F32, (n, k) if "b" in turned else (k, n))
    x = b.permute(x, (1, 0)) if "a" in turned else x
    w = b.permute(w, (1, 0)) if "b" in turned else w
    return normalise(kernel_of(b, [b.matmul(few_bits(b, x), few_bits(b, w))]))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("turned", ["", "ab"])
def test_a_left_side_that_lies_across_is_held(turned: str, tmp_path: Path) -> None:
    """Each thread reads what it multiplies; then the result is the transpose's."""
    kernel = single(100, 136, 72, turned)
    for rows, columns, down in ((64, 64, 1), (128, 96, 2)):
        program = made(
            kernel, 2, rows=rows, columns=columns, stages=2, down=down, depth=32
        )
        assert isinstance(program, TileProgram), program
        assert parse(show(program)) == program
        assert "held f32" in show(program)
        checked(kernel, program)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(program), tmp_path, *buffers), want)
