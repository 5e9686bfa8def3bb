"""Weights of four bits or two, packed into bytes, in blocks of one scale each."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import U8, DType

from ...site import MICROSOFT, Site, Unread, op
from ..linear import product
from ..shape import part


@op("MatMulNBits", domain=MICROSOFT)
def matmul(s: Site) -> int:
    """`B` is [columns, blocks, bytes of a block], the block's first number in the low
    bits of its first byte."""
    b, bits = s.b, s.attr("bits", 4)
    k, n, block = (s.attr(name) for name in ("K", "N", "block_size"))
    if bits not in (2, 4, 8) or s.attr("weight_prepacked", 0):
        raise Unread(f"weights of {bits} bits, or packed for one machine")
    if s.has(4) and (bits != 4 or (s.has(3) and s.type(3).dtype == U8)):
        raise Unread(
            "blocks in another order, of other than 4 bits or with packed zeros"
        )
    s.idle("accuracy_level")  # it allows for less than all bits of A
    blocks, dtype = -(-k // block), s.type(0).dtype
    w = unpacked(s, b.reshape(s.x(1), (n, blocks * block * bits // 8)), bits)
    w = b.cast(part(s, w, 1, 0, k), dtype)
    zero = _zeros(s, bits, n, blocks, dtype)
    if zero is None:
        w = s.bin("sub", w, b.const(1 << (bits - 1), dtype))
    else:
        w = s.bin("sub", w, _entries(s, zero, block, k))
    scale = b.reshape(b.cast(s.x(2), dtype), (n, blocks))
    w = s.bin("mul", w, _entries(s, scale, block, k))
    y = product(s, s.x(0), b.permute(w, (1, 0)))
    return s.bin("add", y, s.x(5)) if s.has(5) else y


def _entries(s: Site, x: int, block: int, k: Dim) -> int:
    """What is said of blocks, [columns, blocks], for each of `k` entries; `g_idx` says
    which block each of these is of."""
    if s.has(4):
        return s.made("Gather", x, part(s, s.x(4), 0, 0, k), axis=1)
    return repeated(s, x, block, k)


def repeated(s: Site, x: int, block: int, k: Dim) -> int:
    """Each entry of the last axis `block` times, `k` in all."""
    b, (*lead, blocks) = s.b, s.b.shape(x)
    x = b.expand(b.reshape(x, (*lead, blocks, 1)), (*lead, blocks, block))
    return part(s, b.reshape(x, (*lead, blocks * block)), len(lead), 0, k)


def _zeros(s: Site, bits: int, n: int, blocks: int, dtype: DType) -> int | None:
    b = s.b
    if not s.has(3):
        return None
    if s.type(3).dtype != U8:
        return b.reshape(b.cast(s.x(3), dtype), (n, blocks))
    width = -(-blocks * bits // 8)
    zero = unpacked(s, b.reshape(s.x(3), (n, width)), bits)
    return b.cast(part(s, zero, 1, 0, blocks), dtype)


def unpacked(s: Site, x: int, bits: int) -> int:
    """Bytes as numbers of fewer bits, along the last axis, low bits first."""
    if bits == 8:
        return x
    b, (*lead, width) = s.b, s.b.shape(x)
    low = s.full((1 << bits) - 1, x)
    parts = [
        b.bin("and", b.bin("shr", x, s.full(at, x)), low) for at in range(0, 8, bits)
    ]
    rows = [b.reshape(p, (*lead, width, 1)) for p in parts]
    return b.reshape(b.concat(rows, len(lead) + 1), (*lead, width * (8 // bits)))


@op("GatherBlockQuantized", domain=MICROSOFT)
def gather(s: Site) -> int:
    """Rows of a table that is quantized in blocks along its last axis."""
    b, bits, rank = s.b, s.attr("bits", 4), s.rank(0)
    if s.type(0).dtype != U8 or bits not in (2, 4, 8):
        raise Unread(f"a table of {s.type(0).dtype} in {bits} bits")
    axes = s.attr("gather_axis", 0) % rank, s.attr("quantize_axis", 1) % rank
    if axes != (0, rank - 1):
        raise Unread(f"rows along axis {axes[0]}, blocks along axis {axes[1]}")
    rows = unpacked(s, s.made("Gather", s.value(0), s.value(1), axis=0), bits)
    scale = s.made("Gather", s.value(2), s.value(1), axis=0)
    dtype, size = b.type(scale).dtype, s.attr("block_size", 128)
    *lead, width = b.shape(rows)
    x = b.cast(rows, dtype)
    if s.has(3):
        zero = unpacked(s, s.made("Gather", s.value(3), s.value(1), axis=0), bits)
        zero = b.cast(part(s, zero, len(lead), 0, b.shape(scale)[-1]), dtype)
        x = s.bin("sub", x, repeated(s, zero, size, width))
    else:
        x = s.bin("sub", x, b.const(1 << (bits - 1), dtype))
    return s.bin("mul", x, repeated(s, scale, size, width))
