"""What `rewrite lint` can find: codes, how bad each is, and one finding as a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewrite.egraph.rules.sexpr import Place

type Severity = Literal["error", "warning"]

# Code -> what it means, in the order in which a rule is looked at.
ERRORS = {
    "invalid": "what no rule file may hold; the sentence says what",
    "unnamed": "a rule without :name",
    "duplicate-name": "a name that another rule has",
    "name-style": "a name that is not kebab-case",
    "contract": "no ';;@ equal', or none that is known",
    "no-sentence": "no ';;' line that says the law in words",
    "no-fires": "no example that fires",
    "no-skips": "no example that must not fire",
    "unbound": "a variable that nothing binds",
    "unused": "a variable of :when that nothing uses",
    "bare-left": "a left side that is a lone variable, which matches every term",
    "unstable": "a law that overflows or cancels in floats and is not marked so",
    "refused": "a law that was refused with a counterexample",
    "types": "sides that differ in shape or dtype",
    "example": "an example that does not do what it says",
    "premise": "a premise that no ';;@ skips' breaks, though a term would",
}
WARNINGS = {
    "unneeded": "a premise that no example breaks, and no term that could be found",
    "derivable": "a law that the other rules show already",
    "shadowed": "a special case of one other rule",
    "both-ways": "two rules of one ruleset that undo each other",
    "commutes": "bare commutativity or associativity outside an explosive ruleset",
    "duplicates": "work done twice on the right that the left does once",
    "empty": "a file in which nothing is said",
    "allow": "an ';;@ allow' of something that is not found",
}
CODES = {**ERRORS, **WARNINGS}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where it is, and what to do about it."""

    place: Place
    code: str
    rule: str
    message: str
    fix: str

    @property
    def severity(self) -> Severity:
        return "error" if self.code in ERRORS else "warning"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity} {self.code}: {self.message}; {self.fix}"
