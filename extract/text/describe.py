"""A kernel in words, for people."""

from __future__ import annotations

from collections.abc import Sequence

from ..schedule.kernel import Kernel


def describe(kernel: Kernel) -> str:
    """The scalar ops of a kernel in order, reductions and products by name."""
    words: list[str] = []
    for e in kernel.exprs:
        if e.op == "reduce":
            inner = kernel.exprs[e.args[0]]
            product = e.attr[0] == "sum" and inner.op == "mul"
            matmul = product and _outer(kernel.free, inner.args)
            words.append("matmul" if matmul else e.attr[0])
        elif e.op == "scan":
            words.append(f"running {e.attr[0]}")
        elif e.op not in ("load", "const", "inside", "cast"):
            words.append(e.op)
    modes = (o.update.mode for o in kernel.outputs if o.update)
    words += ("scatter" if mode == "set" else f"scatter-{mode}" for mode in modes)
    orders = (o.order for o in kernel.outputs if o.order)
    words += ("argsort" if order.places else "sort" for order in orders)
    return " ".join(words) or "copy"


def _outer(free: Sequence[int], args: Sequence[int]) -> bool:
    a, b = (free[i] for i in args)
    return bool(a & ~b) and bool(b & ~a)


__all__ = ["describe"]
