"""The checker's reading of the rule language agrees with the engine's."""

from random import Random
from typing import Any

import pytest

from rewrite.egraph.proof.language import BUILTINS, Language, NoValue
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.sexpr import Form, parse
from rewrite.egraph.rules.whitelist import BUILTINS as ALLOWED
from rewrite.egraph.saturate.engine import EngineError, shared

RULES = load_rules(precision="unstable", goal="operators")
LANGUAGE = Language(RULES)
EDGES = (0, 1, 2, -1, 7, -7, 63, 64, 1 << 40, (1 << 63) - 1, -(1 << 63))
FLOATS = (0.0, 1.0, -1.0, 0.5, -7.5, 2.0, 3.0, 1e30, -1e30, 1e308)
# What a drawn value of a sort looks like, and the relation that takes results of it.
SORTS = {"i64": "i", "f64": "f", "String": "s", "IV": "v"}
DECLARED = "".join(f"(relation got-{k} (i64 {sort}))" for sort, k in SORTS.items())


def literal(x: Any) -> str:
    if isinstance(x, tuple):
        return f"(vec-of {' '.join(map(str, x))})" if x else "(vec-empty)"
    return (
        f'"{x}"' if isinstance(x, str) else f"{x:.1f}" if type(x) is float else str(x)
    )


def asked(calls: list[tuple[str, str]]) -> dict[int, Any]:
    """What the engine makes of terms (the kind of the result, the term), by number."""
    lines = [DECLARED]
    for i, (kind, text) in enumerate(calls):
        lines.append(f"(rule ((= x {text})) ((got-{kind} {i} x)))")
    with shared().session(RULES.plain) as session:
        session.run("\n".join(lines), "asked")
        session.run("(run-schedule (run))", "asked")
        tables = session.tables([f"got-{k}" for k in SORTS.values()])
    return {i: x for rows in tables.values() for i, x, _ in rows}


def read(text: str) -> Any:
    (term,) = parse(text, "term")
    assert isinstance(term, Form)
    try:
        return LANGUAGE.value(term, {}, lambda head, t: None)
    except NoValue:
        return None


def same(calls: list[tuple[str, str]]) -> int:
    """How many of the terms have a value; it must be the engine's."""
    found = asked(calls)
    for i, (_, text) in enumerate(calls):
        ours, theirs = read(text), found.get(i)
        if type(theirs) is float:  # of zeros it has one; a NaN is itself
            ours, theirs = repr(ours + 0.0), repr(theirs)
        assert ours == theirs, text
    return len(found)


def vector(rng: Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(rank))


def drawn(rng: Random, sort: str, rank: int) -> Any:
    match sort:
        case "IV":
            return vector(rng, rank)
        case "i64":
            return rng.randrange(-1, 5)
        case _:
            return rng.choice(FLOATS)


def primitives() -> list[tuple[str, list[str], str]]:
    out: list[tuple[str, list[str], str]] = []
    for f in RULES.files:
        for form in f.forms:
            if form.head == "primitive":
                name, takes, gives = form.args[:3]
                assert isinstance(takes, Form)
                out.append((str(name), [str(s) for s in takes.items], str(gives)))
    return out


@pytest.mark.parametrize("seed", range(3))
def test_every_primitive_of_the_rule_files(seed: int) -> None:
    rng = Random(seed)
    calls: list[tuple[str, str]] = []
    for name, takes, gives in primitives():
        for _ in range(8):
            rank = rng.randrange(5)
            args = [literal(drawn(rng, sort, rank)) for sort in takes]
            calls.append((SORTS[gives], f"({name} {' '.join(args)})"))
    assert same(calls) > len(calls) // 2


WHOLE = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max")
REAL = ("+", "-", "*", "/", "%", "min", "max")


def test_arithmetic_of_integers() -> None:
    calls = [("i", f"({op} {a} {b})") for op in WHOLE for a in EDGES for b in EDGES]
    calls += [("i", f"(abs {a})") for a in EDGES]
    calls += [("f", f"(to-f64 {a})") for a in EDGES]
    assert same(calls) > len(calls) // 2


