"""The rules without which a result would be lost: all is done again without each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewrite.egraph.ir.graph import witness
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.describe import describe
from rewrite.extract.schedule.kernel import KernelCost, Launch
from rewrite.extract.schedule.plan import (
    Part,
    _part,  # pyright: ignore[reportPrivateUsage]  # the one way in which they are planned
)
from rewrite.extract.schedule.steps import in_order

from .account import Ablation

if TYPE_CHECKING:
    from ..core.pieces import Cut

type Told = Callable[[str, int, int], None]


def ablated(
    pieces: Sequence[tuple[Cut, Part, frozenset[str]]],
    rules: RuleSet,
    price: KernelCost,
    seconds: float,
    moves: int,
    hints: Mapping[str, int],
    told: Told = lambda what, done, of: None,
    only: frozenset[str] | None = None,
) -> tuple[Ablation, ...]:
    """What happens without each rule that a proof uses, the dearest loss first; or
    without those in `only`.  The names are what the proof of each piece uses."""
    names = sorted({r for _, _, used in pieces for r in used if not only or r in only})
    total = sum(part.seconds * part.uses for _, part, _ in pieces)
    out: list[Ablation] = []
    for done, name in enumerate(names):
        saturate = saturator(rules.only(rules.on - {name}))
        rise, lost = 0.0, Counter[str]()
        for piece, part, used in pieces:
            if name in used:
                other = _part(
                    piece.before, piece.nan_free, piece.constant, saturate, price,
                    moves, hints,
                )  # fmt: skip
                rise += part.uses * (other.seconds - part.seconds)
                lost += kernels(part, hints) - kernels(other, hints)
        rise /= total
        out.append(Ablation(name, seconds * (1 + rise), rise, tuple(sorted(lost))))
        told("rules left out", done + 1, len(names))
    return tuple(sorted(out, key=lambda a: (-a.rise, a.rule)))


def kernels(part: Part, hints: Mapping[str, int]) -> Counter[str]:
    """What the kernels of a piece compute."""
    steps = in_order(part.after, part.groups, witness(part.after, hints)).steps
    return Counter(describe(s.kernel) if isinstance(s, Launch) else s.op for s in steps)
