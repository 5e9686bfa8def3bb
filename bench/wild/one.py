"""One model through the whole of it, beside ONNX Runtime: lines of JSON.

python -m bench.wild.one FILE SECONDS GIGABYTES
"""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.onnx_tools import PEERS, nodes
from rewrite.tuning.timing import turns

FIRSTS = 3  # times that a model is compiled, each in a process of its own
ROUNDS = 31
THREADS = 2
MOVED = 1e-6  # of a float
LARGE = 1 << 16  # elements of all inputs: an image of 128 x 128, seconds of sound
SLOW = 0.5  # seconds of a call that is not timed again and again
TURN = 3.0  # seconds at most for the rounds of each


def main(path: str, seconds: int, gigabytes: int) -> None:
    signal.alarm(seconds)
    limit = gigabytes << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {}

    def step(name: str, f: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            result = f()
        except Exception as e:
            # The table is of what fails as well.
            result, report[f"{name}_error"] = None, f"{type(e).__name__}: {e}"[:160]
        report[f"{name}_s"] = round(time.perf_counter() - start, 2)
        print(json.dumps(report), flush=True)
        return result

    from rewrite.onnx.hosts import session
    from rewrite.onnx.model import open_model

    model = open_model(path)
    peer = session(model, threads=THREADS)
    draws = step("draw", lambda: sized(model, peer))
    report["their_gigabytes"] = peak()
    if draws:
        step("run", lambda: run(model, peer, draws, report))
        report["our_gigabytes"] = peak()  # before the tools below are imported
    step("optimize", lambda: optimized(model, peer, draws, report))
    for name, tool in PEERS.items():
        made = step(name, lambda tool=tool: tool(Path(path)))
        if made is not None:
            report.setdefault("tools", {})[name] = nodes(made)
    print(json.dumps(report), flush=True)


def peak() -> float:
    """GB that the process had at most."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(kilobytes / (1 << 20), 2)


@dataclass(frozen=True)
class Draw:
    """Inputs that ONNX Runtime takes, and what they give in f64, if that is known."""

    inputs: Mapping[str, Any]
    exact: list[Any] | None


def sized(model: Any, peer: Any) -> list[Draw]:
    """At two sizes where there are two: the first that is taken, which is small, and
    the largest within limits, as users have them; the last is the larger.  Where the
    runtime departs from the standard (a pool that does not fit into its operand has a
    window there), sizes are passed over: shapes or what is finite are others."""
    from rewrite.onnx.write.verify import drawn

    taken: dict[Any, tuple[Mapping[str, Any], list[Any]]] = {}
    for inputs in drawn(model, {}, 0):
        shapes = tuple(np.shape(v) for v in inputs.values())
        if shapes in taken or (taken and elements(inputs) > LARGE):
            continue
        start = time.perf_counter()
        theirs = result(peer, inputs)
        seconds = time.perf_counter() - start
        if theirs is not None and (seconds < SLOW or not taken):
            taken[shapes] = inputs, theirs
    first = next(filter(None, (checked(model, *t) for t in taken.values())), None)
    if first is None:
        return []
    largest = sorted(taken.values(), key=lambda t: elements(t[0]), reverse=True)
    found = (checked(model, *t) for t in largest)
    last = next(filter(None, found))
    alike = elements(first.inputs) == elements(last.inputs)
    return [last] if alike else [first, last]


def elements(inputs: Mapping[str, Any]) -> int:
    return sum(map(np.size, inputs.values()))


def checked(model: Any, inputs: Mapping[str, Any], theirs: list[Any]) -> Draw | None:
    from rewrite.onnx.exact import distance, exact

    wanted = exact(model, inputs)
    pairs = zip(wanted or (), theirs, strict=bool(wanted))
    if wanted is not None and max(distance(a, b) for a, b in pairs) == np.inf:
        return None
    return Draw(inputs, wanted)


def result(peer: Any, inputs: Mapping[str, Any]) -> list[Any] | None:
    try:
        return list(peer.run(inputs))
    except Exception:
        # Sizes and values that the model does not take.
        return None


def run(model: Any, peer: Any, draws: list[Draw], report: dict[str, Any]) -> None:
    from rewrite.core.compiled import Compiled

    inputs = draws[-1].inputs
    firsts: list[float] = []
    for _ in range(FIRSTS - 1):
        firsts += apart(lambda: first(model, inputs)[1])
    program, seconds = first(model, inputs)
    firsts.append(seconds)
    report["firsts"] = [round(s, 2) for s in firsts]
    report["first_s"] = round(statistics.median(firsts), 2)
    last = program.programs[-1]  # that ran
    print(json.dumps(report), flush=True)
    report["differs"], report["theirs"], report["exact"] = [], [], []
    for d in (draws[-1], *draws[:-1]):
        theirs = list(peer.run(d.inputs))
        ours = list(program(d.inputs).values())
        report["differs"].append(farthest(d.exact or theirs, ours))
        report["theirs"].append(farthest(d.exact or moved(peer, d), theirs))
        report["exact"].append(d.exact is not None)
    total = nodes(model)
    report["on"] = "c"
    if isinstance(last, Compiled):
        calls = [n.attrs[0] for n in last.source.nodes if n.op == "call"]
        report["hosted"] = sum(c not in last.bodies for c in calls)
    elif program.hosted:
        report["hosted"] = len(program.hosted)
        report["hosts"] = [h.reason[:80] for h in program.hosted[:3]]
    else:
        report["on"], report["hosted"] = "host", total
        report["hosts"] = [str(last)[:160]]
    report["share"] = round(report["hosted"] / max(total, 1), 3)
    ours, theirs = in_turns(lambda: program(inputs), lambda: peer.run(inputs))
    report["ratio"], report["ms"] = round(theirs / ours, 3), round(ours * 1e3, 2)


def first(model: Any, inputs: Mapping[str, Any]) -> tuple[Any, float]:
    """The program, and the seconds that compiling and the first call take."""
    import rewrite.onnx

    start = time.perf_counter()
    program = rewrite.onnx.compile(model, "c")
    program(inputs)
    return program, time.perf_counter() - start


def apart(f: Callable[[], float]) -> list[float]:
    """What it returns in a child, which leaves nothing behind here; nothing where it
    fails, as it then does here as well, and says why."""
    left, (ends, end) = signal.getitimer(signal.ITIMER_REAL)[0], os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.setitimer(signal.ITIMER_REAL, left)
            os.write(end, struct.pack("d", f()))
        finally:
            os._exit(0)
    os.close(end)
    with os.fdopen(ends, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return [*struct.unpack("d", told)] if told else []


def moved(peer: Any, d: Draw) -> list[Any]:
    """What ONNX Runtime gives for inputs a few roundings off."""
    floats = {k: v for k, v in d.inputs.items() if np.asarray(v).dtype.kind == "f"}
    near = {k: (v * (1 + MOVED)).astype(v.dtype) for k, v in floats.items()}
    return list(peer.run({**d.inputs, **near}))


def farthest(wanted: list[Any], got: list[Any]) -> float:
    from rewrite.onnx.exact import distance

    return max(map(distance, wanted, got), default=0.0)


def optimized(
    model: Any, peer: Any, draws: list[Draw] | None, report: dict[str, Any]
) -> None:
    import rewrite.onnx
    from rewrite.onnx.hosts import session

    found = rewrite.onnx.optimize(model)
    report["nodes"] = [found.before.nodes, found.after.nodes]
    report["error"], report["notes"] = found.error, list(found.notes)
    if draws:
        smaller = session(found.model, threads=THREADS)
        x = draws[-1].inputs
        ours, theirs = in_turns(lambda: smaller.run(x), lambda: peer.run(x))
        report["their_ratio"] = round(theirs / ours, 3)


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, ...]:
    """Medians of seconds, interleaved: the machine is not always quiet.  A turn begins
    once the other's threads sleep, for those of ONNX Runtime look out for work after a
    call and hold their processors meanwhile."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    end = time.perf_counter() + 2 * TURN
    for _ in _rounds(end):
        found = turns({"ours": ours, "theirs": theirs}, 1)
        for name, taken in found.items():
            times[name] += [t.wall for t in taken]
    return tuple(map(statistics.median, times.values()))


def _rounds(end: float) -> Iterator[int]:
    for k in range(ROUNDS):
        if k < 2 or time.perf_counter() < end:
            yield k


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
