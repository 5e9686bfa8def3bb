"""What can be said of a rule: proved, for which ranks, sampled only, or refuted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewrite.egraph.rules.ruleset import Rule

from .meaning.language import Library
from .prover import CAP, Prover, Shown
from .refute import Counterexample, refute

type Status = Literal["proved", "sampled only", "refuted"]


@dataclass(frozen=True)
class Verdict:
    """How a rule ends."""

    rule: str
    status: Status
    rank: int | None = None  # proved up to here; None: at every rank
    reason: str = ""
    lemmas: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    example: Counterexample | None = None
    cases: int = 0  # case distinctions on which it was shown
    sampled: int = 0  # instances on which it fired (`samples.py`)
    seconds: float = 0.0  # of processor time
    needs: str = ""  # of what is sampled only: the law, premise or theory it lacks

    @property
    def text(self) -> str:
        match self.status:
            case "proved" if self.rank is None:
                return "proved (all ranks)"
            case "proved":
                return f"proved (rank ≤ {self.rank})"
            case "sampled only":
                lacks = f"; needs: {self.needs}" if self.needs else ""
                return f"sampled only: {self.reason}{lacks}"
            case _:
                return "refuted"

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "rule": self.rule, "status": self.status,
            "ranks": self._ranks(), "reason": self.reason, "needs": self.needs,
            "lemmas": list(self.lemmas), "notes": list(self.notes),
            "cases": self.cases, "sampled": self.sampled,
            "seconds": round(self.seconds, 3),
        }  # fmt: skip
        if self.example is not None:
            out["counterexample"] = self.example.to_json()
        return out

    def _ranks(self) -> str | int | None:
        if self.status != "proved":
            return None
        return "all" if self.rank is None else self.rank

    @staticmethod
    def of_json(data: Mapping[str, Any]) -> Verdict:
        example = data.get("counterexample")
        ranks = data["ranks"]
        return Verdict(
            data["rule"], data["status"], None if ranks == "all" else ranks,
            data["reason"], tuple(data["lemmas"]), tuple(data["notes"]),
            None if example is None else Counterexample(**example),
            data["cases"], data["sampled"], data["seconds"], data["needs"],
        )  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """How far a proof may go."""

    seconds: float = 15.0  # of processor time, for one rule
    rank: int = CAP


def judge(rule: Rule, library: Library, limits: Limits = Limits()) -> Verdict:
    """Proves a rule or finds a counterexample, within limits."""
    start = time.process_time()
    prover = Prover(library, rule, limits.seconds, limits.rank)
    best: Shown | None = None
    failed: list[Any] = []
    for mode in prover.modes():
        proof = prover.prove(mode)
        if proof.holds:
            return _proved(rule, proof, time.process_time() - start)
        failed = [*proof.failed, *failed]
        result = refute(rule, library, proof.failed, thorough=False)
        if result is not None:
            return Verdict(
                rule.name, "refuted", reason=proof.reason, example=result,
                seconds=time.process_time() - start,
            )  # fmt: skip
        best = proof
        if prover.spent:
            break
    result = refute(rule, library, failed)
    status: Status = "sampled only" if result is None else "refuted"
    return Verdict(
        rule.name, status, reason=_reason(best), example=result,
        seconds=time.process_time() - start,
        needs="" if result is not None else _needs(best),
    )  # fmt: skip


def _needs(proof: Shown | None) -> str:
    if proof is None or (not proof.met and not proof.failed and not proof.needs):
        return "premises that some tensor meets"
    return proof.needs


def _proved(rule: Rule, proof: Shown, seconds: float) -> Verdict:
    notes = set(proof.notes)
    if rule.contract in ("real", "approx"):
        notes.add("over the reals; rounding and stability are sampled, not proved")
    return Verdict(
        rule.name, "proved", None if proof.everywhere else proof.rank,
        "" if proof.everywhere else proof.reason,
        tuple(sorted(proof.used)), tuple(sorted(notes)), None, proof.met,
        seconds=seconds,
    )  # fmt: skip


def _reason(proof: Shown | None) -> str:
    if proof is None:
        return "nothing was tried"
    if not proof.met and not proof.failed and not proof.reason:
        return "no instance met its premises"
    return proof.reason or "no instance met its premises"


__all__ = ["Limits", "Verdict", "field", "judge"]
