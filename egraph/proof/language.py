"""The language of rule files, interpreted for the checker of proofs.

Primitives are what `rules/ir.egg` says, over the engine's own arithmetic, which is done
here: integers of 64 bits, floats, strings and vectors.  A function outside its domain
has no value, and a premise without one is false.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..rules.ruleset import RuleSet
from ..rules.sexpr import Atom, Expr, Form
from ..rules.tables import fact_forms

type Env = Mapping[str, Any]

KINDS = {"T": "t", "TV": "T", "String": "s", "i64": "i", "f64": "f", "IV": "v"}
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1  # i64


class NoValue(Exception):
    """A partial function outside its domain: the engine finds no match there."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A term, where numbers stand as well."""

    term: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and the first of its arguments."""

    name: str
    given: tuple[Any, ...]


def _whole(f: Callable[..., Any]) -> Callable[..., Any]:
    """Of integers a partial function: what leaves i64 has no value."""

    def checked(*args: Any) -> Any:
        out = f(*args)
        if type(out) is int and not LEAST <= out <= GREATEST:
            raise NoValue
        return out

    return checked


@_whole
def _divided(a: Any, b: Any) -> Any:
    """Towards zero; of floats, too, nothing is divided by 0."""
    if not b:
        raise NoValue
    rounded = abs(a) // abs(b) if type(a) is int else 0
    return a / b if type(a) is float else rounded if (a < 0) == (b < 0) else -rounded


def _rest(a: Any, b: Any) -> Any:
    return a - b * _divided(a, b) if type(a) is int else math.fmod(a, b)


def _left(a: int, b: int) -> int:
    return ((a << _bits(b)) - LEAST) % (1 << 64) + LEAST


def _right(a: int, b: int) -> int:
    return a >> _bits(b)


def _bits(b: int) -> int:
    if not 0 <= b < 64:
        raise NoValue
    return b


def _at(v: tuple[Any, ...], i: int) -> Any:
    if not 0 <= i < len(v):
        raise NoValue
    return v[i]


def _put(v: tuple[Any, ...], i: int, *x: Any) -> tuple[Any, ...]:
    _at(v, i)
    return (*v[:i], *x, *v[i + 1 :])


def _holds(f: Callable[..., bool]) -> Callable[..., tuple[()]]:
    """A test has a value, which says nothing, where it is true."""

    def tested(*args: Any) -> tuple[()]:
        if not f(*args):
            raise NoValue
        return ()

    return tested


def _sum(a: Any, *b: Any) -> Any:
    return a + b[0] if len(b) == 1 else "".join((a, *b))


def _power(a: Any, b: Any) -> Any:
    return a ^ b if type(a) is int else a**b


def _rounded(a: float) -> int:
    return max(LEAST, min(GREATEST, int(a)))


def _same(a: Any, b: Any) -> bool:
    """A NaN is itself to the engine."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _vector(*items: Any) -> tuple[Any, ...]:
    return items


