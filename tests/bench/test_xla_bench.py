"""bench/programs/xla.py: the laws are read, true and asked."""

from __future__ import annotations

import pytest

from bench.programs.xla import LAWS, Law, answer, read
from rewrite.authoring.derive.cases import of_terms
from rewrite.authoring.derive.derivation import compare

KNOWN = {x.name: x for x in read(LAWS.read_text())}


def test_each_law_has_a_name_of_its_own() -> None:
    assert len(KNOWN) == len(list(read(LAWS.read_text())))


@pytest.mark.parametrize("law", KNOWN.values(), ids=lambda x: x.name)
def test_laws_are_true(law: Law) -> None:
    assert compare(*of_terms(law.left, law.right)) is None


def test_what_is_cut_short_is_no_law() -> None:
    with pytest.raises(ValueError, match="y: a name and both sides"):
        list(read("# heads\nsums\nx\nx\n\ny\n"))


def test_a_law_that_is_none_is_not_shown() -> None:
    assert answer(KNOWN["reverse-twice"]).verdict == "equal"
    wrong = Law("wrong", '(Bin "sub" a b)', '(Bin "sub" b a)')
    assert answer(wrong).verdict == "different"
