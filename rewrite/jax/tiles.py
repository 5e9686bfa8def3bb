"""What terms may become: operators of XLA, by the names in `writing.py`."""

from __future__ import annotations

from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.operators import cover
from rewrite.extract.operators.broadcast import spread
from rewrite.extract.operators.cover import Instruction
from rewrite.extract.operators.roles import Roles, roles_of
from rewrite.extract.operators.tiles import Tiles

from .flat import Value
from .library import type_of

FREE = frozenset(("input", "project"))
UNARY = frozenset(
    """
    neg abs sign recip sqrt rsqrt exp exp2 expm1 log log1p sin cos tanh erf atan floor
    ceil round isfinite not square sigmoid relu
    """.split()  # noqa: SIM905  # a table of words
)
BINARY = frozenset(
    "add sub mul max min and or xor eq ne lt le".split()  # noqa: SIM905
)
OF_FLOATS = frozenset(("div", "pow"))
REDUCE = frozenset(("sum", "max", "min", "prod", "all", "any"))
RUNNING = {"sum": "cumsum", "prod": "cumprod", "max": "cummax", "min": "cummin"}


class Cover(cover.Cover):
    """Ways to compute values with operators of XLA."""

    def value(self, v: Value, own: dict[Value, int]) -> int:
        """The class of a value, which may be no tensor."""
        if v not in own:
            own[v] = self.add(None)
            self.cells[own[v]].type = type_of(v.aval)
        return own[v]

    def offer_transpose(self, c: int, source: int, perm: tuple[int, ...]) -> None:
        self.way(c, "transpose", (source,), ("perm", perm))

    def offer_reshape(self, c: int, shape: tuple[int, ...], source: int) -> None:
        self.way(c, "reshape", (source,), ("shape", shape))


tile: Tiles[Cover] = Tiles()


# ---- leaves and elementwise ----------------------------------------------------------


@tile("const")
def const(t: Cover, c: int, node: ENode) -> None:
    value, dtype, shape = node.attrs
    attrs = (("value", value), ("dtype", dtype), ("shape", shape))
    t.cells[c].ways[Instruction("full", (), attrs)] = None


@tile("iota")
def iota(t: Cover, c: int, node: ENode) -> None:
    axis, dtype, shape = node.attrs
    attrs = (("axis", axis), ("dtype", dtype), ("shape", shape))
    t.cells[c].ways[Instruction("iota", (), attrs)] = None


@tile("un")
def unary(t: Cover, c: int, node: ENode) -> None:
    if node.attrs[0] in UNARY:
        t.way(c, node.attrs[0], node.args)


@tile("bin")
def binary(t: Cover, c: int, node: ENode) -> None:
    name = node.attrs[0]
    if name in BINARY or (name in OF_FLOATS and t.type(c).dtype.is_float):
        spread(t, c, name, node.args, t.shape(c))
    if name == "mul" and t.type(c).dtype.is_float:
        for inner in t.cells[node.args[1]].terms:  # x * (1 / y)
            if inner.op == "un" and inner.attrs[0] == "recip":
                spread(t, c, "div", (node.args[0], inner.args[0]), t.shape(c))


@tile("select")
def select(t: Cover, c: int, node: ENode) -> None:
    spread(t, c, "select", node.args, t.shape(c))


@tile("cast")
def cast(t: Cover, c: int, node: ENode) -> None:
    t.way(c, "cast", node.args, ("dtype", node.attrs[0]))


# ---- movement ------------------------------------------------------------------------


@tile("permute")
def permute(t: Cover, c: int, node: ENode) -> None:
    t.offer_transpose(c, node.args[0], node.attrs[0])


@tile("expand")
def expand(t: Cover, c: int, node: ENode) -> None:
    t.way(c, "broadcast", node.args, ("shape", node.attrs[0]))


@tile("slice")
def slice_(t: Cover, c: int, node: ENode) -> None:
    starts, sizes, steps = node.attrs
    if 0 not in sizes:
        attrs = (("starts", starts), ("sizes", sizes), ("steps", steps))
        t.way(c, "slice", node.args, *attrs)


