"""`rewrite tune`: trials that go wrong, what is kept, and who uses it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import rewrite
from rewrite import pipeline, xp
from rewrite.backends.store import Store
from rewrite.cache import kept
from rewrite.cache.learned import database as measured_file
from rewrite.cache.learned import recall
from rewrite.commands.cli import app
from rewrite.core import planning
from rewrite.core.compiled import Compiled
from rewrite.core.options import Options
from rewrite.egraph.ir.text import parse
from rewrite.extract.schedule.kernel import Launch
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Choice, digest
from rewrite.lower.database import Database, Entry
from rewrite.lower.model import model_of
from rewrite.lower.registry import FAMILIES
from rewrite.pipeline import optimize_graph
from rewrite.tuning.climb import clearly_faster
from rewrite.tuning.tune import Budget, Tuned, tune, winner

from ..lower.cases import CASES
from ..lower.folds import FOLDS
from ..lower.harness import CPU, GPU
from .wild import Wild

SOFTMAX = """graph g(x: f32[64, 512]) {
  y: f32[64, 512] = softmax x mask=[0, 1]
  return y
}
"""
LIMIT = 3.0  # seconds of a trial
TINY = Budget(seconds=20, trials=2, jobs=1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test alone."""
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rewrite.cache.kept.folder", lambda: tmp_path / "cache/tuned")
    return tmp_path / "cache"


def softmax(**options: Any) -> Compiled:
    return optimize_graph(parse(SOFTMAX), "c", Options(fallback=False, **options))


def zeros() -> dict[str, Any]:
    return {"x": np.zeros((64, 512), np.float32)}


def kernel_digest(c: Compiled) -> str:
    (step,) = c.schedule().steps
    assert isinstance(step, Launch)
    return digest(step.kernel)


def stored(c: Compiled) -> dict[str, Entry]:
    found = kept.database(c.device, c.strict)
    assert found is not None
    return found.read()


def keep(c: Compiled, choice: Choice) -> None:
    found = kept.database(c.device, c.strict)
    assert found is not None
    found.write([Entry(kernel_digest(c), choice, 1e-6, 2e-6)])


# ---- trials that go wrong ----


def tried(names: list[str], **budget: Any) -> Tuned:
    families = [*FAMILIES, *map(Wild, names)]
    limits = {"seconds": 60.0, "trials": 12, "jobs": 1, "limit": LIMIT, **budget}
    return tune(softmax(), zeros(), {}, Budget(**limits), families)


def test_each_failure_costs_one_choice_and_says_why() -> None:
    names = ["crash", "endless", "sleepy", "hungry", "nonsense", "wrong"]
    found = tried(names)
    (kernel,) = found.kernels
    reasons = {t.choice.family: t.reason for t in kernel.refused}
    assert set(reasons) >= set(names)
    assert reasons["crash"] == "it crashed (SIGSEGV)"
    assert reasons["endless"] == reasons["sleepy"] == f"it took over {LIMIT:g} s"
    assert reasons["hungry"].startswith("MemoryError")
    assert "nowhere" in reasons["nonsense"] or "CompileError" in reasons["nonsense"]
    assert reasons["wrong"].startswith("wrong: output 0 is off by")
    ours = {t.choice.family for t in kernel.trials if t.ratio is not None}
    assert ours <= {f.name for f in FAMILIES} and ours  # these were tried all the same


def test_a_faster_choice_wins_and_is_kept() -> None:
    c = softmax()
    (kernel,) = tried(["constant"], limit=60.0).kernels
    if kernel.best == Choice("row"):  # noise may deny it once
        (kernel,) = tried(["constant"], limit=60.0).kernels
    assert kernel.best == Choice("constant"), kernel.trials
    assert kernel.seconds < kernel.own_seconds
    entry = stored(c)[kernel.digest]
    assert entry.choice == kernel.best
    assert entry.seconds == pytest.approx(kernel.seconds)
    path = measured_file(c.device, c.strict)
    assert recall(path)[kernel.digest] == pytest.approx(kernel.seconds)


def test_an_interrupt_keeps_what_was_found() -> None:
    def stop(what: str, done: int, of: int) -> None:
        c = softmax()
        if any(e.choice == Choice("constant") for e in stored(c).values()):
            raise KeyboardInterrupt

    families = [*FAMILIES, Wild("constant")]
    found = tune(softmax(), zeros(), {}, Budget(jobs=1), families, stop)
    assert found.interrupted
    (kernel,) = found.kernels
    assert kernel.best == Choice("constant")
    assert stored(softmax())[kernel.digest].choice == Choice("constant")


