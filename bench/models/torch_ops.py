"""Core ATen, operator by operator: what `torch.compile(backend="rewrite")` makes of it.

    python bench/models/torch_ops.py [NAME ..] [--dtypes float32,..] [--samples 3]
        [--jobs 2] [--device c] [--calls FILE] [--keep FILE] [--write PAGE]

A row per operator that PyTorch tags as core, for all dtypes that the device has.  Its
samples are the calls that PyTorch's own samples (`op_db`) come down to, forwards and
backwards (`tests/torch/recorded.py`).  Each is compiled through Dynamo and AOTAutograd,
strict, and compared with eager PyTorch: values within the tolerances of
`torch.testing` (or as near to what wider floats give), sizes, strides, dtypes, and
which tensors share memory.

Calls are compiled many at once, and alone where that goes wrong.

*passed*: all of that, and no node in eager PyTorch; *mistraced*: something differs, and
PyTorch's own trace (`aot_eager`) differs from eager PyTorch as well; *fell back*: with
nodes in eager PyTorch; *wrong*: something differs; *raised*: an error that eager
PyTorch does not raise.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import batched, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32",
          "int64", "uint8", "uint16", "uint32", "uint64", "bool")  # fmt: skip
KINDS = "passed", "mistraced", "fell back", "wrong", "raised"
BATCH = 16  # calls that are compiled as one function, to save time
TIED = "sort", "topk"  # of equal elements any may come first
SEED = 42  # of operators that draw numbers


@dataclass
class Row:
    """What the samples of one operator gave."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)  # each with its first sample

    def heard(self, kind: str, reason: str, sample: str) -> None:
        self.counts[kind] += 1
        if reason:
            self.reasons.setdefault(f"{kind}: {reason}", sample)

    @property
    def verdict(self) -> str:
        """The worst of all samples."""
        return next((k for k in reversed(KINDS) if self.counts[k]), "no sample")


# ---- one sample ----------------------------------------------------------------------


def shared(results: Sequence[Any], given: Sequence[Any]) -> list[tuple[int, int]]:
    """Which results lie in whose memory, and where: inputs first."""
    known: dict[int, int] = {}
    for k, t in enumerate((*given, *results)):
        if t.numel():
            known.setdefault(t.untyped_storage().data_ptr(), k)
    return [
        (known[t.untyped_storage().data_ptr()], t.storage_offset())
        for t in results
        if t.numel()
    ]


def compared(call: Any, device: str) -> tuple[str, str]:
    """The kind of what comes of a call, and the reason."""
    import torch

    from tests.torch.recorded import owned
    from tests.torch.sweep import flattened

    mine, theirs = owned(call), owned(call)
    run, tensors = flattened(mine.function, mine.args, mine.kwargs)
    torch.manual_seed(SEED)
    plain, given = flattened(theirs.function, theirs.args, theirs.kwargs)
    expected = plain(*given)
    try:
        torch.manual_seed(SEED)
        found, missed = compiled(run, tensors, device)
    except Exception as e:
        return "raised", f"{type(e).__name__}: {e}"
    said = differences(call, found, expected, tensors, given)
    if said:
        return ("mistraced" if mistraced(call) else "wrong"), said
    return ("fell back", missed[0]) if missed else ("passed", "")


def verdicts(calls: Sequence[Any], device: str) -> list[tuple[str, str]]:
    """What comes of each call.  All are compiled as one function where that goes well;
    halves are, where something is amiss, down to single calls."""
    if len(calls) == 1:
        return [compared(calls[0], device)]
    found = together(calls, device)
    if found is not None:
        return found
    half = len(calls) // 2
    return verdicts(calls[:half], device) + verdicts(calls[half:], device)


def together(calls: Sequence[Any], device: str) -> list[tuple[str, str]] | None:
    """None, where not all of it is compiled."""
    import torch

    from tests.torch.recorded import owned
    from tests.torch.sweep import flattened

    mine, theirs = ([owned(c) for c in calls] for _ in range(2))
    runs = [flattened(c.function, c.args, c.kwargs) for c in mine]
    starts = [0]
    for _, tensors in runs:
        starts.append(starts[-1] + len(tensors))

    def every(*tensors: Any) -> list[list[Any]]:
        pairs = zip(runs, pairwise(starts), strict=True)
        return [run(*tensors[a:b]) for (run, _), (a, b) in pairs]

    torch.manual_seed(SEED)
    try:
        found, missed = compiled(every, [t for _, ts in runs for t in ts], device, True)
    except Exception:
        return None  # which of the calls it is, halves will say
    if missed:
        return None
    out: list[tuple[str, str]] = []
    for call, result, (_, tensors), other in zip(calls, found, runs, theirs,
                                                 strict=True):  # fmt: skip
        plain, given = flattened(other.function, other.args, other.kwargs)
        said = differences(call, result, plain(*given), tensors, given)
        out.append(compared(call, device) if said else ("passed", ""))
    return out


