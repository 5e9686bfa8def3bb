"""Tile programs run by NumPy: whole tiles, all instances of a grid at once.

Instances are one more part of each array, so that what one of them may not see of
another shows: a buffer that a grid stores to holds garbage for its loads, and two
points that store to one element are an error.  A place that something is copied to
asynchronously holds garbage from the begin of the copy to the wait that ends it: no
order in which copies arrive is worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...egraph.ir.dtypes import BOOL, DType, compute
from ...egraph.ir.reduction import folded
from ...egraph.ir.scalars import BY_NAME, MONOIDS, Array
from ..fragments import FOUR, seen
from ..loops import Ex, Lit, Op, Var
from ..targets.layouts import names_in
from . import ir
from .ir import (
    Ahead,
    Axis,
    Copy,
    Full,
    Grid,
    Load,
    Loop,
    Map,
    Mma,
    Reduce,
    Release,
    Settle,
    Stmt,
    Store,
    TileProgram,
    Update,
    Wait,
)
from .rings import is_beside, products_left

GARBAGE = 0xA5  # a byte of what nothing was stored to


class TileError(RuntimeError):
    """A program that does what the tile IR forbids."""


def run(program: TileProgram, buffers: Sequence[Array]) -> None:
    """Runs the program on flat arrays, in parameter order."""
    memory: dict[str, Array] = {}
    for p, b in zip(program.params, buffers, strict=True):
        if b.shape != (p.size,) or b.dtype != p.dtype.numpy:
            raise TileError(f"{p.name}: {p.dtype}[{p.size}] expected, found {b.dtype}")
        memory[p.name] = b
    for p in program.scratch:
        memory[p.name] = _garbage(p.dtype.numpy, p.size)
    readonly = {p.name for p in program.params if not p.writable}
    with np.errstate(all="ignore"):
        for grid in program.body:
            _Run(memory, readonly, grid, program.index).run()


def share_of_turns(grid: Grid, loop: Loop, index: DType) -> float:
    """Of the turns of all instances those that are not left out."""
    return float(np.mean(shares_of_turns(grid, loop, index)))


def shares_of_turns(grid: Grid, loop: Loop, index: DType) -> Array:
    """By turn the share of instances that do not leave it out."""
    (axis,) = loop.axes
    turns = Axis(axis.name, -(-axis.extent // loop.step))
    if loop.where is None:
        return np.ones(turns.extent)
    named = {*names_in(loop.where)}
    axes = (*(a for a in grid.axes if a.name in named), turns)
    run = _Run({}, set(), replace(grid, axes=axes, points=(), body=()), index)
    run.run()
    run.env[axis.name] = run.env[axis.name] * index.numpy.type(loop.step)
    runs = np.broadcast_to(run.value(loop.where), tuple(a.extent for a in axes))
    return runs.reshape(-1, turns.extent).mean(axis=0)


def _garbage(dtype: np.dtype[Any], size: int) -> Array:
    return np.frombuffer(bytes([GARBAGE]) * (dtype.itemsize * size), dtype).copy()


class _Run:
    """`seen`: what loads of this grid find; `marks`: elements stored to."""

    def __init__(
        self, memory: dict[str, Array], readonly: set[str], grid: Grid, index: DType
    ) -> None:
        self.groups: list[list[tuple[Array, Array]]] = [[]]  # of copies, last the open
        self.rings: dict[str, list[Array]] = {}
        # That go on: their sides, and those as they were at first.
        self.products: list[tuple[Mma, list[Array], list[Array]]] = []
        self.slot = 0
        self.memory, self.readonly, self.grid = memory, readonly, grid
        self.index = index
        self.names = [a.name for a in (*grid.axes, *grid.points)]
        self.sizes = ir.extents(grid.axes, grid.points)
        self.env: dict[str, Array] = {}
        self.seen = dict(memory)
        self.marks: dict[str, Array] = {}
        for s in ir.walk(grid.body):
            for name in ir.parts(s, "writes"):
                held = memory[name]
                self.seen[name] = _garbage(held.dtype, held.size)
                self.marks[name] = np.zeros(held.size, np.bool_)

    def run(self) -> None:
        if 0 in self.sizes.values():
            return
        for k, name in enumerate(self.names):
            at = np.arange(self.sizes[name], dtype=self.index.numpy)
            self.env[name] = at.reshape([-1 if i == k else 1 for i in self.rank])
        self.body(self.grid.body)

    @property
    def rank(self) -> range:
        return range(len(self.names))

    def shape(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Of what varies from instance to instance and along these axes."""
        outer = len(self.grid.axes)
        return tuple(
            self.sizes[n] if k < outer or n in axes else 1
            for k, n in enumerate(self.names)
        )

    def body(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case Loop():
                self.loop(s)
            case Wait(pending, products):
                self.finish(products)
                while len(self.groups) - 1 > pending:
                    for place, value in self.groups.pop(0):
                        place[...] = value
            case Mma():
                sides = [self.side(x.name) for x in (s.left, s.right)
                         if isinstance(x, Var)]  # fmt: skip
                self.products.append((s, sides, [x.copy() for x in sides]))
                if s.warps <= 1:
                    self.finish(0)
            case Settle(left):
                self.finish(left)
            case Load(tile) | Copy(tile) if tile.space == "shared":
                self.share(s, tile)
            case Load():
                self.keep(s.tile, self.load(s))
            case Copy(tile, Var(name)) if tile.space == "held" or name in self.rings:
                self.keep(tile, self.side(name))
            case Map(tile, value) | Copy(tile, value):
                self.keep(tile, self.value(value))
            case Update(name, value, where):
                self.overwritten(name)
                old, new = self.env[name], self.value(value)
                if where is not None:
                    new = np.where(self.value(where), new, old)
                if np.broadcast_shapes(new.shape, old.shape) != old.shape:
                    raise TileError(f"update {name}: a value of {new.shape}")
                self.env[name] = np.broadcast_to(new, old.shape).astype(old.dtype)
            case Reduce():
                self.keep(s.tile, self.reduce(s))
            case Store():
                self.store(s)
            case Grid() | Ahead() | Full() | Release():
                raise TileError(f"{type(s).__name__.lower()} in a wrong place")

    def side(self, name: str) -> Array:
        """Where a side of a product lies, in registers or in its ring."""
        if name not in self.rings:
            return self.env[name]
        ring = self.rings[name]
        return ring[self.slot % len(ring)]

    def overwritten(self, name: str) -> None:
        """Products that still read the tile from registers read what is none."""
        for s, sides, _ in self.products:
            if isinstance(s.left, Var) and s.left.name == name:
                held = sides[0]
                sides[0] = _garbage(held.dtype, held.size).reshape(held.shape)

    def loop(self, s: Loop) -> None:
        """From as many turns before the first one as something runs ahead."""
        (axis,) = s.axes
        turns = -(-axis.extent // s.step)
        self.rings |= {t.name: self.ring(t, s.stages) for x in ir.walk(s.body)
                       for t in ir.seen_after(x) if t.space == "shared"}  # fmt: skip
        if is_beside(s):
            self.beside(s, turns)
            return
        for turn in range(1 - s.stages, turns):
            for x in s.body:
                if isinstance(x, Ahead):
                    later = turn + s.stages - 1
                    self.turn(axis.name, later, s)
                    self.body(x.body if later < turns else ())
                    if any(isinstance(y, Load) and y.tile.space == "shared"
                           for y in x.body):  # fmt: skip
                        self.groups.append([])
                elif turn >= 0:
                    self.turn(axis.name, turn, s)
                    self.statement(x)
        self.finish(0)

    def beside(self, s: Loop, turns: int) -> None:
        """Copies begin as soon as their places are free, and arrive as late as may
        be."""
        (axis,) = s.axes
        begun = freed = 0
        for turn in range(turns):
            before = dict(self.env)
            for x in s.body:
                while begun < min(turns, freed + s.stages):
                    self.turn(axis.name, begun, s)
                    for early in s.body:
                        self.body(early.body if isinstance(early, Ahead) else ())
                    self.groups.append([])
                    begun += 1
                self.turn(axis.name, turn, s)
                match x:
                    case Full():
                        if turn >= begun:
                            raise TileError("a turn waits for places that are not free")
                        late = self.groups[turn - begun - 1]
                        for place, value in late:
                            place[...] = value
                        late.clear()
                    case Release(back) if turn >= back:
                        self.finish(products_left(s, x))
                        freed = turn - back + 1
                    case Ahead() | Release():
                        pass
                    case _:
                        self.statement(x)
            self.left_out(s, axis.name, turn, before)
        self.finish(0)
        self.groups = [[]]

    def left_out(
        self, s: Loop, axis: str, turn: int, before: Mapping[str, Array]
    ) -> None:
        """Instances that leave the turn out have what they had before."""
        if s.where is None:
            return
        self.turn(axis, turn, s)
        self.finish(0)
        runs = self.value(s.where)
        changed = {n for x in s.body for n in ir.parts(x, "changes")}
        for name in changed & before.keys():
            self.env[name] = np.where(runs, self.env[name], before[name])

    def turn(self, axis: str, turn: int, s: Loop) -> None:
        at = np.asarray(turn * s.step, self.index.numpy)
        self.env[axis] = at.reshape((1,) * len(self.names))
        self.slot = turn % s.stages

    def ring(self, tile: ir.Tile, stages: int) -> list[Array]:
        shape = self.shape(tile.axes)
        kind = tile.dtype.numpy
        size = int(np.prod(shape))
        return [_garbage(kind, size).reshape(shape) for _ in range(stages)]

    def share(self, s: Load | Copy, tile: ir.Tile) -> None:
        if isinstance(s, Copy):
            if tile.name not in self.rings:  # before all loops
                self.rings[tile.name] = self.ring(tile, 1)
            self.side(tile.name)[...] = self.value(s.value)
            return
        if tile.name not in self.rings:  # before all loops
            self.rings[tile.name] = [
                np.broadcast_to(self.load(s), self.shape(tile.axes))
            ]
            return
        place = self.rings[tile.name][self.slot]
        value = np.broadcast_to(self.load(s), place.shape)
        place[...] = _garbage(place.dtype, place.size).reshape(place.shape)
        self.groups[-1].append((place, value))

    def finish(self, left: int) -> None:
        """Products read their sides all the while: what changed is none of both."""
        while len(self.products) > left:
            s, sides, before = self.products.pop(0)
            pairs = zip(sides, before, strict=True)
            self.multiply(s, [_steady(now, then) for now, then in pairs])

    def multiply(self, s: Mma, sides: Sequence[Array]) -> None:
        """As a sum of products, in the accumulator's type."""
        old = self.env[s.name]
        if s.warps == FOUR:
            sides = [seen(x) for x in sides]
        left, right = (x.astype(old.dtype) for x in sides)
        every = list(self.rank)
        over = {self.names.index(n) for n in s.over}
        kept = [k for k in every if k not in over]
        total = np.einsum(left, every, right, every, kept, optimize=True)
        self.env[s.name] = old + np.expand_dims(total, tuple(over))

    def keep(self, tile: ir.Tile, value: Array) -> None:
        shape = self.shape(tile.axes)
        if np.broadcast_shapes(value.shape, shape) != shape:
            raise TileError(f"{tile.name}{list(tile.axes)}: a value of {value.shape}")
        self.overwritten(tile.name)
        if ir.held_left(tile):
            value = value.astype(tile.dtype.numpy)
        if value.dtype != tile.dtype.numpy:
            raise TileError(f"{tile.name}: {tile.dtype} expected, found {value.dtype}")
        self.env[tile.name] = np.broadcast_to(value, shape)

    def place(
        self, buffer: str, index: Ex, test: Ex | None, shape: tuple[int, ...]
    ) -> tuple[Array, Array]:
        """Places and whether they are meant, of this shape; all inside the buffer."""
        at = np.broadcast_to(self.value(index), shape)
        ok = np.ones((1,) * len(shape), np.bool_) if test is None else self.value(test)
        ok = np.broadcast_to(ok, shape)
        wrong = ok & ((at < 0) | (at >= self.memory[buffer].size))
        if wrong.any():
            place = int(at[wrong].flat[0])
            raise TileError(f"{buffer}[{place}] of {self.memory[buffer].size} elements")
        return at, ok

    def load(self, s: Load) -> Array:
        data = self.seen[s.buffer]
        at, ok = self.place(s.buffer, s.index, s.where, self.shape(s.tile.axes))
        if data.size == 0:
            return np.zeros(at.shape, s.tile.dtype.numpy)
        found = data[np.where(ok, at, 0)].astype(s.tile.dtype.numpy)
        return np.where(ok, found, found.dtype.type(0))

    def store(self, s: Store) -> None:
        if s.buffer in self.readonly:
            raise TileError(f"a store to the read-only buffer {s.buffer}")
        shape = self.shape(s.over)
        at, ok = self.place(s.buffer, s.index, s.where, shape)
        value = np.broadcast_to(self.value(s.value), shape)
        places = at[ok]
        marks = self.marks[s.buffer]
        if marks[places].any() or np.unique(places).size != places.size:
            raise TileError(f"two points store to one element of {s.buffer}")
        marks[places] = True
        out = self.memory[s.buffer]
        out[places] = value[ok].astype(out.dtype)

    def reduce(self, s: Reduce) -> Array:
        monoid = MONOIDS[s.monoid]
        start = np.asarray(monoid.identity(s.tile.dtype), s.tile.dtype.numpy)[()]
        shape = self.shape((*s.tile.axes, *s.over))
        value = np.broadcast_to(self.value(s.value), shape)
        if s.where is not None:
            value = np.where(self.value(s.where), value, start)
        dims = tuple(self.names.index(n) for n in s.over)
        return folded(monoid, value, dims, start)

    def value(self, x: Ex) -> Array:
        match x:
            case Lit(value, dtype):
                one = np.asarray(value, dtype.numpy)
                return one.reshape((1,) * len(self.names))
            case Var(name):
                return self.env[name]
            case Op(op, args, dtype):
                return _apply(op, [self.value(a) for a in args], args, dtype)
            case _:
                raise TileError("an element of a buffer in an expression: load it")


def _steady(now: Array, before: Array) -> Array:
    bits = np.dtype(f"u{now.itemsize}")
    wrong = _garbage(now.dtype, now.size).reshape(now.shape)
    return np.where(now.view(bits) == before.view(bits), now, wrong)


def _apply(op: str, v: list[Array], args: tuple[Ex, ...], dtype: DType) -> Array:
    match op:
        case "select":
            return np.where(v[0], v[1], v[2])
        case "cast":
            return v[0].astype(dtype.numpy).astype(compute(dtype).numpy)
        case "bitcast":
            source = args[0].dtype.numpy
            return v[0].astype(source).view(dtype.numpy).astype(compute(dtype).numpy)
        case "fma":
            if dtype.bits > 32 or not dtype.is_float:
                return v[0] * v[1] + v[2]
            wide = np.multiply(v[0], v[1], dtype=np.float64) + v[2]
            return wide.astype(dtype.numpy)
        case "ex2":
            return np.exp2(v[0])
        case "tanh_approx":
            return np.tanh(v[0])
        case "idiv" | "imod":
            if (v[0] < 0).any():
                raise TileError("a division of a negative number")
            return v[0] // v[1] if op == "idiv" else v[0] % v[1]
        case _:
            opcode = BY_NAME[op]
            out = opcode.numpy(*v)
            want = BOOL if opcode.gives_bool else dtype
            return np.asarray(out).astype(want.numpy, copy=False)


type Memory = Mapping[str, Array]
