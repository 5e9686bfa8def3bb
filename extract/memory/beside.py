"""Calls that may run at once: the two directions of a recurrent layer are two loops,
neither of which reads what the other one makes."""

from __future__ import annotations

from collections.abc import Sequence

from ..schedule.kernel import Host


def side_by_side(steps: Sequence[object]) -> list[tuple[int, int]]:
    """Where runs of several such calls begin and end."""
    spans: list[tuple[int, int]] = []
    begin, made = 0, set[int]()  # of the run so far
    for at, s in enumerate((*steps, None)):
        call = s if isinstance(s, Host) and s.op == "call" else None
        if call is not None and made.isdisjoint(call.args):
            made.add(call.out)
            continue
        if at - begin > 1:
            spans.append((begin, at))
        begin, made = (at + 1, set[int]()) if call is None else (at, {call.out})
    return spans


__all__ = ["side_by_side"]
