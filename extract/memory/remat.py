"""Less memory for more time: values are computed again instead of kept.

Where more is alive than is allowed, a value that is alive there and not used there is
computed again right before its next use, with what its kernel reads where that is gone
by then; or it is computed inside its later readers.  Of all such changes the one with
the least predicted seconds for each byte freed is made, until the plan fits or none
helps; after Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, and
Kirisame et al., "Dynamic Tensor Rematerialization", ICLR 2021.  Ops of the host, draws
and calls among them, run once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...egraph.ir.graph import Node
from ..schedule.kernel import KernelCost
from ..schedule.plan import Plan
from ..schedule.steps import schedule
from .lifetimes import Item, Reuse, last_uses, profile
from .order import ordered
from .place import plan_memory
from .unfold import Run, Unfolded

ROUNDS = 400  # changes made at the most
DEPTHS = (0, 1, 2, 4, 8, 16)  # kernels that may be run again for one value, in a chain
STEP = 16  # the peak is lowered by this part of itself at a time
ORDERING = 400_000  # steps that the search for an order may look at
RETRIES = 4  # with less, where placement needs more than what is alive

type Runs = tuple[Run, ...]


class MemoryLimitError(ValueError):
    """A plan that takes more than is allowed; `plan` is the one that takes least."""

    def __init__(self, message: str, plan: Plan) -> None:
        super().__init__(message)
        self.plan = plan


@dataclass(frozen=True)
class State:
    """A list of runs and what it takes."""

    runs: Runs
    items: tuple[Item, ...]
    value: list[int]  # of each buffer
    alive: list[int]
    seconds: float

    @property
    def peak(self) -> int:
        return max(self.alive, default=0)

    def excess(self, limit: int) -> int:
        """Bytes above the limit, summed over the steps."""
        return sum(a - limit for a in self.alive if a > limit)


class Remat:
    """The search over one plan."""

    def __init__(self, kernels: Unfolded) -> None:
        self.k = kernels
        self.most = kernels.seconds(kernels.runs)  # that one change may cost

    def state(self, runs: Sequence[Run]) -> State | None:
        """None where a value would be read before it is computed, or an input after
        it is overwritten (which the plan itself may do: then a copy is made)."""
        if runs != self.k.runs and not self.k.is_ordered(runs):
            return None
        runs = self.k.pruned(runs)
        items, value = self.k.items(runs)
        alive = profile(items, [self.k.size[c] for c in value])
        return State(runs, items, value, alive, self.k.seconds(runs))

    def run(self, limit: int) -> State:
        """The cheapest runs found within the limit, else those with the least peak."""
        state = best = self.state(self.k.runs)
        assert state is not None and best is not None
        target = self._target(state.peak, limit)
        for _ in range(ROUNDS):
            if state.peak <= limit:
                return state
            if state.peak <= target:
                target = self._target(state.peak, limit)
            found = self._best(state, target)
            if found is None:
                break
            state = found
            if state.peak < best.peak:
                best = state
        return state if state.peak <= limit else best

    def _target(self, peak: int, limit: int) -> int:
        return max(limit, peak - peak // STEP - 1)

    def _best(self, state: State, target: int) -> State | None:
        """The change with the least seconds a byte, at the highest step with one."""
        over = state.excess(target)
        steps = sorted(range(len(state.runs)), key=lambda s: (-state.alive[s], s))
        for s in steps:
            if state.alive[s] <= target:
                return None
            best: tuple[float, int, State] | None = None
            for runs in dict.fromkeys(self._changes(state, s)):
                found = self.state(runs)
                if found is None:
                    continue
                gain = over - found.excess(target)
                extra = found.seconds - state.seconds
                if gain <= 0 or extra > self.most:
                    continue
                key = extra / gain, -gain
                if best is None or key < best[:2]:
                    best = *key, found
            if best is not None:
                return best[2]
        return None

    # ---- changes ----

    def _changes(self, state: State, s: int) -> Iterator[Runs]:
        """For each value that is alive across step `s`: again before its next use, or
        inside its later readers."""
        for b, first in self._across(state, s):
            c = state.value[b]
            if self.k.on_host(c):
                continue
            for depth in DEPTHS:
                again = self._chain(state, c, first, depth)
                yield (*state.runs[:first], *again, *state.runs[first:])
            inside = self._inlined(state, b, c, s)
            if inside is not None:
                yield inside

    def _across(self, state: State, s: int) -> list[tuple[int, int]]:
        """Buffers alive after step `s` and not read there, and their next use."""
        dies = last_uses(state.items)
        born = {b: k for k, item in enumerate(state.items) for b in item.writes}
        read = state.items[s].reads
        out: list[tuple[int, int]] = []
        for b in born:
            if born[b] <= s < dies[b] and b not in read:
                later = range(s + 1, len(state.runs))
                out.append((b, next(k for k in later if b in state.items[k].reads)))
        return out

    def _chain(self, state: State, c: int, at: int, depth: int) -> Runs:
        """`c` computed again before step `at`, after what it reads and is gone by
        then, `depth` kernels back."""
        dies = last_uses(state.items)
        latest: dict[int, int] = {}
        for item in state.items[:at]:
            latest.update({state.value[b]: b for b in item.writes})
        made: dict[int, Run] = {}

        def make(v: int, left: int) -> None:
            run = self.k.home[v]
            for r in self.k.known(run).reads:
                gone = r in self.k.size and dies.get(latest.get(r, -1), -1) < at
                if gone and left > 0 and r not in made and not self.k.on_host(r):
                    make(r, left - 1)
            made[v] = run

        make(c, depth)
        return tuple(made.values())

    def _inlined(self, state: State, b: int, c: int, s: int) -> Runs | None:
        runs = list(state.runs)
        for k in range(s + 1, len(runs)):
            if b in state.items[k].reads:
                changed = runs[k]._replace(inlined=runs[k].inlined | {c})
                if self.k.known(runs[k]).host or self.k.facts(changed) is None:
                    return None
                runs[k] = changed
        return tuple(runs)


# ---- plans ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Where a plan shall fit: sizes, a witness of them (`plan.py`), the device."""

    sizes: Mapping[str, int]
    witness: Mapping[str, int]
    cost: KernelCost
    reuse: Reuse

    def arena(self, plan: Plan) -> int:
        steps = schedule(plan.graph, plan.groups, self.sizes, plan.constant_inputs)
        return plan_memory(steps, self.reuse).arena

    def ordered(self, plan: Plan) -> Plan:
        return ordered(plan, self.witness, self.reuse, ORDERING)

    def kernels(self, plan: Plan) -> Unfolded:
        return Unfolded(plan, self.sizes, self.witness, self.cost, self.reuse)


