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


def instruction(
    columns: int, of: DType, left: bool | None, right: bool
) -> tuple[str, str]:
    """Name and text of the function that multiplies 64 x 16 by 16 x `columns`; sides
    lie along their own axis instead of the summed one, where it says so; None: the left
    one is the threads' own."""
    kind = "bf16" if of is BF16 else "f16"
    count = columns // 2
    held = ", ".join(f"%{i}" for i in range(count))
    outs = ", ".join(f'"+f"(c[{i}])' for i in range(count))
    if left is None:
        return _of_own(f"rw_own_{kind}_{columns}_{right:d}", kind, held, outs, right)
    name = f"rw_group_{kind}_{columns}_{left:d}{right:d}"
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


def _of_own(name: str, kind: str, held: str, outs: str, right: bool) -> tuple[str, str]:
    count = outs.count("+f")
    own = ", ".join(f"%{count + i}" for i in range(4))
    return (
        name,
        f"""{INLINE} void {name}(f32 *c, const u32 *a, u64 b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n{2 * count}k16.f32.{kind}.{kind} "
      "{{{held}}}, "
      "{{{own}}}, %{count + 4}, 1, 1, 1, {right:d};"
      : {outs}
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}}
""",
    )


def settled(count: int) -> tuple[str, str]:
    """Name and text of the function after which sums are what products made them: the
    compiler knows of the products only where they begin."""
    outs = ", ".join(f'"+f"(c[{i}])' for i in range(count))
    name = f"rw_settled{count}"
    return (
        name,
        f"""{INLINE} void {name}(f32 *c) {{
  asm volatile("" : {outs} :: "memory");
}}
""",
    )


def packed(of: DType) -> tuple[str, str]:
    """Name and text of the function that rounds pairs of numbers into words."""
    kind = "bf16" if of is BF16 else "f16"
    name = f"rw_pack_{kind}"
    return (
        name,
        f"""template <int N> {INLINE} void {name}(u32 *to, const f32 *c) {{
  #pragma unroll
  for (int i = 0; i < N; i++)
    asm("cvt.rn.{kind}x2.f32 %0, %1, %2;"
        : "=r"(to[i]) : "f"(c[2 * i + 1]), "f"(c[2 * i]));
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
    if s.own:
        return _own_product(s, mi, at[1], name)
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


def _own_product(s: Mma, mi: int, at: str, name: str) -> list[str]:
    """Of a left side that threads hold: four words for each step along k."""
    out, own = name_of(s.out), name_of(s.a.array)
    step = f"rw_k * {DEPTH * ROW}"
    if s.b.down == 1:  # in panels along k
        each = PANEL // DEPTH
        step = f"rw_k / {each} * {_apart(s.b)} + rw_k % {each} * {2 * DEPTH}"
    return [
        f"{{ const u64 rw_b = rw_matrix(&{name_of(s.b.array)}[{at}], {_apart(s.b)});",
        "  rw_group_begin();",
        "  #pragma unroll",
        f"  for (u32 rw_k = 0; rw_k < {s.k // DEPTH}; rw_k++)",
        "    #pragma unroll",
        f"    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        f"      {name}(&{out}[rw_m * {s.n // 2}],"
        f" &{own}[rw_m * {s.k // 4} + rw_k * 4],"
        f" rw_b + (({step}) >> 4));",
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
