"""Recurrences along an axis: RNN, GRU and LSTM, unrolled over few steps, a loop over
many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import onnx

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.looping.build import Round, add_loop

from ..site import READERS, Site, Unread, op
from ..value import Value
from .elementwise import clipped, scaled, shifted
from .shape import part

# In all directions, or it is a loop: a kernel cannot join many more of their results.
STEPS = 64

type Activation = Callable[[int], int]
type State = tuple[int, ...]  # h, and c of an LSTM: [batch, hidden]


@dataclass(slots=True)
class Cell:
    """One direction: its weights, activations, and how a step makes the next state."""

    s: Site
    place: int  # among the directions
    functions: list[Activation]

    steps: ClassVar[tuple[int, ...]] = (2, 3, 4, 7)  # the operands that steps read

    def weight(self, i: int) -> int | None:
        """This direction's share of operand `i`."""
        if not self.s.has(i):
            return None
        x = part(self.s, self.s.x(i), 0, self.place, 1)
        return self.s.b.reshape(x, self.s.b.shape(x)[1:])

    def needed(self, i: int) -> int:
        result = self.weight(i)
        return self.s.fail(f"operand {i} is missing") if result is None else result

    @property
    def hidden(self) -> Dim:
        return self.s.shape(2)[2]

    def inputs(self, x: int) -> int:
        """The share of all inputs, rows of `x`, in the gates."""
        return times(self.s, x, self.needed(1))

    def recurrent(self) -> Callable[[int], int]:
        """What makes of the last outputs their share in all gates."""
        r = self.needed(2)
        return lambda h: times(self.s, h, r)


def gates(s: Site, x: int, size: Dim, count: int) -> list[int]:
    """Equal parts of the last axis."""
    axis = len(s.b.shape(x)) - 1
    return [part(s, x, axis, size * i, size) for i in range(count)]


def times(s: Site, x: int, w: int) -> int:
    """x wᵀ"""
    return s.b.matmul(x, s.b.permute(w, (1, 0)))


def sum_of(s: Site, x: int, *more: int | None) -> int:
    for y in more:
        x = x if y is None else s.bin("add", x, y)
    return x


# ---- activations ----


def _activations(s: Site, kind: Kind, count: int) -> list[list[Activation]]:
    """For each direction; alphas and betas go to those that take one, in order."""
    default = kind.activations
    result: list[bytes] = s.attr("activations") or []
    names = [n.decode() for n in result] or list(default) * count
    if len(names) != len(default) * count:
        s.fail(f"{len(default) * count} activations expected, found {len(names)}")
    alphas, betas = (iter(s.attr(f"activation_{a}") or []) for a in ("alpha", "beta"))
    each, limit = len(default), s.attr("clip")
    made = [
        _activation(s, n, alphas, betas, limit if i % each < kind.clipped else None)
        for i, n in enumerate(names)
    ]
    return [made[i : i + each] for i in range(0, len(made), each)]


# name: the operator, its alpha and beta
_KNOWN: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("Relu", None, None),
    "tanh": ("Tanh", None, None),
    "sigmoid": ("Sigmoid", None, None),
    "softsign": ("Softsign", None, None),
    "softplus": ("Softplus", None, None),
    "leakyrelu": ("LeakyRelu", 0.01, None),
    "elu": ("Elu", 1.0, None),
    "thresholdedrelu": ("", 1.0, None),
    "affine": ("", 1.0, 0.0),
    "scaledtanh": ("", 1.0, 1.0),
    "hardsigmoid": ("HardSigmoid", 0.2, 0.5),
}


def _activation(
    s: Site, name: str, alphas: Iterator[float], betas: Iterator[float],
    limit: float | None,
) -> Activation:  # fmt: skip
    key = name.lower()
    if key not in _KNOWN:
        s.fail(f"unknown activation {name!r}; known: {', '.join(_KNOWN)}")
    kind, alpha, beta = _KNOWN[key]
    alpha = None if alpha is None else next(alphas, alpha)
    beta = None if beta is None else next(betas, beta)

    def apply(x: int) -> int:
        x = x if limit is None else clipped(s, x, -limit, limit)
        return (
            _operator(s, kind, x, alpha, beta)
            if kind
            else _special(s, key, x, alpha or 0.0, beta or 0.0)
        )

    return apply


def _operator(
    s: Site, kind: str, x: int, alpha: float | None, beta: float | None
) -> int:
    given = {"alpha": alpha, "beta": beta}
    attributes: dict[str, Any] = {n: v for n, v in given.items() if v is not None}
    node = onnx.helper.make_node(kind, ["x"], ["y"], **attributes)
    made = READERS[kind](Site(s.b, node, [Value(x)], s.opset))
    assert isinstance(made, int)
    return made


