"""Congruence closure with reasons: proofs are short and never rest on themselves."""

from random import Random

import pytest

from rewrite.egraph.proof.closure import Closure, Edge, Equation, Pair, Steps


def leaves(n: int) -> dict[int, tuple[object, ...]]:
    return {i: ("Input", f"n{i}", "f32", ()) for i in range(n)}


def terms() -> dict[int, tuple[object, ...]]:
    """a, b, c; f(a), f(b), f(f(a)), f(f(b))"""
    return leaves(3) | {
        3: ("Un", "f", 0), 4: ("Un", "f", 1), 5: ("Un", "f", 3), 6: ("Un", "f", 4)
    }  # fmt: skip


def follows(found: dict[Pair, Steps]) -> None:
    """Each path is unbroken, and each congruence rests on pairs proved before it."""
    proved = set[Pair]()
    for (a, b), steps in found.items():
        at = a
        for edge in steps:
            assert edge.start == at
            assert proved.issuperset(edge.rests_on)
            at = edge.end
        assert at == b
        proved.add((a, b))


def given(steps: Steps) -> list[int | None]:
    return [e.given for e in steps]


def test_operands_are_proved_first() -> None:
    closure = Closure(terms())
    assert not closure.equal(5, 6)
    closure.merge([Equation(0, 2), Equation(1, 2)])
    assert closure.equal(5, 6)
    found = closure.proofs([(5, 6)])
    follows(found)
    assert list(found) == [(0, 1), (3, 4), (5, 6)]
    assert given(found[0, 1]) == [0, 1] and given(found[5, 6]) == [None]


def test_the_short_way_is_taken_though_it_came_last() -> None:
    closure = Closure(leaves(5))
    chain = [Equation(i, i + 1) for i in range(4)]
    closure.merge([*chain, Equation(4, 0)])
    assert given(closure.proofs([(0, 4)])[0, 4]) == [4]


def test_a_long_way_for_operands_counts() -> None:
    """f(a) = f(e) by a congruence, which takes four equations, or by two of its own."""
    rows = leaves(6) | {6: ("Un", "f", 0), 7: ("Un", "f", 4)}
    closure = Closure(rows)
    chain = [Equation(i, i + 1) for i in range(4)]
    closure.merge([*chain, Equation(6, 5), Equation(5, 7)])
    found = closure.proofs([(6, 7)])
    assert list(found) == [(6, 7)] and given(found[6, 7]) == [4, 5]


def spelled(x: int, at: int) -> dict[int, tuple[object, ...]]:
    """r(s(x)) and q(x), which is another way to say it; p of it, and of it and x."""
    return {
        at: ("Un", "s", x), at + 1: ("Un", "r", at), at + 2: ("Un", "q", x),
        at + 3: ("Bin", "p", at + 1, x),
    }  # fmt: skip


@pytest.mark.parametrize("turn", [1, -1])
def test_no_other_form_is_made_and_undone(turn: int) -> None:
    """r(s(x)) = q(x) for all x: what holds of r(s(a)) and r(s(b)) because a = b is not
    shown by q(a) and q(b), whichever was joined first."""
    closure = Closure(leaves(2) | spelled(0, 2) | spelled(1, 6))
    rules = [Equation(3, 4), Equation(7, 8), Equation(0, 1)]
    closure.merge(rules[::turn])
    found = closure.proofs([(5, 9)])
    follows(found)
    used = {e.given for steps in found.values() for e in steps} - {None}
    assert len(used) == 1


def test_what_two_operands_need_is_counted_once() -> None:
    """f(g(a), g(a)) = f(g(b), g(b)) takes the two equations between a and b once; by
    a form that names a alone it would take these and two more."""
    rows = leaves(3) | {
        3: ("Un", "g", 0), 4: ("Un", "g", 2), 5: ("Bin", "f", 3, 3),
        6: ("Bin", "f", 4, 4), 7: ("Un", "h", 0), 8: ("Un", "h", 2),
    }  # fmt: skip
    closure = Closure(rows)
    closure.merge([Equation(0, 1), Equation(1, 2), Equation(5, 7), Equation(6, 8)])
    found = closure.proofs([(5, 6)])
    follows(found)
    assert {e.given for steps in found.values() for e in steps} == {None, 0, 1}


def test_an_equation_waits_for_its_fact() -> None:
    """0 = 1 holds if 2 is known; that follows from 3 = 2, of which 3 is."""
    closure = Closure(leaves(4), known=[3])
    closure.merge([Equation(0, 1, (2,))])
    assert not closure.equal(0, 1)
    closure = Closure(leaves(4), known=[3])
    closure.merge([Equation(0, 1, (2,)), Equation(3, 2)])
    found = closure.proofs([(0, 1)])
    follows(found)
    assert list(found) == [(2, 3), (0, 1)]
    (edge,) = found[0, 1]
    assert isinstance(edge, Edge) and edge.needs == ((-1, 2, 3),)


def test_a_fact_does_not_rest_on_the_equation_that_asks_for_it() -> None:
    """2 = 3 by equation 0 alone, which asks whether 2 equals 3, the known one."""
    closure = Closure(leaves(4), known=[3])
    closure.merge([Equation(2, 3, (2,))])
    assert not closure.equal(2, 3)


@pytest.mark.parametrize("seed", range(40))
def test_random_proofs_follow(seed: int) -> None:
    rng = Random(seed)
    rows: dict[int, tuple[object, ...]] = leaves(6)
    for _ in range(30):
        i = len(rows)
        row = ("Bin", rng.choice("fg"), rng.randrange(i), rng.randrange(i))
        if row not in rows.values():
            rows[i] = row
    pairs = [(rng.randrange(len(rows)), rng.randrange(len(rows))) for _ in range(12)]
    about = [(rng.randrange(len(rows)),) if rng.random() < 0.3 else () for _ in pairs]
    closure = Closure(rows, known=[0, 1])
    closure.merge(Equation(a, b, f) for (a, b), f in zip(pairs, about, strict=True))
    goals = [(a, b) for a in rows for b in rows if a < b and closure.equal(a, b)]
    follows(closure.proofs(goals))
