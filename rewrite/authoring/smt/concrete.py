"""A rule on known tensors: premises checked, both sides built as one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dtypes import compute
from rewrite.egraph.ir.graph import Builder, GraphError
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.ruleset import ANALYSED
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form, variables
from rewrite.egraph.saturate.encode import EncodeError, Names, decode

from .meaning.elements import COMPARE
from .meaning.language import Evaluator, Library, NoValue
from .meaning.paths import Infeasible, Path, Unsupported


class Unmet(Exception):
    """The instance is none of the rule: a premise is false, or a side has no type."""


class Undefined(Unmet):
    """Something that a rule computes has no value."""


@dataclass
class Concrete:
    """Variables of a rule with their values; tensors are nodes of the builder."""

    library: Library
    builder: Builder
    bound: dict[str, Any]
    held: bool = True  # each constant so far is one of its dtype's values
    evaluator: Evaluator = field(init=False)

    def __post_init__(self) -> None:
        self.evaluator = Evaluator(self.library, Path(), self._ask)

    def value(self, e: Expr) -> Any:
        try:
            return self.evaluator.value(e, self.bound)
        except NoValue:
            raise Undefined(f"{e} has no value") from None
        except (Infeasible, Unsupported, KeyError) as e_:
            raise Unmet(str(e_)) from None

    def _ask(self, table: str, args: list[Any]) -> Any:
        if table == "shape":
            return self._type(args[0]).shape
        if table == "dtype":
            return self._type(args[0]).dtype.name
        result = self.library.lookup(table, args)
        if result is None:
            raise Unmet(f"{table} has no row for {args}")
        return result

    def _type(self, node: int) -> TensorType:
        return self.builder.type(node)

    # -- terms --

    def build(self, e: Expr) -> int:
        """The node of a term whose variables are all known."""
        if isinstance(e, Word):
            return self.bound[e.text]
        kinds = SIGNATURES[e.head]
        row = (e.head, *(self._field(a, k) for a, k in zip(e.args, kinds, strict=True)))
        try:
            node = decode(row, Names({}), self._constant)  # type: ignore[arg-type]
            if e.head == "Const" and float(node.attrs[0]) != row[1]:
                self.held = False
            return self.builder.add(node.op, node.args, node.attrs)
        except (EncodeError, ValueError, KeyError, TypeError, IndexError) as e_:
            raise GraphError(str(e_)) from None

    def _field(self, e: Expr, kind: str) -> Any:
        if kind == "t":
            return self.build(e)
        result = self.value(e)
        return float(result) if kind == "f" else result

    def _constant(self, node: int) -> Any:
        result = self.builder.nodes[node]
        if result.op != "const" or result.shape != ():
            raise GraphError("the value of a pad is a constant of rank 0")
        return result.attrs[0]

    # -- premises --

    def check(self, premises: Sequence[Expr]) -> None:
        waiting = list(premises)
        while waiting:
            ready = [p for p in waiting if self._ready(p)]
            if not ready:
                raise Unmet(f"{waiting[0]} binds nothing")
            for p in ready:
                waiting.remove(p)
                self._fact(p)

    def _ready(self, p: Expr) -> bool:
        assert isinstance(p, Form)
        free = variables(p) - set(self.bound)
        if p.head != "=":
            return not free
        known = [a for a in p.args if not variables(a) & free]
        loose = {str(a) for a in p.args if isinstance(a, Word)}
        return free <= loose and bool(known)

    def _fact(self, p: Expr) -> None:
        assert isinstance(p, Form)
        if p.head in ANALYSED:
            return  # the values drawn are finite
        if p.head in self.library.rows:
            row = tuple(self.value(a) for a in p.args)
            if row not in self.library.rows[p.head]:
                raise Unmet(f"{p} does not hold")
            return
        free = [a for a in p.args if str(a) in variables(p) - set(self.bound)]
        values = [self.value(a) for a in p.args if a not in free]
        for a in free:
            self.bound[str(a)] = values[0]
        if p.head not in COMPARE:
            raise Unmet(f"({p.head} …) as a premise")
        if not all(COMPARE[p.head](values[0], v) for v in values[1:]):
            raise Unmet(f"{p} does not hold")


def accumulator(dtype: str) -> str:
    return compute(dtypes.of(dtype)).name