def mistraced(call: Any) -> bool:
    """Whether PyTorch's own trace, run as it is, differs from eager PyTorch."""
    import torch

    from tests.torch.recorded import owned
    from tests.torch.sweep import flattened

    sides: list[Any] = []
    for compiler in ("eager", "aot_eager"):
        own = owned(call)
        run, tensors = flattened(own.function, own.args, own.kwargs)
        torch.compiler.reset()
        torch.manual_seed(SEED)
        made = torch.compile(run, backend=compiler, dynamic=False)(*tensors)
        sides += [made, tensors]
    return bool(differences(call, sides[2], sides[0], sides[3], sides[1]))


def compiled(
    run: Any, tensors: Sequence[Any], device: str, whole: bool = False
) -> tuple[Any, list[str]]:
    """Results, and why nodes ran in eager PyTorch."""
    import torch

    from rewrite.torch import backend
    from tests.torch.running import programs

    torch.compiler.reset()
    options = {"device": device, "strict": True, "cache": False, "effort": 0}
    chosen = partial(backend, options=options)
    fast = torch.compile(run, backend=chosen, dynamic=False, fullgraph=whole)
    with programs() as made:
        found = fast(*tensors)
    if not made:
        return found, ["Dynamo leaves it to eager PyTorch"]
    return found, [f"{f.operator}: {f.reason}" for p in made for f in p.first.fallbacks]


def differences(
    call: Any, found: Sequence[Any], expected: Sequence[Any], mine: Any, theirs: Any
) -> str:
    import torch

    from tests.torch.sweep import MEANINGLESS, difference

    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    tied = call.overload.split(".")[1] in TIED
    if tied:
        found, expected = (positions_taken(call, r) for r in (found, expected))
    tensors = [isinstance(t, torch.Tensor) for t in expected]
    if call.overload.split(".")[1] not in MEANINGLESS:
        truths = [None] * len(expected) if tied else wider(call, len(expected))
        for a, b, truth in zip(found, expected, truths, strict=True):
            said = difference(a, b, truth)
            if said:
                return said
    pairs = zip(found, expected, strict=True)
    for a, b in (pair for pair, is_one in zip(pairs, tensors, strict=True) if is_one):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
    if all(tensors) and shared(found, mine) != shared(expected, theirs):
        return f"shared memory {shared(found, mine)} for {shared(expected, theirs)}"
    return ""


def wider(call: Any, count: int) -> list[Any]:
    """What wider floats give."""
    from tests.torch.sweep import flattened, widened

    run, given = flattened(call.function, call.args, call.kwargs)
    return widened(run, given, count)


def positions_taken(call: Any, results: Any) -> list[Any]:
    """Values, and what stands at the positions that were found: which of equal ones,
    PyTorch leaves open."""
    import torch

    values, at = results
    named = {"dim": -1, **call.kwargs}
    place = {"sort": 1, "topk": 2}[call.overload.split(".")[1]]
    stable = call.overload.endswith(".stable")
    dim = call.args[place] if len(call.args) > place and not stable else named["dim"]
    taken = torch.take_along_dim(call.args[0], at, dim) if at.ndim else call.args[0]
    every = torch.sort(at, dim).values if place == 1 and at.ndim else values
    return [values, taken, every, torch.zeros_like(at)]


# ---- all of them ---------------------------------------------------------------------


def shown(call: Any) -> str:
    """A call in a line."""
    import torch
    from torch.utils import _pytree as pytree

    def one(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return repr(x)
        return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"

    args, kwargs = pytree.tree_map(one, (call.args, call.kwargs))
    named = [f"{k}={v}" for k, v in kwargs.items()]
    text = ", ".join([*map(str, args), *named]).replace("'", "")
    return f"{call.overload.removeprefix('aten.')}({text})"


def child(name: str, data: bytes, device: str) -> Row:
    """The row of an operator, in a process of its own."""
    import torch

    quiet()
    torch.set_num_threads(1)
    row = Row(name)
    calls = torch.load(io.BytesIO(data), weights_only=False)
    with torch.no_grad():
        found = [v for some in batched(calls, BATCH) for v in verdicts(some, device)]
    for call, (kind, reason) in zip(calls, found, strict=True):
        row.heard(kind, " ".join(reason.split())[:160], shown(call))
    return row


def quiet() -> None:
    """PyTorch says of each fallback and each graph break what the table says."""
    import logging

    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.ERROR)


