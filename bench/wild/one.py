"""One model: optimized, compiled for c, compared with ONNX Runtime; a line of JSON.

python -m bench.wild.one FILE SECONDS GIGABYTES
"""

from __future__ import annotations

import json
import resource
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

ROUNDS = 9
THREADS = 2


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

    import rewrite.onnx
    from rewrite.onnx.model import open_model

    model = open_model(path)
    found = step("optimize", lambda: rewrite.onnx.optimize(model))
    if found is not None:
        report["nodes"] = [found.before.nodes, found.after.nodes]
        report["error"], report["notes"] = found.error, list(found.notes)
        report["inputs"] = found.inputs is not None
    program = step("compile", lambda: rewrite.onnx.compile(model, "c"))
    if program is not None and found is not None and found.inputs is not None:
        step("run", lambda: run(model, program, found.inputs, report))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report["gigabytes"] = round(kilobytes / (1 << 20), 2)
    print(json.dumps(report), flush=True)


def run(
    model: Any, program: Any, inputs: Mapping[str, Any], report: dict[str, Any]
) -> None:
    from rewrite.core.compiled import Compiled
    from rewrite.onnx.hosts import session
    from rewrite.onnx.write.verify import difference

    peer = session(model, threads=THREADS)
    want, got = peer.run(inputs), list(program(inputs).values())
    report["differs"] = max(map(difference, want, got), default=0.0)
    last = program.programs[-1]
    report["on"] = "c" if isinstance(last, Compiled) else "host"
    if isinstance(last, Compiled):
        calls = sum(n.op == "call" for n in last.source.nodes)
        report["calls"] = f"{calls}/{len(last.source.nodes)}"
    theirs: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):  # interleaved: the machine is not quiet
        theirs.append(timed(lambda: peer.run(inputs)))
        ours.append(timed(lambda: program(inputs)))
    report["ratio"] = round(statistics.median(theirs) / statistics.median(ours), 3)


def timed(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
