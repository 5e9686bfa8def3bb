"""Coefficients are found where times follow them, kept, and used."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.backends import rates
from rewrite.backends.devices import device
from rewrite.backends.store import Store
from rewrite.commands.cli import app
from rewrite.extract.schedule.kernel import Cost, Launch
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.model import DeviceModel, kernel_cost, model_of
from rewrite.lower.registry import families_for
from rewrite.tuning.calibrate import LEAST, Probe, fitted, probes
from rewrite.tuning.calibrate import flat as flat_graph
from tests.variants.judge import GENERIC_CPU

LAUNCH, ALONE = 7e-6, 2e-7  # seconds
NEAR, CACHE, MEMORY = 90e9, 40e9, 9e9  # bytes a second
SERIAL, LAST = 1 << 13, 1 << 19  # elements that one thread takes; that caches hold


def cost_of(p: Probe) -> Cost:
    return priced(p, GENERIC_CPU)


def priced(p: Probe, model: DeviceModel) -> Cost:
    """As the model prices the probe's kernel."""
    (step,) = schedule(p.graph, own_groups_of(p)).steps
    assert isinstance(step, Launch)
    cost = kernel_cost(model, families_for(strict=False))(step.kernel)
    assert cost is not None
    return cost


def own_groups_of(p: Probe) -> list[tuple[int, ...]]:
    """All in one kernel."""
    return [own_groups(p.graph)[-1]]


def shared(asked: list[Probe]) -> list[bool]:
    """Whether threads share out each of the probes."""
    return [p.of != "traffic" or p.size > SERIAL for p in asked]


def clock(p: Probe) -> float:
    """Seconds on a device that is half as fast at products, a third as fast at the
    rest, as GENERIC_CPU."""
    match p.of:
        case "traffic" if p.size <= SERIAL:
            return 8 * p.size / NEAR
        case "traffic" if p.size <= LAST:
            return LAUNCH + 8 * p.size / CACHE
        case "traffic":
            return LAUNCH + 8 * p.size / MEMORY
        case "cache":
            return LAUNCH + 8 * p.size / CACHE
        case "memory":
            return LAUNCH + 8 * p.size / MEMORY
        case "alone":
            return ALONE
        case "scalar":
            return LAUNCH + 3 * cost_of(p).scalar
        case _:  # panels are packed at the rate of scalar work
            return LAUNCH + 3 * cost_of(p).scalar + 2 * cost_of(p).product


def test_the_coefficients_that_times_follow_are_found() -> None:
    asked = probes(cpu_like=True)
    found = fitted(
        GENERIC_CPU, asked, [*map(clock, asked)], [*map(cost_of, asked)], shared(asked)
    )
    got = {f.name: f.measured for f in found.single}
    assert got == pytest.approx({
        "launch": LAUNCH, "cache_bandwidth": CACHE, "bandwidth": MEMORY,
        "scalar": GENERIC_CPU.scalar / 3, "product": GENERIC_CPU.product / 2,
        "alone": ALONE,
    }, rel=1e-6)  # fmt: skip
    assert tuple(sorted(got)) == tuple(sorted(rates.NAMES))


def test_a_launch_lost_in_noise_is_not_free() -> None:
    asked = probes(cpu_like=True)
    times = [
        t - LAUNCH if p.of == "scalar" else t
        for p, t in zip(asked, map(clock, asked), strict=True)
    ]
    found = fitted(GENERIC_CPU, asked, times, [*map(cost_of, asked)], shared(asked))
    assert {f.name: f.measured for f in found.single}["launch"] == LEAST


def test_caches_make_a_curve_of_traffic() -> None:
    asked = probes(cpu_like=True)
    times, costs = [*map(clock, asked)], [*map(cost_of, asked)]
    found = fitted(GENERIC_CPU, asked, times, costs, shared(asked)).traffic
    sizes = [p.size for p in asked if p.of == "traffic"]
    rate = {n: NEAR if n <= SERIAL else CACHE if n <= LAST else MEMORY for n in sizes}
    assert len(set(rate.values())) == 3
    assert [x for x, _ in found] == [8 * n for n in sizes]
    assert [y for _, y in found] == pytest.approx([8 * n / rate[n] for n in sizes])


