"""CUDA kernels on the host: C++ threads stand for a block's, barriers for its barriers.

Slow, but it runs the very text that NVRTC compiles, where there is no GPU.
"""

import atexit
import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from rewrite.backends.nvidia import nvrtc
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import TensorMap
from rewrite.lower.emit import mma, rings, wgmma
from rewrite.lower.loops import Function

COMPILER = shutil.which("g++") or shutil.which("clang++")
FLAGS = ("-std=c++20", "-O1", "-fPIC", "-pthread")

HEADERS = """#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>
"""

RUNTIME = r"""
#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
struct Index { unsigned x; };
static thread_local Index threadIdx, blockIdx, blockDim;
static std::barrier<> *block;
static std::deque<std::barrier<>> warps;
static double exchange[1024];
static void __syncthreads() { block->arrive_and_wait(); }
template <class T> T __shfl_xor_sync(unsigned, T value, int distance) {
  const unsigned me = threadIdx.x;
  auto &warp = warps[me / 32];
  std::memcpy(&exchange[me], &value, sizeof value);
  warp.arrive_and_wait();
  std::memcpy(&value, &exchange[me ^ distance], sizeof value);
  warp.arrive_and_wait();
  return value;
}
static void __syncwarp() { warps[threadIdx.x / 32].arrive_and_wait(); }
template <class To, class From> To same_bits(From a) {
  To r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
static float __int_as_float(int a) { return same_bits<float>(a); }
static double __longlong_as_double(long long a) { return same_bits<double>(a); }
template <class Kernel> void launch(unsigned groups, unsigned threads, Kernel kernel) {
  for (unsigned g = 0; g < groups; g++) {
    std::barrier<> all(threads);
    block = &all;
    warps.clear();
    for (unsigned w = 0; w < threads; w += 32)
      warps.emplace_back(threads - w < 32 ? threads - w : 32);
    std::vector<std::thread> crew;
    for (unsigned t = 0; t < threads; t++)
      crew.emplace_back([=] {
        threadIdx = {t}, blockIdx = {g}, blockDim = {threads};
        kernel();
      });
    for (auto &each : crew) each.join();
  }
}
"""

# The two conversions written in PTX, by the compiler's own half type.
HALF = r"""
static float rw_from_half(unsigned a) { return same_bits<_Float16>((unsigned short)a); }
static float rw_ex2(float a) { return std::exp2(a); }
static float rw_tanh_approx(float a) { return std::tanh(a); }
static unsigned rw_to_half(float a) { return same_bits<unsigned short>((_Float16)a); }
"""

# What a warp does together: lanes show each other what they have.
WARPS = r"""
static u32 shown[1024][8];
static void rw_meet() { warps[threadIdx.x / 32].arrive_and_wait(); }
static void rw_meet_warp() { rw_meet(); }
static size_t base;
static const u16 *rw_at(u32 address) { return (const u16 *)(base + address); }
static u32 rw_shared_address(const void *p) {
  base = (size_t)p & ~(size_t)0x3ffff;
  return (u32)((size_t)p - base);
}
struct Copied { void *to; unsigned char bytes[16]; int n; };
static thread_local std::deque<std::vector<Copied>> groups(1);
template <int N, class T> void rw_copy(T *to, const T *from, i64 at, bool ok) {
  Copied c = {to, {}, N};
  if (ok) std::memcpy(c.bytes, from + at, N);
  std::memset(to, 0xa5, N);
  groups.back().push_back(c);
}
static void rw_commit() { groups.emplace_back(); }
template <int N> void rw_await() {
  for (; groups.size() > N + 1; groups.pop_front())
    for (auto &c : groups.front()) std::memcpy(c.to, c.bytes, c.n);
}
template <bool turned> void rw_fragments(u32 *r, u32 address) {
  const u32 me = threadIdx.x, lane = me % 32, first = me - lane;
  shown[me][0] = address;
  rw_meet();
  for (u32 j = 0; j < 4; j++) {
    u32 both[2];
    for (u32 e = 0; e < 2; e++) {
      const u32 near = lane / 4, far = lane % 4 * 2 + e;
      const u32 row = turned ? far : near, column = turned ? near : far;
      both[e] = rw_at(shown[first + j * 8 + row][0])[column];
    }
    r[j] = both[0] | both[1] << 16;
  }
  rw_meet();
}
template <bool brain> f32 rw_number(u32 pair, u32 half) {
  const u32 bits = pair >> 16 * half & 0xffff;
  return brain ? same_bits<float>(bits << 16) : rw_from_half(bits);
}
template <bool brain>
void rw_mma(f32 &c0, f32 &c1, f32 &c2, f32 &c3, const u32 *a, const u32 *b) {
  const u32 me = threadIdx.x, lane = me % 32, first = me - lane;
  for (u32 i = 0; i < 4; i++) shown[me][i] = a[i];
  for (u32 i = 0; i < 2; i++) shown[me][4 + i] = b[i];
  rw_meet();
  f32 *const c[4] = {&c0, &c1, &c2, &c3};
  for (u32 q = 0; q < 4; q++)
    for (u32 k = 0; k < 16; k++) {
      const u32 row = lane / 4 + q / 2 * 8, column = lane % 4 * 2 + q % 2;
      const u32 x = shown[first + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      const u32 y = shown[first + column * 4 + k % 8 / 2][4 + k / 8];
      *c[q] += rw_number<brain>(x, k % 2) * rw_number<brain>(y, k % 2);
    }
  rw_meet();
}
"""

