/* row: sum mul sub mul sum mul add sqrt recip mul mul add
   b0: f32[131072], b1: f32[256], b2: f32[256], writes b3: f32[131072] */

extern "C" __global__ void __launch_bounds__(32) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  rw_begin();
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  f32 *const rw_reduce_a7 = (f32 *)(rw_shared + 16);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 32;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = 0.0f;
  const i32 o4 = i1 * 256;
  #pragma unroll 8
  for (i32 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const i32 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = a2 + v6;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = (a2 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  f32 a7 = 0.0f;
  const i32 o9 = i1 * 256;
  const f32 v12 = a2 * 0.00390625f;
  #pragma unroll 8
  for (i32 i8_ = rw_thread; i8_ < 256; i8_ += rw_threads) {
    const i32 v10 = o9 + i8_;
    const f32 v11 = b0[v10];
    const f32 v13 = v11 - v12;
    a7 = rw_fma_f32(v13, v13, a7);
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a7 = (a7 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a7, rw_s));
  const i32 o15 = i1 * 256;
  const f32 v19 = a7 * 0.00390625f;
  const f32 v20 = v19 + 1e-05f;
  const f32 v21 = rw_sqrt_f32(v20);
  const f32 v22 = 1 / v21;
  #pragma unroll 8
  for (i32 i14 = rw_thread; i14 < 256; i14 += rw_threads) {
    const i32 v16 = o15 + i14;
    const f32 v17 = b0[v16];
    const f32 v18 = v17 - v12;
    const f32 v23 = v18 * v22;
    const f32 v24 = b1[i14];
    const f32 v25 = v23 * v24;
    const f32 v26 = b2[i14];
    const f32 v27 = v25 + v26;
    b3[v16] = v27;
  }
}
