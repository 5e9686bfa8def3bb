"""A transformer layer written with primitives, as a framework would lower it."""

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph


class Transformer:
    def __init__(self, rows: int, width: int, heads: int) -> None:
        self.rows, self.width, self.heads = rows, width, heads
        self.b = Builder()

    def scalar(self, op: str, x: int, value: float) -> int:
        like = self.b.const(value, F32, (1,) * len(self.b.shape(x)))
        return self.b.bin(op, *self.b.broadcast(x, like))

    def both(self, op: str, x: int, y: int) -> int:
        return self.b.bin(op, *self.b.broadcast(x, y))

    def norm(self, x: int, name: str) -> int:
        b, n = self.b, self.width
        mean = self.scalar("mul", b.reduce("sum", x, [1]), 1 / n)
        d = self.both("add", x, b.un("neg", mean))
        power = self.scalar("mul", b.reduce("sum", b.bin("mul", d, d), [1]), 1 / n)
        scale = b.un("recip", b.un("sqrt", self.scalar("add", power, 1e-5)))
        y = self.both("mul", d, scale)
        y = self.both("mul", y, b.input(f"{name}.gain", F32, (1, n)))
        return self.both("add", y, b.input(f"{name}.bias", F32, (1, n)))

    def linear(self, x: int, name: str, size: int) -> int:
        b = self.b
        weight = b.input(f"{name}.w", F32, (b.shape(x)[-1], size))
        return self.both(
            "add", b.matmul(x, weight), b.input(f"{name}.b", F32, (1, size))
        )

    def split(self, x: int) -> int:
        size = self.width // self.heads
        return self.b.permute(
            self.b.reshape(x, (self.rows, self.heads, size)), (1, 0, 2)
        )

    def attention(self, x: int, name: str) -> int:
        b = self.b
        q, k, v = (self.split(self.linear(x, f"{name}.{n}", self.width)) for n in "qkv")
        scores = b.matmul(q, b.permute(k, (0, 2, 1)))
        scores = self.scalar("mul", scores, (self.width // self.heads) ** -0.5)
        e = b.un("exp", self.both("sub", scores, b.reduce("max", scores, [2])))
        p = self.both("div", e, b.reduce("sum", e, [2]))
        y = b.permute(b.matmul(p, v), (1, 0, 2))
        y = b.reshape(y, (self.rows, self.width))
        return self.linear(y, f"{name}.out", self.width)

    def layer(self, x: int, name: str) -> int:
        b = self.b
        x = b.bin("add", x, self.attention(self.norm(x, f"{name}.n1"), f"{name}.att"))
        h = self.linear(self.norm(x, f"{name}.n2"), f"{name}.up", 4 * self.width)
        gate = self.scalar("add", b.un("exp", b.un("neg", h)), 1.0)
        h = b.bin("mul", h, b.un("recip", gate))
        return b.bin("add", x, self.linear(h, f"{name}.down", self.width))


def transformer(
    layers: int = 1, rows: int = 4, width: int = 8, heads: int = 2
) -> Graph:
    t = Transformer(rows, width, heads)
    x = t.b.input("x", F32, (rows, width))
    for i in range(layers):
        x = t.layer(x, f"l{i}")
    return t.b.build({"y": x})
