"""Kernels as data, of every form that the text has; what they compute means nothing."""

from __future__ import annotations

from hypothesis import strategies as st

from rewrite.egraph.ir.dtypes import ALL, F32, DType
from rewrite.egraph.ir.scalars import BY_NAME, CHOICES, MONOIDS
from rewrite.extract.schedule.kernel import (
    Affine,
    Atom,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Output,
    Update,
    Val,
    exactly,
)

INTS = st.integers(-(2**40), 2**40)
SIZES = st.integers(0, 2**40)
DTYPES = st.sampled_from(ALL)
CONSTANTS = st.one_of(st.floats(), st.integers(-(2**63), 2**64), st.booleans())


def affines(axes: int, exprs: int) -> st.SearchStrategy[Affine]:
    plain: list[st.SearchStrategy[Atom]] = []
    if axes:
        plain.append(st.integers(0, axes - 1))
    if exprs:
        plain.append(st.integers(0, exprs - 1).map(Val))
    atoms: st.SearchStrategy[Atom] = st.one_of(plain)

    def of(inner: st.SearchStrategy[Atom]) -> st.SearchStrategy[Affine]:
        terms = st.lists(st.tuples(inner, INTS.filter(bool)), max_size=3)
        return st.builds(Affine, terms.map(tuple), INTS)

    def deeper(inner: st.SearchStrategy[Atom]) -> st.SearchStrategy[Atom]:
        parts = st.tuples(of(inner), st.integers(1, 99))
        return st.one_of(
            parts.map(lambda p: Div(*p)),
            parts.map(lambda p: Mod(*p)),
        )

    if not plain:
        return INTS.map(lambda c: Affine((), c))
    return of(st.recursive(atoms, deeper, max_leaves=4))


@st.composite
def expressions(draw: st.DrawFn, slots: int, axes: int, exprs: int) -> Expr:
    dtype: DType = draw(DTYPES)
    index = affines(axes, exprs)
    conds = st.lists(st.builds(Cond, index, INTS, INTS), max_size=2).map(tuple)
    forms = ["const", "index", "inside"]
    forms += ["load"] * bool(slots) + ["op", "reduce", "scan"] * bool(exprs)
    form = draw(st.sampled_from(forms))
    match form:
        case "load":
            slot = draw(st.integers(0, slots - 1))
            return Expr("load", (), (slot, draw(index), draw(conds)), dtype)
        case "const":
            return Expr("const", (), exactly(draw(CONSTANTS)), dtype)
        case "index":
            return Expr("index", (), (draw(index),), dtype)
        case "inside":
            return Expr("inside", (), (draw(conds),), dtype)
        case "reduce":
            names = (*MONOIDS, *CHOICES)
            monoid = draw(st.sampled_from(names))
            count, attr = 1 + (monoid in CHOICES), (monoid, draw(some(axes)), F32)
        case "scan":
            count, attr = 1, (draw(st.sampled_from([*MONOIDS])), draw(some(axes)), F32)
        case _:
            form = draw(st.sampled_from((*BY_NAME, "select", "cast", "bitcast")))
            count, attr = 3 if form == "select" else 1, ()
            count = BY_NAME[form].arity if form in BY_NAME else count
    args = [draw(st.integers(0, exprs - 1)) for _ in range(count)]
    return Expr(form, tuple(args), attr, dtype)


def some(axes: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.permutations(range(axes)).flatmap(
        lambda order: st.integers(0, axes).map(lambda n: tuple(order[:n]))
    )


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    extents = draw(st.lists(SIZES, max_size=4))
    reads, writes = draw(st.integers(0, 3)), draw(st.integers(1, 2))
    slots = [(draw(DTYPES), draw(SIZES)) for _ in range(reads + writes)]
    axes, exprs = len(extents), list[Expr]()
    for i in range(draw(st.integers(1, 6))):
        exprs.append(draw(expressions(len(slots), axes, i)))
    free = [draw(st.integers(0, (1 << axes) - 1)) for _ in exprs]
    value = st.integers(0, len(exprs) - 1)
    modes = st.sampled_from(["set", *(n for n, o in BY_NAME.items() if o.arity == 2)])
    update = st.one_of(st.none(), st.builds(Update, modes, value, some(axes)))
    outputs = [
        Output(
            s, draw(value), draw(some(axes)), draw(affines(axes, len(exprs))),
            draw(update),
        )
        for s in range(reads, len(slots))
    ]  # fmt: skip
    marks = [draw(st.integers(0, (1 << reads) - 1)) for _ in range(2)]
    return Kernel(
        tuple(extents), tuple(exprs), tuple(free), tuple(outputs), tuple(slots), reads,
        *marks,
    )  # fmt: skip
