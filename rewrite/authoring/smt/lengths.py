"""How long the vectors of a rule can be: every way, up to a rank.

Ranks are unknown integers; the constructors and what premises compute give equations
between them, and the solver lists their solutions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form

from .meaning.conditions import formula, same, solver
from .meaning.elements import words
from .meaning.language import Library
from .meaning.paths import Unsupported

# Constructors whose operands and vectors all have the rank of the result.
ALIKE = words(
    "Un Bin Select Cast Bitcast Barrier Permute Expand Slice Concat Reduce Argreduce "
    "Scan Sort Argsort Contract Gather Scatter Macro1 Macro2 Macro3"
)
FREE = frozenset(("attention", "conv"))  # macros whose operands differ in rank


@dataclass
class Lengths:
    """Equations between the lengths of a pattern's vectors and the ranks of its terms.

    `vectors` and `tensors` map pattern variables to lengths and ranks.
    """

    library: Library
    vectors: dict[str, Dim] = field(default_factory=dict[str, Dim])
    tensors: dict[str, Dim] = field(default_factory=dict[str, Dim])
    equations: list[tuple[Dim, Dim]] = field(default_factory=list[tuple[Dim, Dim]])
    frames: set[str] = field(default_factory=set[str])
    _made: int = 0

    def fresh(self) -> Dim:
        self._made += 1
        return dims.symbol(f"length.{self._made}")

    def vector(self, e: Expr) -> Dim:
        if isinstance(e, Word):
            if e.text not in self.vectors:
                self.vectors[e.text] = self.fresh()
            return self.vectors[e.text]
        result = self.computed(e)
        return self.fresh() if result is None else result

    def equal(self, a: Dim | None, b: Dim | None) -> None:
        if a is not None and b is not None:
            self.equations.append((a, b))

    def term(self, e: Expr) -> Dim:
        """The rank of a pattern."""
        if isinstance(e, Word):
            if e.text not in self.tensors:
                self.tensors[e.text] = self.fresh()
            return self.tensors[e.text]
        kinds = SIGNATURES[e.head]
        ranks = [self.term(a) for a, k in zip(e.args, kinds, strict=True) if k == "t"]
        lengths = [
            self.vector(a) for a, k in zip(e.args, kinds, strict=True) if k == "v"
        ]
        name = str(e.args[0]).strip('"')
        if e.head.startswith("Macro") and name in FREE:
            return self._special(name, ranks, lengths)
        return self._plain(e, ranks, lengths)

    def _plain(self, e: Form, ranks: list[Dim], lengths: list[Dim]) -> Dim:
        if e.head in ALIKE:
            for other in (*ranks[1:], *lengths):
                self.equal(ranks[0], other)
            return ranks[0]
        if e.head == "Pad":
            for n in lengths:
                self.equal(ranks[0], n)
            self.equal(ranks[1], 0)
            return ranks[0]
        if e.head == "Window":
            return ranks[0] + 1
        if not lengths:
            raise Unsupported(f"{e.head} (no rank in rewrite/authoring/smt/lengths.py)")
        return lengths[0]  # leaves, Reshape, Call: the vector is the shape

    def _special(self, name: str, ranks: list[Dim], lengths: list[Dim]) -> Dim:
        self.equal(ranks[0], ranks[1])
        if name == "attention":
            self.equal(ranks[0], ranks[2])
            self.equal(lengths[0], 0)
        else:
            self.equal(ranks[2], 1)
            self.equal(lengths[0], 4 * ranks[0] - 7)
            self.frames |= dims.symbols((lengths[0],))
        return ranks[0]

    def fact(self, e: Expr) -> None:
        """What an equation between vectors says of their lengths."""
        if isinstance(e, Form) and e.head == "=":
            result = [self._side(a) for a in e.args]
            known = [n for n in result if n is not None]
            for other in known[1:]:
                self.equal(known[0], other)
            for a, n in zip(e.args, result, strict=True):
                if n is None and known and isinstance(a, Word) and a.is_symbol:
                    self.vectors[a.text] = known[0]

    def _side(self, e: Expr) -> Dim | None:
        if isinstance(e, Word):
            return self.vectors.get(e.text)
        return self.computed(e)

    def computed(self, e: Form) -> Dim | None:
        """The length of what an expression computes; None if it is not plain."""
        return self._length(e, {})

    def _length(self, e: Expr, given: Mapping[str, Dim | None]) -> Dim | None:
        if isinstance(e, Word):
            return given[e.text] if e.text in given else self.vectors.get(e.text)
        args = e.args
        match e.head:
            case "shape":
                return self.tensors.get(str(args[0]))
            case "vec-of" | "vec-empty":
                return len(args)
            case "vec-append":
                return _sum([self._length(a, given) for a in args])
            case "vec-pop" | "vec-push" | "vec-remove":
                step = 1 if e.head == "vec-push" else -1
                return _sum([self._length(args[0], given), step])
            case "vec-set":
                return self._length(args[0], given)
            case "unstable-vec-map":
                return self._length(args[1], given)
            case "vec-range":
                return self._range(args[0], given)
            case _ if e.head in self.library.primitives:
                inner = {f"_{i}": self._length(a, given) for i, a in enumerate(args)}
                return self._length(self.library.primitives[e.head], inner)
            case _:
                return None

    def _range(self, n: Expr, given: Mapping[str, Dim | None]) -> Dim | None:
        if isinstance(n, Form) and n.head == "vec-length":
            return self._length(n.args[0], given)
        return int(n.text) if isinstance(n, Word) and n.is_number else None


def _sum(parts: list[Dim | None]) -> Dim | None:
    total: Dim = 0
    for p in parts:
        if p is None:
            return None
        total = total + p
    return total


def solutions(found: Lengths, most: int) -> Iterator[Mapping[str, int]]:
    """Every way to choose the lengths with each rank and length in 0 .. most; frames of
    convolutions are as long as their ranks ask.  Low ranks come first."""
    z3 = solver()
    ints: dict[str, Any] = {}
    s = z3.Solver()
    s.set("timeout", 5000)
    for a, b in found.equations:
        s.add(formula(same(a, b)))
    sides = [d for pair in found.equations for d in pair]
    names = dims.symbols((*found.vectors.values(), *found.tensors.values(), *sides))
    for n in sorted(names):
        ints[n] = z3.Int(n)
    for n, c in ints.items():
        s.add(c >= 0, c <= (4 * most if n in found.frames else most))
    chosen: list[dict[str, int]] = []
    while s.check() == z3.sat and len(chosen) < 4000:
        model = s.model()
        values = {
            n: model.eval(c, model_completion=True).as_long() for n, c in ints.items()
        }
        chosen.append(values)
        s.add(z3.Or(*(ints[n] != v for n, v in values.items())))
    yield from sorted(
        chosen, key=lambda v: (max(v.values(), default=0), sum(v.values()))
    )
