"""The independent checker: is this a proof, by these rules, about these two graphs?

It asks the engine nothing and shares no code with what finds proofs.  It goes by the
rules' own text, which `language.py` reads: constructors, primitives, tables, the types
of terms.  It sees to it that

- the graphs' nodes are the terms that the proof says, and the goals are their outputs;
- each move replaces what stands at its path, by a use of a rule or an earlier lemma;
- each use is of a rule that is on, with each variable bound once: both its sides under
  these bindings are the terms given, literally; its premises are true; types agree;
- what a premise says of the graph at hand was found of a term that is proved equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

import numpy as np

from ..ir.dtypes import DType
from ..ir.graph import Const, Graph, Node
from ..ir.macros import MACROS
from ..rules.ruleset import ANALYSED, Rule, RuleSet
from ..rules.sexpr import Atom, Expr, Form, variables
from .language import Env, Language, NoValue, Tensor, literal
from .proof import CheckError, Lemma, Move, Path, Proof, Row, Use

OF_KIND = {"t": int, "T": tuple, "s": str, "i": int, "f": float, "v": tuple}
EXACT = 1 << 53  # f64 holds every integer up to here as itself


def check(
    proof: Proof, before: Graph, after: Graph, rules: RuleSet,
    nan_free: AbstractSet[int] = frozenset(),
) -> None:  # fmt: skip
    """CheckError unless the proof shows, by the rules that are on, that `after` has the
    outputs of `before`, of whose nodes `nan_free` are known to hold no NaN."""
    checker = Checker(proof, rules)
    ends = checker.graphs(before, after, nan_free)
    for i, lemma in enumerate(proof.lemmas):
        checker.lemma(i, lemma)
    checker.goals(ends)


def _want(ok: bool, otherwise: str) -> None:
    if not ok:
        raise CheckError(f"{otherwise}; report this as a bug")


class Checker:
    """Terms, each once, as rows of terms before them; and what is proved of them."""

    def __init__(self, proof: Proof, rules: RuleSet) -> None:
        self.proof, self.language = proof, Language(rules)
        self.on = {r.name: r for r in rules.rules}
        self.rows: list[Row] = []
        self.number: dict[Row, int] = {}
        self.types: list[Any] = []  # shape and dtype; None: operands that do not fit
        self.found = {name: frozenset[int]() for name in ANALYSED}
        self.lemmas: list[tuple[int, int]] = []  # proved so far
        self.proved = set[tuple[int, int]]()
        self.used: dict[int, tuple[int, int]] = {}  # uses that are right
        self.given: list[int] = []  # term of the proof -> term
        for row in proof.terms:
            self.given.append(self._read(row))
        _want(len({*proof.labels}) == len(proof.labels), "two inputs have one label")

    # -- terms --

    def _read(self, row: Row) -> int:
        kids = self._kids(row)
        earlier = all(type(k) is int and 0 <= k < len(self.given) for k in kids)
        _want(earlier, f"an operand of {row} stands after it")
        return self.term(self._with_kids(row, [self.given[k] for k in kids]))

    def _kinds(self, row: Row) -> str:
        kinds = self.language.constructors.get(row[0] if row else "", "")
        _want(len(kinds) == len(row) - 1 and kinds != "", f"{row} is no term")
        return kinds

    def term(self, row: Row) -> int:
        """The number of a row of terms that there are."""
        if row in self.number:
            return self.number[row]
        for kind, x in zip(self._kinds(row), row[1:], strict=True):
            many = x if kind in "vT" else ()
            ok = type(x) is OF_KIND[kind] and all(type(i) is int for i in many)
            # NaN is not itself; -0.0 is 0.0 here, and the graphs' own is no number.
            ok = ok and (kind != "f" or math.isfinite(cast(float, x)))
            _want(ok, f"{x!r} is no field of a {row[0]}")
        self.number[row] = len(self.rows)
        self.rows.append(row)
        self.types.append(self._type(row))
        return self.number[row]

    def _kids(self, row: Row) -> list[int]:
        fields = list(zip(self._kinds(row), row[1:], strict=True))
        many = [k for kind, x in fields if kind == "T" for k in x]
        return [x for kind, x in fields if kind == "t"] + many

    def _with_kids(self, row: Row, kids: Sequence[int]) -> Row:
        left = iter(kids)
        kinds = self._kinds(row)
        fields = [next(left) if kind == "t" else x
                  for kind, x in zip(kinds, row[1:], strict=True)]  # fmt: skip
        if kinds.endswith("T"):
            fields[-1] = tuple(left)
        return (row[0], *fields)

    def _type(self, row: Row) -> tuple[Any, Any] | None:
        """Shape and dtype, by the first of the rules for such terms that applies."""
        for rule in self.language.typing.get(row[0], ()):
            env: dict[str, Any] = {}
            fits = True
            fields = zip(self._kinds(row), rule.pattern.args, row[1:], strict=True)
            for kind, e, x in fields:
                assert isinstance(e, Atom)
                fits &= e.is_symbol or literal(e) == x
                env[e.text] = Tensor(x) if kind == "t" else x
            if fits and all(self.language.holds(f, env, self._ask) for f in rule.facts):
                ends = (rule.shape, rule.dtype)
                shape, dtype = (self.language.value(e, env, self._ask) for e in ends)
                return shape, dtype
        return None

    def _ask(self, head: str, t: int) -> Any:
        kind = self.types[t]
        if kind is None:
            raise NoValue
        return kind[head == "dtype"]

    # -- uses of rules --

    def use(self, k: int) -> tuple[int, int]:
        """The two sides of a use, which is right."""
        _want(0 <= k < len(self.proof.uses), f"there is no use {k}")
        if k not in self.used:
            self.used[k] = self._use(self.proof.uses[k])
        return self.used[k]

    def _use(self, use: Use) -> tuple[int, int]:
        rule = self.on.get(use.rule)
        if rule is None or str(rule.place) != use.place:
            raise CheckError(f"{use.place}: no rule {use.rule} is on there")
        what = f"{use.place}: a use of {use.rule}: "
        _want(use.forward or rule.both, what + "the rule goes one way")
        env = self._bound(use, rule, what)
        sides = [rule.left, rule.right] if use.forward else [rule.right, rule.left]
        ends = tuple(self._end(t, what) for t in (use.left, use.right))
        for side, t, name in zip(sides, ends, ("left", "right"), strict=True):
            _want(self._built(side, env) == t, what + f"another term stands {name}")
        rests = iter(use.facts)
        for fact in rule.when:
            if isinstance(fact, Form) and fact.head in ANALYSED:
                true = self._found(fact, env, next(rests, -1))
            else:
                true = self.language.holds(fact, env, self._ask)
            _want(true, what + f"{fact} is false")
        _want(next(rests, None) is None, what + "a fact too many")
        kinds = [self.types[t] for t in ends]
        _want(None not in kinds and kinds[0] == kinds[1], what + f"{kinds} differ")
        return ends[0], ends[1]

    def _end(self, t: Any, what: str) -> int:
        _want(type(t) is int and 0 <= t < len(self.given), what + f"no term {t}")
        return self.given[t]

    def _bound(self, use: Use, rule: Rule, what: str) -> dict[str, Any]:
        """Each variable of the rule, and what it stands for."""
        everything = (rule.left, rule.right, *rule.when)
        wanted = frozenset[str]().union(*map(variables, everything))
        names = [name for name, _ in use.bindings]
        _want(sorted(names) == sorted(wanted), what + f"{names} are bound")
        tensors = {*self._tensors(rule.left), *self._tensors(rule.right)}
        env: dict[str, Any] = {}
        for name, x in use.bindings:
            _want(_is_value(x), what + f"{name} is {x!r}")
            env[name] = Tensor(self._end(x, what)) if name in tensors else x
        return env

    def _tensors(self, side: Expr, kind: str = "t") -> Iterator[str]:
        """The variables of a side that stand for tensors."""
        if isinstance(side, Form) and kind == "t":
            kinds = self.language.constructors[side.head]
            for k, e in zip(kinds, side.args, strict=True):
                yield from self._tensors(e, k)
        elif kind == "t":
            yield str(side)

    def _built(self, side: Expr, env: Env) -> int:
        """A side of a rule under bindings, as a term."""
        if isinstance(side, Atom):
            return env[side.text].term
        fields: list[Any] = []
        kinds = self.language.constructors[side.head]
        for kind, e in zip(kinds, side.args, strict=True):
            if kind == "t":
                fields.append(self._built(e, env))
                continue
            try:
                x: Any = self.language.value(e, env, self._ask)
            except NoValue:
                raise CheckError(f"{e} has no value; report this as a bug") from None
            fields.append(tuple(i.term for i in x) if kind == "T" else x)
        return self.term((side.head, *fields))

    def _found(self, fact: Form, env: Env, t: int) -> bool:
        """Whether a fact found of a term of the input graph holds of an equal one."""
        known, about = self._end(t, f"{fact}: "), env[str(fact.args[0])].term
        proved = known == about or (known, about) in self.proved
        return proved and known in self.found[fact.head]

    # -- lemmas --

    def lemma(self, i: int, lemma: Lemma) -> None:
        what = f"lemma {i}: "
        left, right = (self._end(t, what) for t in (lemma.left, lemma.right))
        at = left
        for move in lemma.moves:
            at = self._moved(at, move, what)
        _want(at == right, what + "its moves end elsewhere")
        self.lemmas.append((left, right))
        self.proved |= {(left, right), (right, left)}

    def _moved(self, t: int, move: Move, what: str) -> int:
        _want(
            (move.use is None) != (move.lemma is None), what + "a move has one reason"
        )
        if move.use is not None:
            pair = self.use(move.use)
        else:
            i = -1 if move.lemma is None else move.lemma
            earlier = 0 <= i < len(self.lemmas)
            _want(earlier, what + f"rests on lemma {i}, which is not proved yet")
            pair = self.lemmas[i]
        old, new = pair if move.forward else pair[::-1]
        return self._replaced(t, move.path, old, new, what)

    def _replaced(self, t: int, path: Path, old: int, new: int, what: str) -> int:
        spine: list[int] = []
        for k in path:
            kids = self._kids(self.rows[t])
            _want(0 <= k < len(kids), what + f"{path} leads to no operand")
            spine.append(t)
            t = kids[k]
        _want(t == old, what + f"another term stands at {path}")
        for parent, k in zip(reversed(spine), reversed(path), strict=True):
            kids = self._kids(self.rows[parent])
            kids[k] = new
            new = self.term(self._with_kids(self.rows[parent], kids))
        return new

    # -- graphs --

    def graphs(
        self, before: Graph, after: Graph, nan_free: AbstractSet[int]
    ) -> list[tuple[str, int, int]]:
        """Both graphs as terms; of each output its term in either."""
        for label in before.data.keys() & after.data.keys():
            a, b = before.data[label], after.data[label]
            same = a is b or (a.dtype == b.dtype and a.tobytes() == b.tobytes())
            _want(same, f"two arrays are called {label!r}")
        for label in before.calls.keys() & after.calls.keys():
            same = before.calls[label] is after.calls[label]
            _want(same, f"two functions are called {label!r}")
        proof = self.proof
        nodes = [self._encoded(before, proof.before), self._encoded(after, proof.after)]
        self.found["nan-free"] = frozenset(
            t for i, t in nodes[0].items() if i in nan_free
        )
        labels = [[label for label, _ in g.outputs] for g in (before, after)]
        _want(labels[0] == labels[1], "the graphs have other outputs")
        return [(label, nodes[0][i], nodes[1][j]) for (label, i), (_, j)
                in zip(before.outputs, after.outputs, strict=True)]  # fmt: skip

    def goals(self, ends: Sequence[tuple[str, int, int]]) -> None:
        said = [(g.output, self._end(g.left, "goal: "), self._end(g.right, "goal: "))
                for g in self.proof.goals]  # fmt: skip
        _want(said == list(ends), "the goals are not the outputs of the graphs")
        for label, a, b in ends:
            _want(a == b or (a, b) in self.proved, f"nothing proves output {label!r}")

    def _encoded(self, graph: Graph, said: Sequence[int | None]) -> dict[int, int]:
        """The terms of the nodes that are used, which must be those that are said."""
        _want(len(said) == len(graph.nodes), "the proof is about another graph")
        out: dict[int, int] = {}
        live = graph.live
        for i, node in enumerate(graph.nodes):
            t = said[i]
            if i in live:
                out[i] = self._node(node, [out[a] for a in node.args])
            _want((t is not None) == (i in live), f"node {i} is said to be {t}")
            if t is not None:
                _want(self._end(t, "") == out[i], f"node {i} is another term")
        return out

    def _node(self, n: Node, args: Sequence[int]) -> int:
        plain: list[Any] = [a.name if isinstance(a, DType) else a for a in n.attrs]
        match n.op:
            case "const":
                return self._constant(n.attrs[0], plain[1], plain[2])
            case "input" | "data" | "call":
                _want(plain[0] in self.proof.labels, f"{plain[0]!r} is no label")
                code = f"n{self.proof.labels.index(plain[0])}"
                operands = [tuple(args)] if n.op == "call" else []
                return self.term((n.op.capitalize(), code, *plain[1:], *operands))
            case "concat":
                whole = args[0]
                for part in args[1:]:
                    whole = self.term(("Concat", whole, part, plain[0]))
                return whole
            case "pad":
                value = self._constant(n.attrs[2], n.dtype.name, ())
                return self.term(("Pad", args[0], plain[0], plain[1], value))
            case "slice":  # the step of a single element means nothing
                steps = zip(plain[1], plain[2], strict=True)
                step = tuple(1 if size == 1 else d for size, d in steps)
                return self.term(("Slice", *args, plain[0], plain[1], step))
            case "un" | "bin" | "reduce" | "argreduce" | "scan" | "scatter":
                return self.term((n.op.capitalize(), plain[0], *args, *plain[1:]))
            case op if op in MACROS:
                named = dict(zip((k for _, k in MACROS[op].attrs), plain, strict=True))
                mask = named.get("mask", named.get("ints", ()))
                value = np.float64(named.get("float", 0.0)).astype(n.dtype.numpy)
                row = (f"Macro{len(args)}", op, *args, mask, float(value))
                return self.term(row)
            case _:
                return self.term((n.op.capitalize(), *args, *plain))

    def _constant(self, value: Const, dtype: str, shape: tuple[int, ...]) -> int:
        """As a number where rules may compute with it: finite, no -0.0, held by f64."""
        if isinstance(value, float):
            plain = math.isfinite(value) and (
                bool(value) or math.copysign(1, value) > 0
            )
        else:
            plain = abs(int(value)) <= EXACT
        if plain:
            return self.term(("Const", float(value), dtype, shape))
        return self.term(("Odd", repr(value), dtype, shape))


def _is_value(x: Any) -> bool:
    if type(x) is tuple:
        return all(type(i) is int for i in cast(tuple[Any, ...], x))
    return type(x) in (str, int, float)
