"""Rules as a reader of docs/rules.md writes them first: all but a few are proved, and
of those it is said what is missing."""

from pathlib import Path

import pytest

from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.prover import Prover
from rewrite.authoring.smt.theory.lemmas import LEMMAS
from rewrite.authoring.smt.verdict import Limits, judge
from rewrite.egraph.rules.rulefile import load_rules
from tests.authoring.smt.test_smt_laws import LOST
from tests.authoring.smt.wrong import OVERFLOWING

RULES = load_rules([Path(__file__).parent / "stranger.egg"], "fast")
LIBRARY = Library.of(RULES)
# What is not proved, and the law that is missing.
OPEN = {
    "my-softplus": "log((1 + exp(x))) = (log((1 + 1/exp(|x|))) + max(x, 0)) over",
    "my-gather-in-order": "x at x[",
}
NEW = {
    "my-log-of-product": "logarithms", "my-expm1": "near-zero",
    "my-tanh-by-sigmoid": "hyperbolic", "my-pythagoras": "circle",
    "my-scaled-max": "positive", "my-softmax-sums-to-one": "positive",
    "my-root-of-squares": "roots", "my-argmax-neg": "arg-scale",
    "my-floor-of-negative": "mirrored", "my-relu-twice": "idempotent",
}  # fmt: skip


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", [r.name for r in RULES.foreign])
def test_it_is_proved_or_says_what_it_needs(name: str) -> None:
    found = judge(RULES.rule(name), LIBRARY, Limits(15))
    if name in OPEN:
        assert found.status == "sampled only"
        assert found.needs.startswith(OPEN[name])
        assert found.needs in found.text
        assert found.to_json()["needs"] == found.needs
    else:
        assert found.status == "proved", found.text
        assert not found.needs
        assert set(found.lemmas) <= set(LEMMAS)
        assert NEW.get(name) in (None, *found.lemmas)


@pytest.mark.parametrize(
    ("sides", "needs"),
    [(OVERFLOWING["half"][1], "a premise that keeps"),
     (LOST["itself"], "that x is not 0"), (LOST["factor"], "that y is not 0"),
     ('(rewrite (Un "erf" (Bin "add" x y)) (Un "erf" (Bin "sub" x y))',
      "y = -y over the reals")],
)  # fmt: skip
def test_what_is_missing_is_said(sides: str, needs: str, tmp_path: Path) -> None:
    assert needs in lacking(tmp_path, "real", sides)


def test_what_is_missing_is_no_falsehood(tmp_path: Path) -> None:
    """It was |x| = x."""
    sides = '(rewrite (Un "cos" (Un "abs" x)) (Un "cos" x)'
    assert "cos(|x|) = cos(x) in" in lacking(tmp_path, "bitwise", sides)


def lacking(folder: Path, equal: str, sides: str) -> str:
    path = folder / "law.egg"
    path.write_text(f';;@ equal {equal}\n{sides} :ruleset algebra :name "law")')
    rules = load_rules([path], "fast")
    prover = Prover(Library.of(rules), rules.rule("law"), 10)
    return [*map(prover.prove, prover.modes())][-1].needs
