"""Products with a side that slides, whose windows the engine for copies brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewrite.backends.devices import device
from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import BF16, F8E4M3, F8E5M2, F32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.evaluate import Trap
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Fill, Tensor, panel
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import BY_GROUP, BY_WARP
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import Digit, Load, Loop, Store, TileProgram
from rewrite.lower.tiles.ir import walk as walk_tiles
from rewrite.lower.tiles.laid import LAID
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import faults
from rewrite.lower.verify import verify as verify_loops
from rewrite.lower.walking import walk
from tests.backends import emulate
from tests.effort import draws

from ..harness import buffers_for, check_launched, close, kernel_of, reference
from .convolutions import convolution, filter_gradient, random_convolution
from .test_products import HOPPER, SMALL, WIDE


def holes(rows: int = 64, columns: int = 64, pairs: int = 0, depth: int = 64) -> Holes:
    named = {"rows": rows, "columns": columns, "depth": depth, "stages": 3, "down": 1,
             "across": 1, "beside": 128, "pairs": pairs}  # fmt: skip
    return tuple(sorted(named.items()))


SOME = holes()


def small(
    kernel: Kernel, rows: int = 64, columns: int = 64, pairs: int = 0, depth: int = 64
) -> TileProgram | str:
    model = replace(model_of(HOPPER), units=8)
    if BY_GROUP.accepts(kernel) is not None:
        return "no product"
    return BY_GROUP.program(kernel, model, holes(rows, columns, pairs, depth))


def tensors(program: TileProgram) -> list[Tensor]:
    fills = (s for s in walk(lowered(program).body) if isinstance(s, Fill))
    return [b.tensor for s in fills for b in s.boxes]


def interpreted(kernel: Kernel, program: TileProgram) -> None:
    assert parse(show(verify(program, 227 << 10))) == program
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(program, buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_random_convolutions() -> None:
    taken = slid = 0
    for seed in range(draws(80, 2)):
        kernel = random_convolution(seed)
        made = small(kernel, 64, (64, 128)[seed % 2])
        if isinstance(made, str):
            continue
        interpreted(kernel, made)
        taken += 1
        slid += any(t.windows for t in tensors(made))
    assert taken > draws(60, 2) and slid > draws(40, 2), (taken, slid)


def test_random_convolutions_as_loops() -> None:
    """Each access checked, copies as late and as early as may be."""
    count = 0
    for seed in range(200, 200 + draws(16, 4)):
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
    assert count > draws(8, 4), count


@pytest.mark.parametrize("apart", [False, True])
def test_gradients_of_filters(apart: bool) -> None:
    """Windows are walked along what is summed; also those of one image after another,
    as in parts of long sums."""
    count = 0
    for seed in range(draws(24, 2)):
        kernel = filter_gradient(seed, apart)
        made = small(kernel)
        if isinstance(made, str):
            continue
        interpreted(kernel, made)
        count += any(t.windows for t in tensors(made))
    assert count > draws(16, 2), count


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", range(6))
def test_gradients_as_loops(seed: int) -> None:
    kernel = filter_gradient(seed, seed > 3)
    made = small(kernel)
    assert isinstance(made, TileProgram), made
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run_loops(verify_loops(lowered(made)), buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_by_one_warp_each() -> None:
    """The same statements; channels side by side are copied by 16 bytes."""
    wide = 0
    some = tuple(sorted(SMALL.items()))
    for seed in range(draws(32, 4)):
        kernel = random_convolution(seed)
        made = BY_WARP.program(kernel, model_of(WIDE), some)
        assert isinstance(made, TileProgram), made
        assert parse(show(verify(made, 227 << 10))) == made
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        for go in (run, run_loops)[: 1 + (seed % 8 == 0)]:
            held = [b.copy() for b in buffers]
            if go is run:
                run(made, held)
            else:
                run_loops(verify_loops(lowered(made)), held)
            close(kernel, held[kernel.reads :], want)
        windows = [x for g in made.body for x in walk_tiles(g.body)
                   if isinstance(x, Load) and x.tile.space == "shared"]  # fmt: skip
        wide += all(Digit(x.tile.axes[-1], "lane", 8) in x.tile.layout for x in windows)
    assert wide > draws(10, 4), wide


def test_laid_out_before() -> None:
    """Images whose channels come first, or are computed, lie with their margin in
    scratch, channels last."""
    count = slid = 0
    for seed in range(300, 300 + draws(60, 2)):
        kernel = random_convolution(seed, first=True)
        if LAID.accepts(kernel) is not None:
            continue
        made = LAID.program(kernel, replace(model_of(HOPPER), units=8), SOME)
        if isinstance(made, str):
            continue
        interpreted(kernel, made)
        count, slid = count + 1, slid + any(t.windows for t in tensors(made))
    assert count > draws(30, 2) and slid > draws(30, 2), (count, slid)


STRIDED = Frame(1, (2, 1), (1, 2), (1, 0), (0, 2))


@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize(("order", "pairs"), [("mkc", 0), ("kcm", 0), ("mkc", 1)])
def test_the_text(order: str, pairs: int, tmp_path: Path) -> None:
    """Boxes of windows land where instructions read."""
    kernel = convolution((2 + 6 * pairs, 9, 7, 72), 72, (3, 2), STRIDED, order=order)
    made = small(kernel, pairs=pairs)
    assert isinstance(made, TileProgram), made
    assert any(t.windows for t in tensors(made))
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)


def test_windows_are_brought_by_each_team_for_itself() -> None:
    """A half of them does not begin a number of rows further down in the image."""
    made: list[TileProgram] = []
    for filters, pairs in ((64, 1), (64, 2), (128, 1), (128, 2)):
        program = small(
            convolution((8, 9, 7, 64), filters, (3, 2), STRIDED), pairs=pairs
        )
        made += [program] if isinstance(program, TileProgram) else []
    assert len(made) > 1
    for program in made:
        fills = [s for s in walk(lowered(program).body) if isinstance(s, Fill)]
        boxes = [b for s in fills for b in s.boxes]
        assert {b.both for b in boxes if b.tensor.windows} == {False}
        assert {b.both for b in boxes if not b.tensor.windows} == {True}


def frame(axes: int, dilation: int = 1, pad: int = 0) -> Frame:
    return Frame(1, (1,) * axes, (dilation,) * axes, (pad,) * axes, (pad,) * axes)


@pytest.mark.parametrize(
    ("image", "kernel", "how", "says"),
    [
        ((1, 300, 300, 64), (4, 4), frame(2, dilation=90), "too large"),
        ((1, 9, 9, 9, 64), (3, 3, 3), frame(3, pad=17), "from (-17, -17, -17) on"),
        ((2, 9, 9, 64), (3, 3), Frame(1, (9, 9), (1, 1), (1, 1), (9, 9)), "by (9, 9)"),
        ((2, 4, 4, 4, 4, 64), (3,) * 4, frame(4), "too large"),
    ],
)
def test_windows_that_the_engine_has_no_room_for(
    image: tuple[int, ...], kernel: tuple[int, ...], how: Frame, says: str
) -> None:
    assert says in str(small(convolution(image, 64, kernel, how)))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("of", [F8E4M3, F8E5M2, BF16])
@pytest.mark.parametrize("channels", [48, 128])
def test_sides_that_are_cast_before_they_are_padded(of: DType, channels: int) -> None:
    """Small floats, whose sums are of f32, come as they are stored."""
    b = Builder()
    x, w = b.input("x", of, (2, 9, 7, channels)), b.input("w", of, (64, 3, 3, channels))
    x, w = (b.permute(b.cast(v, F32), (0, 3, 1, 2)) for v in (x, w))
    y = b.add("conv", (x, w, b.const(0, F32, (64,))), (frame(2, pad=1).vector,))
    kernel = normalise(kernel_of(b, [b.permute(b.cast(y, BF16), (0, 2, 3, 1))]))
    made = small(kernel, depth=panel(of))
    assert isinstance(made, TileProgram), made
    assert any(t.windows for t in tensors(made))
    for go in (run, None):
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        if go is None:
            run_loops(verify_loops(lowered(verify(made, 227 << 10))), buffers)
        else:
            go(made, buffers)
        close(kernel, buffers[kernel.reads :], want)


def test_channels_are_in_whole_panels() -> None:
    """Those beyond the last one are 0: of both sides, so that no garbage is added."""
    made = small(convolution((2, 9, 7, 24), 64, (3, 3), frame(2, pad=1)))
    assert isinstance(made, TileProgram), made
    (loop,) = (s for s in made.body[0].body if isinstance(s, Loop))
    assert loop.axes[0].extent == 9 * 64
    assert {t.extents[0] for t in tensors(made)} == {24}


def test_results_are_rows_again() -> None:
    """Windows one after the other are rows of the result, which the engine stores."""
    made = small(convolution((3, 9, 7, 64), 64, (3, 3), frame(2, pad=1)))
    assert isinstance(made, TileProgram), made
    (store,) = (s for s in walk_tiles(made.body[0].body) if isinstance(s, Store))
    assert store.through and "/" not in show(made).split("store")[1]


PLAIN = "windows 7 at -1 by 1"
MOVED = "l1 / 64 % 3, l1 / 192"
BROKEN = {
    "too many axes": (f"{PLAIN}, 9 at -1 by 1", PLAIN, "along 1"),
    "far before": (PLAIN, "windows 7 at -129 by 1", "from (-129, -1) on"),
    "far beyond": (PLAIN, "windows 7 at -1 by 40", "windows, by (40, 1)"),
    "in long steps": (PLAIN, "windows 7 at -1 by 9", "windows, by (9, 1)"),
    "moved too far": (MOVED, "l1 / 64 % 3, l1", "are moved by 0 .. 512"),
    "moved back": (MOVED, f"{MOVED} - 1", "by -1 .. 1"),
    "of both": ("9 at -1 by 1", "9 at -1 by 1 both", "both bring it"),
}


@pytest.mark.parametrize(("old", "new", "says"), BROKEN.values(), ids=BROKEN)
def test_loops_that_break_the_rules(old: str, new: str, says: str) -> None:
    made = small(convolution((3, 9, 7, 64), 64, (3, 3), frame(2, pad=1)))
    assert isinstance(made, TileProgram), made
    text = show_loops(lowered(made))
    assert old in text, text
    assert not faults(parse_loops(text))
    found = [str(f) for f in faults(parse_loops(text.replace(old, new, 1)))]
    assert any(says in f for f in found), found


def test_a_window_begins_where_one_is() -> None:
    kernel = convolution((3, 9, 7, 64), 64, (3, 3), frame(2, pad=1))
    made = small(kernel)
    assert isinstance(made, TileProgram), made
    text = show_loops(lowered(made))
    old = "% 7 + -1,"
    assert old in text, text
    wrong = parse_loops(text.replace(old, "% 7 + 6,", 1))
    with pytest.raises(Trap, match="no window of 'b0'"):
        run_loops(wrong, buffers_for(kernel))


def test_what_threads_gather_costs_what_they_work_out() -> None:
    """One by one (channels first) much more than by 16 bytes."""
    model = model_of(WIDE)
    first = convolution((8, 28, 28, 64), 64, (3, 3), frame(2, pad=1), first=True)
    last = convolution((8, 28, 28, 64), 64, (3, 3), frame(2, pad=1))
    slow, fast = (BY_WARP.parts(k, model) for k in (first, last))
    assert slow is not None and fast is not None
    assert slow.scalar > 3 * fast.scalar


def test_on_a_device() -> None:
    dev = device("cuda")
    if not dev.probe().ok:
        pytest.skip(dev.probe().detail)
    model, chosen = model_of(dev.caps()), list[tuple[Kernel, TileProgram]]()
    for seed in range(400, 460):
        kernel = random_convolution(seed, first=seed % 3 == 0)
        for family in (BY_GROUP, BY_WARP, LAID):
            made = family.accepts(kernel) or family.program(kernel, model, ())
            if isinstance(made, TileProgram):
                chosen.append((kernel, made))
    assert len(chosen) > 60
    check_launched(dev, chosen)