def _special(s: Site, name: str, x: int, alpha: float, beta: float) -> int:
    if name == "affine":
        return shifted(s, scaled(s, x, alpha), beta)
    if name == "scaledtanh":
        return scaled(s, s.b.un("tanh", scaled(s, x, beta)), alpha)
    return s.b.select(s.b.bin("le", s.full(alpha, x), x), x, s.full(0, x))


# ---- cells: the step of one time, from its share of the input and the state ----

type Step = Callable[[int, State], State]


def _simple(cell: Cell) -> tuple[int | None, Step]:
    s, (f,), share = cell.s, cell.functions, cell.recurrent()

    def step(x: int, state: State) -> State:
        return (f(sum_of(s, x, share(state[0]))),)

    return _bias(cell, 1), step


def _bias(cell: Cell, count: int) -> int | None:
    """Both biases of all gates, added."""
    b = cell.weight(3)
    if b is None:
        return None
    return cell.s.bin("add", *gates(cell.s, b, cell.hidden * count, 2))


def long_short(cell: Cell) -> tuple[int | None, Step]:
    """Gates in the order input, output, forget, cell."""
    s, (f, g, h), share = cell.s, cell.functions, cell.recurrent()
    bin_, n, p = s.bin, cell.hidden, cell.weight(7)
    peep = [None] * 3 if p is None else gates(s, p, n, 3)

    def seen(x: int, i: int, c: int) -> int:
        weight = peep[i]
        return x if weight is None else sum_of(s, x, bin_("mul", c, weight))

    def step(x: int, state: State) -> State:
        last, c = state
        i, o, forget, new = gates(s, sum_of(s, x, share(last)), n, 4)
        i = f(seen(i, 0, c))
        if s.attr("input_forget", 0):
            forget = bin_("sub", s.full(1, i), i)
        else:
            forget = f(seen(forget, 2, c))
        c = bin_("add", bin_("mul", forget, c), bin_("mul", i, g(new)))
        return bin_("mul", f(seen(o, 1, c)), h(c)), c

    return _bias(cell, 4), step


def _gated(cell: Cell) -> tuple[int | None, Step]:
    """Gates in the order update, reset, hidden."""
    s, (f, g), r, n = cell.s, cell.functions, cell.needed(2), cell.hidden
    bin_, linear = s.bin, bool(s.attr("linear_before_reset", 0))
    r_gates, r_new = part(s, r, 0, 0, n * 2), part(s, r, 0, n * 2, n)
    b = cell.weight(3)
    inner: int | None = None  # the recurrent bias of the hidden gate
    if b is not None:
        before, after = gates(s, b, n * 3, 2)
        inner = part(s, after, 0, n * 2, n)
        kept = n if linear else 0  # that bias is added within the product
        after = part(s, after, 0, 0, n * 3 - kept)
        low = s.b.pad(after, [0], [kept], 0) if kept else after
        b = bin_("add", before, low)

    def step(x: int, state: State) -> State:
        (last,) = state
        x_gates, x_new = part(s, x, 1, 0, n * 2), part(s, x, 1, n * 2, n)
        z, reset = map(f, gates(s, sum_of(s, x_gates, times(s, last, r_gates)), n, 2))
        if linear:
            new = bin_("mul", reset, sum_of(s, times(s, last, r_new), inner))
        else:
            new = times(s, bin_("mul", reset, last), r_new)
        new = g(sum_of(s, x_new, new))
        rest = bin_("mul", bin_("sub", s.full(1, z), z), new)
        return (bin_("add", rest, bin_("mul", z, last)),)

    return b, step


@dataclass(frozen=True, slots=True)
class Kind:
    """An operator: what makes the bias and the step, the activations of a direction
    where the node names none, the operands that are first states; of how many of the
    activations, from the first on, the input is clipped."""

    make: Callable[[Any], tuple[int | None, Step]]
    activations: tuple[str, ...]
    starts: tuple[int, ...] = (5,)
    cell: type[Cell] = Cell
    clipped: int = 3


KINDS: dict[str, Kind] = {
    "RNN": Kind(_simple, ("Tanh",)),
    "GRU": Kind(_gated, ("Sigmoid", "Tanh")),
    "LSTM": Kind(long_short, ("Sigmoid", "Tanh", "Tanh"), (5, 6)),
}


# ---- the whole ----


