"""The state of a search over schedules: terms chosen, classes stored, kernels priced.

A choice of one e-node per class and a set of stored classes.  A stored class with all
that it inlines is a kernel; it is traced and priced once, when something first reads
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...egraph.ir.macros import MACROS
from ...egraph.ir.ops import TensorType
from ..dag.postorder import postorder
from .assemble import Traced
from .chosen import HOST, LEAVES, READS, VARYING, VIEWS, Term, Untraceable
from .kernel import KernelCost, nbytes
from .known import Known
from .space import Space, cheapest, host_seconds

RARELY = 1e-3  # of a kernel's time that a run pays, where one serves a thousand runs


class Kern(NamedTuple):
    """A kernel of the state: the classes it reads and computes, and its price."""

    seconds: float
    reads: tuple[int, ...]  # computed classes only: inputs and data are always there
    members: tuple[int, ...]
    stamp: int  # grows with every evaluation
    traced: Traced | None  # None for a host op


class State:
    """One-output kernels of a choice; at first the input's own, every op stored."""

    def __init__(
        self, space: Space, cost: KernelCost, known: Known | None = None
    ) -> None:
        """`known`: kernels of the same classes under the same cost."""
        self.space, self.known = space, known or Known(cost, space)
        self.stamp = 0
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

    # ---- the terms that are chosen now (chosen.Terms) --------------------------------

    def node(self, c: int) -> Term:
        return self.space.classes[c][self.pick[c]]

    def type(self, c: int) -> TensorType:
        return self.space.types[c]

    # ---- kernels ---------------------------------------------------------------------

    def share(self, roots: Iterable[int], reads: Iterable[int]) -> float:
        """What a run pays of a kernel: little, if its values are the same in every
        run, since then it runs once, when the program is made."""
        constant = self.space.constant
        once = constant.issuperset(roots) and constant.issuperset(reads)
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

    def floor(self, root: int) -> float:
        """Seconds, no more than the kernel that stores `root` can cost."""
        node = self.node(root)
        if node.op in HOST or root in self.hosted or root in self.space.constant:
            return 0.0
        whole = node.op != "scatter"  # an update may lie on what it changes
        return self.known.forms.floor(nbytes(self.type(root)) * whole)

    def _host(self, root: int, node: Term) -> Kern | None:
        reads = tuple(dict.fromkeys(a for a in node.args if not self.given[a]))
        if node.op in MACROS or not all(a in self.stored for a in reads):
            return None  # the host runs what a macro stands for, never the macro
        seconds = host_seconds([self.type(c) for c in (*node.args, root)])
        if node.op not in VARYING:
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

    def kernels_in_order(self) -> list[int]:
        """Roots of the kernels, producers first."""
        return postorder(self.roots, lambda c: self.kern[c].reads)
