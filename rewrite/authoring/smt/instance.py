"""A rule on one path: both its sides as tensors, its premises assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dims import Dim, Poly
from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.rules.ruleset import ANALYSED
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form, variables

from .meaning import indexing, reductions
from .meaning.conditions import all_same, at_least, below, negated, same
from .meaning.convolution import conv
from .meaning.elements import Elem, Literal, Special, Str, Sym, Variable, walk
from .meaning.language import Evaluator, Library, as_number
from .meaning.macros import macro
from .meaning.paths import Infeasible, Unsupported
from .meaning.tensors import MEANINGS
from .meaning.world import Tensor, World

type NumberFact = tuple[str, Elem, Elem]  # an operator of comparison and two numbers


@dataclass
class Instance:
    """Variables of a rule and what they stand for."""

    library: Library
    world: World
    lengths: Mapping[str, int]  # vector variable -> length
    ranks: Mapping[str, int]  # tensor variable -> rank
    bound: dict[str, Any] = field(default_factory=dict[str, Any])
    facts: list[NumberFact] = field(default_factory=list[NumberFact])
    leaves: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    values: dict[str, Elem] = field(default_factory=dict[str, Elem])
    # Numbers of the left and of the right side, with their dtypes.
    constants: tuple[list[tuple[Elem, Str]], list[tuple[Elem, Str]]] = field(
        default_factory=lambda: ([], [])
    )
    dropped: list[str] = field(default_factory=list[str])
    evaluator: Evaluator = field(init=False)

    def __post_init__(self) -> None:
        self.evaluator = Evaluator(self.library, self.world.path, self._ask)

    # -- terms --

    def term(self, e: Expr) -> Tensor:
        if isinstance(e, Word):
            return self._variable(e.text)
        kinds = SIGNATURES[e.head]
        fields = [self._field(a, k) for a, k in zip(e.args, kinds, strict=True)]
        operands = [x for x, k in zip(fields, kinds, strict=True) if k == "t"]
        attrs = [x for x, k in zip(fields, kinds, strict=True) if k != "t"]
        return self._op(e.head, operands, attrs)

    def _op(self, head: str, args: Sequence[Tensor], attrs: list[Any]) -> Tensor:
        w = self.world
        match head:
            case "Const" | "Odd":
                given, dtype, shape = attrs
                for n in shape:
                    w.need(at_least(n, 0), "a negative size")
                made = self._constant(head, given, w.string(dtype))
                return MEANINGS["const"](w, (), (made, w.string(dtype), shape))
            case "Macro1" | "Macro2" | "Macro3":
                name, vector, own = attrs
                if name not in MACROS:
                    raise Unsupported(f"the macro {name!r}")
                if name == "conv":
                    return conv(w, args, vector)
                if not w.right:
                    self.constants[0].append((as_number(own), args[0].dtype))
                by_kind = {"mask": vector, "float": own}
                fields = [by_kind[k] for _, k in MACROS[name].attrs]
                return macro(w, name, args, fields)
            case "Call":
                raise Unsupported("a foreign call")
            case _:
                op = head.lower()
                if op not in MEANINGS:
                    where = "rewrite/authoring/smt/meaning/"
                    raise Unsupported(f"the op {op!r} (none in {where})")
                return MEANINGS[op](w, args, attrs)

    def _constant(self, head: str, given: Any, dtype: Any) -> Elem:
        if head == "Odd":
            return Special(given, dtype)
        self.constants[self.world.right].append((as_number(given), dtype))
        return Literal(as_number(given), dtype)

    def _variable(self, name: str) -> Tensor:
        if name not in self.bound:
            w = self.world
            shape = tuple(w.path.fresh(name) for _ in range(self.ranks[name]))
            self.bound[name] = w.leaf(name, Sym(f"dtype({name})"), shape)
            self.leaves[name] = self.bound[name]
        return self.bound[name]

    def _field(self, e: Expr, kind: str) -> Any:
        if kind == "t":
            return self.term(e)
        if isinstance(e, Word) and e.is_symbol and e.text not in self.bound:
            self.bound[e.text] = self._unknown(e.text, kind)
        result = self.evaluator.value(e, self.bound)
        if kind == "f" and isinstance(result, int):
            return float(result)
        return result

    def _unknown(self, name: str, kind: str) -> Any:
        p = self.world.path
        match kind:
            case "v":
                n = self.lengths[name]
                return tuple(p.fresh(name, None) for _ in range(n))
            case "i":
                return p.fresh(name, None)
            case "f":
                return Variable(name)
            case _:
                return Sym(name)

    # -- tables --

    def _ask(self, table: str, args: list[Any]) -> Any:
        w = self.world
        if table == "shape":
            return tuple(w.path.normal(n) for n in args[0].shape)
        if table == "dtype":
            return w.string(args[0].dtype)
        key = [w.string(a) for a in args]
        if table == "wide":
            return w.wide(key[0])
        rows = self.library.rows[table]
        shown = f"{table}({', '.join(map(str, key))})"
        if rows and isinstance(rows[0][-1], float):
            return Variable(shown)  # a limit of a dtype: proofs are for all of them
        if all(isinstance(k, str) for k in key):
            result = self.library.lookup(table, [str(k) for k in key])
            if result is None:
                raise Infeasible
            return result
        return Sym(shown)

    # -- premises --

    def assume(self, premises: Sequence[Expr]) -> None:
        """All premises; what cannot be said is left out, which proves more."""
        waiting = list(premises)
        while waiting:
            ready = [p for p in waiting if self._ready(p)]
            if not ready:
                raise Unsupported(f"the premise {waiting[0]}")
            for p in ready:
                waiting.remove(p)
                try:
                    self._fact(p)
                except Unsupported as e:
                    if self._binds(p):
                        raise
                    self.dropped.append(str(e))

    def _binds(self, p: Expr) -> bool:
        return bool(variables(p) - set(self.bound))

    def _ready(self, p: Expr) -> bool:
        assert isinstance(p, Form)
        free = variables(p) - set(self.bound)
        if p.head != "=":
            tables = self.library.rows
            return not free or (p.head in tables and p.head not in ANALYSED)
        names = {a.text for a in p.args if isinstance(a, Word) and a.is_symbol}
        rest = [variables(a) for a in p.args if str(a) not in free]
        return free <= names and any(not (v & free) for v in rest)

    def _fact(self, p: Expr) -> None:
        assert isinstance(p, Form)
        if p.head == "=":
            self._equation(p)
        elif p.head in ("!=", "<", "<=", ">", ">="):
            a, b = (self.evaluator.value(x, self.bound) for x in p.args)
            self._compared(p.head, a, b)
        elif p.head in ANALYSED:
            self.world.known.add((p.head, *map(str, p.args)))
        elif p.head in self.library.rows:
            self._row(p)
        else:
            raise Unsupported(f"({p.head} …) as a premise")

    def _equation(self, p: Form) -> None:
        free = [a for a in p.args if str(a) in variables(p) - set(self.bound)]
        values = [self.evaluator.value(a, self.bound) for a in p.args if a not in free]
        for a in free:
            self.bound[str(a)] = values[0]
        for other in values[1:]:
            self._compared("=", values[0], other)

    def _row(self, p: Form) -> None:
        """A row of a relation; one of unknown strings is kept as known."""
        for a in p.args:
            if isinstance(a, Word) and a.is_symbol and a.text not in self.bound:
                self.bound[a.text] = Sym(a.text)
        key = [self.world.string(self.evaluator.value(a, self.bound)) for a in p.args]
        if all(isinstance(k, str | float) for k in key):
            if tuple(key) not in self.library.rows[p.head]:
                raise Infeasible
            return
        self.world.known.add((p.head, *key))

    def _compared(self, how: str, a: Any, b: Any) -> None:
        if isinstance(a, tuple):
            self._vectors(how, a, b)  # type: ignore[arg-type]
        elif isinstance(a, str | Sym):
            self._strings(how, a, b)
        elif isinstance(a, int | Poly) and isinstance(b, int | Poly):
            self._integers(how, a, b)
        else:
            self._numbers(how, as_number(a), as_number(b))

    def _vectors(self, how: str, a: tuple[Dim, ...], b: tuple[Dim, ...]) -> None:
        c = all_same(a, b)
        if how == "=":
            self.world.path.assume(c)
        elif how == "!=":
            self.world.path.assume(negated(c))
        else:
            raise Unsupported(f"({how} …) of vectors")

    def _strings(self, how: str, a: Any, b: Any) -> None:
        w = self.world
        if how == "=":
            was, w.right = w.right, False
            w.agree(a, b, "")
            w.right = was
            return
        a, b = w.string(a), w.string(b)
        if a == b:
            raise Infeasible
        w.known.add((how, a, b))

    def _integers(self, how: str, a: Dim, b: Dim) -> None:
        conditions = {
            "=": same(a, b), "!=": negated(same(a, b)), "<": below(a, b),
            "<=": at_least(b, a), ">": below(b, a), ">=": at_least(a, b),
        }  # fmt: skip
        self.world.path.assume(conditions[how])

    def _numbers(self, how: str, a: Elem, b: Elem) -> None:
        for x, y in ((a, b), (b, a)):
            if how == "=" and self._defines(x, y):
                return
        self.facts.append((how, a, b))

    def _defines(self, a: Elem, b: Elem) -> bool:
        """An equation for a number of the pattern says what it is."""
        if not isinstance(a, Variable) or a.name not in self.bound:
            return False
        if a in walk(b) or a.name in self.values:
            return False
        self.values[a.name] = b
        return True

    # -- a goal --

    def index(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        """Any position of a tensor."""
        p = self.world.path
        out: list[Dim] = []
        for n in shape:
            i = p.fresh("i")
            p.assume(below(i, n))
            out.append(p.normal(i))
        return tuple(out)


def kinds_of(dtype: str) -> str:
    """The kinds that proofs tell apart."""
    kind = DTYPES[dtype].kind if dtype in DTYPES else "free"
    return "int" if kind == "uint" else kind


__all__ = ["Instance", "NumberFact", "indexing", "kinds_of", "reductions"]
