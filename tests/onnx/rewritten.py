"""Every case of the suite that comes with `onnx`, optimized, against its outputs.

    python -m tests.onnx.rewritten [KIND ...] [-k PATTERN] [--every N]

KIND: node, simple, pytorch-converted, pytorch-operator, real.  A model and its
optimized form run by ONNX's reference implementation; cases that the reference itself
does not pass are counted and left out.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.numpy_helper import to_array, to_list, to_optional
from onnx.reference import ReferenceEvaluator

import rewrite.onnx
from rewrite.onnx.write.verify import random_inputs

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")


def cases(kind: str) -> Iterator[tuple[str, onnx.ModelProto, list[tuple[Any, Any]]]]:
    """Name, model, pairs of inputs and outputs."""
    for case in load_model_tests(kind=kind):
        if case.model is not None:
            yield case.name, case.model, list(case.data_sets or ())
            continue
        if case.model_dir is None:  # without data: what the model itself gives
            model = onnx.load(Path(onnx.__file__).parents[1] / str(case.url))
            yield case.name, model, [_drawn(model)]
            continue
        folder = Path(case.model_dir)
        model = onnx.load(folder / "model.onnx")  # small files, kept with the package
        sets = sorted(folder.glob("test_data_set_*"))
        yield case.name, model, [_stored(model, s) for s in sets]


def _drawn(model: onnx.ModelProto) -> tuple[Any, Any]:
    given = random_inputs(model, {}, np.random.default_rng(0))
    return list(given.values()), run(model, list(given.values()))


def _stored(model: onnx.ModelProto, folder: Path) -> tuple[Any, Any]:
    stored = {t.name for t in model.graph.initializer}
    infos = [i for i in model.graph.input if i.name not in stored]
    return (
        [_read(folder / f"input_{k}.pb", i.type) for k, i in enumerate(infos)],
        [_read(folder / f"output_{k}.pb", o.type)
         for k, o in enumerate(model.graph.output)],
    )  # fmt: skip


def _read(path: Path, kind: onnx.TypeProto) -> Any:
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return to_optional(onnx.OptionalProto.FromString(data))
    return to_array(onnx.TensorProto.FromString(data))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) or isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "OUSb" or a.dtype.kind in "iu":
        return bool(np.array_equal(a, b))
    if a.dtype.kind == "c":
        return bool(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True))
    narrow = a.dtype.itemsize < 4  # sums in another order round elsewhere
    bound = (
        {"float16": 4e-3, "bfloat16": 3e-2}.get(a.dtype.name, 0.2) if narrow else 1e-3
    )
    a, b = a.astype(np.float64), b.astype(np.float64)
    return bool(np.allclose(a, b, rtol=bound, atol=bound / 100, equal_nan=True))


def run(model: onnx.ModelProto, inputs: list[Any]) -> list[Any]:
    stored = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in stored]
    given = dict(zip(names, inputs, strict=False))
    return ReferenceEvaluator(model).run(None, given)


def judge(model: onnx.ModelProto, sets: list[tuple[Any, Any]]) -> str:
    """ok; reference: it fails itself; else what is wrong."""
    try:
        with np.errstate(all="ignore"):
            want = [run(model, list(given)) for given, _ in sets]
        fine = all(
            same(list(w), list(out)) for w, (_, out) in zip(want, sets, strict=True)
        )
    except Exception:
        fine = False
    if not fine:
        return "reference"
    try:
        found = rewrite.onnx.optimize(model, check=False)
    except rewrite.onnx.ModelError as e:
        return f"refused: {e}"
    except Exception as e:
        return f"raised: {type(e).__name__}: {e}"
    if found.notes:
        return f"fallback: {found.notes[0]}"
    try:
        onnx.checker.check_model(found.model)
        got = [run(found.model, list(given)) for given, _ in sets]
    except Exception as e:
        return f"result fails: {type(e).__name__}: {' '.join(str(e).split())[:200]}"
    if not all(same(list(w), list(g)) for w, g in zip(want, got, strict=True)):
        return "differs"
    return "ok"


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")

    def option(name: str, default: str) -> str:
        return arguments[arguments.index(name) + 1] if name in arguments else default

    pattern, every = option("-k", ""), int(option("--every", "1"))
    kinds = [k for k in KINDS if k in arguments] or KINDS
    bad = 0
    for kind in kinds:
        found: Counter[str] = Counter()
        for k, (name, model, sets) in enumerate(cases(kind)):
            if not re.search(pattern, name) or k % every:
                continue
            verdict = judge(model, sets)
            found[verdict.split(":")[0]] += 1
            if verdict not in ("ok", "reference"):
                bad += 1
                print(f"{name}: {verdict}", flush=True)
        print(kind, dict(found), flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
