"""The account of a decision, readable: as text, as a page, as data."""

from __future__ import annotations

from dataclasses import dataclass

from .account import Account
from .prose import prose
from .viewer import page


@dataclass(frozen=True)
class Explanation(Account):
    """`str` of it is text, `.json()` data, `.html()` a page."""

    def html(self) -> str:
        """The page, which needs nothing but a browser."""
        return page(self)

    def __str__(self) -> str:
        return prose(self)


__all__ = ["Explanation"]
