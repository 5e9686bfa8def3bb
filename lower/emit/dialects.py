"""The C family as data: what differs between C, OpenCL C and CUDA C++.

Source text calls the element types by their names (`f32`, `u8`, ...); each dialect's
header defines them.  A small float is stored as an unsigned integer of its width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...egraph.ir.dtypes import I64, DType
from .streams import STREAM_C

type Names = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates take `{a}`, `{b}`, `{t}` (a type), `{c}` (its name in OpenCL C), `{v}`
    (a vector type), `{n}` (lanes or a count), `{i}` (an index; `{x}`: hexadecimal)."""

    name: str
    header: str
    helper: str  # qualifiers of a helper function
    native: Mapping[tuple[str, str], str]  # (opcode, dtype) -> expression
    bitcast: str  # an expression; empty: by a helper with memcpy
    infinity: Names  # by dtype
    nan: Names
    index: DType | None  # the type of all index arithmetic; None: as the IR has it
    restrict: str
    vector: str  # defines the type {v} of {n} lanes of {t}; empty: no vectors
    lane: str  # lane {i} of the vector {a}
    infix: bool  # whether operators work on vectors
    convert: str  # {a} with each lane converted, as a {v}; empty: lane by lane
    lane_loop: bool  # whether lanes do better in a loop over memory
    contract: str  # a function's head that lets its a * b + c be an fma; empty: native
    load_lanes: str  # from {a} at index {i}
    store_lanes: str
    splat: str  # {a} in all lanes of {v}; {i} is {a} repeated; empty: lane by lane
    unroll: str  # pragma for a loop of {n} trips
    expands: bool = True  # such loops are written out: elements of arrays in them are
    # registers then, where the compiler knows that too late otherwise
    simd: str = ""  # pragma for a loop whose turns are independent
    simd_trips: int = 1  # of fewer it is left out
    stream: str = ""  # the helper that writes {n} bytes past the caches; empty: none
    hold: str = ""  # has the variable {a} in a register; empty: as the compiler likes
    fetch: str = ""  # asks for {a} at {i}, to be written if {w}; empty: left out
    # Helpers of vectors that have a form of their own, where a macro says so.
    whole: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    aligned: bool = False  # the vector forms of access want multiples of {n}
    local: str = ""  # qualifiers of a thread's own array
    # For devices with groups of threads; empty for the host.
    kernel: str = ""  # qualifiers of a kernel with groups of {n} threads
    pointer: str = ""  # qualifiers of a parameter's pointer
    item: str = ""  # the number of the thread in the launch
    group: str = ""  # the number of the group
    thread: str = ""  # the number of the thread in its group
    shared: str = ""  # declares an array {name} of {n} {t}, at byte {i} of a block
    shared_block: str = ""  # declares that block, where the language needs it
    promise: str = ""  # that what {name}, a {t}, points to begins at a multiple of 16
    barrier: str = ""
    asynchronous: bool = False  # PTX: copies and products of warps (`mma.py`)
    shuffle: str = ""  # {a} of the thread whose number in its warp of 32 differs by {n}
    begin: str = ""  # what a kernel does first
    library: str = ""  # of products that the host calls between launches


C_TYPES = {
    "f32": "float",
    "f64": "double",
    "i8": "char",
    "i16": "short",
    "i32": "int",
    "i64": "long",
    "u8": "uchar",
    "u16": "ushort",
    "u32": "uint",
    "u64": "ulong",
}  # as OpenCL C calls them
_RESERVED = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
concept const consteval constexpr constinit continue constant decltype default delete do
double dynamic_cast else enum event explicit export extern false float for friend global
goto half if image inline int kernel local long main mutable namespace new noexcept not
not_eq nullptr operator or or_eq pipe private protected public read_only read_write
register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof uchar uint ulong uniform union unsigned ushort using
vector virtual void volatile wchar_t while write_only xor xor_eq
i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
"""
KEYWORDS = frozenset(_RESERVED.split())  # of all three, and the element types

ROUNDING = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
            "round": "rint", "abs": "fabs"}  # fmt: skip
PERIODIC = {"sin": "sin", "cos": "cos"}
SMOOTH = {n: n for n in ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf",
                         "atan")}  # fmt: skip
PAIRS = {"pow": "pow", "fmod": "fmod", "copysign": "copysign"}


def _natives(
    f32: str, f64: str, smooth_f32: bool, periodic_f32: bool = True
) -> dict[tuple[str, str], str]:
    """Calls of the math library; `f32` and `f64` make its names of plain ones."""
    table: dict[tuple[str, str], str] = {}
    for dtype, form in (("f32", f32), ("f64", f64)):
        unary = ROUNDING | (PERIODIC if dtype == "f64" or periodic_f32 else {})
        if dtype == "f64" or smooth_f32:
            unary |= SMOOTH
        for op, name in unary.items():
            table[op, dtype] = form.format(name=name) + "({a})"
        for op, name in PAIRS.items():
            table[op, dtype] = form.format(name=name) + "({a}, {b})"
        table["isnan", dtype] = "({a} != {a})"
    return table


_C_HEADER = """\
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef float f32;
typedef double f64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#if defined RW_CONTRACT && \\
    (defined __FP_FAST_FMAF || defined __FMA__ || defined __aarch64__)
