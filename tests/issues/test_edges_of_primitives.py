"""Rules were read three times: two readings took other values for defined than the
engine does, so that instances were drawn, or cases left out, that it never sees."""

from __future__ import annotations

import pytest

from rewrite.authoring.smt.meaning.language import Evaluator, Library, NoValue
from rewrite.authoring.smt.meaning.paths import Path
from rewrite.egraph.rules.premises import Algebra, Undefined
from rewrite.egraph.rules.sexpr import parse_one
from tests.egraph.proof.test_language import RULES, asked

CALLS = {
    "(sqrt -4.0)": "f", "(sqrt 4.0)": "f", "(/ 1.0 0.0)": "f", "(neg -2.5)": "f",
    "(abs -2.5)": "f", "(min 1.5 -2.5)": "f", "(max 1.5 -2.5)": "f", "(- 1.5 2.0)": "f",
    "(vec-pop (vec-of 1 2))": "v", "(vec-pop (vec-empty))": "v",
    "(vec-get (vec-of 1 2) 2)": "i", "(vec-get (vec-of 1 2) -1)": "i",
    "(vec-set (vec-of 1 2) 1 5)": "v", "(vec-remove (vec-of 1 2) 0)": "v",
    "(vec-remove (vec-of 1 2) 2)": "v", "(vec-length (vec-of 7))": "i",
    "(vec-append (vec-of 1) (vec-of 2))": "v", "(vec-push (vec-of 1) 2)": "v",
    "(vec-range 3)": "v",
}  # fmt: skip


def nothing(table: str, args: list[object]) -> object:
    raise AssertionError(f"no table is read here, {table} was")


@pytest.mark.parametrize("reading", ["premises", "proofs"])
def test_known_values_are_the_engines(reading: str) -> None:
    found = asked([(kind, call) for call, kind in CALLS.items()])
    for i, call in enumerate(CALLS):
        term = parse_one(call, "test", 1)
        try:
            if reading == "premises":
                got = Algebra(RULES).value(term, {})
            else:
                got = Evaluator(Library.of(RULES), Path(), nothing).value(term, {})
        except (Undefined, NoValue):
            got = None
        assert got == found.get(i), call
