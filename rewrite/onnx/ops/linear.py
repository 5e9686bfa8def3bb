"""Products: MatMul, Gemm, Einsum."""

from __future__ import annotations

from ..site import Site, Unread, op
from .elementwise import scaled
from .whole import as_float, as_integers, centred, is_exact


@op("MatMul")
def matmul(s: Site) -> int:
    return product(s, s.x(0), s.x(1))


def product(s: Site, a: int, b: int) -> int:
    """NumPy's rules: a vector is a row on the left and a column on the right."""
    left, right = s.b.shape(a), s.b.shape(b)
    if not left or not right:
        s.fail(f"{s.b.type(a)} and {s.b.type(b)} are no matrices")
    if len(left) == 1:
        a = s.b.reshape(a, (1, *left))
    if len(right) == 1:
        b = s.b.reshape(b, (*right, 1))
    y = s.b.matmul(a, b)
    shape = list(s.b.shape(y))
    if len(left) == 1:
        del shape[-2]
    if len(right) == 1:
        del shape[-1]
    return s.b.reshape(y, shape)


@op("Gemm")
def gemm(s: Site) -> int:
    a, b = s.x(0), s.x(1)
    a = s.b.permute(a, (1, 0)) if s.attr("transA", 0) else a
    b = s.b.permute(b, (1, 0)) if s.attr("transB", 0) else b
    y = s.b.matmul(a, b)
    alpha, beta = s.attr("alpha", 1.0), s.attr("beta", 1.0)
    y = _times(s, y, alpha)
    if not beta:
        s.idle(2)
    if not s.has(2) or not beta:
        return y
    return s.bin("add", y, _times(s, s.x(2), beta))


def _times(s: Site, x: int, factor: float) -> int:
    if factor == 1:
        return x
    if not s.b.type(x).dtype.is_float and factor != int(factor):
        raise Unread("integers times a fraction")
    return scaled(s, x, factor)


@op("MatMulInteger")
def matmul_integer(s: Site) -> int:
    zero = s.x(2) if s.has(2) else None
    if zero is not None and len(s.b.shape(zero)) == 1:  # one for each row
        zero = s.b.reshape(zero, (*s.b.shape(zero), 1))
    a, b = centred(s, 0, zero), centred(s, 1, s.x(3) if s.has(3) else None)
    terms, rank = s.shape(0)[-1], s.rank(1)
    if not (rank == 2 and isinstance(terms, int) and is_exact(s, 1, 3, 1, terms)):
        return s.b.matmul(a, b)
    return as_integers(s, s.b.matmul(as_float(s, a), as_float(s, b)))


@op("Einsum")
def einsum(s: Site) -> int:
    """Pairs of operands from left to right, sums as early as they can be."""
    equation = s.attr("equation").replace(" ", "")
    left, _, out = equation.partition("->")
    terms = left.split(",")
    if "..." in equation or any(len(set(t)) != len(t) for t in terms):
        raise Unread("an ellipsis or a diagonal")
    if "->" not in equation:
        letters = "".join(terms)
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    operands = list(zip(terms, s.xs(), strict=True))
    term, value = operands[0]
    for i, (other, y) in enumerate(operands[1:], 2):
        later = set(out).union(*(t for t, _ in operands[i:]))
        term, value = _pair(s, (term, value), (other, y), later)
    return _ordered(s, term, value, out)


def _pair(
    s: Site, a: tuple[str, int], b: tuple[str, int], later: set[str]
) -> tuple[str, int]:
    """The product of two terms, summed over what nothing later names."""
    letters = "".join(dict.fromkeys(a[0] + b[0]))
    kept = "".join(c for c in letters if c in later)
    gone = "".join(c for c in letters if c not in later)
    order = kept + gone
    x, y = (_spread(s, t, v, order) for t, v in (a, b))
    full = [p if q == 1 else q for p, q in
            zip(s.b.shape(x), s.b.shape(y), strict=True)]  # fmt: skip
    if not gone:
        return kept, s.bin("mul", x, y)
    mask = tuple(int(c in gone) for c in order)
    total = s.b.contract(x, y, full, mask)
    return kept, s.b.reshape(total, full[: len(kept)])


def _spread(s: Site, term: str, x: int, order: str) -> int:
    """An operand with an axis for each letter of `order`."""
    x = s.b.permute(x, [term.index(c) for c in order if c in term])
    sizes = iter(s.b.shape(x))
    return s.b.reshape(x, [next(sizes) if c in term else 1 for c in order])


def _ordered(s: Site, term: str, x: int, out: str) -> int:
    gone = [i for i, c in enumerate(term) if c not in out]
    if gone:
        x = s.b.reduce("sum", x, gone)
        kept = [d for i, d in enumerate(s.b.shape(x)) if i not in gone]
        x = s.b.reshape(x, kept)
        term = "".join(c for c in term if c in out)
    return s.b.permute(x, [term.index(c) for c in out])
