"""Small random graphs over most ops, for tests that need many."""

import random

from rewrite.egraph.ir.dtypes import BOOL, F32
from rewrite.egraph.ir.graph import Builder, Graph


class Grower:
    """Adds one random op at a time; every node made is a candidate operand."""

    def __init__(self, seed: int) -> None:
        self.rng, self.b = random.Random(seed), Builder()
        shapes = [(2, 3), (2, 1), (1, 3), (3,), (2, 3, 2), (0, 3)]
        self.pool = [self.b.input(f"x{i}", F32, s) for i, s in enumerate(shapes)]

    def pick(self) -> int:
        return self.rng.choice(self.pool[-8:] + self.pool[:3])

    def grow(self) -> None:
        a, b, rng = self.pick(), self.b, self.rng
        shape = b.shape(a)
        match rng.randrange(12):
            case 0:
                self.pool.append(b.un(rng.choice(("neg", "abs", "exp", "tanh")), a))
            case 1 | 2:
                self.binary(rng.choice(("add", "sub", "mul", "max", "min")), a)
            case 3:
                value = rng.choice((0.0, 1.0, -1.0, 2.0, 0.5))
                other = b.const(value, F32, shape)
                self.pool.append(b.bin(rng.choice(("add", "mul", "sub")), a, other))
            case 4:
                perm = rng.sample(range(len(shape)), len(shape))
                self.pool.append(b.permute(a, perm))
            case 5:
                sizes = [n for n in shape if n != 1] + [1] * rng.randrange(2)
                self.pool.append(b.reshape(a, sizes))
            case 6 | 7 if shape:
                axes = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
                self.pool.append(b.reduce(rng.choice(("sum", "max", "min")), a, axes))
            case 8:
                target = [rng.choice((2, 3)) if n == 1 else n for n in shape]
                self.pool.append(b.expand(a, target))
            case 9:
                self.cut(a)
            case 10:
                low = [rng.randrange(2) for _ in shape]
                self.pool.append(b.pad(a, low, [1] * len(shape), 0.0))
            case _ if shape and shape[-1] and len(shape) > 1:
                mask = (*([0] * (len(shape) - 1)), 1)
                op = rng.choice(("softmax", "mean", "logsumexp"))
                self.pool.append(b.macro(op, [a], mask))
            case _:
                self.chosen(a)

    def binary(self, op: str, a: int) -> None:
        same = [x for x in self.pool if self.b.shape(x) == self.b.shape(a)]
        self.pool.append(self.b.bin(op, a, self.rng.choice(same)))

    def chosen(self, a: int) -> None:
        zero = self.b.const(0.0, F32, self.b.shape(a))
        cond = self.b.bin("lt", a, zero)
        assert self.b.type(cond).dtype is BOOL
        self.pool.append(self.b.select(cond, a, zero))

    def cut(self, a: int) -> None:
        shape, rng = self.b.shape(a), self.rng
        size = [rng.randint(min(1, n), n) for n in shape]
        start = [rng.randint(0, n - k) for n, k in zip(shape, size, strict=True)]
        self.pool.append(self.b.slice(a, start, size, [1] * len(shape)))


def random_graph(seed: int, ops: int = 14) -> Graph:
    grower = Grower(seed)
    for _ in range(ops):
        grower.grow()
    return grower.b.build(grower.pool[-3:])
