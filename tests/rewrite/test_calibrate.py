"""Coefficients are found where times follow them, kept, and used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.backends import rates
from rewrite.backends.devices import device
from rewrite.backends.store import Store
from rewrite.calibrate import LEAST, Probe, fitted, probes
from rewrite.cli import app
from rewrite.extract.kernel import Cost, Launch
from rewrite.extract.schedule import own_groups, schedule
from rewrite.lower.families import families_for
from rewrite.lower.model import GENERIC_CPU, kernel_cost, model_of

LAUNCH, CACHE, MEMORY = 7e-6, 40e9, 9e9  # seconds; bytes a second


def cost_of(p: Probe) -> Cost:
    """As the model prices the probe's kernel."""
    (step,) = schedule(p.graph, own_groups_of(p)).steps
    assert isinstance(step, Launch)
    cost = kernel_cost(GENERIC_CPU, families_for(strict=False))(step.kernel)
    assert cost is not None
    return cost


def own_groups_of(p: Probe) -> list[tuple[int, ...]]:
    """All in one kernel."""
    return [own_groups(p.graph)[-1]]


def clock(p: Probe) -> float:
    """Seconds on a device that is half as fast at products, a third as fast at the
    rest, as GENERIC_CPU."""
    match p.of:
        case "cache":
            return LAUNCH + 8 * p.size / CACHE
        case "memory":
            return LAUNCH + 8 * p.size / MEMORY
        case "scalar":
            return LAUNCH + 3 * cost_of(p).scalar
        case _:
            return LAUNCH + 2 * cost_of(p).product


def test_the_coefficients_that_times_follow_are_found() -> None:
    asked = probes(cpu_like=True)
    found = fitted(GENERIC_CPU, asked, [*map(clock, asked)], [*map(cost_of, asked)])
    got = {f.name: f.measured for f in found}
    assert got == pytest.approx({
        "launch": LAUNCH, "cache_bandwidth": CACHE, "bandwidth": MEMORY,
        "scalar": GENERIC_CPU.scalar / 3, "product": GENERIC_CPU.product / 2,
    }, rel=1e-6)  # fmt: skip
    assert tuple(sorted(got)) == tuple(sorted(rates.NAMES))


def test_a_launch_lost_in_noise_is_not_free() -> None:
    asked = probes(cpu_like=True)
    times = [
        t - LAUNCH if p.of == "scalar" else t
        for p, t in zip(asked, map(clock, asked), strict=True)
    ]
    found = fitted(GENERIC_CPU, asked, times, [*map(cost_of, asked)])
    assert {f.name: f.measured for f in found}["launch"] == LEAST


def test_each_probe_is_dominated_by_what_it_asks_for() -> None:
    for p in probes(cpu_like=True):
        cost = cost_of(p)
        part = {"cache": cost.bytes, "memory": cost.bytes, "scalar": cost.scalar,
                "product": cost.product}.get(p.of)  # fmt: skip
        assert part is None or part == max(cost.bytes, cost.scalar, cost.product)


@pytest.mark.plans
def test_what_is_kept_is_what_the_model_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "_store", lambda: Store(tmp_path))
    c = device("c")
    assumed = model_of(c.caps())
    odd = {"odd": 1.0, "product": float("nan"), "bandwidth": -1.0}
    rates.keep("c", c.probe().detail, {"launch": 1e-3, "scalar": 7.0, **odd})
    model = model_of(c.caps())
    assert (model.launch, model.scalar) == (1e-3, 7.0)
    assert model.product == assumed.product
    assert model.bandwidth == assumed.bandwidth
    rates.keep("c", c.probe().detail, {})
    assert model_of(c.caps()) == assumed


@pytest.mark.plans
def test_the_command_measures_keeps_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    run = CliRunner().invoke
    done = run(app, ["calibrate", "--device", "c", "--rounds", "3", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found) == set(rates.NAMES)
    kept = dict(device("c").caps().rates)
    assert kept == {k: pytest.approx(v) for k, (_, v) in found.items()}
    assert run(app, ["calibrate", "--device", "c", "--forget"]).exit_code == 0
    assert device("c").caps().rates == ()


@pytest.mark.plans
def test_where_nothing_can_be_kept_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWRITE_CACHE", "off")
    done = CliRunner().invoke(app, ["calibrate", "--device", "c"])
    assert done.exit_code == 2
    monkeypatch.delenv("REWRITE_CACHE")
    done = CliRunner().invoke(app, ["calibrate", "--device", "numpy"])
    assert done.exit_code == 2