def _pushed(v: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
    return (*v, x)


def _popped(v: tuple[Any, ...]) -> tuple[Any, ...]:
    return v[:-1]


def _joined(*vectors: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x for v in vectors for x in v)


def _upto(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def _lacks(v: tuple[Any, ...], x: Any) -> bool:
    return x not in v


# What Python's operators do as they stand.
TESTS = {"!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "guard": "truth",
         "vec-contains": "contains"}  # fmt: skip
WHOLE = {"-": "sub", "*": "mul", "abs": "abs"}
PLAIN = {
    "&": "and_", "|": "or_", "neg": "neg", "not": "not_", "and": "and_",
    "or": "or_", "xor": "ne", "bool-=": "eq", "bool-<": "lt", "bool-<=": "le",
    "bool->": "gt", "bool->=": "ge",
}  # fmt: skip
BUILTINS: dict[str, Callable[..., Any]] = {
    **{name: _holds(getattr(operator, f)) for name, f in TESTS.items()},
    **{name: _whole(getattr(operator, f)) for name, f in WHOLE.items()},
    **{name: getattr(operator, f) for name, f in PLAIN.items()},
    "=": _holds(_same), "vec-not-contains": _holds(_lacks), "+": _whole(_sum),
    "/": _divided, "%": _rest, "<<": _left, ">>": _right, "^": _power, "min": min,
    "max": max, "sqrt": math.sqrt, "to-f64": float, "to-i64": _rounded,
    "f64-is-finite": math.isfinite, "vec-of": _vector, "vec-empty": _vector,
    "vec-get": _at, "vec-set": _put, "vec-remove": _put, "vec-push": _pushed,
    "vec-pop": _popped, "vec-append": _joined, "vec-length": len, "vec-range": _upto,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Typing:
    """A rule for the shape and the dtype of the terms that match a pattern."""

    pattern: Form
    facts: tuple[Expr, ...]
    shape: Expr
    dtype: Expr


class Language:
    """What the forms of rule files declare, and the rows of the tables."""

    def __init__(self, rules: RuleSet) -> None:
        self.constructors: dict[str, str] = {}  # to the kinds of its fields
        self.primitives: dict[str, Expr] = {}
        self.tables: dict[str, dict[tuple[Any, ...], Any]] = {}
        self.typing: dict[str, list[Typing]] = {}
        self._memo: dict[tuple[Any, ...], Any] = {}
        for form in (*(f for file in rules.files for f in file.forms), *fact_forms()):
            self._form(form)

    def _form(self, form: Form) -> None:
        match form.head:
            case "constructor":
                name, fields = form.args[0], form.args[1]
                assert isinstance(fields, Form)
                kinds = (KINDS[str(x)] for x in fields.items)
                self.constructors[str(name)] = "".join(kinds)
            case "primitive":
                self.primitives[str(form.args[0])] = form.args[3]
            case "relation" | "function":
                self.tables[str(form.args[0])] = {}
            case "rule":
                self._rule(form)
            case "set" if isinstance(call := form.args[0], Form):
                self.tables[call.head][_literals(call.args)] = literal(form.args[1])
            case head if head in self.tables:
                self.tables[head][_literals(form.args)] = ()
            case _:
                pass

    def _rule(self, form: Form) -> None:
        """(rule ((= e (Head ...)) FACT ...) ((set (shape e) S) (set (dtype e) T)))."""
        body, actions = form.args[0], form.args[1]
        assert isinstance(body, Form) and isinstance(actions, Form)
        made = [a for a in actions.items if isinstance(a, Form) and a.head == "set"]
        values = {str(a.args[0]): a.args[1] for a in made}
        first = body.items[0]
        if values.keys() == {"(shape e)", "(dtype e)"} and isinstance(first, Form):
            pattern, both = first.args[1], (values["(shape e)"], values["(dtype e)"])
            assert isinstance(pattern, Form)
            rule = Typing(pattern, body.items[1:], *both)
            self.typing.setdefault(pattern.head, []).append(rule)

    def value(self, e: Expr, env: Env, ask: Callable[[str, int], Any]) -> Any:
        """The value of a term; `ask` has the shapes and dtypes of tensors."""
        if isinstance(e, Atom):
            return env[e.text] if e.is_symbol else literal(e)
        if e.head == "unstable-fn":
            given = tuple(self.value(a, env, ask) for a in e.args[1:])
            return Function(str(e.args[0])[1:-1], given)
        args = tuple([self.value(a, env, ask) for a in e.args])
        if e.head in ("shape", "dtype"):
            return ask(e.head, args[0].term)
        return self.call(e.head, args)

    def call(self, head: str, args: tuple[Any, ...]) -> Any:
        if head in self.primitives:
            key = (head, args)
            if key not in self._memo:
                env = {f"_{i}": a for i, a in enumerate(args)}
                self._memo[key] = self.value(self.primitives[head], env, _no_tensors)
            return self._memo[key]
        if head == "unstable-vec-map":
            return self._map(*args)
        if head in self.tables:
            if args not in self.tables[head]:
                raise NoValue
            return self.tables[head][args]
        try:
            return BUILTINS[head](*args)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise NoValue from None

    def _map(self, f: Function, v: tuple[Any, ...]) -> tuple[Any, ...]:
        """What has no value is left out, as the engine does it."""
        out: list[Any] = []
        for x in v:
            with contextlib.suppress(NoValue):
                out.append(self.call(f.name, (*f.given, x)))
        return tuple(out)

    def holds(
        self, fact: Expr, env: dict[str, Any], ask: Callable[[str, int], Any]
    ) -> bool:
        """Whether a premise is true; an equation gives a free variable its value."""
        assert isinstance(fact, Form)
        try:
            if fact.head == "=":
                for name, other in (fact.args, fact.args[::-1]):
                    if (
                        isinstance(name, Atom)
                        and name.is_symbol
                        and name.text not in env
                    ):
                        env[name.text] = self.value(other, env, ask)
            self.value(fact, env, ask)
        except NoValue:
            return False
        return True


def _no_tensors(head: str, t: int) -> Any:
    raise NoValue


def literal(e: Expr) -> Any:
    assert isinstance(e, Atom)
    if e.is_string:
        return e.string
    return int(e.text) if e.text.lstrip("-").isdigit() else float(e.text)


def _literals(parts: Sequence[Expr]) -> tuple[Any, ...]:
    return tuple(map(literal, parts))
