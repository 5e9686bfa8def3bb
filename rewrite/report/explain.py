"""`rewrite explain`: the whole decision about a graph, from its plan.

What is said of rules has been proved and checked; what is said of costs is predicted at
the sizes that are named; errors are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewrite.egraph.ir.text import node_lines
from rewrite.egraph.proof.explain import CONTRACTS
from rewrite.egraph.proof.whole import Sizes
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.part import Part
from rewrite.extract.schedule.space import own_space
from rewrite.extract.schedule.start import Level
from rewrite.extract.schedule.steps import own_groups

from ..core.compiled import Compiled, Planned
from ..core.costs import cost_for, name_of
from ..core.labels import labels as called
from ..core.levels import levels
from ..core.pieces import Cut
from ..version import VERSION
from .ablation import ablated
from .account import (
    Ablation,
    KernelView,
    LoopView,
    NodeView,
    PartView,
    Unexplained,
)
from .accuracy import measured
from .decisions import Decisions
from .explanation import Explanation
from .focus import focused
from .places import Side, places
from .proofs import Proofs
from .words import titled

type Told = Callable[[str, int, int], None]


def account(
    c: Compiled, sizes: Mapping[str, int] | None = None, *, node: str = "",
    kernel: str = "", ablate: bool = False, run: bool = True,
    told: Told = lambda what, done, of: None,
) -> Explanation:  # fmt: skip
    """All that there is to say about `c`; of one `node` or `kernel` if it is named.
    `run`: measure errors.  `ablate`: do all again without each rule that is used."""
    whole = _Accounting(c, sizes or {}).account(ablate, run, sizes, told)
    return focused(whole, node, kernel) if node or kernel else whole


def lost_without(c: Compiled, rule: str) -> tuple[str, ...]:
    """What the kernels compute that are there no more without one rule."""
    at = _Accounting(c, {})
    found = ablated(at.pieces(), at.without, at.decisions.total, at.moves,
                    c.options.hints, only=frozenset([rule]))  # fmt: skip
    return tuple(k for a in found for k in a.lost)


class _Accounting:
    """What all parts of the account look at."""

    def __init__(self, c: Compiled, sizes: Mapping[str, int]) -> None:
        self.c, self.plan, self.options = c, c.plan, c.options
        self.rules = load_rules(self.options.rules or None, self.options.precision)
        _known(c, self.rules)
        self.sizes = c.likely(sizes)
        self.at = places(c.source, c.plan, self.rules, self.options.hints)
        self.price = cost_for(c.device, self.options.precision, self.options.cost)
        self.proofs = Proofs(
            self.plan.parts, self.rules, self.at, self.price, self.options.hints
        )
        self.whole = self.proofs.check(c.source, c.plan, self.options.hints)
        words = self.at.after.words
        self.decisions = Decisions(
            self.plan.graph, self.plan.groups, self.sizes, self.price, words
        )

    def account(
        self, ablate: bool, run: bool, sizes: Mapping[str, int] | None, told: Told
    ) -> Explanation:
        c, plan, d = self.c, self.plan, self.decisions
        kernels = self._kernels()
        errors = measured(c, sizes) if run else (None, "it was not asked for")
        pieces = tuple(self._piece(i, p) for i, p in enumerate(plan.parts))
        own = (
            (sum(p.uses * p.own_kernels for p in pieces),
             sum(p.uses * p.own_seconds for p in pieces))
            if pieces else (plan.own_kernels, plan.own_seconds)
        )  # fmt: skip
        return Explanation(
            c.source.name, VERSION, c.device.name, self.options.precision,
            name_of(self.options.cost), tuple(map(str, self.options.rules)),
            dict(self.sizes) if c.source.symbols else {},
            (len(c.source.live), len(plan.graph.live)), *own, d.total,
            self.weakest, self._nodes(self.at.before, kernels, after=False),
            self._nodes(self.at.after, kernels, after=True), kernels, pieces,
            tuple(self.proofs.steps), tuple(self.proofs.terms()), self.proofs.used(),
            tuple(sorted({limit.budget for p in plan.parts for limit in p.limits})),
            (*dict.fromkeys(plan.notes), *(x.said() for x in self.inner)), *errors,
            self._ablation(told) if ablate else None,
            loops=tuple(
                LoopView(x.name, x.runs, x.run.account(False, False, None, told))
                for x in self.inner
            ),
        )  # fmt: skip

    # ---- loops and branches ----------------------------------------------------------

    @cached_property
    def inner(self) -> tuple[_Inner, ...]:
        """Each body is a plan of its own, whose proof is checked as that around it."""
        found: dict[str, _Inner] = {}
        for x in self.c.inner(self.sizes):
            made = _Inner(x, _Accounting(x.made, x.sizes))
            found[made.name] = made
        return tuple(found.values())

    @property
    def weakest(self) -> str:
        """The contract of all that was rewritten, in loops and branches as well."""
        own = [f.weakest for f, _ in self.proofs.found]
        own += [x.run.weakest for x in self.inner]
        return max(own, key=CONTRACTS.index, default="bitwise")

    @property
    def used(self) -> tuple[str, ...]:
        """The rules, those of loops and branches as well."""
        own = [r.name for r in self.proofs.used()]
        own += [name for x in self.inner for name in x.run.used]
        return tuple(dict.fromkeys(own))

    # ---- kernels and pieces ----------------------------------------------------------

    def _kernels(self) -> tuple[KernelView, ...]:
        """Why a kernel is as it is, is said where its piece first stands."""
        homes, first = self.at.after.home, dict[tuple[int, int], int]()
        out: list[KernelView] = []
        for k, group in enumerate(self.decisions.groups):
            part, copy = homes.get(group[0], (None, 0))
            like = None
            if part is not None:
                local = self._local(part, copy, group[0])
                like = first.setdefault((part, local), k)
            same = None if like in (None, k) else like
            out.append(self.decisions.view(k, part, same))
        return tuple(out)

    def _local(self, part: int, copy: int, node: int) -> int:
        there = self.at.uses[part][copy].after
        return min((i for i, j in there.items() if j == node), default=node)

    def _piece(self, i: int, part: Part) -> PartView:
        found, steps = self.proofs.found[i]
        same = {part.before.nodes[k].attrs[0] for k in part.constant}
        own, chosen = (
            Decisions(graph, groups, self.sizes, self.price, str, same)
            for graph, groups in (
                (part.before, own_groups(part.before)), (part.after, part.groups),
            )
        )  # fmt: skip
        values = {s: self.sizes[s] for s in part.before.symbols}
        space = own_space(part.before, values, part.constant)
        unruled = choose(space, self.price, self.moves).seconds
        return PartView(
            i, part.uses, (len(part.before.live), len(part.after.live)),
            len(own.groups), own.total, unruled, chosen.total, steps, found.rules,
            found.weakest, tuple(x.budget for x in part.limits),
            {x.budget: x.rules for x in part.limits if x.budget != "moves"},
            (*part.notes, *map(_proved_at, self._sizes(i))),
        )  # fmt: skip

    def _sizes(self, piece: int) -> Iterator[Sizes]:
        return (s for s in self.whole.sizes if s.piece == piece)

    @property
    def moves(self) -> int:
        from ..core.options import MOVES

        return MOVES[self.options.effort]

    def pieces(self) -> list[tuple[Cut, Part, frozenset[str]]]:
        """As they are cut, as they were chosen, and the rules that it takes."""
        found = zip(
            self.at.cuts.pieces, self.plan.parts, self.proofs.found, strict=False
        )
        return [(cut, part, frozenset(f.rules)) for cut, part, (f, _) in found]

    def _ablation(self, told: Told) -> tuple[Ablation, ...]:
        hints, now = self.options.hints, self.decisions.total
        return ablated(self.pieces(), self.without, now, self.moves, hints, told)

    def without(self, rule: str) -> tuple[Level, ...]:
        """The rules by which it was planned, but one."""
        return levels(self.c.device, self.options, self.price, frozenset((rule,)))

    # ---- nodes -----------------------------------------------------------------------

    def _nodes(
        self, side: Side, kernels: tuple[KernelView, ...], *, after: bool
    ) -> tuple[NodeView, ...]:
        graph, words = side.graph, side.words
        lines = node_lines(graph, inline=8)
        there = self._same(after)
        computed, labels = self._computed(), {} if after else self._labels()
        out: list[NodeView] = []
        for i in sorted(graph.live):
            n = graph.nodes[i]
            part, copy = side.home.get(i, (None, 0))
            same = tuple(there.get(i, ()))
            mine = [i] if after else same
            inside = sorted({k for j in mine for k in computed.get(j, ())})
            out.append(NodeView(
                i, n.op, titled(graph, words, i), words(i), i in words.names,
                tuple(labels.get(i, ())), str(n.type), lines[i], n.args,
                tuple(label for label, o in graph.outputs if o == i),
                side.scopes[i], part if n.args else None, copy, tuple(inside), same,
            ))  # fmt: skip
        return tuple(out)

    def _computed(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for k, p in enumerate(self.decisions.priced):
            stored = self.decisions.groups[k]
            inner = [c for c in p.members if self.plan.graph.nodes[c].args]
            for c in {*inner, *stored}:
                found.setdefault(c, []).append(k)
        return found

    def _labels(self) -> dict[int, list[str]]:
        """What nodes before are called in the user's graph."""
        found: dict[int, list[str]] = {}
        for label, i in zip(called(self.c.source), self.at.where, strict=True):
            found.setdefault(i, []).append(label)
        for label, i in self.at.before.graph.outputs:
            found.setdefault(i, []).append(label)
        return {i: list(dict.fromkeys(names)) for i, names in found.items()}

    def _same(self, after: bool) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for i, j in self.at.same.items():
            found.setdefault(j if after else i, []).append(i if after else j)
        return found


