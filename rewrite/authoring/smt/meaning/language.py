"""The primitive language of rule files, interpreted over unknown integers.

The definitions come from the files themselves (`(primitive …)` forms, rows of
relations), so that a change there changes what is proved.  Integers are polynomials; a
comparison that they leave open is a case distinction of the path.  Numbers are floats
where all is known, else expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir.dims import Dim, Poly
from rewrite.egraph.rules.premises import Undefined, builtin
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form
from rewrite.egraph.rules.tables import fact_forms

from .conditions import at_least, below, same
from .elements import NUMBER, Apply, Elem, Number, Sym, Variable, Whole, number, words
from .paths import Infeasible, Path, Unsupported

type Row = tuple[str | float, ...]


class NoValue(Infeasible):
    """A partial function outside its domain: the engine has no match there."""


@dataclass(frozen=True, slots=True)
class Function:
    """A primitive, and the first of its arguments."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Library:
    """The primitives and the rows of the tables that rules read."""

    primitives: Mapping[str, Expr]
    rows: Mapping[str, tuple[Row, ...]]

    @staticmethod
    def of(rules: RuleSet) -> Library:
        primitives: dict[str, Expr] = {}
        rows: dict[str, list[Row]] = {}
        forms = [f for file in rules.files for f in file.forms]
        for f in forms:
            if f.head == "primitive":
                primitives[str(f.args[0])] = f.args[3]
            elif f.head in ("relation", "function"):
                rows.setdefault(str(f.args[0]), [])
        for e in (*forms, *fact_forms()):
            if e.head == "set" and isinstance(e.args[0], Form):
                row = (*e.args[0].args, e.args[1])
                rows[e.args[0].head].append(tuple(map(_literal, row)))
            elif e.head in rows:
                rows[e.head].append(tuple(map(_literal, e.args)))
        return Library(primitives, {k: tuple(v) for k, v in rows.items()})

    def lookup(self, table: str, key: Sequence[str | float]) -> str | float | None:
        result = [r[-1] for r in self.rows[table] if r[:-1] == tuple(key)]
        return result[0] if result else None


def _literal(e: Expr) -> str | float:
    assert isinstance(e, Word)
    return e.string if e.is_string else float(e.text)


