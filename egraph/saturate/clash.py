"""Which rule was it?  The engine says that two types met, and not who brought them."""

from __future__ import annotations

import re

from ..rules.ruleset import Rule, RuleSet
from .encode import Encoded, EncodeError
from .engine import Engine, EngineError
from .explore import Budget, explore


class RuleError(EngineError):
    """A rule whose sides have different types, or that makes what is no term; the
    message names it."""


_CLASH = re.compile(r"Illegal merge attempted for function (\S+)")
ADVICE = "make both sides agree or add a premise"


def is_clash(e: EngineError) -> bool:
    """Whether the engine refused to merge two types, or two values of a function."""
    return _CLASH.search(str(e)) is not None


def blamed(
    e: EngineError, encoded: Encoded, rules: RuleSet, budget: Budget, engine: Engine
) -> EngineError:
    """A clash in saturation as the fault of a rule; any other error as it is."""
    clash = _CLASH.search(str(e))
    if clash is None:
        return e
    if clash[1] in ("shape", "dtype"):
        return RuleError(_culprit(encoded, rules, budget, engine))
    return RuleError(_two_values(rules, clash[1]))


def no_term(foreign: list[Rule], e: EncodeError) -> RuleError:
    """The user's rules that fired, one of which made what `e` shows."""
    first, *others = foreign
    also = ", ".join(f"{r.name} ({r.place})" for r in others)
    one = f"{first.name} or one of {also}" if others else first.name
    return RuleError(
        f"{first.place}: {one} makes a term that is none: {e}; "
        "mend the right side or add a premise"
    )


def _two_values(rules: RuleSet, function: str) -> str:
    forms = (f for file in rules.files for f in file.forms if f.head == "function")
    place = next(f.place for f in forms if str(f.items[1]) == function)
    return (
        f"{place}: {function} got two values for one row; make its rules agree or "
        "end it with :merge old"
    )


def _culprit(encoded: Encoded, rules: RuleSet, budget: Budget, engine: Engine) -> str:
    """The first rule without which the types agree, alone or after those before it; a
    user's rules are asked first."""
    theirs = {r.name for r in rules.foreign}
    names = sorted((r.name for r in rules.rules), key=lambda name: name not in theirs)
    rows = len(encoded.rows)
    for chosen in [[n] for n in names] + [names[: i + 1] for i in range(len(names))]:
        few = rules.only(chosen)
        try:
            explore(
                engine, few.sources, encoded.text, few, budget, rows,
                lambda session, run: None,
            )  # fmt: skip
        except EngineError as e:
            if not is_clash(e):
                raise
            rule = rules.rule(chosen[-1])
            return (
                f"{rule.place}: {rule.name} equates terms of different shape or dtype; "
                + ADVICE
            )
    return "two terms of different shape or dtype were equated; run fewer rules at once"


__all__ = ["RuleError", "blamed", "is_clash", "no_term"]
