"""Models of PyTorch: this backend beside eager PyTorch and inductor, on a CPU.

    python bench/models/torch_cpu.py [NAME ..] [--rounds 9] [--threads 2] [--cpu]
        [--write PAGE]

A row per model of `tests/torch/zoo.py`, each in processes of its own.  Seconds of the
first call: of the whole, and less what it takes with `aot_eager`, which is the share of
Dynamo and AOTAutograd and the same for all; then, as *warm*, of a fresh process that
finds the caches of the first.  Milliseconds of a call: in turns, medians; by the clock,
or, with `--cpu`, of processors, which other work on the machine weighs less on: all
threads together, so that it is for one thread each.  *Error* is
the largest of a result (of a gradient, where a step of training is timed) over the
largest value.  Models need torchvision, transformers and timm.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import exp, log
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "REWRITE_THREADS",
)
COMPILERS = "aot_eager", "rewrite", "inductor"

type Row = dict[str, float]


# ---- one model, in a process of its own ----------------------------------------------


def first(name: str, train: bool, compiler: str) -> tuple[float, Callable[[], Any]]:
    """Seconds of the first call, and the call."""
    import torch

    from rewrite.torch import backend
    from tests.torch.running import calls

    torch.compiler.reset()
    chosen = partial(backend, options={}) if compiler == "rewrite" else compiler
    tiny = torch.compile(torch.nn.Linear(8, 8), backend=chosen)
    with torch.no_grad():
        tiny(torch.ones(4, 8))  # what a process pays once is not the model's
    call = calls(name, train, lambda m: torch.compile(m, backend=chosen))
    began = perf_counter()
    call()
    return perf_counter() - began, call


def cold(name: str, train: bool, rounds: int, cpu: bool) -> Row:
    from rewrite.torch.explain import view
    from rewrite.tuning.timing import turns
    from tests.torch.running import calls, error, programs

    row: Row = {}
    runs: dict[str, Callable[[], Any]] = {"eager": calls(name, train, lambda m: m)}
    with programs() as made:
        for compiler in COMPILERS:
            row[f"{compiler} s"], runs[compiler] = first(name, train, compiler)
    del runs["aot_eager"]
    views = [view(p) for p in made[1:]]  # the tiny model's is the first
    row["nodes"] = sum(v.nodes for v in views)
    row["in eager"] = sum(len(v.fallbacks) for v in views)
    row["kernels"] = sum(v.kernels[1] for v in views)
    row["error"] = error(drawn(runs["rewrite"]), drawn(runs["eager"]))
    taken = turns(runs, rounds)
    return row | {
        k: median(t.cpu if cpu else t.wall for t in ts) for k, ts in taken.items()
    }


def drawn(call: Callable[[], Any]) -> Any:
    """What a call gives from one state of random numbers."""
    import torch

    torch.manual_seed(1)
    return call()


def warm(name: str, train: bool, _: int, __: bool) -> Row:
    return {f"{c} warm s": first(name, train, c)[0] for c in ("aot_eager", "rewrite")}


def child(kind: str, name: str, train: bool, rounds: int, cpu: bool) -> None:
    warnings.simplefilter("ignore")
    print(json.dumps((cold if kind == "cold" else warm)(name, train, rounds, cpu)))


# ---- all of them ---------------------------------------------------------------------


def asked(kind: str, name: str, train: bool, given: Any, folder: str) -> Row:
    """What a process of its own says of a model."""
    call = f"child({kind!r}, {name!r}, {train}, {given.rounds}, {given.cpu})"
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += f"from torch_cpu import child; {call}"
    environment = {
        **os.environ, **dict.fromkeys(THREADS, str(given.threads)),
        "REWRITE_CACHE": f"{folder}/rewrite",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def measured(name: str, train: bool, given: Any) -> Row:
    with TemporaryDirectory() as folder:
        row = asked("cold", name, train, given, folder)
        return row | asked("warm", name, train, given, folder)


def ratio(row: Row) -> float:
    """The better one's time over ours."""
    return min(row["eager"], row["inductor"]) / row["rewrite"]


HEAD = (
    "", "nodes", "in eager", "kernels", "error", "our part, s", "inductor's",
    "ours warm / cold", "eager, ms", "inductor", "rewrite", "better / ours",
)  # fmt: skip


def cells(name: str, r: Row) -> list[str]:
    part = r["rewrite s"] - r["aot_eager s"]
    other = r["inductor s"] - r["aot_eager s"]
    again = max(r["rewrite warm s"] - r["aot_eager warm s"], 0.0)
    return [
        name, *(f"{r[k]:.0f}" for k in ("nodes", "in eager", "kernels")),
        f"{r['error']:.0e}", f"{part:.1f}", f"{other:.1f}", f"{again / part:.2f}",
        *(f"{r[k] * 1e3:.2f}" for k in ("eager", "inductor", "rewrite")),
        f"{ratio(r):.2f}",
    ]  # fmt: skip


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(rows: dict[str, Row]) -> str:
    mean = exp(sum(log(ratio(r)) for r in rows.values()) / len(rows))
    lines = [line(HEAD), line(["---"] * len(HEAD))]
    lines += [line(cells(name, r)) for name, r in rows.items()]
    return "\n".join(
        (*lines, "", f"The geometric mean of the last column is {mean:.2f}.")
    )


def written(page: Path, text: str) -> None:
    """The page, with the table between its marks replaced."""
    begin, end = "<!-- table -->\n", "<!-- end -->"
    before, _, rest = page.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", "utf-8")


def main() -> None:
    from tests.torch.zoo import MODELS, MORE, MORE_TRAINED, TRAINED

    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("names", nargs="*", help="models whose name begins so")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2, help="of each")
    parser.add_argument("--cpu", action="store_true", help="time of processors")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    rows: dict[str, Row] = {}
    every = [(n, False) for n in (*MODELS, *MORE)]
    every += [(n, True) for n in (*TRAINED, *MORE_TRAINED)]
    for name, train in every:
        if given.names and not any(map(name.startswith, given.names)):
            continue
        label = name + (", a step of training" if train else "")
        rows[label] = measured(name, train, given)
        print(line(cells(label, rows[label])), file=sys.stderr, flush=True)
    print(f"{table(rows)}\nLoad: {', '.join(f'{x:.1f}' for x in os.getloadavg())}")
    if given.write:
        written(given.write, table(rows))


if __name__ == "__main__":
    main()