# Of matrices by their descriptors: where they begin, panels and rows of eight apart.
GROUPS = r"""
static u64 rw_matrix(const void *p, u32 apart) {
  return rw_shared_address(p) >> 4 | (u64)(apart >> 4) << 16 | (u64)64 << 32;
}
static void rw_group_begin() {}
static void rw_group_end() {}
template <int N> void rw_group_wait() {}
static void rw_share() {}
static u32 rw_element(u64 matrix, bool turned, u32 own, u32 k) {
  const u32 first = (matrix & 0x3fff) << 4, apart = (matrix >> 16 & 0x3fff) << 4;
  const u32 row = turned ? k : own, side = turned ? own : k;
  const u32 at = first + side / 64 * apart + row * 128 + side % 64 * 2;
  return *rw_at(at ^ (at >> 7 & 7) << 4);
}
template <int N, bool brain, bool right>
void rw_own(f32 *c, const u32 *a, u64 b) {
  const u32 me = threadIdx.x, t = me % 128, lane = t % 32, first = me - lane;
  for (u32 i = 0; i < 4; i++) shown[me][i] = a[i];
  rw_meet_warp();
  for (u32 i = 0; i < N / 2; i++) {
    const u32 row = i / 2 % 2 * 8 + lane / 4;
    const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
    for (u32 k = 0; k < 16; k++) {
      const u32 x = shown[first + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      c[i] += rw_number<brain>(x, k % 2) *
              rw_number<brain>(rw_element(b, right, column, k), 0);
    }
  }
  rw_meet_warp();
}
template <int N, bool brain, bool left, bool right>
void rw_group(f32 *c, u64 a, u64 b) {
  const u32 t = threadIdx.x % 128;
  for (u32 i = 0; i < N / 2; i++) {
    const u32 row = t / 32 * 16 + i / 2 % 2 * 8 + t % 32 / 4;
    const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
    for (u32 k = 0; k < 16; k++)
      c[i] += rw_number<brain>(rw_element(a, left, row, k), 0) *
              rw_number<brain>(rw_element(b, right, column, k), 0);
  }
}
static f32 rw_cut(u32 bits) { return same_bits<float>(bits & 0xffffe000); }
template <class T> f32 rw_along(u64 matrix, u32 own, u32 k);
struct tf32;
template <int N> void rw_own_tf32(f32 *c, const f32 *a, u64 b) {
  const u32 me = threadIdx.x, t = me % 128, lane = t % 32, first = me - lane;
  for (u32 i = 0; i < 4; i++) shown[me][i] = same_bits<u32>(a[i]);
  rw_meet_warp();
  for (u32 i = 0; i < N / 2; i++) {
    const u32 row = i / 2 % 2 * 8 + lane / 4;
    const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
    for (u32 k = 0; k < 8; k++) {
      const u32 x = shown[first + row % 8 * 4 + k % 4][row / 8 + k / 4 * 2];
      c[i] += rw_cut(x) * rw_along<tf32>(b, column, k);
    }
  }
  rw_meet_warp();
}
struct tf32 { static const u32 size = 4; };
struct e4m3 { static const u32 size = 1; };
struct e5m2 { static const u32 size = 1; };
static f32 rw_seen(tf32, const u8 *p) {
  return same_bits<float>(*(const u32 *)p & 0xffffe000);
}
static f32 rw_seen(e4m3, const u8 *p) {
  const f32 size = same_bits<float>((u32)(*p & 0x7f) << 20) * 0x1p120f;
  return (*p & 0x7f) == 0x7f ? NAN : *p & 0x80 ? -size : size;
}
static f32 rw_seen(e5m2, const u8 *p) { return rw_from_half((unsigned)*p << 8); }
template <class T> f32 rw_along(u64 matrix, u32 own, u32 k) {
  const u32 at = ((matrix & 0x3fff) << 4) + own * 128 + k * T::size;
  return rw_seen(T(), (const u8 *)rw_at(at ^ (at >> 7 & 7) << 4));
}
template <int N, class T> void rw_group_of(f32 *c, u64 a, u64 b) {
  const u32 t = threadIdx.x % 128;
  for (u32 i = 0; i < N / 2; i++) {
    const u32 row = t / 32 * 16 + i / 2 % 2 * 8 + t % 32 / 4;
    const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
    for (u32 k = 0; k < 32 / T::size; k++)
      c[i] += rw_along<T>(a, row, k) * rw_along<T>(b, column, k);
  }
}
"""