#define RW_FMA(f, a, b, c) f(a, b, c)
#else
#define RW_FMA(f, a, b, c) (a * b + c)
#endif
#if defined RW_CONTRACT && defined __FMA__ && defined __has_builtin
#if __has_builtin(__builtin_ia32_vfmaddps256)
#define RW_FMA_256
#endif
#endif
#if defined __AVX2__ && defined __GNUC__ && !defined __clang__
#define RW_WIDEN_256
typedef char rw_bytes __attribute__((vector_size(16)));
typedef long long rw_pair __attribute__((vector_size(16)));
#endif
#define RW_FETCH(p, i, write) \\
  __builtin_prefetch((const void *)((uintptr_t)(p) + sizeof *(p) * (i)), write)
#if defined __AVX512F__
#define RW_HOLD(v) __asm__("" : "+v"(v))
#elif defined __AVX__
#define RW_HOLD(v) __asm__("" : "+x"(v))
#elif defined __aarch64__
#define RW_HOLD(v) __asm__("" : "+w"(v))
#else
#define RW_HOLD(v) (void)0
#endif
"""

# Of eight bytes, which lie in half of a vector; of clang `convert` is as good.
_WIDER = "(i32x8)__builtin_ia32_pmov{}xbd256((rw_bytes)(rw_pair){{{{(i64){{a}}, 0}}}})"

C = Dialect(
    name="C",
    header=_C_HEADER,
    # gcc leaves even one instruction out of line where it is called often enough.
    helper="static inline __attribute__((always_inline))",
    native={
        **_natives("__builtin_{name}f", "__builtin_{name}", False, periodic_f32=False),
        ("fma", "f32"): "RW_FMA(__builtin_fmaf, {a}, {b}, {c})",
        ("fma", "f64"): "RW_FMA(__builtin_fma, {a}, {b}, {c})",
    },
    bitcast="",
    infinity={"f32": "__builtin_inff()", "f64": "__builtin_inf()"},
    nan={"f32": '__builtin_nanf("")', "f64": '__builtin_nan("")'},
    index=I64,
    restrict="restrict",
    vector=(
        "typedef {t} {v} __attribute__((vector_size({n} * sizeof({t}))));\n"
        "typedef {t} {v}_u __attribute__((vector_size({n} * sizeof({t})),"
        " aligned(sizeof({t})), may_alias));\n"
    ),
    lane="{a}[{i}]",
    infix=True,
    convert="__builtin_convertvector({a}, {v})",
    lane_loop=True,
    whole={
        "rw_fma_f32_x8": ("RW_FMA_256", "__builtin_ia32_vfmaddps256({a}, {b}, {c})"),
        "rw_fma_f64_x4": ("RW_FMA_256", "__builtin_ia32_vfmaddpd256({a}, {b}, {c})"),
        "rw_convert_i8_i32_x8": ("RW_WIDEN_256", _WIDER.format("s")),
        "rw_convert_u8_i32_x8": ("RW_WIDEN_256", _WIDER.format("z")),
    },
    contract="",
    load_lanes="*(const {v}_u *)({a} + {i})",
    store_lanes="*({v}_u *)({a} + {i}) = {b};",
    splat="({v}){{{i}}}",
    unroll="#pragma GCC unroll {n}",
    simd="#pragma omp simd",
    hold="RW_HOLD({a});",
    fetch="RW_FETCH({a}, {i}, {w});",
    stream=STREAM_C,
)

_OPENCL_HEADER = """\
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#endif
typedef float f32;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
#ifdef __clang__ /* calls of the library stand in the way of vectors */
#define RW_F32(name) __builtin_##name##f
#define RW_F64(name) __builtin_##name
#else
#define RW_F32(name) name
#define RW_F64(name) name
#endif
"""

_OPENCL_CONTRACT = """\
#ifdef RW_CONTRACT
#pragma OPENCL FP_CONTRACT ON
#endif
"""

_OPENCL_INLINE = {
    key: form
    for key, form in _natives("RW_F32({name})", "RW_F64({name})", False).items()
    if key[0] in {*ROUNDING, "copysign"}
}

OPENCL = Dialect(
    name="OpenCL C",
    header=_OPENCL_HEADER,
    helper="static inline",
    native={**_natives("{name}", "{name}", smooth_f32=False), **_OPENCL_INLINE},
    bitcast="as_{c}({a})",
    infinity={"f32": "INFINITY", "f64": "((f64)INFINITY)"},
    nan={"f32": "NAN", "f64": "((f64)NAN)"},
    index=I64,
    restrict="restrict",
    vector="typedef {c}{n} {v};\n",
    lane="{a}.s{x}",
    infix=True,
    convert="convert_{c}{n}({a})",
    lane_loop=False,
    contract=_OPENCL_CONTRACT,
    load_lanes="vload{n}(0, {a} + {i})",
    store_lanes="vstore{n}({b}, 0, {a} + {i});",
    splat="({v})({a})",
    unroll="#pragma unroll {n}",
    expands=False,
    kernel="__kernel __attribute__((reqd_work_group_size({n}, 1, 1))) void",
    pointer="__global ",
    item="get_global_id(0)",
    group="get_group_id(0)",
    thread="get_local_id(0)",
    shared="__local {t} {name}[{n}];",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
)

_CUDA_HEADER = """\
typedef float f32;
typedef double f64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#ifdef RW_CONTRACT
#define RW_FMA(f, a, b, c) f(a, b, c)
#else
#define RW_FMA(f, a, b, c) (a * b + c)
#endif
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) rw_vector { T lane[N]; };
/* Lets the kernel that follows start as soon as there is room, and waits for the one
   before, where a graph has them overlap. */