@dataclass(frozen=True, slots=True)
class _Inner:
    """A body of a loop or a branch of the graph, and what there is to say about a run
    of it."""

    planned: Planned
    run: _Accounting

    @property
    def runs(self) -> int | None:
        return self.planned.runs

    @property
    def name(self) -> str:
        """The target; of a branch, with the side."""
        x = self.planned
        several = len(x.flow.bodies) > 1
        return f"{x.target}, {x.flow.words[x.number]}" if several else x.target

    def said(self) -> str:
        one, x = self.run, self.planned
        every = [k for k in one.c.kernels(one.sizes) if not k.once]
        kernels = f"{len(every)} kernel" + "s" * (len(every) != 1)
        seconds = (1 if x.runs is None else x.runs) * sum(k.seconds for k in every)
        rules = " ".join(one.used) or "none"
        if len(x.flow.bodies) > 1:
            what = f"is a side of a branch, planned apart: {kernels}"
        elif x.runs is None:
            what = f"is a loop, planned apart: in each round {kernels}"
        else:
            what = f"is a loop, planned apart: {x.runs} rounds of {kernels}"
        word = x.flow.words[x.number] if len(x.flow.bodies) == 1 else "it"
        return (f"{self.name!r} {what}, {seconds * 1e6:.1f} us, which the figures "
                f"above leave out; {word} is equal ({one.weakest}) by checked steps "
                f"that are not shown, by the rules: {rules}")  # fmt: skip


def _proved_at(sizes: Sizes) -> str:
    """What a proof at numbers says of symbols."""
    compared = "; ".join(map(_sizes, sizes.compared_at))
    rest = f"; results compared besides at {compared}" if compared else ""
    return (f"proved at {_sizes(sizes.proved_at)} by rules that hold for any size, not "
            f"for all sizes at once{rest}")  # fmt: skip


def _sizes(values: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values)


def _known(c: Compiled, rules: RuleSet) -> None:
    """A bundle does not hold the rule files that it was made with."""
    known = {r.name for f in rules.files for r in f.rules}
    if missing := sorted(set(c.plan.fired) - known):
        raise Unexplained(
            f"{c.source.name}: the rule {missing[0]!r} was used, and is in no file "
            "that is given here; name its file (--rules FILE)"
        )


__all__ = ["account", "lost_without"]
