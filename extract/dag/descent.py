"""Local search over acyclic choices of an e-graph, by incremental reference counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from .greedy import by_trees, dag_cost
from .postorder import postorder
from .terms import Graph

EPSILON = 1e-12  # of the total: what is less is rounding
GROUP = 128  # most classes that move together
CLIMB = 16  # most unused classes through which they are looked for
STEPS = 32  # classes touched that count as a move
CLOSE = 1e-6  # heights that are nearer are given anew
PASS = 3  # nodes of the graph that count as a move where all are gone through


class Descent:
    """A node for each class, used or not; together they are acyclic at all times.

    `refs` counts the used classes (and roots) whose nodes have the class as a child;
    `moves` are left, and may end a little below zero; once `expired` says so, none are.
    """

    def __init__(
        self,
        g: Graph,
        pick: Sequence[int],
        moves: int,
        expired: Callable[[], bool] | None = None,
    ) -> None:
        self.expired = expired
        self.g = g
        self.pick = list(pick)
        self.moves = moves
        self.refs = [0] * len(g.of)
        self.height = [0.0] * len(g.of)  # more than that of every child
        self.share = [0.0] * len(g.of)
        self.log: list[tuple[int, int]] = []  # (class, its node before)
        self.epsilon = 0.0
        for r in g.roots:
            self._hold(r)

    def cost(self) -> float:
        return dag_cost(self.g, self.pick)

    def singly(self, order: Sequence[int]) -> None:
        """One class at a time, until none helps."""
        self._renew()
        self._descend(order)

    def jointly(self, order: Sequence[int]) -> None:
        """Also several classes at once, until nothing helps."""
        improved = True
        while improved and self.moves > 0:
            before = self._renew()
            self._descend(order)
            gain = self._gains(order)
            for c in sorted(gain, key=lambda c: -gain[c]):
                if self.moves <= 0:
                    break
                self._attempt(c)
            improved = self.cost() < before - self.epsilon
            self.moves -= len(self.g.owner) // PASS

    def _gains(self, order: Sequence[int]) -> dict[int, float]:
        gain: dict[int, float] = {}
        for k, c in enumerate(order):
            if self.expired and not k % STEPS and self.expired():
                self.moves = 0
                break
            group = self._group(c)
            if group:
                gain[c] = self._estimate(c, group)
        return gain

    def _renew(self) -> float:
        """What moves leave stale: nodes of unused classes, heights, shares; the cost.

        Unused classes take the nodes that are cheapest beside what is used.  `share` is
        the cost of a class with all below it, shared costs split among the users: what
        a move frees is no more than the shares of the classes that move.
        """
        g, pick, refs = self.g, self.pick, self.refs
        order, beside = by_trees(g, frozenset(c for c, k in enumerate(refs) if k))
        for c in order:
            pick[c] = beside[c]
        for c in self._number():
            self.share[c] = self._shared(c, pick[c])
        total = self.cost()
        self.epsilon = EPSILON * total
        return total

    def _shared(self, c: int, n: int, free: Container[int] = ()) -> float:
        """The share of `c` if it took node `n`; what is in `free` costs nothing."""
        refs, share = self.refs, self.share
        own = set(self.g.kids[self.pick[c]]) if refs[c] else ()
        below = [
            share[d] / (refs[d] + (d not in own))
            for d in self.g.kids[n]
            if d not in free
        ]
        return self.g.cost[n] + sum(below)

    # ---- moves

    def _descend(self, classes: Iterable[int]) -> None:
        """Single moves; after one, what may use the same is tried again."""
        g = self.g
        todo = deque(classes)
        waiting = set(todo)
        while todo and self.moves > 0:
            c = todo.popleft()
            waiting.discard(c)
            if self.expired and not len(todo) % STEPS and self.expired():
                self.moves = 0
            if self._improve(c) < 0:
                for d in g.kids[self.pick[c]]:
                    for u in g.users[d][:GROUP]:
                        if g.owner[u] not in waiting:
                            waiting.add(g.owner[u])
                            todo.append(g.owner[u])
        self.log.clear()

    def _improve(self, c: int) -> float:
        """The best other node for a used class; the change of the total, if any."""
        g, old, share = self.g, self.pick[c], self.share[c]
        if not self.refs[c] or len(g.of[c]) == 1:
            return 0.0
        best, node = -self.epsilon, old
        for n in g.of[c]:
            if n == old or self._added(n, share) >= share:
                continue
            self.moves -= 1
            # Taken before dropped, only the difference of the two is walked through.
            delta = g.cost[n] - g.cost[old] + self._take(n)
            delta -= self._drop(old)
            self._take(old)
            self._drop(n)
            if delta < best and not self._cyclic(c, n):
                best, node = delta, n
        return self._switch(c, node)

    def _group(self, c: int) -> list[tuple[int, int]]:
        """The classes that move together, each with its node; none where one would.

        They come to `c` if it is unused, and leave it if it is used.
        """
        group = self._leavers(c) if self.refs[c] else self._comers(c)
        return group if len(group) > 1 else []

    def _comers(self, c: int) -> list[tuple[int, int]]:
        """Classes with their first node on `c`, or on it by way of unused classes."""
        g = self.g
        seen, todo = {c}, [c]
        found: list[tuple[int, int]] = []
        for y in todo:
            for u in g.users[y]:
                d = g.owner[u]
                if d in seen:
                    continue
                seen.add(d)
                found.append((d, u))
                if len(found) == GROUP:
                    return found
                if not self.refs[d] and len(todo) < CLIMB:
                    todo.append(d)
        return found

    def _leavers(self, c: int) -> list[tuple[int, int]]:
        """The users of `c` with their cheapest nodes off it; none if one has none."""
        g = self.g
        owners = [g.owner[u] for u in g.users[c] if self.pick[g.owner[u]] == u]
        users = [d for d in owners if self.refs[d]]
        if len(users) != self.refs[c] or len(users) > GROUP:
            return []  # a root stays
        found: list[tuple[int, int]] = []
        for d in users:
            others = [n for n in g.of[d] if c not in g.kids[n]]
            if not others:
                return []
            found.append((d, min(others, key=lambda n: (self._shared(d, n), n))))
        return found

    def _estimate(self, c: int, group: Sequence[tuple[int, int]]) -> float:
        """By how much the total may fall, judged by shares."""
        share, refs = self.share, self.refs
        if refs[c]:
            return sum([share[d] - self._shared(d, n) for d, n in group])
        free = {c, *[d for d, _ in group if not refs[d]]}
        gains = [share[d] - self._shared(d, n, free) for d, n in group if refs[d]]
        return sum([max(0.0, gain) for gain in gains]) - share[c]

    def _attempt(self, c: int) -> None:
        """Moves the group of `c`, with `c` held if it is unused, where that pays."""
        group = self._group(c)
        if self.refs[c]:
            self._settle(self._together(group))
        else:
            delta = self._hold(c) + self._together(group)
            self._settle(delta - self._release(c))

    def _together(self, moved: Sequence[tuple[int, int]]) -> float:
        """Switches all, then improves each; the change of the total."""
        delta = 0.0
        self.moves -= 2 * len(moved)  # there and back
        for c, n in moved:
            if not self._cyclic(c, n):
                delta += self._switch(c, n)
        for c, _ in moved:
            delta += self._improve(c)
        return delta

    def _settle(self, delta: float) -> None:
        """Keeps what was switched if the total fell."""
        if delta >= -self.epsilon:
            for c, n in reversed(self.log.copy()):
                self._switch(c, n)
        self.log.clear()

    # ---- the state

    def _switch(self, c: int, n: int) -> float:
        """Gives `c` the node `n`, which must not need `c`; the change of the total."""
        g, old = self.g, self.pick[c]
        if n == old:
            return 0.0
        delta = 0.0
        if self.refs[c]:
            delta = g.cost[n] - g.cost[old] + self._take(n)
            delta -= self._drop(old)
        self.log.append((c, old))
        self.pick[c] = n
        self._place(c)
        return delta

    def _hold(self, c: int) -> float:
        self.refs[c] += 1
        n = self.pick[c]
        return self.g.cost[n] + self._take(n) if self.refs[c] == 1 else 0.0

    def _release(self, c: int) -> float:
        self.refs[c] -= 1
        n = self.pick[c]
        return self.g.cost[n] + self._drop(n) if not self.refs[c] else 0.0

    def _take(self, n: int) -> float:
        """Uses the children of `n`; the cost of the classes that were unused."""
        g, refs, pick = self.g, self.refs, self.pick
        total, todo = 0.0, list(g.kids[n])
        for c in todo:
            refs[c] += 1
            if refs[c] == 1:
                total += g.cost[pick[c]]
                todo += g.kids[pick[c]]
        self.moves -= len(todo) // STEPS
        return total

    def _drop(self, n: int) -> float:
        """The inverse of `_take`; the cost of the classes that become unused."""
        g, refs, pick = self.g, self.refs, self.pick
        total, todo = 0.0, list(g.kids[n])
        for c in todo:
            refs[c] -= 1
            if not refs[c]:
                total += g.cost[pick[c]]
                todo += g.kids[pick[c]]
        self.moves -= len(todo) // STEPS
        return total

    def _added(self, n: int, limit: float) -> float:
        """The cost of `n` with the classes it would newly use, as far as `limit`."""
        g, refs, pick = self.g, self.refs, self.pick
        total, todo = g.cost[n], list(g.kids[n])
        seen = set[int]()
        while todo and total < limit:
            c = todo.pop()
            if not refs[c] and c not in seen:
                seen.add(c)
                total += g.cost[pick[c]]
                todo += g.kids[pick[c]]
        self.moves -= len(seen) // STEPS
        return total

    def _cyclic(self, c: int, n: int) -> bool:
        """Whether `n` needs class `c`."""
        g, height, pick = self.g, self.height, self.pick
        floor, todo = height[c], list(g.kids[n])
        seen = set[int]()
        while todo:
            d = todo.pop()
            if d == c:
                return True
            if height[d] > floor and d not in seen:
                seen.add(d)
                todo += g.kids[pick[d]]
        self.moves -= len(seen) // STEPS
        return False

    def _place(self, c: int) -> None:
        """Puts what the node of `c` needs and stands above `c` right below it."""
        g, height, pick = self.g, self.height, self.pick
        top = height[c]
        above = [d for d in g.kids[pick[c]] if height[d] >= top]
        if not above:
            return
        low = -1.0

        def operands(d: int) -> Iterator[int]:
            nonlocal low
            for e in g.kids[pick[d]]:
                if height[e] >= top:
                    yield e
                else:
                    low = max(low, height[e])

        cone = postorder(above, operands)
        self.moves -= len(cone) // STEPS
        step = (top - low) / (len(cone) + 1)
        for k, d in enumerate(cone, 1):
            height[d] = low + k * step
        if step < CLOSE:
            self.moves -= len(height) // PASS
            self._number()

    def _number(self) -> list[int]:
        """The classes, children first; heights are their places."""
        g, pick = self.g, self.pick
        bottom_up = postorder(range(len(pick)), lambda c: g.kids[pick[c]])
        for k, c in enumerate(bottom_up):
            self.height[c] = float(k)
        return bottom_up
