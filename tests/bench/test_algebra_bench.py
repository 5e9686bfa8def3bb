"""bench/algebra.py: which programs are planned in their best order of growth, that each
is what its peers run, and by what a result counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.programs import PROGRAMS, Program
from bench.programs.contestants import OURS, closed, listed, threads
from bench.programs.orders import (
    FLOPS,
    MOVED,
    SIZE,
    Order,
    asked,
    chosen,
    line,
    order,
    summary,
    written,
)
from bench.programs.page import page, verdict
from bench.programs.race import Figure, Result, in_float64, race
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.rules.rulefile import Precision, load_rules

SMALL = 32
RULES = load_rules()


def cases() -> list[Any]:
    """Each program at `default`, and at the option that its best form needs."""
    return [pytest.param(p, at, id=f"{name}-{at}")
            for name, p in PROGRAMS.items() for at in asked(p, "default")]  # fmt: skip


every = pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda p: p.name)


@pytest.mark.sweep(9)
@pytest.mark.usefixtures("one_machine")
@pytest.mark.parametrize(("program", "at"), cases())
def test_the_plan_is_in_the_best_order_of_growth(
    program: Program, at: Precision
) -> None:
    o = order(program, precision=at)
    assert o.times_best <= FLOPS, line(o)
    assert o.times_least <= MOVED, line(o)


# ---- what the programs are -----------------------------------------------------------


def as_it_is(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


@every
def test_a_program_is_the_same_in_every_namespace(program: Program) -> None:
    """Traced, eager, and as numba gets it, beside NumPy in float64."""
    arrays = program.arrays(SMALL)
    exact = in_float64(program, arrays)
    inputs = {f"x{i}": a for i, a in enumerate(arrays)}
    traced = list(evaluate(program.graph(SMALL), inputs).values())
    as_numba = listed(closed(program.f, as_it_is)(*arrays))
    for found in (traced, listed(program.f(xp, *arrays)), as_numba):
        for got, want in zip(found, exact, strict=True):
            assert got.dtype == np.float32
            scale = np.max(np.abs(want))
            np.testing.assert_allclose(got, want, 0, 1e-4 * scale)


@every
def test_the_best_form_grows_as_it_says(program: Program) -> None:
    power = float(program.growth.partition("^")[2] or 1)
    times = program.flops(16384) / program.flops(4096)
    assert 0.9 * 4**power <= times <= 1.1 * 4**power


@every
def test_the_best_form_is_no_dearer_than_the_written_one(program: Program) -> None:
    assert program.flops(SIZE) <= 1.3 * written(program, SIZE)


def test_draws_are_the_same_for_the_same_seed() -> None:
    p = PROGRAMS["markov_three_steps"]
    first, again, other = p.arrays(8), p.arrays(8), p.arrays(8, 1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    np.testing.assert_allclose(first[0].sum(0), 1, rtol=1e-6)


# ---- what counts ---------------------------------------------------------------------


def figures(**seconds_and_errors: tuple[float, float]) -> dict[str, Figure]:
    return {k: Figure(s, 1, e) for k, (s, e) in seconds_and_errors.items()}


def result(ours: tuple[float, float], numpy: tuple[float, float]) -> Result:
    p = PROGRAMS["sherman_morrison"]
    return Result(p, SIZE, figures(rewrite=ours, NumPy=numpy), {})


def test_a_result_counts_that_is_faster_and_no_less_exact() -> None:
    assert result((1.0, 3e-6), (2.0, 1e-6)).verdict == "faster"
    assert result((2.0, 3e-6), (1.0, 1e-6)).verdict == "slower"
    assert result((1.0, 5e-6), (2.0, 1e-6)).verdict == "inexact"
    assert result((1.0, 4e-7), (2.0, 0.0)).verdict == "faster"  # within 4 ulp
    alone = replace(result((1.0, 0.0), (1.0, 0.0)), figures=figures(NumPy=(1.0, 0.0)))
    assert alone.verdict == "not run" and alone.ratio is None


def test_a_race_checks_answers_and_says_who_is_missing() -> None:
    right = PROGRAMS["sum_of_product"]
    r = race(right, SMALL, (OURS, "NumPy"), 2)
    assert r.figures.keys() == {OURS, "NumPy"} and not r.absent
    assert r.best == "NumPy" and r.is_exact
    assert all(f.turns == 2 and f.seconds > 0 for f in r.figures.values())

    def differs(xp: Any, a: Any, b: Any) -> Any:
        return xp.sum(a @ b) + (1e9 if a.dtype == np.float32 and xp is np else 0)

    def fails(xp: Any, a: Any, b: Any) -> Any:
        return xp.sum(a @ b) if xp is np else xp.no_such_function(a)

    wrong = race(replace(right, f=differs), SMALL, ("NumPy",), 1)
    assert not wrong.figures and wrong.absent["NumPy"].startswith("wrong by")
    missing = race(replace(right, f=fails), SMALL, (OURS, "NumPy"), 1)
    assert missing.figures.keys() == {"NumPy"}
    assert "no_such_function" in missing.absent[OURS]


def test_peers_get_as_many_threads_as_we_have() -> None:
    assert threads() >= 1


def test_the_page_says_who_is_met_and_who_is_missing() -> None:
    near = order(PROGRAMS["sherman_morrison"], rules=RULES)
    assert near.is_best
    far: Order = replace(near, kernels=near.kernels * 9)
    assert not far.is_best and "FAR" in line(far)
    won = result((1.0, 0.0), (8.0, 0.0))
    lost = replace(result((4.0, 0.0), (2.0, 0.0)), absent={"numba": "it is not there"})
    entries = [(near, won), (far, won), (near, lost)]
    assert [verdict(e) for e in entries] == ["met", "far, faster", "slower"]
    text = page("python bench/algebra.py", {"machine": "one"}, entries)
    assert "geometric mean of 3 ratios 3.17, least 0.50, 1 below 1" in text
    assert "2 of 3 in their best order; 1 met" in text
    assert "- numba: it is not there: sherman_morrison" in text
    assert summary([near, far]).startswith("0 of 1 in their best order")
    assert summary([near, replace(far, n=7)]).startswith("1 of 2 in their best order")


def test_a_program_with_an_option_is_measured_by_what_each_precision_allows() -> None:
    p = PROGRAMS["pair_interactions"]
    assert asked(p, "default") == ("default", "unstable")
    assert asked(p, "fast") == ("fast", "unstable")
    assert asked(p, "unstable") == ("unstable",)
    assert p.best(SIZE, "unstable") == p.flops(SIZE) < p.best(SIZE, "fast")
    assert p.stable is not None and p.best(SIZE, "default") == p.stable(SIZE)
    assert asked(PROGRAMS["sum_of_product"], "default") == ("default",)


def test_programs_are_chosen_by_part_of_their_names() -> None:
    names = [p.name for p in chosen(PROGRAMS, ["kron", "bfgs"])]
    assert names == ["kron_times_vector", "kron_sum_times_vector", "bfgs_update"]
    assert len(chosen(PROGRAMS, [])) == len(PROGRAMS)
