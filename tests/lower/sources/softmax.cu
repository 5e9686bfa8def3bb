/* row: max sub exp sum recip mul
   b0: f32[131072], writes b1: f32[131072] */

extern "C" __global__ void __launch_bounds__(32) k0_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1) {
  rw_begin();
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  f32 *const row7 = (f32 *)(rw_shared + 16);
  f32 *const rw_reduce_a8 = (f32 *)(rw_shared + 1040);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 32;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = -__int_as_float(0x7f800000);
  const i32 o4 = i1 * 256;
  #pragma unroll 8
  for (i32 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const i32 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = rw_max_f32(a2, v6);
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = rw_max_f32(a2, (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  f32 a8 = 0.0f;
  const i32 o10 = i1 * 256;
  #pragma unroll 8
  for (i32 i9 = rw_thread; i9 < 256; i9 += rw_threads) {
    const i32 v11 = o10 + i9;
    const f32 v12 = b0[v11];
    const f32 v13 = v12 - a2;
    const f32 v14 = rw_exp_f32(v13);
    a8 = a8 + v14;
    row7[i9] = v14;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a8 = (a8 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a8, rw_s));
  const f32 v16 = 1 / a8;
  const i32 o19 = i1 * 256;
  #pragma unroll 8
  for (i32 i15 = rw_thread; i15 < 256; i15 += rw_threads) {
    const f32 v17 = row7[i15];
    const f32 v18 = v17 * v16;
    const i32 v20 = o19 + i15;
    b1[v20] = v18;
  }
}