def test_noise_is_no_win() -> None:
    even = [(1.0, 1.0), (1.1, 1.0), (1.0, 1.1)] * 3
    assert not clearly_faster(even)
    assert not clearly_faster([(0.98, 1.0)] * 9)  # within the margin
    assert not clearly_faster([(0.5, 1.0)] * 5 + [(1.2, 1.0)] * 4)  # not mostly
    assert clearly_faster([(0.9, 1.0)] * 8 + [(1.2, 1.0)])


def test_a_program_that_got_slower_stays_as_it_was() -> None:
    assert winner([(1.0, 0.8, 0.9)] * 5) == 1
    assert winner([(1.0, 0.9, 0.8)] * 5) == 2  # without the library's calls
    assert winner([(1.0, 1.1, 1.2)] * 5) == 0
    assert winner([(1.0, 1.01)] * 5) == 1  # within the margin


# ---- who uses it ----


def test_what_is_kept_decides_how_programs_are_lowered() -> None:
    before = softmax()
    keep(before, Choice("row", (("vectors", 1),)))
    after = softmax()
    assert after.code() != before.code()
    assert after.code() == softmax().code()  # the same database, the same program
    x = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32)
    (a,), (b,) = ([*c({"x": x}).values()] for c in (before, after))
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-8)
    keep(before, Choice("column"))
    assert softmax().kernels()[0].family == "column"
    keep(before, Choice("constant"))  # of a family that is not there
    assert softmax().code() == before.code()


@pytest.mark.plans
def test_a_kept_program_is_not_used_where_choices_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(planning, "plans", lambda: Store(tmp_path / "plans"))
    first = softmax(cache=True)
    text = first.built({}).source.text
    keep(first, Choice("row", (("vectors", 1),)))
    again = softmax(cache=True)
    assert again.was_kept  # the plan does not depend on choices
    assert again.built({}).source.text != text
    keep(first, Choice("row"))
    assert softmax(cache=True).built({}).source.text == text


def test_a_limit_of_memory_goes_before_choices() -> None:
    text = SOFTMAX.replace("return y", "z: f32[64, 512] = un y op=exp\n  return z")
    plain = optimize_graph(parse(SOFTMAX), "c", Options(fallback=False, memory=0))
    keep(plain, Choice("full"))  # which overwrites nothing
    limited = optimize_graph(parse(SOFTMAX), "c", Options(fallback=False, memory=0))
    assert limited.built({}).program.memory.arena == 0, text


def test_effort_3_tunes_what_nobody_has_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TUNING", 4.0)
    x = np.ones((8, 64), np.float32)

    def f(x: Any) -> Any:
        return xp.nn.softmax(x)

    fast = rewrite.optimize(f, x, device="c", effort=3, cache=False)
    np.testing.assert_allclose(fast(x), 1 / 64, rtol=1e-5)
    entries = stored(fast.compiled)
    assert set(entries) == {kernel_digest(fast.compiled)}
    monkeypatch.setattr("rewrite.tuning.tune.Climb", None)  # the next needs no trial
    again = rewrite.optimize(f, x, device="c", effort=3, cache=False)
    assert again.code() == fast.code()


def test_effort_3_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr("rewrite.tuning.tune.crew", fail)
    with pytest.warns(RuntimeWarning, match=r"could not be tuned \(no room\)"):
        c = optimize_graph(parse(SOFTMAX), "c", Options(effort=3))
    np.testing.assert_allclose(c(zeros())["y"], 1 / 512, rtol=1e-5)
    with pytest.raises(OSError, match="no room"):
        softmax(effort=3)


def test_the_example_of_the_docs_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TUNING", 1.0)
    page = (Path(__file__).parents[2] / "docs" / "tune.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    scope: dict[str, Any] = {}
    exec(compile(code, "docs/tune.md", "exec"), scope)
    np.testing.assert_allclose(scope["fast"](scope["x"]), 1 / 64, rtol=1e-5)


def test_the_docs_name_the_holes_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tune.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    told = {w for line in rows for w in re.findall(r"`(\w+)`", line)}
    made: set[str] = set()
    for caps in (CPU, GPU):
        for k in (make() for make in {**CASES, **FOLDS}.values()):
            kernel, model = normalise(k), model_of(caps)
            for f in FAMILIES:
                if f.accepts(kernel) is None:
                    made |= set(f.domains(kernel, model))
    assert told == made


# ---- the command ----


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "g.graph"
    path.write_text(SOFTMAX)
    return path


def command(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, args)))
    return done.exit_code, done.stdout, done.stderr


