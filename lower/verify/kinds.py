"""What loops of each kind may hold and write; threads of a group stay together.

A value *varies* if threads of a group may hold different ones.
"""

from __future__ import annotations

from math import prod

from ..loops import (
    Array,
    Assign,
    AsyncCopy,
    Await,
    Barrier,
    Beside,
    Commit,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Function,
    Gemm,
    GroupReduce,
    If,
    Let,
    Load,
    Mma,
    Op,
    Pack,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)
from .walk import Walk


class Kinds(Walk):
    """`local`: variables and arrays by the number of loops around their declaration."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.loops: list[For] = []
        self.local: dict[str, int] = {}
        self.spaces: dict[str, str] = {}
        self.varying: set[str] = set()
        self.apart = False  # under a condition that varies
        self.aside = False  # beside the group
        self.forks: set[int] = set()  # by identity: loops are gone through again
        kinds = {s.kind for s in function.body if isinstance(s, For)}
        self.nests = bool(kinds & {"grid", "block"})

    def within(self, kind: str) -> bool:
        return any(loop.kind == kind for loop in self.loops)

    def statement(self, s: Stmt) -> None:
        if self.aside and not isinstance(s, For | If | Let | Assign | Fill):
            self.fault(f"a {type(s).__name__} beside the group")
        match s:
            case For():
                self.placed(s)
                self.loop(s)
            case If(cond, body):
                before = self.apart
                self.apart = before or self.varies(cond)
                self.body(body)
                self.apart = before
            case Let(var, value):
                self.declared(var.name, s.mutable)
                self.holds(var.name, value)
            case Assign(var, value):
                self.assigned(var)
                self.holds(var.name, value)
            case Array(name, space=space):
                self.array(name, space)
            case Store():
                self.store(s)
            case Barrier():
                self.meets("a barrier")
            case GroupReduce(var, _, width):
                self.meets("a reduction of the group")
                self.assigned(var)
                if not width:
                    self.varying.discard(var.name)
            case Fetch():
                pass
            case AsyncCopy(array):
                if not self.within("thread"):
                    self.fault("an asynchronous copy outside of a thread loop")
                if self.spaces.get(array) != "shared":
                    self.fault(f"{array!r} is copied to, which is not shared")
            case Commit():
                self.meets("the end of a group of copies")
            case Await():
                self.meets("a wait for copies")
            case Mma():
                self.multiplied(s)
            case Regroup(to, source):
                self.meets("an exchange of neighbours")
                if {self.spaces.get(to), self.spaces.get(source)} != {"local"}:
                    self.fault(f"{source!r} and {to!r} are not the threads' own")
                self.varying.add(to)
            case Pack(to, source):
                if {self.spaces.get(to), self.spaces.get(source)} != {"local"}:
                    self.fault(f"{source!r} and {to!r} are not the threads' own")
                if self.within("thread"):
                    self.fault(f"{to!r} is packed in a thread loop")
                self.varying.add(to)
            case Settle():
                self.meets("a wait for products")
            case Ring(name):
                self.array(name, "shared")
            case Beside():
                self.beside(s)
            case Fill():
                if not self.aside:
                    self.fault("a ring is filled by the group itself")
                blocks = prod(x.extent for x in self.loops if x.kind == "block")
                if any(b.both for b in s.boxes) and blocks % 2:
                    self.fault(f"{blocks} blocks bring boxes two by two")
            case Full():
                self.meets("a wait for a place")
            case Free():
                self.meets("the end of a place's use")
            case Send(source=source, box=box):
                self.meets("what a group sends")
                if self.spaces.get(source) != "local":
                    self.fault(f"{source!r} is sent, which is no thread's own")
                if any(map(self.varies, (box.at, *box.corner))):
                    self.fault(f"threads send {source!r} to different places")
            case Gemm():
                if any(loop.kind != "serial" for loop in self.loops):
                    self.fault("a library's product inside of a loop that is shared")
            case Sort(parts=parts):
                if parts and any(loop.kind != "serial" for loop in self.loops):
                    self.fault("a sort by all threads inside of a loop that is shared")

    def beside(self, s: Beside) -> None:
        self.forks.add(id(s))
        if {loop.kind for loop in self.loops} != {"block"} or len(self.forks) > 1:
            self.fault("threads beside a group that is none, or has some")
        self.aside = True
        self.body(s.aside)
        self.aside = False
        self.body(s.body)

    def multiplied(self, s: Mma) -> None:
        self.meets("a product of the group")
        if self.spaces.get(s.out) != "local":
            self.fault(f"a product in {s.out!r}, which is no thread's own")
        if s.own and self.spaces.get(s.a.array) != "local":
            self.fault(f"a product of {s.a.array!r}, which is no thread's own")
        if s.own and s.warps == 1 and self.spaces.get(s.b.array) != "local":
            self.fault(f"a product of {s.b.array!r}, which is no thread's own")
        for x, _, _ in s.matrices:
            if self.spaces.get(x.array) != "shared":
                self.fault(f"a product of {x.array!r}, which is not shared")
            if self.varies(x.at):
                self.fault(f"threads multiply different parts of {x.array!r}")
        self.varying.add(s.out)

    # ---- where loops may stand

    def placed(self, s: For) -> None:
        inner = [loop.kind for loop in self.loops]
        if s.kind in ("grid", "block"):
            whole = all(k == s.kind for k in inner) and len(self.path) == len(inner) + 1
            if not whole:
                self.fault(f"a {s.kind} loop inside of something else")
            elif s.kind == "block" and inner and len(self.loops[-1].body) > 1:
                self.fault("a block loop beside something else in a block loop")
        if self.aside and s.kind != "serial":
            self.fault(f"a {s.kind} loop beside the group")
        if s.kind == "thread":
            if "block" not in inner:
                self.fault("a thread loop outside of a block")
            if "thread" in inner:
                self.fault("a thread loop in a thread loop")

    def loop(self, s: For) -> None:
        self.loops.append(s)
        if s.kind == "thread":
            self.varying.add(s.var.name)
        while True:  # what a turn makes vary does so at the start of the next
            before, result = set(self.varying), len(self.faults)
            self.body(s.body)
            self.varying |= before
            if self.varying == before:
                break
            del self.faults[result:]
        self.loops.pop()

    # ---- declarations and writes

    def declared(self, name: str, kept: bool) -> None:
        self.local[name] = len(self.loops)
        self.varying.discard(name)
        if kept and not self.loops and self.nests:
            self.fault(f"{name!r} is not seen by other launches: use a scratch buffer")

    def array(self, name: str, space: str) -> None:
        self.declared(name, True)
        self.spaces[name] = space
        if space == "shared" and not self.within("block"):
            self.fault(f"shared array {name!r} outside of a block")
        if space == "shared" and (self.within("thread") or self.apart):
            self.fault(f"shared array {name!r} where threads part")

    def assigned(self, var: Var) -> None:
        for loop in self.loops[self.local.get(var.name, 0) :]:
            if loop.kind in ("grid", "block", "simd"):
                at = f"{loop.kind} loop over {loop.var.name!r}"
                self.fault(f"{var.name!r} carries a value from turn to turn of a {at}")

    def store(self, s: Store) -> None:
        """Outside of thread loops all threads store the same."""
        mine = self.spaces.get(s.array) == "local"
        varies = self.varies(s.value) or self.varies(s.index) or self.apart
        if mine and (varies or self.within("thread")):
            self.varying.add(s.array)
        together = self.within("block") and not self.within("thread")
        if together and not mine and varies:
            self.fault("threads store different values, outside of a thread loop")

    # ---- threads of a group

    def meets(self, what: str) -> None:
        if not self.within("block"):
            self.fault(f"{what} outside of a block")
        if self.within("thread"):
            self.fault(f"{what} in a thread loop")
        if self.apart:
            self.fault(f"{what} that not all threads reach")

    def holds(self, name: str, value: Ex) -> None:
        if self.apart or self.within("thread") or self.varies(value):
            self.varying.add(name)

    def varies(self, x: Ex) -> bool:
        match x:
            case Var(name):
                return name in self.varying
            case Load(array, index):
                return array in self.varying or self.varies(index)
            case Op(_, args):
                return any(self.varies(a) for a in args)
            case _:
                return False
