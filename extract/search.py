"""Schedule extraction: which e-node each class takes, and which classes are stored.

State: a choice of one e-node per class and a set of stored classes.  A stored class
with all that it inlines is a kernel.  From the input's own schedule (every op stored,
views free) moves are tried in topological sweeps: switch a class to another e-node,
store or inline it, or both at once.  A move is kept when the predicted total falls, so
the result is never worse than the input's own schedule under the model.  Only kernels
that compute or read the class are traced again.  Then kernels are merged (`merge.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..egraph.macros import MACROS
from ..egraph.ops import TensorType
from .assemble import Traced
from .kernel import KernelCost
from .known import Known
from .postorder import postorder
from .space import Space, cheapest, host_seconds
from .trace import ELEMENTWISE, HOST, LEAVES, READS, UNSTEADY, VIEWS, Term, Untraceable

EPSILON = 1e-12  # seconds: a smaller gain is none
SEED_SIZE = 64  # ops that the fused seed puts in one kernel
NEAR = 24  # classes around a kept move that are tried again
LONGEST = 6  # reductions that are tried as one pass at once
FOLDS = frozenset(("reduce", "argreduce", "contract"))
RARELY = 1e-3  # of a kernel's time that a run pays, where one serves a thousand runs


class Kern(NamedTuple):
    """A kernel of the state: the classes it reads and computes, and its price."""

    seconds: float
    reads: tuple[int, ...]  # computed classes only: inputs and data are always there
    members: tuple[int, ...]
    stamp: int  # grows with every evaluation
    traced: Traced | None  # None for a host op


class Search:
    """Hill climbing over one-output kernels.

    `own` is the price of the input's own schedule, `own_kernels` its kernels.
    """

    def __init__(
        self, space: Space, cost: KernelCost, known: Known | None = None
    ) -> None:
        """`known`: kernels of the same classes under the same cost."""
        self.space, self.known = space, known or Known(cost, space)
        self.stamp = 0
        self.tried: dict[int, int] = {}  # class -> stamp
        self.pick: dict[int, int] = {**cheapest(space), **space.own}
        self.leaf = [any(n.op in LEAVES for n in ns) for ns in space.classes]
        self.given = [any(n.op in READS for n in ns) for ns in space.classes]
        for c, ns in enumerate(space.classes):
            if self.leaf[c]:
                self.pick[c] = next(i for i, n in enumerate(ns) if n.op in LEAVES)
        self.roots = tuple(c for c in dict.fromkeys(space.outputs) if not self.given[c])
        self.stored = set(self.roots)
        self.hosted: set[int] = set()  # classes that no kernel can store
        for c in space.own:
            op = self.node(c).op
            if op not in VIEWS and not self.leaf[c]:
                self.stored.add(c)
            if op in HOST:
                self.stored |= {a for a in self.node(c).args if not self.given[a]}
        try:
            self.rebuild()
        except Untraceable:
            self._settle()
            self.rebuild()
        self.own, self.own_kernels = self.total, len(self.kern)
        self.fuse()

    def _settle(self) -> None:
        """Where a kernel of the own schedule is too large (a concat of hundreds), its
        operands are stored; what then still has no kernel runs on the host."""
        todo = sorted(self.stored)
        while todo:
            c = todo.pop()
            if self.given[c] or self.kernel(c) is not None:
                continue
            fresh = {a for a in self.node(c).args if not self.given[a]} - self.stored
            self.stored |= fresh
            todo += sorted(fresh)
            if self.kernel(c) is None:
                self.hosted.add(c)

    def fuse(self) -> None:
        """A better start: elementwise values with a single use are inlined at once."""
        users: dict[int, list[int]] = {}
        for c in self.pos:
            for a in set(self.node(c).args):
                users.setdefault(a, []).append(c)
        literal, size = set(self.stored), dict[int, int]()
        for c in sorted(self.pos, key=self.pos.__getitem__):
            op = self.node(c).op
            inlined = [a for a in self.node(c).args if a not in self.stored]
            size[c] = 1 + sum(size[a] for a in inlined)
            single = len(users.get(c, ())) == 1 and c not in self.roots
            if op in ELEMENTWISE and single and size[c] < SEED_SIZE:
                self.stored -= {c} if self.node(users[c][0]).op not in HOST else set()
        try:
            self.rebuild()
        except Untraceable:
            self.total = self.own + 1
        if self.total > self.own:
            self.stored = literal
            self.rebuild()

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

    # ---- the terms that are chosen now (extract.trace.Terms) -------------------------

    def node(self, c: int) -> Term:
        return self.space.classes[c][self.pick[c]]

    def type(self, c: int) -> TensorType:
        return self.space.types[c]

    # ---- kernels ---------------------------------------------------------------------

    def share(self, roots: Iterable[int], reads: Iterable[int]) -> float:
        """What a run pays of a kernel: little, if its values are the same in every
        run, since then it runs once, when the program is made."""
        steady = self.space.steady
        once = steady.issuperset(roots) and steady.issuperset(reads)
        return RARELY if once and not set(self.roots).intersection(roots) else 1.0

    def kernel(self, root: int) -> Kern | None:
        """The kernel that stores `root`, or None where no family runs it."""
        self.stamp += 1
        node = self.node(root)
        if node.op in HOST or root in self.hosted:
            return self._host(root, node)
        found = self.known.kernel(self, (root,), self.stored)
        if found is None or found.cost is None:
            return None
        traced = found.traced
        reads = tuple(c for c in traced.reads if not self.given[c])
        seconds = found.cost.seconds * self.share([root], traced.reads)
        return Kern(seconds, reads, traced.members, self.stamp, traced)

    def _host(self, root: int, node: Term) -> Kern | None:
        reads = tuple(dict.fromkeys(a for a in node.args if not self.given[a]))
        if node.op in MACROS or not all(a in self.stored for a in reads):
            return None  # the host runs what a macro stands for, never the macro
        seconds = host_seconds([self.type(c) for c in (*node.args, root)])
        if node.op not in UNSTEADY:
            seconds *= self.share([root], node.args)
        return Kern(seconds, reads, (root,), self.stamp, None)

    def rebuild(self) -> None:
        """Everything from scratch; raises where the own schedule has no kernel."""
        self.kern: dict[int, Kern] = {}
        self.refs: dict[int, int] = {}
        self.total = 0.0
        n = len(self.space.classes)
        self.within: list[set[int]] = [set() for _ in range(n)]
        self.readers: list[set[int]] = [set() for _ in range(n)]
        self.parked: dict[int, Kern] = {}
        self.touched: dict[int, int] = {}
        for c in self.roots:
            if not self._add(c):
                raise Untraceable(f"no family runs the op {self.node(c).op} on its own")
        self.order()

    def order(self) -> None:
        """Topological positions of the chosen terms, operands first."""
        chosen = postorder(self.space.outputs, lambda c: self.node(c).args)
        self.pos: dict[int, float] = {c: float(k) for k, c in enumerate(chosen)}

    def place(self, c: int) -> None:
        """Positions for what a switch at `c` made reachable; all anew if in vain."""
        top, todo = self.pos[c], [(a, False) for a in self.node(c).args]
        while todo:
            a, leaving = todo.pop()
            if leaving:
                low = max((self.pos[x] for x in self.node(a).args), default=-1.0)
                self.pos[a] = (low + top) / 2
            elif a not in self.pos:
                todo.append((a, True))
                todo += [(x, False) for x in self.node(a).args]
            elif self.pos[a] >= top:
                return self.order()

    # ---- incremental bookkeeping: a class is priced while something reads it ---------

    def _add(self, c: int) -> bool:
        """Counts a reader of `c`, pricing what was not needed before."""
        ok, todo = True, [c]
        while todo:
            a = todo.pop()
            self.refs[a] = self.refs.get(a, 0) + 1
            if self.refs[a] > 1:
                continue
            k = self.parked.pop(a, None) or self.kernel(a)
            if k is None:
                ok = False
            else:
                self._put(a, k)
                todo += k.reads
        return ok

    def _release(self, c: int) -> None:
        todo = [c]
        while todo:
            a = todo.pop()
            self.refs[a] -= 1
            if self.refs[a] == 0 and a in self.kern:
                k = self.parked[a] = self._take(a)
                todo += k.reads

    def _put(self, c: int, k: Kern) -> None:
        self.kern[c] = k
        self.total += k.seconds
        for m in k.members:
            self.within[m].add(c)
        for a in k.reads:
            self.readers[a].add(c)

    def _take(self, c: int) -> Kern:
        k = self.kern.pop(c)
        self.total -= k.seconds
        for m in k.members:
            self.within[m].discard(c)
        for a in k.reads:
            self.readers[a].discard(c)
        return k

    def _swap(self, new: Mapping[int, Kern]) -> tuple[dict[int, Kern], bool]:
        """Replaces kernels; what is read anew comes, what nobody reads goes."""
        old: dict[int, Kern] = {}
        ok = True
        for r, k in new.items():
            if r in self.kern:
                old[r] = self._take(r)
                self._put(r, k)
                for a in k.reads:
                    ok = self._add(a) and ok
        for k in old.values():
            for a in k.reads:
                self._release(a)
        return old, ok

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
            kept = any(self.change(c, None, these) for these in self._passes(c))
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

    def _passes(self, c: int) -> Iterator[set[int]]:
        """Stored reductions with `c` among them that one kernel alone reads, which
        reduces as well: it may take them in as one pass (scores, their maximum, weights
        and sums of weights), though none of them gains by itself.  First those between
        `c` and that kernel, then also what is stored for these alone."""
        these = {c}
        while len(beyond := self._read_by(these)) > 1:
            between = {x for x in beyond if self.readers[x] & beyond}
            if not between or len(these) > LONGEST:
                return
            these |= between
        if not beyond or not all(map(self._reduces, these | beyond)):
            return
        if not these.isdisjoint(self.roots) or len(these) > LONGEST:
            return
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
        saved = math.inf  # what may go beside the kernels that are traced again
        if i is None:
            saved = sum(self.kern[x].seconds for x in inlined if x in self.kern)
        old, kept = self._price(affected, before, saved)
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

    def _price(
        self, affected: Sequence[int], before: float, saved: float
    ) -> tuple[dict[int, Kern] | None, bool]:
        """(kernels replaced, if any; whether the total fell)"""
        self.parked = {}
        new: dict[int, Kern] = {}
        room = saved + sum(self.kern[r].seconds for r in affected)
        for r in affected:
            k = self.kernel(r)
            if k is None:
                return None, False
            new[r] = k
            room -= k.seconds
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

    def moves(self, c: int) -> Iterator[tuple[int | None, bool]]:
        toggle = c in self.stored or self._may_store(c)
        view = self.node(c).op in VIEWS and c not in self.space.steady
        if toggle and (not view or c in self.stored):
            yield None, True
        for i in range(len(self.space.classes[c])):
            if i != self.pick[c]:
                yield i, False
                if toggle and c not in self.roots:
                    yield i, True

    def _may_store(self, c: int) -> bool:
        """Where a kernel computes `c` once an element, storing it can only cost, unless
        it is the same in every run."""
        if c in self.space.steady:
            return True
        for r in self.within[c]:
            traced = self.kern[r].traced
            if traced is None or traced.kernel.reductions or c in traced.repeated:
                return True
        return len(self.within[c]) > 1

    def sweep(self, budget: int) -> tuple[int, int]:
        """Moves at every class in use, operands first; (moves kept, moves tried)."""
        kept = spent = 0
        for c in sorted(self.pos, key=self.pos.__getitem__):
            if self.leaf[c] or c not in self.pos:
                continue
            if self.touched.get(c, 0) <= self.tried.get(c, -1):
                continue
            for i, toggle in list(self.moves(c)):
                if spent >= budget:
                    return kept, spent
                spent += 1
                kept += self.attempt(c, i, toggle)
            self.tried[c] = self.stamp
        return kept, spent

    def run(self, budget: int) -> int:
        """Sweeps until nothing helps or `budget` moves have been tried; what is left of
        it.  Another run goes on where the last one ended."""
        while budget > 0:
            kept, spent = self.sweep(budget)
            budget -= spent
            if not kept:
                break
        return budget

    def kernels_in_order(self) -> list[int]:
        """Roots of the kernels, producers first."""
        return postorder(self.roots, lambda c: self.kern[c].reads)
