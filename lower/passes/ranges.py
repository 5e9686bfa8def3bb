"""Index arithmetic by what is known of its operands: quotients and remainders of sums,
comparisons that always hold or never do, branches and choices on these."""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import BOOL, DType
from ..intervals import Interval, Linear, extremes, interval, of_loop, of_type
from ..loops import Ex, For, Function, If, Let, Lit, Op, Stmt, Var
from .rebuild import bottom_up, unique, with_values

# What may turn out constant though its operands are not.
DECIDED = frozenset(
    ("lt", "le", "eq", "ne", "and", "or", "idiv", "imod", "min", "max", "select")
)


def ranges(function: Function) -> Function:
    function = unique(function)
    simplifier = _Simplifier()
    return replace(function, body=simplifier.body(function.body, True))


class _Simplifier:
    """`forms`: immutable integers as sums over others; `parts`: of quotients and
    remainders, what is divided by what."""

    def __init__(self) -> None:
        self.known: dict[str, Interval] = {}
        self.forms: dict[str, Linear] = {}
        self.parts: dict[str, tuple[str, Linear, int]] = {}
        self.types: dict[str, DType] = {}

    def body(self, body: tuple[Stmt, ...], top: bool = False) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            s = with_values(s, lambda x: bottom_up(x, self.simpler))
            match s:
                case For():
                    self.known[s.var.name] = of_loop(s)
                    self.atom(s.var)
                    s = replace(s, body=self.body(s.body))
                case If(cond, inner):
                    out += self.branch(s, cond, inner, top)
                    continue
                case Let(var, value, False) if var.dtype.is_int and var.lanes == 1:
                    self.let(var, value)
                case _:
                    pass
            out.append(s)
        return tuple(out)

    def branch(
        self, s: If, cond: Ex, inner: tuple[Stmt, ...], top: bool
    ) -> tuple[Stmt, ...]:
        if cond == Lit(False, BOOL):
            return ()
        if cond == Lit(True, BOOL) and not top:
            return self.body(inner)
        before = dict(self.known)
        self.assume(cond)
        made = replace(s, body=self.body(inner))
        self.known = {k: before.get(k, v) for k, v in self.known.items()}
        return (made,)

    def assume(self, cond: Ex) -> None:
        """Narrows the names that a condition compares with constants."""
        match cond:
            case Op("and", (a, b)):
                self.assume(a)
                self.assume(b)
            case Op("lt" | "le" as op, (Var(name), Lit(value))) if name in self.known:
                self.below(name, int(value) - (op == "lt"))
            case Op("lt" | "le" as op, (Lit(value), Var(name))) if name in self.known:
                self.above(name, int(value) + (op == "lt"))
            case _:
                pass

    def below(self, name: str, high: int) -> None:
        """A branch that is never taken is left alone."""
        old = self.known[name]
        if old.low <= high < old.high:
            self.known[name] = Interval(old.low, high)

    def above(self, name: str, low: int) -> None:
        old = self.known[name]
        if old.low < low <= old.high:
            self.known[name] = Interval(low, old.high)

    # ---- what is known

    def atom(self, var: Var) -> None:
        self.forms[var.name] = Linear(((var.name, 1),), 0)
        self.types[var.name] = var.dtype

    def let(self, var: Var, value: Ex) -> None:
        self.known[var.name] = interval(value, self.known)
        form = self.form(value)
        self.atom(var)
        if form is not None and len(form.terms) <= 1:
            self.forms[var.name] = form
        match value:
            case Op("idiv" | "imod" as op, (a, Lit(by))):
                of = self.form(a)
                if of is not None and by > 0:
                    self.parts[var.name] = (op, of, int(by))
            case _:
                pass

    def form(self, x: Ex) -> Linear | None:
        """`x` as a sum of multiples; None where it has no form or may wrap around."""
        made: Linear | None = None
        match x:
            case Lit(value, dtype) if dtype.is_int:
                return Linear((), int(value))
            case Var(name):
                return self.forms.get(name)
            case Op("add" | "sub" | "mul" as op, (a, b)) if x.dtype.is_int:
                left, right = self.form(a), self.form(b)
                if left is None or right is None:
                    return None
                if op != "mul":
                    made = left.plus(right, 1 if op == "add" else -1)
                elif not right.terms:
                    made = left.scaled(right.const)
                elif not left.terms:
                    made = right.scaled(left.const)
            case _:
                pass
        if made is None or not extremes(made, self.known).within(*of_type(x.dtype)):
            return None
        return made if interval(x, self.known) != of_type(x.dtype) else None

    # ---- simplification

    def simpler(self, x: Ex) -> Ex:
        if not isinstance(x, Op) or x.lanes > 1:
            return x
        if x.op in DECIDED and (x.dtype.is_int or x.dtype is BOOL):
            found = interval(x, self.known)
            whole = any(a.dtype.is_float for a in x.args)
            if found.low == found.high and not whole:
                value = bool(found.low) if x.dtype is BOOL else found.low
                return Lit(value, x.dtype)
        match x:
            case Op("select", (Lit(value), a, b)):
                return a if value else b
            case Op("max" | "min" as op, (a, b)) if x.dtype.is_int:
                return self.extreme(x, op, a, b)
            case Op("idiv" | "imod" as op, (a, Lit(by))) if by > 0:
                return self.divided(x, op, a, int(by))
            case Op("add", _) if x.dtype.is_int and self.parts:
                return self.whole(x)
            case _:
                return x

    def extreme(self, x: Op, op: str, a: Ex, b: Ex) -> Ex:
        """The operand that is never beaten."""
        left, right = interval(a, self.known), interval(b, self.known)
        above, below = left.low >= right.high, right.low >= left.high
        if op == "min":
            above, below = below, above
        return a if above else b if below else x

    def divided(self, x: Op, op: str, a: Ex, by: int) -> Ex:
        """n q + r by n is q, and leaves r, where r is one of 0 .. n - 1."""
        reach = interval(a, self.known)
        if reach.within(0, by - 1):
            return a if op == "imod" else Lit(0, x.dtype)
        form = self.form(a)
        if form is None or reach.low < 0:
            return x
        whole = tuple((n, c // by) for n, c in form.terms if c % by == 0)
        rest = tuple((n, c) for n, c in form.terms if c % by)
        q, r = Linear(whole, form.const // by), Linear(rest, form.const % by)
        if not extremes(r, self.known).within(0, by - 1):
            return x
        made = q if op == "idiv" else r
        return self.built(made, x.dtype) or x

    def whole(self, x: Op) -> Ex:
        """n (a / n) + a % n is a."""
        form = self.form(x)
        if form is None or len(form.terms) < 2:
            return x
        for name, c in form.terms:
            op, of, by = self.parts.get(name, ("", None, 0))
            if op != "imod" or of is None:
                continue
            for other, d in form.terms:
                if self.parts.get(other) == ("idiv", of, by) and d == c * by:
                    less = Linear(((name, -c), (other, -d)), 0)
                    joined = form.plus(less).plus(of, c)
                    return self.built(joined, x.dtype) or x
        return x

    def built(self, form: Linear, dtype: DType) -> Ex | None:
        """The form as an expression; None where a name has another type or a partial
        sum might wrap around."""
        total: Ex | None = None
        for name, c in form.terms:
            if self.types[name] is not dtype or c < 0 or self.known[name].low < 0:
                return None
            term: Ex = Var(name, dtype)
            if c != 1:
                term = Op("mul", (term, Lit(c, dtype)), dtype)
            total = term if total is None else Op("add", (total, term), dtype)
        if total is None:
            return Lit(form.const, dtype)
        if form.const < 0:
            return None
        if form.const:
            total = Op("add", (total, Lit(form.const, dtype)), dtype)
        return total
