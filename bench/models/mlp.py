"""A small MLP called from the host, beside torch: launches are most of what it takes.

    PYTHONPATH=bench python bench/models/mlp.py [--batches 1,8,32] [--json FILE]

*program* is ours as `torch.export` gives it, weights built in, called on torch's own
memory; *backend* is `torch.compile(model, backend="rewrite")`.  Of torch: eager,
`torch.compile`, its mode `reduce-overhead`, and *replay*, a graph of eager PyTorch that
the caller captured by hand, with the copy of the input that it needs.  A call is the
median of many in a row, host and device at once; *host* is until the call returns,
*alone* until its result is there.  Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch_blocks import Block, made, mlp, torch

from rewrite.backends.nvidia.launches import CudaBuffer
from rewrite.backends.resident import Resident
from rewrite.pipeline import optimize_graph
from rewrite.torch import backend
from rewrite.torch.exported import graph_of

ROUNDS, CALLS, QUIET = 21, 200, 0.005
SHORT = 20  # calls that fit where the driver lets the host go on
WORSE = 2.0  # times the error of eager PyTorch that ours may have

type Call = Callable[[], Any]


def program(model: Any, x: Any) -> Call:
    """The compiled program on torch's memory: an address is all that it takes."""
    graph = graph_of(torch.export.export(model, (x,)))
    ready = optimize_graph(graph, "cuda").executable()
    assert ready is not None
    run = Resident(ready)

    def call() -> Any:
        out = torch.empty_like(x)
        run([lent(x)], [lent(out)])
        return out

    return call


def lent(x: Any) -> CudaBuffer:
    return CudaBuffer(x.data_ptr(), x.nbytes, None)


def plain(model: Any, x: Any) -> Call:
    def call() -> Any:
        with torch.no_grad():
            return model(x)

    return call


def replay(model: Any, x: Any) -> Call:
    """What a user of torch may do who knows that sizes never change."""
    still, graph = x.clone(), torch.cuda.CUDAGraph()
    with torch.no_grad():
        torch.cuda.synchronize()
        model(still)
        with torch.cuda.graph(graph):
            out = model(still)

    def call() -> Any:
        still.copy_(x)
        graph.replay()
        return out

    return call


def contestants(model: Any, x: Any) -> dict[str, Call]:
    options = {"strict": True, "freeze": True}
    compiled = partial(torch.compile, model, dynamic=False)
    return {
        "program": program(model, x),
        "backend": plain(compiled(backend=partial(backend, options=options)), x),
        "eager": plain(model, x),
        "compile": plain(compiled(), x),
        "graphs": plain(compiled(mode="reduce-overhead"), x),
        "replay": replay(model, x),
    }  # fmt: skip


# ---- timing


def a_call(run: Call) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(CALLS):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / CALLS


def host(run: Call) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(SHORT):
        run()
    spent = time.perf_counter() - start
    torch.cuda.synchronize()
    return spent / SHORT


def alone(run: Call) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - start


KINDS = {"call": a_call, "host": host, "alone": alone}


def race(entries: Mapping[str, Call]) -> dict[str, dict[str, float]]:
    """Medians of each kind, all contestants taking turns."""
    seen = {n: {kind: list[float]() for kind in KINDS} for n in entries}
    for _ in range(ROUNDS):
        for name, run in entries.items():
            time.sleep(QUIET)
            run()
            for kind, timed in KINDS.items():
                seen[name][kind].append(timed(run))
    return {
        n: {kind: statistics.median(s) for kind, s in kinds.items()}
        for n, kinds in seen.items()
    }


def bench(batch: int) -> dict[str, Any]:
    torch._dynamo.reset()
    name = f"MLP, 256 to 1024 to 1024 to 256, batch {batch}"
    model, (x,) = made(Block(name, partial(mlp, batch), 0.0), "cuda")
    entries = contestants(model, x)
    results = {n: run().double() for n, run in entries.items()}
    seconds = race(entries)
    with torch.no_grad():
        want = model.double()(x.double())
    errors = {n: float((y - want).abs().max() / want.abs().max())
              for n, y in results.items()}  # fmt: skip
    return {"row": name, "seconds": seconds, "errors": errors}


def show(result: Mapping[str, Any]) -> None:
    seconds = result["seconds"]
    ours = seconds["program"]["call"]
    print(f"\n{result['row']}\n  {'us':10}{'a call':>10}{'host':>10}{'alone':>10}")
    for name, kinds in seconds.items():
        line = "".join(f"{kinds[k] * 1e6:10.1f}" for k in KINDS)
        print(f"  {name:10}{line}  {kinds['call'] / ours:6.2f} of program"
              f"  error {result['errors'][name]:.1e}", flush=True)  # fmt: skip


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--batches", default="1,8,32")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    results = [bench(int(b)) for b in args.batches.split(",")]
    for r in results:
        show(r)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    errors = [r["errors"] for r in results]
    return int(any(e[n] > WORSE * e["eager"] for e in errors for n in e))


if __name__ == "__main__":
    sys.exit(main())
