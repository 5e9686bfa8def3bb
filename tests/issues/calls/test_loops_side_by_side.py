"""The two directions of a recurrent layer ran one after the other, each round on one
thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
import rewrite.onnx
from rewrite.backends.flows import beside
from rewrite.backends.native.pool import thread_count
from rewrite.extract.memory.beside import side_by_side
from rewrite.extract.memory.lifetimes import Item, at_once, last_uses
from rewrite.extract.schedule.kernel import Host
from rewrite.lower.emit import host

from ...onnx.test_recurrent import HIDDEN, IN, RNG, compared, model

pytest.importorskip("onnxruntime")


def call(out: int, *args: int) -> Host:
    return Host("call", ("f",), args, out)


def test_calls_that_read_nothing_of_each_other() -> None:
    own = Host("sort", (), (0,), 9)
    assert side_by_side([call(1, 0), call(2, 0), own, call(3, 2)]) == [(0, 2)]
    assert side_by_side([call(1, 0), call(2, 1), call(3, 0), call(4, 3)]) == [(1, 3)]
    assert side_by_side([own, call(1, 0), own]) == side_by_side([]) == []
    assert side_by_side([call(k, 0) for k in (1, 2, 3)]) == [(0, 3)]


def test_what_they_hold_is_held_until_all_are_done() -> None:
    """Else the second wrote its result onto what the first one still reads."""
    items = [Item((), (0, 1), ()), Item((0,), (2,), ()), Item((1,), (3,), ())]
    again = at_once(items, [(1, 3)])
    assert last_uses(items)[0] == 1
    assert last_uses(again) == {0: 2, 1: 2, 2: 2, 3: 2}
    assert again[1].writes == (2, 3)
    assert not again[2].writes


@pytest.mark.skipif(
    thread_count() < 2, reason="one processor: loops run one after the other"
)
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_directions(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with temporaries of their own, and in more than one list each."""
    taken: list[int] = []
    run = beside.run

    def watched(group: Any, buffers: Any) -> None:
        taken.append(len(group))
        run(group, buffers)

    monkeypatch.setattr(beside, "run", watched)
    monkeypatch.setattr(beside, "POINTS", 1e6)
    monkeypatch.setattr(beside, "MEETING", 1.0)  # with however many threads
    monkeypatch.setattr("rewrite.backends.flows.rounds.TABLE", 4096)
    proto = model(kind, 300, direction="bidirectional")
    program = rewrite.onnx.compile(proto, "c", fallback=False, cache=False)
    for _ in range(3):
        compared(proto, program, 300)
    assert taken == [2, 2, 2]
    ready = program.compiled.executable()
    (group,) = {id(g): g for g in ready._groups.values()}.values()
    (_, first), (_, second) = group
    assert first.most < first.count
    if first.body is second.body:
        temps = [b for b, _ in first.body.program.memory.offsets]
        spots = [s for b in temps for s in first.tables.one.spots.get(b, ())]
        one, other = (np.asarray(x.tables.table)[0, spots] for x in (first, second))
        assert not {*one.tolist()} & {*other.tolist()}


@pytest.mark.skipif(
    thread_count() < 2, reason="one processor: loops run one after the other"
)
def test_small_loops_are_not_worth_waking_a_thread() -> None:
    proto = model("RNN", 4, direction="bidirectional")
    program = rewrite.onnx.compile(proto, "c", fallback=False, cache=False, effort=0)
    compared(proto, program, 4)
    assert not program.compiled.executable()._groups


def test_what_an_older_release_saved_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library has nothing that runs lists at once."""
    monkeypatch.setattr(beside, "POINTS", 1e6)
    monkeypatch.setattr(beside, "MEETING", 1.0)
    proto = model("GRU", 300, direction="bidirectional")
    with monkeypatch.context() as older:
        older.setattr(
            host, "_RUNNER", host._RUNNER.partition("typedef struct {\n  co")[0]
        )
        older.setattr(beside, "thread_count", lambda: 1)
        program = rewrite.onnx.compile(proto, "c", fallback=False, cache=False)
        compared(proto, program, 300)
        program.compiled.save(tmp_path / "older.rw")
    kept = rw.load(tmp_path / "older.rw")
    arrays = {
        "x": RNG.standard_normal((300, 3, IN), np.float32),
        "h": RNG.standard_normal((2, 3, HIDDEN), np.float32),
    }
    want, got = program(arrays), kept(arrays["x"], arrays["h"])
    for name, have in zip(want, got.values(), strict=True):
        np.testing.assert_array_equal(have, want[name])
