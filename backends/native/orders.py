"""The host's sorts of lines, for kernels that call them (`loops.Order`)."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files

from .pool import pool_of
from .toolchain import Toolchain

# Elements that are sorted: keys of 32 or 64 bits, alone or with their places.
FORMS = (
    # name, element, key, place, order, element of a key and a place
    ("words", "uint32_t", "(e)", "0", "(a) < (b)", "(uint32_t)(k)"),
    ("longs", "uint64_t", "(e)", "0", "(a) < (b)", "(k)"),
    ("packed", "uint64_t", "((e) >> 32)", "((e) & UINT32_MAX)", "(a) < (b)",
     "((uint64_t)(k) << 32 | (uint64_t)(p))"),
    ("pairs", "struct placed", "((e).key)", "((e).place)",
     "((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))",
     "((struct placed){(k), (uint64_t)(p)})"),
)  # fmt: skip
NAMES = ("NAME(x)", "ELEMENT", "KEY(e)", "PLACE(e)", "BEFORE(a, b)", "MAKE(k, p)")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def source() -> str:
    """`orders.c`, with `radix.c` once for each form of elements."""
    body = _text("radix.c")
    parts: list[str] = []
    for name, *meanings in FORMS:
        placed = "PLACED", str(int(meanings[2] != "0"))
        pairs = [*zip(NAMES, (f"{name}_##x", *meanings), strict=True), placed]
        parts += [f"#define {macro} {text}" for macro, text in pairs]
        parts.append(body)
        parts += [f"#undef {macro.split('(')[0]}" for macro, _ in pairs]
    return _text("orders.c").replace("\nRADIX\n", "\n" + "\n".join(parts) + "\n")


@cache
def library(toolchain: Toolchain) -> ctypes.CDLL:
    names = ("rw_order_line", "rw_order_join")
    made = toolchain.library(source(), False, names)
    made.rw_order_join(ctypes.c_void_p(pool_of(toolchain)))
    return made


def join_orders(compiled: ctypes.CDLL, toolchain: Toolchain) -> None:
    """Tells compiled code where sorts are, if it calls them."""
    try:
        pointer = ctypes.c_void_p.in_dll(compiled, "rw_order")
    except ValueError:  # it has no such pointer
        return
    found = ctypes.cast(library(toolchain).rw_order_line, ctypes.c_void_p)
    pointer.value = found.value
