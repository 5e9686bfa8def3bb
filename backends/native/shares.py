"""A source in several parts, which as many compilers read at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

PART = 1 << 13  # characters: an eighth of a second of a compiler, twice its start


def shares(texts: Sequence[str], most: int) -> list[list[int]]:
    """The places of the texts in up to `most` parts of about the same length; fewer
    where there is little to read."""
    count = min(most, sum(map(len, texts)) // PART, len(texts))
    parts: list[list[int]] = [[] for _ in range(max(count, 1))]
    sizes = [0] * len(parts)
    for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
        least = sizes.index(min(sizes))
        parts[least].append(i)
        sizes[least] += len(texts[i])
    return [sorted(part) for part in parts]


def side_by_side[T](jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What each gives; the error of the first that fails."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [f.result() for f in [pool.submit(job) for job in jobs]]