@tile("pad")
def pad(t: Cover, c: int, node: ENode) -> None:
    low, high, value = node.attrs
    t.way(c, "pad", node.args, ("low", low), ("high", high), ("value", value))


@tile("concat")
def concat(t: Cover, c: int, node: ENode) -> None:
    t.way(c, "concat", node.args, ("axis", node.attrs[0]))


# ---- reductions ----------------------------------------------------------------------


@tile("reduce")
def reduce(t: Cover, c: int, node: ENode) -> None:
    monoid, mask, _ = node.attrs
    axes = tuple(i for i, m in enumerate(mask) if m)
    if monoid in REDUCE and axes:
        thin = [n for n, m in zip(t.shape(c), mask, strict=True) if not m]
        t.way(t.reshaped(c, thin), f"reduce_{monoid}", node.args, ("axes", axes))


@tile("scan")
def scan(t: Cover, c: int, node: ENode) -> None:
    if node.attrs[0] in RUNNING:
        t.way(c, RUNNING[node.attrs[0]], node.args, ("axis", node.attrs[1]))


@tile("argreduce")
def arg(t: Cover, c: int, node: ENode) -> None:
    kind, axis, dtype = node.attrs
    shape = t.shape(c)
    thin = t.reshaped(c, (*shape[:axis], *shape[axis + 1 :]))
    t.way(thin, kind, node.args, ("axis", axis), ("dtype", dtype))


# ---- products ------------------------------------------------------------------------


@tile("contract")
def contract(t: Cover, c: int, node: ENode) -> None:
    for a, b in (node.args, node.args[::-1]):
        roles = roles_of(t, a, b, node)
        if roles is not None and roles.summed:
            _dot(t, c, a, b, roles)
        elif roles is not None and a == node.args[0]:  # sums over nothing
            spread(t, c, "mul", (a, b), t.shape(c))


def _dot(t: Cover, c: int, a: int, b: int, r: Roles) -> None:
    """c = a b; axes of a result are those of the batch, of a, of b."""
    order = (*r.batch, *r.rows, *r.columns)
    shape = t.shape(c)
    flat = t.reshaped(c, [shape[i] for i in sorted(order)])
    rank = [sorted(order).index(i) for i in order]
    target = t.permuted(flat, rank)
    if target != flat:
        t.offer_transpose(flat, target, tuple(rank.index(i) for i in range(len(rank))))
    for x, left in _sides(t, a):
        for y, right in _sides(t, b):
            batch = tuple(left[i] for i in r.batch), tuple(right[i] for i in r.batch)
            sums = tuple(left[i] for i in r.summed), tuple(right[i] for i in r.summed)
            free = (
                [i for i in left if i in r.rows],
                [i for i in right if i in r.columns],
            )
            if free == (list(r.rows), list(r.columns)):
                t.way(target, "dot", (x, y), ("sums", sums), ("batch", batch))


def _sides(t: Cover, c: int) -> list[tuple[int, dict[int, int]]]:
    """Classes that hold an operand without units, and where its axes are in them, in
    the order in which they come."""
    shape = t.shape(c)
    axes = [i for i, n in enumerate(shape) if n != 1]
    whole = t.reshaped(c, [shape[i] for i in axes])
    found: dict[int, dict[int, int]] = {whole: {a: k for k, a in enumerate(axes)}}
    for node in t.cells[whole].terms:
        if node.op == "permute":
            placed = {p: axes[k] for k, p in enumerate(node.attrs[0])}
            found[node.args[0]] = {placed[k]: k for k in range(len(axes))}
    return list(found.items())


@tile("conv")
def conv(t: Cover, c: int, node: ENode) -> None:
    x, w, bias = node.args
    args = (x, w) if t.number(bias) == 0 else node.args
    t.way(c, "conv", args, ("frame", node.attrs[0]))