def test_arithmetic_of_floats() -> None:
    calls = [("f", f"({op} {literal(a)} {literal(b)})")
             for op in REAL for a in FLOATS for b in FLOATS]  # fmt: skip
    for op in ("abs", "neg", "sqrt"):
        calls += [("f", f"({op} {literal(a)})") for a in FLOATS]
    calls += [("i", f"(to-i64 {literal(a)})") for a in FLOATS]
    calls += [("f", f"(^ 2.0 {literal(a)})") for a in FLOATS if abs(a) < 10]
    assert same(calls) > len(calls) // 2


def test_vectors_and_strings() -> None:
    v = "(vec-of 4 5 6)"
    calls = [
        *(("i", f"(vec-get {v} {i})") for i in range(-1, 4)),
        *(("v", f"(vec-set {v} {i} 9)") for i in range(-1, 4)),
        *(("v", f"(vec-remove {v} {i})") for i in range(4)),
        *(("v", f"(vec-range {i})") for i in (-1, 0, 3)),
        ("v", f"(vec-pop {v})"), ("v", "(vec-pop (vec-empty))"),
        ("v", f"(vec-append {v} {v} (vec-empty))"), ("v", f"(vec-push {v} 1)"),
        ("i", f"(vec-length {v})"), ("s", '(+ "a" "b" "c")'), ("s", '(+ "a" "")'),
    ]  # fmt: skip
    assert same(calls) > len(calls) // 2


FACTS = [
    f"({op} {a} {b})" for op in ("=", "!=", "<", "<=", ">", ">=")
    for a, b in (("1", "2"), ("2", "1"), ("1", "1"), ("1.5", "-2.0"), ("2.0", "2.0"))
] + [
    '(= "a" "b")', '(= "a" (+ "a" ""))', "(!= (vec-of 1 2) (vec-of 1 2))",
    "(vec-contains (vec-of 1 2) 2)", "(vec-contains (vec-of 1 2) 3)",
    "(vec-not-contains (vec-of 1 2) 3)", "(vec-not-contains (vec-of 1 2) 1)",
    "(guard (bool-= 1 1))", "(guard (bool-= 1 2))", "(bool-< 2 1)",
    "(guard (not (bool-< 1 2)))", "(guard (and (bool-<= 1 1) (bool-> 2 1)))",
    "(guard (or (bool->= 1 2) (bool-< 1 2)))",
    "(guard (xor (bool-= 1 1) (bool-= 2 2)))",
    "(f64-is-finite 1.0)", '(floating "f32")', '(floating "i8")', '(commutes "add")',
    '(= "add" (folds "sum"))', '(= "mul" (folds "sum"))', '(= 0.0 (smallest "u8"))',
    '(widens "f16" "f32")', '(widens "f32" "f16")', "(< (tiny \"f32\") 0.1)",
]  # fmt: skip


def test_facts() -> None:
    lines = [f"(rule ({fact}) ((held {i})))" for i, fact in enumerate(FACTS)]
    with shared().session(RULES.plain) as session:
        session.run("(relation held (i64))\n" + "\n".join(lines), "facts")
        session.run("(run-schedule (run))", "facts")
        held = {i for i, _ in session.tables(["held"])["held"]}
    for i, fact in enumerate(FACTS):
        (premise,) = parse(fact, "fact")
        assert isinstance(premise, Form)
        assert LANGUAGE.holds(premise, {}, lambda head, t: None) == (i in held), fact
    assert 10 < len(held) < len(FACTS) - 10


def test_every_builtin_is_known() -> None:
    """All that rule files may use has a meaning here; two are the language's own."""
    assert set(BUILTINS) | {"unstable-fn", "unstable-vec-map"} == ALLOWED


def test_an_error_of_the_engine_is_no_value() -> None:
    with pytest.raises(EngineError):
        asked([("i", '(+ 1 "a")')])
    assert read('(+ 1 "a")') is None
