"""Rings as CUDA C++ with PTX (sm_90): the engine for copies brings boxes of tensors to
their places, which barriers in shared memory count full and free.

Of a ring's barriers those of full places come first.  A place is full once all bytes
that were told are there, free once each warp of the group has said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from ...egraph.ir.dtypes import BF16, DType
from ..axes import ceil_div
from ..device import TensorMap
from ..fragments import FOUR, HIGH, ROWS, WARP
from ..loops import PANEL, ROW, Beside, Box, Fill, Mma, Param, Send, Stmt, Tensor
from ..walking import walk
from .expressions import name_of

REGISTERS, FEW, MOST = 1 << 16, 40, 232  # of a unit, of a thread beside, of another
CROWDED, FEWER, ALL = 160, 24, 240  # the same where threads hold so many sums
ROOM = 240  # registers that each thread has without, of which more are no use
BOX = 128  # bytes, at multiples of which boxes begin
MIXED = 8  # rows that are mixed among each other
INLINE = "static __device__ __forceinline__"
HELPERS = r"""struct __align__(64) rw_tensor { u64 opaque[16]; };
static __device__ __forceinline__ u32 rw_address(const void *p) {
  return (u32)__cvta_generic_to_shared(p);
}
static __device__ __forceinline__ u32 rw_barrier(const u64 *p) { return rw_address(p); }
static __device__ __forceinline__ void rw_ring(u64 *ring, int places, u32 readers) {
  for (int i = 0; i < 2 * places; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(rw_barrier(ring + i)), "r"(i < places ? 1 : readers)
                 : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ __forceinline__ void rw_until(const u64 *p, u32 parity) {
  asm volatile("{ .reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\nbra again;\nover: }"
               :: "r"(rw_barrier(p)), "r"(parity) : "memory");
}
template <int N>
static __device__ __forceinline__ void rw_full(const u64 *ring, u32 turn) {
  rw_until(ring + turn % N, turn / N & 1);
}
template <int N>
static __device__ __forceinline__ void rw_free(const u64 *ring, u32 turn) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(rw_barrier(ring + N + turn % N)) : "memory");
}
template <int N>
static __device__ __forceinline__ void rw_fill(const u64 *ring, u32 turn, u32 bytes) {
  rw_until(ring + N + turn % N, turn / N & 1 ^ 1);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(rw_barrier(ring + turn % N)), "r"(bytes) : "memory");
}
template <int N> static __device__ __forceinline__ void rw_meet() {
  asm volatile("bar.sync 1, %0;" :: "n"(N) : "memory");
}
template <int N> static __device__ __forceinline__ void rw_fewer() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}
template <int N> static __device__ __forceinline__ void rw_more() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
}
"""

# Two blocks side by side bring at once what both want: each half of the rows, to both.
# A place is free once the warps of both have said so to both.
PAIRS = r"""static __device__ __forceinline__ u32 rw_rank() { return blockIdx.x % 2; }
static __device__ __forceinline__ void rw_meet_both() {
  asm volatile("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::: "memory");
}
template <int N>
static __device__ __forceinline__ void rw_free_both(const u64 *ring, u32 turn) {
  __syncwarp();
  const u32 lane = threadIdx.x % 32;
  if (lane < 2)
    asm volatile("{ .reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                 :: "r"(rw_barrier(ring + N + turn % N)), "r"(lane) : "memory");
}
"""

# A piece of 16 x 64 elements: four matrices of 8 x 8 at once, as `swizzle` mixes rows
# of 128 bytes.
SENDS = r"""template <bool brain>
static __device__ __forceinline__ u32 rw_pair(f32 low, f32 high) {
  u32 r;
  if (brain) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
template <bool brain>
static __device__ __forceinline__ void rw_put(void *to, const f32 *c) {
  const u32 lane = threadIdx.x % 32, row = lane / 8 % 2 * 8 + lane % 8;
  const u32 at = (u32)__cvta_generic_to_shared(to) + row * 128;
  #pragma unroll
  for (u32 j = 0; j < 8; j += 2) {
    const u32 place = at + ((j + lane / 16) ^ lane % 8) * 16;
    const f32 *const v = c + j * 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(place), "r"(rw_pair<brain>(v[0], v[1])),
                    "r"(rw_pair<brain>(v[2], v[3])), "r"(rw_pair<brain>(v[4], v[5])),
                    "r"(rw_pair<brain>(v[6], v[7])) : "memory");
  }
}
// The piece of 64 x 16 elements that is such a product turned.
template <bool brain>
static __device__ __forceinline__ void rw_put_turned(void *to, const f32 *c) {
  const u32 lane = threadIdx.x % 32;
  const u32 at = (u32)__cvta_generic_to_shared(to) + lane / 8 % 2 * 16;
  #pragma unroll
  for (u32 j = 0; j < 8; j += 2) {
    const u32 place = at + ((j + lane / 16) * 8 + lane % 8) * 32;
    const f32 *const v = c + j * 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
                 " [%0], {%1, %2, %3, %4};"
                 :: "r"(place), "r"(rw_pair<brain>(v[0], v[1])),
                    "r"(rw_pair<brain>(v[2], v[3])), "r"(rw_pair<brain>(v[4], v[5])),
                    "r"(rw_pair<brain>(v[6], v[7])) : "memory");
  }
}
static __device__ __forceinline__ void rw_sending() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void rw_sent() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
"""


def box_helper(rank: int) -> tuple[str, str]:
    """Name and text of the function that brings a box."""
    return _moving(
        f"rw_box{rank}", rank, "void *to, const rw_tensor *t, const u64 *full",
        "shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        ("%0", "%1", "%2"), ('"r"(rw_address(to))', '"l"(t)', '"r"(rw_barrier(full))'),
    )  # fmt: skip


def windows_helper(rank: int) -> tuple[str, str]:
    """Name and text of the function that brings a box that walks."""
    name, walked = f"rw_windows{rank}", rank - 2
    shifts = ", ".join(f"%{3 + rank + d}" for d in range(walked))
    given = (f'"h"((u16)c{rank + d})' for d in range(walked))
    return _moving(
        name, rank, "void *to, const rw_tensor *t, const u64 *full",
        "shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
        ("%0", "%1", "%2"), ('"r"(rw_address(to))', '"l"(t)', '"r"(rw_barrier(full))'),
        last=f", {{{shifts}}}", after=tuple(given),
    )  # fmt: skip


def half_helper(rank: int, row: int, rows: int, second: int) -> tuple[str, str]:
    """Name and text of the function that brings a block's half of a box that both of
    two want, so many rows along this axis, to both; where the second one begins."""
    name, both = f"rw_half{rank}_{row}_{rows}_{second}", '"h"((u16)3)'
    to = f"rw_address(to) + rw_rank() * {second * ROW}"
    kind = "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
    return _moving(
        name, rank, "void *to, const rw_tensor *t, const u64 *full", kind,
        ("%0", "%1", "%2"), (f'"r"({to})', '"l"(t)', '"r"(rw_barrier(full))', both),
        {row: f" + (i32)rw_rank() * {second}"}, ", %3",
    )  # fmt: skip


def send_helper(rank: int) -> tuple[str, str]:
    """Name and text of the function that stores a box."""
    return _moving(
        f"rw_send{rank}", rank, "const rw_tensor *t, const void *from",
        "global.shared::cta.tile.bulk_group",
        ("", "%0", "%1"), ('"l"(t)', '"r"(rw_address(from))'),
    )  # fmt: skip


def _moving(
    name: str, rank: int, params: str, kind: str, places: tuple[str, str, str],
    given: tuple[str, ...], more: Mapping[int, str] = MappingProxyType({}),
    last: str = "", after: tuple[str, ...] = (),
) -> tuple[str, str]:  # fmt: skip
    """`places`: where to, if not the tensor; the tensor; what else; `more`: of an
    axis's corner; `after`: values that follow the corner's."""
    to, tensor, other = places
    axes = [f"c{d}" for d in range(rank)]
    corner = ", ".join(f"%{len(given) + d}" for d in range(rank))
    operands = f"[{tensor}, {{{corner}}}], [{other}]{last};"
    if to:
        operands = f"[{to}], {operands}"
    values = ", ".join(
        (
            *given,
            *(f'"r"({c}{more.get(d, "")})' for d, c in enumerate(axes)),
            *after,
        )
    )
    axes += [f"c{rank + d}" for d in range(len(after))]
    return (
        name,
        f"""{INLINE}
void {name}({", ".join((params, *(f"i32 {c}" for c in axes)))}) {{
  asm volatile("cp.async.bulk.tensor.{rank}d.{kind}"
               " {operands}"
               :: {values} : "memory");
}}
""",
    )


def sent(
    s: Send,
    team: int,
    at: str,
    corner: Sequence[str],
    tensor: int,
    of: DType,
    held: int,
) -> list[str]:
    """Each warp puts 16 x 64 elements after the other to its next piece, once the
    engine has read what it put there before, and sends them by itself."""
    warps = team // WARP
    down = warps // FOUR // s.across
    high, wide = s.m // down, s.n // s.across
    panels = ceil_div(wide, PANEL)
    number = high // HIGH * panels
    # The last piece of a row ends where the row does: it may begin in the one before.
    first = f"rw_p * {PANEL}"
    if wide % PANEL:
        first = f"(rw_p < {panels - 1} ? {first} : {wide - PANEL})"
    (row,) = (d for d, n in enumerate(s.box.tensor.sizes) if d and n > 1)
    along, across = (row, 0) if s.turned else (0, row)
    put = "rw_put_turned" if s.turned else "rw_put"
    begin = [*corner]
    begin[along] += f" + rw_w / {FOUR} % {s.across} * {wide} + {first}"
    begin[across] += f" + rw_w / {FOUR} / {s.across} * {high} + rw_m * {HIGH}"
    begin[across] += f" + rw_w % {FOUR} * {ROWS}"
    brain = "true" if of is BF16 else "false"
    odd = f"if (rw_q) rw_sent<{held - 1}>(); else rw_sent<0>();"
    waits = odd if number % held else f"rw_sent<{held - 1}>();"
    piece = f"{name_of(s.box.array)} + {at} + (rw_w * {held} + rw_q % {held})"
    return [
        "{ const u32 rw_w = rw_thread / 32;",
        "  #pragma unroll",
        f"  for (u32 rw_q = 0; rw_q < {number}; rw_q++) {{",
        f"    const u32 rw_m = rw_q / {panels}, rw_p = rw_q % {panels};",
        f"    void *const rw_piece = {piece} * {s.box.size};",
        f"    {waits}",
        "    __syncwarp();",
        f"    {put}<{brain}>(rw_piece,",
        f"      &{name_of(s.source)}[(rw_m * {wide} + {first}) / 2]);",
        "    rw_share();",
        "    __syncwarp();",
        "    if (rw_thread % 32 == 0) {",
        f"      rw_send{len(corner)}(&rw_tensor{tensor}, rw_piece,",
        f"        {', '.join(begin)});",
        "      rw_sending();",
        "    }",
        "  }",
        "}",
    ]


def tensors(body: Sequence[Stmt]) -> tuple[Tensor, ...]:
    """Those that statements take boxes of, each once."""
    boxes = [b for s in body if isinstance(s, Fill) for b in s.boxes]
    boxes += [s.box for s in body if isinstance(s, Send)]
    return tuple(dict.fromkeys(map(told, boxes)))


def told(b: Box) -> Tensor:
    """The tensor whose boxes are copied at once: of one for both, halves."""
    if not b.both:
        return b.tensor
    row, rows, _ = half(b)
    sizes = (rows if d == row else n for d, n in enumerate(b.tensor.sizes))
    return b.tensor._replace(sizes=tuple(sizes))


def half(b: Box) -> tuple[int, int, int]:
    """The axis of its rows, how many a half has, and where the second one begins: in
    the first one, where rows that are mixed among each other do not come out even."""
    (row,) = (d for d, n in enumerate(b.tensor.sizes) if d and n > 1)
    rows = ceil_div(b.rows, 2 * MIXED) * MIXED
    return row, rows, b.rows - rows


def maps(body: Sequence[Stmt], params: Sequence[Param]) -> tuple[TensorMap, ...]:
    """As a launch wants them."""
    number = {p.name: i for i, p in enumerate(params)}
    return tuple(
        TensorMap(number[t.source], params[number[t.source]].dtype, *t[1:])
        for t in tensors(body)
    )


def nbytes(boxes: Sequence[Box], arrays: dict[str, DType]) -> int:
    """That arrive for boxes; of one for both, two halves."""
    sizes = ((1 + b.both) * prod(told(b).sizes) for b in boxes)
    kinds = (arrays[b.array].itemsize for b in boxes)
    return sum(n * size for n, size in zip(sizes, kinds, strict=True))


def shares(team: int, beside: Beside) -> tuple[str, str]:
    """What threads beside the group and those of the group begin with: registers move
    from the ones to the others where all alike have too few."""
    total = team + beside.threads
    if REGISTERS // total > ROOM or team % 128 or beside.threads % 128:
        return "", ""
    sums = {s.out: s.m * s.n // team for s in walk(beside.body) if isinstance(s, Mma)}
    crowded = sum(sums.values()) > CROWDED
    few, most = (FEWER, ALL) if crowded else (FEW, MOST)
    left = (REGISTERS - few * beside.threads) // team // 8 * 8
    return f"rw_fewer<{few}>();", f"rw_more<{min(left, most)}>();"
