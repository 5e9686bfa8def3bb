"""How much the tests try: a share of it by default, all of it by `make long`.

A test that is `long` runs there alone; of the cases of a `sweep(n)`, every n-th runs by
default; loops that draw ask `draws`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

LONG = os.environ.get("REWRITE_TESTS") == "long"
SHARE = 7  # of the draws, by default one in so many


def draws(count: int, share: int = SHARE) -> int:
    return count if LONG else max(count // share, 1)


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests and the cases that only a long run has."""
    out = set[pytest.Item]()
    seen = Counter[tuple[str, str]]()
    for item in items:
        if item.get_closest_marker("long") is not None:
            out.add(item)
        elif (sweep := item.get_closest_marker("sweep")) is not None:
            (every,) = sweep.args
            name = item.name.partition("[")[0] if "[" in item.name else ""
            group = (item.nodeid.rpartition("::")[0], name)
            if seen[group] % every:
                out.add(item)
            seen[group] += 1
    return out
