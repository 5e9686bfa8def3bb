"""Pickled bytes looked through before they are read.

The reader of the standard library trusts them with memory and the stack: a number makes
it take as much as it says, a tuple within a tuple a million deep ends the process when
it is hashed, and a tuple of twice the one before doubles the work at each step.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable

DEEP = 2000  # values within values; `pickle` writes fewer
MANY = 100_000_000  # values, where each is counted as often as it is referred to

type Value = tuple[int, int]  # how deep it is, and how many values are in it

_FIXED = {  # opcodes that have an argument of so many bytes
    "PROTO": 1, "FRAME": 8, "BININT": 4, "BININT1": 1, "BININT2": 2, "BINFLOAT": 8,
    "BINGET": 1, "LONG_BINGET": 4, "BINPUT": 1, "LONG_BINPUT": 4,
}  # fmt: skip
_COUNTED = {  # opcodes that begin with the length of theirs, in so many bytes
    "LONG1": 1, "LONG4": 4, "SHORT_BINUNICODE": 1, "BINUNICODE": 4, "BINUNICODE8": 8,
    "SHORT_BINBYTES": 1, "BINBYTES": 4, "BINBYTES8": 8,
}  # fmt: skip
_PLAIN = ("NONE", "NEWTRUE", "NEWFALSE", "EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT",
          "EMPTY_SET", "BININT", "BININT1", "BININT2", "BINFLOAT",
          *_COUNTED)  # fmt: skip
_JOINED = {  # opcodes that make one value of the so many last
    "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3, "STACK_GLOBAL": 2, "REDUCE": 2, "BUILD": 2,
    "APPEND": 2, "SETITEM": 3,
}  # fmt: skip
_MARKED = {  # that make one of all since the mark, and of one more where that is so
    "TUPLE": 0, "FROZENSET": 0, "APPENDS": 1, "SETITEMS": 1, "ADDITEMS": 1,
}  # fmt: skip
_CODES = {o.name: ord(o.code) for o in pickletools.opcodes}
_SIZES = {_CODES[n]: size for n, size in _FIXED.items()}
_LENGTHS = {_CODES[n]: size for n, size in _COUNTED.items()}
_LEAVES = frozenset(_CODES[n] for n in _PLAIN)
_JOINS = {_CODES[n]: count for n, count in _JOINED.items()}
_MARKS = {_CODES[n]: more for n, more in _MARKED.items()}
_LEAF: Value = (1, 1)


class Refused(ValueError):
    """Bytes that are not to be read."""


class _Scan:
    """The reader's stack, of sizes instead of values."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Value] = []
        self.marks: list[int] = []
        self.memo: dict[int, Value] = {}

    def number(self, size: int) -> int:
        end = self.at + size
        result = int.from_bytes(self.data[self.at : end], "little")
        self.at = end
        return result

    def join(self, count: int) -> None:
        parts = self.stack[-count:] if count else []
        if len(parts) != count:
            raise Refused("a value is missing")
        deep = 1 + max((d for d, _ in parts), default=0)
        many = 1 + sum(n for _, n in parts)
        if deep > DEEP:
            raise Refused(f"values lie over {DEEP} deep within values")
        if many > MANY:
            raise Refused(f"over {MANY} values")
        del self.stack[len(self.stack) - count :]
        self.stack.append((deep, many))

    def run(self) -> None:
        data, stack = self.data, self.stack
        while True:
            if self.at >= len(data):
                raise Refused("they end early")
            code = data[self.at]
            self.at += 1
            if code in _LENGTHS:
                length = self.number(_LENGTHS[code])
                self.at += length
                stack.append(_LEAF)
            elif code in _JOINS:
                self.join(_JOINS[code])
            elif code in _MARKS:
                self.join(len(stack) - self.mark() + _MARKS[code])
            elif code == _STOP:
                return
            elif code in _OTHERS:
                _OTHERS[code](self)
            elif code in _LEAVES:
                self.at += _SIZES.get(code, 0)
                stack.append(_LEAF)
            else:
                raise Refused(f"an operation {code} that frozen data has not")

    def drop_marked(self) -> None:
        del self.stack[self.mark() :]

    def mark(self) -> int:
        if not self.marks:
            raise Refused("no mark")
        return self.marks.pop()

    def memoize(self) -> None:
        self.put(len(self.memo))

    def put(self, where: int) -> None:
        """The reader makes room for as many as the highest number."""
        if where > len(self.data) or not self.stack:
            raise Refused("a value is kept where there is no place")
        self.memo[where] = self.stack[-1]

    def get(self, where: int) -> None:
        if where not in self.memo:
            raise Refused("a value is missing")
        self.stack.append(self.memo[where])

    def drop(self) -> None:
        if not self.stack:
            raise Refused("a value is missing")
        self.stack.pop()

    def line(self) -> None:
        """The name of a class, in two lines."""
        for _ in range(2):
            self.at = self.data.find(b"\n", self.at) + 1
            if not self.at:
                raise Refused("they end early")
        self.stack.append(_LEAF)

    def frame(self) -> None:
        if self.number(8) > len(self.data) - self.at:
            raise Refused("they end early")


_STOP = _CODES["STOP"]
_OTHERS: dict[int, Callable[[_Scan], object]] = {
    _CODES["MEMOIZE"]: _Scan.memoize,
    _CODES["BINGET"]: lambda s: s.get(s.number(1)),
    _CODES["LONG_BINGET"]: lambda s: s.get(s.number(4)),
    _CODES["BINPUT"]: lambda s: s.put(s.number(1)),
    _CODES["LONG_BINPUT"]: lambda s: s.put(s.number(4)),
    _CODES["MARK"]: lambda s: s.marks.append(len(s.stack)),
    _CODES["POP"]: _Scan.drop,
    _CODES["POP_MARK"]: lambda s: s.drop_marked(),
    _CODES["GLOBAL"]: _Scan.line,
    _CODES["FRAME"]: _Scan.frame,
    _CODES["PROTO"]: lambda s: s.number(1),
}


def check(data: bytes) -> None:
    """Refused where reading `data` could take more than its length tells."""
    _Scan(data).run()


__all__ = ["Refused", "check"]
