"""bench/cpu.py: who counts, by what a bar is met, and the page that it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.peers import mnist, page, workloads
from bench.peers.numpy import LANGUAGE, exact
from bench.peers.race import CONTESTANTS, OURS, Figure, Result, entries, likely, race
from bench.peers.task import MODES, Absent, Code, Inexpressible, Step
from bench.peers.workloads import Workload

PAGE = Path(__file__).parents[2] / "docs/bench/cpu.md"
BOTH = (OURS, "NumPy")


def softmax_of(f: Callable[..., Any]) -> Workload:
    return Workload("tiny", 1.0, lambda: Code(f, workloads.drawn((8, 16))))


# ---- the race ----


def test_both_modes_are_timed_beside_numpy() -> None:
    results = race(softmax_of(workloads.softmax), BOTH, 2)
    assert [r.mode for r in results] == list(MODES)
    for r in results:
        assert not r.absent
        assert set(r.figures) == set(BOTH)
        assert r.best == "NumPy"
        assert all(len(f.walls) == 2 and f.wall > 0 for f in r.figures.values())
        assert all(f.cpu > 0 and f.error < 1e-5 for f in r.figures.values())
        assert r.ratio == r.figures["NumPy"].wall / r.figures[OURS].wall


def test_several_results_and_weights() -> None:
    task = workloads.cell(2, 8)
    for r in race(Workload("cell", 1.0, lambda: task), BOTH, 1):
        assert set(r.figures) == set(BOTH)


def test_a_training_step_is_raced() -> None:
    def narrow(m: Any, p: Any, x: Any, y: Any, rate: float) -> tuple[Any, ...]:
        (w,) = p
        return m.sum((x @ w) * y, (0, 1)), (w - rate * (x.T @ y),)

    arrays = workloads.drawn((4, 3), (5, 4), (5, 3))
    task = Step(lambda *_: None, narrow, arrays[:1], arrays[1:], 0.1)
    first, second = race(Workload("step", 1.0, lambda: task), BOTH, 1)
    assert set(first.figures) == {OURS}
    assert set(second.figures) == set(BOTH)


def test_a_wrong_answer_does_not_count() -> None:
    def f(m: Any, x: Any, out: Any = None) -> Any:
        right = m.softmax(x, out=out)
        wrong = m is LANGUAGE and x.dtype == np.float32
        return m.multiply(right, 1.001, out=out) if wrong else right

    for r in race(softmax_of(f), BOTH, 1):
        assert set(r.figures) == {OURS}
        assert re.fullmatch(
            r"wrong by 1\.0e-03 of the largest value", r.absent["NumPy"]
        )
        assert r.verdict == "not run"


def test_who_cannot_or_fails_is_shown_with_the_reason() -> None:
    def f(m: Any, x: Any, out: Any = None) -> Any:
        if m is LANGUAGE and x.dtype == np.float32:
            raise Inexpressible("no such function")
        if m is not LANGUAGE:
            raise ValueError("broken\nin two lines")
        return m.softmax(x, out=out)

    for r in race(softmax_of(f), BOTH, 1):
        assert r.absent == {
            "NumPy": "no such function",
            OURS: "fails: ValueError: broken",
        }


TINY: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], int]] = {
    "gelu": (workloads.gelu_chain, [(33,)], 0),
    "layer norm": (workloads.layer_norm, [(3, 8), (8,), (8,)], 2),
    "sum": (workloads.total(0, 1), [(3, 5)], 0),
    "sum of rows": (workloads.total(1), [(3, 5)], 0),
    "transpose": (workloads.transpose, [(3, 5)], 0),
    "matmul": (workloads.matmul, [(3, 5), (5, 4)], 0),
    "attention": (workloads.attention, [(2, 6, 4)] * 3, 0),
    "conv": (workloads.conv, [(1, 2, 6, 6), (3, 2, 3, 3)], 1),
}


@pytest.mark.parametrize("name", TINY)
def test_one_description_means_the_same_to_all(name: str) -> None:
    f, shapes, weights = TINY[name]
    arrays = workloads.drawn(*shapes)
    given = len(arrays) - weights
    task = Code(f, arrays[:given], arrays[given:])
    names = (OURS, "NumPy", "ONNX Runtime")
    found = entries(task, names)
    assert set(found) == {(n, m) for n in names for m in MODES}
    for entry in found.values():
        assert not isinstance(entry, Absent), entry
        assert entry[1] < 1e-5


# ---- the verdict ----


def result(ours: Figure, **peers: Figure) -> Result:
    return Result("w", False, "pooled", 1.0, {OURS: ours, **peers}, {})


STEADY = Figure((0.99, 1.0, 1.0, 1.0, 1.01), cpu=2.0, error=0.0)


def times(figure: Figure, *factors: float) -> Figure:
    by = factors * 5 if len(factors) == 1 else factors
    walls = tuple(w * f for w, f in zip(figure.walls, by, strict=True))
    return replace(figure, walls=walls)


def test_the_wall_decides_where_it_is_steady() -> None:
    slow, fast = times(STEADY, 1.2), replace(times(STEADY, 0.9), cpu=3.0)
    assert result(STEADY, a=slow).verdict == "met"
    both = result(STEADY, a=slow, b=fast)
    assert (both.best, both.cpu_ratio, both.verdict) == ("b", 1.5, "missed")


def test_slow_moments_that_both_had_hide_nothing() -> None:
    slow = (1.0, 3.0, 1.0, 2.0, 1.0)
    ours, peer = times(STEADY, *slow), times(STEADY, *(1.1 * x for x in slow))
    assert result(ours, a=replace(peer, cpu=1.0)).verdict == "met"
    assert result(peer, a=replace(ours, cpu=9.0)).verdict == "missed"


def test_time_of_the_processor_decides_where_noise_hides_the_wall() -> None:
    noisy = times(STEADY, 1.2, 0.9, 0.8, 0.9, 0.9)
    assert result(STEADY, a=noisy).verdict == "met, by CPU"
    dear = replace(noisy, cpu=1.9)
    assert result(STEADY, a=dear).verdict == "missed, by CPU"
    assert result(STEADY, a=times(dear, 1.22)).verdict == "missed, by CPU"
    assert result(STEADY, a=times(dear, 2.0)).verdict == "met"
    assert result(STEADY, a=times(noisy, 0.5)).verdict == "missed"


@pytest.mark.parametrize(
    ("rounds", "from_below"), [(1, 1), (4, 1), (5, 1), (7, 1), (8, 2), (11, 3), (25, 8)]
)
def test_the_interval_of_a_median(rounds: int, from_below: int) -> None:
    """Ranks of the sign test at 90 %, as tables have them."""
    found = [float(n) for n in range(rounds, 0, -1)]
    assert likely(found) == (from_below, rounds + 1 - from_below)


# ---- the models ----


def test_the_step_by_hand_goes_down_the_gradient() -> None:
    """Along a direction, beside a difference quotient, in float64."""
    rng = np.random.default_rng(0)
    p = [x.astype(np.float64) for x in mnist.parameters()]
    batch = [x.astype(np.float64) for x in mnist.batch(3)]
    along = [rng.standard_normal(x.shape) for x in p]

    def loss(t: float) -> float:
        moved = [x + t * d for x, d in zip(p, along, strict=True)]
        return float(mnist.step(LANGUAGE, moved, *batch, 0.0)[0])

    _, new = mnist.step(LANGUAGE, p, *batch, 1.0)
    slope = sum(np.sum((x - y) * d) for x, y, d in zip(p, new, along, strict=True))
    assert slope == pytest.approx((loss(1e-6) - loss(-1e-6)) / 2e-6, rel=1e-5)


def test_the_reference_is_float64() -> None:
    task = workloads.cell(2, 8)
    assert [a.dtype for a in exact(task)] == [np.float64] * 2


# ---- the page ----


def rows(text: str) -> Iterator[dict[str, str]]:
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [c.strip() for c in line.strip("|").split("|")]
        if not head:
            head = cells
        elif set(line) - set("|- "):
            yield dict(zip(head, cells, strict=True))


def milliseconds(cell: str) -> float:
    return float(cell.strip("*"))


def test_what_is_written_can_be_read() -> None:
    fast = replace(times(STEADY, 0.5), cpu=0.25)
    absent = {"torch": "not installed"}
    made = replace(result(fast, NumPy=STEADY), absent=absent)
    text = page.page("python bench/cpu.py", {"machine": "this"}, [made])
    (row,) = rows(text)
    assert list(row) == page.HEAD
    assert (row["workload"], row["mode"]) == ("w", "pooled")
    assert row["NumPy"] == "**1000**"
    assert (row["ratio"], row["ratio of CPU"], row["bar is"]) == ("2.00", "8.00", "met")
    assert "- torch: not installed: w (pooled)" in text


def test_the_kept_page_holds_every_workload_and_agrees_with_itself() -> None:
    found = list(rows(PAGE.read_text("utf-8")))
    every = [w.name for w in (*workloads.kernels(), *workloads.models())]
    assert [r["workload"] for r in found] == [n for n in every for _ in MODES]
    for row in found:
        times = {n: milliseconds(row[n]) for n in CONTESTANTS if row[n] != "-"}
        peers = [t for n, t in times.items() if n != OURS]
        if row["ratio"] != "-":
            ratio = float(row["ratio"])
            rounding = 0.005 + 0.01 * ratio  # of itself, and of two times to 3 digits
            assert abs(min(peers) / times[OURS] - ratio) <= rounding
        decides = row["ratio of CPU"] if "CPU" in row["bar is"] else row["ratio"]
        if row["bar is"].startswith("met"):
            assert float(decides) >= float(row["bar"]) - 0.005
        elif row["bar is"].startswith("missed"):
            assert float(decides) <= float(row["bar"]) + 0.005