# A full place counts the times that it was, a free one the warps that have said so.
RINGS = r"""
struct rw_tensor {
  u8 *data;
  i64 size, extents[5], strides[5], sizes[5];
  int axes;
  i64 first[4], steps[4], counts[4];
};
static std::barrier<> *team;
static u32 readers, told;
static std::atomic<u64> &rw_count(const u64 *p) { return *(std::atomic<u64> *)p; }
static void rw_ring(u64 *ring, int places, u32 warps) {
  for (int i = 0; i < 2 * places; i++) rw_count(ring + i) = 0;
  readers = warps, team = new std::barrier<>(blockDim.x - 128);
}
static void rw_until(const u64 *p, u64 count) {
  while (rw_count(p) < count) std::this_thread::yield();
}
template <int N> void rw_full(const u64 *ring, u32 turn) {
  rw_until(ring + turn % N, turn / N + 1);
}
template <int N> void rw_free(const u64 *ring, u32 turn) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) rw_count(ring + N + turn % N)++;
}
template <int N> void rw_fill(const u64 *ring, u32 turn, u32 bytes) {
  rw_until(ring + N + turn % N, turn / N * readers);
  told = bytes;
}
template <class Move>
static u32 rw_each(const rw_tensor *t, const i32 (&c)[5], Move move) {
  const i64 *n = t->sizes;
  u32 e = 0;
  for (i64 i4 = 0; i4 < n[4]; i4++) for (i64 i3 = 0; i3 < n[3]; i3++)
    for (i64 i2 = 0; i2 < n[2]; i2++) for (i64 i1 = 0; i1 < n[1]; i1++)
      for (i64 i0 = 0; i0 < n[0]; i0++, e++) {
        const i64 at[5] = {c[0] + i0, c[1] + i1, c[2] + i2, c[3] + i3, c[4] + i4};
        i64 from = 0;
        bool there = true;
        for (int d = 0; d < 5; d++)
          from += at[d] * t->strides[d], there &= at[d] >= 0 && at[d] < t->extents[d];
        const bool mixed = n[0] * t->size == 128;
        const u32 place = e * t->size, byte = place ^ (mixed ? place >> 7 & 7 : 0) << 4;
        move(byte, there ? t->data + from * t->size : nullptr);
      }
  return e * t->size;
}
static void rw_windows(void *to, const rw_tensor *t, const u64 *full, const i32 *c) {
  const i64 *n = t->sizes;
  const int axes = t->axes, walked = axes - 2;
  i64 number = c[axes - 1];
  for (int d = walked; d > 0; d--)
    number = number * t->counts[d] + (c[d] - t->first[d]) / t->steps[d];
  for (i64 row = 0; row < n[1]; row++) {
    i64 left = number + row, from = 0;
    bool there = true;
    for (int d = 1; d < axes; d++) {
      i64 at = left;
      if (d <= walked) {
        at = left % t->counts[d] * t->steps[d] + t->first[d] + c[axes - 1 + d];
        left /= t->counts[d];
      }
      from += at * t->strides[d], there &= at >= 0 && at < t->extents[d];
    }
    for (i64 i = 0; i < n[0]; i++) {
      const u32 place = (row * n[0] + i) * t->size;
      u8 *const to_ = (u8 *)to + (place ^ (place >> 7 & 7) << 4);
      const i64 x = c[0] + i;
      if (there && x >= 0 && x < t->extents[0])
        std::memcpy(to_, t->data + (from + x) * t->size, t->size);
      else
        std::memset(to_, 0, t->size);
    }
  }
  told -= n[0] * n[1] * t->size;
  if (!told) rw_count(full)++;
}
static void rw_box(void *to, const rw_tensor *t, const u64 *full, const i32 (&c)[5]) {
  told -= rw_each(t, c, [=](u32 byte, u8 *from) {
    u8 *const at = (u8 *)to + byte;
    if (from) std::memcpy(at, from, t->size); else std::memset(at, 0, t->size);
  });
  if (!told) rw_count(full)++;
}
template <int N> void rw_meet() { team->arrive_and_wait(); }
template <int N> void rw_fewer() {}
template <int N> void rw_more() {}
"""

