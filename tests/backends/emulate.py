"""CUDA kernels on the host: C++ threads stand for a block's, barriers for its barriers.

Slow, but it runs the very text that NVRTC compiles, where there is no GPU.
"""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from rewrite.backends import nvrtc
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.loops import Function

COMPILER = shutil.which("g++") or shutil.which("clang++")

RUNTIME = r"""
#include <barrier>
#include <cmath>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(n)
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
static unsigned rw_to_half(float a) { return same_bits<unsigned short>((_Float16)a); }
"""


def run(function: Function, folder: Path, *arrays: Array) -> tuple[Array, ...]:
    """The writable arrays after the function's launches, one after the other."""
    assert COMPILER
    source = nvrtc.emit([function])
    text = re.sub(
        r"static __device__ \S+ (f32 rw_from_half|u32 rw_to_half).*?\n}\n", "",
        source.text, flags=re.DOTALL,
    )  # fmt: skip
    text = re.sub(r"extern __shared__ (.*?)\[\];", r"static \1[1 << 18];", text)
    calls = ""
    for x in source.launches[function.name]:
        head = re.search(rf" {x.name}\((.*?)\) {{", text, re.DOTALL)
        assert head
        types = [re.sub(r"__restrict__ \w+", "", t) for t in head[1].split(",")]
        args = ", ".join(f"({t})p[{i}]" for i, t in enumerate(types))
        calls += f"  launch({x.groups}, {x.threads}, [=] {{ {x.name}({args}); }});\n"
    main = f'extern "C" void run_all(void **p) {{\n{calls}}}\n'
    file = folder / "kernel.cpp"
    file.write_text(RUNTIME + HALF + text + main)
    library = folder / "kernel.so"
    flags = ("-std=c++20", "-O1", "-fPIC", "-shared", "-pthread")
    subprocess.run([COMPILER, *flags, str(file), "-o", str(library)], check=True)
    held = [a.ravel().copy() for a in arrays]
    held += [np.zeros(p.size, p.dtype.numpy) for p in function.scratch]
    table = (ctypes.c_void_p * len(held))(*(a.ctypes.data for a in held))
    ctypes.CDLL(str(library)).run_all(table)
    every = zip(held, function.params, strict=False)
    return tuple(a for a, p in every if p.writable)
