"""Products of groups of four warps as CUDA C++ with PTX (sm_90a).

An instruction reads both sides from shared memory, where rows of 128 bytes lie as
`swizzle` mixes them, in panels (`loops.PANEL`), and goes on by itself: threads wait for
it where they meet, and at the end of its loop.
"""

from __future__ import annotations

from ...egraph.ir.dtypes import BF16, DType
from ..fragments import DEPTH, FOUR, HIGH, WARP
from ..loops import PANEL, Matrix, Mma, Stmt
from .expressions import Scope, name_of

ALIGN = 1024  # bytes: the rows that are mixed among each other
ROW = 2 * PANEL  # bytes
INLINE = "static __device__ __forceinline__"
HELPERS = r"""static __device__ __forceinline__
u64 rw_matrix(const void *p, u32 apart) {
  const u64 at = ((u32)__cvta_generic_to_shared(p) & 0x3ffff) >> 4;
  return at | (u64)(apart >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
static __device__ __forceinline__ void rw_group_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void rw_group_end() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void rw_group_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}
static __device__ __forceinline__ void rw_share() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
"""


def meets(barrier: str, left: int = 0) -> list[str]:
    """All products but so many are done with what threads share, and later ones will
    see what is stored there."""
    return [f"rw_group_wait<{left}>();", "rw_share();", barrier]


def instruction(columns: int, of: DType, left: bool, right: bool) -> tuple[str, str]:
    """Name and text of the function that multiplies 64 x 16 by 16 x `columns`; sides
    lie along their own axis instead of the summed one, where it says so."""
    kind = "bf16" if of is BF16 else "f16"
    name = f"rw_group_{kind}_{columns}_{left:d}{right:d}"
    count = columns // 2
    held = ", ".join(f"%{i}" for i in range(count))
    outs = ", ".join(f'"+f"(c[{i}])' for i in range(count))
    return (
        name,
        f"""{INLINE} void {name}(f32 *c, u64 a, u64 b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind} "
      "{{{held}}}, "
      "%{count}, %{count + 1}, 1, 1, 1, {left:d}, {right:d};"
      : {outs}
      : "l"(a), "l"(b));
}}
""",
    )


def product(s: Mma, threads: int, at: tuple[str, ...], scope: Scope, name: str
            ) -> list[str]:  # fmt: skip
    """The statement's lines; `at`: where both sides begin in their arrays."""
    down = threads // WARP // FOUR // s.across
    high, wide = s.m // down, s.n // s.across
    mi = high // HIGH
    out = name_of(s.out)
    a, b = (f"rw_matrix(&{name_of(x.array)}[{i}], {_apart(x)})"
            for x, i in zip((s.a, s.b), at, strict=True))  # fmt: skip
    left = _within(s.a, along_k=s.a.down != 1, first=f"rw_g / {s.across}", size=high)
    right = _within(s.b, along_k=s.b.down == 1, first=f"rw_g % {s.across}", size=wide)
    return [
        "{ const u32 rw_g = rw_thread / 128;",
        f"  const u64 rw_a = {a} + (({left[0]}) >> 4);",
        f"  const u64 rw_b = {b} + (({right[0]}) >> 4);",
        "  rw_group_begin();",
        "  #pragma unroll",
        f"  for (u32 rw_k = 0; rw_k < {s.k // DEPTH}; rw_k++)",
        "    #pragma unroll",
        f"    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        f"      {name}(&{out}[rw_m * {wide // 2}],"
        f" rw_a + ((rw_k * {left[1]} + rw_m * {left[2]}) >> 4),"
        f" rw_b + (rw_k * {right[1]} >> 4));",
        "  rw_group_end();",
        "}",
    ]


def _apart(x: Matrix) -> int:
    return 2 * x.apart


def _within(x: Matrix, along_k: bool, first: str, size: int) -> tuple[str, int, int]:
    """Bytes from a side's begin to a group's part; from one step along k to the next;
    from 64 of its rows to the next ones."""
    if along_k:  # a row of 128 bytes is 64 of k
        return f"{first} * {size * ROW}", 2 * DEPTH, HIGH * ROW
    return f"{first} * {size // PANEL * 2 * x.apart}", DEPTH * ROW, 2 * x.apart


def goes_on(body: tuple[Stmt, ...]) -> bool:
    """Whether products are on their way at the end of a body."""
    return any(isinstance(s, Mma) and s.warps == FOUR for s in body)
