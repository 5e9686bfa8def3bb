"""PyTorch's own samples of operators (`op_db`), read and evaluated, beside eager.

    python -m tests.torch.sweep [-k NAME] [--all] [--dtypes float32,int64,bool]
                                [--device c] [--samples 12]

An operator passes where all its samples give eager's values, sizes, strides and dtype,
and is *read* where no node of them ran in eager PyTorch.  Graphs are evaluated by the
NumPy meaning of their nodes, so that it is the readers that are tried; with `--device`
they are compiled, with little effort.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import torch
from functorch.compile import aot_function
from torch.utils import _pytree as pytree

import rewrite
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.torch.compiling import decomposition_table
from rewrite.torch.program import Compile, Program
from rewrite.torch.reading import Part

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")
# What lies in fresh memory says nothing; the others draw with a seed of their own.
MEANINGLESS = ("empty", "empty_strided", "empty_like", "empty_permuted", "new_empty",
               "new_empty_strided", "rand_like", "randint_like", "randn_like", "randn",
               "normal", "bernoulli", "uniform")  # fmt: skip
STRIDED = torch.strided
WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32,
         torch.float32: torch.float64}  # fmt: skip
SEED = 42  # that of samples which draw numbers
SAMPLES = 12  # of one operator and dtype


@dataclass
class Verdict:
    """What the samples of one operator gave."""

    name: str
    samples: int = 0
    read: int = 0  # without eager nodes
    wrong: list[str] = field(default_factory=list)
    fallbacks: Counter[str] = field(default_factory=Counter)
    untraced: int = 0

    def merge(self, other: Verdict) -> None:
        """Adds what other samples of the operator gave."""
        self.samples += other.samples
        self.read += other.read
        self.wrong += other.wrong
        self.fallbacks += other.fallbacks
        self.untraced += other.untraced

    @property
    def passed(self) -> bool:
        return not self.wrong

    @property
    def whole(self) -> bool:
        return self.passed and self.read == self.samples


def evaluated(part: Part, _: Any) -> Any:
    def run(inputs: Any) -> dict[str, Any]:
        results = evaluate(part.graph, inputs)
        return {k: np.array(a, order="C") for k, a in results.items()}

    return run


def on_device(device: str) -> Compile:
    def compile(part: Part, _: Any) -> Any:
        return rewrite.compile_graph(
            part.graph, device, effort=0, cache=False, fallback=False
        )

    return compile


@dataclass
class Traced:
    """A function, functional and in core ATen, as a program; or why there is none."""

    run: Any = None
    program: Program | None = None
    failed: str = ""


def traced(f: Any, tensors: Sequence[torch.Tensor], compile: Compile) -> Traced:
    made = Traced()

    def compiler(module: Any, _: Any) -> Any:
        try:
            made.program = Program(module, compile, "sample", strict=True)
        except Exception as e:
            # It is what this sweep looks for, and no error of PyTorch's tracer.
            made.failed = f"{type(e).__name__}: {e}"[:200]
            return module.forward
        return lambda *args: made.program(list(args))

    made.run = aot_function(f, compiler, decompositions=decomposition_table(),
                            keep_inference_input_mutations=True)  # fmt: skip
    state = torch.get_rng_state()
    made.run(*tensors)
    torch.set_rng_state(state)
    return made


def flattened(f: Any, args: Any, kwargs: Any) -> tuple[Any, list[torch.Tensor]]:
    """`f` as a function of the tensors in its arguments, whose results are a list."""
    flat, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor)]

    def of_tensors(*tensors: torch.Tensor) -> list[Any]:
        filled = list(flat)
        for i, t in zip(places, tensors, strict=True):
            filled[i] = t
        a, k = pytree.tree_unflatten(filled, spec)
        return pytree.tree_leaves(f(*a, **k))

    return of_tensors, [flat[i] for i in places]


def as_near(found: Any, expected: Any, truth: Any) -> bool:
    """Whether a result errs from what wider floats give by no more than two units, or
    twice what eager's does: element by element in small floats, else at most."""
    if truth is None or found.dtype not in WIDER or found.shape != truth.shape:
        return False
    size = truth.abs()
    scale = size if found.dtype != torch.float32 else size.max()  # sums may cancel
    unit = 2 * torch.finfo(found.dtype).eps * scale
    own, theirs = ((x.to(truth.dtype) - truth).abs() for x in (found, expected))
    theirs = theirs if found.dtype != torch.float32 else theirs.max()
    same = (found == expected) | (found.isnan() & expected.isnan())
    return bool((same | (own <= torch.maximum(2 * theirs, unit))).all())


def difference(found: Any, expected: Any, truth: Any) -> str:
    """How two results differ; empty where they do not."""
    if not isinstance(expected, torch.Tensor):
        return "" if found == expected else f"{found} for {expected}"
    try:
        torch.testing.assert_close(found, expected, equal_nan=True)
    except AssertionError as e:
        if not as_near(found, expected, truth):
            return " ".join(str(e).split())[:160]
    a, b = found.stride(), expected.stride()
    sizes = zip(expected.shape, a, b, strict=True)
    same = expected.numel() < 2 or all(n == 1 or x == y for n, x, y in sizes)
    return "" if same else f"strides {a} for {b}"


