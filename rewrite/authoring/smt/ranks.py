"""From some ranks to all of them.

A proof is made at a number of ranks. It holds for every rank where (1) the rule treats
axes alike and (2) the ranks reach a bound (TensorRight, POPL 2025): take a
counterexample at a high rank and keep only the axes that witness it. What is kept:

- for each premise that says "some axis …" (a `!=`), one axis of which it is true;
- each axis that a rule names (`Concat`'s);
- for two shapes that differ, or something out of range, one axis where that is so;
- for two elements that differ: for each pair of different accesses of one input an axis
  on which they differ, so that the input is still free to differ there: C(n, 2) axes
  for n accesses; for each condition on indices (padding) that fails one axis on which
  it does; where a count of elements is a factor, one axis that makes it differ.

All else about the dropped axes goes with them, so the smaller instance meets the
premises and fails as well, provided that everything the rule computes commutes with
leaving axes out. Pointwise primitives do: their definitions read their vectors at one
place only, which `Naturality` checks on the text of `rules/ir.egg`. So do `pick`,
`inverse` and comparison with `upto` where permutations only rename axes (`spaces.py`):
a permutation restricted to some axes and renumbered is a permutation of those. `count`
is a product over axes: if two products differ then a factor does, on one axis. What
reads the order of axes (`ranks`, `core`, `carry`, `vec-append`) does not commute, and
such a rule is proved up to a rank. A premise on a count must survive that sizes leave
the product: one that it is at least 1 does, or that it does not exceed a limit.

The number of accesses is measured: it can only grow with the rank, and where it is the
same at two ranks in a row it stays so, for then no state of a further axis tells any
two accesses apart that the others do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form

from .meaning.elements import words
from .meaning.language import NAMES, Library
from .spaces import renames

SAME_INDEX = frozenset(("Un", "Bin", "Select", "Cast", "Bitcast", "Const", "Odd"))
ALIKE = SAME_INDEX | words(
    "Permute Expand Pad Slice Concat Reduce Argreduce Scan Contract Gather Iota"
)
# Macros whose expansions are made of the above.
MACROS = frozenset(
    ("softmax", "log_softmax", "logsumexp", "mean", "layer_norm", "rms_norm")
)
NAMED_AXIS = frozenset(("Concat", "Gather", "Argreduce", "Scan", "Iota"))
CONDITIONS = frozenset(("Pad", "Concat", "Gather"))
RENAMING = frozenset(("pick", "inverse", "upto"))
COMPARED = words("= != < <= > >=")
COUNTS = frozenset(("count", "numel"))
MEANS = ("mean", "layer_norm", "rms_norm")  # macros that divide by a count
SCALARS = frozenset((*NAMES, "to-f64", "to-i64", "%", "hold"))
TABLES = frozenset(
    ("dtype", "wide", "folds", "splitter", "smallest", "largest", "tiny")
)


@dataclass(frozen=True)
class Naturality:
    """Whether what a rule computes commutes with leaving axes out."""

    library: Library

    def obstacle(self, rule: Rule) -> str | None:
        """What does not, in a word; None if all does."""
        if self.uniform(rule):
            return None
        for side in (rule.left, rule.right):
            result = self._term(side)
            if result:
                return result
        for fact in rule.when:
            result = self._fact(fact)
            if result:
                return result
        if not all(keeps_counts(f, counted(rule)) for f in rule.when):
            return "a premise on a number of elements"
        return (
            None if renames(rule) else "a permutation that does more than rename axes"
        )

    def uniform(self, rule: Rule) -> bool:
        """Whether all inputs are read at one index, whatever it is: elementwise ops,
        and reshapes, of which the whole index is a function."""
        heads = constructors(rule.left) | constructors(rule.right)
        vectors = [f for f in rule.when if not self._plain(f)]
        return heads <= SAME_INDEX | {"Reshape"} and not vectors

    def _plain(self, fact: Expr) -> bool:
        """A premise on dtypes, values, or that a shape is a shape."""
        text = str(fact)
        names = {str(a) for a in _forms(fact)}
        known = TABLES | SCALARS | COMPARED | {"shape"} | set(self.library.rows)
        return names <= known and ("(shape" not in text or text.startswith("(= "))

    def _term(self, e: Expr) -> str | None:
        if isinstance(e, Word):
            return None
        if e.head in ALIKE or (
            e.head.startswith("Macro") and str(e.args[0]).strip('"') in MACROS
        ):
            return next((f for a in e.args if (f := self._term(a))), None)
        if e.head[:1].isupper():
            macro = e.head.startswith("Macro")
            return str(e.args[0]).strip('"') if macro else e.head
        return self._value(e)

    def _fact(self, e: Expr) -> str | None:
        assert isinstance(e, Form)
        sides = [_joined(a) for a in e.args]
        if len(set(map(len, sides))) > 1:
            return "vec-append"
        for parts in sides:
            for p in parts:
                result = self._value(p)
                if result:
                    return result
        return None

    def _value(self, e: Expr) -> str | None:
        """A vector that is natural, an entry at a named axis, or a scalar of those."""
        if isinstance(e, Word):
            return None
        known = (
            e.head in RENAMING | COUNTS | SCALARS | TABLES | {"shape"}
            or e.head in self.library.rows
            or (e.head in ("vec-get", "vec-set") and self._axis(e.args[1]))
            or self.pointwise(e.head)
        )
        if not known:
            return e.head
        return next((f for a in e.args if (f := self._value(a))), None)

    def _axis(self, e: Expr) -> bool:
        """A variable that names an axis, or where a permutation puts it."""
        if isinstance(e, Word):
            return e.is_symbol
        return e.head == "vec-get" and self._axis(e.args[1])

    def pointwise(self, name: str) -> bool:
        """Whether a primitive's definition treats each axis by itself."""
        body = self.library.primitives.get(name)
        return body is not None and self._each(body)

    def _each(self, e: Expr) -> bool:
        if isinstance(e, Word):
            return True  # a parameter
        if e.head != "unstable-vec-map":
            return self.pointwise(e.head) and all(map(self._each, e.args))
        function, over = e.args
        assert isinstance(function, Form)
        first, *vectors = function.args
        inner = self.library.primitives.get(str(first).strip('"'))
        if inner is None or not all(map(self._each, vectors)):
            return False
        at = f"_{len(vectors)}"
        if isinstance(over, Form) and over.head == "upto":
            return self._local(inner, at)
        return not vectors and self._each(over) and self._local(inner, None)

    def _local(self, e: Expr, at: str | None) -> bool:
        """Reads vectors at `at` only, and that place in no other way."""
        if isinstance(e, Word):
            return e.text != at
        if e.head == "vec-get":
            return (
                at is not None and str(e.args[1]) == at and isinstance(e.args[0], Word)
            )
        scalar = e.head in SCALARS or e.head in self.library.primitives
        return scalar and all(self._local(a, at) for a in e.args)


