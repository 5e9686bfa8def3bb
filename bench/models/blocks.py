"""Whole blocks and models on an NVIDIA GPU, beside torch, in one process.

    python bench/models/blocks.py [--rows gpt,decode] [--modes eager,compile,graphs]
                         [--kernels] [--warm] [--effort 2] [--limit SECONDS]
                         [--json FILE]
    python bench/models/blocks.py --table FILE

Ours is `torch.compile(model, backend="rewrite")`; *compile* is inductor, *graphs* its
mode `reduce-overhead`, *autotune* its mode `max-autotune`.  Contestants take turns,
with pauses; the table shows medians of a call where many are made one after another,
and the largest error against float64, over the largest value.  `--kernels` shows what
each kernel takes by the profiler, and what the cost model had predicted.  Exits with 1
where a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torch_blocks import BLOCKS, Block, made, torch

from rewrite.torch import backend
from rewrite.torch.compiling import listening
from rewrite.torch.program import Program

PAUSE, ROUNDS, SPENT = 0.01, 7, 0.02  # seconds between turns, and of one
MODES = {"compile": None, "graphs": "reduce-overhead", "autotune": "max-autotune"}
WORSE = 2.0  # times the error of torch's own results that ours may have

type Call = Callable[[], Any]


def call(model: Any, given: tuple[Any, ...]) -> Call:
    def run() -> Any:
        with torch.no_grad():
            return model(*given)

    return run


def ours(
    block: Block, model: Any, given: tuple[Any, ...], effort: int
) -> tuple[Call, Program]:
    """A call of the model by the backend, and its only program."""
    heard: list[Program] = []
    token = listening.set(heard)
    options = {"strict": True, "freeze": block.freeze, "effort": effort}
    try:
        run = call(torch.compile(model, backend=partial(backend, options=options)),
                   given)  # fmt: skip
        run()
    finally:
        listening.reset(token)
    (program,) = heard
    return run, program


def peers(modes: Sequence[str], model: Any, given: tuple[Any, ...]) -> dict[str, Call]:
    found = {"eager": call(model, given)} if "eager" in modes else {}
    for name in (m for m in modes if m in MODES):
        try:
            made = torch.compile(model, mode=MODES[name], dynamic=False)
            found[name] = call(made, given)
            found[name]()
        except Exception as e:  # a contestant that does not start says so, and is out
            print(f"  torch {name} does not run: {type(e).__name__}: {str(e)[:200]}")
            found.pop(name, None)
    return found


# ---- judging and timing


def exact(model: Any, given: tuple[Any, ...]) -> Any:
    wide = [x.double() if x.is_floating_point() else x for x in given]
    return call(model.double(), tuple(wide))()


def error(got: Any, want: Any) -> float:
    if bool(torch.isnan(got).any()):
        return float("inf")
    return float((got.double() - want).abs().max() / want.abs().max())


def race(entries: Mapping[str, Call]) -> dict[str, float]:
    """Median seconds of a call of each, all taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in entries}
    batch = dict.fromkeys(entries, 3)
    for turn in range(ROUNDS + 1):
        for name, run in entries.items():
            torch.cuda.synchronize()
            time.sleep(PAUSE)
            run()
            a, b = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            a.record()
            for _ in range(batch[name]):
                run()
            b.record()
            torch.cuda.synchronize()
            each = a.elapsed_time(b) * 1e-3 / batch[name]
            if turn:
                seconds[name].append(each)
            else:
                batch[name] = max(3, min(int(SPENT / each), 100))
    return {name: statistics.median(s) for name, s in seconds.items()}


def profiled(run: Call, turns: int = 3) -> list[tuple[str, float]]:
    """The kernels of a call in order, with their mean seconds."""
    run()
    torch.cuda.synchronize()
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CUDA, kinds.CPU]) as seen:
        for _ in range(turns):
            run()
        torch.cuda.synchronize()
    on_gpu = torch.autograd.DeviceType.CUDA
    found = [e for e in seen.events() if e.device_type == on_gpu]
    found.sort(key=lambda e: e.time_range.start)
    n = len(found) // turns
    each = [[e.time_range.elapsed_us() for e in found[k::n]] for k in range(n)]
    return [(found[k].name, statistics.mean(each[k]) * 1e-6) for k in range(n)]


def show_kernels(run: Call, program: Program) -> None:
    """Ours, beside what was predicted of them."""
    taken = profiled(run)
    for step in program.first.graphs:
        compiled: Any = step.compiled
        infos = [k for k in compiled.kernels() if not k.once]
        ready = compiled.executable({})
        starts = ready.module.starts
        for info, launch in zip(infos, ready.program.steps, strict=False):
            count = len(starts[launch.name])
            mine, taken = taken[:count], taken[count:]
            spent = sum(s for _, s in mine) * 1e6
            print(f"    {spent:8.1f} us, predicted {info.seconds * 1e6:8.1f}  "
                  f"{info.family:10} {info.label}")  # fmt: skip
    for name, s in taken:
        print(f"    {s * 1e6:8.1f} us, besides  {name[:60]}")


