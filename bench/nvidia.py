"""Kernels on an NVIDIA GPU beside torch, in one process.

    python bench/nvidia.py [--rows softmax,copy] [--modes eager,compile] [--sweep]
                         [--queued] [--limit SECONDS] [--json FILE]
    compute-sanitizer --tool racecheck python bench/nvidia.py --rows gemm2k --once

Each contestant reads and writes the same buffers, in rotation over
sets that are together larger than the second cache; contestants take turns, with
pauses; the table shows medians, bytes a second counted as each input and output once,
the share of a copy, the ratio to the best of torch, the largest error against float64
over the largest value, and what the cost model had predicted.  Outputs hold NaN before.
`--queued` times the device alone, which short kernels else wait for the host to use;
`--sweep` also tries what a search may set; `--once` launches ours a single time, and
judges nothing.  Exits with 1 where a result is wrong.

Needs torch and pycuda; neither a network nor the e-graph.  (Called cuda.py it would
hide the package `cuda` from every script beside it.)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice, product, repeat
from pathlib import Path
from typing import Any

from rows.attention import ATTENTION
from rows.convolutions import CONVOLUTIONS
from rows.memory import ROWS as MEMORY
from rows.memory import Call, Row, Tensors, torch
from rows.products import PRODUCTS
from rows.quantized import QUANTIZED

from rewrite.backends.cuda import CudaDevice
from rewrite.backends.nvidia.launches import CudaBuffer
from rewrite.backends.nvidia.nvrtc import kept_cubin
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.choice import Holes
from rewrite.lower.model import DeviceModel, Family, cheapest, model_of
from rewrite.lower.passes.barriers import barriers
from rewrite.lower.registry import FAMILIES
from rewrite.lower.tiles.family import Tiled

ROTATE = 256 << 20  # bytes of all sets of buffers together, at least
PAUSE, BATCH, ROUNDS = 0.01, 4, 9
SAMPLE = 1 << 20  # elements at both ends and between, that are held against float64
QUEUED = 4_000_000  # cycles: more than the host takes to launch a turn of any
NEAR = 1.15  # times the best of a sweep
SWEPT = 24  # settings of a family
TILED = [f for f in FAMILIES if isinstance(f, Tiled)]

OWNED_BY_TORCH: Any = None  # the block that a buffer lies in

ROWS = {**MEMORY, **PRODUCTS, **ATTENTION, **CONVOLUTIONS, **QUANTIZED}

# ---- contestants


@dataclass(frozen=True)
class Ours:
    """A lowered kernel, launched on torch's own memory."""

    label: str
    family: str
    predicted: float
    module: Any

    def __call__(self, tensors: Tensors) -> None:
        held = [
            CudaBuffer(x.data_ptr(), x.numel() * x.element_size(), OWNED_BY_TORCH)
            for x in tensors
        ]
        self.module.launch("f", held)


def ours(
    device: CudaDevice, kernel: Kernel, family: Family, model: DeviceModel,
    label: str, holes: Holes = (),
) -> Ours | None:  # fmt: skip
    cost = family.cost(kernel, model, holes)
    if cost is None:
        return None
    function = barriers(family.lower(kernel, device.caps(), "f", False, holes))
    module = device.compile([function])
    return Ours(label, family.name, cost.seconds, module)


def compiled(
    device: CudaDevice, kernel: Kernel, options: Sequence[tuple[float, Family, Holes]]
) -> None:
    """Several at once, and kept on disk, where they are found again."""
    functions = [
        barriers(f.lower(kernel, device.caps(), "f", False, holes))
        for _, f, holes in options
    ]
    texts = [device.source([f]) for f in functions]
    with ProcessPoolExecutor() as pool:
        list(pool.map(kept_cubin, texts, repeat(device.arch), repeat(True)))


def swept(device: CudaDevice, kernel: Kernel, model: DeviceModel) -> Iterator[Ours]:
    """The settings of tile families that are predicted to be fast, the best first."""
    options: list[tuple[float, Family, Holes]] = []
    for family in TILED:
        if family.accepts(kernel) is not None:
            continue
        domains = family.domains(kernel, model)
        for values in product(*domains.values()):
            holes = tuple(sorted(zip(domains, values, strict=True)))
            cost = family.cost(kernel, model, holes)
            if cost is not None:
                options.append((cost.seconds, family, holes))
    options.sort(key=lambda o: o[0])
    compiled(device, kernel, options[:SWEPT])
    for _, family, holes in islice(options, SWEPT):
        label = " ".join((family.name, *(f"{n}={v}" for n, v in holes)))
        made = ours(device, kernel, family, model, label, holes)
        if made is not None:
            yield made


