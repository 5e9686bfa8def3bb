"""One rule, proved at rising ranks until it holds for all of them, or refuted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.rules.ruleset import Rule

from .attempt import Attempt, Mode, Outcome
from .choices import joined
from .instance import Instance
from .lengths import Lengths, solutions
from .meaning.conditions import value
from .meaning.language import Library
from .meaning.paths import OutOfTime, Path, Unsupported, explore
from .ranks import Naturality, bound, constructors

BROKEN = 2  # up to this rank the failures of a rule that failed are collected
FAILURES = 3  # at one rank
QUICK = 1.0  # seconds: of a rank that took less the next one is always tried
CAP = 4  # the highest rank that is tried


@dataclass(frozen=True)
class Case:
    """A path on which a rule was not shown, and what is known of it there."""

    rule: Rule
    backward: bool
    reason: str
    rank: int
    path: Path
    instance: Instance


@dataclass
class Shown:
    """What was shown of a rule."""

    rank: int = -1  # all ranks up to here
    everywhere: bool = False
    paths: int = 0
    met: int = 0  # paths on which the premises hold of some tensor
    accesses: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    used: set[str] = field(default_factory=set[str])
    notes: set[str] = field(default_factory=set[str])
    reason: str = ""  # why it went no further
    needs: str = ""  # the law, premise or theory that it lacks
    failed: list[Case] = field(default_factory=list[Case])

    @property
    def holds(self) -> bool:
        """Whether something was shown and nothing was not, but for lack of time."""
        return self.met > 0 and not self.failed and self.rank >= 0


@dataclass
class Prover:
    """Proves one rule within a time."""

    library: Library
    rule: Rule
    seconds: float = 60.0
    cap: int = CAP
    met: set[object] = field(default_factory=set[object])  # asked of dtypes, and shown
    _deadline: float = 0.0

    def prove(self, mode: Mode) -> Shown:
        """A proof as far as it goes; the time runs from the first call on."""
        if not self._deadline:
            self._deadline = time.process_time() + self.seconds
        proof = Shown()
        try:
            self._ranks(proof, mode)
        except OutOfTime:
            proof.reason = proof.reason or f"no proof within {self.seconds:g} s"
            proof.needs = proof.needs or "more time; timeout in: the first rank"
        except Unsupported as e:
            proof.reason = f"{e} is beyond the encoding"
            proof.needs = f"an encoding of {e}"
        return proof

    @property
    def spent(self) -> bool:
        return time.process_time() > self._deadline > 0

    def modes(self) -> Iterator[Mode]:
        heads = constructors(self.rule.left) | constructors(self.rule.right)
        eager = (False, True) if "Reshape" in heads else (False,)
        for theory in (False, True):
            for e in eager:
                yield Mode(theory, e)

    def _ranks(self, proof: Shown, mode: Mode) -> None:
        """Rank by rank; `proof` says how far."""
        natural = Naturality(self.library)
        obstacle = natural.obstacle(self.rule)
        uniform = natural.uniform(self.rule)
        took: list[float] = []
        for rank in range(self.cap + 1):
            if proof.rank >= 0 and self._hopeless(took):
                proof.reason = f"rank {rank} would take more than {self.seconds:g} s"
                return
            start = time.process_time()
            counts = self._rank(proof, mode, rank)
            took.append(time.process_time() - start)
            if proof.failed and rank >= BROKEN:
                return  # enough to look for a counterexample
            if counts is None and not proof.failed:
                return
            if counts is None or proof.failed:
                continue
            proof.rank = rank
            proof.accesses.append(counts)
            if uniform and rank >= 1 and proof.met:
                proof.everywhere = True
                return
            settled = rank >= 1 and counts == proof.accesses[-2]
            if obstacle is None and settled and rank >= bound(self.rule, counts):
                proof.everywhere = proof.met > 0
                return
        most = bound(self.rule, proof.accesses[-1]) if proof.accesses else 0
        proof.reason = (
            f"{obstacle} does not treat axes alike" if obstacle
            else f"all ranks would take a proof of rank {most}"
        )  # fmt: skip

    def _hopeless(self, took: list[float]) -> bool:
        """Whether the next rank, growing as the last one did, is out of reach."""
        if len(took) < 2 or took[-1] < QUICK:
            return False
        expected = took[-1] * max(2.0, took[-1] / max(took[-2], 1e-3))
        return time.process_time() + expected > self._deadline

    def _rank(self, proof: Shown, mode: Mode, rank: int) -> dict[str, int] | None:
        """All that there is at one rank; the most accesses of each input, or None."""
        counts: dict[str, int] = {}
        for backward in (False, True) if self.rule.both else (False,):
            try:
                ways = self._lengths(backward, rank)
                for lengths, ranks in ways:
                    for given in self._assignments(mode):
                        self._cases(
                            proof, mode, backward, lengths, ranks, given, counts
                        )
                        if self._broken(rank, proof):
                            return None
            except OutOfTime:
                proof.reason = f"no proof of rank {rank} within {self.seconds:g} s"
                proof.needs = f"more time; timeout in: rank {rank}"
                return None
        return counts

    def _lengths(
        self, backward: bool, rank: int
    ) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Lengths of vectors and ranks of tensors, the greatest of which is `rank`."""
        result = Lengths(self.library)
        result.term(self.rule.right if backward else self.rule.left)
        for fact in self.rule.when:
            result.fact(fact)
        out: list[tuple[dict[str, int], dict[str, int]]] = []
        for chosen in solutions(result, rank):
            vectors = {k: value(v, chosen) for k, v in result.vectors.items()}
            tensors = {k: value(v, chosen) for k, v in result.tensors.items()}
            plain = [n for s, n in chosen.items() if s not in result.frames]
            if max(plain, default=0) == rank and min((0, *vectors.values())) == 0:
                out.append((vectors, tensors))
        return out

    def _assignments(self, mode: Mode) -> list[dict[str, Any]]:
        """Opcodes, monoids and numbers that the premises' tables allow."""
        if not mode.theory:
            return [{}]
        return list(joined(self.library, self.rule.when))

    def _cases(
        self, proof: Shown, mode: Mode, backward: bool, lengths: Mapping[str, int],
        ranks: Mapping[str, int], given: Mapping[str, Any], counts: dict[str, int],
    ) -> None:  # fmt: skip
        def run(path: Path) -> Outcome:
            return Attempt(
                self.library, self.rule, mode, backward, path, lengths, ranks, given,
                self.met,
            ).run()  # fmt: skip

        for path, outcome in explore(run, self._deadline):
            proof.paths += 1
            if outcome is None:
                continue
            if outcome.instance is not None:
                if not proof.reason:
                    proof.reason, proof.needs = outcome.reason, outcome.needs
                rank = max((*lengths.values(), *ranks.values()), default=0)
                proof.failed.append(
                    Case(
                        self.rule,
                        backward,
                        outcome.reason,
                        rank,
                        path,
                        outcome.instance,
                    )
                )
                if self._broken(rank, proof):
                    return
                continue
            proof.met += outcome.met
            proof.used |= outcome.used
            proof.notes |= outcome.notes
            for name, n in outcome.accesses.items():
                counts[name] = max(n, counts.get(name, 0))

    def _broken(self, rank: int, proof: Shown) -> bool:
        """Whether enough failures of a rank are known."""
        return sum(c.rank == rank for c in proof.failed) >= FAILURES
