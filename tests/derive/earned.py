"""What uses each bundled rule: `python -m tests.derive.earned [--write]`.

A rule counts only if something needs it: the checked proof of a captured model (the
rules that its golden lists) or that of a case in this folder.  Prints each rule with
its uses; the exit status is 1 if a rule is without one.

`--write` notes in `uses.txt` a case for each rule that no model uses.  The test of that
case then asks that its proof still has the rule, so that no proof is made twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from rewrite.authoring.derive import derive
from rewrite.authoring.derive.cases import Case, read_case
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Precision, Rule, RuleSet

HERE = Path(__file__).parent
GOLDENS = HERE.parent / "replay" / "goldens"
NOTED = HERE / "uses.txt"
GOALS = ("kernels", "operators")
SHOWN = 4  # uses of one rule that are printed

type Uses = dict[str, list[str]]  # rule -> what uses it


def library() -> tuple[Rule, ...]:
    """Every bundled rule that some precision and some goal has on."""
    rules: dict[str, Rule] = {}
    for goal in GOALS:
        rules |= {r.name: r for r in load_rules(precision="unstable", goal=goal).rules}
    return tuple(rules.values())


def cases() -> list[Case]:
    """Those that are to be shown equal, cases under one set of rules side by side: the
    engine keeps few sets loaded."""
    found = [read_case(path) for path in sorted(HERE.glob("*.derive"))]
    equal = (case for case in found if case.equal)
    return sorted(equal, key=lambda case: (case.goal, case.precision))


def of_cases(chosen: Iterable[Case]) -> Uses:
    """The rules in each case's proof; a case that has none is an error."""
    sets: dict[tuple[str, Precision], RuleSet] = {}
    uses: Uses = {}
    for case in chosen:
        kind = (case.goal, case.precision)
        if kind not in sets:
            sets[kind] = load_rules(precision=case.precision, goal=case.goal)
        answer = derive(case.left, case.right, sets[kind], shorten=False)
        if answer.proof is None:
            raise ValueError(
                f"{case.name}: equality was expected and no proof was found; ask "
                f"rewrite derive {HERE / case.name}.derive what is missing"
            )
        for rule in answer.proof.rules:
            uses.setdefault(rule, []).append(case.name)
    return uses


def of_goldens(folder: Path = GOLDENS) -> Uses:
    """The rules that the models' goldens list: those of their proofs."""
    uses: Uses = {}
    for path in sorted(folder.glob("*.txt")):
        head, found, rules = path.read_text("utf-8").partition("\nrules\n")
        if not found:
            raise ValueError(f"{path}: no line 'rules' after {head[:40]!r}; bless it")
        for rule in rules.split():
            uses.setdefault(rule, []).append(path.stem)
    return uses


def noted(path: Path = NOTED) -> dict[str, str]:
    """rule -> a case whose proof has it, as `uses.txt` has them."""
    lines = map(str.split, path.read_text("utf-8").splitlines())
    return {rule: case for rule, case in lines if case}


def note(models: Uses, shown: Uses, path: Path = NOTED) -> None:
    """Writes them; a case that was noted before stays."""
    before = noted(path) if path.exists() else {}
    lines: list[str] = []
    for rule in sorted(shown.keys() - models.keys()):
        kept = before.get(rule)
        lines.append(f"{rule} {kept if kept in shown[rule] else shown[rule][0]}\n")
    path.write_text("".join(lines), "utf-8")


def unearned(rules: Iterable[Rule], *uses: Mapping[str, list[str]]) -> list[Rule]:
    """The rules that nothing uses."""
    return [r for r in rules if not any(r.name in u for u in uses)]


def main() -> int:
    rules, models, shown = library(), of_goldens(), of_cases(cases())
    if "--write" in sys.argv[1:]:
        note(models, shown)
    width = max(len(r.name) for r in rules)
    for r in rules:
        names = [*models.get(r.name, ()), *shown.get(r.name, ())]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        print(f"{r.name:{width}}  {', '.join(names[:SHOWN]) or '-'}{more}")
    idle = unearned(rules, models, shown)
    print(
        f"\n{len(rules)} rules, {len(rules) - len(idle)} used: "
        f"{sum(r.name in models for r in rules)} by models, "
        f"{sum(r.name in shown for r in rules)} by cases"
    )
    for r in idle:
        print(f"{r.place}: {r.name}: nothing uses it; add a case, or take it out")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
