"""What is printed of kernels and schedules parses back to the very same ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import rewrite.egraph.ir.text as graphs
from rewrite.commands.cli import app
from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Buffer, Host, Kernel, Schedule
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.extract.text import ScheduleError, parse, parse_kernel, show, show_kernel
from rewrite.fuzz.graphs import random_graph
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.effort import LONG, draws
from tests.lower.replay import kernels, schedules
from tests.replay.planned import CAPS

from .optimum.any_kernel import kernels as any_kernel

PAGE = Path(__file__).parents[2] / "docs" / "schedules.md"
SHOWN = re.compile(r"(?<=```schedule\n).*?(?=```)", re.DOTALL)


def same_kernel(k: Kernel) -> None:
    """By `repr`, which tells -0.0 from 0.0 and 1 from True, and is one for all NaNs."""
    text = show_kernel(k)
    again = parse_kernel(text)
    assert repr(again) == repr(k), text
    assert show_kernel(again) == text


def same(s: Schedule) -> None:
    text = show(s)
    again = parse(text)
    assert repr(again) == repr(s), text
    assert show(again) == text


def test_kernels_of_the_replay_set_and_of_the_cases() -> None:
    assert len(kernels()) > 150
    for k in kernels().values():
        same_kernel(k)


def test_schedules_of_the_replay_set() -> None:
    assert sum(s.once for s in schedules().values()) > (5 if LONG else 3)
    for s in schedules().values():
        same(s)


@settings(max_examples=draws(500, 10))
@given(any_kernel())
def test_any_kernel(k: Kernel) -> None:
    same_kernel(k)


@settings(max_examples=draws(100))
@given(st.integers(0, 10**6))
def test_schedules_of_random_graphs(seed: int) -> None:
    graph = random_graph(seed)
    same(schedule(graph, own_groups(graph)))


ODD = 'a\n"b'


def hosted() -> Graph:
    """Calls, named by words of the text and by no words."""
    b = Builder()
    x = b.input("once", F32, (2, 3))
    noise = b.call("temp", lambda: np.ones((2, 3), np.float32), [], F32, (2, 3))
    made = b.call("fft 1", np.asarray, [b.bin("mul", x, noise)], F32, (2, 3))
    y = b.bin("add", made, x)
    b.alias(ODD, "once")
    return b.build({ODD: y, "k0": noise})


def test_steps_of_the_host_and_odd_names() -> None:
    graph = hosted()
    made = schedule(graph, own_groups(graph))
    assert sum(isinstance(s, Host) for s in made.steps) == 2
    assert made.aliases
    same(made)


def test_two_buffers_of_one_name() -> None:
    t = TensorType(I64, (2,))
    buffers = tuple(Buffer(t, "temp", label) for label in ("x", "x", "", "%0"))
    same(Schedule(buffers, (), (("x", 0), ("%1", 1))))


def test_the_page_is_what_the_tool_prints(bless: bool) -> None:
    page = PAGE.read_text("utf-8")
    told = re.search(r"```graph\n(.*?)```", page, re.DOTALL)
    assert told is not None
    graph = graphs.parse(told[1])
    best = plan(graph, saturator(load_rules()), kernel_cost(CAPS, FAMILIES))
    shown = show(schedule(best.graph, best.groups, {}))
    if bless:
        page = SHOWN.sub(lambda _: shown, page)
        PAGE.write_text(page, "utf-8")
    assert SHOWN.findall(page) == [shown]


# ---- errors

COPY = """\
kernel k0(b0: f32[8], out b1: f32[8]) over i0 < 8 {
  v0[i0]: f32 = b0[i0]
  v1[i0]: f32 = exp v0
  b1[i0] = v1 over [i0]
}

schedule {
  input x: f32[8]
  output y: f32[8]
  y = k0(x)
  return y
  alias y <- x may
}
"""


def test_what_errors_are_made_of_is_right() -> None:
    assert show(parse(COPY)) == COPY


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("b0[i0]", "b0[i1]", "2:20", "i1 is not defined above"),
        ("b0[i0]", "b2[i0]", "2:17", "b2 is not defined above"),
        ("b0[i0]", "b0[(i0)]", "2:20", "expected a quotient, as (i0 // 4)"),
        ("b0[i0]", "b0[j]", "2:20", "expected a loop, as i0, found 'j'"),
        ("b0[i0]", "b0[i0] if i0 < 3", "2:27", "expected an integer, found 'i0'"),
        ("v1[i0]: f32", "v2[i0]: f32", "3:3", "expected a value called v1"),
        ("exp v0", "exp v1", "3:21", "v1 is not defined above"),
        ("exp v0", "exq v0", "3:17", "an expression, found 'exq'; did you mean"),
        ("exp v0", "add v0", "3:17", "expected 2 operands of 'add'"),
        ("exp v0", "reduce mean v0", "3:24", "expected one of sum, prod"),
        ("= v1 over", "= mix v1 over", "4:12", "an opcode of two operands"),
        ("over i0 < 8", "over i1 < 8", "1:44", "expected a loop called i0"),
        ("(b0: f32[8], out ", "(out b0: f32[8], ", "1:27", "buffers that are read"),
        ("output y", "shared y", "9:3", "expected a buffer that is defined above"),
        ("output y", "output x", "9:10", "'x' is defined twice"),
        ("output y: f32[8]", "output y: f32[9]", "10:7", "expected 1 buffers to read"),
        ("k0(x)", "k1(x)", "10:7", "expected a kernel that is defined above"),
        ("k0(x)", "fft x", "10:7", "expected an op or opcode, found 'fft'"),
        ("k0(x)", "call f x", "10:7", "call lacks the attributes token"),
        ("x may", "x might", "12:16", "expected 'must' or 'may', found 'might'"),
    ],
)  # fmt: skip
def test_errors(old: str, new: str, where: str, message: str) -> None:
    assert old in COPY
    with pytest.raises(ScheduleError) as e:
        parse(COPY.replace(old, new, 1), "f.txt")
    assert str(e.value).startswith(f"f.txt:{where}: "), e.value
    assert message in str(e.value)


def test_what_is_cut_off_is_an_error() -> None:
    for end in range(len(COPY) - 2):
        with pytest.raises(ScheduleError):
            parse(COPY[:end])
    for end in range(COPY.index("}")):
        with pytest.raises(ScheduleError):
            parse_kernel(COPY[:end])


def test_the_command_line_shows_schedules(tmp_path: Path) -> None:
    file = tmp_path / "g.graph"
    file.write_text(
        "graph g(x: f32[b, 8]) {\n  y: f32[b, 8] = exp x\n  return y\n}\n", "utf-8"
    )
    args = ["optimize", str(file), "--schedule", "--dim", "b=3"]
    shown = CliRunner().invoke(app, args)
    assert shown.exit_code == 0, shown.output
    made = parse(shown.output[shown.output.index("kernel k0(") :])
    assert [str(b.type) for b in made.buffers] == ["f32[3, 8]", "f32[3, 8]"]