@op("RNN", "GRU", "LSTM")
def recurrent(s: Site) -> list[int]:
    """Y [time, direction, batch, hidden], then the last of each state."""
    b, batch_first = s.b, bool(s.attr("layout", 0))
    x = b.permute(s.x(0), (1, 0, 2)) if batch_first else s.x(0)
    direction = s.attr("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    kind = KINDS[s.kind]
    time = b.shape(x)[0]
    unrolled = isinstance(time, int) and 0 < time * count <= STEPS
    if not (unrolled or s.loops):
        raise Unread(f"{time} time steps in {count} directions")
    outs: list[int] = []
    states: list[State] = []
    for d, functions in enumerate(_activations(s, kind, count)):
        bias, step = kind.make(cell := kind.cell(s, d, functions))
        backward = direction == "reverse" or d == 1
        inputs = _inputs(cell, x, bias)
        start = _start(cell, inputs)
        if unrolled:
            y, state = _unrolled(s, inputs, start, step, backward)
        else:
            y, state = _looped(cell, inputs, start, backward)
        outs.append(y)
        states.append(state)
    y = b.concat(outs, 1)
    lasts = [
        b.concat([_stacked(s, h, 0) for h in hs], 0) for hs in zip(*states, strict=True)
    ]
    if batch_first:
        y = b.permute(y, (2, 0, 1, 3))
        lasts = [b.permute(h, (1, 0, 2)) for h in lasts]
    return [y, *lasts]


def _inputs(cell: Cell, x: int, bias: int | None) -> int:
    """The share of the input in all gates at all times: one product."""
    s = cell.s
    time, batch, width = s.b.shape(x)
    flat = cell.inputs(s.b.reshape(x, (batch * time, width)))
    y = s.b.reshape(flat, (time, batch, s.b.shape(flat)[1]))
    return sum_of(s, y, bias)


def _start(cell: Cell, inputs: int) -> State:
    """The first states: operands 5 (h) and 6 (c), or zeros."""
    s = cell.s
    _, batch, _ = s.b.shape(inputs)
    result: list[int] = []
    for i in KINDS[s.kind].starts:
        if not s.has(i):
            dtype = s.b.type(inputs).dtype
            result.append(s.b.const(0, dtype, (batch, cell.hidden)))
            continue
        axis = 1 if s.attr("layout", 0) else 0
        one = part(s, s.x(i), axis, cell.place, 1)
        result.append(s.b.reshape(one, (batch, cell.hidden)))
    return tuple(result)


def _unrolled(
    s: Site, inputs: int, state: State, step: Step, backward: bool
) -> tuple[int, State]:
    """A sequence that has ended keeps its state and gives zeros."""
    time, batch, width = s.b.shape(inputs)
    assert isinstance(time, int)
    outs: dict[int, int] = {}
    for t in reversed(range(time)) if backward else range(time):
        x = s.b.reshape(part(s, inputs, 0, t, 1), (batch, width))
        at = s.const(t, I64) if s.has(4) else -1
        y, state = _stepped(s, at, state, step(x, state))
        outs[t] = _stacked(s, _stacked(s, y, 0), 0)
    return s.b.concat([outs[t] for t in range(time)], 0), state


def _looped(cell: Cell, inputs: int, state: State, backward: bool) -> tuple[int, State]:
    """The same as one loop: the cell again, in a builder whose inputs are the state,
    this time's share of the input, the time, and the operands that steps read."""
    s, inner = cell.s, Builder(cell.s.kind.lower())
    b = s.b

    def given(label: str, i: int, axes: int = 0) -> tuple[int, int]:
        t = b.type(i)
        return inner.input(label, t.dtype, t.shape[axes:]), i

    x = given("input", inputs, 1)
    time = given("time", b.iota(0, I64, b.shape(inputs)[:1]), 1)
    carries = [given(f"state {k}", i) for k, i in enumerate(state)]
    same = {i: given(f"operand {i}", s.x(i)) for i in cell.steps if s.has(i)}
    values = [
        Value(same[i][0], s.known(i)) if i in same else None for i in range(s.count)
    ]
    own = Site(inner, s.node, values, s.opset, asked=s.asked)
    kind = KINDS[s.kind]
    count = 2 if s.attr("direction", "forward") == "bidirectional" else 1
    functions = _activations(own, kind, count)[cell.place]
    _, step = kind.make(kind.cell(own, cell.place, functions))
    last = tuple(i for i, _ in carries)
    y, new = _stepped(own, time[0], last, step(x[0], last))
    of = Round(inner, carries, (x, time), list(same.values()), new, (y,))
    *lasts, ys = add_loop(b, of, backward)
    return _stacked(s, ys, 1), tuple(lasts)


def _stepped(s: Site, time: int, state: State, new: State) -> tuple[int, State]:
    """What a step gives, and the next state; where sequences have lengths, at the time
    that is this node."""
    y = new[0]
    if not s.has(4):
        return y, new
    lengths = s.b.cast(s.x(4), I64)
    inside = s.bin("lt", time, lengths)
    upright = s.b.reshape(inside, (*s.b.shape(inside), 1))
    running = s.b.expand(upright, s.b.shape(y))
    both = zip(new, state, strict=True)
    return s.b.select(running, y, s.full(0, y)), tuple(
        s.b.select(running, a, old) for a, old in both
    )


def _stacked(s: Site, x: int, axis: int) -> int:
    """With an axis of 1 more."""
    shape = s.b.shape(x)
    return s.b.reshape(x, (*shape[:axis], 1, *shape[axis:]))
