"""Who runs the node cases of ONNX's suite: kernels, single host calls, or the host.

python -m tests.onnx.coverage
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

import rewrite.onnx
from rewrite.onnx.model import NeedsInputs


def array(x: Any) -> Any:
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def calls(case: Any) -> Counter[str] | None:
    """The operators that the host runs, for the first data set; None: all of them."""
    names = [i.name for i in case.model.graph.input]
    inputs = dict(zip(names, map(array, case.data_sets[0][0]), strict=False))
    given: dict[str, Any] = {}
    for _ in range(8):
        try:
            graph = rewrite.onnx.load(case.model, None, given)
        except NeedsInputs as e:
            given |= {n: np.asarray(inputs[n]) for n in e.names}
        except rewrite.onnx.ModelError:
            return None
        else:
            targets = (n.attrs[0] for n in graph.nodes if n.op == "call")
            return Counter(t.split(".")[1] for t in targets)
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    cases = load_model_tests(kind="node")
    found = {c.name: calls(c) for c in cases}
    whole = sum(f is None for f in found.values())
    partly = sum(bool(f) for f in found.values())
    print(f"{len(cases)} cases: {len(cases) - whole - partly} by kernels alone,")
    print(f"{partly} with operators that the host runs, {whole} by the host as a whole")
    operators: Counter[str] = Counter()
    for f in found.values():
        operators.update(set(f or ()))
    print(
        "cases by operator:", ", ".join(f"{k} {n}" for k, n in operators.most_common())
    )


if __name__ == "__main__":
    main()
