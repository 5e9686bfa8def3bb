"""Rings that threads beside the team fill: what is refused shows in values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16, F16
from rewrite.lower.evaluate import Trap
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Fill
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import BY_GROUP
from rewrite.lower.tiles.interpret import TileError, run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import faults, verify
from rewrite.lower.verify import faults as loop_faults
from rewrite.lower.verify import verify as verify_loops
from rewrite.lower.walking import walk
from tests.backends import emulate
from tests.effort import draws

from ..harness import buffers_for, close, reference
from .products import random_product
from .test_products import HOPPER, matmul

SUMS = "m/thread 4, n/register 8, m/register 2, m/thread 8, n/thread 4, n/lane 2"
BESIDE = f"""\
tiles brought(b0: bf16[16384], b1: bf16[16384], out b2: f32[4096]) {{
  grid over m < 64, k < 64, n < 64 team 128 resident 2 laid {SUMS}, k/register 64 {{
    mutable a: f32[m, n] = 0.0
    loop l < 256 by 64 stages 3 {{
      ahead beside 128 {{
        x: shared bf16[m, k] = load b0[m * 256 + (l + k)]
        y: shared bf16[k, n] = load b1[(l + k) * 64 + n]
      }}
      full
      mma a by x and y over k warps 4
      release 1
    }}
    store b2[m * 64 + n] = a over m, n
  }}
}}
"""
MUTANTS = {
    "no wait": ("      full\n", "", "full and free other than once"),
    "read before it is full": (
        "      full\n      mma a by x and y over k warps 4\n",
        "      mma a by (x: bf16) and (y: bf16) over k warps 4\n      full\n",
        "'x' is read before",
    ),
    "free while it is multiplied": (
        "      mma a by x and y over k warps 4\n      release 1\n",
        "      release 0\n      mma a by x and y over k warps 4\n",
        "'y' is overwritten where",
    ),
    "never free": ("      release 1\n", "", "full and free other than once"),
    "free twice": ("release 1\n", "release 1\n      release 1\n", "other than once"),
    "free too late": ("release 1", "release 3", "a place that is free only after it"),
    "one place": ("stages 3", "stages 1", "a place that is free only after it"),
    "computed beside": ("      }\n", "        z: f32[] = 1.0\n      }\n", "than copy"),
    "a wait of the team": (
        "      full\n",
        "      full\n      wait 0\n",
        "not the team's",
    ),
    "odd rows": ("m * 256 + (l", "m * 252 + (l", "steps of [1, 252]"),
    "in no rows": ("m * 256 + (l + k)", "m + (l + k) * 64", "does not lie in rows"),
    "beyond": ("m * 256 + (l + k)", "m * 260 + (l + k)", "accessed at"),
    "full of nothing": ("    store", "    full\n    store", "a full where no ring is"),
    "free of nothing": ("    store", "    release 0\n    store", "a release where no"),
    "two hands": (
        "        y:",
        "      }\n      ahead {\n        y:",
        "that the team and threads beside it",
    ),
}
SENT = BESIDE.replace("f32[4096]", "bf16[4096]").replace(
    "    store b2[m * 64 + n] = a over m, n\n",
    "    v: f32[m, n] = a * 0.5\n    store b2[m * 64 + n] = v over m, n through 2\n",
)
UNSENT = {
    "another type": ("out b2: bf16", "out b2: f32", "does not store 'b2': elements of"),
    "rows across": ("b2[m * 64 + n]", "b2[n * 64 + m]", "it does not lie in rows"),
    "while it is computed": ("= v over", "= v + 1.0 over", "sent while it is computed"),
    "laid otherwise": (
        "n/register 8, m/register 2",
        "m/register 2, n/register 8",
        "is not as instructions leave it",
    ),
    "some points": (
        "m, n through",
        "m, n where m + n < 80 through",
        "its test is about",
    ),
}


@pytest.mark.parametrize(("old", "new", "says"), UNSENT.values(), ids=UNSENT)
def test_what_the_engine_does_not_store(old: str, new: str, says: str) -> None:
    assert old in SENT
    assert not faults(parse(SENT))
    found = faults(parse(SENT.replace(old, new, 1)))
    assert any(says in f for f in found), found


def test_pieces_are_shared() -> None:
    """Two of 16 x 64 elements for each of four warps."""
    more = 4 * 2 * 16 * 64 * 2
    shared = 3 * (2 * 64 * 64 * 2 + 2 * 8) + more
    assert not faults(parse(SENT), shared)
    assert faults(parse(SENT), shared - 1)
    assert parse(show(parse(SENT))) == parse(SENT)


def values(text: str) -> np.ndarray:
    sides = [np.arange(16384) % 7 - 3.0, np.arange(16384) % 5 - 2.0]
    out = np.zeros(4096, np.float32)
    run(parse(text), [*(x.astype(BF16.numpy) for x in sides), out])
    return out


WANT = (
    (np.arange(16384) % 7 - 3.0).reshape(64, 256)
    @ (np.arange(16384) % 5 - 2.0).reshape(256, 64)
).ravel()


def test_a_right_program_passes_and_reads_back() -> None:
    program = verify(parse(BESIDE), 48 << 10 | 48)
    assert parse(show(program)) == program
    assert np.array_equal(values(BESIDE), WANT)
    made = verify_loops(lowered(program))
    assert parse_loops(show_loops(made)) == made


@pytest.mark.parametrize(("old", "new", "says"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_caught(old: str, new: str, says: str) -> None:
    assert old in BESIDE
    found = faults(parse(BESIDE.replace(old, new, 1)))
    assert any(says in f for f in found), found


@pytest.mark.parametrize("name", ["no wait", "free while it is multiplied"])
def test_what_is_early_or_late_shows_in_values(name: str) -> None:
    old, new, _ = MUTANTS[name]
    assert not np.array_equal(values(BESIDE.replace(old, new, 1)), WANT)


@pytest.mark.parametrize("name", ["never free", "free too late", "one place"])
def test_a_deadlock_is_one(name: str) -> None:
    old, new, _ = MUTANTS[name]
    with pytest.raises(TileError, match="waits for places that are not free"):
        values(BESIDE.replace(old, new, 1))


def test_rings_are_shared_with_their_barriers() -> None:
    """Three places for two tiles of 64 x 64 elements of two bytes, and two barriers."""
    shared = 3 * (2 * 64 * 64 * 2 + 2 * 8)
    assert not faults(parse(BESIDE), shared)
    assert faults(parse(BESIDE), shared - 1)


# ---- as loops

ASIDE = "serial l < 256 by 64 {\n        let n5"
LOOPS = show_loops(lowered(parse(BESIDE)))
BROKEN = {
    "filled by the group": ("full r4[n15]", "fill r4[n15] {\n}", "by the group itself"),
    "a barrier beside": ("fill r4[n5] {", "barrier\nfill r4[n5] {", "a Barrier beside"),
    "of no ring": ("full r4[n15]", "full r9[n15]", "'r9' is no ring"),
    "no places": ("ring r4 of 3", "ring r4 of 0", "a ring of 0 places"),
    "nobody beside": ("beside 128", "beside 0", "0 threads beside"),
    "another buffer": ("= b0 at", "= b2 at", "rows of 64 f32"),
    "beyond the buffer": ("64 of 64 by 256", "64 of 66 by 256", "a tensor of"),
    "odd steps": ("64 of 64 by 256", "64 of 64 by 250", "a tensor by"),
    "wide boxes": ("in 64 of 256", "in 128 of 256", "rows of 128 bf16"),
}


@pytest.mark.parametrize(("old", "new", "says"), BROKEN.values(), ids=BROKEN)
def test_loops_that_break_the_rules(old: str, new: str, says: str | None) -> None:
    assert old in LOOPS, LOOPS
    found = [str(f) for f in loop_faults(parse_loops(LOOPS.replace(old, new, 1)))]
    assert any(says in f for f in found) if says else not found, found


SENDING = show_loops(lowered(parse(SENT)))
UNSOUND = {
    "of another size": ("send 64 64", "send 64 128", "does not hold what is sent"),
    "of other groups": ("64 by 1: v", "64 by 2: v", "do not share"),
    "read only": ("= b2 at", "= b1 at", "which is read only"),
    "no pieces": ("shared o5: bf16[8192]", "shared o5: bf16[8256]", "are no pieces"),
    "of all rows": ("16 of 64 by 64", "64 of 64 by 64", "sent by boxes of"),
    "of what is shared": ("by 1: v18", "by 1: x2", "does not hold what is sent"),
}


@pytest.mark.parametrize(("old", "new", "says"), UNSOUND.values(), ids=UNSOUND)
def test_sends_that_break_the_rules(old: str, new: str, says: str | None) -> None:
    assert old in SENDING, SENDING
    found = [str(f) for f in loop_faults(parse_loops(SENDING.replace(old, new, 1)))]
    assert any(says in f for f in found) if says else not found, found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("free r4[3]", "free r4[2]", "is free after"),
        ("if 64 <= l", "if 128 <= l", "is free after"),
        ("fill r4[n5]", "fill r4[n5 + 1]", "is filled after"),
        ("full r4[n15]", "full r4[n15 + 1]", "turn 0 of 'r4' is free after -1"),
        (ASIDE, ASIDE.replace("256", "192"), "nothing fills it"),
        (ASIDE, ASIDE.replace("256", "512"), "a group ends"),
    ],
)
def test_traps_of_the_interpreter(old: str, new: str, says: str) -> None:
    assert old in LOOPS, LOOPS
    function = parse_loops(LOOPS.replace(old, new, 1))
    out = np.zeros(4096, np.float32)
    sides = [np.ones(16384, BF16.numpy) for _ in range(2)]
    with pytest.raises(Trap, match=says):
        run_loops(function, [*sides, out])


THIN = {"rows": 64, "columns": 64, "depth": 64, "stages": 2, "down": 1, "across": 1,
        "beside": 128}.items()  # fmt: skip


def small(columns: int, stages: int, teams: int, seed: int) -> TileProgram | str:
    kernel = random_product(seed, (BF16, F16))
    holes = {"rows": 64, "columns": columns, "depth": 64, "stages": stages, "down": 1,
             "across": 1, "beside": 128}  # fmt: skip
    model = replace(model_of(HOPPER), units=2 * teams)
    if BY_GROUP.accepts(kernel) is not None:
        return "no product"
    return BY_GROUP.program(kernel, model, tuple(sorted(holes.items())))


def test_random_products_as_loops() -> None:
    """Turned, batched, sliced sides, sizes that nothing divides; several instances a
    team; every access checked, copies as late and as early as may be."""
    count = shapes = 0
    for seed in range(400, 400 + draws(200, 2)):
        made = small(64 + 64 * (seed % 2), 2 + seed % 3, 1 + seed % 3, seed)
        if isinstance(made, str):
            continue
        kernel = random_product(seed, (BF16, F16))
        function = verify_loops(lowered(verify(made, 227 << 10)))
        assert parse_loops(show_loops(function)) == function
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        run_loops(function, buffers)
        close(kernel, buffers[kernel.reads :], want)
        boxes = [b for s in walk(function.body) if isinstance(s, Fill) for b in s.boxes]
        shapes += max(len(b.corner) for b in boxes) > 2
        count += 1
    assert count > draws(15, 2) and shapes > draws(3, 2), (count, shapes)


@pytest.mark.sweep(2)
@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize(
    ("size", "turned", "holes", "teams"),
    [
        ((100, 200, 136), "", (64, 64, 3, 1), 3),
        ((72, 136, 200), "ab", (64, 128, 2, 1), 2),
        ((136, 72, 64), "a", (128, 64, 4, 2), 1),
        ((130, 200, 72), "b", (128, 192, 2, 2), 2),
        ((17, 200, 136), "", (64, 64, 3, 1), 3),
        ((9, 72, 200), "b", (64, 64, 2, 1), 2),
    ],
)
def test_the_text(
    size: tuple[int, int, int], turned: str, holes: tuple[int, ...], teams: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Barriers count full and free places; boxes land where instructions read."""
    kernel = matmul(*size, turned)
    rows, columns, stages, down = holes
    named = {"rows": rows, "columns": columns, "depth": 64, "stages": stages,
             "down": down, "across": 1, "beside": 128}  # fmt: skip
    model = replace(model_of(HOPPER), units=2 * teams)
    made = BY_GROUP.program(kernel, model, tuple(sorted(named.items())))
    assert isinstance(made, TileProgram), made
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)


def test_rows_beyond_the_end_are_not_brought() -> None:
    """Of 17 rows 24, since eight are mixed: all of what is summed, and of what has
    several tiles."""
    for (m, n, k), want in (((17, 200, 72), [24, 64]), ((72, 200, 8), [64, 64])):
        made = BY_GROUP.program(matmul(m, n, k), model_of(HOPPER), tuple(sorted(THIN)))
        assert isinstance(made, TileProgram), made
        fills = [s for s in walk(lowered(made).body) if isinstance(s, Fill)]
        assert [b.rows for b in fills[0].boxes] == want
