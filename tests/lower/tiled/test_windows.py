"""Products with a side that slides, whose windows the engine for copies brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.choice import Holes
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Fill, Tensor
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import BY_GROUP, BY_WARP
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.laid import LAID
from rewrite.lower.tiles.ir import Digit, Load, TileProgram
from rewrite.lower.tiles.ir import walk as walk_tiles
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import verify as verify_loops
from rewrite.lower.walking import walk
from tests.backends import emulate

from ..harness import buffers_for, close, reference
from .convolutions import convolution, random_convolution
from .test_products import HOPPER, SMALL, WIDE


def holes(rows: int = 64, columns: int = 64) -> Holes:
    named = {"rows": rows, "columns": columns, "depth": 64, "stages": 3, "down": 1,
             "across": 1, "beside": 128}  # fmt: skip
    return tuple(sorted(named.items()))


SOME = holes()


def small(kernel: Kernel, rows: int = 64, columns: int = 64) -> TileProgram | str:
    model = replace(model_of(HOPPER), units=8)
    if BY_GROUP.accepts(kernel) is not None:
        return "no product"
    return BY_GROUP.program(kernel, model, holes(rows, columns))


def tensors(program: TileProgram) -> list[Tensor]:
    fills = (s for s in walk(lowered(program).body) if isinstance(s, Fill))
    return [b.tensor for s in fills for b in s.boxes]


def test_random_convolutions() -> None:
    taken = slid = 0
    for seed in range(120):
        kernel = random_convolution(seed)
        made = small(kernel, 64, (64, 128)[seed % 2])
        if isinstance(made, str):
            continue
        assert parse(show(verify(made, 227 << 10))) == made
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)
        taken += 1
        slid += any(t.windows for t in tensors(made))
    assert taken > 60 and slid > 50, (taken, slid)


def test_random_convolutions_as_loops() -> None:
    """Each access checked, copies as late and as early as may be."""
    count = 0
    for seed in range(200, 230):
        kernel = random_convolution(seed)
        made = small(kernel)
        if isinstance(made, str):
            continue
        function = verify_loops(lowered(made))
        assert parse_loops(show_loops(function)) == function
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        run_loops(function, buffers)
        close(kernel, buffers[kernel.reads :], want)
        count += 1
    assert count > 15, count


def test_by_one_warp_each() -> None:
    """The same statements; channels side by side are copied by 16 bytes."""
    wide = 0
    some = tuple(sorted(SMALL.items()))
    for seed in range(60):
        kernel = random_convolution(seed)
        made = BY_WARP.program(kernel, model_of(WIDE), some)
        assert isinstance(made, TileProgram), made
        assert parse(show(verify(made, 227 << 10))) == made
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        for go in (run, run_loops)[: 2 - seed % 4 // 2]:
            held = [b.copy() for b in buffers]
            if go is run:
                run(made, held)
            else:
                run_loops(verify_loops(lowered(made)), held)
            close(kernel, held[kernel.reads :], want)
        windows = [x for g in made.body for x in walk_tiles(g.body)
                   if isinstance(x, Load) and x.tile.space == "shared"]  # fmt: skip
        wide += all(Digit(x.tile.axes[-1], "lane", 8) in x.tile.layout for x in windows)
    assert wide > 20, wide


def test_laid_out_before() -> None:
    """Images whose channels come first, or are computed, lie with their margin in
    scratch, channels last."""
    count = slid = 0
    for seed in range(300, 360):
        kernel = random_convolution(seed, first=True)
        if LAID.accepts(kernel) is not None:
            continue
        made = LAID.program(kernel, replace(model_of(HOPPER), units=8), SOME)
        if isinstance(made, str):
            print(seed, made)
            continue
        assert parse(show(verify(made, 227 << 10))) == made
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)
        count, slid = count + 1, slid + any(t.windows for t in tensors(made))
    assert count > 30 and slid > 30, (count, slid)


STRIDED = Frame(1, (2, 1), (1, 2), (1, 0), (0, 2))


@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize("order", ["mkc", "kcm"])
def test_the_text(order: str, tmp_path: Path) -> None:
    """Boxes of windows land where instructions read."""
    kernel = convolution((2, 9, 7, 72), 72, (3, 2), STRIDED, order=order)
    made = small(kernel)
    assert isinstance(made, TileProgram), made
    assert any(t.windows for t in tensors(made))
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)
