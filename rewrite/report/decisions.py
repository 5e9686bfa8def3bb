"""Why each kernel is as it is: its price by parts, and what else was possible.

Every value that a kernel stores is priced inlined, every one that it inlines is priced
stored, a kernel of several outputs is priced apart, and all families say what they
would take.  A price is that of the whole: other kernels change with the one in
question.  The form is the chosen one; what other forms cost is said of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.graph import Graph, substitute
from rewrite.extract.schedule.assemble import Traced, build_kernel, with_constants
from rewrite.extract.schedule.chosen import (
    HOST,
    LEAVES,
    VARYING,
    VIEWS,
    Untraceable,
)
from rewrite.extract.schedule.kernel import (
    Cost,
    Kernel,
    KernelCost,
    Launch,
    Schedule,
    writes_of,
)
from rewrite.extract.schedule.plan import constant_nodes
from rewrite.extract.schedule.space import host_seconds
from rewrite.extract.schedule.state import RARELY
from rewrite.extract.schedule.steps import GraphTerms, in_order
from rewrite.extract.text.describe import describe
from rewrite.lower.axes import normalise
from rewrite.lower.model import Roofline

from .account import Alternative, Held, KernelView, Parted

type Roots = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Priced:
    """A kernel on the chosen graph; `kernel` is None where the host runs an op."""

    seconds: float  # of a run: little of what runs once
    cost: Cost | None
    kernel: Kernel | None
    reads: tuple[int, ...]
    members: tuple[int, ...]
    once: bool


class Pricing:
    """Kernels of one graph at fixed sizes, whatever is stored."""

    def __init__(
        self, graph: Graph, sizes: Mapping[str, int], price: KernelCost,
        constant: Container[str] = (),
    ) -> None:  # fmt: skip
        self.graph = substitute(graph, sizes) if sizes else graph
        self.terms, self.price = GraphTerms(self.graph), price
        self.constant = constant_nodes(self.graph, constant)
        self.outputs = {i for _, i in graph.outputs}

    def __call__(self, roots: Roots, stored: Collection[int]) -> Priced | str:
        """The kernel that stores `roots`; else why there is none."""
        node = self.terms.node(roots[0])
        if node.op in HOST and len(roots) == 1:
            return self._host(roots[0])
        try:
            traced = build_kernel(self.terms, roots, stored)
        except Untraceable as e:
            return str(e) or "these values share no loops"
        traced = with_constants(traced, self.constant)
        cost = self.price(traced.kernel)
        return self._priced(roots, traced, cost) if cost else "no family runs it"

    def _priced(self, roots: Roots, traced: Traced, cost: Cost) -> Priced:
        once = self._once(roots, traced.reads)
        seconds = cost.seconds * (RARELY if once else 1.0)
        return Priced(seconds, cost, traced.kernel, traced.reads, traced.members, once)

    def _once(self, roots: Iterable[int], reads: Iterable[int]) -> bool:
        same = self.constant.issuperset(roots) and self.constant.issuperset(reads)
        return same and self.outputs.isdisjoint(roots)

    def _host(self, root: int) -> Priced:
        args = self.graph.nodes[root].args
        seconds = host_seconds([self.graph.nodes[c].type for c in (*args, root)])
        repeats = self.graph.nodes[root].op not in VARYING
        once = repeats and self._once([root], args)
        return Priced(
            seconds * (RARELY if once else 1.0), None, None, args, (root,), once
        )


class Decisions:
    """The kernels of a plan, in the order in which they run."""

    def __init__(
        self, graph: Graph, groups: Sequence[Roots], sizes: Mapping[str, int],
        price: KernelCost, text: Callable[[int], str], constant: Container[str] = (),
    ) -> None:  # fmt: skip
        """`constant` are inputs that are the same in every run."""
        self.graph, self.text, self.price = graph, text, price
        self.pricing = Pricing(graph, sizes, price, constant)
        self.stored = {c for g in groups for c in g}
        self.steps, self.groups = _ordered(in_order(graph, groups, sizes), groups)
        self.of = {c: k for k, g in enumerate(self.groups) for c in g}
        self.priced = [self._now(g) for g in self.groups]
        self.total = sum(p.seconds for p in self.priced)
        self.within: dict[int, list[int]] = {}
        self.readers: dict[int, list[int]] = {}
        for k, p in enumerate(self.priced):
            for c in p.members:
                self.within.setdefault(c, []).append(k)
            for c in dict.fromkeys(p.reads):
                self.readers.setdefault(c, []).append(k)

    def _now(self, roots: Roots) -> Priced:
        result = self.pricing(roots, self.stored)
        if isinstance(result, str):  # what has no kernel is run by the host
            return self.pricing._host(roots[0])  # pyright: ignore[reportPrivateUsage]
        return result

    # ---- what else was possible ------------------------------------------------------

    def _instead(
        self, old: Collection[int], new: Sequence[tuple[Roots, Collection[int]]]
    ) -> tuple[float | None, str]:
        """Seconds of the whole with kernels in place of others; else why not."""
        total = self.total - sum(self.priced[k].seconds for k in old)
        for roots, stored in new:
            result = self.pricing(roots, stored)
            if isinstance(result, str):
                return None, result
            total += result.seconds
        return total, ""

    def inlined(self, c: int) -> tuple[float | None, str]:
        """The whole, were the stored value `c` computed where it is read."""
        if c in self.pricing.outputs:
            return None, "it is an output"
        if self.graph.nodes[c].op in HOST:
            return None, "the host computes it"
        home, readers = self.of[c], self.readers.get(c, [])
        if any(self.priced[k].kernel is None for k in readers):
            return None, "the host reads it"
        stored = self.stored - {c}
        new = [(self.groups[k], stored) for k in dict.fromkeys(readers) if k != home]
        rest = tuple(x for x in self.groups[home] if x != c)
        if rest:
            new.append((rest, stored))
        return self._instead({home, *readers}, new)

    def put_away(self, c: int) -> tuple[float | None, str]:
        """The whole, were the inlined value `c` stored by a kernel of its own."""
        stored = self.stored | {c}
        users = self.within[c]
        return self._instead(users, [((c,), stored), *(
            (self.groups[k], stored) for k in users
        )])  # fmt: skip

    def apart(self, k: int) -> tuple[float | None, str]:
        return self._instead([k], [((c,), self.stored) for c in self.groups[k]])

    def share(self, k: int) -> float:
        """What a run pays of a kernel."""
        return RARELY if self.priced[k].once else 1.0

    def families(self, k: int) -> list[Alternative]:
        """What each family would make of the kernel."""
        kernel, now = self.priced[k].kernel, self.priced[k].cost
        if kernel is None or now is None or not isinstance(self.price, Roofline):
            return []
        plain, model, rest = normalise(kernel), self.price.model, self.total
        rest -= self.priced[k].seconds
        out: list[Alternative] = []
        for f in self.price.families:
            if f.name == now.family:
                continue
            why = f.accepts(plain)
            cost = f.cost(plain, model) if why is None else None
            seconds = rest + cost.seconds * self.share(k) if cost else None
            reason = "" if cost else why or "it does not fit the device"
            out.append(Alternative("family", f.name, seconds, reason))
        return sorted(out, key=_dear)

    # ---- what is said ----------------------------------------------------------------

    def view(self, k: int, part: int | None, like: int | None) -> KernelView:
        """Kernel `k`; with `like`, only what it does, and not again why."""
        p, step = self.priced[k], self.steps.steps[k]
        values = [self._held(c, k, like is None) for c in self._values(k)]
        others = [] if like is not None else self._others(k, values)
        best = min(
            (o for o in others if o.seconds is not None), key=_dear, default=None
        )
        label = describe(step.kernel) if isinstance(step, Launch) else step.op
        moved = 0.0
        if isinstance(step, Launch):
            moved = float(sum(d.itemsize * n for d, n in step.kernel.slots))
        parts = Parted(p.cost.launch, p.cost.bytes, p.cost.scalar, p.cost.product) if (
            p.cost) else None  # fmt: skip
        return KernelView(
            k, label, p.cost.family if p.cost else "host", part, like, p.once,
            p.cost.seconds if p.cost else p.seconds / self.share(k), parts, moved,
            tuple(self.text(c) for c in dict.fromkeys(p.reads)), tuple(values),
            tuple(others), best,
        )  # fmt: skip

    def _values(self, k: int) -> list[int]:
        """What is stored, then what is computed on the way and costs something."""
        stored = self.groups[k]
        free = VIEWS | LEAVES
        inner = [c for c in self.priced[k].members
                 if c not in stored and self.graph.nodes[c].op not in free]  # fmt: skip
        return [*stored, *sorted(inner)]

    def _held(self, c: int, k: int, why: bool) -> Held:
        is_stored = c in self.groups[k]
        look = self.inlined if is_stored else self.put_away
        seconds, reason = look(c) if why else (None, "")
        how = "stored" if is_stored else "inlined"
        kind = str(self.graph.nodes[c].type)
        return Held(c, self.text(c), kind, how, seconds, reason)

    def _others(self, k: int, values: Sequence[Held]) -> list[Alternative]:
        out = self.families(k)
        if len(self.groups[k]) > 1:
            what = f"{len(self.groups[k])} kernels, one for each output"
            out.append(Alternative("part", what, *self.apart(k)))
        kinds = {"stored": "inline", "inlined": "store"}
        out += [
            Alternative(kinds[v.how], v.text, v.otherwise, v.reason)
            for v in values
            if v.otherwise is not None
        ]
        return sorted(out, key=_dear)


def _dear(a: Alternative) -> float:
    return float("inf") if a.seconds is None else a.seconds


def _ordered(steps: Schedule, groups: Sequence[Roots]) -> tuple[Schedule, list[Roots]]:
    """Steps and groups with what runs once in front, as `schedule` has them."""
    kept = [steps.buffers[writes_of(s)[0]].kind == "kept" for s in steps.steps]
    order = sorted(range(len(groups)), key=lambda i: not kept[i])
    return (
        replace(steps, steps=tuple(steps.steps[i] for i in order), once=sum(kept)),
        [tuple(groups[i]) for i in order],
    )


__all__ = ["Decisions", "Pricing"]
