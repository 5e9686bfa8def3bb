"""Asynchronous copies and products of warps as CUDA C++ with PTX (sm_80 and later).

A warp reads fragments of 16 x 16 elements from shared memory, four matrices of 8 x 8 at
once, transposed where they lie so, and multiplies them 16 x 8 at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as every

from ...egraph.ir.dtypes import BF16
from ..fragments import COLUMNS, DEPTH, PAIR, ROWS, WARP
from ..loops import Matrix, Mma
from .expressions import PIECE, Scope, name_of, swizzle

HELPERS = r"""static __device__ __forceinline__ u32 rw_shared_address(const void *p) {
  return (u32)__cvta_generic_to_shared(p);
}
template <int N, class T>
static __device__ __forceinline__ void rw_copy(T *to, const T *from, i64 at, bool ok) {
  const u32 address = rw_shared_address(to);
  const T *const source = from + (ok ? at : 0);
  if (N == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(address),
                 "l"(source), "r"(ok ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" :: "r"(address),
                 "l"(source), "r"(ok ? N : 0), "n"(N < 16 ? N : 8) : "memory");
}
static __device__ __forceinline__ void rw_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void rw_await() {
  asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
template <bool turned>
static __device__ __forceinline__ void rw_fragments(u32 *r, u32 address) {
  if (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
template <bool brain>
static __device__ __forceinline__ void rw_mma(f32 &c0, f32 &c1, f32 &c2, f32 &c3,
                                              const u32 *a, const u32 *b) {
  if (brain)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""

REGROUP = r"""template <int N, int MID, int LAST>
static __device__ __forceinline__ void rw_regroup(f32 *to, const f32 *from) {
  const u32 q = threadIdx.x % 4;
  #pragma unroll
  for (int i = 0; i < N / 4; i++) {
    const int e = i % LAST, h = i / LAST % MID, part = i / LAST / MID;
    f32 v[4];
    #pragma unroll
    for (int j = 0; j < 4; j++) v[j] = from[((part * 4 + j) * MID + h) * LAST + e];
    #pragma unroll
    for (int s = 1; s < 4; s *= 2)
      #pragma unroll
      for (int j = 0; j < 4; j++)
        if (!(j & s)) {
          const f32 given = q & s ? v[j] : v[j | s];
          const f32 got = __shfl_xor_sync(0xffffffffu, given, s);
          v[j] = q & s ? got : v[j];
          v[j | s] = q & s ? v[j | s] : got;
        }
    #pragma unroll
    for (int j = 0; j < 4; j++) to[((part * MID + h) * 4 + j) * LAST + e] = v[j];
  }
}
"""


def product(s: Mma, threads: int, at: tuple[str, ...], scope: Scope) -> list[str]:
    """The statement's lines; `at`: where both sides begin in their arrays."""
    down = threads // WARP // s.across
    high, wide = s.m // down, s.n // s.across
    mi, ni = high // ROWS, wide // COLUMNS
    brain = str(scope.arrays[s.a.array] is BF16).lower()
    out = name_of(s.out)
    cells = [f"{out}[((rw_m * 2 + {h}) * {ni} + rw_n) * 2 + {e}]"
             for h in (0, 1) for e in (0, 1)]  # fmt: skip
    lines = [
        "{ const u32 rw_l = rw_thread % 32, rw_w = rw_thread / 32;",
        *_side(
            "a", s.a, at[0], scope, f"rw_w / {s.across} * {high}", turned(s.a, True)
        ),
        *_side(
            "b", s.b, at[1], scope, f"rw_w % {s.across} * {wide}", turned(s.b, False)
        ),
        f"  #pragma unroll\n  for (u32 rw_k = 0; rw_k < {s.k}; rw_k += {DEPTH}) {{",
        f"    u32 rw_a[{mi}][4], rw_b[{ni}][2];",
        f"    #pragma unroll\n    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        f"      rw_fragments<{_truth(turned(s.a, True))}>(rw_a[rw_m], "
        f"{_address('a', s.a, 'rw_m', ROWS, turned(s.a, True), scope)});",
        f"    #pragma unroll\n    for (u32 rw_n = 0; rw_n < {ni}; rw_n += 2)",
        f"      rw_fragments<{_truth(turned(s.b, False))}>(rw_b[rw_n], "
        f"{_address('b', s.b, 'rw_n / 2', PAIR, turned(s.b, False), scope)});",
        f"    #pragma unroll\n    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        f"      #pragma unroll\n      for (u32 rw_n = 0; rw_n < {ni}; rw_n++)",
        f"        rw_mma<{brain}>({', '.join(cells)}, rw_a[rw_m], rw_b[rw_n]);",
        "  }",
        "}",
    ]
    return [x for line in lines for x in line.split("\n")]


def by_quads(s: Mma, scope: Scope) -> list[str]:
    """The lines of a product of which each warp holds both sides: each instruction
    takes the next four elements that threads have of rows and of columns."""
    mi, ni, deep = s.m // ROWS, s.n // COLUMNS, s.k // 4
    brain = _truth(scope.arrays[s.a.array] is BF16)
    out, a, b = (name_of(x) for x in (s.out, s.a.array, s.b.array))
    lines: list[str] = []
    for i, j, k in every(range(mi), range(ni), range(0, deep, 4)):
        cells = ", ".join(
            f"{out}[{((i * 2 + h) * ni + j) * 2 + e}]" for h in (0, 1) for e in (0, 1)
        )
        left = (f"{a}[{((i * 2 + h) * deep + k) // 2 + e}]"
                for e in (0, 1) for h in (0, 1))  # fmt: skip
        right = (f"{b}[{(j * deep + k) // 2 + e}]" for e in (0, 1))
        sides = f"{{{', '.join(left)}}}, rw_b[2] = {{{', '.join(right)}}}"
        lines.append(f"{{ const u32 rw_a[4] = {sides}; "
                     f"rw_mma<{brain}>({cells}, rw_a, rw_b); }}")  # fmt: skip
    return lines


def turned(x: Matrix, left: bool) -> bool:
    """Whether its rows lie along the product's own axis instead of the summed one."""
    return (x.across if left else x.down) != 1


def _truth(yes: bool) -> str:
    return "true" if yes else "false"


def _side(
    name: str, x: Matrix, at: str, scope: Scope, first: str, turn: bool
) -> Iterator[str]:
    """Where a thread's lane of four matrices begins: its row, its piece of the row, and
    how far the pieces of that row are exchanged."""
    pitch = max(x.down, x.across)
    period, within = swizzle(pitch) if scope.rows.get(x.array) else (1, 1)
    low, high = ("rw_l % 8", "rw_l / 8 % 2"), ("rw_l % 8", "rw_l / 16")
    # Of the left side the second matrix has the next rows, of the right one the next k.
    own, deep = (low, high) if name == "a" else (high, low)
    if turn:  # a lane names a row of k
        row = f"rw_l % 8 + {deep[1]} * 8"
        piece = f"({first}) / {PIECE} + {own[1]}"
    else:
        row = f"{first} + rw_l % 8 + {own[1]} * 8"
        piece = deep[1]
    yield f"  const u32 rw_{name}_row = {row}, rw_{name}_piece = {piece};"
    yield f"  const u32 rw_{name}_mix = rw_{name}_row / {period} % {within};"
    begin = f"&{name_of(x.array)}[{at}]"
    yield (f"  const u32 rw_{name}_at = rw_shared_address({begin})"
           f" + rw_{name}_row * {2 * pitch};")  # fmt: skip


def _address(
    name: str, x: Matrix, number: str, size: int, turn: bool, scope: Scope
) -> str:
    """Of a lane's part of the fragment with this number, `k` deep; all parts of a
    lane are in rows that are mixed alike."""
    pitch = max(x.down, x.across)
    if turn:
        row, piece = "rw_k", f"{number} * {size // PIECE}"
    else:
        row, piece = f"{number} * {size}", f"rw_k / {PIECE}"
    mixed = f"(rw_{name}_piece + {piece} ^ rw_{name}_mix)"
    return f"rw_{name}_at + ({row}) * {2 * pitch} + {mixed} * {2 * PIECE}"


__all__ = ["HELPERS", "REGROUP", "by_quads", "product"]
