"""Products of groups of four warps as CUDA C++ with PTX (sm_90a).

An instruction reads both sides from shared memory, where rows of 128 bytes lie as
`swizzle` mixes them, in panels (`loops.PANEL`), and goes on by itself: threads wait for
it where they meet, and at the end of its loop.
"""

from __future__ import annotations

import numpy as np

from ...egraph.ir.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, DType
from ..fragments import DEPTH, FOUR, HALVES, HIGH, WARP, depth
from ..loops import PANEL, ROW, Matrix, Mma, Pack, Settle, Stmt
from .expressions import Scope, name_of

PAIR = 0x10001  # of two halves of a word alike
SIGNS = 0x80 * PAIR
ALIGN = 1024  # bytes: the rows that are mixed among each other
KINDS = {BF16: "bf16", F16: "f16", F32: "tf32", F8E4M3: "e4m3", F8E5M2: "e5m2"}
STEP = 32  # bytes of a row that an instruction multiplies
FRESH = "_fresh"
INLINE = "static __device__ __forceinline__"
BITS = f"""{INLINE} u32 rw_bits(u32 x, u32 mask, u32 more) {{
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(more));
  return r;
}}
"""
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


# A wait stands where it is written, but the assembler computes after it what does not
# depend on it.  A branch on what was computed keeps it before; the one value on which
# it is taken is a NaN that no instruction makes.
BESIDE = r"""static __device__ __forceinline__ void rw_beside(f32 v) {
  if (__float_as_int(v) == 0x7fc0dead) asm volatile("nanosleep.u32 0;" ::: "memory");
}
"""


# Groups of four warps take turns at the tensor cores: while one begins its products,
# others compute.  One barrier for each, from this number on.
TURNS = r"""template <int N> static __device__ __forceinline__ void rw_take(u32 me) {
  asm volatile("bar.sync %0, 256;" :: "r"(2 + me) : "memory");
}
template <int N> static __device__ __forceinline__ void rw_next(u32 me) {
  asm volatile("bar.arrive %0, 256;" :: "r"(2 + (me + 1) % N) : "memory");
}
"""
MOST = 8  # groups
# Columns times terms of a product that is over too soon: 64 x 4096 x 64 backwards, with
# a causal mask, took its pass over queries 630 us in turns, without 530 (H100).
SHORT = 64 * 64


def in_turns(body: tuple[Stmt, ...], groups: int) -> tuple[Mma, Mma] | None:
    """The first and the last product with which a body begins, if something is computed
    beside them, and they take longer than to take turns."""
    late = any(isinstance(s, Settle) and s.made for s in body)
    first = next((i for i, s in enumerate(body) if isinstance(s, Settle)), len(body))
    products = [s for s in body[:first] if isinstance(s, Mma)]
    long = any(s.n * s.k > SHORT for s in products)
    fits = 1 < groups <= MOST and late and long
    return (products[0], products[-1]) if fits else None


def meets(barrier: str, left: int = 0) -> list[str]:
    """All products but so many are done with what threads share, and later ones will
    see what is stored there."""
    return [f"rw_group_wait<{left}>();", "rw_share();", barrier]


def instruction(
    columns: int, of: DType, left: bool | None, right: bool, fresh: bool = False
) -> tuple[str, str]:
    """Name and text of the function that multiplies 64 x 16 by 16 x `columns`, or as
    many of k as 32 bytes are; sides of two bytes may lie along their own axis instead
    of the summed one, where it says so; None: the left one is the threads' own.  A
    fresh one adds to nothing."""
    kind = KINDS[of]
    count = columns // 2
    held = ", ".join(f"%{i}" for i in range(count))
    outs = ", ".join(f'"{"=" if fresh else "+"}f"(c[{i}])' for i in range(count))
    end = FRESH if fresh else ""
    adds = 0 if fresh else 1
    if left is None:
        name = f"rw_own_{kind}_{columns}_{right:d}{end}"
        size, turned = (
            f"m64n{columns}k{depth(of)}",
            f", {right:d}" if of in HALVES else "",
        )
        return _of_own(name, f"{size}.f32.{kind}.{kind}", held, outs, adds, turned, of)
    name = f"rw_group_{kind}_{columns}_{left:d}{right:d}{end}"
    size = f"m64n{columns}k{depth(of)}"
    turned = f", {left:d}, {right:d}" if of in HALVES else ""
    return (
        name,
        f"""{INLINE} void {name}(f32 *c, u64 a, u64 b) {{
  asm volatile("wgmma.mma_async.sync.aligned.{size}.f32.{kind}.{kind} "
      "{{{held}}}, "
      "%{count}, %{count + 1}, {adds}, 1, 1{turned};"
      : {outs}
      : "l"(a), "l"(b));
}}
""",
    )


