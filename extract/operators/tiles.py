"""What terms may become: functions that offer ways, by the op of a term."""

from __future__ import annotations

from collections.abc import Callable

from ...egraph.saturate.encode import ENode
from .cover import Cover


class Tiles[C: Cover]:
    """A library's table; a decorator adds to it: `@tile("bin")`."""

    def __init__(self) -> None:
        self.by_op: dict[str, list[Callable[[C, int, ENode], None]]] = {}

    def __call__[F: Callable[..., None]](self, *ops: str) -> Callable[[F], F]:
        def register(f: F) -> F:
            for name in ops:
                self.by_op.setdefault(name, []).append(f)
            return f

        return register

    def run(self, t: C, count: int) -> None:
        """Every tile on every term of the first `count` classes."""
        for c in range(count):
            for node in t.cells[c].terms:
                for f in self.by_op.get(node.op, ()):
                    f(t, c, node)
