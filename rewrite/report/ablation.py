"""The rules without which a result would be lost: all is done again without each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewrite.egraph.ir.graph import witness
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.schedule.part import Part, Problem, part_of
from rewrite.extract.schedule.start import Level
from rewrite.extract.schedule.steps import in_order
from rewrite.extract.text.describe import describe

from .account import Ablation

if TYPE_CHECKING:
    from ..core.pieces import Cut

type Told = Callable[[str, int, int], None]


def ablated(
    pieces: Sequence[tuple[Cut, Part, frozenset[str]]],
    without: Callable[[str], Sequence[Level]],
    seconds: float,
    moves: int,
    hints: Mapping[str, int],
    told: Told = lambda what, done, of: None,
    only: frozenset[str] | None = None,
) -> tuple[Ablation, ...]:
    """What happens without each rule that a proof uses, the dearest loss first; or
    without those in `only`.  The names are what the proof of each piece uses; `without`
    makes the sets of rules by which it is planned again."""
    names = sorted({r for _, _, used in pieces for r in used if not only or r in only})
    total = sum(part.seconds * part.uses for _, part, _ in pieces)
    out: list[Ablation] = []
    for done, name in enumerate(names):
        levels = without(name)
        rise, lost = 0.0, Counter[str]()
        for piece, part, used in pieces:
            if name in used:
                known = piece.nan_free, piece.constant
                problem = Problem.of(piece.before, *known, hints)
                other = part_of(problem, levels, moves)
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
