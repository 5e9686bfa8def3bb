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

static __device__ __forceinline__ f32 rw_erf_f32(f32 a) {
  return erff(a);
}

/* A name is a word and a number.  b, s: buffers, scratch.  i: where a loop stands;
   t: the number of a tile; m, n, k: where a product stands; p, o: positions, offsets.
   v: a value; c: a condition, or an accumulator of a tile; r: a reduction's result.
   acc, sum, row, tile, left, right, state: arrays.  rw_: the same in every kernel. */