# Blocks run one after the other, and each brings both halves of what both want.
PAIRS = r"""
static void rw_meet_both() { __syncthreads(); }
template <int N> void rw_free_both(const u64 *ring, u32 turn) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) rw_count(ring + N + turn % N) += 2;
}
"""

# What is sent lands when it is waited for, as late as may be.
SENDS = r"""
struct Sent { const rw_tensor *t; const void *from; i32 c[5]; };
static thread_local std::deque<Sent> sending;
static void rw_send(const rw_tensor *t, const void *from, const i32 (&c)[5]) {
  sending.push_back({t, from, {c[0], c[1], c[2], c[3], c[4]}});
}
static void rw_sending() {}
template <size_t N> void rw_sent() {
  for (; sending.size() > N; sending.pop_front()) {
    auto &s = sending.front();
    rw_each(s.t, s.c, [=](u32 byte, u8 *to) {
      if (to) std::memcpy(to, (const u8 *)s.from + byte, s.t->size);
    });
  }
}
template <bool brain> void rw_put(void *to, const f32 *c) {
  const u32 lane = threadIdx.x % 32;
  for (u32 i = 0; i < 32; i++) {
    const u32 row = i / 2 % 2 * 8 + lane / 4, piece = i / 4;
    const u32 at = row * 128 + (piece % 8 ^ row % 8) * 16 + lane % 4 * 4 + i % 2 * 2;
    const u32 bits = same_bits<u32>(c[i]);
    const u16 rounded = brain ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16
                              : rw_to_half(c[i]);
    *(u16 *)((u8 *)to + at) = rounded;
  }
}
template <bool brain> void rw_put_turned(void *to, const f32 *c) {
  const u32 lane = threadIdx.x % 32;
  for (u32 i = 0; i < 32; i++) {
    const u32 across = i / 2 % 2 * 8 + lane / 4;
    const u32 row = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const u32 bits = same_bits<u32>(c[i]);
    const u16 rounded = brain ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16
                              : rw_to_half(c[i]);
    ((u16 *)to)[row * 16 + across] = rounded;
  }
}
"""


