"""How a kernel is lowered, where a search has decided it: a family and its holes.

A hole is a number that a family chooses by itself unless it is named: the rows of a
tile, the accumulators of a sum.  What is not named stays the family's own decision, so
a choice says no more than what differs from lowering without a search.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ..extract.schedule.kernel import Kernel
from .axes import normalise

type Holes = tuple[tuple[str, int], ...]  # sorted by name
type Domains = Mapping[str, tuple[int, ...]]  # what each hole may be, rising


class Choice(NamedTuple):
    """As text: `contract columns=256 rows=48`."""

    family: str
    holes: Holes = ()

    def __str__(self) -> str:
        return " ".join((self.family, *(f"{name}={n}" for name, n in self.holes)))

    def setting(self, name: str, value: int | None) -> Choice:
        """With one hole set, or None: left to the family."""
        rest = {n: v for n, v in self.holes if n != name}
        named = rest if value is None else {**rest, name: value}
        return Choice(self.family, tuple(sorted(named.items())))


type Choices = Mapping[str, Choice]  # by digest of the kernel

_TEXT = re.compile(r"([a-z]+)((?: [a-z]+=\d{1,9})*)", re.A)


def parse_choice(text: str) -> Choice | None:
    """What `str` of a choice printed; None for any other text."""
    result = _TEXT.fullmatch(text)
    if result is None:
        return None
    pairs = (word.split("=") for word in result[2].split())
    holes = tuple(sorted((name, int(n)) for name, n in pairs))
    choice = Choice(result[1], holes)
    return choice if str(choice) == text and len(dict(holes)) == len(holes) else None


def hole(holes: Holes, name: str, own: int) -> int:
    """The hole as it is named, else the family's own decision."""
    return next((value for n, value in holes if n == name), own)


@lru_cache(maxsize=4096)
def digest(kernel: Kernel) -> str:
    """The same for kernels that compile to the same code."""
    return hashlib.sha256(repr(normalise(kernel)).encode()).hexdigest()[:16]


__all__ = [
    "Choice", "Choices", "Domains", "Holes", "digest", "hole", "parse_choice"
]  # fmt: skip
