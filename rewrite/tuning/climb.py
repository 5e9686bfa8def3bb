"""The search for one kernel: rounds of trials, each around the best so far.

What is compiled in a round is compiled side by side; then each choice that is new as
text runs by itself, checked before it is timed, in turns with the best so far.  Noise
must not decide: a choice wins if it is `MARGIN` faster and is so in four turns of five,
and at the end does it once more against what is lowered without a search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from rewrite.lower.choice import Choice
from rewrite.lower.search import BEAM, NEXT, WIDTH, Space

from .crew import Crew, quiet
from .worker import Build, Built, Job, Race, Reference, Refused, Times, Turn

QUIET = 0.25  # of the turns, the quickest
MARGIN = 0.03  # of the time: less than that is no win
MOSTLY = 0.8  # of the turns a winner is faster in
TURNS = 9  # of a trial
LAST = 25  # of the races at the end
LAST_ONES = 5  # choices that run there
OWN = 2  # where the own decision is in a turn
HANG = 5.0  # seconds in which a race is over,
SLOW = 200.0  # and as many times the own decision's


class Trial(NamedTuple):
    """What became of a choice: how long it takes beside the family's own decision, or
    why it was refused."""

    choice: Choice
    ratio: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search ends; what is found until then counts."""

    until: float = float("inf")  # on the clock `monotonic`
    trials: int = 1_000_000  # choices

    def over(self, trials: int) -> bool:
        return trials >= self.trials or monotonic() >= self.until


@dataclass
class Found:
    """The state of a search."""

    own: Choice
    best: Choice
    seconds: float = 0.0  # of the best
    own_seconds: float = 0.0
    trials: list[Trial] = field(default_factory=list[Trial])

    @property
    def won(self) -> bool:
        return self.best != self.own


type Tell = Callable[[Found], None]


def clearly_faster(turns: Sequence[Turn], other: int = 1) -> bool:
    """Whether the first of each turn beats another one, noise or not."""
    faster = sum(t[0] < t[other] for t in turns)
    return ratio(turns, other) < 1 - MARGIN and faster >= MOSTLY * len(turns)


def ratio(turns: Sequence[Turn], other: int = 1) -> float:
    return middle(turns, 0) / middle(turns, other)


def middle(turns: Sequence[Turn], which: int) -> float:
    """Seconds of a contestant: the lower quartile, since other work of the machine only
    adds."""
    return float(np.quantile([t[which] for t in turns], QUIET))


class Climb:
    """Tries the choices of a space for one kernel, until `limits`."""

    def __init__(
        self, crew: Crew, job: Job, space: Space, own: Choice, limits: Limits,
        tell: Tell = lambda found: None, lock: Path | None = None,
    ) -> None:  # fmt: skip
        self.crew, self.job, self.space = crew, job, space
        self.limits, self.tell, self.lock = limits, tell, lock
        self.found = Found(own, own)
        self.ratios: dict[Choice, float] = {own: 1.0}  # of the own decision's time
        self.met: set[Choice] = {own}
        self.texts: set[str] = set()

    def run(self, known: Choice | None = None) -> Found:
        """Starts with what an earlier search has found, if any."""
        reply = self.crew.ask(Reference(self.job, self.found.own))
        if isinstance(reply, Refused):
            self._refuse(self.found.own, reply.reason)
            return self.found
        self._compiled([self.found.own])
        self._race(self.found.own)  # itself: what the clock says of equals
        first = [known] if known and self.space.fits(known) else []
        self._round([*first, *self.space.own()], WIDTH)
        self._round(self.space.around([self.found.own, *self._beam()]), WIDTH)
        tried = 0
        while len(self.met) > tried and not self._over():
            tried = len(self.met)
            self._round(self.space.around(self._beam()), NEXT)
        self._last()
        return self.found

    def _over(self) -> bool:
        return self.limits.over(len(self.found.trials))

    def _beam(self, most: int = BEAM) -> list[Choice]:
        return sorted(self.ratios, key=lambda c: self.ratios[c])[:most]

    def _round(self, choices: Sequence[Choice], most: int) -> None:
        """Tries the first of them that are new, compiled a few at a time."""
        new = [c for c in dict.fromkeys(choices) if c not in self.met]
        batch = 2 * len(self.crew.workers)
        tried = 0
        while new and tried < most and not self._over():
            room = min(batch, most - tried, self.limits.trials)
            now, new = new[:room], new[room:]
            self.met.update(now)
            for c in self._compiled(now):
                if self._over():
                    return
                self._race(c)
                tried += 1

    def _compiled(self, choices: Sequence[Choice]) -> list[Choice]:
        """Those that compile, one for each text."""
        out: list[Choice] = []
        replies = self.crew.all([Build(self.job, c) for c in choices])
        for choice, reply in zip(choices, replies, strict=True):
            match reply:
                case Built(text) if text not in self.texts:
                    self.texts.add(text)
                    out.append(choice)
                case Refused(reason):
                    self._refuse(choice, reason)
                case _:  # the same text as another choice's
                    pass
        return out

    def _race(self, choice: Choice) -> None:
        """Beside the best so far and the own decision: ratios of ratios would drift."""
        result = self.found
        reply = self._ask(Race(self.job, choice, (result.best, result.own), TURNS))
        if isinstance(reply, Refused):
            self._refuse(choice, reply.reason)
            return
        turns = reply.turns
        if choice == result.own:
            result.seconds = result.own_seconds = middle(turns, 0)
            return
        self.ratios[choice] = ratio(turns, OWN)
        result.trials.append(Trial(choice, self.ratios[choice]))
        if clearly_faster(turns) and clearly_faster(turns, OWN):
            result.best, result.seconds = choice, middle(turns, 0)
            result.own_seconds = middle(turns, OWN)
        self.tell(result)

    def _ask(self, race: Race) -> Times | Refused:
        own = self.found.own_seconds
        limit = min(HANG + SLOW * own, self.crew.limit) if own else None
        with quiet(self.lock):
            reply = self.crew.ask(race, limit)
        assert not isinstance(reply, Built)
        return reply

    def _refuse(self, choice: Choice, reason: str) -> None:
        self.ratios.pop(choice, None)
        self.found.trials.append(Trial(choice, None, reason))
        self.tell(self.found)

    def _last(self) -> None:
        """The best ones beside the own decision once more: who won by luck loses."""
        result, own = self.found, self.found.own
        result.best, result.seconds = own, result.own_seconds
        least = 1.0
        for choice in (c for c in self._beam(LAST_ONES) if c != own):
            reply = self._ask(Race(self.job, choice, (own,), LAST))
            if isinstance(reply, Refused) or not clearly_faster(reply.turns):
                continue
            if ratio(reply.turns) < least:
                least, result.best = ratio(reply.turns), choice
                result.seconds = middle(reply.turns, 0)
                result.own_seconds = middle(reply.turns, 1)
        self.tell(result)


__all__ = [
    "MARGIN",
    "Climb",
    "Found",
    "Limits",
    "Tell",
    "Trial",
    "clearly_faster",
    "middle",
]