# ---- the bench


def warm(block: Block, modes: Sequence[str], effort: int) -> None:
    """Has all contestants compiled, and kept on disk."""
    model, given = made(block, "cuda")
    ours(block, model, given, effort)
    peers([m for m in modes if m != "eager"], model, given)


def bench(
    block: Block, modes: Sequence[str], kernels: bool, effort: int
) -> dict[str, Any]:
    torch._dynamo.reset()
    model, given = made(block, "cuda")
    began = time.perf_counter()
    mine, program = ours(block, model, given, effort)
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    for f in program.first.fallbacks:
        print(f"  in eager PyTorch: {f.operator}: {f.reason}")
    others = peers(modes, model, given)
    entries = {"ours": mine, **others}
    results = {name: run().clone() for name, run in entries.items()}
    seconds = race(entries)
    if kernels:
        show_kernels(mine, program)
        for name in ("eager", "compile"):
            if name in others:
                show_top(name, profiled(others[name]))
    want = exact(model, given)
    errors = {name: error(got, want) for name, got in results.items()}
    predicted = sum(
        k.seconds for s in program.first.graphs for k in kernels_of(s) if not k.once
    )
    return {
        "row": block.name, "flops": block.flops, "seconds": seconds,
        "errors": errors, "predicted": predicted, "first": first,
        "kernels": sum(len([k for k in kernels_of(s) if not k.once])
                       for s in program.first.graphs),
    }  # fmt: skip


def kernels_of(step: Any) -> list[Any]:
    return step.compiled.kernels()


def show_top(name: str, taken: Sequence[tuple[str, float]]) -> None:
    total = sum(s for _, s in taken)
    print(f"  torch {name}: {len(taken)} kernels, {total * 1e6:.1f} us by the profiler")
    sums: dict[str, list[float]] = {}
    for kernel, s in taken:
        sums.setdefault(kernel, []).append(s)
    ranked = sorted(sums.items(), key=lambda x: -sum(x[1]))
    for kernel, each in ranked[:8]:
        print(f"    {sum(each) * 1e6:8.1f} us  {len(each):3} x {kernel[:70]}")


def best(result: Mapping[str, Any]) -> float:
    return min(s for n, s in result["seconds"].items() if n != "ours")


def wrong(result: Mapping[str, Any]) -> bool:
    theirs = [e for n, e in result["errors"].items() if n != "ours"]
    return not result["errors"]["ours"] <= WORSE * max(theirs)


def show(result: Mapping[str, Any]) -> None:
    print(f"\n{result['row']}: {result['kernels']} kernels, predicted "
          f"{result['predicted'] * 1e6:.1f} us; "
          f"first call {result['first']:.1f} s")  # fmt: skip
    for name, s in sorted(result["seconds"].items(), key=lambda x: x[1]):
        rate = result["flops"] / s / 1e12
        print(f"  {name:10} {s * 1e6:9.1f} us {rate:6.1f} TFLOP/s"
              f"  {best(result) / s:5.2f} of torch  error {result['errors'][name]:.1e}",
              flush=True)  # fmt: skip


def table(results: Sequence[Mapping[str, Any]]) -> str:
    names = [n for n in ("eager", *MODES) if any(n in r["seconds"] for r in results)]
    head = ["row", "ours µs", *(f"{n} µs" for n in names), "ratio", "kernels",
            "predicted µs"]  # fmt: skip
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for r in results:
        s = r["seconds"]
        lines.append([
            r["row"], f"{s['ours'] * 1e6:.0f}",
            *(f"{s[n] * 1e6:.0f}" if n in s else "" for n in names),
            f"{best(r) / s['ours']:.2f}", str(r["kernels"]),
            f"{r['predicted'] * 1e6:.0f}",
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", default=",".join(BLOCKS))
    p.add_argument("--modes", default="eager,compile,graphs")
    p.add_argument("--kernels", action="store_true")
    p.add_argument("--warm", action="store_true", help="fill caches, and no more")
    p.add_argument("--effort", type=int, default=2)
    p.add_argument("--limit", type=float, default=420.0)
    p.add_argument("--json", type=Path)
    p.add_argument("--table", type=Path)
    args = p.parse_args()
    if args.table:
        print(table(json.loads(args.table.read_text())))
        return 0
    began, results, bad = time.time(), list[dict[str, Any]](), 0
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for name in args.rows.split(","):
        spent = time.time() - began
        if spent > args.limit:
            print(f"\n{name}: left out, {spent:.0f} s are spent")
            continue
        if args.warm:
            warm(BLOCKS[name], args.modes.split(","), args.effort)
            print(f"{name}: {time.time() - began:.0f} s", flush=True)
            continue
        result = bench(BLOCKS[name], args.modes.split(","), args.kernels, args.effort)
        results.append(result)
        show(result)
        if wrong(result):
            print("  WRONG")
            bad += 1
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
        torch.cuda.empty_cache()
    print(f"\n{time.time() - began:.0f} s, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
