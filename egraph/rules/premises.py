"""The premises of a rule, read in Python: which hold of an instance, what they bind.

The engine decides whether a rule fires.  This reading guides those who look for
instances that it will fire on, or that break one premise alone; what it takes for true
is asked of the engine before it counts.  The meaning of each primitive is what
`rules/ir.egg` says; the rows of the tables are those that the engine is given.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.ops import TensorType
from .ruleset import ANALYSED, Rule, RuleSet
from .sexpr import Atom, Expr, Form, variables
from .tables import fact_forms

type Env = Mapping[str, Any]


class Undefined(Exception):
    """A term without a value: a partial function outside its domain."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a tensor variable stands for, as far as premises ask."""

    node: int
    type: TensorType


@dataclass(frozen=True, slots=True)
class _Fn:
    name: str
    given: tuple[Any, ...]


def _divide(a: Any, b: Any) -> Any:
    if not b:  # of floats, too: the engine has no infinite quotient
        raise Undefined
    if isinstance(a, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _divide(a, b) if isinstance(a, int) else math.fmod(a, b)


def _get(v: tuple[Any, ...], i: int) -> Any:
    if not 0 <= i < len(v):
        raise Undefined
    return v[i]


def _set(v: tuple[Any, ...], i: int, x: Any) -> tuple[Any, ...]:
    _get(v, i)
    return (*v[:i], x, *v[i + 1 :])


def _remove(v: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    _get(v, i)
    return (*v[:i], *v[i + 1 :])


def _pop(v: tuple[Any, ...]) -> tuple[Any, ...]:
    return v[:-1]


def _joined(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x for v in parts for x in v)


def _range(n: int) -> tuple[Any, ...]:
    return tuple(range(n))


def _of(*items: Any) -> tuple[Any, ...]:
    return items


def _pushed(v: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
    return (*v, x)


def _outside(v: tuple[Any, ...], x: Any) -> bool:
    return x not in v


# What Python's operators do as they stand.
OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor",
    "<<": "lshift", ">>": "rshift", "neg": "neg", "not": "not_", "and": "and_",
    "or": "or_", "xor": "ne", "bool-=": "eq", "bool-<": "lt", "bool-<=": "le",
    "bool->": "gt", "bool->=": "ge", "vec-contains": "contains",
}  # fmt: skip
BUILTINS: dict[str, Callable[..., Any]] = {
    **{head: getattr(operator, name) for head, name in OPERATORS.items()},
    "/": _divide, "%": _remainder, "min": min, "max": max, "abs": abs,
    "sqrt": math.sqrt, "to-f64": float, "to-i64": int, "f64-is-finite": math.isfinite,
    "vec-of": _of, "vec-empty": tuple, "vec-get": _get, "vec-set": _set,
    "vec-push": _pushed, "vec-pop": _pop, "vec-append": _joined,
    "vec-length": len, "vec-range": _range,
    "vec-remove": _remove, "vec-not-contains": _outside,
}  # fmt: skip
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    head: getattr(operator, name)
    for head, name in (
        ("!=", "ne"),
        ("<", "lt"),
        ("<=", "le"),
        (">", "gt"),
        (">=", "ge"),
    )
}


def builtin(head: str, args: Sequence[Any]) -> Any:
    """What a word of the engine makes of values, or `Undefined`."""
    if head not in BUILTINS:
        raise Undefined
    try:
        return BUILTINS[head](*args)
    except (ArithmeticError, ValueError, TypeError):
        raise Undefined from None


@dataclass(frozen=True)
class Reading:
    """What holds of an instance: all variables bound so far, and the premises that
    fail, by number."""

    env: dict[str, Any]
    failing: frozenset[int]


class Algebra:
    """The primitives and tables of a rule set."""

    def __init__(self, rules: RuleSet) -> None:
        self.primitives: dict[str, Expr] = {}
        self.relations: dict[str, list[tuple[Any, ...]]] = {}
        self.functions: dict[str, dict[tuple[Any, ...], Any]] = {}
        for f in rules.files:
            for form in f.forms:
                self._form(form)
        for form in fact_forms():
            self._form(form)
        # By id; the term is kept, and its id with it.
        self._variables: dict[int, tuple[Expr, frozenset[str]]] = {}
        self._terms: dict[int, tuple[Expr, Callable[[Env], Any]]] = {}
        self._primitive = functools.lru_cache(maxsize=1 << 16)(self._open)

    def _form(self, form: Form) -> None:
        match form.head:
            case "primitive":
                self.primitives[str(form.items[1])] = form.items[4]
            case "relation":
                self.relations.setdefault(str(form.items[1]), [])
            case "set":
                call = form.args[0]
                assert isinstance(call, Form)
                table = self.functions.setdefault(call.head, {})
                table[tuple(map(_literal, call.args))] = _literal(form.args[1])
            case head if head in self.relations:
                self.relations[head].append(tuple(map(_literal, form.args)))
            case _:
                pass

    # -- terms --

    def value(self, e: Expr, env: Env) -> Any:
        """The value of a term, or `Undefined`."""
        known = self._terms.get(id(e))
        if known is None:
            known = self._terms[id(e)] = (e, self._closure(e))
        return known[1](env)

    def _closure(self, e: Expr) -> Callable[[Env], Any]:
        """A term read once: it is asked for thousands of times."""
        if isinstance(e, Atom):
            name = e.text
            symbol, value = _atom(name)
            return functools.partial(_bound, name) if symbol else lambda _: value
        if e.head == "unstable-fn":
            word = e.args[0]
            assert isinstance(word, Atom)
            given = [self._closure(a) for a in e.args[1:]]
            return lambda env: _Fn(word.string, tuple([f(env) for f in given]))
        head, parts, call = e.head, [self._closure(a) for a in e.args], self.call
        if head in self.primitives and head not in ("shape", "dtype"):
            call = self._primitive
        return lambda env: call(head, tuple([f(env) for f in parts]))

    def call(self, head: str, args: tuple[Any, ...]) -> Any:
        if head in ("shape", "dtype"):
            (x,) = args
            if not isinstance(x, Tensor):
                raise Undefined
            return x.type.shape if head == "shape" else x.type.dtype.name
        if head in self.primitives:
            return self._primitive(head, args)
        if head == "unstable-vec-map":
            f, v = args
            return tuple(self.call(f.name, (*f.given, x)) for x in v)
        if head in self.functions:
            if args not in self.functions[head]:
                raise Undefined
            return self.functions[head][args]
        return builtin(head, args)

    def _open(self, head: str, args: tuple[Any, ...]) -> Any:
        env = {f"_{i}": a for i, a in enumerate(args)}
        return self.value(self.primitives[head], env)

    # -- premises --

    def read(self, when: Sequence[Expr], env: Env) -> Reading:
        """The premises of an instance, in any order that binds what they use."""
        best: Reading | None = None
        for result in self._solve(list(enumerate(when)), dict(env), frozenset()):
            if best is None or len(result.failing) < len(best.failing):
                best = result
            if not best.failing:
                break
        assert best is not None
        return best

    def _solve(
        self, todo: list[tuple[int, Expr]], env: dict[str, Any], bad: frozenset[int]
    ) -> Iterator[Reading]:
        while todo:
            rest: list[tuple[int, Expr]] = []
            for i, p in todo:
                result = self.holds(p, env)
                if result is None:
                    rest.append((i, p))
                elif not result:
                    bad |= {i}
            if len(rest) == len(todo):
                break
            todo = rest
        at = next((k for k, (_, p) in enumerate(todo) if self._rows(p, env)), None)
        if at is None:
            yield Reading(env, bad.union(i for i, _ in todo))
            return
        chosen, others = todo[at][1], [*todo[:at], *todo[at + 1 :]]
        for bound in self._rows(chosen, env):
            yield from self._solve(others, {**env, **bound}, bad)

    def holds(self, premise: Expr, env: dict[str, Any]) -> bool | None:
        """Whether it holds, binding what it defines; None: it cannot be told yet."""
        assert isinstance(premise, Form)
        if premise.head in ANALYSED:  # as instances come with their facts
            return True
        if premise.head == "=":
            return self._equal(premise.args, env)
        if not env.keys() >= self._free(premise):
            return None
        try:
            args = tuple(self.value(a, env) for a in premise.args)
        except Undefined:
            return False
        if premise.head in COMPARED:
            return COMPARED[premise.head](*args)
        if premise.head in self.relations:
            return args in self.relations[premise.head]
        return (
            bool(self.call(premise.head, args)) if premise.head != "guard" else args[0]
        )

    def _equal(self, sides: Sequence[Expr], env: dict[str, Any]) -> bool | None:
        known, free = list[Any](), list[str]()
        for e in sides:
            if isinstance(e, Atom) and _atom(e.text)[0] and e.text not in env:
                free.append(e.text)
            elif not env.keys() >= self._free(e):
                return None
            else:
                try:
                    known.append(self.value(e, env))
                except Undefined:
                    return False
        if not known:
            return None
        env.update((name, known[0]) for name in free)
        return all(_same(k, known[0]) for k in known)

    def _free(self, e: Expr) -> frozenset[str]:
        """The variables of a term, found once."""
        if id(e) not in self._variables:
            self._variables[id(e)] = (e, variables(e))
        return self._variables[id(e)][1]

    def _rows(self, premise: Expr, env: Env) -> list[dict[str, Any]]:
        """What the rows of a relation, or of a function compared, may bind."""
        assert isinstance(premise, Form)
        if premise.head in self.relations:
            rows, args = self.relations[premise.head], premise.args
        elif premise.head == "=" and len(premise.args) == 2:
            left, right = premise.args
            call, out = (left, right) if isinstance(left, Form) else (right, left)
            if not isinstance(call, Form) or call.head not in self.functions:
                return []
            table = self.functions[call.head]
            rows, args = [(*k, v) for k, v in table.items()], (*call.args, out)
        else:
            return []
        if not all(isinstance(a, Atom) for a in args):
            return []
        return [b for row in rows if (b := _matched(args, row, env)) is not None]


def _bound(name: str, env: Env) -> Any:
    if name not in env:
        raise Undefined
    return env[name]


def _same(a: Any, b: Any) -> bool:
    """As the engine has it, where a NaN is itself."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _matched(
    args: Sequence[Expr], row: Sequence[Any], env: Env
) -> dict[str, Any] | None:
    bound: dict[str, Any] = {}
    for e, x in zip(args, row, strict=True):
        assert isinstance(e, Atom)
        symbol, value = _atom(e.text)
        known = {**env, **bound}.get(e.text, x) if symbol else value
        if known != x:
            return None
        bound[e.text] = x
    return {k: v for k, v in bound.items() if k not in env}


def _literal(e: Expr) -> Any:
    assert isinstance(e, Atom), f"a literal was expected, found {e}"
    return _atom(e.text)[1]


@functools.lru_cache(maxsize=1 << 12)
def _atom(text: str) -> tuple[bool, Any]:
    """Whether it is a variable; the value where it is a literal."""
    if text.startswith('"'):
        return False, text[1:-1]
    try:
        return False, int(text)
    except ValueError:
        pass
    number = text[-1:].isdigit() or text.endswith(".") or text in ("NaN", "inf", "-inf")
    return (
        (False, float(text)) if number and text[0] in "-0123456789Ni" else (True, None)
    )


def definitions(rule: Rule, left: Expr) -> frozenset[int]:
    """The premises that first bind a variable.  The others test what is bound: without
    one of them the rule has the same words and reaches further."""
    bound, out = set(variables(left)), set[int]()
    todo = {i: p for i, p in enumerate(rule.when) if isinstance(p, Form)}
    while todo:
        todo = {i: p for i, p in todo.items() if variables(p) - bound}
        result = next((i for i, p in todo.items() if _computes(p, bound)), None)
        if result is None:
            result = next((i for i, p in todo.items() if p.head not in COMPARED), None)
        if result is None:
            break
        out.add(result)
        bound |= variables(todo[result])
    return frozenset(out)


def _computes(premise: Form, bound: set[str]) -> bool:
    """Whether it equates variables that are free with what can be computed."""
    if premise.head != "=":
        return False
    free = [a for a in premise.args if isinstance(a, Atom) and variables(a) - bound]
    rest = [a for a in premise.args if a not in free]
    unknown = frozenset[str]().union(*map(variables, rest)) - bound
    return bool(free and rest) and not unknown


__all__ = ["Algebra", "Reading", "Tensor", "Undefined", "builtin", "definitions"]
