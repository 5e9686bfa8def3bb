"""Random well-typed graphs, biased towards the shapes that optimizers get wrong.

`exact` graphs only hold operations that are exact on their inputs; `smooth` ones hold
transcendental operations, and nothing discontinuous after a rounded value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from rewrite.egraph.ir.dtypes import BOOL, I32, DType
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.scalars import BY_NAME

from .bounds import Bound
from .draw import DTYPES, LARGEST, Mode
from .macros import Named

# Functions that are safe on any bounded value, and those that need a positive one.
_SMOOTH = ("exp", "tanh", "sigmoid", "erf", "sin", "cos", "gelu", "gelu_tanh", "silu",
           "softplus", "square", "relu", "abs", "neg", "expm1", "exp2",
           "atan")  # fmt: skip
_POSITIVE = ("log", "log2", "log1p", "sqrt", "rsqrt", "recip")
_EXACT = {
    "float": ("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "square", "relu",
              "isnan", "isfinite"),
    "int": ("neg", "abs", "sign", "not"),
    "uint": (),
    "bool": ("not",),
}  # fmt: skip
_PAIRS = {
    "float": ("add", "sub", "mul", "max", "min", "lt", "le", "eq", "ne"),
    "int": ("add", "sub", "mul", "max", "min", "and", "or", "xor", "floordiv", "mod",
            "lt", "le", "eq", "ne"),
    "uint": ("add", "mul", "max", "min", "and", "or", "xor", "lt", "eq"),
    "bool": ("and", "or", "xor", "eq", "ne"),
}  # fmt: skip


def random_graph(
    seed: int,
    mode: Mode = "exact",
    size: int = 14,
    dtypes: Sequence[DType] = DTYPES,
) -> Graph:
    """A graph of about `size` operations; the same for the same arguments, always."""
    return _Generator(Random(f"{seed} {mode} {size}"), mode, dtypes).graph(seed, size)


class _Generator(Named):
    # -- the whole --

    def graph(self, seed: int, size: int) -> Graph:
        for _ in range(self.rng.randint(1, 3)):
            self._input(self._shape(), self._dtype())
        made = 0
        for _ in range(20 * size):
            made += self._step()
            if made >= size:
                break
        graph = self.b.build(self._outputs())
        return Graph(graph.nodes, graph.outputs, f"fuzz_{self.mode}_{seed}")

    def _outputs(self) -> dict[str, int]:
        """The deepest unused values; sometimes an inner node or an input as well."""
        used = {a for n in self.b.nodes for a in n.args}
        sinks = [i for i in self.bound if i not in used] or list(self.bound)
        depth: list[int] = []  # how many nodes lie behind each, counted with repetition
        for n in self.b.nodes:
            depth.append(1 + sum(depth[a] for a in n.args))
        sinks.sort(key=lambda i: -depth[i])
        chosen = sinks[: self.rng.choice((1, 2, 2, 3, 4))]
        if self.rng.random() < 0.3:
            chosen.append(self._pick())
        return {f"out{i}": n for i, n in enumerate(chosen)}

    def _step(self) -> bool:
        """One more operation, or False where the drawn one does not apply."""
        makers: list[tuple[int, Callable[[], int | None]]] = [
            (7, self._unary), (11, self._binary), (5, self._reduce), (2, self._scan),
            (3, self._reshape),
            (3, self._permute), (3, self._expand), (2, self._slice), (2, self._pad),
            (1, self._window), (2, self._concat), (2, self._select), (2, self._cast),
            (3, self._contract), (2, self._gather), (1, self._scatter), (1, self._arg),
            (1, self._sort), (1, self._iota), (3, self._around), (2, self._nested),
            (2, self._grown), (2, self._chain), (1, self._again), (1, self._more),
            (1, self._barrier),
            (2 if self.mode == "smooth" else 0, self._macro),
        ]  # fmt: skip
        maker = self.rng.choices([m for _, m in makers], [w for w, _ in makers])[0]
        before = len(self.b.nodes)
        try:
            made = maker()
        except GraphError:  # the draw has no type: forget what it began
            made = None
        if made is None or made not in self.bound:
            self._forget(before)
            return False
        return len(self.b.nodes) > before

    def _forget(self, count: int) -> None:
        """Bounds and inputs of a failed step go; shared constants may stay."""
        for i in [i for i in self.bound if i >= count]:
            if self.b.nodes[i].op != "input":
                del self.bound[i]

    # -- elementwise --

    def _unary(self) -> int | None:
        x = self._pick()
        if not self._inexact(x):
            names = _EXACT[self._kind(x)]
            return self._exact_unary(x, self.rng.choice(names)) if names else None
        op = self.rng.choice((*_SMOOTH, *_POSITIVE))
        x = self._positive(x) if op in _POSITIVE else self._tamed(x, 3.0)
        top = {"exp": 20.1, "expm1": 20.1, "exp2": 8.0, "square": 9.0}.get(op, 4.0)
        return self._checked(self.b.un(op, x), Bound(top), rough=True)

    def _exact_unary(self, x: int, op: str) -> int | None:
        bound = self.bound[x]
        match op:
            case "square":
                after = bound.times(bound)
            case "sign" | "isnan" | "isfinite":
                after = Bound(1)
            case "floor" | "ceil" | "trunc" | "round":
                after = bound.whole()
            case "not":
                after = Bound(bound.top + 1)
            case _:
                after = bound
        return self._checked(self.b.un(op, x), after)

    def _binary(self) -> int | None:
        x = self._pick()
        y = self._partner(x)
        if self.rng.random() < 0.3:
            x, y = y, x
        if self._inexact(x):
            return self._smooth_binary(x, y)
        op = self.rng.choice(_PAIRS[self._kind(x)])
        return self._checked(self.b.bin(op, x, y), self._after(op, x, y))

    def _smooth_binary(self, x: int, y: int) -> int | None:
        op = self.rng.choice(("add", "sub", "mul", "max", "min", "div"))
        if op == "div":
            self.bound[y] = self._bound_of(y)
            y = self._positive(y)
        made = self.b.bin(op, x, y)
        a, b = self._bound_of(x), self._bound_of(y)
        after = Bound(2 * a.top) if op == "div" else self._after(op, x, y)
        rough = a.top > 0 and b.top > 0
        return self._checked(made, Bound(after.top), rough)

    def _after(self, op: str, x: int, y: int) -> Bound:
        a, b = self._bound_of(x), self._bound_of(y)
        if BY_NAME[op].gives_bool:
            return Bound(1)
        match op:
            case "add" | "sub":
                return a.plus(b)
            case "mul":
                return a.times(b)
            case "and" | "or" | "xor":
                return Bound(2 ** math.ceil(math.log2(a.either(b).top + 2)))
            case "floordiv":
                return a.plus(Bound(1))
            case _:
                return a.either(b)

    def _select(self) -> int | None:
        x = self._pick()
        y = self._partner(x)
        bools = [i for i in self.bound if self._kind(i) == "bool"]
        fits = [c for c in bools if self._ints(c) == self._ints(x)]
        c = self.rng.choice(fits) if fits else self._condition(x)
        return self._checked(
            self.b.select(c, x, y), self._bound_of(x).either(self._bound_of(y))
        )

    def _condition(self, x: int) -> int:
        """A band of positions, as in a causal mask."""
        shape = self._ints(x)
        axes = [self.rng.randrange(len(shape)) for _ in range(2)] if shape else []
        if not axes:
            return self.b.const(self.rng.random() < 0.5, BOOL)
        i, j = (self.b.iota(a, I32, shape) for a in axes)
        if axes[0] == axes[1]:
            j = self.b.broadcast(self.b.const(shape[axes[0]] // 2, I32), i)[0]
        return self._keep(self.b.bin("lt", j, i), Bound(1))

    def _cast(self) -> int | None:
        x = self._pick(lambda i: not self._inexact(i))
        to = self.rng.choice(self.dtypes)
        if to is self.b.type(x).dtype:
            return None
        bound = self.bound[x]
        if self._kind(x) == "float" and to.is_int:
            bound = bound.whole()
        if to.kind == "uint" or (to.kind == "bool" and self._kind(x) == "float"):
            return None
        return self._checked(self.b.cast(x, to), Bound(1) if to is BOOL else bound)

    # -- reductions and products --

    def _reduce(self) -> int | None:
        x = self._pick(lambda i: bool(self._ints(i)))
        shape = self._ints(x)
        over = self.rng.sample(
            range(len(shape)), self.rng.randint(1, min(2, len(shape)))
        )
        return self._reduced(x, over)

    def _reduced(self, x: int, over: Sequence[int], monoid: str = "") -> int | None:
        count = math.prod(self._ints(x)[a] for a in over)
        bound = self.bound[x]
        if self._kind(x) == "bool":
            monoid = self.rng.choice(("any", "all"))
        else:
            monoid = monoid or self.rng.choice(
                ("sum", "sum", "sum", "max", "min", "prod")
            )
        if monoid in ("max", "min") and count == 0:
            return None  # an empty maximum is not finite
        if monoid == "sum":
            bound = bound.summed(count)
        if monoid == "prod":
            if count > 12:
                return None
            bound = Bound(max(bound.top, 1.0) ** count, bound.grain * count)
        rough = self._inexact(x) and monoid in ("sum", "prod")
        return self._checked(self.b.reduce(monoid, x, over), bound, rough)

    def _scan(self) -> int | None:
        x = self._pick(lambda i: bool(self._ints(i)))
        axis = self.rng.randrange(len(self._ints(x)))
        count = self._ints(x)[axis]
        bound, kinds = self.bound[x], ("sum", "sum", "max", "min", "prod")
        if self._kind(x) == "bool":
            kinds = ("any", "all")
        monoid = self.rng.choice(kinds)
        if monoid == "sum":
            bound = bound.either(bound.summed(count))
        if monoid == "prod":
            if count > 12:
                return None
            bound = Bound(max(bound.top, 1.0) ** max(count, 1), bound.grain * count)
        rough = self._inexact(x) and monoid in ("sum", "prod")
        return self._checked(self.b.scan(monoid, x, axis), bound, rough)

    def _nested(self) -> int | None:
        """A reduction of a reduction, over the same axes or others."""
        x = self._pick(lambda i: len(self._ints(i)) > 1)
        a, b = (self.rng.randrange(len(self._ints(x))) for _ in range(2))
        inner = self._reduced(x, [a])
        return None if inner is None else self._reduced(inner, [b])

    def _around(self) -> int | None:
        """x against its own reduction, and a second reduction over the same axes."""
        x = self._pick(lambda i: bool(self._ints(i)) and self._kind(i) != "bool")
        axis = self.rng.randrange(len(self._ints(x)))
        monoid = self.rng.choice(
            ("max", "sum") if self._kind(x) != "uint" else ("max",)
        )
        first = self._reduced(x, [axis], monoid)
        if first is None:
            return None
        op = "sub" if self._kind(x) != "uint" else "max"
        made = self.b.bin(op, x, self.b.expand(first, self._ints(x)))
        shifted = self._checked(made, self.bound[x].plus(self.bound[first]),
                                rough=self._inexact(x))  # fmt: skip
        if shifted is None or self.rng.random() < 0.3:
            return shifted
        again = self._reduced(shifted, [axis], "sum")
        return shifted if again is None else again

    def _grown(self) -> int | None:
        """Repeated along an axis, multiplied, and reduced over it again."""
        x = self._pick(lambda i: 0 < len(self._ints(i)) < 5)
        rank = len(self._ints(x))
        axis = self.rng.randint(0, rank)
        shape = list(self._ints(x))
        shape.insert(axis, 1)
        one = self._moved(self.b.reshape(x, shape), x)
        shape[axis] = self.rng.choice((2, 3, 4))
        if one is None:
            return None
        big = self._moved(self.b.expand(one, shape), x)
        if big is None or self._kind(x) == "bool":
            return big
        made = self.b.bin("mul", big, self._partner(big))
        factor = self.b.nodes[made].args[1]
        bound = self.bound[big].times(self._bound_of(factor))
        product = self._checked(made, bound, rough=self._inexact(big))
        return None if product is None else self._reduced(product, [axis])

    def _chain(self) -> int | None:
        """Movements of movements."""
        made: int | None = None
        for _ in range(self.rng.randint(2, 3)):
            maker = self.rng.choice((self._reshape, self._permute, self._expand))
            made = maker()
            if made is None:
                return None
        return made

    def _again(self) -> int | None:
        """A node that is there already, computed a second time."""
        node = self.b.nodes[(i := self._pick())]
        if not node.args:
            return None
        return self._keep(
            self.b.add(node.op, node.args, node.attrs), self.bound[i], i in self.rough
        )

    def _contract(self) -> int | None:
        x = self._pick(lambda i: self._kind(i) != "bool" and len(self._ints(i)) > 0)
        y = self._pick(lambda i: self._pairs(i, x))
        a, b = self._ints(x), self._ints(y)
        full = [max(m, n) if 0 not in (m, n) else 0 for m, n in zip(a, b, strict=True)]
        mask = [int(self.rng.random() < 0.4) for _ in full]
        count = math.prod(n for n, m in zip(full, mask, strict=True) if m)
        bound = self.bound[x].times(self.bound[y]).summed(count)
        if math.prod(full) > 8 * LARGEST:
            return None
        made = self.b.contract(x, y, full, mask)
        return self._checked(made, bound, rough=self._inexact(x))

    def _pairs(self, i: int, x: int) -> bool:
        a, b = self._ints(i), self._ints(x)
        same = self.b.type(i).dtype is self.b.type(x).dtype and len(a) == len(b)
        return same and all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))

    # -- indexing --

    def _index_for(self, x: int, axis: int, count: int) -> int:
        """Positions from an integer node or a new input, some outside the axis."""
        shape = [count if i == axis else d for i, d in enumerate(self._ints(x))]
        known = [i for i in self.bound if self._kind(i) == "int"]
        ints = [i for i in known if self._ints(i) == tuple(shape)]
        return self.rng.choice(ints) if ints else self._input(shape, I32)

    def _lines_for(self, x: int, axis: int, count: int) -> int:
        """Positions of elements, or of whole lines across the axis."""
        if self.rng.random() < 0.5:
            return self._index_for(x, axis, count)
        full = [count if i == axis else d for i, d in enumerate(self._ints(x))]
        line = self._input([count if i == axis else 1 for i in range(len(full))], I32)
        made = self.b.expand(line, full)
        self.bound.setdefault(made, self.bound[line])
        return made

    def _gather(self) -> int | None:
        x = self._pick(lambda i: bool(self._ints(i)))
        axis = self.rng.randrange(len(self._ints(x)))
        if self._ints(x)[axis] == 0:
            return None
        index = self._index_for(x, axis, self.rng.choice((1, 2, 3, 5)))
        return self._moved(self.b.gather(x, index, axis), x)

    def _scatter(self) -> int | None:
        """Adds at any positions; sets at distinct ones."""
        x = self._pick(lambda i: bool(self._ints(i)) and self._kind(i) != "bool")
        shape, axis = self._ints(x), self.rng.randrange(len(self._ints(x)))
        mode = self.rng.choice(("add", "add", "max", "min", "set"))
        if mode == "set":
            y = self._partner(x)
            start = [shape[a] - 1 if a == axis else 0 for a in range(len(shape))]
            step = [-1 if a == axis else 1 for a in range(len(shape))]
            index = self.b.slice(self.b.iota(axis, I32, shape), start, shape, step)
        else:
            index = self._lines_for(x, axis, self.rng.choice((1, 2, 4, 9)))
            y = self._input(self._ints(index), self.b.type(x).dtype)
        a, b = self._bound_of(x), self._bound_of(y)
        grown = a.either(b)
        if mode == "add":
            grown = a.plus(b.summed(self._ints(index)[axis]))
        made = self.b.add("scatter", (x, index, y), (mode, axis))
        return self._checked(made, grown, rough=self._inexact(x) and mode == "add")

    def _arg(self) -> int | None:
        if I32 not in self.dtypes:
            return None
        x = self._pick(lambda i: bool(self._ints(i)) and i not in self.rough
                       and self._kind(i) != "bool")  # fmt: skip
        axis = self.rng.randrange(len(self._ints(x)))
        kind = self.rng.choice(("argmax", "argmin"))
        made = self.b.add("argreduce", (x,), (kind, axis, I32))
        return self._checked(made, Bound(self._ints(x)[axis]))

    def _sort(self) -> int | None:
        """Values, or positions of values that are known to the last bit."""
        x = self._pick(lambda i: bool(self._ints(i)))
        axis = self.rng.randrange(len(self._ints(x)))
        n = self._ints(x)[axis]
        descending, count = self.rng.random() < 0.5, self.rng.choice((n, n, n // 2))
        if x in self.rough or I32 not in self.dtypes or self.rng.random() < 0.5:
            return self._moved(self.b.sort(x, axis, descending, count), x)
        made = self.b.argsort(x, axis, descending, count, I32)
        return self._checked(made, Bound(n))

    def _iota(self) -> int | None:
        shape = self._ints(self._pick())
        kinds = [d for d in self.dtypes if d is not BOOL]
        if not shape:
            return None
        axis = self.rng.randrange(len(shape))
        made = self.b.iota(axis, self.rng.choice(kinds), shape)
        return self._checked(made, Bound(max(shape[axis], 1)))

    def _more(self) -> int | None:
        return (
            self._input(self._shape(), self._dtype())
            if len(self.b.nodes) < 40
            else None
        )
