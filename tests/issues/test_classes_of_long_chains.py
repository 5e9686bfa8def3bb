"""Terms that a chain of lemmas shows to be equal fell apart into several classes, so
that steps did not light the nodes that they touch."""

from __future__ import annotations

import pytest

from rewrite.egraph.proof.naming import classes
from rewrite.egraph.proof.proof import Lemma, Proof


@pytest.mark.parametrize("length", [2, 3, 4, 5, 9])
def test_a_chain_of_lemmas_is_one_class(length: int) -> None:
    lemmas = tuple(Lemma(k + 1, k, ()) for k in range(length))
    terms = tuple(("Const", k) for k in range(length + 2))
    found = classes(Proof(terms, (), (), lemmas, (), (), ()))
    assert len(set(found[: length + 1])) == 1
    assert found[length + 1] not in found[: length + 1]
