"""Whether a fault that was found on some inputs is there on others too."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph
from ..ir.ops import Array
from .agreement import Promise
from .instances import Pair
from .judge import Fault, Judge
from .stress import errors, one_is_infinite, overflows_sooner, told, vanishes


def confirm(
    graph: Graph, pair: Pair, promise: Promise, fault: Fault, inputs: dict[str, Array]
) -> Fault | None:
    """The same fault of the same pair on other inputs, if it is there."""
    judge = Judge(graph, [pair], promise)
    if not judge.open or pair.right is None:
        return judge.found.get(0)
    t, mode = graph.nodes[pair.left].type, fault.mode
    values = judge.oracle.values(inputs, mode)
    a, b = values[pair.left], values[pair.right]
    exact = judge.oracle.values(inputs, "exact")[pair.left]
    assert a is not None and b is not None and exact is not None
    if fault.kind in ("infinite", "error"):
        exact = judge.exactly(0, inputs, exact, (a, b))
    match fault.kind:
        case "value":
            bad = judge.differ(0, inputs, (a, b), mode)[2]
        case "overflow":
            bad = overflows_sooner(a, b, t.dtype)
        case "lost":
            bad = vanishes(a, b, exact, t.dtype)
        case _:
            result = errors(a, b, exact, t.dtype)
            bad = one_is_infinite(a, b, exact, t.dtype)
            if fault.kind == "error":
                sides = (
                    (result.worse,)
                    if promise.one_way
                    else (result.worse, result.better)
                )
                size = np.maximum.reduce([np.nan_to_num(s, nan=0.0) for s in sides])
                bad = np.where(size > 1, size, 0.0)
    if not bad.any():
        return None
    detail = fault.detail
    if fault.kind == "error":
        k = int(np.argmax(bad))
        detail = told(detail.split()[1], float(bad.max()), exact, k)
    judge.blame(0, fault.kind, detail, fault.profile, mode, inputs, (a, b), bad)
    return judge.found[0]
