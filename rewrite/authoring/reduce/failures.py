"""How optimizing a graph can fail, found out in a process of its own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rewrite.backends import scratch
from rewrite.backends.devices import pick_device
from rewrite.core.compiled import Compiled
from rewrite.core.costs import cost_for
from rewrite.core.options import MOVES, Options, Precision
from rewrite.egraph.ir.parse import parse
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.text import show
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.clash import RuleError
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.fuzz.oracle import compare
from rewrite.fuzz.shrink import Case
from rewrite.lower.device import DeviceError

from .sandbox import Crash, Sandbox

SECONDS = 180.0  # for one try
type Kind = Literal["wrong", "types", "raises", "compile", "crash", "check"]
SAID: Mapping[Kind, str] = {
    "wrong": "the result differs from the reference",
    "types": "a rule equates terms of different types, or makes what is no term",
    "raises": "the optimizer raises",
    "compile": "a kernel does not compile",
    "crash": "the process ends or hangs",
    "check": "the check fails",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """`what` tells failures of one kind apart: the type of the exception."""

    kind: Kind
    what: str
    message: str

    def same(self, other: Failure | None) -> bool:
        return other is not None and (self.kind, self.what) == (other.kind, other.what)

    def __str__(self) -> str:
        return f"{SAID[self.kind]}: {self.message}"


@dataclass(frozen=True, slots=True)
class Trial:
    """Rule files, and the names of the rules that are on (None: all)."""

    files: tuple[Path, ...]
    on: frozenset[str] | None = None


# Whether and how a case fails with some rules.
type Oracle = Callable[[Case, Trial], Failure | None]


@dataclass(frozen=True, slots=True)
class How:
    """How a graph is optimized and run."""

    precision: Precision = "default"
    device: str | None = None
    effort: int = 2


# ---- built-in failures ---------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What crosses to the other process: graphs as text, for dtypes are singletons."""

    text: str
    data: Mapping[str, Array]
    inputs: Mapping[str, Array]
    trial: Trial
    how: How


class BuiltIn:
    """Optimizes, compiles, runs and compares, in a process that may die of it."""

    def __init__(self, how: How, seconds: float = SECONDS) -> None:
        self.how, self.sandbox = how, Sandbox(_attempt, seconds)

    def __call__(self, case: Case, trial: Trial) -> Failure | None:
        g = case.graph
        task = _Task(
            show(g, inline=0), dict(g.data), dict(case.inputs), trial, self.how
        )
        try:
            return self.sandbox(task)
        except Crash as e:
            return Failure("crash", "", str(e))

    def close(self) -> None:
        self.sandbox.close()


def _attempt(task: _Task) -> Failure | None:
    graph = parse(task.text, "case", task.data)
    how, files = task.how, task.trial.files
    rules = load_rules(files, how.precision)
    if task.trial.on is not None:
        rules = rules.only(task.trial.on & rules.on)
    device = pick_device(how.device)
    try:
        chosen = plan(
            graph, saturator(rules), cost_for(device), moves=MOVES[how.effort]
        )
    except RuleError as e:
        return Failure("types", "", str(e))
    except Exception as e:
        # Whatever it is: that the optimizer raises is what is looked for.
        return Failure("raises", type(e).__name__, f"{type(e).__name__}: {e}")
    options = Options(how.precision, files, how.effort, fallback=False)
    return _run(Compiled(graph, chosen, device, options, 0.0), task.inputs, chosen)


def _run(
    compiled: Compiled, inputs: Mapping[str, Array], chosen: Plan
) -> Failure | None:
    try:
        got = compiled({k: v.copy() for k, v in inputs.items()})
    except DeviceError as e:
        return Failure("compile", type(e).__name__, str(e))
    except Exception as e:
        return Failure("raises", type(e).__name__, f"{type(e).__name__}: {e}")
    why = compare(compiled.source, inputs, got, "smooth")
    return None if why is None else Failure("wrong", "", why)


# ---- a command of the user's ---------------------------------------------------------


@dataclass
class Command:
    """A command that fails: `{model}` and `{rules}` in it are paths of files."""

    command: str
    seconds: float = SECONDS
    folder: Path = field(default_factory=scratch.subfolder)

    def __call__(self, case: Case, trial: Trial) -> Failure | None:
        from .rule_text import together

        model, rules = self.folder / "case.graph", self.folder / "case.egg"
        model.write_text(show(case.graph, inline=1 << 30), encoding="utf-8")
        rules.write_text(together(trial.files, trial.on), encoding="utf-8")
        words = [
            w.replace("{model}", str(model)).replace("{rules}", str(rules))
            for w in shlex.split(self.command)
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=self.seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return Failure("check", "", f"no answer in {self.seconds:g} s")
        if not done.returncode:
            return None
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return Failure("check", "", said[-1] if said else f"status {done.returncode}")

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