def within(plan: Plan, limit: int, at: Setting) -> Plan:
    """The plan, changed so that its arena has at most `limit` bytes; MemoryLimitError
    where no such form was found.

    A kernel with several outputs holds all that any of them needs: where that is too
    much, each output has a kernel of its own.
    """
    try:
        return _within(plan, limit, at)
    except MemoryLimitError as e:
        parted = _parted(plan, at)
        if parted is None:
            raise
        try:
            return _within(parted, limit, at)
        except MemoryLimitError as other:
            raise min(e, other, key=lambda x: at.arena(x.plan)) from None


def _parted(plan: Plan, at: Setting) -> Plan | None:
    """A kernel for each output; None where they are so already."""
    groups = tuple((c,) for g in plan.groups for c in sorted(g))
    if len(groups) == len(plan.groups):
        return None
    parted = replace(plan, groups=groups)
    before, after = at.kernels(plan), at.kernels(parted)
    if any(after.facts(run) is None for run in after.runs):
        return None
    extra = after.seconds(after.runs) - before.seconds(before.runs)
    return replace(parted, seconds=plan.seconds + extra)


def _within(plan: Plan, limit: int, at: Setting) -> Plan:
    before = at.arena(plan)
    if before <= limit:
        return plan
    best = plan = at.ordered(plan)
    least = at.arena(plan)
    search, allowed = Remat(at.kernels(plan)), limit
    for _ in range(RETRIES):
        if least <= limit:
            break
        made = at.ordered(_made(plan, search, allowed))
        arena = at.arena(made)
        if arena < least:
            best, least = made, arena
        if arena <= limit or arena - limit >= allowed:
            break
        allowed -= arena - limit
    if least > limit:
        raise MemoryLimitError(_why(best, limit, least, at), best)
    return replace(best, notes=(*best.notes, _note(plan, best, before, least)))


def _made(plan: Plan, search: Remat, allowed: int) -> Plan:
    state = search.run(allowed)
    extra = state.seconds - search.k.seconds(search.k.runs)
    graph, groups = search.k.folded(state.runs)
    return replace(plan, graph=graph, groups=groups, seconds=plan.seconds + extra)


def _note(plan: Plan, best: Plan, before: int, after: int) -> str:
    again = len(best.groups) - len(plan.groups)
    extra = (best.seconds - plan.seconds) * 1e6
    how = f"{again:+d} kernels, {extra:+.1f} us" if again or extra else "in other order"
    return f"temporaries take {after} bytes, {before} before: {how}"


def _why(best: Plan, limit: int, least: int, at: Setting) -> str:
    """What holds the memory at the step where most is alive."""
    kernels = at.kernels(best)
    items, value = kernels.items(kernels.runs)
    size = [kernels.size[c] for c in value]
    alive = profile(items, size)
    s = alive.index(max(alive))
    dies = last_uses(items)
    born = {b: k for k, item in enumerate(items) for b in item.writes}
    held = [b for b in born if born[b] <= s <= dies[b]]
    held.sort(key=lambda b: (-size[b], b))
    nodes = kernels.graph.nodes
    names = ", ".join(_called(nodes[value[b]]) for b in held[:5])
    more = f" and {len(held) - 5} more" if len(held) > 5 else ""
    step = nodes[kernels.runs[s].roots[0]]
    return (
        f"temporaries take {least} bytes at least, {limit} are allowed; most are alive "
        f"where {_called(step)} is computed: {names}{more}; allow "
        f"{least} bytes (memory=), or use smaller sizes"
    )


def _called(node: Node) -> str:
    return f"{node.name or node.opcode} {node.type}"


__all__ = ["MemoryLimitError", "Setting", "within"]
