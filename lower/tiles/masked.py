"""Masks of a pass, asked only in turns in which they may choose.

Where a term is a choice by a test that all points of a turn's tile may pass, the term
is written without, and changed where the test fails, in the turns in which it may; so
is what lies beyond the end of the pass, where one term says that a place is none.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...egraph.ir.dtypes import BOOL, DType
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Kernel, bits
from ..loops import Ex, Lit, Op, Param, Var
from .dead import Ends, closing, doubtful
from .folds import FoldWriter
from .ir import Map, Tile, Update, var
from .values import Tiling


class MaskedWriter(FoldWriter):
    """Of a kernel with scores: `of_scores` are the expressions that read them, `along`
    the axis of the pass."""

    def __init__(
        self, kernel: Kernel, states: tuple[State, ...], axes: tuple[int, int],
        tiling: Tiling, strict: bool, buffers: tuple[Param, ...], index: DType,
        scores: tuple[int, ...],
    ) -> None:  # fmt: skip
        super().__init__(kernel, states, axes, tiling, strict, buffers, index)
        self.along = axes[1]
        self.of_scores = bits(scores)
        for e, below in enumerate(self.facts.args):
            if below & self.of_scores:
                self.of_scores |= 1 << e
        self.closed = closing(self.kernel, self.states)
        self.spelled = False  # all that is written now has no tile of its own
        self.changing: set[str] = set()

    def ends(self, a: int) -> Ends:
        """The first and the last place along an axis in a tile."""
        raise NotImplementedError

    # ---- choices

    def _write(self, e: int) -> None:
        x, free = self.kernel.exprs[e], self.kernel.free[e]
        inside = len(self.scopes) > 1 and free >> self.along & 1
        if x.op == "select" and inside and not self.spelled:
            test, *sides = x.args
            mine = [bool(self.of_scores >> a & 1) for a in sides]
            if mine in ([True, False], [False, True]):
                holds = mine[1]  # where the test does, the other side is chosen
                doubt = doubtful(self.whole, test, holds, self.ends, self.index)
                if doubt is not None:
                    self.scopes[-1].values[e] = self._chosen(e, mine[1], doubt)
                    return
        super()._write(e)

    def _chosen(self, e: int, second: bool, doubt: Ex) -> Ex:
        x = self.kernel.exprs[e]
        kept = self._changing(self.value(x.args[1 + second]), self.kernel.free[e])
        with self._spelling():
            test, other = self.value(x.args[0]), self.value(x.args[2 - second])
        sides = (other, var(kept)) if second else (var(kept), other)
        new = Op("select", (test, *sides), kept.dtype)
        self.scopes[-1].body.append(Update(kept.name, new, doubt))
        return var(kept)

    def _changing(self, value: Ex, free: int) -> Tile:
        """A tile of the value that nothing else reads."""
        tile = Tile(self.fresh("x"), value.dtype, self.axes(free))
        self.scopes[-1].body.append(Map(tile, value, True))
        self.changing.add(tile.name)
        return tile

    @contextmanager
    def _spelling(self) -> Generator[None]:
        """What is written within is forgotten after."""
        kept = [dict(s.values) for s in self.scopes]
        self.spelled = True
        yield
        self.spelled = False
        for scope, old in zip(self.scopes, kept, strict=True):
            scope.values = old

    def name(self, value: Ex, free: int, stem: str = "v") -> Ex:
        return value if self.spelled else super().name(value, free, stem)

    # ---- the end of the pass

    def close(self) -> None:
        """Places beyond the end are none."""
        over = self.over.get(self.along)
        if self.closed is None or over is None:
            return
        term, none = self.closed
        value, free = self.value(term), self.kernel.free[term]
        if isinstance(value, Var) and value.name in self.changing:
            tile = Tile(value.name, value.dtype, self.axes(free))
        else:
            tile = self._changing(value, free)
            self.scopes[-1].values[term] = var(tile)
        new = Op("select", (over, var(tile), Lit(none, tile.dtype)), tile.dtype)
        (_, last) = self.ends(self.along)
        end = Lit(self.kernel.extents[self.along], self.index)
        doubt = Op("le", (end, last), BOOL)
        self.scopes[-1].body.append(Update(tile.name, new, doubt))

    def beyond(self) -> Ex | None:
        """The test of terms of the pass."""
        return None if self.closed else super().beyond()
