"""Random graphs that make infinities and NaN: poles, masks, guards, softmax of masked
rows.  For analysis, which must know where none can be."""

import random

import numpy as np

from rewrite.egraph.ir.dtypes import BOOL, F32, F64, I32, DType
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.scalars import UNARY, Array

SHAPE = (2, 3, 4)
PAIRS = ("add", "sub", "mul", "div", "max", "min", "pow", "mod", "floordiv")
VALUES = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-6, np.inf, -np.inf, np.nan, -1.7e308, 1e9)
FLOATS = [s.name for s in UNARY if "float" in s.takes and not s.gives_bool]


class Wild:
    """Adds one random op at a time to values of one shape or of its rows."""

    def __init__(self, seed: int) -> None:
        self.rng, self.b = random.Random(seed), Builder()
        self.draws = np.random.default_rng(seed)
        self.pool = [self.b.input(f"x{i}", F64, SHAPE) for i in range(2)]
        self.pool.append(self.b.array(self.mask()))
        self.conds = [self.b.input("c", self.b.type(self.cond()).dtype, SHAPE)]
        self.conds.append(self.cond())

    def mask(self) -> Array:
        kept = self.draws.random(SHAPE) < 0.6
        return np.where(kept, 0.0, self.rng.choice((-np.inf, -1.7e308)))

    def cond(self) -> int:
        i, j = (self.b.iota(self.rng.randrange(3), I32, SHAPE) for _ in range(2))
        return self.b.bin(self.rng.choice(("le", "lt", "ne")), i, j)

    def const(self) -> int:
        return self.b.const(self.rng.choice(VALUES), F64, SHAPE)

    def pick(self) -> int:
        return self.rng.choice([*self.pool[-6:], *self.pool[:3]])

    def any(self) -> int:
        return self.const() if self.rng.random() < 0.3 else self.pick()

    def axes(self) -> list[int]:
        return self.rng.sample(range(3), self.rng.randint(1, 3))

    def rounded(self, x: int) -> int:
        to: DType = self.rng.choice((F32, I32))
        return self.b.cast(self.b.cast(x, to), F64)

    def moved(self, x: int) -> int:
        """Movement there and back, or a piece that is put in its place again."""
        b = self.b
        match self.rng.randrange(5):
            case 0:
                return b.permute(b.permute(x, (2, 0, 1)), (1, 2, 0))
            case 1:
                return b.reshape(b.reshape(x, (6, 4)), SHAPE)
            case 2:
                part = b.slice(x, (0, 1, 0), (2, 2, 4), (1, 1, 1))
                return b.pad(part, (0, 0, 0), (0, 1, 0), self.rng.choice(VALUES))
            case 3:
                a = b.slice(x, (0, 0, 0), (2, 3, 1), (1, 1, 1))
                rest = b.slice(self.pick(), (0, 0, 0), (2, 3, 3), (1, 1, 1))
                return b.concat([a, rest], 2)
            case _:
                return b.expand(b.slice(x, (0, 0, 0), (2, 1, 4), (1, 1, 1)), SHAPE)

    def folded(self, x: int) -> int:
        op = self.rng.choice(("max", "min", "sum", "sum", "prod"))
        return self.b.expand(self.b.reduce(op, x, self.axes()), SHAPE)

    def softmax(self, x: int) -> int:
        """Scores, masked or not; the macro, its expansion, or a quotient."""
        b, mask = self.b, (0, 0, 1)
        if self.rng.random() < 0.5:
            x = b.select(self.rng.choice(self.conds), x, self.const())
        if self.rng.random() < 0.5:
            return b.macro(self.rng.choice(("softmax", "log_softmax")), [x], mask)
        top = b.expand(b.reduce("max", x, [2]), SHAPE)
        e = b.un("exp", b.bin("sub", x, top))
        return b.bin("div", e, b.expand(b.reduce("sum", e, [2]), SHAPE))

    def guarded(self, x: int) -> int:
        b, zero = self.b, self.b.const(0.0, F64, SHAPE)
        if self.rng.random() < 0.5:
            return b.select(b.un("isnan", x), zero, x)
        return b.select(b.un("isfinite", x), x, zero)

    def product(self, x: int) -> int:
        b, y = self.b, self.b.reshape(self.pick(), (2, 4, 3))
        square = b.matmul(x, y)
        return b.matmul(square, self.pick())

    def grow(self) -> None:
        x, b, rng = self.pick(), self.b, self.rng
        match rng.randrange(16):
            case 0 | 1 | 2:
                made = b.un(rng.choice(FLOATS), x)
            case 3 | 4 | 5 | 6:
                y = x if rng.random() < 0.2 else self.any()
                made = b.bin(rng.choice(PAIRS), *rng.sample((x, y), 2))
            case 7:
                made = b.select(rng.choice(self.conds), x, self.any())
            case 8:
                made = self.rounded(x)
            case 9 | 10:
                made = self.moved(x)
            case 11:
                made = self.folded(x)
            case 12 | 13:
                made = self.softmax(x)
            case 14:
                made = self.guarded(x)
            case _:
                made = self.product(x)
        self.pool.append(made)


def wild_graph(seed: int, ops: int = 14) -> Graph:
    wild = Wild(seed)
    for _ in range(ops):
        wild.grow()
    return wild.b.build(wild.pool[-2:])


def drawn(graph: Graph, seed: int) -> dict[str, Array]:
    """Finite inputs of ordinary size, with zeros among them."""
    rng = np.random.default_rng(seed)
    out: dict[str, Array] = {}
    for n in graph.inputs:
        shape = tuple(int(d) for d in n.shape)  # type: ignore[arg-type]
        value = np.where(rng.random(shape) < 0.2, 0.0, 2 * rng.normal(size=shape))
        if not n.dtype.is_float:
            low = 0 if n.dtype.kind != "int" else -5
            value = rng.integers(low, 2 if n.dtype is BOOL else 6, shape)
        out[n.attrs[0]] = np.asarray(value).astype(n.dtype.numpy)
    return out
