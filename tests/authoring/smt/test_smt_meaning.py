"""The meanings that proofs use agree with the reference evaluator, op by op."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from rewrite.authoring.smt.meaning.tensors import MEANINGS
from rewrite.egraph.ir.dtypes import BOOL, F16, F32, F64, I8, I32, U8, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import TABLE, Array
from tests.authoring.smt.smt_graphs import element, symbolic_element

type Make = Callable[[Random, Builder], int]
MAKERS: dict[str, Make] = {}
# No one knows the values of the first two; of a sort no proof is tried.
OPAQUE = {"call", "sort", "argsort"}


def maker(op: str) -> Callable[[Make], Make]:
    def keep(f: Make) -> Make:
        MAKERS[op] = f
        return f

    return keep


def sizes(rng: Random, rank: int | None = None, least: int = 0) -> tuple[int, ...]:
    n = rng.randrange(4) if rank is None else rank
    return tuple(
        rng.choice([k for k in (0, 1, 2, 3, 4) if k >= least]) for _ in range(n)
    )


def fresh(b: Builder, dtype: DType, shape: tuple[int, ...]) -> int:
    return b.input(f"x{len(b.nodes)}", dtype, shape)


def mask(rng: Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.randrange(2) for _ in range(rank))


@maker("input")
def _(rng: Random, b: Builder) -> int:
    return fresh(b, F64, sizes(rng))


@maker("const")
def _(rng: Random, b: Builder) -> int:
    dtype = rng.choice((F32, I8, BOOL))
    return b.const(
        rng.choice((0, 1)) if dtype is BOOL else rng.randrange(-4, 5), dtype, sizes(rng)
    )


@maker("data")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    return b.array(np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape))


@maker("iota")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng, rng.randrange(1, 4))
    return b.iota(rng.randrange(len(shape)), rng.choice((F32, U8, I32)), shape)


@maker("un")
def _(rng: Random, b: Builder) -> int:
    return b.un(rng.choice(("neg", "exp", "relu")), fresh(b, F64, sizes(rng)))


@maker("barrier")
def _(rng: Random, b: Builder) -> int:
    return b.add("barrier", (fresh(b, F64, sizes(rng)),), (rng.randrange(3),))


@maker("bin")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    args = [fresh(b, F64, shape) for _ in range(2)]
    return b.bin(rng.choice(("sub", "pow", "lt", "max")), *args)


@maker("select")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    return b.select(fresh(b, BOOL, shape), fresh(b, I32, shape), fresh(b, I32, shape))


@maker("cast")
def _(rng: Random, b: Builder) -> int:
    return b.cast(fresh(b, F64, sizes(rng)), rng.choice((F16, I8, BOOL)))


@maker("bitcast")
def _(rng: Random, b: Builder) -> int:
    return b.add("bitcast", [fresh(b, F32, sizes(rng))], (I32,))


@maker("reshape")
def _(rng: Random, b: Builder) -> int:
    a, c, d = sizes(rng, 3, 1)
    source = rng.choice(((a * c, d), (a, c, d), (1, a, c * d), (a, 1, c, d)))
    target = rng.choice(((a * c * d,), (a, c * d), (a, c, d, 1), (d, a * c)))
    inner = b.un("neg", b.reshape(fresh(b, F64, source), target))
    return b.reshape(inner, rng.choice((source, (c, d, a))))


@maker("permute")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    return b.permute(fresh(b, F64, shape), rng.sample(range(len(shape)), len(shape)))


@maker("expand")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    grows = mask(rng, len(shape))
    thin = tuple(1 if g else n for g, n in zip(grows, shape, strict=True))
    return b.add("expand", [fresh(b, F64, thin)], (shape, grows))


@maker("pad")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    amounts = [[rng.randrange(3) for _ in shape] for _ in range(2)]
    return b.pad(fresh(b, F32, shape), *amounts, rng.choice((0.0, 2.5)))


@maker("slice")
def _(rng: Random, b: Builder) -> int:
    shape = tuple(n + 2 for n in sizes(rng, None, 1))
    start = [rng.randrange(n) for n in shape]
    step = [rng.choice((-2, -1, 1, 2)) for _ in shape]
    room = [
        (n - 1 - a) // d if d > 0 else a // -d
        for n, a, d in zip(shape, start, step, strict=True)
    ]
    take = [rng.randint(min(1, r), r + 1) for r in room]
    return b.slice(fresh(b, F64, shape), start, take, step)


@maker("window")
def _(rng: Random, b: Builder) -> int:
    shape = (*sizes(rng, rng.randrange(2)), 7, *sizes(rng, rng.randrange(2)))
    axis = shape.index(7)
    return b.window(
        fresh(b, F64, shape),
        axis,
        rng.randint(1, 3),
        rng.randint(1, 2),
        rng.randint(1, 2),
    )


@maker("concat")
def _(rng: Random, b: Builder) -> int:
    shape = list(sizes(rng, rng.randrange(1, 4)))
    axis = rng.randrange(len(shape))
    parts: list[int] = []
    for _ in range(rng.randint(2, 3)):
        shape[axis] = rng.randrange(4)
        parts.append(fresh(b, F64, tuple(shape)))
    return b.concat(parts, axis)


@maker("reduce")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng)
    kind = rng.choice(("sum", "prod", "max", "min", "any"))
    x = fresh(b, BOOL if kind == "any" else rng.choice((F64, I8)), shape)
    return b.reduce(kind, x, [k for k, m in enumerate(mask(rng, len(shape))) if m])


@maker("scan")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng, rng.randrange(1, 4))
    kind = rng.choice(("sum", "prod", "max", "min", "any"))
    x = fresh(b, BOOL if kind == "any" else rng.choice((F64, I8)), shape)
    return b.scan(kind, x, rng.randrange(len(shape)))


@maker("argreduce")
def _(rng: Random, b: Builder) -> int:
    shape = sizes(rng, rng.randrange(1, 4), 1)
    kind = rng.choice(("argmax", "argmin"))
    return b.add(
        "argreduce", [fresh(b, I8, shape)], (kind, rng.randrange(len(shape)), I32)
    )


@maker("contract")
def _(rng: Random, b: Builder) -> int:
    full = sizes(rng)
    thin = [tuple(rng.choice((1, n)) for n in full) for _ in range(2)]
    dtype = rng.choice((F64, I32))
    args = [fresh(b, dtype, s) for s in thin]
    return b.contract(*args, full, mask(rng, len(full)))


@maker("gather")
def _(rng: Random, b: Builder) -> int:
    shape = list(sizes(rng, rng.randrange(1, 4)))
    axis = rng.randrange(len(shape))
    x = fresh(b, F64, tuple(shape))
    shape[axis] = rng.randrange(4)
    return b.gather(x, fresh(b, I8, tuple(shape)), axis)


@maker("scatter")
def _(rng: Random, b: Builder) -> int:
    shape = list(sizes(rng, rng.randrange(1, 3), 1))
    axis = rng.randrange(len(shape))
    x = fresh(b, F64, tuple(shape))
    shape[axis] = rng.randrange(4)
    rest = [fresh(b, d, tuple(shape)) for d in (I8, F64)]
    mode = rng.choice(("set", "add", "mul", "max", "min"))
    return b.add("scatter", [x, *rest], (mode, axis))


def _macro(name: str) -> Make:
    def make(rng: Random, b: Builder) -> int:
        shape = sizes(rng, rng.randrange(1, 4), 1)
        over = mask(rng, len(shape))
        over = over if any(over) else (1, *over[1:])
        thin = [tuple(rng.choice((1, n)) for n in shape) for _ in range(2)]
        args = [fresh(b, F64, s) for s in (shape, *thin)[: MACROS[name].arity]]
        more = (0.25,) if len(MACROS[name].attrs) == 2 else ()
        return b.macro(name, args, over, *more)

    return make


for _name in ("softmax", "log_softmax", "logsumexp", "mean", "layer_norm", "rms_norm"):
    MAKERS[_name] = _macro(_name)


@maker("attention")
def _(rng: Random, b: Builder) -> int:
    lead, (s, t, d, e) = sizes(rng, rng.randrange(2), 1), sizes(rng, 4, 1)
    shapes = ((*lead, s, d), (*lead, t, d), (*lead, t, e))
    return b.macro("attention", [fresh(b, F64, x) for x in shapes], 0.5)


@maker("conv")
def _(rng: Random, b: Builder) -> int:
    axes, groups = rng.randint(1, 2), rng.randint(1, 2)
    parts = [[rng.randint(least, 2) for _ in range(axes)] for least in (1, 1, 0, 0)]
    channels, filters = rng.randint(1, 2), groups * rng.randint(1, 2)
    x = fresh(b, F64, (rng.randint(1, 2), channels * groups, *sizes(rng, axes, 3)))
    w = fresh(b, F64, (filters, channels, *(rng.randint(1, 2) for _ in range(axes))))
    frame = (groups, *(n for p in parts for n in p))
    return b.macro("conv", [x, w, fresh(b, F64, (filters,))], frame)


# ---- the comparison ------------------------------------------------------------------


def values(graph: Graph, rng: Random) -> dict[str, Array]:
    r = np.random.default_rng(rng.randrange(1 << 30))
    out: dict[str, Array] = {}
    for node in graph.inputs:
        shape = tuple(int(n) for n in node.shape)  # type: ignore[arg-type]
        array = (
            r.integers(-3, 6, shape)
            if node.dtype is not BOOL
            else r.random(shape) < 0.5
        )
        if node.dtype.is_float:
            array = array + 0.25
        out[node.attrs[0]] = np.asarray(array).astype(node.dtype.numpy)
    return out


def test_every_op_has_a_meaning_and_is_tried() -> None:
    assert set(MAKERS) | OPAQUE == set(TABLE) | set(MACROS)
    assert set(MEANINGS) == set(TABLE)


def compared(op: str, made: int = 30) -> int:
    """How many elements were compared."""
    rng, count = Random(op), 0
    for _ in range(made):
        b = Builder()
        graph = b.build([MAKERS[op](rng, b)])
        inputs = values(graph, rng)
        with np.errstate(all="ignore"):
            want = evaluate(graph, inputs)["out0"]
            for at in list(np.ndindex(want.shape))[:: max(1, want.size // 8)]:
                got = element(graph, inputs, at)
                assert got.dtype == want.dtype
                same(got, want[at], f"{graph.nodes} at {at}")
                count += 1
    return count


def same(got: Array, want: Array, where: str) -> None:
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=1e-12, err_msg=where
    )


@pytest.mark.sweep(2)
@pytest.mark.parametrize("op", sorted(MAKERS))
def test_meaning_agrees_with_the_evaluator(op: str) -> None:
    assert compared(op, 8 if op == "attention" else 30) >= 20


@pytest.mark.parametrize("name", sorted(set(MACROS) - {"conv"}))
def test_macros_of_unknown_sizes_agree_with_the_evaluator(name: str) -> None:
    """The expansion read back from its witness, then given the sizes."""
    rng, count = Random(name), 0
    for _ in range(6):
        b = Builder()
        graph = b.build([MAKERS[name](rng, b)])
        inputs = values(graph, rng)
        want = evaluate(graph, inputs)["out0"]
        for at in list(np.ndindex(want.shape))[:2]:
            same(
                symbolic_element(graph, inputs, at), want[at], f"{graph.nodes} at {at}"
            )
            count += 1
    assert count >= 6


def test_a_wrong_meaning_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: a slice that counts from the first element."""
    plain = MEANINGS["slice"]

    def wrong(w, args, attrs):  # type: ignore[no-untyped-def]
        start, size, step = attrs
        return plain(w, args, ([0] * len(start), size, [abs(d) for d in step]))

    monkeypatch.setitem(MEANINGS, "slice", wrong)
    with pytest.raises((AssertionError, IndexError)):
        compared("slice")
