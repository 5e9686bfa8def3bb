"""Loops of rows ask memory for what they are soon to read or write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewrite.egraph.ir.dtypes import F16, F32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import coefficient, normalise
from rewrite.lower.families.nests.prefetch import AHEAD, Ask, asks
from rewrite.lower.families.rows import ROW
from rewrite.lower.loops import Fetch
from rewrite.lower.model import model_of
from rewrite.lower.verify import verify
from rewrite.lower.walking import walk
from tests.lower.harness import (
    CPU,
    buffers_for,
    close,
    kernel_of,
    lowered,
    on_c,
    reference,
)

type Make = Callable[[Builder, int], int]
CLOSE = 4096  # bytes; what lies in more than four times as many is far


def total(b: Builder, x: int) -> int:
    return b.reduce("sum", x, [1])


def softmax(b: Builder, x: int) -> int:
    return b.macro("softmax", [x], (0, 1))


def centred(b: Builder, x: int) -> int:
    return b.bin("sub", *b.broadcast(x, total(b, x)))


def shifted(b: Builder, x: int) -> int:
    """What the busy loop reads is not all that its row needs."""
    scale = b.input("scale", b.type(x).dtype, b.shape(x))
    return b.bin("add", softmax(b, x), scale)


def kernel(make: Make, rows: int, width: int, dtype: DType = F32) -> Kernel:
    b = Builder()
    return normalise(kernel_of(b, [make(b, b.input("x", dtype, (rows, width)))]))


def asked(k: Kernel) -> list[list[tuple[str, int, bool]]]:
    """By loop: of which slot, elements from where it stands, to write."""
    todo = ROW.plan(k, model_of(CPU))
    found = asks(k, todo, CLOSE)
    return [[_short(a) for a in found[s]] for s in todo.steps if s in found]


def _short(a: Ask) -> tuple[str, int, bool]:
    assert coefficient(a.offset, 1) == 1
    return f"b{a.slot}", a.offset.const, a.write


def test_one_loop_asks_for_what_it_reads_a_little_later() -> None:
    assert asked(kernel(total, 9, 2048)) == [[("b0", AHEAD // 4, False)]]
    assert asked(kernel(total, 9, 4096, F16)) == [[("b0", AHEAD // 2, False)]]


def test_a_busy_loop_asks_for_the_next_row_and_for_where_this_one_goes() -> None:
    assert asked(kernel(softmax, 9, 700)) == [[("b0", 700, False), ("b1", 0, True)]]


def test_short_rows_ask_for_a_later_one() -> None:
    (loop,) = asked(kernel(softmax, 40, 256))
    assert loop == [("b0", 512, False), ("b1", 0, True)]


def test_what_later_loops_read_first_is_of_this_row() -> None:
    (loop,) = asked(kernel(shifted, 9, 700))
    assert loop == [("b0", 700, False), ("b1", 0, False), ("b2", 0, True)]


def test_rows_that_do_not_stay_close_are_asked_for_by_each_loop() -> None:
    found = asked(kernel(softmax, 3, 4000))
    assert found == [[("b0", AHEAD // 4, False)]] * 2


@pytest.mark.parametrize(
    "k",
    [
        kernel(total, 9, 900),  # comes by itself
        kernel(softmax, 90, 100),
        kernel(softmax, 2, 900),  # is there
        kernel(centred, 9, 700),  # waits for memory anyway
        kernel(lambda b, x: total(b, b.permute(x, (1, 0))), 700, 9),  # not side by side
    ],
)
def test_others_ask_for_nothing(k: Kernel) -> None:
    assert asked(k) == []


@pytest.mark.parametrize("make", [total, softmax, shifted])
@pytest.mark.parametrize("width", [1100, 1024, 4999])
def test_on_c(make: Make, width: int) -> None:
    """Hints reach beyond the buffers; each names a line once."""
    k = kernel(make, 300, width)
    f = verify(lowered(ROW, k, CPU))
    hints = [s for s in walk(f.body) if isinstance(s, Fetch)]
    assert hints and len(set(hints)) == len(hints)
    buffers = buffers_for(k)
    want = reference(k, buffers)
    on_c([f], [buffers])
    close(k, buffers[k.reads :], want)
