"""Statements of right types: what each brings and takes is of the dtypes, lanes and
sizes that it says."""

from __future__ import annotations

from ...egraph.ir.dtypes import BOOL, F32, I8, U8, compute
from ...egraph.ir.scalars import MONOIDS
from ..fragments import EIGHTS, FOUR, HALVES, HIGH, MORE, ROWS, WARP, Quads, refusal
from ..loops import (
    PANEL,
    PRODUCTS,
    Array,
    Assign,
    AsyncCopy,
    Beside,
    Box,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Gemm,
    GroupReduce,
    If,
    Let,
    Mma,
    Pack,
    Param,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
    panel,
)
from ..orders import room
from ..targets.engine import BYTES, refused
from .values import INDEX, Values

BOX_ROW = 128  # bytes
MIXED = 8  # rows that are mixed among each other


class Types(Values):
    def statement(self, s: Stmt) -> None:
        match s:
            case For():
                self.loop(s)
            case If(cond, body):
                self.want(cond, BOOL, 1, "a condition")
                self.body(body)
            case Let(var, value, mutable):
                self.want(value, var.dtype, var.lanes, repr(var.name))
                self.bind(var.name)
                self.vars[var.name] = (var, mutable)
                if compute(var.dtype) is not var.dtype:
                    self.fault(f"{var.name!r} has the storage type {var.dtype}")
            case Assign(var, value):
                self.assigned(var)
                self.want(value, var.dtype, var.lanes, repr(var.name))
            case GroupReduce(var, monoid, width):
                self.assigned(var)
                if width < 0 or width & (width - 1):
                    self.fault(f"{width} threads are no power of two")
                elif width and self.function.threads % width:
                    threads = self.function.threads
                    self.fault(f"{threads} threads do not divide by {width}")
                if monoid not in MONOIDS or not MONOIDS[monoid].takes(var.dtype):
                    self.fault(f"no monoid of {var.dtype}: {monoid!r}")
            case Gemm():
                self.product(s)
            case Sort():
                self.sorted(s)
            case AsyncCopy():
                self.copied(s)
            case Mma():
                self.multiplied(s)
            case Regroup():
                self.regrouped(s)
            case Pack(bits=bits) if bits:
                self.unpacked(s)
            case Pack(to, source):
                sides = self.arrays.get(to), self.arrays.get(source)
                sizes = {x.size if x else 0 for x in sides}
                kinds = tuple(x.dtype if x else None for x in sides)
                if len(sizes) > 1 or kinds[0] not in HALVES or kinds[1] is not F32:
                    self.fault(f"{source!r} is not packed to {to!r}")
            case Settle(left, sums, made):
                if left < 0 or any(x not in self.arrays for x in (*sums, *made)):
                    self.fault(f"{left} products are left of {', '.join(sums)}")
            case Ring(name, places):
                self.bind(name)
                self.rings.add(name)
                if places < 1:
                    self.fault(f"a ring of {places} places")
            case Beside(threads, aside, body):
                if threads < 1:
                    self.fault(f"{threads} threads beside a group")
                self.body(aside)
                self.body(body)
            case Fill():
                self.filled(s)
            case Send():
                self.sent(s)
            case Full(ring, turn) | Free(ring, turn):
                self.turn(ring, turn)
                if isinstance(s, Free) and s.products < 0:
                    self.fault(f"all products but {s.products}")
            case Array():
                self.declare(s)
            case Fetch(array, index):
                self.place(array, index, 1)
                if not isinstance(self.arrays.get(array), Param):
                    self.fault(f"{array!r} is fetched, which is no buffer")
            case Store(array, index, value, lanes):
                held = self.place(array, index, lanes)
                if held is not None:
                    self.want(value, compute(held), lanes, f"an element of {array!r}")
                owner = self.arrays.get(array)
                if isinstance(owner, Param) and not owner.writable:
                    self.fault(f"a store to {array!r}, which is read only")
            case _:
                pass

    def loop(self, s: For) -> None:
        if s.var.dtype not in INDEX or s.var.lanes != 1:
            self.fault(f"a loop over {s.var.dtype} of {s.var.lanes} lanes")
        if s.step < 1 or s.extent < 0:
            self.fault(f"a loop to {s.extent} by {s.step}")
        known = self.vars.copy()
        self.bind(s.var.name)
        self.vars[s.var.name] = (s.var, False)
        self.body(s.body)
        self.vars = known

    def assigned(self, var: Var) -> None:
        if not self.use(var):
            self.fault(f"{var.name!r} is not mutable")

    def product(self, s: Gemm) -> None:
        held = [self.place(x.array, x.at, 1) for x, _, _ in s.matrices]
        out, a, b = held
        if a is not b or (a, out) not in PRODUCTS:
            self.fault(f"a product of {', '.join(map(str, held))}")
        owner = self.arrays.get(s.out.array)
        if isinstance(owner, Param) and not owner.writable:
            self.fault(f"a product stored to {s.out.array!r}, which is read only")
        if min(s.m, s.n, s.k) < 1:
            self.fault("a product of nothing")
        for x, rows, columns in s.matrices:
            steps = {(x.across, x.down, columns), (x.down, x.across, rows)}
            if not any(one == 1 and other >= length for one, other, length in steps):
                self.fault(f"{x.array!r} does not lie as a matrix: {x.down} {x.across}")

    def sorted(self, s: Sort) -> None:
        out, source = (self.place(x.array, x.at, 1) for x, _ in s.rows)
        if out is not None and not (out.is_int if s.places else out is source):
            self.fault(f"{source} is sorted to {out}")
        for name in (s.out.array, s.work):
            owner = self.arrays.get(name)
            if isinstance(owner, Param) and not owner.writable:
                self.fault(f"a sort writes to {name!r}, which is read only")
        held = self.arrays.get(s.work)
        if source is None or held is None:
            return
        least = room(source, s.n, s.count, s.places, s.parts)
        if held.dtype is not U8 or held.size < least:
            self.fault(f"{s.work!r} is not {least} bytes to sort in")
        if not 0 < s.count <= s.n or min(x.step for x, _ in s.rows) < 1:
            self.fault(f"{s.count} of {s.n} elements are sorted")

    def copied(self, s: AsyncCopy) -> None:
        to = self.place(s.array, s.index, s.lanes)
        source = self.place(s.source, s.at, s.lanes)
        if to is not source:
            self.fault(f"{source} is copied to {to}")
        if source is not None and source.itemsize * s.lanes not in (4, 8, 16):
            self.fault(f"{s.lanes} elements of {source} are copied at once")
        if s.where is not None:
            self.want(s.where, BOOL, 1, "a test")

    def turn(self, ring: str, turn: Ex) -> None:
        if ring not in self.rings:
            self.fault(f"{ring!r} is no ring in scope")
        self.value(turn)
        if turn.dtype not in INDEX or turn.lanes != 1:
            self.fault(f"a turn of {turn.dtype}, {turn.lanes} lanes")

    def filled(self, s: Fill) -> None:
        self.turn(s.ring, s.turn)
        for b in s.boxes:
            self.box(b)
            if b.both and b.rows % MIXED:
                self.fault(f"halves of {b.rows} rows")

    def box(self, b: Box, wide: int = BOX_ROW) -> None:
        """Rows of boxes, of so many bytes, are those of swizzled arrays; a line lies as
        it is.  Memory is cut by 16 bytes."""
        here, t = self.place(b.array, b.at, 1), b.tensor
        held, buffer = self.arrays.get(b.array), self.arrays.get(t.source)
        if here is None or not isinstance(held, Array) or not isinstance(buffer, Param):
            self.fault(f"a box of {t.source!r} at {b.array!r}")
            return
        row = here.itemsize * t.sizes[0]
        line = not held.swizzle and max((*t.sizes[1:], 1)) == 1 and row % BYTES == 0
        lies = held.swizzle == t.sizes[0] and row == wide
        if here is not buffer.dtype or not (lies or (line and wide == BOX_ROW)):
            self.fault(f"rows of {t.sizes[0]} {buffer.dtype} at {b.array!r}")
        shifts = len(t.windows.first) if t.windows else 0
        ranks = {len(x) for x in (t.extents, t.strides, t.sizes)}
        ranks.add(len(b.corner) - shifts)
        if len(ranks) > 1 or not ranks <= {*range(1, 6)}:
            self.fault(f"a tensor of {ranks} axes")
        reason = refused(t) or ("both bring it" if t.windows and b.both else None)
        if reason:
            self.fault(f"windows of {t.source!r}: {reason}")
        odd = [x for x in t.strides[1:] if x * here.itemsize % BYTES]
        if t.strides[0] != 1 or odd or not 0 < max(t.sizes) <= 256:
            self.fault(f"a tensor by {t.strides} in boxes of {t.sizes}")
        for x in b.corner:
            self.value(x)
            if x.dtype not in INDEX:
                self.fault(f"a corner of {x.dtype}")

    def sent(self, s: Send) -> None:
        self.box(s.box, ROWS * 2 if s.turned else BOX_ROW)
        if s.box.both:
            self.fault("both send one box")
        source = self.arrays.get(s.source)
        threads = self.function.threads
        reason = refusal(s.m, s.n, HIGH, threads, s.across, FOUR)
        if reason:
            self.fault(reason)
        elif (
            source is None
            or source.dtype is not F32
            or (source.size * threads != s.m * s.n)
        ):
            self.fault(f"{s.source!r} does not hold what is sent")
        buffer = self.arrays.get(s.box.tensor.source)
        if not isinstance(buffer, Param) or not buffer.writable:
            self.fault(f"sent to {s.box.tensor.source!r}, which is read only")
        held = self.arrays.get(s.box.array)
        if held is not None and held.size % (threads // WARP * s.box.size or 1):
            self.fault(f"{held.size} elements are no pieces for {threads} threads")
        rows = PANEL if s.turned else ROWS
        if sorted(n for n in s.box.tensor.sizes[1:] if n > 1) != [rows]:
            self.fault(f"sent by boxes of {s.box.tensor.sizes}")

    def unpacked(self, s: Pack) -> None:
        """Small integers, which numbers of two bytes have all of."""
        to, source = (self.arrays.get(x) for x in (s.to, s.source))
        if to is None or source is None or to.dtype not in HALVES:
            self.fault(f"{s.source!r} is not unpacked to {s.to!r}")
            return
        kinds = {8: (I8,), 4: (U8,)}.get(s.bits, ())
        whole = s.run > 0 and s.run % 4 == 0 and source.size % s.run == 0
        whole = whole and to.size * s.bits == source.size * 8
        if source.dtype not in kinds or not whole:
            self.fault(f"{s.source!r} is not unpacked to {s.to!r}")
        if abs(s.more) > (MORE if s.bits == 4 else 0):
            self.fault(f"{s.more} is added to what is unpacked to {s.to!r}")

    def by_quads(self, s: Mma) -> None:
        """Of each warp by itself."""
        m, n, k = s.m, s.n, s.k
        if reason := Quads(m, n, k).refusal:
            self.fault(reason)
        if s.across != 1 or self.function.threads % WARP:
            self.fault("warps that hold both sides of a product stand by themselves")
        held = [self.arrays.get(x) for x in (s.out, s.a.array, s.b.array)]
        sizes = [x.size * WARP if x else 0 for x in held]
        kinds = [x.dtype if x else None for x in held]
        if sizes != [m * n, m * k, n * k] or kinds[1] is not kinds[2]:
            self.fault(f"{s.out!r} and its sides are no product {m} x {n} x {k}")
        if kinds[0] is not F32 or kinds[1] not in HALVES:
            self.fault(f"a product of {', '.join(map(str, kinds))}")

    def multiplied(self, s: Mma) -> None:
        if s.own and s.warps == 1:
            self.by_quads(s)
            return
        out = self.arrays.get(s.out)
        held = [self.place(x.array, x.at, 1) for x in (s.a, s.b)]
        of = held[0]
        along_k = s.b.down == 1 and s.warps == FOUR and (s.own or s.a.across == 1)
        others = (F32,) if s.own else (*EIGHTS, F32)
        known = of in HALVES or (along_k and of in others)
        if of is None or of is not held[1] or not known:
            self.fault(f"a product of {', '.join(map(str, held))}")
            return
        left = self.arrays.get(s.a.array)
        if s.own and (s.warps != FOUR or s.across != 1):
            self.fault("an own left side of other than groups, one under the other")
        elif s.own and left and left.size * self.function.threads != s.m * s.k:
            self.fault(f"{s.a.array!r} does not hold the left side")
        threads, deep = self.function.threads, panel(of)
        reason = refusal(s.m, s.n, s.k, threads, s.across, s.warps, deep)
        if reason:
            self.fault(reason)
        elif out is None or out.size * self.function.threads != s.m * s.n:
            self.fault(f"{s.out!r} does not hold the product")
        elif out.dtype is not F32:
            self.fault(f"{s.out!r} is {out.dtype}")
        for x, rows, columns in s.matrices:
            steps = {(x.across, x.down, columns), (x.down, x.across, rows)}
            least = (one == 1 and other >= min(length, panel(of) if x.apart else length)
                     for one, other, length in steps)  # fmt: skip
            if not any(least):
                self.fault(f"{x.array!r} does not lie as a matrix: {x.down} {x.across}")

    def regrouped(self, s: Regroup) -> None:
        to, source = (self.arrays.get(x) for x in (s.to, s.source))
        sizes = {x.size if x else 0 for x in (to, source)}
        (size, *others) = sizes
        least = 4 * s.mid * s.last
        if others or not size or least < 4 or size % least or s.to == s.source:
            self.fault(f"{s.source!r} does not become {s.to!r} by {s.mid} {s.last}")
        elif self.function.threads % 32 or {x.dtype for x in (to, source) if x} != {
            F32
        }:
            self.fault(f"{s.to!r} is not regrouped by warps, in f32")

    def declare(self, s: Array) -> None:
        self.bind(s.name)
        self.arrays[s.name] = s
        if s.size < 0:
            self.fault(f"array {s.name!r} of {s.size} elements")
        packed = s.dtype in HALVES
        if compute(s.dtype) is not s.dtype and s.space != "shared" and not packed:
            self.fault(f"array {s.name!r} has the storage type {s.dtype}")
        row = s.swizzle * s.dtype.itemsize
        if s.swizzle and (row % 32 or s.size % s.swizzle):
            self.fault(f"array {s.name!r} in rows of {s.swizzle}")
