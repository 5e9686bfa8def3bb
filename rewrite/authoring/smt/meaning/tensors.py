"""What ops of the table mean: their shape, what they need, their element at an index.

Reductions and indexing stand in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.scalars import BY_NAME

from .conditions import Cond, Every, Some, at_least, below, inside, same
from .elements import Apply, Branch, Elem, Literal, Str, Sym, Whole
from .paths import Unsupported
from .world import Failed, Flat, Index, Tensor, World

type Meaning = Callable[[World, Sequence[Tensor], Sequence[Any]], Tensor]
MEANINGS: dict[str, Meaning] = {}


def meaning(op: str) -> Callable[[Meaning], Meaning]:
    def keep(f: Meaning) -> Meaning:
        MEANINGS[op] = f
        return f

    return keep


# ---- leaves --------------------------------------------------------------------------


@meaning("input")
def _input(w: World, _: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    label, dtype, shape = attrs
    return w.leaf(f"input {label}", dtype, shape)


@meaning("data")
def _data(w: World, _: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    label, dtype, shape = attrs
    return w.leaf(f"data {label}", dtype, shape)


@meaning("call")
def _call(w: World, _: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """A token stands for the call and its operands; two calls are never one."""
    target, token, dtype, shape = attrs
    return w.leaf(f"call {target} {token}", dtype, shape)


@meaning("const")
def _const(w: World, _: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """The value as an element: a `Literal` or a `Special`."""
    value, dtype, shape = attrs
    return Tensor(dtype, shape, lambda _: value)


@meaning("iota")
def _iota(w: World, _: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    axis, dtype, shape = attrs
    k = w.path.pick(axis, len(shape))
    _axis(w, k, len(shape))
    return Tensor(
        dtype, shape, lambda i: Literal(Whole(w.explicit(i, shape)[k]), dtype)
    )


def _axis(w: World, k: int, rank: int) -> None:
    w.need(inside(k, rank), "the axis is not one of the operand's")


# ---- elementwise ---------------------------------------------------------------------


def result(op: Str, dtype: Str) -> Str:
    """The dtype that an opcode gives."""
    if isinstance(op, Sym):
        return Sym(f"{op}({dtype})")
    if op not in BY_NAME:
        raise Unsupported(f"the opcode {op!r}")
    return "bool" if BY_NAME[op].gives_bool else dtype


def _elementwise(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    op, first = w.string(attrs[0]), args[0]
    for other in args[1:]:
        w.agree(first.dtype, other.dtype, "the dtypes of an opcode's operands differ")
        w.fits(first.shape, other.shape, "the shapes of an opcode's operands differ")
    if isinstance(op, str) and op in BY_NAME and BY_NAME[op].arity != len(args):
        w.need(Some(()), "an opcode of another number of operands")
    dtype = w.string(first.dtype)
    w.want("takes", op, dtype)
    gives = w.string(result(op, dtype))
    return Tensor(
        gives, first.shape, lambda i: Apply(op, tuple(a.at(i) for a in args), gives)
    )


MEANINGS["un"] = _elementwise
MEANINGS["bin"] = _elementwise


@meaning("select")
def _select(w: World, args: Sequence[Tensor], _: Sequence[Any]) -> Tensor:
    c, a, b = args
    w.agree(c.dtype, "bool", "the condition of a select is no bool")
    w.agree(a.dtype, b.dtype, "the sides of a select differ in dtype")
    w.fits(c.shape, a.shape, "the shapes of a select's operands differ")
    w.fits(a.shape, b.shape, "the shapes of a select's operands differ")
    dtype = w.string(a.dtype)
    return Tensor(
        dtype, a.shape,
        lambda i: Apply("select", (c.at(i), a.at(i), b.at(i)), dtype),
    )  # fmt: skip


@meaning("cast")
def _cast(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), to = args, w.string(attrs[0])
    return Tensor(to, a.shape, lambda i: Apply("cast", (a.at(i),), to))


@meaning("bitcast")
def _bitcast(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), to = args, w.string(attrs[0])
    w.want("bitcast", w.string(a.dtype), to)
    return Tensor(to, a.shape, lambda i: Apply("bitcast", (a.at(i),), to))


# ---- movement ------------------------------------------------------------------------


@meaning("reshape")
def _reshape(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), shape = args, tuple(attrs[0])
    for n in shape:
        w.need(at_least(n, 0), "a negative size")
    _same_count(w, a.shape, shape)

    def at(index: Index) -> Elem:
        flat = index if isinstance(index, Flat) else Flat(shape, index)
        matches = w.matched(flat, a.shape, split=False)
        return a.at(flat if matches is None else matches)

    return Tensor(a.dtype, shape, at)


def _same_count(w: World, a: Sequence[Dim], b: Sequence[Dim]) -> None:
    """Products of sizes are far from linear: axes of equal size are cancelled first."""
    left, right = ([w.path.normal(n) for n in s] for s in (a, b))
    for n in list(left):
        if n in right:
            left.remove(n)
            right.remove(n)
    w.need(same(dims.numel(left), dims.numel(right)), "a reshape changes the count")


@meaning("barrier")
def _barrier(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    return args[0]


@meaning("permute")
def _permute(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), rank = args, len(args[0].shape)
    if len(attrs[0]) != rank:
        w.fits(a.shape, attrs[0], "a permutation of another rank")
    perm: list[int] = []
    for d in attrs[0]:
        free = [k for k in range(rank) if k not in perm]
        p = w.path.normal(d)
        perm.append(p if isinstance(p, int) else _one_of(w, p, free))
    if sorted(perm) != list(range(rank)):
        w.need(Some(()), "what permutes is no permutation")

    def at(index: Index) -> Elem:
        here = w.explicit(index, shape)
        return a.at(tuple(here[perm.index(k)] for k in range(rank)))

    shape = tuple(a.shape[p] for p in perm)
    return Tensor(a.dtype, shape, at)


def _one_of(w: World, d: Dim, places: Sequence[int]) -> int:
    k = places[w.path.choose(len(places))]
    w.path.assume(same(d, k))
    return k


def bits(w: World, mask: Sequence[Dim]) -> list[bool]:
    """A 0/1 mask; a case for each of its values that are not known."""
    for m in mask:
        ok = Some((same(m, 0), same(m, 1)))
        w.need(ok, "a mask of other than 0 and 1")
    out = [w.path.bit(m) for m in mask]
    for m, b in zip(mask, out, strict=True):
        w.path.assume(same(m, int(b)))
    return out


@meaning("expand")
def _expand(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), shape = args, tuple(attrs[0])
    if not len(a.shape) == len(shape) == len(attrs[1]):
        w.fits(a.shape, (*shape, 0), "an expansion to another rank")
    grows = bits(w, attrs[1])
    thin = [1 if g else n for g, n in zip(grows, shape, strict=True)]
    w.fits(a.shape, thin, "an expansion of sizes that its mask does not name")
    for n in shape:
        w.need(at_least(n, 0), "a negative size")

    def at(index: Index) -> Elem:
        here = w.explicit(index, shape)
        return a.at(tuple(0 if g else i for g, i in zip(grows, here, strict=True)))

    return Tensor(a.dtype, shape, at)


@meaning("pad")
def _pad(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    a, value = args
    low, high = attrs
    w.agree(a.dtype, value.dtype, "padding of another dtype")
    w.fits(value.shape, (), "padding by more than one value")
    if not len(low) == len(high) == len(a.shape):
        w.fits(a.shape, (*low, 0), "padding of another rank")
    for n in (*low, *high):
        w.need(at_least(n, 0), "a negative padding")
    sizes = zip(a.shape, low, high, strict=True)
    shape = tuple(n + i + j for n, i, j in sizes)

    def at(index: Index) -> Elem:
        here = w.explicit(index, shape)
        moved = tuple(i - j for i, j in zip(here, low, strict=True))
        pairs = zip(moved, a.shape, strict=True)
        within = Every(tuple(inside(i, n) for i, n in pairs))
        return branch(w, within, lambda: a.at(moved), lambda: value.at(()), a.dtype)

    return Tensor(a.dtype, shape, at)


def branch(
    w: World, c: Cond, yes: Callable[[], Elem], no: Callable[[], Elem], dtype: Str
) -> Elem:
    """One of two, as a condition on indices goes; both where it is left open."""
    rest: list[Cond] = []
    for part in _parts(c):  # one case for each bound that fails first
        matches = w.path.decide(part)
        if matches is False:
            return no()
        if matches is None:
            rest.append(part)
    if not rest:
        return yes()
    left = rest[0] if len(rest) == 1 else Every(tuple(rest))
    with w.path.scope(left):
        first = yes()
    return Branch(left, first, no(), w.string(dtype))


def _parts(c: Cond) -> list[Cond]:
    return [x for p in c.parts for x in _parts(p)] if isinstance(c, Every) else [c]


@meaning("slice")
def _slice(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,) = args
    start, size, step = attrs
    if not len(start) == len(size) == len(step) == len(a.shape):
        w.fits(a.shape, (*start, 0), "a slice of another rank")
    for n, b, k, d in zip(a.shape, start, size, step, strict=True):
        w.need(at_least(k, 0), "a negative size")
        w.need(Some((at_least(d, 1), at_least(-1, d))), "a step of 0")
        _reach(w, n, b, k, d)

    def at(index: Index) -> Elem:
        here = w.explicit(index, size)
        return a.at(tuple(b + i * d for b, i, d in zip(start, here, step, strict=True)))

    return Tensor(a.dtype, tuple(size), at)


def _reach(w: World, n: Dim, b: Dim, k: Dim, d: Dim) -> None:
    """b, b + d, …, k of them, lie inside 0 .. n - 1."""
    n, b, k, d = (w.path.normal(x) for x in (n, b, k, d))
    ends = Every((inside(b, n), inside(b + (k - 1) * d, n)))
    whole = Some((same(k, 0), ends))
    what = "a slice reaches outside of its operand"
    if not w.right:
        w.path.assume(whole)
        w.reaches.append((b, d, k, n))
    elif not w.path.implies(whole):
        with w.path.scope(at_least(k, 1)):
            if not all(_reached(w, at, n) for at in (b, b + (k - 1) * d)):
                raise Failed(what)


def _reached(w: World, at: Dim, n: Dim) -> bool:
    """Whether a place is inside: shown outright, or as one that a slice of the left
    side reaches: between two inner places of an arithmetic progression all are inner.
    """
    if w.path.implies(inside(at, n)):
        return True
    for b, d, k, size in w.reaches:
        q = dims.exact_div(w.path.normal(at - b), w.path.normal(d))
        if q is not None and w.path.implies(Every((same(n, size), inside(q, k)))):
            return True
    return False


@meaning("window")
def _window(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,) = args
    axis, count, size, stride, dilation = attrs
    k = w.path.pick(axis, len(a.shape))
    _axis(w, k, len(a.shape))
    for n in (size, stride, dilation):
        w.need(at_least(n, 1), "a window size, stride or dilation below 1")
    w.need(at_least(count, 0), "a negative size")
    reach = (count - 1) * stride + (size - 1) * dilation
    fits = Every((at_least(reach, 0), below(reach, a.shape[k])))
    w.need(Some((same(count, 0), fits)), "windows reach outside of their operand")
    shape = (*a.shape[:k], count, *a.shape[k + 1 :], size)

    def at(index: Index) -> Elem:
        *here, inner = w.explicit(index, shape)
        here[k] = here[k] * stride + inner * dilation
        return a.at(tuple(here))

    return Tensor(a.dtype, shape, at)


@meaning("concat")
def _concat(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    first, k = args[0], w.path.pick(attrs[0], len(args[0].shape))
    _axis(w, k, len(first.shape))
    total: Dim = 0
    for t in args:
        w.agree(first.dtype, t.dtype, "parts of different dtypes")
        one, other = ((*s[:k], *s[k + 1 :]) for s in (first.shape, t.shape))
        w.fits(one, other, "parts that differ beside their axis")
        total = total + t.shape[k]
    shape = (*first.shape[:k], total, *first.shape[k + 1 :])

    def at(index: Index) -> Elem:
        return part(0, 0, w.explicit(index, shape))

    def part(i: int, start: Dim, here: tuple[Dim, ...]) -> Elem:
        moved = (*here[:k], here[k] - start, *here[k + 1 :])
        if i == len(args) - 1:
            return args[i].at(moved)
        end = start + args[i].shape[k]
        return branch(
            w, below(here[k], end), lambda: args[i].at(moved),
            lambda: part(i + 1, end, here), first.dtype,
        )  # fmt: skip

    return Tensor(first.dtype, shape, at)
