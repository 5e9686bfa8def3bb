"""Schedule extraction: which e-node each class takes, and which classes are stored.

From the input's own schedule (every op stored, views free; `state.py`) moves are tried
in topological sweeps: store or inline a class, and when that no longer helps, switch it
to another e-node as well, or both at once.  A move is kept when the predicted total
falls, so the result is never worse than the input's own schedule under the model.  Only
kernels that compute or read the class are traced again.  Then kernels are merged
(`merge.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .chosen import ELEMENTWISE, FOLDS, VIEWS, Term, Untraceable, normal
from .kernel import KernelCost
from .known import Known
from .seed import with_epilogues, with_sides
from .space import Space
from .state import Kern, State

EPSILON = 1e-12  # seconds: a smaller gain is none
CLEARLY = 0.9  # of the cost of one start, that another must have
NEAR = 24  # classes around a kept move that are tried again
LONGEST = 6  # reductions that are tried as one pass at once
JOINS = frozenset(("concat",))
ORDERED = frozenset(("reshape",))  # views in whose order elements lie anyway
SHOWS = VIEWS | {"cast"}  # what a product reads the elements of another value by


class Search(State):
    """Hill climbing over one-output kernels.

    `own` is the price of the input's own schedule, `own_kernels` its kernels.
    """

    def __init__(
        self, space: Space, cost: KernelCost, known: Known | None = None
    ) -> None:
        super().__init__(space, cost, known)
        # class -> the stamp at which storing it, and switching it, was last tried
        self.toggled: dict[int, int] = {}
        self.switched: dict[int, int] = {}
        self.turning = False  # whether turned copies are weighed
        self.own, self.own_kernels = self.total, len(self.kern)
        self.fuse()

    def rebuild(self) -> None:
        super().rebuild()
        self.touched: dict[int, int] = {}
        self.folded: dict[int, tuple[int, set[int]]] = {}  # by stamps of kernels

    def fuse(self) -> None:
        """A better start: values are inlined at once in what reads them; or products in
        what follows them, where that costs clearly less."""
        best, least = frozenset(self.stored), self.own
        for stored, share in ((with_sides(self), 1.0), (with_epilogues(self), CLEARLY)):
            total = self.begin(stored)
            if total <= least * share:
                best, least = stored, total
        if frozenset(self.stored) != best:
            self.begin(best)

    def begin(self, stored: frozenset[int]) -> float:
        """The cost of a start, from which the search then goes on."""
        self.stored = set(stored)
        try:
            self.rebuild()
        except Untraceable:
            self.total = math.inf
        return self.total

    def cut(self, stored: frozenset[int]) -> None:
        """Starts with just these classes stored, where each then has a kernel."""
        before, total = self.stored, self.total
        self.stored = {c for c in stored if c in self.pos} | set(self.roots)
        try:
            self.rebuild()
        except Untraceable:
            self.total = math.inf
        if self.total > total:
            self.stored = before
            self.rebuild()

    # ---- moves -----------------------------------------------------------------------

    def cyclic(self, c: int, i: int) -> bool:
        """Whether taking e-node `i` for class `c` would make `c` depend on itself."""
        low, seen = self.pos.get(c, -1), set[int]()
        todo = list(self.space.classes[c][i].args)
        while todo:
            a = todo.pop()
            if a == c:
                return True
            if a not in seen and self.pos.get(a, low + 1) >= low:
                seen.add(a)
                todo += self.node(a).args
        return False

    def attempt(self, c: int, i: int | None, toggle: bool) -> bool:
        """One move at `c`: take e-node `i`, toggle its storage, or both; where that
        brings folds into use, also with all of them stored; where it inlines `c`, also
        with the reductions around it that one kernel takes in."""
        if toggle and (c in self.roots or self.leaf[c]):
            return False
        if i is not None and self.cyclic(c, i):
            return False
        flip = {c} if toggle else set[int]()
        kept = self.change(c, i, flip)
        if not kept and i is not None:
            fresh = self._fresh(self.space.classes[c][i])
            kept = bool(fresh) and self.change(c, i, flip | fresh)
        if not kept and i is None and c in self.stored:
            kept = any(self.change(c, None, flip) for flip in self._flips(c))
        if kept:
            self._touch(c)
        return kept

    def _fresh(self, node: Term) -> set[int]:
        """The folds under `node` that nothing computes yet and that are not stored."""
        found, todo, seen = set[int](), list(node.args), set[int]()
        while todo:
            a = todo.pop()
            if a in seen or a in self.kern or self.within[a]:
                continue
            seen.add(a)
            todo += self.node(a).args
            if self.node(a).op in FOLDS and a not in self.stored:
                found.add(a)
        return found

    def _flips(self, c: int) -> Iterator[set[int]]:
        """Passes with `c` among them, and each of them with the sides of its products
        stored that its kernels would compute.  What windows read they read again and
        again: no pass pays through them."""
        for these in self._passes(c):
            kernels = these | self._read_by(these)
            members = (m for k in kernels for m in self.kern[k].members)
            if any(self.node(m).op == "window" for m in members):
                continue
            yield these
            if sides := self._sides(kernels, these):
                yield these | sides

    def _sides(self, kernels: set[int], these: set[int]) -> set[int]:
        """What these kernels compute for a side of a product, of nothing of `these`."""
        found = set[int]()
        for k in kernels:
            members = self.kern[k].members
            contracts = (m for m in members if self.node(m).op == "contract")
            for a in (a for m in contracts for a in self.node(m).args):
                a = self._shown(a)
                inlined = a not in self.stored and self.node(a).op in ELEMENTWISE
                if inlined and not self._needs(a, these):
                    found.add(a)
        return found

    def _shown(self, a: int) -> int:
        """The value whose elements an inlined view of it has, or what it converts."""
        while self.node(a).op in SHOWS and a not in self.stored:
            args = self.node(a).args
            if len(args) != 1:
                break
            (a,) = args
        return a

    def _needs(self, c: int, these: set[int]) -> bool:
        """Whether an inlined value is computed of any of these."""
        todo, seen = [c], set[int]()
        while todo:
            a = todo.pop()
            if a in these:
                return True
            if a not in seen and a not in self.stored:
                seen.add(a)
                todo += self.node(a).args
        return False

    def _passes(self, c: int) -> Iterator[set[int]]:
        """Stored values from a reduction `c` on, which one kernel alone reads that
        reduces as well: it may take them in as one pass (scores, their maximum, weights
        and sums of weights), though none of them gains by itself."""
        these = {c}
        while self._reduces(c) and len(these) <= LONGEST:
            if not these.isdisjoint(self.roots):
                return
            beyond = self._read_by(these)
            if len(beyond) == 1 and all(map(self._reduces, beyond)):
                yield from self._with_above(these)
            between = {x for x in beyond if self.readers[x] & beyond}
            if not between and len(beyond) != 1:
                return
            these = these | (between or beyond)

    def _with_above(self, these: set[int]) -> Iterator[set[int]]:
        """First those of a pass, then also what is stored for these alone."""
        if len(these) > 1:
            yield these
        for _ in range(2):
            reads = {a for x in these for a in self.kern[x].reads} - these
            alone = (a for a in reads if self.readers[a] <= these)
            above = {a for a in alone if a not in self.roots and self._reduces(a)}
            these = these | above
            if not above or len(these) > LONGEST:
                return
            yield these

    def _read_by(self, these: set[int]) -> set[int]:
        return {r for x in these for r in self.readers[x]} - these

    def _reduces(self, c: int) -> bool:
        """Whether the kernel of a stored class does."""
        k = self.kern.get(c)
        traced = k and k.traced
        return traced is not None and bool(traced.kernel.reductions)

    def change(self, c: int, i: int | None, flip: set[int]) -> bool:
        """Takes e-node `i` for `c` and toggles the storage of `flip`, if that pays."""
        before, pick = self.total, self.pick[c]
        inlined = flip & self.stored
        affected = sorted(
            {r for x in inlined for r in self.readers[x]} - inlined
            | {r for x in {c, *flip} - inlined for r in self.within[x]}
        )
        if i is not None:
            self.pick[c] = i
        self.stored ^= flip
        comes = flip - inlined if i is None else {c} & flip - inlined
        least = sum(self.floor(x) for x in comes if self.within[x])
        goes = inlined if i is None else self._freed(affected, inlined)
        saved = sum(self.kern[x].seconds for x in goes if x in self.kern)
        old, kept = self._price(affected, before, saved - least)
        if kept:
            if i is not None:
                self.place(c)
            return True
        self.pick[c] = pick
        self.stored ^= flip
        if old is not None:
            self.parked.update(old)  # what the move displaced is valid again
            self._swap(old)
            self.total = before
        return False

    def _freed(self, affected: Sequence[int], inlined: set[int]) -> set[int]:
        """`inlined`, and all that these and `affected` alone need."""
        todo = [*affected, *inlined]
        gone = set(todo)
        while todo:
            k = self.kern.get(todo.pop())
            for a in k.reads if k else ():
                if a not in gone and a not in self.roots and self.readers[a] <= gone:
                    gone.add(a)
                    todo.append(a)
        return gone.difference(affected)

    def _price(
        self, affected: Sequence[int], before: float, saved: float
    ) -> tuple[dict[int, Kern] | None, bool]:
        """(kernels replaced, if any; whether the total fell); `saved` and what the
        kernels that are replaced cost is more than a gain can be."""
        self.parked = {}
        new: dict[int, Kern] = {}
        least = [self.floor(r) for r in affected]
        room = saved + sum(self.kern[r].seconds for r in affected) - sum(least)
        for r, low in zip(affected, least, strict=True):
            k = self.kernel(r) if room > EPSILON else None
            if k is None:
                return None, False
            new[r] = k
            room -= k.seconds - low
        if room <= EPSILON:
            return None, False
        old, ok = self._swap(new)
        return old, ok and self.total < before - EPSILON

    def _touch(self, c: int) -> None:
        """Marks what lies around a kept move: only there may other moves now pay."""
        near: set[int] = set()
        for r in self.within[c] | self.readers[c]:
            near |= {r, *self.kern[r].members, *self.kern[r].reads}
        found, edge = {c}, {c}
        while edge and len(found) < NEAR:
            down = {a for x in edge for a in self.node(x).args}
            up = {x for x in near if not edge.isdisjoint(self.node(x).args)}
            edge = (down | up) & near - found
            found |= edge
        for x in found:
            self.touched[x] = self.stamp

    def moves(self, c: int, switching: bool) -> Iterator[tuple[int | None, bool]]:
        """(e-node to take, whether to toggle the storage) of what is due at `c`."""
        touched = self.touched.get(c, 0)
        toggle = c in self.stored or self._may_store(c)
        mine = c not in self.space.constant or self.node(c).op in ORDERED
        due = touched > self.toggled.get(c, -1) and toggle
        if due and (c in self.stored or not (mine and self._free(c))):
            yield None, True
        if not switching or touched <= self.switched.get(c, -1):
            return
        node = self.node(c)
        same = normal(self, self.stored, node)
        for i, n in enumerate(self.space.classes[c]):
            if i == self.pick[c] or (same and normal(self, self.stored, n) == same):
                continue
            if c in self.stored or not {node.op, n.op} <= VIEWS:  # else alike
                yield i, False
            if toggle and c not in self.roots:
                yield i, True

    def turn(self) -> bool:
        """Weighs turned copies from here on, and first nothing else; False: there is
        nothing to turn."""
        self.turning = True
        self.toggled = dict.fromkeys(self.pos, self.stamp)
        self.switched = dict.fromkeys(self.pos, self.stamp)
        due = [c for c in self.pos if c not in self.stored and self._turned(c)]
        for c in due:
            del self.toggled[c]
        return bool(due)

    def _turned(self, c: int) -> bool:
        """Whether it is a view of another innermost axis."""
        node = self.node(c)
        return node.op == "permute" and node.attrs[0][-1] != len(node.attrs[0]) - 1

    def _free(self, c: int) -> bool:
        """Whether it is a view, a copy of which would be read no faster: where parts
        are joined, each element that is read is a choice among them."""
        turned = self.turning and self._turned(c)
        return self.node(c).op in VIEWS - JOINS and not turned

    def _may_store(self, c: int) -> bool:
        """Where a kernel computes `c` once an element, storing it can only cost, unless
        it is the same in every run; so it is of all that follows the reductions, where
        a kernel is cut behind the last of them or not at all."""
        if c in self.space.constant or len(self.within[c]) > 1:
            return True
        for r in self.within[c]:
            traced = self.kern[r].traced
            if traced is None or c in traced.repeated or self.node(c).op in FOLDS:
                return True
            if traced.kernel.reductions and c in self._before_folds(r):
                return True
        return False

    def _before_folds(self, r: int) -> set[int]:
        """What a reduction in a kernel reads of it, itself or through others."""
        k = self.kern[r]
        if self.folded.get(r, (-1,))[0] != k.stamp:
            members = set(k.members)
            todo = [a for m in members if self.node(m).op in FOLDS
                    for a in self.node(m).args]  # fmt: skip
            found = set[int]()
            while todo:
                a = todo.pop()
                if a in members and a not in found:
                    found.add(a)
                    todo += self.node(a).args
            self.folded[r] = k.stamp, found
        return self.folded[r][1]

    def sweep(self, budget: int, switching: bool) -> tuple[int, int]:
        """Moves at every class in use, operands first; (moves kept, moves tried)."""
        kept = spent = 0
        for c in sorted(self.pos, key=self.pos.__getitem__):
            if self.leaf[c] or c not in self.pos:
                continue
            for i, toggle in list(self.moves(c, switching)):
                if spent >= budget:
                    return kept, spent
                spent += 1
                kept += self.attempt(c, i, toggle)
            self.toggled[c] = self.stamp
            if switching:
                self.switched[c] = self.stamp
        return kept, spent

    def fuse_passes(self) -> None:
        """Only the moves that make one pass of several reductions, each tried once:
        what gains most by far, with no search."""
        for c in sorted(self.pos, key=self.pos.__getitem__):
            mine = c in self.pos and c in self.stored and c not in self.roots
            if mine and self._reduces(c):
                _ = any(self.change(c, None, flip) for flip in self._flips(c))

    def run(self, budget: int) -> int:
        """Sweeps until nothing helps or `budget` moves have been tried; what is left of
        it.  Another run goes on where the last one ended.

        Forms are weighed once cuts have settled: in the middle of that, most of what a
        switch is compared with is soon gone.
        """
        for switching in (False, True):
            kept = 1
            while kept and budget > 0:
                kept, spent = self.sweep(budget, switching)
                budget -= spent
        return budget
