"""Mutants of the library are well formed and refuted, or shown to be none."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product

import pytest

from rewrite.egraph.rules.premises import Algebra, Undefined
from rewrite.egraph.saturate.engine import Engine

from .mutants import KINDS, SYMMETRIC, Mutant, loaded, mutants
from .mutants.verdicts import Judged, judge
from .mutation import chosen, every, library, report

SAMPLE = 40


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(memory=3 << 30)


@pytest.fixture(scope="module")
def sample(engine: Engine) -> list[Judged]:
    return [judge(m, library(), engine) for m in islice(chosen(0), SAMPLE)]


def mutant(text: str) -> Mutant:
    return next(m for m in every() if str(m) == text)


@pytest.mark.long
def test_each_rule_has_mutants_and_no_two_are_one() -> None:
    found = every()
    assert {m.origin for m in found} == {r.name for r in library().rules}
    assert set(Counter(m.kind for m in found)) == set(KINDS)
    assert len({m.text.partition(":name")[0] for m in found}) == len(found)
    alone = library().only(["max-scale"])
    assert mutants(alone) == mutants(alone)


@pytest.mark.long
def test_mutants_are_rules() -> None:
    """All but the few that leave a variable unbound pass the whitelist, alone."""
    few = every()[::40]
    read = [own for m in few if (own := loaded(m, library())) is not None]
    assert len(read) > 0.85 * len(few)
    assert all(len(own.rules) == 1 for own in read)


@pytest.mark.long
def test_the_sample_is_refuted(sample: list[Judged]) -> None:
    assert {j.mutant.kind for j in sample} == set(KINDS)
    assert len({j.mutant.origin for j in sample}) > SAMPLE // 2
    assert sum(j.counts for j in sample) > SAMPLE // 2
    # Where 2 % are missed, four or more are in one sample of a hundred; the long run,
    # `python -m tests.authoring.mutation 1000`, is what measures.
    assert sum(j.fate == "missed" for j in sample) <= 3, report(sample)
    assert not any(j.fate == "crashed" for j in sample), report(sample)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("text", "fate", "by"),
    [
        ('factor-left: opcode-replaced: Bin "add" to sub in right',
         "refuted", "values"),
        # The sign of the scale: a negative one makes a minimum of the maximum.
        ("max-scale: premise-dropped: (> v 0.0)", "refuted", "values"),
        ("permute-reduce: expression-changed: (pick m p) to m in right",
         "refuted", "types"),
        ("neg-sub: contract-strengthened: ieee to bitwise", "refuted", "values"),
        # All shapes are equal where terms of one type stand.
        ("fold-max: link-cut: occurrence 2 of s to new", "equivalent", "same"),
        # Scales of 2 and more only: what the rule does already.
        ("scale-out-left: constant-changed: 1.0 to 2.0 in 1", "equivalent", "same"),
        ('or-not: opcode-replaced: Bin "or" to xor in left', "equivalent", "exhausted"),
        ("slice-reduce: contract-strengthened: real to ieee", "equivalent", "proved"),
        # What directs the rule is no part of its truth.
        ("mul-mul-const: premise-dropped: (!= a 1.0)", "equivalent", "derived"),
        ("expand-silu: contract-strengthened: real to ieee", "equivalent", "defined"),
        ("select-true: constant-changed: 1.0 to -1.0 in left", "vacuous", "sampling"),
    ],
)  # fmt: skip
def test_fates(text: str, fate: str, by: str, engine: Engine) -> None:
    found = judge(mutant(text), library(), engine)
    assert (found.fate, found.by) == (fate, by), found.why


@pytest.mark.long
def test_an_untrue_law_is_not_argued_away(engine: Engine) -> None:
    """No argument makes an equivalent of what sampling refutes."""
    from random import Random

    from .mutants.arguments import argued

    wrong = [m for m in every() if m.kind == "opcode-replaced"]
    tried = 0
    for m in Random(0).sample(wrong, 12):
        own = loaded(m, library())
        if own is not None and judge(m, library(), engine).fate == "refuted":
            tried += 1
            found = argued(m, library(), own, engine, 7)
            assert found is None or found.refutes, str(m)
    assert tried >= 6


def test_symmetric_functions_are() -> None:
    algebra = Algebra(library())
    vectors = [(a, b) for a in range(4) for b in range(4)]
    for name in SYMMETRIC:
        on_vectors = name in ("vadd", "vmul", "vmax", "masked", "steps")
        values = vectors if on_vectors else range(-3, 5)
        rest = [((1, 3),)] if name == "steps" else [()]
        for a, b in product(values, values):
            for more in rest:
                assert _call(algebra, name, a, b, *more) == _call(
                    algebra, name, b, a, *more
                ), (name, a, b)


def _call(algebra: Algebra, name: str, *args: object) -> object:
    try:
        return algebra.call(name, args)
    except Undefined:
        return None