# What a thread rounds for products, by pairs.
PACKS = r"""
template <bool brain> u32 rw_half(f32 a) {
  const u32 bits = same_bits<u32>(a);
  if (!brain) return rw_to_half(a);
  return a != a ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
template <int N, bool brain> void rw_pack(u32 *to, const f32 *c) {
  for (int i = 0; i < N; i++)
    to[i] = rw_half<brain>(c[2 * i]) | rw_half<brain>(c[2 * i + 1]) << 16;
}
"""


@cache
def headers() -> str:
    """Read once in a process: they are most of what the compiler reads."""
    assert COMPILER
    folder = Path(tempfile.mkdtemp(prefix="rewrite-headers-"))
    atexit.register(shutil.rmtree, folder)
    file = folder / "headers.hpp"
    file.write_text(HEADERS)
    made = ["-x", "c++-header", str(file), "-o", f"{file}.gch"]
    subprocess.run([COMPILER, *FLAGS, *made], check=True)
    return str(file)


def run(function: Function, folder: Path, *arrays: Array) -> tuple[Array, ...]:
    """The writable arrays after the function's launches, one after the other."""
    assert COMPILER
    source = nvrtc.emit([function])
    ours = r"f32 rw_(?:from_half|(?:ex2|tanh_approx)\()|u32 rw_to_half"
    text = re.sub(
        rf"static __device__ \S+ ({ours}).*?\n}}\n",
        "", source.text, flags=re.DOTALL,
    )  # fmt: skip
    text = text.replace(mma.HELPERS, WARPS).replace(wgmma.HELPERS, GROUPS)
    text = text.replace(rings.HELPERS, RINGS).replace(rings.SENDS, SENDS)
    text = text.replace(rings.PAIRS, PAIRS)
    halves = r"void (rw_half\d_(\d)_\d+_(\d+))\((.*?)\) \{.*?\n}\n"
    text = re.sub(halves, _halves, text, flags=re.DOTALL)
    moves = r"void (rw_(?:box|send|windows)\d)\((.*?)\) \{.*?\n}\n"
    text = re.sub(moves, _box, text, flags=re.DOTALL)
    text = re.sub(
        r"static \S+ \S+ void (rw_group_(b?)f16_(\d+)_(.)(.)(_fresh)?)\(.*?\n}\n",
        _group, text, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(
        r"static \S+ \S+ void (rw_group_(tf32|e4m3|e5m2)_(\d+)_00(_fresh)?)\(.*?\n}\n",
        _group_of, text, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(
        r"static \S+ \S+ void (rw_own_(b?)f16_(\d+)_(.)(_fresh)?)\(.*?\n}\n",
        _own, text, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(
        r"static \S+ \S+ void (rw_own_tf32_(\d+)_0(_fresh)?)\(.*?\n}\n",
        _own_single, text, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(
        r"template <int N> static \S+ \S+ void (rw_pack_(b?)f16)\(.*?\n}\n", _pack,
        text, count=1, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(r"asm volatile\(\"\"( : .*?)?\);", "", text)
    free = ("take", "next")
    none = (f"template <int N> void rw_{n}(u32) {{}}\n" for n in free)
    text = text.replace(wgmma.TURNS, "".join(none))
    text = text.replace(wgmma.BESIDE, "static void rw_beside(f32) {}\n")
    block = r"static __attribute__((aligned(1 << 18))) u8 \1[1 << 18];"
    text = re.sub(r"extern __shared__ \S+ u8 (\w+)\[\];", block, text)
    calls = ""
    for x in source.launches[function.name]:
        head = re.search(rf" {x.name}\((.*?)\) {{", text, re.DOTALL)
        assert head
        types = [re.sub(r"__restrict__ \w+", "", t) for t in head[1].split(",")]
        args = ", ".join(f"({t})p[{i}]" for i, t in enumerate(types) if "*" in t)
        args += "".join(f", {_tensor(m)}" for m in x.maps)
        calls += f"  launch({x.groups}, {x.threads}, [=] {{ {x.name}({args}); }});\n"
    main = f'extern "C" void run_all(void **p) {{\n{calls}}}\n'
    file = folder / "kernel.cpp"
    file.write_text(RUNTIME + HALF + text + main)
    library = folder / "kernel.so"
    command = [COMPILER, *FLAGS, "-include", headers(), "-shared"]
    subprocess.run([*command, str(file), "-o", str(library)], check=True)
    held = [a.ravel().copy() for a in arrays]
    held += [np.zeros(p.size, p.dtype.numpy) for p in function.scratch]
    table = (ctypes.c_void_p * len(held))(*(a.ctypes.data for a in held))
    ctypes.CDLL(str(library)).run_all(table)
    every = zip(held, function.params, strict=False)
    return tuple(a for a, p in every if p.writable)


def _box(found: re.Match[str]) -> str:
    corner = ", ".join(re.findall(r"\bc\d", found[2]))
    if found[1].startswith("rw_windows"):
        call = f"const i32 c[] = {{{corner}}}; rw_windows(to, t, full, c);"
        return f"void {found[1]}({found[2]}) {{ {call} }}\n"
    brings = found[1].startswith("rw_box")
    call = "rw_box(to, t, full" if brings else "rw_send(t, from"
    return f"void {found[1]}({found[2]}) {{ {call}, {{{corner}}}); }}\n"


def _halves(found: re.Match[str]) -> str:
    name, row, rows, params = found.groups()
    corner = re.findall(r"\bc\d", params)
    later = [f"{c} + {rows}" if c == f"c{row}" else c for c in corner]
    first, second = (f"{{{', '.join(x)}}}" for x in (corner, later))
    to = f"(u8 *)to + {rows} * 128"
    calls = f"rw_box(to, t, full, {first}); rw_box({to}, t, full, {second});"
    return f"void {name}({params}) {{ {calls} }}\n"


def _tensor(m: TensorMap) -> str:
    rest = 5 - len(m.sizes)
    parts = (m.extents + (1,) * rest, m.strides + (0,) * rest, m.sizes + (1,) * rest)
    texts = (", ".join(map(str, p)) for p in parts)
    at = f"(u8 *)p[{m.buffer}], {m.dtype.itemsize}"
    lie = ""
    if m.windows is not None:
        every = (", ".join(map(str, (0, *x))) for x in m.windows)
        lie = f", {len(m.sizes)}, {{{'}, {'.join(every)}}}"
    return f"rw_tensor{{{at}, {{{'}, {'.join(texts)}}}{lie}}}"


def _group(found: re.Match[str]) -> str:
    name, brain, columns, left, right, fresh = found.groups()
    of = f"{columns}, {int(brain == 'b')}, {left}, {right}"
    head = f"static void {name}(f32 *c, u64 a, u64 b)"
    return f"{head} {{ {_emptied(columns, fresh)}rw_group<{of}>(c, a, b); }}\n"


def _group_of(found: re.Match[str]) -> str:
    """Of sides that lie along k."""
    name, kind, columns, fresh = found.groups()
    call = f"rw_group_of<{columns}, {kind}>(c, a, b)"
    head = f"static void {name}(f32 *c, u64 a, u64 b)"
    return f"{head} {{ {_emptied(columns, fresh)}{call}; }}\n"


def _emptied(columns: str, fresh: str | None) -> str:
    return f"for (int i = 0; i < {columns} / 2; i++) c[i] = 0; " if fresh else ""


def _own(found: re.Match[str]) -> str:
    name, brain, columns, right, fresh = found.groups()
    of = f"{columns}, {int(brain == 'b')}, {right}"
    head = f"static void {name}(f32 *c, const u32 *a, u64 b)"
    return f"{head} {{ {_emptied(columns, fresh)}rw_own<{of}>(c, a, b); }}\n"


def _own_single(found: re.Match[str]) -> str:
    name, columns, fresh = found.groups()
    head = f"static void {name}(f32 *c, const f32 *a, u64 b)"
    call = f"rw_own_tf32<{columns}>(c, a, b)"
    return f"{head} {{ {_emptied(columns, fresh)}{call}; }}\n"


def _pack(found: re.Match[str]) -> str:
    name, brain = found.groups()
    call = f"rw_pack<N, {int(brain == 'b')}>(to, c)"
    head = f"template <int N> static void {name}(u32 *to, const f32 *c)"
    return f"{PACKS}{head} {{ {call}; }}\n"