static __device__ __forceinline__ void rw_begin() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
static __device__ __forceinline__ f32 rw_from_half(u32 a) {
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"((u16)a));
  return r;
}
static __device__ __forceinline__ u32 rw_to_half(f32 a) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a));
  return r;
}
static __device__ __forceinline__ f32 rw_ex2(f32 a) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
static __device__ __forceinline__ f32 rw_tanh_approx(f32 a) {
  f32 r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
static __device__ __forceinline__ f32 rw_max(f32 a, f32 b) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  f32 r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a || a > b ? a : b;
#endif
}
static __device__ __forceinline__ f32 rw_min(f32 a, f32 b) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  f32 r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a || a < b ? a : b;
#endif
}
static __device__ __forceinline__ u32 rw_to_bf16(f32 a) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(a));
  return r;
#else
  const union { f32 value; u32 bits; } b = {a};
  return a != a ? 0x7fff : (b.bits + 0x7fff + (b.bits >> 16 & 1)) >> 16;
#endif
}
"""

CUDA = Dialect(
    name="CUDA C++",
    header=_CUDA_HEADER,
    helper="static __device__ __forceinline__",
    native={
        **_natives("{name}f", "{name}", smooth_f32=True),
        ("ex2", "f32"): "rw_ex2({a})",
        ("tanh_approx", "f32"): "rw_tanh_approx({a})",
        ("max", "f32"): "rw_max({a}, {b})",
        ("min", "f32"): "rw_min({a}, {b})",
        ("fma", "f32"): "RW_FMA(fmaf, {a}, {b}, {c})",
        ("fma", "f64"): "RW_FMA(fma, {a}, {b}, {c})",
        ("decode_f16", "u32"): "rw_from_half({a})",
        ("encode_f16", "f32"): "rw_to_half({a})",
        ("encode_bf16", "f32"): "rw_to_bf16({a})",
    },
    bitcast="",
    infinity={"f32": "__int_as_float(0x7f800000)",
              "f64": "__longlong_as_double(0x7ff0000000000000ll)"},
    nan={"f32": "__int_as_float(0x7fc00000)",
         "f64": "__longlong_as_double(0x7ff8000000000000ll)"},
    index=None,
    begin="rw_begin();",
    library="cuBLAS",
    restrict="__restrict__",
    vector="typedef rw_vector<{t}, {n}> {v};\n",
    lane="{a}.lane[{i}]",
    infix=False,
    convert="",
    lane_loop=False,
    contract="",
    load_lanes="*(const {v} *)({a} + {i})",
    store_lanes="*({v} *)({a} + {i}) = {b};",
    aligned=True,
    local="__align__(16) ",
    splat="",
    unroll="#pragma unroll {n}",
    expands=False,
    kernel='extern "C" __global__ void __launch_bounds__({n})',
    item="(blockIdx.x * (u64)blockDim.x + threadIdx.x)",
    group="blockIdx.x",
    thread="threadIdx.x",
    shared="{t} *const {name} = ({t} *)(rw_shared + {i});",
    shared_block="extern __shared__ __align__(16) u8 rw_shared[];",
    promise="{name} = ({t})__builtin_assume_aligned({name}, 16);",
    barrier="__syncthreads();",
    asynchronous=True,
    shuffle="__shfl_xor_sync(0xffffffffu, {a}, {n})",
)  # fmt: skip