def _joined(e: Expr) -> tuple[Expr, ...]:
    """Vectors that stand behind one another, compared with as many others."""
    return e.args if isinstance(e, Form) and e.head == "vec-append" else (e,)


def constructors(e: Expr) -> frozenset[str]:
    if isinstance(e, Word):
        return frozenset()
    own = frozenset([e.head]) if e.head[:1].isupper() else frozenset[str]()
    return own.union(*(constructors(a) for a in e.args))


def _forms(e: Expr) -> list[str]:
    if isinstance(e, Word):
        return []
    return [e.head, *(h for a in e.args for h in _forms(a))]


def bound(rule: Rule, accesses: Mapping[str, int]) -> int:
    """The rank up to which a proof is needed, given how often inputs are accessed."""
    every = [h for side in (rule.left, rule.right) for h in _forms(side)]
    some = sum(1 for f in rule.when if isinstance(f, Form) and f.head == "!=")
    conditions = sum(h in CONDITIONS for h in every)
    named = {a for side in (rule.left, rule.right) for a in _named(side)}
    pairs = sum(n * (n - 1) // 2 for n in accesses.values())
    texts = f"{rule.left} {rule.right}"
    factor = (
        bool(counted(rule))
        or any(h in COUNTS for h in every)
        or any(f'"{m}"' in texts for m in MEANS)
    )
    return some + len(named) + max(1, pairs + conditions + factor)


def counted(rule: Rule) -> frozenset[str]:
    """The variables that are a number of elements."""
    result: set[str] = set()
    for f in rule.when:
        if isinstance(f, Form) and f.head == "=" and COUNTS & set(_forms(f)):
            sides = [a for a in f.args if isinstance(a, Word)]
            direct = any(_count(a) for a in f.args)
            result |= {a.text for a in sides if direct}
    return frozenset(result)


def _count(e: Expr) -> bool:
    """A count itself, as an integer or a number."""
    if isinstance(e, Word):
        return False
    return e.head in COUNTS or (e.head == "to-f64" and _count(e.args[0]))


def keeps_counts(fact: Expr, names: frozenset[str]) -> bool:
    """Whether a premise still holds when sizes, none of them 0, leave a product."""
    assert isinstance(fact, Form)
    tainted = [
        a for a in fact.args
        if _count(a) or (isinstance(a, Word) and a.text in names)
    ]  # fmt: skip
    if not tainted or fact.head in ("=", "!="):
        return True
    shown = [fact.head, *map(str, fact.args)]
    small = shown[2] in (
        ("1",) if shown[0] == ">=" else ("0",) if shown[0] == ">" else ()
    )
    return small or (shown[0] == "<=" and shown[2].startswith("(largest "))


def _named(e: Expr) -> frozenset[str]:
    """The axes that a pattern names; one that is computed is where another one went."""
    if isinstance(e, Word):
        return frozenset()
    own = frozenset[str]()
    if e.head in NAMED_AXIS:
        axes = [a for a in e.args[-1:] if isinstance(a, Word)]
        own = frozenset(str(a) for a in axes)
    return own.union(*(_named(a) for a in e.args))
