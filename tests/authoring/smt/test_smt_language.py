"""The interpreter of the primitive language: against the engine, and symbolically."""

from itertools import count
from random import Random
from typing import Any

import pytest

from rewrite.authoring.smt.meaning.conditions import at_least, value
from rewrite.authoring.smt.meaning.language import Evaluator, Library
from rewrite.authoring.smt.meaning.paths import Infeasible, Path, Unsupported, explore
from rewrite.authoring.smt.ranks import Naturality, bound, counted, keeps_counts
from rewrite.authoring.smt.spaces import renames
from rewrite.egraph.ir import dims
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.sexpr import Form, parse_one
from tests.authoring.smt.smt_graphs import Followed
from tests.egraph.test_encode import ask, text

RULES = load_rules(precision="unstable", goal="operators")
LIBRARY = Library.of(RULES)
PERMUTES = {"pick": 1, "inverse": 0, "in-order": 1}  # which argument is a permutation


def vector_primitives() -> dict[str, int]:
    """Those that take vectors alone, with how many."""
    found: dict[str, int] = {}
    for f in RULES.files[0].forms:
        if f.head == "primitive" and isinstance(f.args[1], Form):
            sorts = [str(s) for s in f.args[1].items]
            if sorts and set(sorts) == {"IV"}:
                found[str(f.args[0])] = len(sorts)
    return found


# The argument whose sum is the length of the result.
SELECTS = {"squeeze": 1}


def arguments(name: str, n: int, rank: int, rng: Random) -> list[tuple[int, ...]]:
    made = [tuple(rng.choice((0, 1, 1, 2, 3)) for _ in range(rank)) for _ in range(n)]
    if name in PERMUTES:
        made[PERMUTES[name]] = tuple(rng.sample(range(rank), rank))
    if name == "carry":
        made[0] = tuple(rng.randrange(2) for _ in range(rank))
    return made


def nothing(table: str, args: list[Any]) -> Any:
    raise AssertionError(f"no table is read here, {table} was")


def test_every_vector_primitive_agrees_with_the_engine() -> None:
    rng, calls = Random(0), dict[str, object]()
    evaluator = Evaluator(LIBRARY, Path(), nothing)
    for name, n in vector_primitives().items():
        if name in ("sum16", "product16"):
            continue  # of vectors of length 16, below `total` and `numel`
        for rank in (0, 1, 2, 3, 4):
            args = arguments(name, n, rank, rng)
            shown = f"({name} {' '.join(map(text, args))})"
            calls[shown] = evaluator.call(name, list(args))
    assert len(calls) > 60
    ask(calls)


@pytest.mark.parametrize("name", sorted(vector_primitives()))
def test_unknown_sizes_give_what_known_ones_do(name: str) -> None:
    """Computed once with symbols and then bound, or computed with numbers."""
    rng, n = Random(name), vector_primitives()[name]
    rank = 16 if name in ("sum16", "product16") else 3
    for _ in range(6):
        args = arguments(name, n, rank, rng)
        names = count()
        known: dict[str, int] = {}
        open_: list[tuple[Any, ...]] = []
        for i, a in enumerate(args):
            if i in (PERMUTES.get(name), SELECTS.get(name)):
                open_.append(a)
                continue
            symbols = [f"s{next(names)}" for _ in a]
            known |= dict(zip(symbols, a, strict=True))
            open_.append(tuple(map(dims.symbol, symbols)))
        path = Followed(integers=known)
        for s in known:
            path.assume(at_least(dims.symbol(s), 0))
        found = Evaluator(LIBRARY, path, nothing).call(name, list(open_))
        want = Evaluator(LIBRARY, Path(), nothing).call(name, list(args))
        if isinstance(found, tuple):
            found = tuple(value(d, known) for d in found)
        else:
            found = value(found, known)
        assert found == want


def test_cases_cover_all_integers() -> None:
    """min (s - 1) 1 of an unknown s >= 0: the paths are a partition."""
    term = parse_one("(min 1 (abs (- s 1)))", "test", 1)

    def run(path: Path) -> int:
        s = path.fresh("s")
        return Evaluator(LIBRARY, path, nothing).value(term, {"s": s})

    found = sorted(result for _, result in explore(run) if result is not None)
    assert found == [0, 1]


def test_an_infeasible_path_is_no_result() -> None:
    def run(path: Path) -> int:
        s = path.fresh("s")
        path.assume(at_least(s, 3))
        path.assume(at_least(2, s))
        if not path.feasible():
            raise Infeasible
        return 1

    assert [r for _, r in explore(run)] == [None]


def test_what_is_not_known_is_said() -> None:
    term = parse_one("(vec-range s)", "test", 1)
    path = Path()
    with pytest.raises(Unsupported, match="unknown length"):
        Evaluator(LIBRARY, path, nothing).value(term, {"s": path.fresh("s")})


# ---- from some ranks to all ----------------------------------------------------------

NATURAL = Naturality(LIBRARY)


@pytest.mark.parametrize(
    ("name", "pointwise"),
    [("vadd", True), ("masked", True), ("grown", True), ("steps", True),
     ("ones", True), ("ranks", False), ("core", False), ("carry", False),
     ("inverse", False), ("pick", False), ("in-order", False), ("count", False)],
)  # fmt: skip
def test_pointwise_primitives_are_told_by_their_definitions(
    name: str, pointwise: bool
) -> None:
    assert NATURAL.pointwise(name) == pointwise


@pytest.mark.parametrize(
    ("name", "obstacle"),
    [("sum-hoist", None), ("permute-slice", None), ("slice-permute", None),
     ("permute-concat", None), ("reshape-un", None), ("slice-slice", None),
     ("permute-unit", "Reshape"), ("attention", "attention"), ("conv-shift", "conv")],
)  # fmt: skip
def test_obstacles_to_all_ranks(name: str, obstacle: str | None) -> None:
    assert NATURAL.obstacle(RULES.rule(name)) == obstacle


def test_compositions_in_the_wrong_order_do_not_rename() -> None:
    from dataclasses import replace

    rule = RULES.rule("permute-permute")
    turned = parse_one("(Permute x (pick q p))", "test", 1)
    assert renames(rule)
    assert not renames(replace(rule, right=turned))


def test_premises_on_counts() -> None:
    """One that grows with the number of axes does not survive leaving some out."""
    names = counted(RULES.rule("mean"))
    assert names == {"n"}
    for shown, kept in (
        ("(> n 0)", True), ("(>= (count s m) 1)", True), ("(<= n (largest t))", True),
        ("(> n 5)", False), ("(>= (count s m) 2)", False), ("(< n 9)", False),
    ):  # fmt: skip
        assert keeps_counts(parse_one(shown, "test", 1), names) == kept


def test_the_bound_counts_what_tells_instances_apart() -> None:
    pad = RULES.rule("pad-pad")
    # One premise with "some axis", three paddings.
    assert bound(pad, {"x": 1}) == 1 + 3
    assert bound(pad, {"x": 3}) == 1 + 3 + 3
    assert bound(RULES.rule("permute-concat"), {"x": 1, "y": 1}) == 2 + 1