def test_the_command_says_what_was_tried(file: Path) -> None:
    code, said, _ = command("tune", file, "--device", "c", "--trials", 2, "--jobs", 1)
    assert code == 0
    assert "row" in said and "max sub exp sum" in said
    assert said.strip().splitlines()[-1] in (
        "nothing faster was found", "1 kernel lowered otherwise; kept",
        "as a whole it was slower: nothing is changed",
    )  # fmt: skip
    assert len(stored(softmax())) == 1
    code, said, _ = command("tune", file, "--device", "c", "--trials", 1, "--json")
    (kernel,) = json.loads(said)["kernels"]
    assert kernel["digest"] == kernel_digest(softmax())
    assert kernel["own"] == "row" and kernel["own_seconds"] > 0
    assert 1 <= len(kernel["tried"]) <= 2


def test_the_cache_shows_choices_and_clears_them_when_named(file: Path) -> None:
    keep(softmax(), Choice("row", (("vectors", 1),)))
    _, said, _ = command("cache", "--json")
    assert json.loads(said)["kinds"]["tuned"]["files"] == 1
    command("cache", "clear")
    assert len(stored(softmax())) == 1
    command("cache", "clear", "tuned")
    assert stored(softmax()) == {}


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--device", "numpy"), "the interpreter runs kernels as they are"),
        (("--device", "c", "--dim", "b=3"), "no symbol b"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(
    file: Path, args: tuple[str, ...], what: str
) -> None:
    code, _, said = command("tune", file, *args)
    assert code == 2 and what in said and len(said.splitlines()) == 1


# ---- the database ----


@pytest.fixture
def base(tmp_path: Path) -> Database:
    return Database(tmp_path / "base" / "tuned.sqlite", "a device")


def entry(key: str, vectors: int = 1) -> Entry:
    return Entry(key, Choice("row", (("vectors", vectors),)), 1e-6, 2e-6)


def test_entries_are_found_again_by_device(base: Database) -> None:
    assert base.read() == {}
    base.write([entry("a"), entry("b")])
    base.write([entry("a", 2)])
    assert base.read() == {"a": entry("a", 2), "b": entry("b")}
    assert Database(base.path, "another").read() == {}


WRITER = """
import sys
from pathlib import Path
from rewrite.lower.choice import Choice
from rewrite.lower.database import Database, Entry
base = Database(Path(sys.argv[1]), "a device")
for i in range(100):
    base.write([Entry(f"{sys.argv[2]}{i}", Choice("row"), 1e-6, 2e-6)])
"""


def test_two_processes_write_at_once(base: Database) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(base.path), name])
        for name in "xy"
    ]
    while any(w.poll() is None for w in writers):
        assert all(e.choice == Choice("row") for e in base.read().values())
    assert [w.returncode for w in writers] == [0, 0]
    assert set(base.read()) == {f"{name}{i}" for name in "xy" for i in range(100)}


@pytest.mark.parametrize("damage", ["text", "cut", "holes", "empty"])
def test_a_damaged_file_is_begun_anew(base: Database, damage: str) -> None:
    base.write([entry(f"k{i}") for i in range(400)])
    data = base.path.read_bytes()
    middle = len(data) // 2
    base.path.write_bytes({
        "text": b"no database", "cut": data[: middle - 7],
        "holes": data[:150] + bytes(4000) + data[4150:], "empty": b"",
    }[damage])  # fmt: skip
    base.read()  # whatever is left of it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.write([entry("new")])
    assert base.read()["new"] == entry("new")


def test_another_format_is_begun_anew(base: Database) -> None:
    base.path.parent.mkdir()
    with sqlite3.connect(base.path) as db:
        db.execute("create table tuned (something)")
        db.execute("pragma user_version=99")
    assert base.read() == {}
    base.write([entry("a")])
    assert base.read() == {"a": entry("a")}


def test_rows_that_nobody_has_written_are_passed_over(base: Database) -> None:
    base.write([entry("a")])
    with sqlite3.connect(base.path) as db:
        for key, choice, seconds in (
            ("b", "row vectors", 1.0), ("c", "row", -1.0), ("d", "row", "soon"),
            ("e", 7, 1.0), ("f", "row", float("inf")),
        ):  # fmt: skip
            row = ("a device", key, choice, seconds, 1.0, 0)
            db.execute("insert into tuned values (?, ?, ?, ?, ?, ?)", row)
    assert set(base.read()) == {"a"}


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        Database(tmp_path / "file" / "tuned.sqlite", "a device").write([entry("a")])
