"""The axes of a contraction, by what a product of matrices does with them."""

from __future__ import annotations

from dataclasses import dataclass

from ...egraph.saturate.encode import ENode
from .cover import Cover


@dataclass(frozen=True, slots=True)
class Roles:
    """The axes of a contraction that are no units, in order, by what they do."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]  # of the left operand alone
    columns: tuple[int, ...]  # of the right one alone
    summed: tuple[int, ...]


def roles_of(t: Cover, a: int, b: int, node: ENode) -> Roles | None:
    """None where an operand is summed by itself, or the result repeats."""
    full, mask, _ = node.attrs
    left, right = t.shape(a), t.shape(b)
    if 0 in full:
        return None
    result: dict[str, list[int]] = {
        "batch": [],
        "rows": [],
        "columns": [],
        "summed": [],
    }
    for i, n in enumerate(full):
        if n == 1:
            continue
        in_a, in_b = left[i] != 1, right[i] != 1
        if not (in_a or in_b) or (mask[i] and not (in_a and in_b)):
            return None
        if mask[i]:
            result["summed"].append(i)
        else:
            role = "batch" if in_a and in_b else "rows" if in_a else "columns"
            result[role].append(i)
    return Roles(**{k: tuple(v) for k, v in result.items()})
