"""Which axes a rule's vectors speak of, where permutations rename them.

Each term has a space of axes.  Elementwise ops, slices, reductions and pointwise
primitives stay in one space; `Permute x p` leads to another one, and `p` maps the new
space to that of x.  `pick v p` carries a vector back along `p`, `inverse p` turns it
round.  If a rule can be read this way, with spaces told apart wherever nothing joins
them, and its permutations form a forest on the spaces, then any choice of axes in one
space determines the corresponding axes in all others, and leaving axes out makes sense.
A composition in the wrong order joins two spaces that a permutation connects: a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form

AXIS_AT = {"Concat": 2, "Gather": 2, "Argreduce": 2, "Scan": 2, "Iota": 0}


class Untypable(Exception):
    """The rule's vectors do not fit into spaces of axes."""


@dataclass(frozen=True, slots=True)
class Map:
    """A permutation: from the axes of one space to those of another."""

    source: int
    target: int


@dataclass
class Spaces:
    """Spaces are numbers, joined as the rule asks."""

    parent: list[int] = field(default_factory=list[int])
    known: dict[str, int | Map] = field(default_factory=dict[str, int | Map])
    permutations: dict[str, Map] = field(default_factory=dict[str, Map])
    identities: set[str] = field(default_factory=set[str])

    def new(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, s: int) -> int:
        while self.parent[s] != s:
            s = self.parent[s]
        return s

    def join(self, a: int | Map | None, b: int | Map | None) -> None:
        if isinstance(a, Map) and isinstance(b, Map):
            self.join(a.source, b.source)
            self.join(a.target, b.target)
        elif isinstance(a, int) and isinstance(b, int):
            self.parent[self.find(a)] = self.find(b)
        elif a is not None and b is not None:
            raise Untypable("a permutation used as a plain vector")

    # -- terms --

    def term(self, e: Expr) -> int:
        """The space of a term's axes."""
        if isinstance(e, Word):
            return self._space(e.text)
        kinds = SIGNATURES[e.head]
        spaces = [self.term(a) for a, k in zip(e.args, kinds, strict=True) if k == "t"]
        vectors = [a for a, k in zip(e.args, kinds, strict=True) if k == "v"]
        if e.head == "Permute":
            return self._permuted(spaces[0], vectors[0])
        if e.head == "Pad":
            spaces = spaces[:1]  # the value has no axes
        own = spaces[0] if spaces else self.new()
        for other in spaces[1:]:
            self.join(own, other)
        for v in vectors:
            self.join(own, self.vector(v))
        if e.head in AXIS_AT:
            self.join(own, self.axis(e.args[AXIS_AT[e.head]]))
        return own

    def _space(self, name: str) -> int:
        result = self.known.setdefault(name, self.new())
        if isinstance(result, Map):
            raise Untypable("a permutation used as a tensor")
        return result

    def _permuted(self, inner: int, p: Expr) -> int:
        made = self.permutation(p)
        self.join(made.target, inner)
        return made.source

    # -- vectors --

    def permutation(self, e: Expr) -> Map:
        if isinstance(e, Word):
            bound = self.known.get(e.text)
            if isinstance(bound, Map):
                return bound
            if e.text not in self.permutations:
                if isinstance(bound, int):
                    raise Untypable("a plain vector used as a permutation")
                made = Map(self.new(), self.new())
                self.known[e.text] = self.permutations[e.text] = made
            return self.permutations[e.text]
        result = self.vector(e)
        if not isinstance(result, Map):
            raise Untypable(f"({e.head} …) used as a permutation")
        return result

    def vector(self, e: Expr) -> int | Map | None:
        """The space of a vector, or a permutation; None of what is no vector."""
        if isinstance(e, Word):
            if not e.is_symbol:
                return None
            return self.known.setdefault(e.text, self.new())
        match e.head, e.args:
            case "pick", [v, p]:
                return self._picked(v, self.permutation(p))
            case "inverse", [p]:
                made = self.permutation(p)
                return Map(made.target, made.source)
            case "upto", [v]:
                result = self.vector(v)
                space = result.source if isinstance(result, Map) else result
                if isinstance(result, Map):
                    self.join(result.source, result.target)
                return Map(space, space) if space is not None else None
            case "shape", [x]:
                return self.term(x)
            case "vec-get", [v, i]:
                self._entry(v, i)
                return None
            case "vec-set", [v, i, _]:
                self.join(self.vector(v), self.axis(i))
                return self.vector(v)
            case (("dtype" | "wide" | "folds" | "splitter"), _):
                return None
            case _:
                return self._joined(e)

    def _joined(self, e: Form) -> int | Map | None:
        """A pointwise primitive or a count: all its vectors speak of the same axes."""
        result = [v for a in e.args if (v := self.vector(a)) is not None]
        for other in result[1:]:
            self.join(result[0], other)
        return result[0] if result else None

    def _picked(self, v: Expr, p: Map) -> int | Map:
        if isinstance(v, Form) or isinstance(self.known.get(v.text), Map):
            result = self.vector(v)
            if isinstance(result, Map):
                self.join(result.source, p.target)
                return Map(p.source, result.target)
        self.join(self.vector(v), p.target)
        return p.source

    def _entry(self, v: Expr, i: Expr) -> int | None:
        """`v[i]`: the space of the axis that it names, where v is a permutation."""
        result = self.vector(v)
        at = self.axis(i)
        if isinstance(result, Map):
            self.join(result.source, at)
            return result.target
        self.join(result, at)
        return None

    def axis(self, e: Expr) -> int | None:
        """The space of a named axis."""
        if isinstance(e, Word):
            return self._space(e.text) if e.is_symbol else None
        if e.head == "vec-get":
            return self._entry(e.args[0], e.args[1])
        return None

    # -- a rule --

    def fact(self, e: Expr) -> None:
        assert isinstance(e, Form)
        if e.head == "=" and any(str(a).startswith("(upto ") for a in e.args):
            self.identities |= {str(a) for a in e.args if isinstance(a, Word)}
        sides = [_parts(a) for a in e.args]
        for parts in zip(*sides, strict=False):
            computed = [self.vector(p) for p in parts if not self._fresh(p)]
            for p in parts:
                if self._fresh(p) and computed and computed[0] is not None:
                    self.known[str(p)] = computed[0]
            for other in computed[1:]:
                self.join(computed[0], other)

    def _fresh(self, e: Expr) -> bool:
        """A variable that the premise binds."""
        return isinstance(e, Word) and e.is_symbol and e.text not in self.known

    def forest(self) -> bool:
        """Whether no two ways along permutations lead from one space to another."""
        seen = Spaces()
        seen.parent = list(range(len(self.parent)))
        for name, p in self.permutations.items():
            if name in self.identities:
                continue
            a, b = (seen.find(self.find(s)) for s in (p.source, p.target))
            if a == b:
                return False
            seen.join(a, b)
        return True


def _parts(e: Expr) -> tuple[Expr, ...]:
    """The vectors that are compared one by one."""
    return e.args if isinstance(e, Form) and e.head == "vec-append" else (e,)


def renames(rule: Rule) -> bool:
    """Whether permutations, if there are any, only rename axes."""
    spaces = Spaces()
    try:
        for p in _permutations(rule.left):
            spaces.permutation(p)
        sides = [spaces.term(rule.left)]
        for fact in rule.when:
            spaces.fact(fact)
        sides.append(spaces.term(rule.right))
        spaces.join(*sides)
    except Untypable:
        return False
    return spaces.forest()


def _permutations(e: Expr) -> list[Expr]:
    """What permutes a pattern; variables, read as permutations from the start."""
    if isinstance(e, Word):
        return []
    own = [e.args[1]] if e.head == "Permute" else []
    return [*own, *(p for a in e.args for p in _permutations(a))]
