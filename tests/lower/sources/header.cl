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

static inline f32 rw_abs_f32(f32 a) {
  return RW_F32(fabs)(a);
}

static inline f32 rw_fma_f32(f32 a, f32 b, f32 c) {
#ifdef RW_CONTRACT
#pragma OPENCL FP_CONTRACT ON
#endif
  return a * b + c;
}

static inline f32 rw_exp_f32(f32 a) {
  const i32 n = (i32)((u32)as_int(rw_fma_f32(a, 1.442695f, 1.2582912e+07f)) - (u32)1262485504);
  const f32 whole = (f32)n;
  const f32 r = rw_fma_f32(whole, (-1.4286068e-06f), rw_fma_f32(whole, (-0.69314575f), a));
  const f32 p = rw_fma_f32(r, rw_fma_f32(r, rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(0.001381454f, r, 0.008368745f), r, 0.04166839f), r, 0.16666521f), r, 0.49999994f), 1.0f), 1.0f);
  return (89.0f < a) ? INFINITY : ((a < (-104.0f)) ? 0.0f : ((p * as_float((i32)((u32)(i32)((u32)n + (u32)((a < (-86.0f)) ? 190 : 126)) << 23))) * ((a < (-86.0f)) ? 1.0842022e-19f : 2.0f)));
}

static inline f32 rw_copysign_f32(f32 a, f32 b) {
  return RW_F32(copysign)(a, b);
}

static inline f32 rw_erf_f32(f32 a) {
  const f32 x = rw_abs_f32(a);
  const f32 s = x * x;
  const f32 near = rw_fma_f32(x, rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(8.538836e-05f, s, (-0.00081819267f)), s, 0.005204436f), s, (-0.026860753f)), s, 0.112837195f), s, (-0.37612635f)), s, 0.12837917f), x);
  const f32 far = 1.0f - rw_exp_f32((-rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(rw_fma_f32(2.0629333e-05f, ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.0004290861f)), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.0041450686f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.025051175f)), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.10817493f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 0.63344204f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), 1.1294681f), ((4.0f < x) ? 4.0f : ((x < 0.0f) ? 0.0f : x)), (-0.00016500933f))));
  return rw_copysign_f32(((x < 0.9f) ? near : far), a);
}

/* A name is a word and a number.  b, s: buffers, scratch.  i: where a loop stands;
   t: the number of a tile; m, n, k: where a product stands; p, o: positions, offsets.
   v: a value; c: a condition, or an accumulator of a tile; r: a reduction's result.
   acc, sum, row, tile, left, right, state: arrays.  rw_: the same in every kernel. */
