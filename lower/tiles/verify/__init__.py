"""Checks that a tile program keeps the rules of the tile IR (`ir.py`).

Those of one grid are in `grid.py`, those of rings in `tiles/rings.py`.  No grid reads
what it stores.  A scheduled program lays out every point of its tiles, and fits its
device.
"""

from __future__ import annotations

from ..ir import TileProgram
from .grid import GridCheck


class TileVerifyError(ValueError):
    """A program that breaks the rules of the tile IR: a fault of what made it."""


def verify(program: TileProgram, shared: int | None = None) -> TileProgram:
    """The program, unless it breaks a rule; `shared`: bytes that a group may share."""
    result = faults(program, shared)
    if result:
        raise TileVerifyError("\n".join(result))
    return program


def faults(program: TileProgram, shared: int | None = None) -> tuple[str, ...]:
    out: list[str] = []
    for grid in program.body:
        out += GridCheck(program, grid).run()
    if not out and shared is not None:
        from ...targets.simt import shared_bytes

        if (taken := shared_bytes(program)) > shared:
            out.append(f"{taken} bytes are shared, of {shared}")
    return tuple(dict.fromkeys(out))
