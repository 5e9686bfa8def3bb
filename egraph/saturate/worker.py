"""The engine's process: reads requests, runs egglog, writes answers.

Run as a script by `engine.py`; it imports nothing of this package and, of egglog, only
the native module: a stand-in package keeps egglog's own `__init__` (0.6 s of imports)
from running.  Both pipes carry marshalled values, each after its length in 8 bytes.

Requests: ("load", files), ("run", text, name), ("step", schedules, counted, cap),
("waiting", rulesets), ("sizes",), ("tables", wanted), ("seconds",), ("barrier",).
Answers:  ("ok", value) or ("error", message).  After an error the e-graph is dropped,
since commands before the failing one have already changed it.

Before the first request the process gives up everything but its pipes (`barrier.py`).
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import signal
import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, BinaryIO

KEPT = 4  # rule sets whose compiled rules stay loaded
USES = 64  # of one base: each push copies a little more than the one before


def import_bindings(folder: str) -> Any:
    package = types.ModuleType("egglog")
    package.__path__ = [folder]
    sys.modules["egglog"] = package
    importlib.import_module("datetime")  # the bindings need it when they report times
    import egglog.bindings as bindings

    return bindings


class Worker:
    """One e-graph at a time; loaded rule files are kept as bases to return to."""

    def __init__(self, bindings: Any, layers: dict[str, str] | None = None) -> None:
        self.bindings: Any = bindings
        self.layers = layers or {}  # of the barrier; why each is missing
        self.egraph: Any = None
        self.bases: dict[Any, Any] = {}  # files -> e-graph, latest last
        self.uses: Counter[Any] = Counter()  # of each base
        self.latest: Any = None  # the files of the last load
        self.spent: dict[str, float] = {}  # seconds in each rule since the last load
        self.iterations: list[Any] = []  # of the last schedule

    def load(self, files: Any) -> None:
        """An e-graph that holds `files` (name, text) and nothing else."""
        whole = tuple(files)
        self.spent = {}
        key = self.base_of(whole)
        self.egraph = self.bases.pop(key, None)
        if self.egraph is None or self.uses[key] >= USES:
            self.uses[key] = 0
            # Decomposing large patterns makes them slower on graphs like ours.
            self.egraph = self.bindings.EGraph(num_threads=1, no_decomp=True)
            self.read(key)
        else:
            self.egraph.parse_and_run_program("(pop)", "session")
        self.egraph.parse_and_run_program("(push)", "session")
        self.bases[key] = self.egraph
        self.uses[key] += 1
        while len(self.bases) > KEPT:
            del self.bases[next(iter(self.bases))]
        self.read(whole[len(key) :])

    def base_of(self, files: Any) -> Any:
        """The files of the base to return to: of one that is loaded and begins these,
        as the library does a user's few rules; those that are asked for twice in a row
        become a base themselves."""
        again, self.latest = files == self.latest, files
        begin = [k for k in self.bases if k and k == files[: len(k)]]
        return files if again else max(begin, key=len, default=files)

    def read(self, files: Any) -> None:
        for name, text in files:
            self.egraph.parse_and_run_program(text, name)

    def run(self, text: str, name: str) -> tuple[bool, dict[str, int]]:
        """Whether a schedule changed anything, and the matches of each rule."""
        changed, matches = False, dict[str, int]()
        for out in self.egraph.parse_and_run_program(text, name):
            report = getattr(out, "report", None)
            if report is not None:
                changed = changed or report.updated
                self.iterations = report.iterations
                for rule, n in report.num_matches_per_rule.items():
                    matches[rule] = matches.get(rule, 0) + n
                for rule, t in report.search_and_apply_time_per_rule.items():
                    self.spent[rule] = self.spent.get(rule, 0.0) + t.total_seconds()
        return changed, matches

    def step(
        self, schedules: list[str], counted: list[str], cap: int
    ) -> tuple[bool, dict[str, int], int]:
        """Schedules in turn until the `counted` functions have more than `cap` rows."""
        changed, matches, rows = False, Counter[str](), 0
        for text in schedules:
            more, result = self.run(text, "schedule")
            changed = changed or more
            matches.update(result)
            sizes = self.sizes()
            rows = sum(sizes.get(f, 0) for f in counted)
            if rows > cap:
                break
        return changed, dict(matches), rows

    def waiting(self, rulesets: int) -> list[str]:
        """The rules whose matches were held back to the end of the last schedule, which
        were rounds of `rulesets` under back-off, then one ruleset to its fixpoint.

        Under a scheduler each ruleset takes two iterations.  The first searches, and
        has all rules that are not banned; the second applies what was let through.
        """
        waiting = set[str]()
        reports = iter([i.rule_set_report for i in self.iterations])
        while (search := next(reports, None)) is not None:
            for k in range(rulesets):
                search = next(reports) if k else search
                waiting.update(r for r, n in matches_of(search).items() if n)
                waiting.difference_update(matches_of(next(reports)))
            while next(reports).changed:
                pass
        return sorted(waiting)

    def seconds(self) -> dict[str, float]:
        """Time spent in searching and applying each rule since the last load."""
        return self.spent

    def barrier(self) -> dict[str, str]:
        """Layers of the barrier: "" where it stands, else why it is missing."""
        return self.layers

    def sizes(self) -> dict[str, int]:
        (out,) = self.egraph.parse_and_run_program("(print-size)", "session")
        return dict(out.sizes)

    def tables(self, wanted: list[str]) -> dict[str, list[tuple[Any, ...]]]:
        """Rows of each function: inputs, then output; terms as small numbers."""
        frozen = self.egraph.freeze().functions  # copies on each access
        decode = Decoder(self.egraph)
        return {f: decode.rows(frozen[f]) for f in wanted if f in frozen}

    def answer(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        try:
            return "ok", getattr(self, request[0])(*request[1:])
        except BaseException as e:  # a panic of the engine is a BaseException
            self.bases = {k: e for k, e in self.bases.items() if e is not self.egraph}
            self.egraph = None
            return "error", f"{type(e).__name__}: {e}"


def matches_of(report: Any) -> dict[str, int]:
    """By rule, of one iteration."""
    result = report.rule_reports.items()
    return {rule: sum(r.num_matches for r in reports) for rule, reports in result}


class Decoder:
    """Values of the engine as plain Python; vectors and strings are read once each."""

    def __init__(self, egraph: Any) -> None:
        self.egraph = egraph
        self.memo: dict[str, dict[Any, Any]] = {}
        self.scalars: dict[str, Callable[[Any], Any]] = {
            "i64": egraph.value_to_i64,
            "f64": egraph.value_to_f64,
            "String": egraph.value_to_string,
            "Unit": lambda _: None,
        }
        self.vectors = {"IV": "i64", "TV": "T", "PV": "P"}

    def one(self, sort: str, value: Any) -> Any:
        memo = self.memo.setdefault(sort, {})
        if value not in memo:
            memo[value] = self._read(sort, value, len(memo))
        return memo[value]

    def _read(self, sort: str, value: Any, fresh: int) -> Any:
        if sort in self.scalars:
            return self.scalars[sort](value)
        if sort in self.vectors:
            item = self.vectors[sort]
            return tuple(self.one(item, v) for v in self.egraph.value_to_vec(value))
        return fresh  # a term: numbered in order of appearance

    def rows(self, function: Any) -> list[tuple[Any, ...]]:
        sorts, one = [*function.input_sorts, function.output_sort], self.one
        return [
            tuple([one(s, v) for s, v in zip(sorts, [*r.inputs, r.output])])  # noqa: B905
            for r in function.rows
        ]


def limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def close_off() -> dict[str, str]:
    """Loads the file beside this one, which no path of this process leads to."""
    path = os.path.join(os.path.dirname(__file__), "barrier.py")
    spec = importlib.util.spec_from_file_location("barrier", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.close_off()


def serve(worker: Worker, requests: BinaryIO, answers: BinaryIO) -> None:
    while head := requests.read(8):
        request = marshal.loads(requests.read(int.from_bytes(head, "little")))
        body = marshal.dumps(worker.answer(request))
        answers.write(len(body).to_bytes(8, "little") + body)
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides what to stop
    os.set_blocking(2, False)  # nobody reads it while a request runs
    limit_memory(int(sys.argv[2]))
    native = import_bindings(sys.argv[1])
    serve(Worker(native, close_off()), sys.stdin.buffer, sys.stdout.buffer)
