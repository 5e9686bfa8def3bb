"""Ctrl-C at any time ends a command with status 130 and one line; engines go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GRAPH = (
    "graph g(x: f32[4]) {\n  n: f32[4] = neg x\n  z: f32[4] = neg n\n  return z\n}\n"
)
# A command in which a SIGINT comes as a module is imported, a function called, or an
# object or the process ends.
COMMAND = """
import atexit, os, signal, sys
import rewrite

where, sys.argv = sys.argv[1], ["rewrite", *sys.argv[2:]]

def strike(*_):
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            sys.meta_path.remove(self)
            strike()

class Ending:
    def __del__(self):
        strike()

sys.meta_path.insert(0, Finder())
if where == "atexit":
    atexit.register(strike)
if where in ("call", "destructor"):
    from rewrite.egraph.saturate.engine import Engine

    def struck(self, *rest, was=Engine.call):
        strike() if where == "call" else Ending()
        return was(self, *rest)

    Engine.call = struck
from rewrite.entry import main
main()
"""
PLACES = [
    "rewrite.commands.cli", "numpy", "typer", "rewrite.egraph.saturate.engine",
    "rewrite.commands.terminal",
    "egglog", "call", "destructor", "atexit",
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("where", PLACES)
def test_a_command_ends_with_one_line(where: str, tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text(GRAPH)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, where, "optimize", str(path), "--device",
         "numpy"],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "REWRITE_CACHE": str(tmp_path / "none kept")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


ENGINE = """
import random, signal, time
from rewrite.egraph.saturate.engine import Engine

RULES = (
    "(datatype N (Z) (S N)) (relation R (i64)) (R 7) (ruleset up)"
    '(rule ((= e (S n))) ((S (S n))) :ruleset up :name "up") (S (Z))'
)
engine, rng = Engine(), random.Random(0)

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
for k in range(12):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.12))
        while True:
            with engine.session([("up.egg", RULES)]) as s:
                s.run("(run-schedule (repeat 200 (run up)))")
                assert len(s.tables(["S"])["S"]) > 1
    except KeyboardInterrupt:
        pass
    with engine.session([("r.egg", "(relation R (i64)) (R 7)")]) as s:
        assert s.tables(["R"])["R"][0][0] == 7
engine.close()
"""


def test_the_engine_can_be_used_after_an_interrupt_at_any_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENGINE], capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
