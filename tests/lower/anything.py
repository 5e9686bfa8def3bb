"""Any functions, right or wrong, for what must take all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from rewrite.egraph.ir.dtypes import ALL, BOOL, F32, F64, I32, I64
from rewrite.egraph.ir.scalars import BINARY, UNARY
from rewrite.lower.loops import (
    Array,
    Assign,
    Barrier,
    Beside,
    Box,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Function,
    GroupReduce,
    If,
    Let,
    Lit,
    Load,
    Op,
    Param,
    Ring,
    Send,
    Stmt,
    Store,
    Tensor,
    Var,
    Windows,
)  # fmt: skip

NAMES = st.sampled_from(
    ("a", "b", "i1", "let", "inf", "f32", "in", "x y", "e5", "nan_f32")
)
DTYPES = st.one_of(st.sampled_from((I32, F32, BOOL, I64, F64)), st.sampled_from(ALL))
LANES = st.sampled_from((1, 1, 1, 4))
SIZES = st.integers(0, 70)
VARS = st.builds(Var, NAMES, DTYPES, LANES)
LITS = st.builds(
    Lit,
    st.one_of(st.integers(), st.floats(), st.booleans(), st.integers(0, 3)),
    DTYPES,
)
ARITY = {
    **{s.name: 1 for s in UNARY}, **{s.name: 2 for s in BINARY}, "idiv": 2, "imod": 2,
    "fma": 3, "select": 3, "cast": 1, "bitcast": 1, "splat": 1,
}  # fmt: skip


def _larger(inner: st.SearchStrategy[Ex]) -> st.SearchStrategy[Ex]:
    def op(name: str) -> st.SearchStrategy[Op]:
        args = st.tuples(*(inner for _ in range(ARITY[name])))
        return st.builds(Op, st.just(name), args, DTYPES, LANES)

    def fitting(name: str) -> st.SearchStrategy[Op]:
        """With the type of an operand, as most have."""
        args = st.tuples(*(inner for _ in range(ARITY[name])))
        return args.map(lambda a: Op(name, a, a[-1].dtype))

    names = st.sampled_from(sorted(ARITY))
    some = st.sampled_from(("add", "mul", "sub", "lt", "and", "idiv", "select", "div"))
    return st.one_of(
        some.flatmap(fitting), names.flatmap(op),
        st.builds(Load, NAMES, inner, DTYPES, LANES),
    )  # fmt: skip


VALUES: st.SearchStrategy[Ex] = st.recursive(
    st.one_of(VARS, LITS), _larger, max_leaves=6
)


def _tensors(rank: int) -> st.SearchStrategy[Tensor]:
    sizes = st.tuples(*(SIZES for _ in range(rank)))
    places = st.tuples(*(st.integers(-9, 9) for _ in range(rank)))
    windows = st.builds(Windows, places, sizes, sizes)
    lie = st.one_of(st.none(), windows)
    return st.builds(Tensor, NAMES, sizes, sizes, sizes, lie)


def _boxes(rank: int) -> st.SearchStrategy[Box]:
    corner = st.tuples(*(VALUES for _ in range(rank)))
    return st.builds(Box, NAMES, VALUES, _tensors(rank), corner, st.booleans())


BOXES = st.integers(1, 3).flatmap(_boxes)


def _nested(inner: st.SearchStrategy[Stmt]) -> st.SearchStrategy[Stmt]:
    body = st.lists(inner, max_size=4).map(tuple)
    kinds = st.sampled_from(("grid", "block", "thread", "serial", "simd", "unroll"))
    return st.one_of(
        st.builds(For, VARS, SIZES, kinds, body, st.integers(1, 4)),
        st.builds(If, VALUES, body),
        st.builds(Beside, SIZES, body, body),
    )


STATEMENTS: st.SearchStrategy[Stmt] = st.recursive(
    st.one_of(
        st.builds(Let, VARS, VALUES, st.booleans()),
        st.builds(Assign, VARS, VALUES),
        st.builds(Array, NAMES, DTYPES, SIZES, st.sampled_from(("local", "shared"))),
        st.builds(Store, NAMES, VALUES, VALUES, LANES),
        st.builds(Fetch, NAMES, VALUES, st.booleans()),
        st.just(Barrier()),
        st.builds(Ring, NAMES, SIZES),
        st.builds(Fill, NAMES, VALUES, st.lists(BOXES, max_size=2).map(tuple)),
        st.builds(Full, NAMES, VALUES),
        st.builds(Free, NAMES, VALUES, SIZES),
        st.builds(Send, SIZES, SIZES, SIZES, NAMES, BOXES),
        st.builds(
            GroupReduce, VARS, st.sampled_from(("sum", "max")),
            st.sampled_from((0, 2, 3)),
        ),
    ),
    _nested,
    max_leaves=8,
)  # fmt: skip
FLAGS = st.booleans()
PARAMS = st.lists(st.builds(Param, NAMES, DTYPES, SIZES, FLAGS, FLAGS), max_size=3)
FUNCTIONS = st.builds(
    Function, NAMES, PARAMS.map(tuple), st.lists(STATEMENTS, max_size=5).map(tuple),
    PARAMS.map(tuple), st.integers(1, 64),
)  # fmt: skip