def packed(calls: Sequence[Any]) -> bytes:
    import torch

    held = io.BytesIO()
    torch.save(list(calls), held)
    return held.getvalue()


def rows(given: argparse.Namespace) -> list[Row]:
    import torch

    from tests.torch.recorded import core, recorded

    warnings.simplefilter("ignore")
    dtypes = [getattr(torch, d) for d in given.dtypes.split(",")]
    if given.calls and given.calls.exists():
        calls = torch.load(given.calls, weights_only=False)
    else:
        calls = recorded(dtypes, given.samples)
        if given.calls:
            torch.save(calls, given.calls)
    tasks: dict[str, bytes] = {}
    for name, overloads in core().items():
        own = [c for o in overloads for c in calls.get(str(o), [])]
        if not given.names or name in given.names:
            tasks[name] = packed(own)
    made = kept(given.keep)
    context = multiprocessing.get_context("spawn")
    while tasks:
        with ProcessPoolExecutor(given.jobs, mp_context=context) as pool:
            futures = {n: pool.submit(child, n, data, given.device)
                       for n, data in tasks.items()}  # fmt: skip
            for name, future in futures.items():
                try:
                    made[name] = future.result()
                except BrokenProcessPool:
                    row = made[name] = Row(name)
                    row.heard("raised", "the process died", name)
                    break
                finally:
                    tasks.pop(name)
                counts = dict(made[name].counts)
                print(name, counts, *made[name].reasons.items(), sep="\n    ",
                      file=sys.stderr, flush=True)  # fmt: skip
    if given.keep:
        text = {n: (r.counts, r.reasons) for n, r in sorted(made.items())}
        given.keep.write_text(json.dumps(text, indent=1), "utf-8")
    return [made[n] for n in sorted(made)]


def kept(path: Path | None) -> dict[str, Row]:
    """The rows of earlier runs."""
    if path is None or not path.exists():
        return {}
    read = json.loads(path.read_text("utf-8"))
    return {n: Row(n, Counter(counts), why) for n, (counts, why) in read.items()}


def plain(text: str) -> str:
    """A reason in a cell of a table."""
    return re.sub(r"([|<>*_])", r"\\\1", text)


def table(found: Sequence[Row]) -> str:
    verdicts = Counter(r.verdict for r in found)
    known = len(found) - verdicts["no sample"]
    samples = Counter[str]()
    for r in found:
        samples.update(r.counts)
    whole = verdicts["passed"] / max(known, 1)
    right = (verdicts["passed"] + verdicts["fell back"]) / max(known, 1)
    says = ", ".join(f"{verdicts[k]} {k}" for k in KINDS)
    each = ", ".join(f"{samples[k]} {k}" for k in KINDS)
    none = ", ".join(f"`{r.name}`" for r in found if r.verdict == "no sample")
    out = [
        f"Of {known} operators: {says}. {right:.1%} give eager's results, {whole:.1%} "
        f"with all of it compiled. Of {samples.total()} samples: {each}.",
        f"No sample: {none}." if none else "",
        "", f"| operator | verdict | {' | '.join(KINDS)} | reasons |",
        "|" + " --- |" * (len(KINDS) + 3),
    ]  # fmt: skip
    for r in sorted(found, key=lambda r: (-_badness(r), r.name)):
        if r.verdict == "no sample":
            continue
        numbers = " | ".join(str(r.counts[k]) for k in KINDS)
        why = "; ".join(plain(f"{k} (first {s})") for k, s in r.reasons.items())
        out.append(f"| `{r.name}` | {r.verdict} | {numbers} | {why} |")
    return "\n".join(out)


def _badness(r: Row) -> int:
    return KINDS.index(r.verdict) if r.verdict in KINDS else -1


def main() -> int:
    from bench.models.torch_cpu import written

    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("names", nargs="*", help="operators; all of core ATen if none")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=3, help="of overload and dtype")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="c")
    parser.add_argument("--calls", type=Path, help="a file that keeps the samples")
    parser.add_argument("--keep", type=Path, help="a file of rows, taken in many goes")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    found = rows(given)
    print(table(found))
    if given.write:
        written(given.write, table(found))
    return 1 if any(r.counts["wrong"] + r.counts["raised"] for r in found) else 0


if __name__ == "__main__":
    sys.exit(main())
