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
#if defined RW_CONTRACT && \
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
#define RW_FETCH(p, i, write) \
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

static inline __attribute__((always_inline)) f32 rw_abs_f32(f32 a) {
  return __builtin_fabsf(a);
}

static inline __attribute__((always_inline)) f32 rw_fma_f32(f32 a, f32 b, f32 c) {
  return RW_FMA(__builtin_fmaf, a, b, c);
}

static inline __attribute__((always_inline)) i32 rw_bits_f32_i32(f32 a) {
  i32 r;
  memcpy(&r, &a, sizeof r);
  return r;
}

static inline __attribute__((always_inline)) f32 rw_bits_i32_f32(i32 a) {
  f32 r;
  memcpy(&r, &a, sizeof r);
  return r;
}

static inline __attribute__((always_inline)) f32 rw_exp_f32(f32 a) {
  const i32 n = (i32)((u32)rw_bits_f32_i32(rw_fma_f32(a, 1.442695f, 1.2582912e+07f)) - (u32)1262485504);
  const f32 whole = (f32)n;
  const f32 r = rw_fma_f32(whole, (-1.4286068e-06f), rw_fma_f32(whole, (-0.69314575f), a));
  const f32 p = rw_fma_f32(r, rw_fma_f32(r, rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(0.001381454f, r, 0.008368745f), r, 0.04166839f), r, 0.16666521f), r, 0.49999994f), 1.0f), 1.0f);
  return (89.0f < a) ? __builtin_inff() : ((a < (-104.0f)) ? 0.0f : ((p * rw_bits_i32_f32((i32)((u32)(i32)((u32)n + (u32)((a < (-86.0f)) ? 190 : 126)) << 23))) * ((a < (-86.0f)) ? 1.0842022e-19f : 2.0f)));
}

static inline __attribute__((always_inline)) f32 rw_copysign_f32(f32 a, f32 b) {
  return __builtin_copysignf(a, b);
}

static inline __attribute__((always_inline)) f32 rw_erf_f32(f32 a) {
  const f32 x = rw_abs_f32(a);
  const f32 s = x * x;
  const f32 near = rw_fma_f32(x, rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(8.538836e-05f, s, (-0.00081819267f)), s, 0.005204436f), s, (-0.026860753f)), s, 0.112837195f), s, (-0.37612635f)), s, 0.12837917f), x);
  const f32 far = 1.0f - rw_exp_f32((-rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(2.0629333e-05f, ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.0004290861f)), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.0041450686f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.025051175f)), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.10817493f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.63344204f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 1.1294681f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.00016500933f))));
  return rw_copysign_f32(((x < 0.9f) ? near : far), a);
}

typedef void (*rw_span)(void *const *buffers, i64 begin, i64 end);
void (*rw_pool)(rw_span run, void *const *buffers, i64 count, i64 least);
typedef struct {
  void (*run)(void *const *buffers);
  void *const *buffers;
} rw_call;
void rw_run(const rw_call *calls, i64 count) {
  for (i64 i = 0; i < count; i++) calls[i].run(calls[i].buffers);
}
typedef struct {
  const rw_call *calls;
  i64 count;
} rw_list;
static void rw_lists(void *const *lists, i64 begin, i64 end) {
  const rw_list *list = (const rw_list *)lists;
  for (i64 i = begin; i < end; i++) rw_run(list[i].calls, list[i].count);
}
void rw_run_beside(const rw_list *lists, i64 count) {
  rw_pool(rw_lists, (void *const *)lists, count, 1);
}

/* A name is a word and a number.  b, s: buffers, scratch.  i: where a loop stands;
   t: the number of a tile; m, n, k: where a product stands; p, o: positions, offsets.
   v: a value; c: a condition, or an accumulator of a tile; r: a reduction's result.
   acc, sum, row, tile, left, right, state: arrays.  rw_: the same in every kernel. */