def _of_own(
    name: str, kind: str, held: str, outs: str, adds: int, turned: str, of: DType
) -> tuple[str, str]:
    word, bits = ("f32", "__float_as_uint") if of is F32 else ("u32", "")
    words = ", ".join(f'"r"({bits}(a[{i}]))' for i in range(4))
    count = outs.count("(c[")
    own = ", ".join(f"%{count + i}" for i in range(4))
    return (
        name,
        f"""{INLINE} void {name}(f32 *c, const {word} *a, u64 b) {{
  asm volatile("wgmma.mma_async.sync.aligned.{kind} "
      "{{{held}}}, "
      "{{{own}}}, %{count + 4}, {adds}, 1, 1{turned};"
      : {outs}
      : {words}, "l"(b));
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


def kept(count: int, of: DType) -> tuple[str, str]:
    """Name and text of the function before which words that a product reads are made:
    the compiler would make them after the fence, which orders registers."""
    word, place = ("f32", "f") if of is F32 else ("u32", "r")
    outs = ", ".join(f'"+{place}"(a[{i}])' for i in range(count))
    name = f"rw_kept{count}" + "_f32" * (of is F32)
    return (
        name,
        f"""{INLINE} void {name}({word} *a) {{
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


def unpacked(of: DType, s: Pack) -> tuple[str, str]:
    """Name and text of the function that unpacks small integers from bytes, two at a
    time: their bits are the low ones of numbers that have no others, of which a
    constant is subtracted, or, of bytes in bf16, the number that their signs stand for.
    Of four bytes the middle ones change places, so that a word's halves are two
    neighbours."""
    brain, halves = of is BF16, s.bits == 4
    kind, base = ("bf16", 128) if brain else ("f16", 1024)
    signs = brain and not halves
    less = s.more - base - (0 if halves else 128)
    first, one, add = (_twice(of, x) for x in (base, -1 if signs else 1, less))
    mask = (0x0F if halves else 0x7F if brain else 0xFF) * PAIR
    words, digits = s.run // 4, 8 // s.bits
    flip = " ^ 0x80808080u" * (not brain and not halves)
    lines = [f"const u32 w = __byte_perm(from[i]{flip}, 0, 0x3120);"]
    for n, shift in enumerate((0, 8, 4, 12)[: 2 * digits]):
        place = f"to[(i / {words} * {digits} + {n // 2}) * {words * 2}"
        place += f" + i % {words} * 2 + {n % 2}]"
        part = f"w >> {shift}" if shift else "w"
        low = f"rw_bits({part}, {mask:#x}u, {first:#x}u)"
        sign = f"rw_bits({part}, {SIGNS:#x}u, {first:#x}u)"
        value, plus = (sign, low) if signs else (low, f"{add:#x}u")
        lines.append(f'asm("fma.rn.{kind}x2 %0, %1, %2, %3;" : "=r"({place})')
        lines.append(f'    : "r"({value}), "r"({one:#x}u), "r"({plus}));')
    body = "\n    ".join(lines)
    name = f"rw_unpack{s.bits}_{kind}_{s.run}_{'m' * (s.more < 0)}{abs(s.more)}"
    return (
        name,
        f"""template <int N> {INLINE} void {name}(u32 *to, const u32 *from) {{
  #pragma unroll
  for (int i = 0; i < N; i++) {{
    {body}
  }}
}}
""",
    )


def _twice(of: DType, x: int) -> int:
    """The bits of a number in both halves of a word."""
    return int(np.asarray(x, of.numpy).view(np.uint16)) * PAIR


def product(s: Mma, threads: int, at: tuple[str, ...], scope: Scope, name: str
            ) -> list[str]:  # fmt: skip
    """The statement's lines; `at`: where both sides begin in their arrays."""
    down = threads // WARP // FOUR // s.across
    high, wide = s.m // down, s.n // s.across
    mi = high // HIGH
    out = name_of(s.out)
    if s.own:
        return _own_product(s, mi, at[1], scope.arrays[s.b.array], name)
    of = scope.arrays[s.a.array]
    size = of.itemsize
    a, b = (f"rw_matrix(&{name_of(x.array)}[{i}], {x.apart * size})"
            for x, i in zip((s.a, s.b), at, strict=True))  # fmt: skip
    left = _within(s.a, s.a.down != 1, f"rw_g / {s.across}", high, size)
    right = _within(s.b, s.b.down == 1, f"rw_g % {s.across}", wide, size)
    return [
        "{ const u32 rw_g = rw_thread / 128;",
        f"  const u64 rw_a = {a} + (({left[0]}) >> 4);",
        f"  const u64 rw_b = {b} + (({right[0]}) >> 4);",
        "  rw_group_begin();",
        "  #pragma unroll",
        f"  for (u32 rw_k = 0; rw_k < {s.k // depth(of)}; rw_k++)",
        "    #pragma unroll",
        f"    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        *_called(
            s,
            name,
            f"(&{out}[rw_m * {wide // 2}],"
            f" rw_a + (({left[1]} + rw_m * {left[2]}) >> 4),"
            f" rw_b + (({right[1]}) >> 4));",
        ),
        "  rw_group_end();",
        "}",
    ]


def _own_product(s: Mma, mi: int, at: str, of: DType, name: str) -> list[str]:
    """Of a left side that threads hold: four words for each step along k."""
    out, own, size = name_of(s.out), name_of(s.a.array), of.itemsize
    words = s.k * size // 8
    step = _step(s.b, s.b.down == 1, size)
    sums = [f"rw_settled{mi * s.n // 2}({out});"] if not s.fresh else []
    return [
        f"{kept(mi * words, of)[0]}({own});",
        *sums,
        f"{{ const u64 rw_b = rw_matrix(&{name_of(s.b.array)}[{at}], "
        f"{size * s.b.apart});",
        "  rw_group_begin();",
        "  #pragma unroll",
        f"  for (u32 rw_k = 0; rw_k < {s.k // depth(of)}; rw_k++)",
        "    #pragma unroll",
        f"    for (u32 rw_m = 0; rw_m < {mi}; rw_m++)",
        *_called(
            s,
            name,
            f"(&{out}[rw_m * {s.n // 2}],"
            f" &{own}[rw_m * {words} + rw_k * 4],"
            f" rw_b + (({step}) >> 4));",
        ),
        "  rw_group_end();",
        "}",
    ]


def _called(s: Mma, name: str, given: str) -> list[str]:
    """The first step of a fresh product adds to nothing."""
    if not s.fresh:
        return [f"      {name}{given}"]
    return [f"      if (rw_k == 0) {name}{FRESH}{given}", f"      else {name}{given}"]


def _within(
    x: Matrix, along_k: bool, first: str, rows: int, size: int
) -> tuple[str, str, int]:
    """Bytes from a side's begin to a group's part; to a step along k; from 64 of its
    rows to the next ones; `size`: of an element."""
    if along_k:  # rows of 128 bytes along k
        return f"{first} * {rows * ROW}", _step(x, True, size), HIGH * ROW
    panels = f"{first} * {rows // PANEL * size * x.apart}"
    return panels, _step(x, False, size), size * x.apart


def _step(x: Matrix, along_k: bool, size: int) -> str:
    """Bytes to a step along k, which may lie in panels."""
    if not along_k:
        return f"rw_k * {DEPTH * ROW}"
    each = ROW // STEP
    return f"rw_k / {each} * {x.apart * size} + rw_k % {each} * {STEP}"


def goes_on(body: tuple[Stmt, ...]) -> bool:
    """Whether products are on their way at the end of a body."""
    return any(isinstance(s, Mma) and s.warps == FOUR for s in body)