def test_noise_does_not_bend_the_curve() -> None:
    asked = probes(cpu_like=True)
    times, costs = [*map(clock, asked)], [*map(cost_of, asked)]
    points = [i for i, p in enumerate(asked) if p.of == "traffic"]
    sizes = [8 * asked[i].size for i in points]
    times[points[1]] += 1e-3  # then it took longer than more bytes did: left out
    times[points[4]] = LAUNCH + sizes[4] / MEMORY * 1.5  # slower than memory is
    found = fitted(GENERIC_CPU, asked, times, costs, shared(asked)).traffic
    assert [x for x, _ in found] == [n for n in sizes if n != sizes[1]]
    assert dict(found)[sizes[4]] == pytest.approx(sizes[4] / MEMORY)
    assert all(a < b for p, q in pairwise(found) for a, b in zip(p, q, strict=True))


def test_traffic_is_priced_along_the_curve_and_at_the_bandwidth_without() -> None:
    flat = replace(GENERIC_CPU, bandwidth=10e9)
    assert flat.moving(3e5) == 3e5 / 10e9
    bent = replace(flat, traffic=((1e5, 1e-6), (3e5, 5e-6)))
    for moved, seconds in ((0, 0), (5e4, 5e-7), (1e5, 1e-6), (2e5, 3e-6), (3e5, 5e-6),
                           (4e5, 15e-6)):  # fmt: skip
        assert bent.moving(moved) == pytest.approx(seconds)
    near, far = (Probe("traffic", n, flat_graph(n, 0)) for n in (1 << 12, 1 << 17))
    for model in (flat, bent):
        for p in (near, far):
            parts = priced(p, model)
            assert parts.bytes == pytest.approx(model.moving(8 * p.size))


def test_each_probe_is_dominated_by_what_it_asks_for() -> None:
    for p in probes(cpu_like=True):
        cost = cost_of(p)
        part = {"cache": cost.bytes, "memory": cost.bytes, "traffic": cost.bytes,
                "scalar": cost.scalar, "product": cost.product}.get(p.of)  # fmt: skip
        assert part is None or part == max(cost.bytes, cost.scalar, cost.product)


def test_what_one_thread_runs_costs_its_own_launch_and_all_of_the_work() -> None:
    small, large = (priced(Probe("scalar", n, flat_graph(n, 24)), GENERIC_CPU)
                    for n in (64, 1 << 20))  # fmt: skip
    alone = replace(GENERIC_CPU, alone=ALONE)
    here, there = (priced(Probe("scalar", n, flat_graph(n, 24)), alone)
                   for n in (64, 1 << 20))  # fmt: skip
    assert here.launch == ALONE
    assert here.scalar == pytest.approx(GENERIC_CPU.units * small.scalar)
    assert there == large


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
    for bad in (((2.0, 1.0), (1.0, 2.0)), ((1.0, -1.0),), 3.0, (("a", "b"),)):
        rates.keep("c", c.probe().detail, {"traffic": bad})  # type: ignore[dict-item]
        assert model_of(c.caps()) == assumed
    rates.keep("c", c.probe().detail, {"traffic": ((1e3, 1e-6), (1e6, 1e-4))})
    assert model_of(c.caps()).traffic == ((1e3, 1e-6), (1e6, 1e-4))
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
    assert set(found) == {*rates.NAMES, *rates.CURVES}
    traffic = tuple(map(tuple, found.pop("traffic")))
    kept = dict(device("c").caps().rates)
    assert kept.pop("traffic") == traffic != ()
    assert kept == {k: pytest.approx(v) for k, (_, v) in found.items()}
    assert run(app, ["calibrate", "--device", "c", "--forget"]).exit_code == 0
    assert device("c").caps().rates == ()


@pytest.mark.plans
def test_an_interrupt_leaves_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    c = device("c")
    rates.keep("c", c.probe().detail, {"launch": 1e-3})

    def interrupted(*_: object) -> None:
        assert c.caps().rates == ()
        raise KeyboardInterrupt

    monkeypatch.setattr("rewrite.tuning.calibrate.calibrate", interrupted)
    assert CliRunner().invoke(app, ["calibrate", "--device", "c"]).exit_code != 0
    assert c.caps().rates == (("launch", 1e-3),)


@pytest.mark.plans
def test_where_nothing_can_be_kept_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWRITE_CACHE", "off")
    done = CliRunner().invoke(app, ["calibrate", "--device", "c"])
    assert done.exit_code == 2
    monkeypatch.delenv("REWRITE_CACHE")
    done = CliRunner().invoke(app, ["calibrate", "--device", "numpy"])
    assert done.exit_code == 2