@dataclass
class Evaluator:
    """Evaluates expressions on a path; `known` has the values of variables, `ask` gives
    those of a table such as `shape` or `wide`."""

    library: Library
    path: Path
    ask: Callable[[str, list[Any]], Any]
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def value(self, e: Expr, known: Mapping[str, Any]) -> Any:
        if isinstance(e, Word):
            if e.is_string:
                return e.string
            if not e.is_number:
                return known[e.text]
            return float(e.text) if "." in e.text else int(e.text)
        head = e.head
        if head == "unstable-fn":
            first, *rest = e.args
            assert isinstance(first, Word)
            return Function(first.string, tuple(self.value(a, known) for a in rest))
        if _unit_distance(e):  # (min 1 (abs x)) asks one question, not two
            distance = e.args[1]
            assert isinstance(distance, Form)
            return int(not self.yes(same(self.value(distance.args[0], known), 0)))
        return self.call(head, [self.value(a, known) for a in e.args])

    def call(self, head: str, args: list[Any]) -> Any:
        body = self.library.primitives.get(head)
        if body is not None:
            if head == "hold":
                _check_splitter(args[0])
            key = (head, *args)
            if key not in self.memo:
                self.memo[key] = self.value(
                    body, {f"_{i}": a for i, a in enumerate(args)}
                )
            return self.memo[key]
        if head in self.library.rows:
            return self.ask(head, args)
        if head.startswith(("vec-", "unstable-vec")):
            return self._vector(head, args)
        if isinstance(args[0], str | Sym):
            return self._joined(head, args)
        if all(isinstance(a, int | Poly) for a in args):
            return self._integer(head, args)
        return computed(head, args)

    def yes(self, c: Any) -> bool:
        result = self.path.decide(c)
        if result is None:
            raise Unsupported("a premise that depends on a summed index")
        return result

    def _joined(self, head: str, args: list[Any]) -> Any:
        if head == "+" and args[1:] == [""]:
            return args[0]
        if head == "+" and all(isinstance(a, str) for a in args):
            return "".join(args)
        raise Unsupported(f"({head} …) of strings")

    def _integer(self, head: str, args: list[Dim]) -> Any:
        p = self.path
        match head, args:
            case "+", _:
                return sum(args[1:], start=args[0])
            case "*", _:
                return math.prod(args[1:], start=args[0])
            case "-", [a]:
                return -a
            case "-", [a, b]:
                return a - b
            case "/", [a, b]:
                return self._divided(a, b)
            case "min" | "max", [a, b]:
                return a if self.yes(at_least(a, b)) == (head == "max") else b
            case "abs", [a]:
                return a if self.yes(at_least(a, 0)) else -a
            case "<<", [a, b]:
                n = p.normal(b)
                if not isinstance(n, int) or not 0 <= n < 64:
                    raise Unsupported("a shift by an unknown amount")
                return a * 2**n
            case "to-f64", [a]:
                a = p.normal(a)
                return float(a) if isinstance(a, int) else Whole(a)
            case _:
                raise Unsupported(f"({head} …) of integers")

    def _divided(self, a: Dim, b: Dim) -> Dim:
        """Towards zero; rules divide what is not negative."""
        a, b = self.path.normal(a), self.path.normal(b)
        if isinstance(a, int) and isinstance(b, int):
            return _known("/", (a, b))
        key = ("/", a, b)
        if key not in self.memo:
            if not self.yes(at_least(a, 0)) or not self.yes(at_least(b, 1)):
                raise Unsupported("a quotient of what may be negative")
            q = self.path.fresh("quotient")
            self.path.assume(at_least(a, q * b))
            self.path.assume(below(a, q * b + b))
            self.memo[key] = q
        return self.memo[key]

    def _vector(self, head: str, args: list[Any]) -> Any:
        match head, args:
            case "unstable-vec-map", [Function(name, first), v]:
                return tuple(self.call(name, [*first, x]) for x in v)
            case "vec-range", [n]:
                args = [self._number(n, None)]
            case (("vec-get" | "vec-set" | "vec-remove"), [v, i, *rest]):
                args = [v, self._number(i, len(v)), *rest]
            case _ if head in ALIKE:
                pass
            case _:  # others look into elements, which may be unknown
                raise Unsupported(f"({head} …)")
        return _known(head, args)

    def _number(self, d: Dim, most: int | None) -> int:
        """A place in a vector; the engine has no match where there is no such place."""
        n = self.path.normal(d)
        if not isinstance(n, int):
            if most is None:
                raise Unsupported("a vector of unknown length")
            n = self.path.pick(n, most)
        if n < 0 or (most is not None and n >= most):
            raise NoValue
        return n


def _unit_distance(e: Form) -> bool:
    if e.head != "min" or str(e.args[0]) != "1" or not isinstance(e.args[1], Form):
        return False
    return e.args[1].head == "abs"


# What makes vectors of elements without looking into them.
ALIKE = words("vec-of vec-empty vec-length vec-append vec-push vec-pop")
NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "min": "min", "max": "max",
    "abs": "abs", "neg": "neg", "sqrt": "sqrt",
}  # fmt: skip


def computed(head: str, args: Sequence[Any]) -> Any:
    """Arithmetic of numbers: of floats where all are known, else an expression."""
    if head not in NAMES:
        raise Unsupported(f"({head} …) of numbers")
    if all(isinstance(a, float) for a in args):
        return _known(head, args)
    parts = tuple(as_number(a) for a in args)
    name = "neg" if head == "-" and len(parts) == 1 else NAMES[head]
    return Apply(name, parts, NUMBER)


def _known(head: str, args: Sequence[Any]) -> Any:
    """What the engine makes of values that are known."""
    try:
        return builtin(head, args)
    except Undefined:
        raise NoValue from None


def _check_splitter(k: Any) -> None:
    """Rounding to a dtype is the identity over the reals; with another number than the
    dtype's own it is a difference that loses what it should keep."""
    own = isinstance(k, Variable) and k.name.startswith("splitter(")
    if not own and not isinstance(k, float):
        raise Unsupported("rounding with a number that is no splitter")


def as_number(x: Any) -> Elem:
    """A number of a rule as an expression."""
    if isinstance(x, float):
        return number(x)
    if isinstance(x, Apply | Number | Variable | Whole):
        return x
    raise Unsupported(f"{x!r} where a number was expected")
