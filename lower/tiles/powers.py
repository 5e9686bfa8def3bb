"""What a pass computes beside products, in fewer instructions: exponentials as powers
of 2, whose factor takes in that of their argument, quotients by what is the same for a
row or everywhere as products, and factors of factors as one."""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import BF16, F32, compute
from ...extract.schedule.kernel import Expr
from ..loops import Ex, Lit, Op, Var
from .folds import LOG2E
from .masked import MaskedWriter

SMALL = 1e-30  # of f32, whose reciprocal is not large, nor of few bits


def plain(x: Ex) -> Ex:
    """Without products and quotients by 1."""
    if not isinstance(x, Op) or x.op not in ("mul", "div", "recip"):
        return x
    args = tuple(map(plain, x.args))
    one = [isinstance(a, Lit) and a.value == 1 for a in args]
    if one[-1]:
        return args[0]
    if x.op == "mul" and one[0]:
        return args[1]
    return replace(x, args=args)


def scaled(a: Ex, b: Ex) -> Ex:
    """A product of f32, with the factors that are known as one."""
    if isinstance(a, Lit):
        a, b = b, a
    if isinstance(a, Op) and isinstance(b, Lit) and a.op == "mul":
        by = a.args[1]
        if isinstance(by, Lit) and SMALL < abs(by.value * b.value) < 1 / SMALL:
            return Op("mul", (a.args[0], Lit(by.value * b.value, F32)), F32)
    return Op("mul", (a, b), F32)


class PowersWriter(MaskedWriter):
    """`columns`: the axes that a row has elements along."""

    columns = 0

    def _scalar(self, x: Expr) -> Ex:
        """Exponentials of the pass are rounded to two bytes, or summed beside such: a
        factor of 2**x to 22 bits and a product that is not rounded are exact enough.
        So are 11 bits of tanh where the array code asks for its 8."""
        inside = self.kernel is self.partial and len(self.scopes) > 1
        if x.op == "div" and not self.strict:
            by = x.args[1]
            if not self._columns(by) or (inside and self._of_vectors(by, x.args[0])):
                return self._quotient(x)
        if not inside or compute(x.dtype) is not F32 or self.strict:
            return super()._scalar(x)
        if x.op == "mul":
            return scaled(*(self.value(e) for e in x.args))
        if x.op == "tanh" and x.dtype is BF16:
            return Op("tanh_approx", (self.value(x.args[0]),), F32)
        if x.op != "exp":
            return super()._scalar(x)
        (of,) = x.args
        arg = self.kernel.exprs[of]
        if arg.op == "sub" and self._of_vectors(arg.args[1], of):
            (term, by), less = self._factored(arg.args[0]), self.value(arg.args[1])
            less = Op("mul", (less, Lit(LOG2E, F32)), F32)
            less = self.name(less, self.kernel.free[arg.args[1]])
            less = Op("neg", (less,), F32)
            return Op("ex2", (Op("fma", (term, Lit(by, F32), less), F32),), F32)
        term, by = self._factored(of)
        return Op("ex2", (Op("mul", (term, Lit(by, F32)), F32),), F32)

    def _of_vectors(self, e: int, whole: int) -> bool:
        """Whether a value is the same for a row, or one of places of the pass alone."""
        free = self.kernel.free
        alike = not self.of_scores >> e & 1 and free[e] != free[whole]
        return alike or not free[e] >> self.along & 1

    def _columns(self, e: int) -> int:
        return self.kernel.free[e] & self.columns

    def _quotient(self, x: Expr) -> Ex:
        """By what is the same for a row, or everywhere: as a product."""
        a, b = (self.value(e) for e in x.args)
        if not self._columns(x.args[0]):
            return Op("div", (a, b), compute(x.dtype))
        if isinstance(b, Lit):
            by = 1 / b.value if b.value else 0.0
            keep = b.dtype is not F32 or not SMALL < abs(by) < 1 / SMALL
            return Op("div", (a, b), b.dtype) if keep else scaled(a, Lit(by, F32))
        by = self.name(Op("recip", (b,), b.dtype), self.kernel.free[x.args[1]])
        return Op("mul", (a, by), compute(x.dtype))

    def _factored(self, e: int) -> tuple[Ex, float]:
        """A value by a factor, for an exponential's argument, as one for 2**x."""
        x = self.kernel.exprs[e]
        consts = [a for a in x.args if self.kernel.exprs[a].op == "const"]
        if x.op != "mul" or len(consts) != 1 or isinstance(self.known(e), Var):
            return self.value(e), LOG2E
        (other,) = (a for a in x.args if a not in consts)
        return self.value(other), LOG2E * self.kernel.exprs[consts[0]].attr[0]
