"""`memory=`: plans within a limit, from the faces that people use; docs/memory.md."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rewrite.core.planning as pipeline
import rewrite.onnx
from rewrite.backends.store import Store
from rewrite.commands.cli import app
from rewrite.commands.terminal import bytes_named
from rewrite.core.options import Options
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import show
from rewrite.extract.memory.place import plan_memory
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.pipeline import optimize_graph
from tests.effort import LONG
from tests.extract.chain import backward_chain
from tests.replay.weights import fill, load, random_inputs

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "memory.md").read_text("utf-8")


def step(memory: int | None) -> rewrite.onnx.Program:
    return rewrite.onnx.compile(
        fill(load("training_step")),
        "c",
        memory=memory,
        cache=False,
        fallback=False,
        effort=2 if LONG else 0,
    )


def test_a_training_step_within_less_memory() -> None:
    free = step(None)
    limit = free.compiled.memory().arena - 1  # what it takes depends on the machine
    tight = step(limit)
    assert tight.compiled.memory().arena <= limit
    assert any("temporaries take" in n for n in tight.compiled.plan.notes)
    assert tight.compiled.plan == step(limit).compiled.plan
    inputs = random_inputs(fill(load("training_step")), {}, 0)
    got = tight({k: v.copy() for k, v in inputs.items()})
    for label, want in evaluate(tight.graph, inputs, "f64").items():
        np.testing.assert_allclose(got[label], want, rtol=1e-4, atol=1e-5)


def test_a_limit_that_cannot_be_kept() -> None:
    graph = backward_chain(3)
    where = r"bytes at least, 1000 are allowed; most are alive where mul f32\[.*: tanh"
    with pytest.raises(MemoryLimitError, match=where):
        optimize_graph(graph, "numpy", Options(memory=1000, fallback=False))
    with pytest.warns(RuntimeWarning, match="the plan that takes least"):
        c = optimize_graph(graph, "numpy", Options(memory=1000))
    rng = np.random.default_rng(0)
    inputs = {
        str(n.attrs[0]): np.asarray(rng.standard_normal(concrete(n.type)), np.float32)
        for n in graph.inputs
    }
    for label, want in evaluate(graph, inputs, "f64").items():
        np.testing.assert_allclose(c(inputs)[label], want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("layers", [2, 4])
def test_what_the_own_schedule_keeps_is_never_refused(layers: int) -> None:
    graph = backward_chain(layers)
    own = plan_memory(schedule(graph, own_groups(graph))).arena
    options = Options(memory=own, fallback=False)
    assert optimize_graph(graph, "numpy", options).memory().arena <= own


def test_the_limit_is_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "plans", lambda: Store(tmp_path / "plans"))
    graph = backward_chain(3)
    limit = optimize_graph(graph, "c", Options(cache=True)).memory().arena - 1
    tight = Options(cache=True, memory=limit, fallback=False)
    first, again = (optimize_graph(graph, "c", tight) for _ in range(2))
    assert (first.was_kept, again.was_kept) == (False, True)
    assert again.memory() == first.memory()
    assert first.memory().arena <= limit
    with warnings.catch_warnings(record=True):  # what falls short is not kept
        warnings.simplefilter("always")
        short = Options(cache=True, memory=1)
        assert not any(optimize_graph(graph, "c", short).was_kept for _ in range(2))


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="memory=-1"):
        optimize_graph(backward_chain(2), "numpy", Options(memory=-1))


@pytest.mark.parametrize(
    ("text", "count"),
    [("4096", 4096), ("64KiB", 65536), ("1.5 kB", 1500), ("2MiB", 2 << 20)],
)
def test_bytes_with_units(text: str, count: int) -> None:
    assert bytes_named(text) == count


def test_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "chain.graph"
    file.write_text(show(backward_chain(4)), "utf-8")

    def run(*more: str) -> tuple[int, str]:
        found = CliRunner().invoke(app, ["optimize", str(file), *more])
        return found.exit_code, found.output

    code, text = run("--device", "numpy", "--json")
    free = json.loads(text)["memory"]
    assert code == 0 and free["bound"] <= free["after"]
    limit = free["after"] - 256
    code, text = run("--device", "numpy", "--json", "--memory", str(limit))
    assert code == 0 and json.loads(text)["memory"]["after"] <= limit
    code, text = run("--device", "numpy", "--memory", "1KiB")
    assert code == 2 and "bytes at least, 1024 are allowed" in text
    code, text = run("--device", "numpy", "--memory", "much")
    assert code == 2 and "as in 65536, 64KiB or 1.5GB" in text


def test_the_guide_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its code and its commands print the lines that it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REWRITE_CACHE", "off")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.M | re.S)
    (code,) = (text for kind, text in blocks if kind == "python")
    (printed,) = (text for kind, text in blocks if kind == "")
    exec(compile(code, "docs/memory.md", "exec"), {})
    assert without_times(capsys.readouterr().out) == without_times(printed)
    sessions = [text for kind, text in blocks if kind == "console"]
    assert len(sessions) == 2
    for text in sessions:
        command, *shown = text.strip().splitlines()
        words = shlex.split(command.removeprefix("$ rewrite"))
        found = CliRunner().invoke(app, words).output.splitlines()
        for line in shown:
            if line != "...":
                assert line in found


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d us", "TIME us", text)