def widened(call: Any, tensors: Sequence[torch.Tensor], count: int) -> list[Any]:
    """What wider floats give; None where there are none."""
    torch.manual_seed(SEED)
    try:
        results = call(*(t.to(WIDER.get(t.dtype, t.dtype)) for t in tensors))
    except RuntimeError:  # an argument names the dtype
        return [None] * count
    return [
        r.to(WIDER.get(r.dtype, r.dtype)) if isinstance(r, torch.Tensor) else None
        for r in results
    ]


def try_sample(
    verdict: Verdict, f: Any, args: Any, kwargs: Any, compile: Compile
) -> None:
    call, tensors = flattened(f, args, kwargs)
    try:
        torch.manual_seed(SEED)
        expected = call(*tensors)
        if any(getattr(t, "layout", STRIDED) != STRIDED for t in expected):
            raise TypeError("a sparse result")
        made = traced(call, tensors, compile)
    except Exception:
        # Shapes that data decide, and samples that PyTorch itself refuses to trace.
        verdict.untraced += 1
        return
    verdict.samples += 1
    if made.program is None:
        verdict.wrong.append(made.failed or "PyTorch handed over no graph")
        return
    missed = made.program.first.fallbacks
    verdict.fallbacks.update(f"{x.operator}: {x.reason}" for x in missed)
    verdict.read += not missed
    try:
        torch.manual_seed(SEED)
        results = made.run(*tensors)
    except Exception as e:
        # It is what this sweep looks for.
        verdict.wrong.append(f"{type(e).__name__}: {e}"[:200])
        return
    truths = widened(call, tensors, len(expected))
    for found, want, truth in zip(results, expected, truths, strict=True):
        said = difference(found, want, truth)
        if said:
            verdict.wrong.append(said)
            return


def core_names() -> set[str]:
    """Operators of core ATen, without overloads."""
    aten, found = torch.ops.aten, set[str]()
    for name in dir(aten):
        packet = getattr(aten, name)
        if not isinstance(packet, torch._ops.OpOverloadPacket):
            continue
        overloads = (getattr(packet, o) for o in packet.overloads())
        if any(torch.Tag.core in o.tags for o in overloads):
            found.add(name.strip("_"))
    return found


def infos(only: str, every: bool) -> Iterator[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    core = core_names()
    for info in op_db:
        name = info.aten_name.strip("_")
        if info.name in MEANINGLESS or (only and only not in info.name):
            continue
        if every or only or name in core:
            yield info


def try_operator(
    info: Any, dtypes: Sequence[str], most: int, compile: Compile = evaluated
) -> Verdict:
    verdict = Verdict(info.formatted_name)
    for name in dtypes:
        dtype = getattr(torch, name)
        if not info.supports_dtype(dtype, "cpu"):
            continue
        with torch.no_grad():
            samples = info.sample_inputs("cpu", dtype)
            for s in islice(samples, most):
                try_sample(verdict, info.op, (s.input, *s.args), s.kwargs, compile)
    return verdict


def report(verdicts: Sequence[Verdict]) -> str:
    known = [v for v in verdicts if v.samples]
    rows: list[str] = []
    for v in known:
        if not v.whole:
            rows.append(f"{v.name}: {len(v.wrong)} of {v.samples} wrong, "
                        f"{v.samples - v.read} with eager nodes")  # fmt: skip
            rows += [f"    {w}" for w in dict.fromkeys(v.wrong[:3])]
            rows += [f"    {r} ({n})" for r, n in v.fallbacks.most_common(3)]
    passed, whole = sum(v.passed for v in known), sum(v.whole for v in known)
    count = sum(v.samples for v in known)
    read = sum(v.read for v in known)
    rows.append(
        f"{passed} of {len(known)} operators pass ({passed / len(known):.1%}), "
        f"{whole} without eager nodes ({whole / len(known):.1%}); "
        f"{read} of {count} samples without eager nodes; "
        f"{len(verdicts) - len(known)} have no sample that PyTorch traces"
    )
    untraced = [v.name for v in verdicts if not v.samples]
    if untraced:
        rows.insert(0, f"not traced: {', '.join(untraced)}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.sweep")
    parser.add_argument("-k", default="", help="operators whose name holds this")
    parser.add_argument("--all", action="store_true", help="beyond core ATen")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--device", default="", help="where graphs are compiled")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    compile = on_device(given.device) if given.device else evaluated
    dtypes = given.dtypes.split(",")
    print(report([
        try_operator(info, dtypes, given.samples, compile)
        for info in infos(given.k, given.all)
    ]))  # fmt: skip


if __name__ == "__main__":
    main()