def peers(row: Row, modes: Sequence[str]) -> dict[str, Call]:
    out: dict[str, Call] = {"eager": row.peer}
    options = {
        "compile": None,
        "autotune": "max-autotune-no-cudagraphs",
    }
    for name, mode in options.items():
        if name in modes:
            torch._dynamo.reset()
            out[name] = torch.compile(row.peer, mode=mode, dynamic=False)
    return {n: f for n, f in out.items() if n in modes} | dict(row.also)


# ---- judging and timing


def parts(row: Row, inputs: Tensors, out: Any) -> Iterator[tuple[list[Any], Any]]:
    """Inputs and output, or their ends: float64 of all would not fit."""
    if not row.rows:
        yield list(inputs), out
        return
    m = inputs[0].shape[0]
    k = max(SAMPLE // (inputs[0].numel() // m), 64)
    for at in (slice(0, k), slice(m - k, m), slice(m // 2, m // 2 + k)):
        some = [
            x[at] if (i in row.along if row.along else x.shape[0] == m) else x
            for i, x in enumerate(inputs)
        ]
        yield some, out[:, at] if row.turned else out[at]


def error(row: Row, inputs: Tensors, out: Any) -> float:
    """The largest, over the largest value; infinite where an element was left out."""
    if bool(torch.isnan(out).any()):
        return float("inf")
    worst = 0.0
    for some, got in parts(row, inputs, out):
        exact = row.exact([x.double() if x.is_floating_point() else x for x in some])
        scale = float(exact.abs().max())
        worst = max(worst, float((got.double() - exact).abs().max()) / scale)
    return worst


def race(
    entries: dict[str, Call], sets: Sequence[Tensors], queued: bool = False
) -> dict[str, float]:
    """Median seconds of each, all taking turns over all sets of buffers; `queued`: the
    device waits until all that is timed has been launched."""
    marks: dict[str, list[tuple[Any, Any]]] = {name: [] for name in entries}
    for call in entries.values():
        for s in sets:
            call(s)
    turn = 0
    for _ in range(ROUNDS):
        for name, call in entries.items():
            torch.cuda.synchronize()
            time.sleep(PAUSE)
            call(sets[turn % len(sets)])
            a, b = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            if queued:
                torch.cuda._sleep(QUEUED)
            a.record()
            for _ in range(BATCH):
                turn += 1
                call(sets[turn % len(sets)])
            b.record()
            marks[name].append((a, b))
    torch.cuda.synchronize()
    return {
        name: statistics.median(a.elapsed_time(b) for a, b in m) / BATCH * 1e-3
        for name, m in marks.items()
    }


def entry(made: Ours) -> Call:
    return lambda tensors: made(tensors)


def bench(
    row: Row, device: CudaDevice, modes: Sequence[str], sweep: bool, queued: bool
) -> dict[str, Any]:
    model = model_of(device.caps())
    kernel = row.kernel
    chosen = cheapest(kernel, FAMILIES, model)
    assert chosen is not None
    old = cheapest(kernel, [f for f in FAMILIES if f not in TILED], model)
    mine = [ours(device, kernel, chosen[0], model, "ours")]
    if old is not None and old[0] is not chosen[0]:
        mine.append(ours(device, kernel, old[0], model, "before"))
    made = [x for x in mine if x is not None]
    inputs = row.make()
    sample = row.peer(inputs)
    moved = sum(x.numel() * x.element_size() for x in (*inputs, sample))
    count = max(2, -(-ROTATE // moved) + 1)
    sets = [[*inputs, torch.empty_like(sample.contiguous())]]
    for _ in range(count - 1):
        sets.append([*(x.clone() for x in inputs), torch.empty_like(sets[0][-1])])
    del sample
    if sweep:
        made += list(swept(device, kernel, model))
    errors: dict[str, float] = {}
    for m in made:
        sets[0][-1].fill_(float("nan"))
        torch.cuda.synchronize()
        m(sets[0])
        torch.cuda.synchronize()
        errors[m.label] = error(row, inputs, sets[0][-1])
    torches = peers(row, modes)
    entries: dict[str, Call] = {m.label: entry(m) for m in made}
    for name, f in torches.items():
        try:
            errors[name] = error(row, inputs, f(inputs))
        except Exception as e:  # a contestant that does not start says so, and is out
            print(f"  torch {name} does not run: {type(e).__name__}: {str(e)[:200]}")
            continue
        entries[name] = lambda s, f=f: f(s[:-1])
    seconds = race(entries, sets, queued)
    facts = {m.label: m for m in made}
    return {
        "row": row.name, "bytes": moved, "flops": row.flops,
        "tolerance": row.tolerance,
        "seconds": seconds, "errors": errors,
        "families": {n: m.family for n, m in facts.items()},
        "predicted": {n: m.predicted for n, m in facts.items()},
        "torch": [n for n in torches if n in entries],
    }  # fmt: skip


def once(row: Row, device: CudaDevice) -> None:
    model, inputs = model_of(device.caps()), row.make()
    chosen = cheapest(row.kernel, FAMILIES, model)
    assert chosen is not None
    made = ours(device, row.kernel, chosen[0], model, "ours")
    assert made is not None
    out = (n * t.itemsize for t, n in row.kernel.slots[row.kernel.reads :])
    made([*inputs, *(torch.empty(n, dtype=torch.uint8, device="cuda") for n in out)])
    torch.cuda.synchronize()
    print(f"{row.name}: {made.family}, launched once")


def searched(result: dict[str, Any]) -> float | None:
    """Seconds of the best of ours, where settings were tried."""
    tried = [n for n in result["families"] if n not in ("ours", "before")]
    return min(result["seconds"][n] for n in ("ours", *tried)) if tried else None


def wrong(result: dict[str, Any]) -> list[str]:
    mine = (n for n in result["families"])
    return [n for n in mine if not result["errors"][n] <= result["tolerance"]]


def show(result: dict[str, Any], rate: float) -> None:
    seconds = result["seconds"]
    best = min((seconds[n] for n in result["torch"]), default=float("nan"))
    print(f"\n{result['row']}  ({result['bytes'] / 1e6:.0f} MB)")
    ranked = sorted(seconds, key=lambda n: (n != "ours", seconds[n]))
    for name in ranked:
        s = seconds[name]
        per = result["bytes"] / s
        line = f"  {name:44} {s * 1e6:9.1f} us {per / 1e9:7.0f} GB/s"
        if result["flops"]:
            line += f" {result['flops'] / s / 1e12:6.1f} TFLOP/s"
        line += f" {per / rate:5.2f} of copy {best / s:6.2f} of torch"
        line += f"  error {result['errors'][name]:.1e}"
        if name in result["predicted"]:
            said = result["predicted"][name]
            line += f"  predicted {said * 1e6:.1f} us  {result['families'][name]}"
        print(line, flush=True)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", default=",".join(ROWS))
    p.add_argument("--modes", default="eager,compile")
    p.add_argument("--sweep", action="store_true")
    p.add_argument("--queued", action="store_true")
    p.add_argument("--limit", type=float, default=420.0)
    p.add_argument("--once", action="store_true")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    begin = time.time()
    torch.cuda.init()
    torch.empty(1, device="cuda")
    torch.manual_seed(0)
    device = CudaDevice()
    print(device.probe().detail, "torch", torch.__version__)
    print(model_of(device.caps()))
    if args.once:
        for name in args.rows.split(","):
            once(ROWS[name](), device)
        return 0
    results: list[dict[str, Any]] = []
    rate, bad = float("nan"), 0
    for name in args.rows.split(","):
        spent = time.time() - begin
        if spent > args.limit:
            print(f"\n{name}: left out, {spent:.0f} s are spent")
            continue
        late = spent > 0.7 * args.limit  # compiling takes torch tens of seconds
        modes = ["eager"] if late else args.modes.split(",")
        result = bench(ROWS[name](), device, modes, args.sweep and not late,
                       args.queued)  # fmt: skip
        if name == "copy":
            rate = result["bytes"] / min(result["seconds"].values())
        results.append(result)
        show(result, rate)
        for n in wrong(result):
            print(f"  WRONG: {n}, error {result['errors'][n]:.1e}")
            bad += 1
        torch.cuda.empty_cache()
    off = [
        abs(r["predicted"]["ours"] / r["seconds"]["ours"] - 1) for r in results
    ]  # fmt: skip
    if off:
        print(f"\npredictions are off by {statistics.median(off):.0%} (median)")
    over = [r["seconds"]["ours"] / best for r in results if (best := searched(r))]
    if over:
        near = sum(x <= NEAR for x in over)
        print(
            f"{near} of {len(over)} picked by price alone take at most {NEAR} times "
            f"the best that was tried, {statistics.median(over):.2f} (median)"
        )
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(f"\n{time.time() - begin:.0f} s, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
